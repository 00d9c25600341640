"""One line of the card."""

from typing import Literal, NamedTuple, TypeAlias

from heatcheck.results.measurement import Measurement

NECESSARY = "necessary"
POINTS = "points at what matters"
HARD = "hard to manipulate"
OUT_OF_CONTEXT = "works out of context"
ACROSS = "across models"
PLAUSIBLE = "plausible to people"

MOOT = "moot here"

State: TypeAlias = Literal["yes", "no", "unclear", "not run", "not found"]


class Line(NamedTuple):
    """One line of the card."""

    name: str
    question: str  # in plain words
    state: State
    # Why unclear: "more data would decide: …" or "moot here: …"; the proof, if "certified: …"; what would run it.
    reason: str
    evidence: tuple[Measurement, ...]  # the statistic first, then what it is read against
    holds: str  # what was held fixed
    sentence: str  # what it means for the heatmaps, in plain words
    cannot_see: str  # what this line is blind to

    @property
    def moot(self) -> bool:
        """Unclear because there is nothing to ask here, however much data there is."""
        return self.state == "unclear" and self.reason.startswith(MOOT)
