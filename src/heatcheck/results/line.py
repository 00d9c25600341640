"""One line of the card: the answer to one question about a heatmap, with the numbers behind it."""

from typing import Literal, NamedTuple, TypeAlias

from heatcheck.results.measurement import Measurement
from heatcheck.results.strip import Strip
from heatcheck.results.written import sentences

State: TypeAlias = Literal["yes", "no", "unclear", "not run", "not found"]
Group: TypeAlias = Literal["card", "apart"]
Undecided: TypeAlias = Literal[
    "", "cannot be asked", "more data", "more search", "disagreement", "in between", "not run", "cannot be run"
]
"""Why a line says neither yes nor no; empty for one that does, and for a search that found nothing."""

TOO_FEW = "too few"  # the route of a line that so few examples cannot decide, whatever their values

NO_WEIGHTS = "no weights"  # the route of a line about weights where the heatmap shows none

# What a badge says of a line that is neither yes nor no: it answers the question beside it.
_BADGES = {
    "cannot be asked": "cannot be asked",
    "in between": "mixed",
    "not run": "not run",
    "cannot be run": "cannot be run",
}


class Instead(NamedTuple):
    """What to show where the heatmap fails: the method that did best on this model's own removal table."""

    method: str  # as `heatcheck explain --by` takes it
    signed: bool  # it did best with its sign: words for the answer before words against it
    gain: Measurement  # what removing its top words does beyond random ones
    own: Measurement  # the same of the heatmap's

    @property
    def command(self) -> str:
        """Makes it for a new text."""
        return f'heatcheck explain MODEL "TEXT" --by {self.method}'


class Line(NamedTuple):
    """One line of the card."""

    name: str
    question: str  # in plain words
    state: State
    # In words: why unclear, by what proof, or what would run it. `undecided` and `certified` say which of these it is.
    reason: str
    evidence: tuple[Measurement, ...]  # the statistic first, then its baselines
    holds: str  # what stays the same
    sentence: str  # the answer in plain words, then the number behind it
    cannot_see: str  # what this line is blind to
    short: str = ""  # as --fail-if names it
    group: Group = "card"  # "apart": beside the card, not about whether the heatmap explains this model
    undecided: Undecided = ""
    route: str = ""  # how it was decided, where a line has several ways: "swap", "gauge twin", "retraining", …
    certified: bool = False  # by a proof, not by an interval
    needs_refit: bool = False  # not run, and only retrained models would tell
    may_say: str = ""  # of heatmaps like these, where the line is decided so
    do_not_say: str = ""
    advice: str = ""  # what a decided line asks of somebody who shows these heatmaps
    check: str = ""  # whose words name the evidence
    heading: str = ""  # of a line that stands apart: what it is about
    preface: str = ""  # what to know before reading it
    strip: Strip | None = None  # the deciding number between its thresholds and baselines, where it has one
    instead: Instead | None = None  # a method to show where the heatmap fails
    would_take: int = 0  # examples that would decide it if the value stays, or are needed at least; 0: unknown

    @property
    def moot(self) -> bool:
        """Unclear because there is nothing to ask here, however much data there is."""
        return self.undecided == "cannot be asked"

    @property
    def lead(self) -> str:
        """The first sentence: the answer without its numbers."""
        return sentences(self.sentence)[0]

    def how_many(self, available: int | None) -> str:
        """How many examples would decide, and how to get them; empty where nobody can say.

        What the data does not have is no advice.
        """
        if not self.would_take:
            return ""
        if self.route == TOO_FEW:
            if available is not None and available < self.would_take:
                return f"The data has {available:,}: name more with --data."
            return f"Add --examples {self.would_take}."
        about = f"About {self.would_take:,} examples would decide, if the value stays"
        if available is None:
            return f"{about}."
        if self.would_take <= available:
            return f"{about} (--examples {self.would_take})."
        return f"{about}; the data has {available:,}."

    @property
    def badge(self) -> str:
        """The answer to the question, in a word or two."""
        if self.state in ("yes", "no"):
            return self.state
        if self.state == "not found":
            return "none found"
        return _BADGES.get(self.undecided, "not run" if self.state == "not run" else "not decided")
