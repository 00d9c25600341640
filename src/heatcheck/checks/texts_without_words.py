"""Removes words from texts and asks the model again; it reads each new text once, whichever ranking or check asks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.data import Example
from heatcheck.engine import stream
from heatcheck.explainers import REMOVALS, Scores
from heatcheck.explainers.word_removal import delete, mask

Order: TypeAlias = list[int]  # word places, most important first
Orders: TypeAlias = list[list[Order]]  # of one ranking: for each draw, one order per example
Places: TypeAlias = frozenset[int]
Draw: TypeAlias = tuple[str, int]  # a ranking, and which of its orders
Wanted: TypeAlias = Mapping[Draw, Sequence[Places]]  # the words to remove, once for each text to be read

WORDS_AT_ONCE = 2**22  # of shortened texts in memory


def orders_of(case: Case, ranked: Mapping[str, Scores], rows: Sequence[int]) -> dict[str, Orders]:
    """The words of each row by the size of their scores; signed scores also get a ranking with the sign.

    Ties are broken by several random orders; a ranking without ties has one order.
    """
    orders: dict[str, Orders] = {}
    for name, scores in ranked.items():
        orders[name] = descending(case, scores.sizes(), scores.valid, rows)
        if scores.signed:
            orders[f"{name} (signed)"] = descending(case, scores.values, scores.valid, rows)
    return orders


def descending(
    case: Case, values: Float[np.ndarray, "example word"], valid: Bool[np.ndarray, "example word"], rows: Sequence[int]
) -> Orders:
    """Places from the highest score down, without unscored ones, once or in several orders of the ties."""
    chosen = list(rows)
    values, valid = values[chosen], valid[chosen]
    return [
        [order[:n].tolist() for order, n in zip(stats.best_first(values, valid, keys), valid.sum(1), strict=True)]
        for keys in case.tie_orders(values, valid, chosen)
    ]


def random_orders(case: Case, rows: Sequence[int], valid: Iterable[np.ndarray], count: int) -> Orders:
    """Random orders of each row's words, which depend only on the example's id."""

    def shuffled(row: int, number: int, words: Bool[np.ndarray, " word"]) -> Order:
        generator = stream(case.seed, "random order", number, case.examples[row].id)
        order: Order = generator.permutation(np.flatnonzero(words)).tolist()
        return order

    return [[shuffled(row, number, words) for row, words in zip(rows, valid, strict=True)] for number in range(count)]


def mean_of_orders(
    found: Mapping[Draw, Float[np.ndarray, "example ..."]],
) -> dict[str, Float[np.ndarray, "example ..."]]:
    """The mean over the orders of each ranking.

    >>> mean_of_orders({("a", 0): np.array([1.0]), ("a", 1): np.array([2.0])})
    {'a': array([1.5])}
    """
    of: dict[str, list[np.ndarray]] = {}
    for (name, _), values in found.items():
        of.setdefault(name, []).append(values)
    return {name: np.asarray(np.mean(each, axis=0)) for name, each in of.items()}


def take_out(example: Example, places: Places, operator: str, read: Places = frozenset()) -> Example:
    """The example without these words. If no word that the model reads would be left, one masked word stays.

    >>> take_out(Example("a", "not bad"), frozenset({0, 1}), "deletion", frozenset({0, 1})).masked_text
    '<unk>'
    >>> take_out(Example("a", "not bad"), frozenset({0, 1}), "masking", frozenset({0, 1})).masked_text
    '<unk> <unk>'
    """
    if operator == "deletion" and read and read <= places:  # a text needs a token
        first = min(read)
        return delete(mask(example, {first}), {place for place in range(len(example.words)) if place != first})
    return REMOVALS[operator](example, places)


def read_without(
    case: Case,
    rows: Sequence[int],
    wanted: Callable[[int], Wanted],
    operator: str,
    read: Mapping[int, Places] | None = None,
) -> dict[Draw, Float[np.ndarray, "example removal label"]]:
    """Log-probabilities of each text without some words, by ranking and order.

    `wanted` gives the sets of words that each order removes from a row; `read` the words that the model reads.
    """
    found: dict[Draw, list[np.ndarray]] = {}
    for part in _parts(case, rows, wanted):
        number_of: dict[tuple[int, Places], int] = {}
        texts: list[Example] = []
        for name in next(iter(part.values())):
            for row, sets in part.items():
                for places in sets[name]:
                    if (row, places) not in number_of:
                        number_of[row, places] = len(texts)
                        known = frozenset() if read is None else read[row]
                        texts.append(take_out(case.examples[row], places, operator, known))
        logs = case.answers(texts)
        for row, sets in part.items():
            for name, of_ranking in sets.items():
                found.setdefault(name, []).append(logs[[number_of[row, places] for places in of_ranking]])
    return {name: np.stack(each) for name, each in found.items()}


def losses(
    case: Case, rows: Sequence[int], logs: Float[np.ndarray, "example removal label"], *, standardised: bool
) -> Float[np.ndarray, "example removal"]:
    """The probability that the label predicted for the whole text loses."""
    labels = np.arange(len(rows)), case.predicted[list(rows)]

    def probabilities(of_texts: Float[np.ndarray, "text label"]) -> Float[np.ndarray, "text label"]:
        return case.standardised(of_texts) if standardised else np.exp(of_texts)

    before = probabilities(case.log_probabilities[list(rows)])[labels]
    after = probabilities(logs.reshape(-1, logs.shape[-1])).reshape(logs.shape)[labels[0], :, labels[1]]
    lost: Float[np.ndarray, "example removal"] = before[:, None] - after
    return lost


def _parts(case: Case, rows: Sequence[int], wanted: Callable[[int], Wanted]) -> Iterator[dict[int, Wanted]]:
    """Yield groups of rows whose shortened texts fit into memory together."""
    part: dict[int, Wanted] = {}
    words = 0
    for row in rows:
        part[row] = wanted(row)
        words += len(case.examples[row].words) * sum(map(len, part[row].values()))
        if words >= WORDS_AT_ONCE:
            yield part
            part, words = {}, 0
    if part:
        yield part
