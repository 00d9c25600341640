"""Page for Mohankumar et al. 2020: states that differ, beside the untreated model and its temperature twins."""

from heatcheck.report.study_columns import in_columns
from heatcheck.report.study_treatments import MEASURED, treatment_tables
from heatcheck.report.study_view import Chapter, Rerun, StudyView

VIEW = StudyView(
    chapters=(Chapter("treatments", (in_columns(*treatment_tables()),), title="States that differ, and weights"),),
    rerun=Rerun("rerun", "Bouwman et al.'s reproduction"),
    models={
        "vanilla": "LSTM",
        "diversity": "Diversity LSTM",
        "orthogonal": "Orthogonal LSTM",
        "as_sharp_as_diversity": "LSTM, as sharp as Diversity",
        "as_sharp_as_orthogonal": "LSTM, as sharp as Orthogonal",
    },
    settings={"strength": "λ of conicity"},
    shown={name: MEASURED[name] for name in ("accuracy", "conicity", "share_to_flip:attention")},
    unpublished={name: MEASURED[name] for name in ("share_to_flip:random", "delta", "q", "entropy")},
)
