"""Does the answer need the highlighted words, and are they enough? The two measures of ERASER.

Let j be the label predicted for the text x, and r its rationale: the top share of its words by some ranking.
Comprehensiveness is p(x)_j − p(x∖r)_j (high: the other words are not enough). Sufficiency is p(x)_j − p(r)_j (low: the
rationale alone is enough). The model reads every changed text from scratch. Compare both with random orders: alone they
mean nothing.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from heatcheck import stats
from heatcheck.checks.case import PUBLISHED, STANDARDISED, Case
from heatcheck.checks.check import Check, at_least_one, measured
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
from heatcheck.data import Example
from heatcheck.engine import Facts, stream
from heatcheck.errors import BadInput, UnknownName
from heatcheck.explainers import REMOVALS, Scores
from heatcheck.results import CheckResult, Measurement

SIDES = ("comprehensiveness", "sufficiency")
CODE, PAPER = "code", "paper"  # AOPC as the published code has it, and as the paper's Eq. 3
HUMAN, RANDOM, EMPTY = "human", "random", "empty"
NULL = "null_difference"  # Carton et al.'s name for the loss when no word is left
LEAST_NULL = 0.01  # below it, a share of it means nothing
RATIONALE = "rationale"  # instead of a share: as many words as people mark on average; for human, those they marked
TOO_SHORT = "fewer than two words to rank"

Values = dict[str, Float[np.ndarray, " example"]]


@dataclass(frozen=True)
class EraserSettings:
    """The methods whose top words are removed or kept, how many words, and how."""

    explainer: str = "attention"
    shares: tuple[float, ...] = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the words, rounded up to at least one
    operators: tuple[str, ...] = ("deletion", "masking")
    rivals: tuple[str, ...] = ("leave_one_out", "gradient_x_input", "integrated_gradients")
    random_orders: int = 10
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        for operator in self.operators:
            if operator not in REMOVALS:
                raise UnknownName("removal operator", operator, REMOVALS)
        at_least_one(self, "eraser", "random_orders", "draws")
        if not self.shares or not all(0 < share <= 1 for share in self.shares):
            raise BadInput(f"eraser.shares must be shares of the words, above 0 and at most 1, not {self.shares}.")
        if len({f"{share:g}" for share in self.shares}) < len(self.shares):
            raise BadInput(f"eraser.shares names a value twice: {self.shares}.")
        if RANDOM in (self.explainer, *self.rivals):
            raise BadInput(
                "eraser always measures random orders: remove random from eraser.explainer and eraser.rivals."
            )


class Texts(NamedTuple):
    """The examples that can be measured, by their place in the case, and their rankings."""

    rows: list[int]
    excluded: dict[str, str]
    read: dict[int, Places]  # the words that the model reads; shares are of these
    marked: dict[int, Places]  # by people, if they marked any
    orders: dict[str, Orders]  # by ranking: all words that the model reads

    @property
    def has_marks(self) -> Bool[np.ndarray, " example"]:
        return np.isin(self.rows, list(self.marked))

    @property
    def rationale_share(self) -> float | None:
        """The mean share of words that people marked; None if nobody marked any."""
        if not self.marked:
            return None
        return math.fsum(len(marked) / len(self.read[row]) for row, marked in self.marked.items()) / len(self.marked)


def size_of(share: float, words: int) -> int:
    """The number of words in a share, rounded up.

    >>> [size_of(share, 30) for share in (0.01, 0.05, 0.1, 0.2, 0.5)]
    [1, 2, 3, 6, 15]
    """
    return math.ceil(round(share * words, 9))  # .1 · 30 may be a hair above 3 in binary


def measure(case: Case, settings: EraserSettings) -> CheckResult:
    """Measure both sides at every share, by every ranking and operator, and their means by both definitions."""
    ranked, not_run = case.available((settings.explainer, *settings.rivals))
    if settings.explainer not in ranked:
        raise BadInput(f"eraser needs {settings.explainer}, which could not be run: {not_run[settings.explainer]}")
    texts = _texts(case, settings, ranked)
    if not texts.rows:
        reason = next(iter(texts.excluded.values()))
        raise BadInput(f"eraser can use none of the examples. The first one was left out: {reason}.")
    measurements: list[Measurement] = []
    per_example: Values = {}
    for operator in settings.operators:
        found = _lost(case, settings, texts, operator)
        for logits, lost in found.items():
            values = _values(settings, texts, lost, logits)
            rankings = [name for name in lost if name not in (EMPTY, HUMAN)]
            by = {"operator": operator, "logits": logits}
            measurements += _measurements(case, settings, texts, values, rankings, by)
            per_example |= {f"{name}:{operator}:{logits}": of_texts for name, of_texts in values.items()}
    share = texts.rationale_share
    return CheckResult(
        check="eraser",
        subject=case.subject.id,
        holds="re-encoded",
        measurements=tuple(measurements),
        examples=tuple(case.examples[row].id for row in texts.rows),
        per_example=per_example,
        excluded=texts.excluded,
        settings=asdict(settings),
        seed=case.seed,
        not_run=not_run,
        facts={
            "rivals": [name for name in settings.rivals if name in ranked],
            "logit_scale": case.logit_scale,
            **({} if share is None else {"rationale_share": share, "rationales": len(texts.marked)}),
        },
    )


def _texts(case: Case, settings: EraserSettings, ranked: dict[str, Scores]) -> Texts:
    excluded = case.exclusions(ranked)
    kept = [row for row, example in enumerate(case.examples) if example.id not in excluded]
    read = dict(zip(kept, _words_read(case, [case.examples[row] for row in kept]), strict=True))
    excluded |= {case.examples[row].id: TOO_SHORT for row, words in read.items() if len(words) < 2}
    rows = [row for row in kept if len(read[row]) > 1]
    orders = {
        name: [
            [_completed(order, read[row]) for row, order in zip(rows, of_rows, strict=True)] for of_rows in of_ranking
        ]
        for name, of_ranking in orders_of(case, ranked, rows).items()
    }
    orders[RANDOM] = random_orders(case, rows, [_mask(read[row]) for row in rows], settings.random_orders)
    marked = {row: _marked(case.examples[row]) & read[row] for row in rows}
    return Texts(rows, excluded, read, {row: places for row, places in marked.items() if places}, orders)


def _words_read(case: Case, examples: Sequence[Example]) -> Iterator[Places]:
    """Yield, per example, the words with a token; an empty word between two spaces has none."""
    for start in range(0, len(examples), 128):
        batch = case.subject.encode(examples[start : start + 128])
        yield from (frozenset(places) - {-1} for places in batch.word.tolist())


def _completed(order: Order, read: Places) -> Order:
    """A ranking of all words that the model reads; those without a score come last."""
    ranked = [place for place in order if place in read]
    return ranked + sorted(read.difference(ranked))


def _mask(places: Places) -> np.ndarray:
    return np.isin(np.arange(max(places) + 1), list(places))


def _marked(example: Example) -> Places:
    return frozenset(np.flatnonzero(example.marks.get(RATIONALE, ())).tolist())


def _lost(
    case: Case, settings: EraserSettings, texts: Texts, operator: str
) -> dict[str, dict[str, Float[np.ndarray, "example removal"]]]:
    """Losses by scale of the logits and by ranking: without the rationale at each share, then with it alone."""
    shares = [*settings.shares, *([] if (share := texts.rationale_share) is None else [share])]
    at = {row: place for place, row in enumerate(texts.rows)}

    def wanted(row: int) -> Wanted:
        words = texts.read[row]
        sets = {
            (name, draw): [frozenset(of_rows[at[row]][: size_of(share, len(words))]) for share in shares]
            for name, draws in texts.orders.items()
            for draw, of_rows in enumerate(draws)
        }
        if texts.marked:
            sets[HUMAN, 0] = [texts.marked.get(row, frozenset())]
        # To keep only a rationale is to remove the other words.
        both = {order: [*rationales, *(words - kept for kept in rationales)] for order, rationales in sets.items()}
        return {**both, (EMPTY, 0): [words]}

    logs = read_without(case, texts.rows, wanted, operator, texts.read)
    return {
        logits: mean_of_orders(
            {
                order: losses(case, texts.rows, of_texts, standardised=logits == STANDARDISED)
                for order, of_texts in logs.items()
            }
        )
        for logits in (PUBLISHED, STANDARDISED)
    }


def _values(
    settings: EraserSettings, texts: Texts, lost: dict[str, Float[np.ndarray, "example removal"]], logits: str
) -> Values:
    """`side:ranking:share`, the mean over the shares `aopc_side:ranking`, and what all words together add.

    Standardised logits get only the means; values at single shares would say the same twice.
    """
    values: Values = {NULL: lost[EMPTY][:, 0]}
    for ranking in (name for name in lost if name != EMPTY):
        for side, curve in zip(SIDES, np.split(lost[ranking], 2, axis=1), strict=True):
            if texts.marked and logits == PUBLISHED:
                values[f"{side}:{ranking}:{RATIONALE}"] = np.where(texts.has_marks, curve[:, -1], np.nan)
            if ranking == HUMAN:
                continue
            at_shares = curve[:, : len(settings.shares)]
            values[f"aopc_{side}:{ranking}"] = at_shares.mean(1)
            if logits == PUBLISHED:
                values |= {f"{side}:{ranking}:{share:g}": at_shares[:, at] for at, share in enumerate(settings.shares)}
    return values


def as_in_the_paper(
    side: str, code: Float[np.ndarray, " example"], null: Float[np.ndarray, " example"], shares: int
) -> Float[np.ndarray, " example"]:
    """Eq. 3 from the code's mean: Eq. 3 also counts the empty rationale and divides by the number of shares plus one.

    Removing no word loses nothing, so with five shares comprehensiveness shrinks to 5/6. Keeping no word loses all that
    words add (`null`), so sufficiency does not shrink.
    """
    at_zero = null if side == "sufficiency" else np.zeros_like(null)
    return np.asarray((at_zero + shares * code) / (shares + 1))


def _measurements(
    case: Case, settings: EraserSettings, texts: Texts, values: Values, rankings: Sequence[str], by: dict[str, str]
) -> Iterator[Measurement]:
    """Yield the measurements of one operator on one scale of the logits."""
    published, everyone, draws = by["logits"] == PUBLISHED, np.ones(len(texts.rows), bool), settings.draws
    null = next(measured(case, NULL, values[NULL], everyone, "0: the words add nothing to the answer", by, draws))
    yield null
    for side in SIDES:
        for ranking in rankings:
            of, code = {"ranking": ranking, **by}, values[f"aopc_{side}:{ranking}"]
            beside = "none: this is the floor" if ranking == RANDOM else f"{side} of random orders"
            name = f"aopc_{side}"
            yield from measured(case, name, code, everyone, beside, {**of, "definition": CODE}, draws)
            if not published:
                continue
            paper = as_in_the_paper(side, code, values[NULL], len(settings.shares))
            yield from measured(case, name, paper, everyone, beside, {**of, "definition": PAPER}, draws)
            if null.low > LEAST_NULL:
                yield _normalised(case, side, code, values[NULL], of, draws)
            for share in settings.shares:
                at_share = values[f"{side}:{ranking}:{share:g}"]
                yield from measured(case, side, at_share, everyone, beside, {**of, "share": share}, draws)
        if published and texts.marked:
            for ranking in (*rankings, HUMAN):
                of = {"ranking": ranking, **by, "share": RATIONALE}
                beside = "none: this is the floor" if ranking == RANDOM else f"{side} of random orders"
                yield from measured(
                    case, side, values[f"{side}:{ranking}:{RATIONALE}"], texts.has_marks, beside, of, draws
                )
        for other in rankings:
            if other != settings.explainer:
                pair = {"pair": [settings.explainer, other], **by}
                difference = values[f"aopc_{side}:{settings.explainer}"] - values[f"aopc_{side}:{other}"]
                yield from measured(case, f"{side}_difference", difference, everyone, "0: no difference", pair, draws)


def _normalised(
    case: Case,
    side: str,
    code: Float[np.ndarray, " example"],
    null: Float[np.ndarray, " example"],
    by: Facts,
    draws: int,
) -> Measurement:
    """A side as a share of what all words together add: a ratio of means, resampled jointly."""
    name = f"normalised_{side}"
    found = stats.bootstrap_interval(
        np.stack([code, null], axis=1),
        lambda mean: np.asarray(mean[:, 0] / mean[:, 1]),
        generator=stream(case.seed, "bootstrap", name, json.dumps(by, sort_keys=True)),
        draws=draws,
    )
    return Measurement(name, *found, baseline="1: the empty input; and the same number for random orders", by=by)


def _cost(case: Case, settings: EraserSettings) -> int:
    """An upper bound on the forward passes, except for ties: texts that rankings share are read once."""
    rankings = 1 + 2 * len(settings.rivals) + settings.random_orders
    lengths = [len(example.words) for example in case.examples]
    sizes = sum(len({size_of(share, words) for share in settings.shares}) for words in lengths)
    sizes += len(lengths) if any(map(_marked, case.examples)) else 0
    removals = len(settings.operators) * (2 * sizes * rankings + len(lengths))
    return removals + to_explain(case, (settings.explainer, *settings.rivals))


eraser = Check(
    name="eraser",
    question="Does the answer need the highlighted words, and are they enough?",
    paper="DeYoung et al. 2020 (ERASER); Carton et al. 2020 for the empty input",
    holds="re-encoded",
    baseline="the mean of random orders, and the empty input",
    settings=EraserSettings,
    measure=measure,
    cost=_cost,
    default=False,  # hundreds of forward passes per text, and it decides no line of the card
)
