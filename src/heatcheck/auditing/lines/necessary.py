"""*necessary*: does this task need learned attention at all, for this kind of model and this training budget?

N is the share of the gain over the majority class that the best attention-free model of the family loses. A *no* needs
no retraining: any attention-free model of the family that does as well will do, and this very model with uniform
weights at every attention site is one of them. It is *certified* only where a proof says so, not an interval. A *yes*
needs the best one, so it is never certified. A model that is no better than the majority class has nothing that
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
from heatcheck.results import TOO_FEW, CheckResult, Line, Mark, Measurement, Strip, Zone
from heatcheck.results.written import in_brief

NAME = "necessary"
THIS_MODEL = "everything but the weights: this model, with uniform weights in place of its own"
EVERYWHERE = f"{THIS_MODEL} at every attention site"
UNKNOWN_WORTH = "heatcheck audit MODEL --checks necessity,gauge"
TWIN = "every decision: another model of this kind with uniform weights, in closed form from this one"
CLOSED_FORM = "the task and the kind of model: its best model without attention is in closed form, not trained"
RETRAINED = "the task and the training recipe: every model is retrained"
GAIN = "the gain over the majority-class baseline"
UNIFORM = ("uniform everywhere", "uniform")
WITHOUT = {"uniform": "with equal weights", "last": "that reads the last state alone"}


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
    return f". Kind of model and budget: {str(necessity.facts.get('family', 'not said')).rstrip('.')}"


def _beside(necessity: CheckResult | None, gauge: CheckResult | None) -> tuple[Measurement, ...]:
    """The baselines of N, and how far this model uses its weights."""
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
    """Whether this model is significantly better than the majority class; not if nobody knows."""
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
        f"uniform weights{_at_all(sites)} move no probability by more than {settings.unchanged:g} on any of "
        f"{most.n:,} examples",
        f"The model answers the same with equal weights{_at_all(sites)}. No probability moves by more than "
        f"{settings.unchanged:g} on {most.n:,} examples.",
        route="nothing changes",
    )
    return _Judged(found, (most,), EVERYWHERE if sites > 1 else THIS_MODEL)


def _twin(necessity: CheckResult | None, gauge: CheckResult | None, settings: CardSettings) -> _Judged | None:
    equal = lookup(gauge, "agreement", twin="uniform")
    if equal is None or equal.value != 1.0:
        return None
    found = proved(
        "no",
        f"a twin of this model has uniform weights and makes the same decision on all of {equal.n:,} examples, and by "
        "proof on all others",
        "Another model with equal weights makes the same decisions on every example. "
        f"{_uses_its_own(necessity, settings)}",
        route="gauge twin",
    )
    return _Judged(found, (equal,), TWIN)


def _uses_its_own(necessity: CheckResult | None, settings: CardSettings) -> str:
    """That this very model is not the twin: by how much, where the difference is large."""
    lost = lookup(necessity, "N", against="swap")
    if lost is None or not lost.low > settings.needed:
        return "This model itself may still use its weights."
    return f"This model itself uses its weights: with equal ones it loses {_lost(lost)} of {GAIN}."


def _strip(lost: Measurement, settings: CardSettings) -> Strip:
    zones = (Zone(settings.needed, "no"), Zone(1.0, "yes"))
    return Strip(lost, -0.15, zones, (Mark(0.0, "nothing is lost"), Mark(1.0, "all is lost")))


def _swapped(necessity: CheckResult | None, settings: CardSettings) -> _Judged | None:
    """This model under uniform weights learned none, so the best without learned ones loses no more than it does."""
    sites = _sites(necessity)
    lost = lookup(necessity, "N", against="swap everywhere" if sites > 1 else "swap")
    if lost is None or not lost.high < settings.needed:
        return None
    found = Found(
        "no",
        f"this model with uniform weights{_at_all(sites)} loses {in_brief(lost)} of {GAIN}, below "
        f"{settings.needed:g}. The best model with such weights loses no more",
        f"The model is about as accurate with equal weights{_at_all(sites)}. It keeps {_left(lost)} of {GAIN}.",
        route="swap",
        strip=_strip(lost, settings),
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
            found = _by_interval(lost, without, "seeds" if refitted else "examples", settings)
            route = ("retraining" if refitted else against) if found.state in ("yes", "no") else ""
            return _Judged(found._replace(route=route), (lost,), holds)
    return None


def _by_interval(lost: Measurement, without: str, counted: str, settings: CardSettings) -> Found:
    best = f"The best model of this kind {without} loses {_lost(lost)} of {GAIN}"
    strip = _strip(lost, settings)
    if lost.low > settings.needed:
        return Found("yes", "", f"Models of this kind need learned attention for this task. {best}.", strip=strip)
    if lost.high < settings.needed:
        sentence = f"Models of this kind do about as well without learned attention. {best}."
        return Found("no", "", sentence, strip=strip)
    return needs_more_data(
        f"{in_brief(lost)} includes {settings.needed:g} with {lost.n} {counted}",
        f"These {lost.n:,} {counted} do not decide this. {best}. The interval, {in_brief(lost)}, includes the "
        f"threshold, {settings.needed:g}.",
    )._replace(strip=strip)


def _nothing_fitted(necessity: CheckResult | None, gauge: CheckResult | None, settings: CardSettings) -> _Judged:
    headroom = lookup(necessity, "headroom", against="swap")
    if headroom is not None and _is_moot(headroom, settings):
        return _Judged(_moot(headroom, settings), (headroom,), THIS_MODEL)
    equal = lookup(gauge, "agreement", twin="uniform")
    if necessity is None and equal is not None:
        sentence = (
            f"A twin of this model has equal weights and makes {equal.value:.0%} of its decisions. heatcheck did not "
            "test whether the model is better than the majority class."
        )
        return _Judged(nothing_known(UNKNOWN_WORTH, sentence), (equal,), TWIN)
    sentence = f"{_used(necessity)}Only retraining can tell whether a model without attention would do as well."
    failed = len(necessity.not_run) if necessity is not None else 0
    again = f"{REFIT} ({failed} of its training runs failed)" if failed else REFIT
    return _Judged(nothing_known(again, sentence, needs_refit=True), (), RETRAINED)


def _used(necessity: CheckResult | None) -> str:
    """How far this model uses its weights, as a sentence before another; empty where it was not asked."""
    sites = _sites(necessity)
    everywhere, here = (lookup(necessity, "N", against=against) for against in ("swap everywhere", "swap"))
    if sites > 1 and everywhere is not None and here is not None:
        return (
            f"With equal weights{_at_all(sites)} this model loses {_lost(everywhere)} of {GAIN}; at the heatmap's site "
            f"alone, {_lost(here)}. "
        )
    used = lookup(necessity, "change", weights="uniform")
    return "" if used is None else f"Equal weights move this model's probabilities by {used.value:.2f} on average. "


def _is_moot(headroom: Measurement, settings: CardSettings) -> bool:
    return not headroom.low >= settings.above_prior


def _moot(headroom: Measurement, settings: CardSettings) -> Found:
    zones = (Zone(settings.above_prior, "cannot be asked"), Zone(0.6, "can be asked"))
    return cannot_be_asked(
        f"the gain over the majority-class baseline is {in_brief(headroom)}, not significantly "
        f"{settings.above_prior:g} or more",
        "The model is not clearly better than the majority-class baseline. So there may be no gain to lose.",
    )._replace(strip=Strip(headroom, -0.15, zones, (Mark(0.0, "majority class"),)))


def _lost(share: Measurement) -> str:
    """A share in words; a model without attention that does better loses nothing."""
    return "nothing" if share.value <= 0 else f"{share.value:.0%}"


def _left(share: Measurement) -> str:
    """The rest of it.

    >>> _left(Measurement("N", 0.03, -0.01, 0.08, 852, "", {})), _left(Measurement("N", -0.02, -0.1, 0.05, 852, "", {}))
    ('97%', 'all')
    """
    return "all" if share.value <= 0 else f"{1 - share.value:.0%}"


RULE = LineRule(
    NAME,
    "necessary",
    "Is learned attention needed?",
    "what other kinds of models or budgets need. By itself it does not see whether this model uses its weights",
    ("necessity",),
    lambda results, settings: judge_necessary(results.get("necessity"), results.get("gauge"), settings),
    {
        "yes": "This task needs learned attention in models of this kind: the weights carry part of the solution.",
        "no": "Attention could be left out at next to no cost. A good score is no argument for the heatmap.",
        # Another model has uniform weights: that says nothing about this one's.
        ("no", "gauge twin"): "Another model, with equal weights, makes the same decisions, so the decisions do not "
        "need attention. This model itself may still use its weights.",
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
    # A no that needs no retraining stays one, and so do too few examples.
    settled=lambda line: line.state == "no" or line.route == TOO_FEW,
)
