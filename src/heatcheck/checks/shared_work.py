"""Work on examples that other processes may share: each function here gives the same rows for a part as for all.

Such a function takes a model and some examples and returns arrays with one row per example. Randomness depends on an
example's id only, so a case may compute the rows in this process or collect them from several.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from heatcheck.checks.answers import read_texts
from heatcheck.data import Example
from heatcheck.engine import Facts
from heatcheck.explainers import Scores, StandIns, best_stand_ins, explain_one, find_explainer
from heatcheck.models import Subject
from heatcheck.training import Recorded, record

Rows: TypeAlias = dict[str, np.ndarray]  # one row per example; rows that are shorter than others end in zeros
Work: TypeAlias = Callable[..., Rows]  # work(subject, examples, **facts): a function of a module, with plain facts


class Share(Protocol):
    """Does some work on examples, in one process or in several."""

    def __call__(self, work: Work, examples: Sequence[Example], /, **facts: Any) -> Rows: ...


def answers_to(subject: Subject, texts: Sequence[Example]) -> Rows:
    """Log-probabilities of the first decision."""
    return {"logs": read_texts(subject, texts)}


def scores_by(subject: Subject, examples: Sequence[Example], *, name: str, seed: int, scale: float) -> Rows:
    """An explainer's scores, and for each example why it has none."""
    found = explain_one(subject, examples, name, seed=seed, scale=scale)
    missing = np.array([found.missing.get(example.id, "") for example in examples])
    return {"values": found.values, "valid": found.valid, "missing": missing}


def as_scores(name: str, examples: Sequence[Example], rows: Rows) -> Scores:
    """The rows of `scores_by` as an explainer gives them."""
    explainer = find_explainer(name)
    ids = tuple(example.id for example in examples)
    missing = {name: str(why) for name, why in zip(ids, rows["missing"], strict=True) if why}
    return Scores(explainer.name, explainer.signed, ids, rows["values"], rows["valid"], missing)


def records_of(subject: Subject, examples: Sequence[Example], *, impose: Facts | None = None) -> Rows:
    """Weights at the read-out and log-probabilities."""
    found = record(subject, examples, impose=impose)
    tokens = np.array([weights.shape[-1] for weights in found.each])
    weights = np.zeros((len(tokens), *found.each[0].shape[:-1], tokens.max()), dtype=found.each[0].dtype)
    for row, of_example in zip(weights, found.each, strict=True):
        row[..., : of_example.shape[-1]] = of_example
    return {"logs": found.log_probabilities, "weights": weights, "tokens": tokens}


def as_recorded(examples: Sequence[Example], rows: Rows) -> Recorded:
    """The rows of `records_of` as `record` gives them."""
    each = tuple(weights[..., :n].copy() for weights, n in zip(rows["weights"], rows["tokens"], strict=True))
    return Recorded(tuple(example.id for example in examples), rows["logs"], each)


def other_weights_for(
    subject: Subject, examples: Sequence[Example], *, asked: Sequence[tuple[float, float]], seed: int
) -> Rows:
    """Weights as different as can be found that give about the same output, for each ε and scale that is asked."""
    found = best_stand_ins(subject, examples, asked, seed=seed)
    arrays = {
        name: np.stack([getattr(each, name) for each in found], axis=1)
        for name in ("weights", "jsd", "upper", "change")
    }
    return {**arrays, "method": np.array([found[0].method] * len(examples))}


def as_stand_ins(rows: Rows) -> list[StandIns]:
    """The rows of `other_weights_for` as `best_stand_ins` gives them."""
    method: Any = str(rows["method"][0])
    parts = (rows[name].swapaxes(0, 1) for name in ("weights", "jsd", "upper", "change"))
    return [StandIns(method, *each) for each in zip(*parts, strict=True)]


def joined(parts: Sequence[Rows], places: Sequence[Sequence[int]]) -> Rows:
    """Rows of several parts in one array each, every row in its place, padded with zeros to the longest.

    >>> parts = [{"a": np.array([[1, 2]])}, {"a": np.array([[3], [4]])}]
    >>> joined(parts, [[1], [2, 0]])["a"].tolist()
    [[4, 0], [1, 2], [3, 0]]
    """
    whole: Rows = {}
    for name in parts[0]:
        of_parts = [part[name] for part in parts]
        shape = np.max([found.shape[1:] for found in of_parts], axis=0).astype(int) if of_parts[0].ndim > 1 else ()
        whole[name] = np.zeros((sum(map(len, places)), *shape), dtype=np.result_type(*of_parts))
        for found, rows in zip(of_parts, places, strict=True):
            where: Any = (list(rows), *(slice(size) for size in found.shape[1:]))
            whole[name][where] = found
    return whole
