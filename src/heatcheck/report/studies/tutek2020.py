"""Page for Tutek & Šnajder 2020: whether states say which word they stand at, and what replaced weights do then."""

from heatcheck.report.study_columns import in_columns
from heatcheck.report.study_treatments import MEASURED, STATES, SWAPPED, treatment_tables
from heatcheck.report.study_view import Chapter, StudyView

VIEW = StudyView(
    chapters=(
        Chapter("treatments", (in_columns(*treatment_tables(STATES, SWAPPED)),), title="States and their words"),
    ),
    settings={"tying": "λ of tying", "masked_words": "η of masked words"},
    unpublished={name: words for of in (MEASURED, STATES, SWAPPED) for name, words in of.items()},
)
