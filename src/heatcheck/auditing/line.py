"""One line of the card, the thresholds of all of them, and the reasons that several share."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from heatcheck.checks import CheckResult, Measurement

State: TypeAlias = Literal["yes", "no", "unclear", "not run", "not found"]

NECESSARY = "necessary"
POINTS = "points at what matters"
HARD = "hard to manipulate"
OUT_OF_CONTEXT = "works out of context"
ACROSS = "across models"
PLAUSIBLE = "plausible to people"

MOOT = "moot here"
MORE_DATA = "more data would decide"
CERTIFIED = "certified"
MANY_TIMES = 100  # the texts there are: more is not worth a number
REFIT = "heatcheck audit MODEL --refit"


@dataclass(frozen=True)
class CardSettings:
    """The thresholds of the card."""

    texts: int = 30  # fewer decide nothing: a bootstrap over a handful covers far less than it says
    seeds: int = 5  # fewer decide nothing that was fitted again: two fits differ by chance alone
    needed: float = 0.10  # N above is yes, below is no: the share of the accuracy above the prior that would be lost
    above_prior: float = 0.05  # accuracy above the commonest label's share, or there is nothing to be needed for
    unchanged: float = 1e-4  # uniform weights that change no probability by more prove that weights are not needed
    points: float = 0.5  # K above is yes, below is no
    room: float = 0.02  # a best rival must beat random removal by so much, or the question is moot
    different: float = 0.5  # U below is a yes: even the best stand-in has less than this share of the possible JSD
    shuffled: float = 0.5  # q above is a no: more than this share of all shuffles keeps the answer
    flat: float = 0.98  # weights whose entropy is this share of uniform ones' have no shape that could be moved
    excess: float = 0.25  # nats by which another model's heatmap must differ beyond what other seeds do
    gain: float = 0.5  # G above is yes, below is no: the share of the guide's headroom that the weights close
    plausible: float = 0.05  # P above is yes, below is no: the share of the way from chance to people's own marks
    plausible_room: float = 0.05  # chance must fall so far short of people's marks, or the question is moot
    guide_room: float = 0.02  # headroom, and what words say by themselves, must be so much, or the question is moot


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


class Found(NamedTuple):
    """What a rule says: the part of a line that depends on the numbers."""

    state: State
    reason: str
    sentence: str


def lookup(result: CheckResult | None, name: str, **by: object) -> Measurement | None:
    """The measurement of this name whose `by` holds these values; None where the check has none such."""
    if result is None:
        return None
    found = [m for m in result.measurements if m.name == name and all(m.by.get(k) == v for k, v in by.items())]
    return found[0] if len(found) == 1 else None


def present(*measurements: Measurement | None) -> tuple[Measurement, ...]:
    """Those that are there, each once, in this order."""
    return tuple({id(m): m for m in measurements if m is not None}.values())


def too_few_texts(n: int, settings: CardSettings) -> Found:
    """Nothing may be decided by so few."""
    few = f"{n} text{'' if n == 1 else 's'}: too few to say anything"
    needed = f"at least {settings.texts} texts are needed (--examples {settings.texts}, if the data has so many)"
    return Found("unclear", f"{MORE_DATA}: {needed}", f"Only {few}.")


def too_few_seeds(n: int, settings: CardSettings, check: CheckResult) -> Found:
    """Nothing refitted may be decided by so few."""
    lost = len(check.settings.get("not_run", {}))
    failed = f" ({lost} fit{'' if lost == 1 else 's'} could not be made)" if lost else ""
    return Found(
        "unclear",
        f"{MORE_DATA}: at least {settings.seeds} seeds are needed (--set {check.check}.seeds){failed}",
        f"Only {n} seed{'' if n == 1 else 's'}: too few to tell chance from a difference.",
    )


def lies_across(m: Measurement, limit: float) -> bool:
    """Whether the interval decides nothing; one without ends decides nothing either."""
    return not (m.low > limit or m.high < limit)


def would_decide(m: Measurement, limit: float) -> str:
    """About how many texts the interval needs to leave the limit, if the value stays: its width falls with √n.

    >>> would_decide(Measurement("K", 0.6, 0.4, 0.8, 100, "random", {}), 0.5)
    '; if the value stays, about 410 texts would decide (--examples)'
    """
    reach = m.value - m.low if m.value > limit else m.high - m.value
    gap = abs(m.value - limit)
    if not (math.isfinite(reach) and gap > 0 and reach >= gap):
        return ""
    times = (reach / gap) ** 2
    if times > MANY_TIMES:
        return f"; if the value stays, more than {MANY_TIMES} times as many texts would be needed"
    digits = 10 ** max(0, len(str(int(m.n * times))) - 2)  # two digits say all that is known
    return (
        f"; if the value stays, about {math.floor(m.n * times / digits + 1) * digits:,} texts would decide (--examples)"
    )


def interval(m: Measurement) -> str:
    """The value with the ends of its interval.

    >>> interval(Measurement("K", -0.001, -0.11, 0.104, 10, "random", {}))
    '0.00 [-0.11, 0.10]'
    >>> interval(Measurement("N", 0.21, -math.inf, math.inf, 10, "random", {}))
    '0.21 (no interval)'
    """
    if not (math.isfinite(m.low) and math.isfinite(m.high)):
        return f"{m.value:.2f} (no interval)"
    value, low, high = (f"{round(number, 2) + 0.0:.2f}" for number in (m.value, m.low, m.high))  # no minus before 0
    return f"{value} [{low}, {high}]"


def not_run(name: str, question: str, holds: str, what_would: str) -> Line:
    """A line of which nothing is known, and what would change that."""
    return Line(name, question, "not run", what_would, (), holds, "Nothing is said about this.", "")
