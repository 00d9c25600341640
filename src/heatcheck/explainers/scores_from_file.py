"""Scores computed elsewhere: JSONL with `{"id", "scores"}`, or ERASER's results format."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heatcheck.data import Example
from heatcheck.data.rows import Row, read_rows
from heatcheck.errors import BadInput
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.models import Subject


def from_file(path: Path | str) -> Explainer:
    """An explainer that reads its scores from a file, one number per word."""
    path = Path(path)
    if not path.is_file():
        raise BadInput(
            f"there is no scores file {path}: give a JSONL file with `id` and `scores`, one line per example."
        )

    def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
        found = _read(path)
        wanted = {example.id: example for example in examples}
        if not wanted.keys() & found.keys():
            some = ", ".join(list(found)[:3])
            raise BadInput(f"{path}: none of its ids ({some}, …) is in the data. Use the ids of the examples.")
        return [_fitting(e, *found[e.id]) if e.id in found else f"no scores in {path.name}" for e in examples]

    return Explainer(f"file:{path}", f"scores read from {path.name}", signed=False, explain=explain)


def _fitting(example: Example, where: str, scores: np.ndarray) -> np.ndarray:
    """One score per word; if only the first text has scores, the words of the second have none."""
    second = sum(which for which, _, _ in example.spans or ())
    if len(scores) == len(example.words) - second:
        return np.concatenate([scores, np.full(second, np.nan)])
    if len(scores) == len(example.words):
        return scores
    how = "split at plain spaces" if example.spans is None else "as this model splits it"
    raise BadInput(
        f"{where}: there are {len(scores)} scores for {example.id!r}, but its text has {len(example.words)} words "
        f"({how})."
    )


def check_ids(path: Path | str, known: Sequence[str]) -> None:
    """Refuse a file with an id that the data does not have; a sample of the data would not show it."""
    every = set(known)
    for name, (where, _) in _read(Path(path)).items():
        if name not in every:
            raise BadInput(f"{where}: id {name!r} is not in the data.")


def _read(path: Path) -> dict[str, tuple[str, np.ndarray]]:
    found: dict[str, tuple[str, np.ndarray]] = {}
    for row in read_rows(path):
        name, scores = _one(row)
        if name in found:
            raise BadInput(f"{row.where}: id {name!r} occurs twice; it was used before, at {found[name][0]}.")
        found[name] = row.where, scores
    if not found:
        raise BadInput(f"{path} is empty: it needs one line with `id` and `scores` per example.")
    return found


def _one(row: Row) -> tuple[str, np.ndarray]:
    values: Any = row.values
    if "annotation_id" in values:  # ERASER: soft scores of the one document
        name, scores = values["annotation_id"], _soft_scores(values.get("rationales"))
    else:
        name, scores = values.get("id"), values.get("scores")
    try:
        numbers = np.array(scores, dtype=float)
    except (TypeError, ValueError, OverflowError):
        numbers = np.array(np.nan)
    if name is None or numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise BadInput(
            f"{row.where}: a line needs `id` and `scores`, a list of numbers (or ERASER's annotation_id and "
            "soft_rationale_predictions)."
        )
    return str(name), numbers


def _soft_scores(rationales: Any) -> Any:
    """Those of the first document; None where it has none."""
    first = rationales[0] if isinstance(rationales, list) and rationales else None
    return first.get("soft_rationale_predictions") if isinstance(first, dict) else None
