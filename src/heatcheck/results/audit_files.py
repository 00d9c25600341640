"""An audit as two files, so that it can be drawn again and compared where nothing is run."""

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from heatcheck.engine import Facts, plain, read_json, write_whole
from heatcheck.errors import BadInput, BrokenFolder
from heatcheck.results.as_facts import (
    kept_arrays,
    kept_facts,
    kept_measurement,
    measurement_from,
    results_from,
    tagged,
    untagged,
)
from heatcheck.results.audit import Audit, Looked
from heatcheck.results.card import Card
from heatcheck.results.line import Line

AUDIT, ARRAYS = "audit.json", "audit.npz"
FORMAT = 2  # of these files: a larger one is of a heatcheck to come, a smaller one of one that was

_Scores: TypeAlias = dict[str, tuple[float | None, ...]]
_PLAIN = ("subject", "task", "split", "n", "available", "seed")  # fields that are JSON as they are
_OTHERWISE = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
)


def keep_audit(audit: Audit, folder: Path | str) -> list[Path]:
    """Writes all of an audit into a folder, beside what else is in it; `read_audit` gives it back as it was."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    explainers, scores = _kept_scores(audit.examples)
    of_results = {f"results/{name}": values for name, values in kept_arrays(audit.results).items()}
    arrays: dict[str, Any] = {**of_results, **scores}
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    facts = {
        "format": FORMAT,
        "arrays": _digest(packed.getvalue()),
        **{name: getattr(audit, name) for name in _PLAIN},
        "accuracy": tagged(audit.accuracy),
        "labels": list(audit.labels),
        "card": _kept_card(audit.card),
        "results": kept_facts(audit.results),
        "examples": [_kept_looked(looked) for looked in audit.examples],
        "scores": explainers,
        "not_run": dict(audit.not_run),
        "not_fitted": dict(audit.not_fitted),
        "left_out": dict(audit.left_out),
        "about": tagged(audit.about),
    }
    write_whole(folder / ARRAYS, packed.getvalue())
    # Last, for it is what makes the folder an audit's. A line a word would be most of the file: hence no indents.
    written = plain(facts)
    written["facts"] = _digest_of_facts(written)
    write_whole(folder / AUDIT, json.dumps(written, separators=(",", ":")) + "\n")
    return [folder / AUDIT, folder / ARRAYS]


def read_audit(folder: Path | str) -> Audit:
    """What `keep_audit` wrote.

    >>> read_audit("no-such-folder")
    Traceback (most recent call last):
    heatcheck.errors.BadInput: there is no folder no-such-folder: name one that `heatcheck audit` made.
    """
    folder = Path(folder)
    if not folder.is_dir():
        wrong = f"{folder} is not a folder" if folder.exists() else f"there is no folder {folder}"
        raise BadInput(f"{wrong}: name one that `heatcheck audit` made.")
    if not (folder / AUDIT).is_file():
        raise BadInput(
            f"{folder} is not the folder of an audit: it has no {AUDIT}, which `heatcheck audit` writes; where an "
            "older heatcheck made it, audit the model again."
        )
    facts = read_json(folder / AUDIT)
    try:
        if facts["format"] > FORMAT:
            raise BrokenFolder(f"{folder} was kept by a later heatcheck: it can be read by that one.")
        if facts["format"] < FORMAT:
            raise BrokenFolder(f"{folder} was kept by an older heatcheck, in another form: audit the model again.")
        packed = (folder / ARRAYS).read_bytes()
        if _digest(packed) != facts["arrays"]:
            raise ValueError(f"{ARRAYS} is not the one that was written with {AUDIT}")
        with np.load(io.BytesIO(packed), allow_pickle=False) as opened:
            arrays = {name: opened[name] for name in opened.files}
        audit = _audit_from(facts, arrays)
        # Every number of a report may be edited into one that nothing can be drawn from.
        if facts["facts"] != _digest_of_facts(facts):
            raise ValueError(f"{AUDIT} was changed since it was written")
        return audit
    except _OTHERWISE as error:
        why = f"{ARRAYS} cannot be read" if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        raise BrokenFolder(f"{folder} is damaged ({why}): audit the model again.") from None


def _audit_from(facts: Facts, arrays: Mapping[str, np.ndarray]) -> Audit:
    of_results = {key.removeprefix("results/"): a for key, a in arrays.items() if key.startswith("results/")}
    scores = _scores_from(facts["scores"], len(facts["examples"]), arrays)
    return Audit(
        **{name: facts[name] for name in _PLAIN},
        accuracy=untagged(facts["accuracy"]),
        labels=tuple(facts["labels"]),
        card=_card_from(facts["card"]),
        results=results_from(facts["results"], of_results),
        examples=[_looked_from(*both) for both in zip(facts["examples"], scores, strict=True)],
        not_run=facts["not_run"],
        about=untagged(facts["about"]),
        left_out=facts["left_out"],
        not_fitted=facts["not_fitted"],
    )


def _kept_card(card: Card) -> dict[str, Any]:
    def kept(line: Line) -> dict[str, Any]:
        return {**line._asdict(), "evidence": [kept_measurement(m) for m in line.evidence]}

    return {
        "lines": [kept(line) for line in card.every_line],
        "logit_scale": tagged(card.logit_scale),
    }


def _card_from(facts: Facts) -> Card:
    def line(of: Facts) -> Line:
        return Line(**{**of, "evidence": tuple(measurement_from(m) for m in of["evidence"])})

    return Card(tuple(line(of) for of in facts["lines"]), untagged(facts["logit_scale"]))


def _kept_looked(looked: Looked) -> dict[str, Any]:
    """All but the scores, of which there are too many for text."""
    facts = {**looked._asdict(), "words": list(looked.words), "probability": tagged(looked.probability)}
    facts["rationale"] = None if looked.rationale is None else list(looked.rationale)
    del facts["scores"]
    return facts


def _looked_from(facts: Facts, scores: _Scores) -> Looked:
    marked = facts["rationale"]
    return Looked(
        **{
            **facts,
            "words": tuple(facts["words"]),
            "probability": untagged(facts["probability"]),
            "rationale": None if marked is None else tuple(marked),
            "scores": scores,
        }
    )


def _kept_scores(examples: Sequence[Looked]) -> tuple[list[str], dict[str, np.ndarray]]:
    """The explainers, and for each by its number: which examples it scored, how many words of each, and the scores.

    No score and a score that is no number are different things: `given` tells them apart.
    """
    names = list(dict.fromkeys(name for looked in examples for name in looked.scores))
    arrays: dict[str, np.ndarray] = {}
    for at, name in enumerate(names):
        rows = [row for row, looked in enumerate(examples) if name in looked.scores]
        scored = [examples[row].scores[name] for row in rows]
        flat = [score for scores in scored for score in scores]
        parts = {
            "rows": np.array(rows, dtype=np.int64),
            "lengths": np.array([len(scores) for scores in scored], dtype=np.int64),
            "values": np.array([np.nan if score is None else score for score in flat], dtype=np.float64),
            "given": np.array([score is not None for score in flat], dtype=bool),
        }
        arrays |= {f"scores/{at}/{part}": values for part, values in parts.items()}
    return names, arrays


def _scores_from(names: Sequence[str], examples: int, arrays: Mapping[str, np.ndarray]) -> list[_Scores]:
    found: list[_Scores] = [{} for _ in range(examples)]
    for at, name in enumerate(names):
        rows, lengths, values, given = (
            arrays[f"scores/{at}/{part}"].tolist() for part in ("rows", "lengths", "values", "given")
        )
        scores = [value if known else None for value, known in zip(values, given, strict=True)]
        start = 0
        for row, length in zip(rows, lengths, strict=True):
            found[row][name] = tuple(scores[start : start + length])
            start += length
    return found


def _digest(packed: bytes) -> str:
    return hashlib.sha256(packed).hexdigest()


def _digest_of_facts(facts: Facts) -> str:
    """Of all that stands in the JSON beside it."""
    beside = {name: value for name, value in facts.items() if name != "facts"}
    return _digest(json.dumps(beside, sort_keys=True).encode())
