"""Names, numbers and states in plain words, for readers who do not know the papers."""

from collections.abc import Iterable, Mapping, Sequence

from heatcheck.report.lexicon import BY, METHODS, READING, WEIGHTS
from heatcheck.report.model_names import KEYS, name_of
from heatcheck.results import Card, Instead, Line, Measurement, find_quantity
from heatcheck.results.check_names import CHECK_NAMES, check_name
from heatcheck.results.written import NOTHING

SEEDS = "\N{NO-BREAK SPACE}seeds"

# Keys whose values need no further words.
_PLAIN_KEYS = {"operator", "ranking", "kind", "correction", "explainer", "rationale", "average"}

_SAID_KEYS = {
    "epsilon": "ε = {}",
    "bin": "largest weight {}",
    "of": "τ({})",
    "minus": "minus τ({})",
    "weights": "{} weights",
    "words": "{} words",
    "places": "{} places",
    "twin": "{} twin",
    "strength": "λ = {}",
    "matched": "with the runs of {}",
}

# Rows of a heatmap that are no method: weights made from attention.
_ROWS = {"counterfactual": "weights that give the same answer", "shuffled": "a typical shuffle"}

_REFITTED = {"retrained", "refitted", "honest", "deceptive", "gauge twin"}


def counted(measurement: Measurement) -> str:
    r"""The number of texts or seeds that a measurement is a mean over.

    >>> m = Measurement("accuracy", 0.8, 0.7, 0.9, 5, "prior", {"fit": "retrained", "weights": "last"})
    >>> counted(m), counted(m._replace(n=1200, by={"fit": "swapped", "weights": "own"}))
    ('5\xa0seeds', '1,200')
    """
    refitted = _REFITTED & {str(value) for value in measurement.by.values()}
    found = find_quantity(measurement.name)
    by_name = found is not None and found.counts == "seeds"
    of_seeds = (refitted and "seed" not in measurement.by) or by_name or "step" in measurement.by
    return f"{measurement.n:,}{SEEDS if of_seeds else ''}"


def spaced(name: str) -> str:
    """
    >>> spaced("leave_one_out")
    'leave one out'
    """
    return name.replace("_", " ")


def explainer_name(name: str) -> str:
    """The name of a heatmap's row.

    >>> explainer_name("leave_one_out"), explainer_name("counterfactual")
    ('leave one out', 'weights that give the same answer')
    """
    return _ROWS.get(name, spaced(name))


def said(value: object) -> str:
    """A setting, or a value of a `by`, as text.

    >>> said(["attention", "leave_one_out"]), said({"top": [1, 2]}), said(None)
    ('attention, leave one out', 'top: 1, 2', '–')
    """
    if isinstance(value, str):
        return spaced(value)
    if isinstance(value, Mapping):
        return "; ".join(f"{said(key)}: {said(item)}" for key, item in value.items())
    if isinstance(value, Sequence):
        return ", ".join(said(item) for item in value)
    return NOTHING if value is None else str(value)


def pair_of(measurement: Measurement) -> tuple[str, ...]:
    """The two explainers that a measurement compares, or ()."""
    return tuple(str(name) for name in measurement.by.get("pair", ()))


def grouping(measurement: Measurement, *, pair: bool = True) -> str:
    """The facts of a measurement in words: 'attention and gradient, class positive'."""
    of_model = "model" in measurement.by
    parts = [name_of(measurement.by)] if of_model else []
    for key, value in measurement.by.items():
        if (key == "pair" and not pair) or (of_model and key in KEYS):
            continue
        if key == "pair":
            parts.append(" and ".join(spaced(name) for name in pair_of(measurement)))
        elif words := BY.get((key, str(value)), WEIGHTS.get(str(value)) if key == "weights" else None):
            parts.append(words)
        elif key in _SAID_KEYS:
            parts.append(_SAID_KEYS[key].format(said(value)))
        else:
            parts.append(said(value) if key in _PLAIN_KEYS else f"{spaced(key)} {said(value)}")
    return ", ".join(parts).replace(", minus ", " minus ")


def quantity(measurement: Measurement, check: str = "") -> str:
    """The plain name of the measured quantity."""
    found = find_quantity(measurement.name, check)
    return spaced(measurement.name) if found is None else found.words


def in_order(checks: Iterable[str]) -> list[str]:
    """Checks in the order of a report; unknown ones come last.

    >>> in_order(["counterfactual", "a_new_one", "agreement"])
    ['agreement', 'counterfactual', 'a_new_one']
    """
    known = [*CHECK_NAMES]
    return sorted(checks, key=lambda check: known.index(check) if check in known else len(known))


def title(check: str) -> str:
    """The plain name of a check."""
    return check_name(check)


def reading(check: str, method: str) -> list[str]:
    """How to read a check's numbers."""
    return [words for words in (READING.get(check), METHODS.get(method)) if words]


def shown_instead(card: Card) -> Instead | None:
    """The method to show where the heatmap fails; None where it does not fail, and where no method does better."""
    return next((line.instead for line in card.every_line if line.short == "points" and line.state == "no"), None)


def advised(card: Card) -> list[str]:
    """Advice from each decided line, for people who show these heatmaps."""
    decided = [line for line in card.lines if line.state in ("yes", "no")]
    return [advice(line) for line in [*decided, *(line for line in card.apart if line.advice)]]


def advice(line: Line) -> str:
    """Advice from one line, for people who show these heatmaps; for an undecided line, the reason."""
    if line.state in ("yes", "no"):
        return line.advice or line.sentence
    if line.state == "not run":
        return f"Not decided: {line.sentence}" if line.evidence else "Not run: nothing is known about this."
    return f"Not decided: {line.reason.rstrip('.')}." if line.reason else line.sentence
