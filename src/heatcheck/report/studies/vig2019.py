"""Page for Vig & Belinkov 2019: distance, variability and entropy of heads, by layer."""

from heatcheck.report.study_columns import in_columns
from heatcheck.report.study_heads import layers_below, tables_by_layer
from heatcheck.report.study_view import Chapter, StudyView

TABLES = in_columns(*tables_by_layer(("attention_distance", "variability", "entropy_nats", "sink")))
VIEW = StudyView(
    chapters=(Chapter("roles", (TABLES, layers_below)),),
    shown={},
    unpublished={
        "heads_mean:attention_distance:all": "distance in tokens, mean over heads",
        "heads_mean:sink:all": "weight on the first token, mean over heads",
    },
)
