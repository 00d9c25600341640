"""The number behind an answer on a scale with thresholds and baselines: what is needed to draw it as a dot."""

from typing import NamedTuple

from heatcheck.results.measurement import Measurement
from heatcheck.results.written import in_brief


class Zone(NamedTuple):
    """The part of a strip up to `end`, and the answer that an interval inside it gives."""

    end: float
    answer: str  # "yes", "no", or why there is none


class Mark(NamedTuple):
    """A baseline, in a few words."""

    at: float
    words: str


class Strip(NamedTuple):
    """The number that decided a line, or failed to, on a scale that says what high and low values mean."""

    measurement: Measurement
    low: float  # where the scale begins; a number beyond an end is drawn at that end
    zones: tuple[Zone, ...]  # from low to high; the last one's end is the end of the scale
    marks: tuple[Mark, ...]

    @property
    def high(self) -> float:
        """Where the scale ends."""
        return self.zones[-1].end

    @property
    def direction(self) -> str:
        """What high and low values mean, beside the number.

        >>> k = Measurement("K", 0.71, 0.66, 0.77, 500, "random", {})
        >>> Strip(k, -0.2, (Zone(0.5, "no"), Zone(1.2, "yes")), (Mark(0, "random words"),)).direction
        'below 0.5 means no; above means yes'
        """
        below, above = self.zones[0], self.zones[-1]
        return f"below {below.end:g} means {below.answer}; above means {above.answer}"

    def rule(self, badge: str) -> tuple[str, str]:
        """Which values give which answer, in brief: the line's own, or else a yes or a no that it could have.

        >>> k = Measurement("K", 0.5, 0.4, 0.6, 500, "random", {})
        >>> strip = Strip(k, -0.2, (Zone(0.5, "no"), Zone(1.2, "yes")), ())
        >>> strip.rule("no"), strip.rule("not decided")
        (('below 0.5', 'no'), ('above 0.5', 'yes'))
        """
        answers = [zone.answer for zone in self.zones]
        plain = [answer for answer in answers if answer in ("yes", "no")]
        answer = badge if badge in answers else [*answers, *plain][-1]
        return f"{'below' if answer == answers[0] else 'above'} {self.zones[0].end:g}", answer

    @property
    def number(self) -> str:
        """The value with its interval."""
        return in_brief(self.measurement)

    def place(self, value: float) -> float:
        """Where a value stands, from 0 at the low end to 1 at the high one.

        >>> k = Measurement("K", 0.5, 0.4, 0.6, 500, "random", {})
        >>> strip = Strip(k, 0.0, (Zone(0.5, "no"), Zone(1.0, "yes")), ())
        >>> strip.place(0.25), strip.place(7.0), strip.place(float("-inf"))
        (0.25, 1.0, 0.0)
        """
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))
