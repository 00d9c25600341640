"""*hard to manipulate*: in this very model, its states fixed, must the weights be about as they are?"""

from heatcheck.auditing.lines.rule import (
    CardSettings,
    Found,
    LineRule,
    cannot_be_asked,
    lookup,
    needs_more_data,
    nothing_known,
    present,
    too_few_texts,
)
from heatcheck.results import CheckResult, Line, Measurement
from heatcheck.results.written import in_brief

NAME = "hard to manipulate"
BOTH = "heatcheck audit MODEL --checks permutation,counterfactual"


def judge_hard(permutation: CheckResult | None, counterfactual: CheckResult | None, settings: CardSettings) -> Line:
    """Yes only from an upper bound on the worst case; no from what an arbitrary shuffle does, for which that is enough.

    In between, a stand-in exists for whoever searches, and a random one changes the answer. Both are asked on
    standardised logits.
    """
    q, evenness = lookup(permutation, "q"), lookup(permutation, "evenness")
    attained, upper = lookup(counterfactual, "U"), lookup(counterfactual, "U_upper")
    if permutation is None or q is None or evenness is None:
        found = _without_shuffles(attained)
    else:
        found = _decide(q, evenness, attained, upper, permutation.settings["epsilon"], settings)
    beside = [lookup(counterfactual, name) for name in ("U_null", "U_upper", "floor", "most")]
    evidence = present(q, attained, *beside, evenness)
    return RULE.line(found, evidence, "the states: only the weights change, in this very model")


def _without_shuffles(attained: Measurement | None) -> Found:
    """A worst case decides nothing alone: whether the weights have a shape that could be moved is not known."""
    if attained is None:
        return nothing_known(BOTH)
    sentence = (
        f"Weights that differ by {attained.value:.0%} of what is possible keep the answer; how many shuffles do was "
        "not asked."
    )
    return nothing_known(BOTH, sentence)


def _decide(
    q: Measurement,
    evenness: Measurement,
    attained: Measurement | None,
    upper: Measurement | None,
    near: float,
    settings: CardSettings,
) -> Found:
    if q.n < settings.texts:
        return too_few_texts(q.n, settings)
    if evenness.value > settings.flat and q.low > settings.shuffled:
        return cannot_be_asked(
            f"the weights are nearly uniform (evenness {evenness.value:.2f}), so shuffles hardly change any",
            "Every word has about the same weight, so there is no heatmap that could be another one.",
        )
    if upper is not None and upper.high < settings.different:
        sentence = (
            f"Even the most different weights that keep the answer differ by only {upper.value:.0%} of what any "
            "weights could: for this model a very different heatmap would mean a different answer."
        )
        return Found("yes", "", sentence, route="worst case")
    if q.low > settings.shuffled:
        sentence = (
            f"{q.value:.0%} of all shuffles of the weights move no probability by more than {near:g}: with the same "
            "states another heatmap would do as well, so this one is not the reason for the answer."
        )
        return Found("no", "", sentence, route="shuffles")
    if attained is None:
        sentence = (
            f"{q.value:.0%} of all shuffles of the weights move no probability by more than {near:g}; whether weights "
            "that somebody searches for do was not asked."
        )
        return nothing_known(BOTH, sentence)
    sentence = (
        f"Whoever searches finds weights that differ by {attained.value:.0%} of what is possible and move no "
        f"probability by more than {near:g}; a random shuffle does so in {q.value:.0%} of the cases."
    )
    return _undecided(q, upper or attained, settings, sentence, bounded=upper is not None)


def _undecided(q: Measurement, worst: Measurement, settings: CardSettings, sentence: str, *, bounded: bool) -> Found:
    across = [
        f"{name} = {in_brief(m)} lies across {limit:g}"
        for name, m, limit in (("q", q, settings.shuffled), ("U", worst, settings.different))
        if m.low <= limit <= m.high
    ]
    if across:
        return needs_more_data(f"{' and '.join(across)} with n = {q.n}", sentence)
    if not bounded and worst.high < settings.different:
        why = "more search would decide: nothing more different was found, which proves nothing"
        return Found("unclear", why, sentence, undecided="more search")
    why = "in between: a stand-in exists if one searches, a random one changes the answer"
    return Found("unclear", why, sentence, undecided="in between")


RULE = LineRule(
    NAME,
    "hard",
    "Must the weights be about as they are for the answer to stand?",
    "whether the attended words matter; nor whether another model with other weights would answer alike",
    ("permutation", "counterfactual"),
    lambda results, settings: judge_hard(results.get("permutation"), results.get("counterfactual"), settings),
    {
        "yes": "Inside this model a very different heatmap would have changed the answer: the one shown is not one of "
        "many that would do.",
        "no": "Most shuffles of the weights leave the answer as it was: do not read the one that is shown as the "
        "reason.",
    },
    may_say={
        "yes": "In this model a very different heatmap would come with a different answer.",
    },
    do_not_say={
        "no": "The model gave this answer because it put its weight on these words.",
    },
)
