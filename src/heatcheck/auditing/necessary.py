"""*necessary*: does this task, for this family of models and this budget, need learned attention at all?

N is the share of the accuracy above the commonest label's that the best attention-free model of the family loses. A
*no* can be certified without fitting anything: any attention-free model of the family that does as well is a proof, and
this very model under uniform weights is one of them. A *yes* needs the best one, so it is never certified.
"""

from typing import NamedTuple

from heatcheck.auditing.line import (
    CERTIFIED,
    MOOT,
    MORE_DATA,
    NECESSARY,
    REFIT,
    CardSettings,
    Found,
    Line,
    interval,
    lookup,
    present,
    too_few_seeds,
    too_few_texts,
)
from heatcheck.checks import CheckResult, Measurement

QUESTION = "Would the model be worse without learned attention?"
THIS_MODEL = "all but the weights: this very model, with uniform weights put in place of its own"
TWIN = "the family: a model of it with uniform weights, in closed form from this one"
CLOSED_FORM = "the task and the family: its best model without attention is written down, not trained"
RETRAINED = "the task: every model is trained again"
WITHOUT = {"uniform": "under uniform weights", "last": "on the last state alone"}


class _Judged(NamedTuple):
    found: Found
    statistics: tuple[Measurement, ...]  # what it was judged by
    holds: str


def judge_necessary(necessity: CheckResult | None, gauge: CheckResult | None, settings: CardSettings) -> Line:
    """Certified no, or N by its interval; not run where nothing certifies a no and nothing was fitted."""
    judged = (
        _too_few(necessity, gauge, settings)
        or _nothing_changes(necessity, settings)
        or _twin(gauge)
        or _this_model_without(necessity, settings)
        or _fitted(necessity, settings)
        or _nothing_fitted(necessity, settings)
    )
    return Line(
        NECESSARY,
        QUESTION,
        judged.found.state,
        judged.found.reason,
        present(*judged.statistics, *_beside(necessity, gauge)),
        judged.holds + _family(necessity),
        judged.found.sentence,
        "what other families or budgets would need; nor, by itself, whether this model uses its weights: see how far "
        "uniform ones change its answers",
    )


def _family(necessity: CheckResult | None) -> str:
    """Which family and what budget, where models of it were trained."""
    if necessity is None or lookup(necessity, "headroom", against="retrained") is None:
        return ""
    return f"; the family and the budget: {str(necessity.settings.get('family', 'not said')).rstrip('.')}"


def _beside(necessity: CheckResult | None, gauge: CheckResult | None) -> tuple[Measurement, ...]:
    """What N is read against, and how far this model uses its weights."""
    kinds = ("learned", "uniform", "last", "free", "own")
    return present(
        *(lookup(necessity, "N", against=against) for against in ("retrained", "closed form", "swap")),
        *(lookup(necessity, "accuracy", fit=fit, weights=w) for fit in ("retrained", "closed form") for w in kinds),
        *(lookup(necessity, "accuracy", fit="swapped", weights=weights) for weights in ("own", "uniform")),
        lookup(necessity, "prior"),
        *(lookup(necessity, "change", weights=weights) for weights in ("uniform", "permuted", "random")),
        lookup(necessity, "most_change", weights="uniform"),
        *(lookup(gauge, name, twin="uniform") for name in ("agreement", "tvd")),
    )


def _too_few(necessity: CheckResult | None, gauge: CheckResult | None, settings: CardSettings) -> _Judged | None:
    counted = lookup(necessity, "prior") or lookup(gauge, "agreement", twin="uniform")
    if counted is None or counted.n >= settings.texts:
        return None
    return _Judged(too_few_texts(counted.n, settings), (), THIS_MODEL)


def _nothing_changes(necessity: CheckResult | None, settings: CardSettings) -> _Judged | None:
    most = lookup(necessity, "most_change", weights="uniform")
    if most is None or not most.value <= settings.unchanged:
        return None
    found = Found(
        "no",
        f"{CERTIFIED}: uniform weights change no probability by more than {settings.unchanged:g} on any of "
        f"{most.n:,} texts",
        "This model answers alike with uniform weights: its heatmaps have no part in its answers.",
    )
    return _Judged(found, (most,), THIS_MODEL)


def _twin(gauge: CheckResult | None) -> _Judged | None:
    equal = lookup(gauge, "agreement", twin="uniform")
    if equal is None or equal.value != 1.0:
        return None
    found = Found(
        "no",
        f"{CERTIFIED}: a twin of this model has uniform weights and makes the same decision on every one of "
        f"{equal.n:,} texts (and, by proof, on all others)",
        "The same decisions can be had without attention by a model of the same kind: what the weights do here, the "
        "words' own values can do instead.",
    )
    return _Judged(found, (equal,), TWIN)


def _this_model_without(necessity: CheckResult | None, settings: CardSettings) -> _Judged | None:
    """This model under uniform weights learned none, so the best without learned ones loses no more than it does."""
    lost, headroom = lookup(necessity, "N", against="swap"), lookup(necessity, "headroom", against="swap")
    if lost is None or headroom is None or _is_moot(headroom, settings) or not lost.high < settings.needed:
        return None
    found = Found(
        "no",
        f"{CERTIFIED}: this very model under uniform weights loses less than {settings.needed:.0%}, and the best "
        "model that has such weights loses no more",
        f"With uniform weights in place of its own this model loses {_lost(lost)} of its accuracy above always "
        "saying the commonest label: it does not need its heatmaps to do well.",
    )
    return _Judged(found, (lost,), THIS_MODEL)


def _fitted(necessity: CheckResult | None, settings: CardSettings) -> _Judged | None:
    """By the best attention-free model, written down or trained."""
    if necessity is None:
        return None
    for against, holds in (("closed form", CLOSED_FORM), ("retrained", RETRAINED)):
        lost, headroom = lookup(necessity, "N", against=against), lookup(necessity, "headroom", against=against)
        counted, refitted = lost or headroom, against == "retrained"
        if counted is not None and refitted and counted.n < settings.seeds:
            return _Judged(too_few_seeds(counted.n, settings, necessity), (counted,), holds)
        if headroom is not None and _is_moot(headroom, settings):
            return _Judged(_moot(headroom, settings), present(headroom, lost), holds)
        if lost is not None:
            without = WITHOUT.get(str(lost.by.get("free")), "without attention")
            return _Judged(_by_interval(lost, without, "seeds" if refitted else "texts", settings), (lost,), holds)
    return None


def _by_interval(lost: Measurement, without: str, counted: str, settings: CardSettings) -> Found:
    best = f"The best model of this family {without} loses"
    above = "of the accuracy above always saying the commonest label"
    if lost.low > settings.needed:
        return Found("yes", "", f"{best} {_lost(lost)} {above}: here the task needs learned attention.")
    if lost.high < settings.needed:
        sentence = (
            f"{best} {_lost(lost)} {above}: the task does not need learned attention, so that a model does well is no "
            "reason to trust its heatmaps."
        )
        return Found("no", "", sentence)
    return Found(
        "unclear",
        f"{MORE_DATA}: N = {interval(lost)} lies across {settings.needed:g} with n = {lost.n} {counted}",
        f"{best} {_lost(lost)} {above}; whether that is more than {settings.needed:.0%} is not settled.",
    )


def _nothing_fitted(necessity: CheckResult | None, settings: CardSettings) -> _Judged:
    headroom = lookup(necessity, "headroom", against="swap")
    if headroom is not None and _is_moot(headroom, settings):
        return _Judged(_moot(headroom, settings), (headroom,), THIS_MODEL)
    used = lookup(necessity, "change", weights="uniform")
    sentence = "Whether a model trained without attention would do as well is known only by training some."
    if used is not None:
        sentence = f"Uniform weights move this model's probabilities by {used.value:.2f} on average. {sentence}"
    failed = len(necessity.settings.get("not_run", {})) if necessity is not None else 0
    again = f"{REFIT} ({failed} of its fits could not be made)" if failed else REFIT
    return _Judged(Found("not run", again, sentence), (), RETRAINED)


def _is_moot(headroom: Measurement, settings: CardSettings) -> bool:
    return not headroom.low >= settings.above_prior


def _moot(headroom: Measurement, settings: CardSettings) -> Found:
    return Found(
        "unclear",
        f"{MOOT}: the model is hardly better than always saying the commonest label, by {interval(headroom)}, and not "
        f"surely by {settings.above_prior:g}",
        "There is next to nothing that attention, or anything else, could be needed for.",
    )


def _lost(share: Measurement) -> str:
    """A share in words; a model without attention that does better loses nothing."""
    return "nothing" if share.value <= 0 else f"{share.value:.0%}"
