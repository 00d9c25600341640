"""Measurements in words: what was measured, in which format, and what high and low values mean."""

from heatcheck.report.model_names import KEYS, name_of
from heatcheck.report.shared_words import KINDS, WEIGHTS
from heatcheck.report.view import view_of
from heatcheck.report.wording import said, spaced
from heatcheck.results import Measurement, Quantity, find_quantity
from heatcheck.results.written import NOTHING, as_clause, decimals, fine, number

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

_REFITTED = {"retrained", "refitted", "honest", "deceptive", "gauge twin", "gauge twin within budget"}


def quantity_of(name: str, check: str = "") -> Quantity | None:
    """The quantity of this name, as this check means it."""
    view_of(check)  # with the views of installed packages, which register what they measure
    return find_quantity(name, check)


def quantity(measurement: Measurement, check: str = "") -> str:
    """The plain name of the measured quantity."""
    found = quantity_of(measurement.name, check)
    return spaced(measurement.name) if found is None else found.words


def of_quantity(name: str, value: float, check: str = "") -> str:
    """A value of a quantity in the format it is registered with.

    >>> of_quantity("K", 0.0035), of_quantity("mass", 0.0035, "deception"), of_quantity("rank", 3.0)
    ('0.004', '0.0035', '3')
    """
    found = quantity_of(name, check)
    form = "number" if found is None else found.format
    return number(value) if form == "number" else fine(value) if form == "fine" else decimals(value, form)


def direction(name: str, check: str = "") -> str:
    """What high and low values of a quantity mean, as a phrase for one row; "" for an unregistered quantity.

    >>> direction("flips")
    'high: many shuffles of the weights change the decision; low: few shuffles of the weights change the decision'
    >>> direction("a new one")
    ''
    """
    found = quantity_of(name, check)
    return "" if found is None else f"high: {as_clause(found.high)}; low: {as_clause(found.low)}"


def with_seen_ends(name: str, value: float, low: float, high: float, check: str = "") -> str:
    """The value with its interval, unless that has no width that is seen: a share that is 1 by proof has none.

    >>> with_seen_ends("mass", 0.002, 0.0012, 0.0029, "deception"), with_seen_ends("agreement", 1.0, 1.0, 1.0)
    ('0.002 [0.0012, 0.0029]', '1.000')
    """
    parts = [of_quantity(name, part, check) for part in (value, low, high)]
    return parts[0] if NOTHING in parts[1:] or len(set(parts)) == 1 else f"{parts[0]} [{parts[1]}, {parts[2]}]"


def counted(measurement: Measurement) -> str:
    r"""The number of texts or seeds that a measurement is a mean over.

    >>> m = Measurement("accuracy", 0.8, 0.7, 0.9, 5, "prior", {"fit": "retrained", "weights": "last"})
    >>> counted(m), counted(m._replace(n=1200, by={"fit": "swapped", "weights": "own"}))
    ('5\xa0seeds', '1,200')
    """
    refitted = _REFITTED & {str(value) for value in measurement.by.values()}
    found = quantity_of(measurement.name)
    by_name = found is not None and found.counts == "seeds"
    of_seeds = (refitted and "seed" not in measurement.by) or by_name or "step" in measurement.by
    return f"{measurement.n:,}{SEEDS if of_seeds else ''}"


def pair_of(measurement: Measurement) -> tuple[str, ...]:
    """The two explainers that a measurement compares, or ()."""
    return tuple(str(name) for name in measurement.by.get("pair", ()))


def grouping(measurement: Measurement, check: str, *, pair: bool = True) -> str:
    """The facts of a measurement in words, as this check means them: 'attention and gradient, class positive'."""
    of_model = "model" in measurement.by
    parts = [name_of(measurement.by)] if of_model else []
    for key, value in measurement.by.items():
        if (key == "pair" and not pair) or (of_model and key in KEYS):
            continue
        if key == "pair":
            parts.append(" and ".join(spaced(name) for name in pair_of(measurement)))
        elif words := _kind(key, str(value), check):
            parts.append(words)
        elif key in _SAID_KEYS:
            parts.append(_SAID_KEYS[key].format(said(value)))
        else:
            parts.append(said(value) if key in _PLAIN_KEYS else f"{spaced(key)} {said(value)}")
    return ", ".join(parts).replace(", minus ", " minus ")


def _kind(key: str, value: str, check: str) -> str | None:
    """Words for a fact that say more than its key and its value."""
    of_check = view_of(check).kinds.get((key, value))
    return of_check or KINDS.get((key, value)) or (WEIGHTS.get(value) if key == "weights" else None)
