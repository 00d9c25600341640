"""Page for Kovaleva et al. 2019: the classes of heads' maps."""

from heatcheck.report.study_columns import Columns, in_columns
from heatcheck.report.study_heads import QUANTITIES, tables_by_layer
from heatcheck.report.study_view import Chapter, StudyView

_PATTERNS = ("vertical", "diagonal", "vertical + diagonal", "block", "mixed")
TABLES = in_columns(
    Columns("Share of heads by the class of their map", {f"pattern_share:{name}": name for name in _PATTERNS}),
    *tables_by_layer(("column_mass", "diagonal_mass")),
)
VIEW = StudyView(
    chapters=(Chapter("roles", (TABLES,)),),
    shown={},
    unpublished={
        "pattern_share:vertical": "share of heads with a vertical map",
        "pattern_share:diagonal": "share of heads with a diagonal map",
        "pattern_share:mixed": "share of heads with a mixed map",
    },
    quantities=QUANTITIES,
)
