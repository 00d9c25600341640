"""An audit as two files, so that it can be shown and compared again without running anything."""

import io
import json
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
from heatcheck.results.audit import Audit, AuditedExample
from heatcheck.results.card import Card
from heatcheck.results.damage import DAMAGE, digest
from heatcheck.results.headline import headline_of
from heatcheck.results.line import Instead, Line
from heatcheck.results.strip import Mark, Strip, Zone

AUDIT, ARRAYS = "audit.json", "audit.npz"
FORMAT = 3  # of these files: a larger one is of a heatcheck to come, a smaller one of one that was

_BY_CHECK = ("measurements", "excluded")  # what a reader wants of a check: by its name, before all else of it
_NUMBERS = ("probability", "tau")  # of an example
_Scores: TypeAlias = dict[str, tuple[float | None, ...]]
_PLAIN = (
    "kind",
    "subject",
    "task",
    "split",
    "n",
    "available",
    "seed",
    "units",
    "training_rows",
    "rival",
    "shown_first",
)  # fields that are JSON as they are


def audit_facts(audit: Audit, *, arrays: bool = False) -> dict[str, Any]:
    """All of an audit in words that JSON has, the same wherever it is written; nothing is written twice.

    The values of each example and the scores are too many for text, and are left out unless `arrays` asks for them.
    """
    results = kept_facts(audit.results)
    apart = {line.short or line.name: _kept_line(line) for line in audit.card.apart}
    facts = {
        "format": FORMAT,
        **{name: getattr(audit, name) for name in _PLAIN},
        "labels": None if audit.labels is None else list(audit.labels),
        "accuracy": tagged(audit.accuracy),
        "commonest": None if audit.commonest is None else list(audit.commonest),
        "headline": headline_of(audit.card)._asdict(),
        "logit_scale": tagged(audit.card.logit_scale),
        "card": [_kept_line(line) for line in audit.card.lines],
        "apart": list(apart),
        **apart,
        **{part: {check: of.pop(part) for check, of in results.items()} for part in _BY_CHECK},
        "results": results,
        "examples": [_kept_example(one) for one in audit.examples],
        "scores": _scored_by(audit.examples),
        "not_run": dict(audit.not_run),
        "not_fitted": dict(audit.not_fitted),
        "left_out": dict(audit.left_out),
        "about": tagged(audit.about),
    }
    if arrays:
        facts["per_example"] = {
            check: {name: tagged(values.tolist()) for name, values in result.per_example.items()}
            for check, result in audit.results.items()
        }
        for kept, one in zip(facts["examples"], audit.examples, strict=True):
            kept["scores"] = {name: [tagged(score) for score in scores] for name, scores in one.scores.items()}
    return facts


def keep_audit(audit: Audit, folder: Path | str) -> list[Path]:
    """Writes all of an audit into a folder, beside what else is in it; `read_audit` gives it back as it was."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {f"results/{name}": values for name, values in kept_arrays(audit.results).items()}
    arrays |= _kept_scores(audit.examples)
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    facts = {**audit_facts(audit), "arrays": digest(packed.getvalue())}
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
            f"{folder} is not the folder of an audit: it has no {AUDIT}. If an older heatcheck made it, audit the "
            "model again."
        )
    facts = read_json(folder / AUDIT)
    try:
        if facts["format"] > FORMAT:
            raise BrokenFolder(f"{folder} was kept by a later heatcheck: it can be read by that one.")
        if facts["format"] < FORMAT:
            raise BrokenFolder(f"{folder} was kept by an older heatcheck, in another form: audit the model again.")
        # Before anything is made of them: every fact may be edited into one that nothing can be made or drawn from.
        if facts["facts"] != _digest_of_facts(facts):
            raise ValueError(f"{AUDIT} was changed since it was written")
        packed = (folder / ARRAYS).read_bytes()
        if digest(packed) != facts["arrays"]:
            raise ValueError(f"{ARRAYS} is not the one that was written with {AUDIT}")
        with np.load(io.BytesIO(packed), allow_pickle=False) as opened:
            arrays = {name: opened[name] for name in opened.files}
        return _audit_from(facts, arrays)
    except DAMAGE as error:
        why = f"{ARRAYS} cannot be read" if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        raise BrokenFolder(f"{folder} is damaged ({why}): audit the model again.") from None


def _audit_from(facts: Facts, arrays: Mapping[str, np.ndarray]) -> Audit:
    of_results = {key.removeprefix("results/"): a for key, a in arrays.items() if key.startswith("results/")}
    results = {
        check: {**of, **{part: facts[part][check] for part in _BY_CHECK}} for check, of in facts["results"].items()
    }
    scores = _scores_from(facts["scores"], len(facts["examples"]), arrays)
    labels, commonest = facts["labels"], facts["commonest"]
    lines = [*facts["card"], *(facts[name] for name in facts["apart"])]
    return Audit(
        **{name: facts[name] for name in _PLAIN},
        accuracy=untagged(facts["accuracy"]),
        labels=None if labels is None else tuple(labels),
        commonest=None if commonest is None else tuple(commonest),
        card=Card(tuple(map(_line_from, lines)), untagged(facts["logit_scale"])),
        results=results_from(results, of_results),
        examples=[_example_from(*both) for both in zip(facts["examples"], scores, strict=True)],
        not_run=facts["not_run"],
        about=untagged(facts["about"]),
        left_out=facts["left_out"],
        not_fitted=facts["not_fitted"],
    )


def _kept_line(line: Line) -> dict[str, Any]:
    evidence = [kept_measurement(m) for m in line.evidence]
    strip = None if line.strip is None else _kept_strip(line.strip)
    instead = None if line.instead is None else _kept_instead(line.instead)
    return {**line._asdict(), "evidence": evidence, "strip": strip, "instead": instead}


def _kept_instead(instead: Instead) -> dict[str, Any]:
    return {**instead._asdict(), "gain": kept_measurement(instead.gain), "own": kept_measurement(instead.own)}


def _kept_strip(strip: Strip) -> dict[str, Any]:
    return {
        "measurement": kept_measurement(strip.measurement),
        "low": strip.low,
        "zones": [zone._asdict() for zone in strip.zones],
        "marks": [mark._asdict() for mark in strip.marks],
    }


def _line_from(facts: Facts) -> Line:
    evidence = tuple(measurement_from(m) for m in facts["evidence"])
    strip = None if facts["strip"] is None else _strip_from(facts["strip"])
    instead = None if facts["instead"] is None else _instead_from(facts["instead"])
    return Line(**{**facts, "evidence": evidence, "strip": strip, "instead": instead})


def _instead_from(facts: Facts) -> Instead:
    return Instead(**{**facts, **{name: measurement_from(facts[name]) for name in ("gain", "own")}})


def _strip_from(facts: Facts) -> Strip:
    zones, marks = (tuple(Zone(**zone) for zone in facts["zones"]), tuple(Mark(**mark) for mark in facts["marks"]))
    return Strip(measurement_from(facts["measurement"]), facts["low"], zones, marks)


def _kept_example(one: AuditedExample) -> dict[str, Any]:
    """All but the scores, of which there are too many for text."""
    facts = {**one._asdict(), "words": list(one.words), **{name: tagged(getattr(one, name)) for name in _NUMBERS}}
    facts["rationale"] = None if one.rationale is None else list(one.rationale)
    del facts["scores"]
    return facts


def _example_from(facts: Facts, scores: _Scores) -> AuditedExample:
    marked = facts["rationale"]
    return AuditedExample(
        **{
            **facts,
            **{name: untagged(facts[name]) for name in _NUMBERS},
            "words": tuple(facts["words"]),
            "rationale": None if marked is None else tuple(marked),
            "scores": scores,
        }
    )


def _scored_by(examples: Sequence[AuditedExample]) -> list[str]:
    """The explainers."""
    return list(dict.fromkeys(name for one in examples for name in one.scores))


def _kept_scores(examples: Sequence[AuditedExample]) -> dict[str, np.ndarray]:
    """For each explainer by its number: which examples it scored, how many words of each, and the scores.

    No score and a score that is no number are different things: `given` tells them apart.
    """
    arrays: dict[str, np.ndarray] = {}
    for at, name in enumerate(_scored_by(examples)):
        rows = [row for row, one in enumerate(examples) if name in one.scores]
        scored = [examples[row].scores[name] for row in rows]
        flat = [score for scores in scored for score in scores]
        parts = {
            "rows": np.array(rows, dtype=np.int64),
            "lengths": np.array([len(scores) for scores in scored], dtype=np.int64),
            "values": np.array([np.nan if score is None else score for score in flat], dtype=np.float64),
            "given": np.array([score is not None for score in flat], dtype=bool),
        }
        arrays |= {f"scores/{at}/{part}": values for part, values in parts.items()}
    return arrays


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


def _digest_of_facts(facts: Facts) -> str:
    """Of all that stands in the JSON beside it."""
    beside = {name: value for name, value in facts.items() if name != "facts"}
    return digest(json.dumps(beside, sort_keys=True).encode())
