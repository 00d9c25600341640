"""*hard to manipulate*: would different attention weights, on the same hidden states, change this model's answer?"""

from heatcheck.auditing.lines.rule import (
    CardSettings,
    Found,
    LineRule,
    cannot_be_asked,
    examples_to_decide,
    lookup,
    needs_more_data,
    nothing_known,
    present,
    straddles,
    too_few_texts,
)
from heatcheck.results import CheckResult, Line, Mark, Measurement, Strip, Zone
from heatcheck.results.written import in_brief

NAME = "hard to manipulate"
BOTH = "heatcheck audit MODEL --checks permutation,counterfactual"
HOLDS = "the model and its hidden states; only the attention weights change"


def judge_hard(permutation: CheckResult | None, counterfactual: CheckResult | None, settings: CardSettings) -> Line:
    """Yes only from an upper bound on the worst case; no from what an arbitrary shuffle does, for which that is enough.

    In between, a search finds different weights that keep the answer, and a random shuffle changes it. Both are asked
    on standardised logits.
    """
    q, evenness = lookup(permutation, "q"), lookup(permutation, "evenness")
    attained, upper = lookup(counterfactual, "U"), lookup(counterfactual, "U_upper")
    if permutation is None or q is None or evenness is None:
        found = _without_shuffles(attained)
    else:
        found = _decide(q, evenness, attained, upper, permutation.settings["epsilon"], settings)
    beside = [lookup(counterfactual, name) for name in ("U_null", "U_upper", "floor", "most")]
    return RULE.line(found, present(q, attained, *beside, evenness), HOLDS)


def _without_shuffles(attained: Measurement | None) -> Found:
    """A worst case decides nothing alone: whether the weights have a shape that could be moved is not known."""
    if attained is None:
        return nothing_known(BOTH)
    sentence = (
        f"A search finds weights that keep the answer and differ by {attained.value:.0%} of the possible distance. "
        "Shuffles of the weights were not tested."
    )
    return nothing_known(BOTH, sentence)


def _shuffle_strip(q: Measurement, settings: CardSettings) -> Strip:
    zones = (Zone(settings.shuffled, "yes or mixed"), Zone(1.0, "no"))
    return Strip(q, 0.0, zones, (Mark(0.0, "every shuffle changes it"), Mark(1.0, "no shuffle does")))


def _worst_case_strip(upper: Measurement, settings: CardSettings) -> Strip:
    zones = (Zone(settings.different, "yes"), Zone(1.0, "mixed or no"))
    return Strip(upper, 0.0, zones, (Mark(0.0, "these weights only"), Mark(1.0, "any weights")))


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
        zones = (Zone(settings.flat, "can be asked"), Zone(1.0, "cannot be asked"))
        return cannot_be_asked(
            f"the evenness of the weights is {evenness.value:.2f}, and 1 is equal weights",
            "All words have nearly equal weights. Shuffling the weights changes almost nothing.",
        )._replace(strip=Strip(evenness, 0.0, zones, (Mark(0.0, "one word has all"), Mark(1.0, "equal weights"))))
    if upper is not None and upper.high < settings.different:
        sentence = (
            "Very different weights would change the answer. Even the most different weights that keep it differ by "
            f"only {upper.value:.0%} of the possible distance."
        )
        return Found("yes", "", sentence, route="worst case", strip=_worst_case_strip(upper, settings))
    strip = _shuffle_strip(q, settings)
    kept, moved = _of_hundred(q.value)
    if q.low > settings.shuffled:
        rest = f"in the other {moved} it moves more" if moved else "no shuffle moves it more"
        sentence = (
            f"Other weights mostly give the same answer. In {kept} of 100 shuffles of the weights, the probability "
            f"moves by at most {near:g}; {rest}."
        )
        return Found("no", "", sentence, route="shuffles", strip=strip)
    shuffles = f"In {kept} of 100 shuffles of the weights, the probability moves by at most {near:g}."
    if attained is None:
        return nothing_known(BOTH, f"{shuffles} heatcheck did not search for different weights with the same answer.")
    searched = (
        f"A search finds weights that differ by {attained.value:.0%} of the possible distance and move it by at most "
        f"{near:g}."
    )
    found = _undecided(q, upper or attained, settings, f"{shuffles} {searched}", bounded=upper is not None)
    return found._replace(strip=strip)


def _of_hundred(share: float) -> tuple[int, int]:
    """A share of the shuffles in whole numbers, and the rest.

    >>> _of_hundred(0.714), _of_hundred(1.0), _of_hundred(0.997)
    ((71, 29), (100, 0), (99, 1))
    """
    kept = round(100 * share)
    if kept == 100 and share < 1:
        kept = 99
    return kept, 100 - kept


def _undecided(q: Measurement, worst: Measurement, settings: CardSettings, sentence: str, *, bounded: bool) -> Found:
    limits = (("shuffles", q, settings.shuffled), ("worst case", worst, settings.different))
    across = [(name, m, limit) for name, m, limit in limits if straddles(m, limit)]
    if across:
        why = "; ".join(f"{name} {in_brief(m)} includes {limit:g}" for name, m, limit in across)
        _, nearest, limit = across[0]
        return needs_more_data(why, sentence, examples_to_decide(nearest, limit))
    if not bounded and worst.high < settings.different:
        why = "a longer search would decide: finding nothing more different proves nothing"
        return Found("unclear", why, sentence, undecided="more search")
    lead = "Most shuffles move the probability; a search finds weights that do not."
    why = "a random shuffle usually moves the probability, but a search finds different weights that do not"
    return Found("unclear", why, f"{lead} {sentence}", undecided="in between")


RULE = LineRule(
    NAME,
    "hard",
    "Would different weights change the answer?",
    "whether the highlighted words matter, or whether another model with other weights gives the same answers",
    ("permutation", "counterfactual"),
    lambda results, settings: judge_hard(results.get("permutation"), results.get("counterfactual"), settings),
    {
        "yes": "Inside this model, a very different heatmap would come with a different answer.",
        "no": "Most shuffles of the weights keep the answer. Do not present the heatmap as the reason for it.",
    },
    may_say={
        "yes": "In this model a very different heatmap would come with a different answer.",
    },
    do_not_say={
        "no": "The model gave this answer because it put its weight on these words.",
    },
)
