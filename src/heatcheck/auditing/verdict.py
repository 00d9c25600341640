"""The card: four things a heatmap must be to be read as an explanation, each with its evidence. No overall score.

A ratio is judged by its interval: above the threshold is yes, below is no, across it is unclear because more data
would decide. Where there is nothing to point at, the question is moot, and that is unclear too, for another reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from heatcheck.checks import CheckResult, Measurement

State: TypeAlias = Literal["yes", "no", "unclear", "not run"]


@dataclass(frozen=True)
class CardSettings:
    """The thresholds of the card."""

    points: float = 0.5  # K above is yes, below is no
    room: float = 0.02  # a best rival must beat random removal by so much, or the question is moot


class Line(NamedTuple):
    """One line of the card."""

    name: str
    question: str  # in plain words
    state: State
    reason: str  # why unclear: "more data would decide" or "moot here: …"; what would run it, if not run
    evidence: tuple[Measurement, ...]  # the statistic first, then what it is read against
    holds: str  # what was held fixed
    sentence: str  # what it means for the heatmaps, in plain words
    cannot_see: str  # what this line is blind to


@dataclass(frozen=True)
class Card:
    """The four lines, and the factor by which logits were scaled before any threshold on probabilities."""

    lines: tuple[Line, ...]
    logit_scale: float

    def __getitem__(self, name: str) -> Line:
        return {line.name: line for line in self.lines}[name]


NECESSARY = "necessary"
POINTS = "points at what matters"
HARD = "hard to manipulate"
OUT_OF_CONTEXT = "works out of context"


def make_card(results: Mapping[str, CheckResult], logit_scale: float, settings: CardSettings) -> Card:
    """Four lines, whatever was run."""
    points = judge_points(results["erasure"], settings) if "erasure" in results else _points_not_run()
    later = "nothing yet: its checks come with a later release of heatcheck"
    return Card(
        (
            _not_run(NECESSARY, "Would the model be worse without learned attention?", "retrained", later),
            points,
            _not_run(HARD, "Must the weights be about as they are for the answer to stand?", "states", later),
            _not_run(OUT_OF_CONTEXT, "Do the weights help without this model around them?", "weights and words", later),
        ),
        logit_scale,
    )


def judge_points(erasure: CheckResult, settings: CardSettings) -> Line:
    """*points at what matters*: K above ½ under every way of removing words."""
    operators = erasure.settings["operators"]
    shares = [erasure.find("K", operator=operator) for operator in operators]
    rooms = [erasure.find("room", operator=operator) for operator in operators]
    effects = [
        erasure.find("effect", operator=operators[0], ranking=ranking)
        for ranking in (erasure.settings["explainer"], "random", "best rival")
    ]
    state: State = "unclear"
    reason = ""
    if any(not room.low >= settings.room for room in rooms):
        reason = "moot here: no rival beats removing words at random by enough to compare with"
        sentence = "In these texts no single words matter much, so there is nothing for a heatmap to point at."
    elif all(share.low > settings.points for share in shares):
        state = "yes"
        sentence = (
            "Beyond what removing random words does, removing the most attended ones has "
            f"{shares[0].value:.0%} of the effect that the best rival method's top words have: the words the heatmap "
            "marks do matter to this model."
        )
    elif all(share.high < settings.points for share in shares):
        state = "no"
        sentence = (
            "Beyond what removing random words does, removing the most attended ones has only "
            f"{max(0.0, shares[0].value):.0%} of the effect that the best rival method's top words have: do not read "
            "the words the heatmap marks as the ones that matter."
        )
    else:
        reason = _why_unclear(shares, settings.points)
        sentence = (
            "These examples do not settle whether removing the attended words has at least "
            f"{settings.points:.0%} of the effect of the best rival's."
        )
    return Line(
        POINTS,
        "Do the words it attends to matter to the answer?",
        state,
        reason,
        (*shares, *effects, *rooms),
        "the model; each text is encoded again without the words",
        sentence,
        "whether the model uses its weights: a bystander that points at the right word passes too",
    )


def _why_unclear(shares: Sequence[Measurement], threshold: float) -> str:
    """Which intervals lie across the threshold; or that the ways of removing words disagree."""
    across = [m for m in shares if not (m.low > threshold or m.high < threshold)]
    if not across:
        return "deletion and masking disagree: the answer depends on how words are removed"
    named = " and ".join(f"K by {m.by['operator']}, [{m.low:.2f}, {m.high:.2f}]," for m in across)
    return f"more data would decide: {named} lies across {threshold:g} with n = {shares[0].n}"


def _points_not_run() -> Line:
    question = "Do the words it attends to matter to the answer?"
    return _not_run(POINTS, question, "re-encoded", "heatcheck audit MODEL --checks erasure")


def _not_run(name: str, question: str, holds: str, what_would: str) -> Line:
    return Line(name, question, "not run", what_would, (), holds, "Nothing is said about this.", "")
