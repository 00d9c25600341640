"""*points at what matters*: does removing the attended words do as much as removing the best rival's?"""

from collections.abc import Sequence

from heatcheck.auditing.line import (
    MOOT,
    MORE_DATA,
    POINTS,
    CardSettings,
    Found,
    Line,
    lies_across,
    not_run,
    too_few_texts,
    would_decide,
)
from heatcheck.checks import CheckResult, Measurement

QUESTION = "Do the words it attends to matter to the answer?"


def judge_points(erasure: CheckResult | None, settings: CardSettings) -> Line:
    """K above ½ under every way of removing words."""
    if erasure is None:
        return not_run(POINTS, QUESTION, "re-encoded", "heatcheck audit MODEL --checks erasure")
    operators = erasure.settings["operators"]
    shares = [erasure.find("K", operator=operator) for operator in operators]
    rooms = [erasure.find("room", operator=operator) for operator in operators]
    effects = [
        erasure.find("effect", operator=operators[0], ranking=ranking)
        for ranking in (erasure.settings["explainer"], "random", "best rival")
    ]
    signed = [m for m in erasure.measurements if m.name == "K_signed"]  # what the heatmap's lack of a sign costs
    found = _decide(shares, rooms, settings)
    return Line(
        POINTS,
        QUESTION,
        found.state,
        found.reason,
        (*shares, *effects, *rooms, *signed),
        "the model; each text is encoded again without the words",
        found.sentence,
        "whether the model uses its weights: a bystander that points at the right word passes too",
    )


def _decide(shares: Sequence[Measurement], rooms: Sequence[Measurement], settings: CardSettings) -> Found:
    if shares[0].n < settings.texts:
        return too_few_texts(shares[0].n, settings)
    if any(not room.low >= settings.room for room in rooms):
        return Found(
            "unclear",
            f"{MOOT}: no rival beats removing words at random by enough to compare with",
            "In these texts no single words matter much, so there is nothing for a heatmap to point at.",
        )
    beyond = "Beyond what removing random words does, removing the most attended ones has "
    if all(share.low > settings.points for share in shares):
        sentence = (
            f"{beyond}{shares[0].value:.0%} of the effect that the best rival method's top words have (among rivals "
            "that, as a heatmap, have no sign): the words the heatmap marks do matter to this model."
        )
        return Found("yes", "", sentence)
    if all(share.high < settings.points for share in shares):
        effect = f"{beyond}only {shares[0].value:.0%} of the effect that the best rival method's top words have"
        if round(shares[0].value, 2) <= 0:
            effect = "Removing the most attended words has no more effect than removing random words"
        return Found("no", "", f"{effect}: do not read the words the heatmap marks as the ones that matter.")
    sentence = (
        "These examples do not settle whether removing the attended words has at least "
        f"{settings.points:.0%} of the effect of the best rival's."
    )
    return Found("unclear", _why_unclear(shares, settings.points), sentence)


def _why_unclear(shares: Sequence[Measurement], threshold: float) -> str:
    """Which intervals lie across the threshold; or that the ways of removing words disagree."""
    across = [m for m in shares if lies_across(m, threshold)]
    if not across:
        return "deletion and masking disagree: the answer depends on how words are removed"
    named = " and ".join(f"K by {m.by['operator']}, [{m.low:.2f}, {m.high:.2f}]," for m in across)
    # The one that is nearest to the threshold needs the most texts.
    nearest = min(across, key=lambda m: abs(m.value - threshold))
    return f"{MORE_DATA}: {named} lies across {threshold:g} with n = {shares[0].n}{would_decide(nearest, threshold)}"
