"""Which method best finds the words that the answer depends on? All methods in one table.

heatcheck removes the words of a text in the order of a ranking, the most relevant first (MoRF) or the least relevant
first (LeRF), some tenths at a time. The model reads each shortened text from scratch. With a faithful ranking, the
predicted label's probability falls at once in the first order and late in the second, so the area between the two
curves is large.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Float

from heatcheck import stats
from heatcheck.checks.case import STANDARDISED, Case
from heatcheck.checks.check import Check, at_least_one, known_logits, measured
from heatcheck.checks.passes import to_explain
from heatcheck.checks.texts_without_words import (
    Order,
    Orders,
    Places,
    Wanted,
    losses,
    mean_of_orders,
    orders_of,
    random_orders,
    read_without,
)
from heatcheck.engine import Facts, stream
from heatcheck.errors import BadInput, UnknownName
from heatcheck.explainers import EXPLAINERS, REMOVALS, Scores
from heatcheck.models import asked_of, has_layers
from heatcheck.results import CheckResult, Measurement

RANDOM, BOTH, SIGNED = "random", "both", " (signed)"
DIRECTIONS = ("MoRF", "LeRF")
BY_SIZE, WITH_SIGN = "by size", "with sign"  # two leagues, because rankings with a sign know more
# influence_left_out is leave-one-out for the right label instead of the predicted one: as slow, and nearly the same.
NOT_RANKED = (RANDOM, "influence_left_out")
BEYOND = "beyond the number of texts that perturbation.texts allows"

Values = dict[str, Float[np.ndarray, " example"]]


@dataclass(frozen=True)
class PerturbationSettings:
    """The methods to rank, how many words to remove, and how."""

    explainers: tuple[str, ...] = ()  # none named: all that can run here, but NOT_RANKED
    shares: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the words; one word always stays
    operators: tuple[str, ...] = ("masking",)  # adding deletion would double the cost
    texts: int = 100  # at most
    random_orders: int = 5
    logits: str = STANDARDISED  # that explainers of a probability read; or "published", the model's own
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        for operator in self.operators:
            if operator not in REMOVALS:
                raise UnknownName("removal operator", operator, REMOVALS)
        at_least_one(self, "perturbation", "texts", "random_orders", "draws")
        known_logits(self, "perturbation")
        if not self.operators:
            raise BadInput(f"perturbation.operators is empty: name at least one of {', '.join(REMOVALS)}.")
        if not self.shares or not all(0 < share < 1 for share in self.shares):
            raise BadInput(f"perturbation.shares must be shares of the words, between 0 and 1, not {self.shares}.")
        if len({f"{share:g}" for share in self.shares}) < len(self.shares):
            raise BadInput(f"perturbation.shares names a value twice: {self.shares}.")


def _ranked(settings: PerturbationSettings) -> Sequence[str]:
    """The named explainers, else all; asked late, because installed packages may add some."""
    return settings.explainers or tuple(name for name in EXPLAINERS if name not in NOT_RANKED)


def size_of(share: float, words: int) -> int:
    """The number of words in a share: the nearest one, at least 1, and one word always stays.

    >>> [size_of(share, 4) for share in (0.1, 0.3, 0.5, 0.9)]
    [1, 1, 2, 3]
    """
    return min(max(math.floor(share * words + 0.5 + 1e-9), 1), words - 1)


def measure(case: Case, settings: PerturbationSettings) -> CheckResult:
    """Measure curves, AOPC and the area between them by every ranking and operator, and rank the methods."""
    names = [name for name in _ranked(settings) if name != RANDOM]
    ranked, not_run = case.available(names, settings.logits)
    if not ranked:
        why = "; ".join(f"{name}: {reason}" for name, reason in not_run.items())
        raise BadInput(f"perturbation needs at least one explainer, and none could be run: {why or 'none was named.'}")
    excluded = case.exclusions(ranked)
    usable = [row for row, example in enumerate(case.examples) if example.id not in excluded]
    rows = usable[: settings.texts]
    excluded |= {case.examples[row].id: BEYOND for row in usable[settings.texts :]}
    if not rows:
        raise BadInput(
            f"perturbation can use none of the examples. The first one was left out: {next(iter(excluded.values()))}."
        )
    orders = _orders(case, settings, ranked, rows)
    lost = {operator: _lost(case, settings, rows, orders, operator) for operator in settings.operators}
    measurements: list[Measurement] = []
    per_example: Values = {}
    for operator, of_operator in lost.items():
        measurements += _curves(case, settings, of_operator, operator)
    for operator in (*settings.operators, *([BOTH] if len(settings.operators) > 1 else [])):
        parts = settings.operators if operator == BOTH else (operator,)
        values = _summaries([lost[part] for part in parts])
        measurements += _measurements(case, settings, values, list(lost[parts[0]]), operator)
        per_example |= {f"{name}:{operator}": of_texts for name, of_texts in values.items()}
    return CheckResult(
        check="perturbation",
        subject=case.subject.id,
        holds="re-encoded",
        measurements=tuple(measurements),
        examples=tuple(case.examples[row].id for row in rows),
        per_example=per_example,
        excluded=excluded,
        settings=asdict(settings),
        seed=case.seed,
        not_run=not_run,
        facts={"explainers": list(ranked), "logit_scale": case.logit_scale},
    )


def _orders(
    case: Case, settings: PerturbationSettings, ranked: Mapping[str, Scores], rows: Sequence[int]
) -> dict[str, Orders]:
    """Each ranking's orders of the words that all explainers score, so that all remove equally many."""
    valid = np.logical_and.reduce([scores.valid for scores in ranked.values()])
    common = {name: replace(scores, valid=valid) for name, scores in ranked.items()}
    return {
        **orders_of(case, common, rows),
        RANDOM: random_orders(case, rows, valid[list(rows)], settings.random_orders),
    }


def _lost(
    case: Case,
    settings: PerturbationSettings,
    rows: Sequence[int],
    orders: Mapping[str, Orders],
    operator: str,
) -> dict[str, Float[np.ndarray, "example removal"]]:
    """The predicted label's loss by ranking and share, the most relevant words first, then the least relevant.

    The model reads a text once, even if several rankings need it.
    """
    at = {row: place for place, row in enumerate(rows)}

    def ends(order: Order) -> list[Places]:
        sizes = [size_of(share, len(order)) for share in settings.shares]
        return [frozenset(one[:size]) for one in (order, order[::-1]) for size in sizes]

    def wanted(row: int) -> Wanted:
        return {
            (name, draw): ends(of_rows[at[row]]) for name, draws in orders.items() for draw, of_rows in enumerate(draws)
        }

    return mean_of_orders(
        {
            order: losses(case, rows, logs, standardised=True)
            for order, logs in read_without(case, rows, wanted, operator).items()
        }
    )


def _summaries(lost: Sequence[Mapping[str, Float[np.ndarray, "example removal"]]]) -> Values:
    """Means over shares (and operators): AOPC of both orders, and the area between the curves."""
    values: Values = {}
    for ranking in lost[0]:
        most, least = np.split(np.mean([of_operator[ranking] for of_operator in lost], axis=0), 2, axis=1)
        values[f"aopc:{ranking}"], values[f"aopc_least:{ranking}"] = most.mean(1), least.mean(1)
        values[f"area:{ranking}"] = most.mean(1) - least.mean(1)
    return values


def _curves(
    case: Case, settings: PerturbationSettings, lost: Mapping[str, np.ndarray], operator: str
) -> Iterator[Measurement]:
    for ranking, of_texts in lost.items():
        beside = "none: this is the floor" if ranking == RANDOM else "lost in random orders"
        for direction, curve in zip(DIRECTIONS, np.split(of_texts, 2, axis=1), strict=True):
            for share, column in zip(settings.shares, curve.T, strict=True):
                by: Facts = {"ranking": ranking, "operator": operator, "direction": direction, "share": share}
                yield from measured(case, "lost", column, np.ones(len(column), bool), beside, by, settings.draws)


def _measurements(
    case: Case, settings: PerturbationSettings, values: Values, rankings: Sequence[str], operator: str
) -> Iterator[Measurement]:
    everyone = np.ones(len(values[f"area:{RANDOM}"]), bool)
    for ranking in rankings:
        by: Facts = {"ranking": ranking, "operator": operator}
        floor = ranking == RANDOM
        for name in ("aopc", "aopc_least", "area"):
            beside = "none: this is the floor" if floor else f"{name} of random orders"
            yield from measured(case, name, values[f"{name}:{ranking}"], everyone, beside, by, settings.draws)
        if not floor:
            above = values[f"area:{ranking}"] - values[f"area:{RANDOM}"]
            yield from measured(case, "above_random", above, everyone, "0: no better than random", by, settings.draws)
    for league, members in leagues(rankings).items():
        columns = np.stack([values[f"area:{name}"] for name in members], axis=1)
        ranks = _ranks(case, columns, f"{operator} {league}", settings.draws)
        for ranking, found in zip(members, ranks, strict=True):
            by = {"ranking": ranking, "operator": operator, "among": league}
            yield Measurement("rank", *found, baseline=f"the rank of {RANDOM} orders", by=by)


def leagues(rankings: Sequence[str]) -> dict[str, list[str]]:
    """Rankings by size, and rankings with a sign; random orders are in both.

    >>> leagues(["attention", "gradient", "gradient (signed)", "random"])
    {'by size': ['attention', 'gradient', 'random'], 'with sign': ['gradient (signed)', 'random']}
    """
    signed = [name for name in rankings if name.endswith(SIGNED)]
    by_size = [name for name in rankings if name not in signed]
    return {BY_SIZE: by_size, **({WITH_SIGN: [*signed, RANDOM]} if signed else {})}


def _ranks(case: Case, areas: Float[np.ndarray, "example column"], name: str, draws: int) -> list[stats.Interval]:
    """Ranks by mean area, 1 for the best; all rankings are resampled together."""

    def rank(place: int, mean: Float[np.ndarray, "draw column"]) -> Float[np.ndarray, " draw"]:
        own = mean[:, place, None]
        above, level = (mean > own).sum(1), (mean == own).sum(1)
        return np.asarray(above + (level + 1) / 2)

    each = [partial(rank, place) for place in range(areas.shape[1])]
    return stats.bootstrap_intervals(areas, each, generator=stream(case.seed, "bootstrap rank", name), draws=draws)


def _cost(case: Case, settings: PerturbationSettings) -> int:
    """An upper bound on the forward passes, except for ties: texts that rankings share are read once."""
    explainers = _ranked(settings)
    rankings = 2 * len(explainers) + settings.random_orders
    lengths = [len(example.words) for example in case.examples[: settings.texts]]
    sizes = sum(len({size_of(share, words) for share in settings.shares}) for words in lengths if words > 1)
    return 2 * len(settings.operators) * rankings * sizes + to_explain(case, explainers)


perturbation = Check(
    name="perturbation",
    question="Which method best finds the words that the answer depends on?",
    paper="Samek et al. 2017 (AOPC); Ali et al. 2022 and Achtibat et al. 2024 for the area between the two curves",
    holds="re-encoded",
    baseline="random orders",
    settings=PerturbationSettings,
    measure=measure,
    cost=_cost,
    explains=_ranked,
    default=False,  # hundreds of forward passes per text
    default_on=lambda subject: has_layers(subject) and not asked_of(subject),  # a language model would take an hour
)
