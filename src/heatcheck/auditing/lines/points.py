"""*points at what matters*: does removing the attended words do as much as removing the best rival's?"""

from collections.abc import Sequence

from heatcheck.auditing.lines.rule import (
    CardSettings,
    Found,
    LineRule,
    cannot_be_asked,
    lies_across,
    needs_more_data,
    too_few_texts,
    would_decide,
)
from heatcheck.results import CheckResult, Line, Measurement

NAME = "points at what matters"


def judge_points(erasure: CheckResult | None, settings: CardSettings) -> Line:
    """K above ½ under every way of removing words."""
    if erasure is None:
        return RULE.not_run("re-encoded", "heatcheck audit MODEL --checks erasure")
    operators = erasure.settings["operators"]
    shares = [erasure.find("K", operator=operator) for operator in operators]
    rooms = [erasure.find("room", operator=operator) for operator in operators]
    effects = [
        erasure.find("effect", operator=operators[0], ranking=ranking)
        for ranking in (erasure.settings["explainer"], "random", "best rival")
    ]
    signed = [m for m in erasure.measurements if m.name == "K_signed"]  # what the heatmap's lack of a sign costs
    found = _decide(shares, rooms, settings)
    return RULE.line(
        found, (*shares, *effects, *rooms, *signed), "the model; each text is encoded again without the words"
    )


def _decide(shares: Sequence[Measurement], rooms: Sequence[Measurement], settings: CardSettings) -> Found:
    if shares[0].n < settings.texts:
        return too_few_texts(shares[0].n, settings)
    if any(not room.low >= settings.room for room in rooms):
        return cannot_be_asked(
            "no rival beats removing words at random by enough to compare with",
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
    return _undecided(shares, settings.points, sentence)


def _undecided(shares: Sequence[Measurement], threshold: float, sentence: str) -> Found:
    """Which intervals lie across the threshold; or that the ways of removing words disagree."""
    across = [m for m in shares if lies_across(m, threshold)]
    if not across:
        why = "deletion and masking disagree: the answer depends on how words are removed"
        return Found("unclear", why, sentence, undecided="disagreement")
    named = " and ".join(f"K by {m.by['operator']}, [{m.low:.2f}, {m.high:.2f}]," for m in across)
    # The one that is nearest to the threshold needs the most texts.
    nearest = min(across, key=lambda m: abs(m.value - threshold))
    why = f"{named} lies across {threshold:g} with n = {shares[0].n}{would_decide(nearest, threshold)}"
    return needs_more_data(why, sentence)


RULE = LineRule(
    NAME,
    "points",
    "Do the words it attends to matter to the answer?",
    "whether the model uses its weights: a bystander that points at the right word passes too",
    ("erasure",),
    lambda results, settings: judge_points(results.get("erasure"), settings),
    {
        "yes": "You may say that highlighted words are, on average, words the answer depends on.",
        "no": "Do not present the highlighted words as the words the answer depends on: other explanations find words "
        "that matter more.",
    },
    may_say={
        "yes": "The highlighted words are, on average, words the answer depends on.",
    },
    do_not_say={
        "no": "The highlighted words are the words the answer depends on.",
    },
)
