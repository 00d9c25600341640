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

    texts: int = 30  # fewer decide nothing: a bootstrap over a handful covers far less than it says
    points: float = 0.5  # K above is yes, below is no
    room: float = 0.02  # a best rival must beat random removal by so much, or the question is moot
    different: float = 0.5  # U below is a yes: even the best stand-in has less than this share of the possible JSD
    shuffled: float = 0.5  # q above is a no: more than this share of all shuffles keeps the answer
    flat: float = 0.98  # weights whose entropy is this share of uniform ones' have no shape that could be moved


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
    both = {"permutation", "counterfactual"} <= results.keys()
    hard = judge_hard(results["permutation"], results["counterfactual"], settings) if both else _hard_not_run()
    later = "nothing yet: its checks come with a later release of heatcheck"
    return Card(
        (
            _not_run(NECESSARY, "Would the model be worse without learned attention?", "retrained", later),
            points,
            hard,
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
    signed = [m for m in erasure.measurements if m.name == "K_signed"]  # what the heatmap's lack of a sign costs
    state: State = "unclear"
    reason = ""
    if shares[0].n < settings.texts:
        reason, sentence = _too_few(shares[0].n, settings)
    elif any(not room.low >= settings.room for room in rooms):
        reason = "moot here: no rival beats removing words at random by enough to compare with"
        sentence = "In these texts no single words matter much, so there is nothing for a heatmap to point at."
    elif all(share.low > settings.points for share in shares):
        state = "yes"
        sentence = (
            "Beyond what removing random words does, removing the most attended ones has "
            f"{shares[0].value:.0%} of the effect that the best rival method's top words have (among rivals that, as a "
            "heatmap, have no sign): the words the heatmap marks do matter to this model."
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
        (*shares, *effects, *rooms, *signed),
        "the model; each text is encoded again without the words",
        sentence,
        "whether the model uses its weights: a bystander that points at the right word passes too",
    )


def judge_hard(permutation: CheckResult, counterfactual: CheckResult, settings: CardSettings) -> Line:
    """*hard to manipulate*, in this model with its states fixed.

    Yes only from an upper bound on the worst case; no from what an arbitrary shuffle does; in between, a stand-in
    exists for whoever searches, and a random one changes the answer. Both are asked on standardised logits.
    """
    q, evenness = permutation.find("q"), permutation.find("evenness")
    near = permutation.settings["epsilon"]
    names = [m.name for m in counterfactual.measurements]
    attained = counterfactual.find("U")
    upper = counterfactual.find("U_upper") if "U_upper" in names else None
    state: State = "unclear"
    reason = ""
    if q.n < settings.texts:
        reason, sentence = _too_few(q.n, settings)
    elif evenness.value > settings.flat and q.low > settings.shuffled:
        reason = (
            f"moot here: the weights are nearly uniform (evenness {evenness.value:.2f}), so shuffles hardly change any"
        )
        sentence = "Every word has about the same weight, so there is no heatmap that could be another one."
    elif upper is not None and upper.high < settings.different:
        state = "yes"
        sentence = (
            f"Even the most different weights that keep the answer differ by only {upper.value:.0%} of what any "
            "weights could: for this model a very different heatmap would mean a different answer."
        )
    elif q.low > settings.shuffled:
        state = "no"
        sentence = (
            f"{q.value:.0%} of all shuffles of the weights move no probability by more than {near:g}: with the same "
            "states another heatmap would do as well, so this one is not the reason for the answer."
        )
    else:
        reason = _why_hard_is_unclear(q, upper or attained, settings, bounded=upper is not None)
        sentence = (
            f"Whoever searches finds weights that differ by {attained.value:.0%} of what is possible and move no "
            f"probability by more than {near:g}; a random shuffle does so in {q.value:.0%} of the cases."
        )
    beside = [counterfactual.find(name) for name in ("U_null", "U_upper", "floor", "most") if name in names]
    return Line(
        HARD,
        "Must the weights be about as they are for the answer to stand?",
        state,
        reason,
        (q, attained, *beside, evenness),
        "the states: only the weights change, in this very model",
        sentence,
        "whether the attended words matter; nor whether another model with other weights would answer alike",
    )


def _too_few(n: int, settings: CardSettings) -> tuple[str, str]:
    """Reason and sentence where nothing may be decided."""
    few = f"{n} text{'' if n == 1 else 's'}: too few to say anything"
    return f"more data would decide: at least {settings.texts} texts are needed (--set card.texts)", f"Only {few}."


def _why_hard_is_unclear(q: Measurement, worst: Measurement, settings: CardSettings, *, bounded: bool) -> str:
    across = [
        f"{name} = {m.value:.2f} [{m.low:.2f}, {m.high:.2f}] lies across {limit:g}"
        for name, m, limit in (("q", q, settings.shuffled), ("U", worst, settings.different))
        if m.low <= limit <= m.high
    ]
    if across:
        return f"more data would decide: {' and '.join(across)} with n = {q.n}"
    if not bounded and worst.high < settings.different:
        return "more search would decide: nothing more different was found, which proves nothing"
    return "in between: a stand-in exists if one searches, a random one changes the answer"


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


def _hard_not_run() -> Line:
    question = "Must the weights be about as they are for the answer to stand?"
    return _not_run(HARD, question, "states", "heatcheck audit MODEL --checks permutation,counterfactual")


def _not_run(name: str, question: str, holds: str, what_would: str) -> Line:
    return Line(name, question, "not run", what_would, (), holds, "Nothing is said about this.", "")
