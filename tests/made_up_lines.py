"""Results of checks by hand, and every line that the rules make of them: each branch of each rule."""

import math
from itertools import product

from heatcheck.auditing import CardSettings, make_card
from heatcheck.auditing.lines import (
    judge_across,
    judge_hard,
    judge_necessary,
    judge_out_of_context,
    judge_plausible,
    judge_points,
)
from heatcheck.results import CheckResult, Line, Measurement

SETTINGS = CardSettings()
NAN, INF = math.nan, math.inf


def row(name, bounds, n=200, **by):
    low, high = bounds if isinstance(bounds, tuple) else (bounds, bounds)
    value = 0.12 if math.isinf(low) else (low + high) / 2  # where resamples have no denominator it has no ends
    return Measurement(name, value, low, high, n, "a baseline", by)


def result(check, *rows, examples=200, not_run=None, settings=None, **facts):
    ids = tuple(f"e{n}" for n in range(examples))
    return CheckResult(check, "subject", "retrained", rows, ids, {}, {}, settings or {}, 0, not_run or {}, facts)


def erasure(deletion=(0.6, 0.9), masking=(0.55, 0.8), room=(0.1, 0.3), texts=200, beyond=None, rooms=None):
    """`beyond`: what each ranking's words do beyond random ones, by its name."""
    operators = ("deletion", "masking")
    rows = [row("K", bounds, texts, operator=o) for o, bounds in zip(operators, (deletion, masking), strict=True)]
    rows += [row("room", room if rooms is None else rooms[o], texts, operator=o) for o in operators]
    for ranking, effect in (("attention", 0.19), ("random", 0.07), ("best rival", 0.23)):
        rows += [row("effect", effect, texts, ranking=ranking, operator=o) for o in operators]
    found = {"attention": (0.1, 0.14), "leave_one_out": (0.1, 0.2), "gradient (signed)": (0.2, 0.3)}
    for ranking, bounds in (found if beyond is None else beyond).items():
        rows += [row("beyond_random", bounds, texts, ranking=ranking, operator=o) for o in operators]
    settings = {"operators": operators, "explainer": "attention"}
    return result("erasure", *rows, examples=texts, settings=settings, rivals=["leave_one_out", "gradient"])


def necessity(
    swap=(0.3, 0.5),
    change=0.4,
    room=(0.3, 0.4),
    texts=200,
    retrained=None,
    seeds=5,
    closed=None,
    everywhere=None,
    **facts,
):
    rows = [
        row("accuracy", 0.85, texts, fit="swapped", weights="own"),
        row("accuracy", 0.7, texts, fit="swapped", weights="uniform"),
        row("change", (0.1, 0.2), texts, weights="uniform"),
        row("most_change", change, texts, weights="uniform"),
        row("prior", 0.5, texts),
        row("headroom", room, texts, against="swap"),
        row("N", swap, texts, against="swap"),
    ]
    if everywhere is not None:  # a model with several attention sites: (N, largest change) with all of them uniform
        facts["sites"] = 6
        rows += [
            row("accuracy", 0.7, texts, fit="swapped", weights="uniform everywhere"),
            row("change", (0.1, 0.2), texts, weights="uniform everywhere"),
            row("most_change", everywhere[1], texts, weights="uniform everywhere"),
            row("N", everywhere[0], texts, against="swap everywhere"),
        ]
    if closed is not None:
        rows += [row("headroom", room, texts, against="closed form"), row("N", closed, texts, against="closed form")]
    if retrained is not None:
        rows += [
            row("headroom", room, seeds, against="retrained"),
            row("N", retrained, seeds, against="retrained", free="last"),
            row("accuracy", 0.85, seeds, fit="retrained", weights="learned"),
        ]
    family = "lstm encoder (64 hidden), tanh attention, linear decoder; at most 15 epochs over 900 texts"
    return result("necessity", *rows, examples=texts, family=family, **facts)


def gauge(equal=1.0, texts=200):
    twins = [(name, row(name, value, texts, twin=twin)) for twin in ("uniform", "reversed")
             for name, value in (("agreement", equal), ("tvd", 0.1), ("jsd", 0.47))]  # fmt: skip
    return result("gauge", *(m for _, m in twins))


def permutation(q=(0.6, 0.8), evenness=0.5, texts=200):
    return result("permutation", row("q", q, texts), row("evenness", evenness, texts), settings={"epsilon": 0.05})


def counterfactual(share=(0.3, 0.4), upper=(), texts=200):
    """`upper`: the bound, where it is another than what a search attains; None where there is none."""
    bounds = [] if upper is None else [row("U_upper", upper or share, texts)]
    sizes = [row("U_null", share, texts), row("floor", 0.3, texts), row("most", 0.6, texts)]
    return result("counterfactual", row("U", share, texts), *bounds, *sizes)


def guide(gained=(0.6, 0.9), room=(0.2, 0.4), carries=(0.1, 0.2), texts=200, refitted=None, seeds=5, lasts=(0.2, 0.4)):
    rows = [
        row("accuracy", 0.9, texts, guide="log_odds", weights="own"),
        row("accuracy", 0.7, texts, guide="log_odds", weights="uniform"),
        row("base_accuracy", 1.0, texts),
        row("prior", 0.5, texts),
        row("headroom", room, texts, guide="log_odds"),
        row("lasts", lasts, texts, guide="log_odds"),
        row("carries", carries, texts, guide="log_odds"),
    ]
    rows += [] if gained is None else [row("G", gained, texts, guide="log_odds")]
    if refitted is not None:
        rows += [row("headroom", (0.2, 0.4), seeds, guide="refitted"), row("G", refitted, seeds, guide="refitted")]
    return result("guide", *rows, examples=texts)


def adversarial(excess=(0.3, 0.5), seeds=5, texts=200, star=0.5, kind="adversary"):
    rows = [row("jsd", 0.04, model="seed", seed=n) for n in range(1, seeds)]
    rows += [row("J_seed", (0.03, 0.05), seeds)]
    if excess is not None:
        rows += [row("J_star", star, texts, model=kind, strength=0.001), row("J_excess", excess, seeds)]
    return result("adversarial_model", *rows, examples=texts, qualified=[] if excess is None else ["adversary"])


def plausibility(share=(0.1, 0.2), room=(0.6, 0.7), texts=200, explainer="attention"):
    rows = [row("P", share, texts, explainer=explainer), row("room", room, texts, explainer=explainer)]
    rows += [row("P", (0.5, 0.6), texts, explainer="leave_one_out")]
    rows += [row("auprc", 0.4, texts, explainer=explainer), row("auprc", 0.3, texts, explainer="random")]
    rows += [row("auprc", 0.31, texts, explainer="random spans", matched=explainer)]
    rows += [row("auprc", 0.9, texts, explainer="random spans", matched="leave_one_out")]
    rows += [row("auprc_gain", 0.1, texts, explainer=explainer, against=a) for a in ("random", "random spans")]
    rows += [row("marked", 0.3, texts)]
    return result("plausibility", *rows, examples=texts)


# Intervals on both sides of every threshold, across them, and such as a handful of examples gives.
BOUNDS = (
    *((0.6, 0.9), (0.55, 0.7), (0.4, 0.6), (0.45, 0.54), (0.4999, 0.5002), (0.1, 0.4), (-0.3, 0.2), (-0.3, -0.1)),
    *((0.0, 0.0), (1.0, 1.0), (0.996, 0.999), (-INF, INF), (NAN, NAN), (0.5, 0.5)),
)
SMALL = ((-0.2, -0.1), (-0.02, 0.03), (0.01, 0.04), (0.02, 0.2), (0.06, 0.2), (0.09, 0.11), (0.3, 0.5), (NAN, NAN))


def every_line() -> list[Line]:
    """What every rule makes of all of these."""
    return [
        *(judge_points(made, SETTINGS) for made in _erasures()),
        *(judge_hard(*made, SETTINGS) for made in product(_permutations(), _counterfactuals())),
        *(judge_necessary(*made, SETTINGS) for made in product(_necessities(), (None, gauge(), gauge(0.9)))),
        *(judge_necessary(None, made, SETTINGS) for made in (None, gauge(), gauge(texts=29), gauge(0.9))),
        *(judge_out_of_context(made, SETTINGS) for made in _guides()),
        *(judge_across(*made, SETTINGS) for made in product(_adversaries(), (None, gauge()))),
        *(judge_plausible(made, SETTINGS) for made in _plausibilities()),
    ]


def every_line_of_a_card() -> list[Line]:
    """The same, each on a card: with how many examples would decide it, or why it cannot be run."""
    refused = {"erasure": "the model has no words to remove.", "guide": "name the examples with --train."}
    cannot = "own cannot be retrained: it has no training recipe."
    cards = [make_card({}, 1.0, SETTINGS), make_card({}, 1.0, SETTINGS, refused, cannot_refit=cannot)]
    for available in (None, 100, 10**6):
        found = {"erasure": _erasures(), "guide": _guides(), "plausibility": _plausibilities()}
        for check, results in found.items():
            cards += [make_card({check: one} if one else {}, 1.0, SETTINGS, available=available) for one in results]
        search = {"counterfactual": counterfactual((0.6, 0.7))}
        shuffled = [{"permutation": one, **search} for one in _permutations() if one]
        cards += [make_card(one, 1.0, SETTINGS, available=available) for one in shuffled]
    return [line for card in cards for line in card.every_line]


def _erasures() -> list[CheckResult | None]:
    found = [erasure(deletion, masking) for deletion, masking in product(BOUNDS, BOUNDS)]
    found += [erasure(room=(0.01, 0.1)), erasure(rooms={"deletion": (0.1, 0.3), "masking": (NAN, NAN)})]
    found += [erasure(texts=1), erasure(texts=29), erasure((0.1, 0.3), (0.1, 0.3), beyond={})]
    return [None, *found]


def _permutations() -> list[CheckResult | None]:
    shares = [bounds for bounds in BOUNDS if bounds[0] >= 0 or bounds == (-INF, INF)]
    found = [permutation(bounds, evenness) for bounds in shares for evenness in (0.5, 0.99)]
    return [None, *found, permutation(texts=29)]


def _counterfactuals() -> list[CheckResult | None]:
    shares = [bounds for bounds in BOUNDS if bounds[0] >= 0 or bounds == (-INF, INF)]
    return [None, *(counterfactual(bounds, upper) for bounds in shares for upper in ((), None, (0.8, 0.9)))]


def _necessities() -> list[CheckResult]:
    found = [necessity(swap=bounds, **how) for bounds in SMALL for how in ({}, {"change": 1e-5}, {"texts": 29})]
    found += [necessity(everywhere=(bounds, change)) for bounds in SMALL for change in (1e-5, 0.9)]
    found += [necessity(room=(0.01, 0.2), closed=closed) for closed in (None, (0.2, 0.3))]
    found += [necessity(retrained=bounds, seeds=seeds) for bounds in (*SMALL, (-INF, INF)) for seeds in (1, 4, 5)]
    found += [necessity(closed=bounds) for bounds in SMALL]
    found += [necessity(room=(NAN, NAN), retrained=(0.2, 0.3)), necessity(not_run={"seed 3": "killed"})]
    return [*found, necessity(retrained=(0.2, 0.3), seeds=3, not_run={"seed 3": "killed", "seed 4": "killed"})]


def _guides() -> list[CheckResult | None]:
    found = [guide(bounds, refitted=refitted) for bounds in BOUNDS for refitted in (None, (0.6, 1.0))]
    found += [guide(None), guide(room=(0.01, 0.3)), guide(carries=(0.01, 0.3)), guide(lasts=(0.01, 0.3))]
    return [None, *found, guide(texts=29)]


def _adversaries() -> list[CheckResult | None]:
    kinds = ("adversary", "imitator", "gauge", "uniform", "other")
    found = [adversarial((0.3, 0.5), kind=kind) for kind in kinds]
    found += [adversarial(bounds) for bounds in ((0.2, 0.5), (-0.1, 0.1), (NAN, NAN), None)]
    return [None, *found, adversarial(seeds=4), adversarial(texts=29)]


def _plausibilities() -> list[CheckResult | None]:
    found = [plausibility(bounds) for bounds in (*SMALL, *BOUNDS)]
    return [None, *found, plausibility(room=(0.04, 0.06)), plausibility(texts=29), plausibility(explainer="gradient")]
