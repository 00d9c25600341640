"""*necessary*: does this task, for this family of models and this budget, need learned attention at all?

N is the share of the accuracy above the commonest label's that the best attention-free model of the family loses. A
*no* needs no retraining: any attention-free model of the family that does as well will do, and this very model with
uniform weights at every attention site is one of them. It is *certified* only where a proof says so, not an interval. A
*yes* needs the best one, so it is never certified. A model that is no better than the commonest label has nothing that
attention could be needed for, so that is asked first.
"""

from typing import NamedTuple

from heatcheck.auditing.lines.rule import (
    REFIT,
    CardSettings,
    Found,
    LineRule,
    cannot_be_asked,
    lookup,
    needs_more_data,
    nothing_known,
    present,
    proved,
    too_few_seeds,
    too_few_texts,
)
from heatcheck.results import CheckResult, Line, Measurement
from heatcheck.results.written import in_brief

NAME = "necessary"
THIS_MODEL = "all but the weights: this very model, with uniform weights put in place of its own"
EVERYWHERE = f"{THIS_MODEL} at every attention site"
UNKNOWN_WORTH = "heatcheck audit MODEL --checks necessity,gauge"
TWIN = "the family: a model of it with uniform weights, in closed form from this one"
CLOSED_FORM = "the task and the family: its best model without attention is written down, not trained"
RETRAINED = "the task: every model is trained again"
UNIFORM = ("uniform everywhere", "uniform")
WITHOUT = {"uniform": "under uniform weights", "last": "on the last state alone"}


class _Judged(NamedTuple):
    found: Found
    statistics: tuple[Measurement, ...]  # what it was judged by
    holds: str


def judge_necessary(necessity: CheckResult | None, gauge: CheckResult | None, settings: CardSettings) -> Line:
    """A no that needs no retraining, or N by its interval; not run where neither is there."""
    judged = (
        _too_few(necessity, gauge, settings)
        or (_without_retraining(necessity, gauge, settings) if _worth_asking(necessity, settings) else None)
        or _fitted(necessity, settings)
        or _nothing_fitted(necessity, gauge, settings)
    )
    evidence = present(*judged.statistics, *_beside(necessity, gauge))
    return RULE.line(judged.found, evidence, judged.holds + _family(necessity))


def _family(necessity: CheckResult | None) -> str:
    """Which family and what budget, where models of it were trained."""
    if necessity is None or lookup(necessity, "headroom", against="retrained") is None:
        return ""
    return f"; the family and the budget: {str(necessity.facts.get('family', 'not said')).rstrip('.')}"


def _beside(necessity: CheckResult | None, gauge: CheckResult | None) -> tuple[Measurement, ...]:
    """What N is read against, and how far this model uses its weights."""
    kinds = ("learned", "uniform", "last", "free", "own")
    return present(
        *(lookup(necessity, "N", against=a) for a in ("retrained", "closed form", "swap everywhere", "swap")),
        *(lookup(necessity, "accuracy", fit=fit, weights=w) for fit in ("retrained", "closed form") for w in kinds),
        *(lookup(necessity, "accuracy", fit="swapped", weights=weights) for weights in ("own", *UNIFORM)),
        lookup(necessity, "prior"),
        *(lookup(necessity, "change", weights=weights) for weights in (*UNIFORM, "permuted", "random")),
        *(lookup(necessity, "most_change", weights=weights) for weights in UNIFORM),
        *(lookup(gauge, name, twin="uniform") for name in ("agreement", "tvd")),
    )


def _too_few(necessity: CheckResult | None, gauge: CheckResult | None, settings: CardSettings) -> _Judged | None:
    counted = lookup(necessity, "prior") or lookup(gauge, "agreement", twin="uniform")
    if counted is None or counted.n >= settings.texts:
        return None
    return _Judged(too_few_texts(counted.n, settings), (), THIS_MODEL)


def _sites(necessity: CheckResult | None) -> int:
    return int(necessity.facts.get("sites", 1)) if necessity is not None else 1


def _at_all(sites: int) -> str:
    """Where uniform weights were imposed, if a reader could think of fewer sites."""
    return f" at all {sites} attention sites" if sites > 1 else ""


def _worth_asking(necessity: CheckResult | None, settings: CardSettings) -> bool:
    """Whether this model is surely better than the commonest label; not if nobody knows."""
    headroom = lookup(necessity, "headroom", against="swap")
    return headroom is not None and not _is_moot(headroom, settings)


def _without_retraining(
    necessity: CheckResult | None, gauge: CheckResult | None, settings: CardSettings
) -> _Judged | None:
    return _nothing_changes(necessity, settings) or _twin(necessity, gauge, settings) or _swapped(necessity, settings)


def _nothing_changes(necessity: CheckResult | None, settings: CardSettings) -> _Judged | None:
    sites = _sites(necessity)
    most = lookup(necessity, "most_change", weights="uniform everywhere" if sites > 1 else "uniform")
    if most is None or not most.value <= settings.unchanged:
        return None
    found = proved(
        "no",
        f"uniform weights{_at_all(sites)} change no probability by more than {settings.unchanged:g} on "
        f"any of {most.n:,} texts",
        f"This model answers alike with uniform weights{_at_all(sites)}: its heatmaps have no part in its answers.",
        route="nothing changes",
    )
    return _Judged(found, (most,), EVERYWHERE if sites > 1 else THIS_MODEL)


def _twin(necessity: CheckResult | None, gauge: CheckResult | None, settings: CardSettings) -> _Judged | None:
    equal = lookup(gauge, "agreement", twin="uniform")
    if equal is None or equal.value != 1.0:
        return None
    found = proved(
        "no",
        f"a twin of this model has uniform weights and makes the same decision on every one of "
        f"{equal.n:,} texts (and, by proof, on all others)",
        "Another model, with uniform weights, makes the same decisions: what the weights do here, the words' own "
        f"values can do instead.{_uses_its_own(necessity, settings)}",
        route="gauge twin",
    )
    return _Judged(found, (equal,), TWIN)


def _uses_its_own(necessity: CheckResult | None, settings: CardSettings) -> str:
    """That this very model is not the twin, where the difference is large."""
    lost = lookup(necessity, "N", against="swap")
    if lost is None or not lost.low > settings.needed:
        return ""
    return (
        f" This very model uses its weights: with uniform ones it loses {_lost(lost)} of its accuracy above always "
        "saying the commonest label."
    )


def _swapped(necessity: CheckResult | None, settings: CardSettings) -> _Judged | None:
    """This model under uniform weights learned none, so the best without learned ones loses no more than it does."""
    sites = _sites(necessity)
    lost = lookup(necessity, "N", against="swap everywhere" if sites > 1 else "swap")
    if lost is None or not lost.high < settings.needed:
        return None
    found = Found(
        "no",
        f"N = {in_brief(lost)} of this very model under uniform weights{_at_all(sites)} lies below "
        f"{settings.needed:g}, and the best model that has such weights loses no more",
        f"With uniform weights in place of its own{_at_all(sites)} this model loses {_lost(lost)} of its accuracy "
        "above always saying the commonest label: it does not need its heatmaps to do well.",
        route="swap",
    )
    return _Judged(found, (lost,), EVERYWHERE if sites > 1 else THIS_MODEL)


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
            found = _by_interval(lost, without, "seeds" if refitted else "texts", settings)
            route = ("retraining" if refitted else against) if found.state in ("yes", "no") else ""
            return _Judged(found._replace(route=route), (lost,), holds)
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
    return needs_more_data(
        f"N = {in_brief(lost)} lies across {settings.needed:g} with n = {lost.n} {counted}",
        f"{best} {_lost(lost)} {above}; whether that is more than {settings.needed:.0%} is not settled.",
    )


def _nothing_fitted(necessity: CheckResult | None, gauge: CheckResult | None, settings: CardSettings) -> _Judged:
    headroom = lookup(necessity, "headroom", against="swap")
    if headroom is not None and _is_moot(headroom, settings):
        return _Judged(_moot(headroom, settings), (headroom,), THIS_MODEL)
    equal = lookup(gauge, "agreement", twin="uniform")
    if necessity is None and equal is not None:
        sentence = (
            f"A twin of this model has uniform weights and makes {equal.value:.0%} of its decisions; whether those are "
            "better than always saying the commonest label was not asked."
        )
        return _Judged(nothing_known(UNKNOWN_WORTH, sentence), (equal,), TWIN)
    sentence = (
        f"{_used(necessity)}Whether a model trained without attention would do as well is known only by training some."
    )
    failed = len(necessity.not_run) if necessity is not None else 0
    again = f"{REFIT} ({failed} of its fits could not be made)" if failed else REFIT
    return _Judged(nothing_known(again, sentence, needs_refit=True), (), RETRAINED)


def _used(necessity: CheckResult | None) -> str:
    """How far this model uses its weights, as a sentence before another; empty where it was not asked."""
    sites = _sites(necessity)
    everywhere, here = (lookup(necessity, "N", against=against) for against in ("swap everywhere", "swap"))
    if sites > 1 and everywhere is not None and here is not None:
        return (
            f"With uniform weights{_at_all(sites)} this model loses {_lost(everywhere)} of its accuracy above always "
            f"saying the commonest label, and at the heatmap's alone {_lost(here)}. "
        )
    used = lookup(necessity, "change", weights="uniform")
    return "" if used is None else f"Uniform weights move this model's probabilities by {used.value:.2f} on average. "


def _is_moot(headroom: Measurement, settings: CardSettings) -> bool:
    return not headroom.low >= settings.above_prior


def _moot(headroom: Measurement, settings: CardSettings) -> Found:
    return cannot_be_asked(
        f"the model's accuracy less that of always saying the commonest label is {in_brief(headroom)}, and not "
        f"surely {settings.above_prior:g} or more",
        "There is next to nothing that attention, or anything else, could be needed for.",
    )


def _lost(share: Measurement) -> str:
    """A share in words; a model without attention that does better loses nothing."""
    return "nothing" if share.value <= 0 else f"{share.value:.0%}"


RULE = LineRule(
    NAME,
    "necessary",
    "Would the model be worse without learned attention?",
    "what other families or budgets would need; nor, by itself, whether this model uses its weights: see how far "
    "uniform ones change its answers",
    ("necessity",),
    lambda results, settings: judge_necessary(results.get("necessity"), results.get("gauge"), settings),
    {
        "yes": "The task needs learned attention here: the weights carry part of the solution.",
        "no": "Attention could be left out at next to no cost, so the weights need not carry the reasons: do not argue "
        "from the mere presence of attention.",
        # Another model has uniform weights: that says nothing about this one's.
        ("no", "gauge twin"): "Another model, with uniform weights, makes the same decisions, so these decisions do "
        "not need attention. This very model may use its weights all the same: do not argue from the mere presence of "
        "attention.",
    },
    may_say={
        "yes": "On this task, models of this kind do worse without learned attention.",
        ("no", "nothing changes"): "This model gives the same answers with equal weights.",
        ("no", "gauge twin"): "Another model with equal weights makes the same decisions.",
        ("no", "swap"): "This model is about as accurate with equal weights.",
        ("no", "retraining"): "A model of this kind, trained without attention, does about as well.",
        ("no", "closed form"): "A model of this kind without attention does about as well.",
    },
    do_not_say={
        "no": "The model needs its attention to do well on this task.",
    },
)
