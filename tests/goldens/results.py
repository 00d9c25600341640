"""What the Python objects hold, under canonical names: the one file to change when a class or a field moves.

A name on the left must stay, wherever the value on the right is found.
"""

from typing import Any

from .flat import by_name, digest, summary

VERSIONS = ("heatcheck", "torch", "python")  # in what an audit says about itself


def of_audit(audit: Any) -> dict[str, Any]:
    """An audit: its card, every measurement of every check, and every text it looked at."""
    return {
        "subject": audit.subject,
        "task": audit.task,
        "split": audit.split,
        "labels": audit.labels,
        "accuracy": audit.accuracy,
        "n": audit.n,
        "available": audit.available,
        "left_out": audit.left_out,
        "seed": audit.seed,
        "logit_scale": audit.card.logit_scale,
        "card": {line.name: _line(line) for line in audit.card.every_line},
        "checks": {name: _check(found) for name, found in audit.results.items()},
        "not_run": audit.missing,
        "about": {
            **{key: value for key, value in audit.about.items() if key not in VERSIONS},
            "papers": {name: found.paper for name, found in audit.results.items()},
            "questions": {name: found.question for name, found in audit.results.items()},
            "units": audit.units,
            **({"training rows": audit.training_rows} if audit.training_rows else {}),
        },
        "examples": {looked.id: _looked(looked) for looked in audit.examples},
    }


def of_study(found: Any) -> dict[str, Any]:
    """A study: every row beside what was published, and what is drawn of each kind of model."""
    return {
        "title": found.title,
        "paper": found.paper,
        "rows": {_row_name(row): _row(row) for row in found.rows},
        "models": {f"{m.task}|{m.encoder}|{m.attention}": _model(m) for m in found.models},
        "tasks": found.tasks,
        "notes": found.notes,
        "failed": found.failed,
        "settings": found.settings,
    }


def of_fit(fit: Any) -> dict[str, Any]:
    """A trained model: what it is called, by its recipe, and how good it is."""
    return {
        "id": fit.subject.id,
        "recipe": fit.subject.recipe.id,
        "folder": str(fit.folder),
        "test": fit.test.facts(),
        "bag of words": fit.logistic_regression,
        "left_out": fit.left_out,
    }


def _line(line: Any) -> dict[str, Any]:
    return {
        "question": line.question,
        "state": line.state,
        "moot": line.moot,
        "reason": line.reason,
        "holds": line.holds,
        "sentence": line.sentence,
        "cannot_see": line.cannot_see,
        "evidence": _measurements(line.evidence),
    }


def _check(found: Any) -> dict[str, Any]:
    return {
        "holds": found.holds,
        "measurements": _measurements(found.measurements),
        "examples": digest(found.examples),
        "per_example": {name: summary(values) for name, values in found.per_example.items()},
        "excluded": found.excluded,
        "told": {**found.settings, **found.facts, **_not_run(found)},
        "seed": found.seed,
    }


def _not_run(found: Any) -> dict[str, Any]:
    """Before results had a field for it, only checks that could lack something said so."""
    could = {"agreement", "erasure", "flips", "guide", "perturbation", "plausibility", "eraser"}
    return {"not_run": found.not_run} if found.not_run or found.check in could else {}


def _measurements(found: Any) -> list[dict[str, Any]]:
    """A list, in which each is named by what it is of (flat.py)."""
    return [
        {"name": m.name, "by": dict(m.by), "value": m.value, "low": m.low, "high": m.high, "n": m.n, "read": m.baseline}
        for m in found
    ]


def _looked(looked: Any) -> dict[str, Any]:
    return {
        "words": digest(looked.words),
        "text_pair": looked.text_pair,
        "gold": looked.gold,
        "predicted": looked.predicted,
        "probability": looked.probability,
        "scores": {name: summary(scores) for name, scores in looked.scores.items()},
        "rationale": None if looked.rationale is None else summary(looked.rationale),
    }


def _row_name(row: Any) -> str:
    return by_name(row.quantity, [row.task, row.encoder, row.attention, row.of_class, row.bin])


def _row(row: Any) -> dict[str, Any]:
    return {
        "value": row.value,
        "low": row.low,
        "high": row.high,
        "n": row.seeds,
        "spread": row.spread,
        "paper": row.paper,
        "rerun": row.rerun,
        "statement": row.statement,
        "rerun_statement": row.rerun_statement,
    }


def _model(model: Any) -> dict[str, Any]:
    return {
        "labels": model.labels,
        "seeds": model.seeds,
        "examples": {name: summary(values) for name, values in model.examples.items()},
        "heatmaps": model.heatmaps,
        "points": model.points,
    }
