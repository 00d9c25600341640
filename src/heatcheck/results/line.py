"""One line of the card: the answer to one question about a heatmap, with its evidence."""

from typing import Literal, NamedTuple, TypeAlias

from heatcheck.results.measurement import Measurement

State: TypeAlias = Literal["yes", "no", "unclear", "not run", "not found"]
Group: TypeAlias = Literal["card", "apart"]
Undecided: TypeAlias = Literal[
    "", "cannot be asked", "more data", "more search", "disagreement", "in between", "not run", "cannot be run"
]
"""Why a line says neither yes nor no; empty for one that does, and for a search that found nothing."""


class Line(NamedTuple):
    """One line of the card."""

    name: str
    question: str  # in plain words
    state: State
    # In words: why unclear, by what proof, or what would run it. `undecided` and `certified` say which of these it is.
    reason: str
    evidence: tuple[Measurement, ...]  # the statistic first, then what it is read against
    holds: str  # what was held fixed
    sentence: str  # what it means for the heatmaps, in plain words
    cannot_see: str  # what this line is blind to
    short: str = ""  # as --fail-if names it
    group: Group = "card"  # "apart": beside the card, not about whether the heatmap explains this model
    undecided: Undecided = ""
    route: str = ""  # how it was decided, where a line has several ways: "swap", "gauge twin", "retraining", …
    certified: bool = False  # by a proof, not by an interval
    needs_refit: bool = False  # not run, and only models trained again would tell
    may_say: str = ""  # of heatmaps like these, where the line is decided so
    do_not_say: str = ""
    advice: str = ""  # what a decided line asks of somebody who shows these heatmaps
    check: str = ""  # whose words name the evidence
    heading: str = ""  # of a line that stands apart: what it is about
    preface: str = ""  # what to know before reading it

    @property
    def moot(self) -> bool:
        """Unclear because there is nothing to ask here, however much data there is."""
        return self.undecided == "cannot be asked"
