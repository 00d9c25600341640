"""Models with known right answers about their heatmaps: a class each in by_construction.py, and a line here."""

from heatcheck.models.known_answers.by_construction import (
    Bystander,
    Dial,
    Flat,
    GaugeTwin,
    Leaker,
    MajorityReader,
    OneHot,
    Reader,
    Shifted,
    Sink,
    TwoLayers,
    WrongBystander,
)
from heatcheck.models.known_answers.induction import InductionLM
from heatcheck.models.known_answers.known_answer import KnownAnswer

__all__ = [
    "KNOWN_ANSWERS",
    "KNOWN_LANGUAGE_MODELS",
    "Bystander",
    "Dial",
    "Flat",
    "GaugeTwin",
    "InductionLM",
    "KnownAnswer",
    "Leaker",
    "MajorityReader",
    "OneHot",
    "Reader",
    "Shifted",
    "Sink",
    "TwoLayers",
    "WrongBystander",
]

KNOWN_ANSWERS: dict[str, type[KnownAnswer]] = {
    kind.name: kind
    for kind in (
        Bystander,
        Dial,
        Flat,
        GaugeTwin,
        Leaker,
        MajorityReader,
        OneHot,
        Reader,
        Shifted,
        Sink,
        TwoLayers,
        WrongBystander,
    )
}

# They read texts of no task: what is known about them is what their heads do.
KNOWN_LANGUAGE_MODELS: dict[str, type[InductionLM]] = {InductionLM.id: InductionLM}
