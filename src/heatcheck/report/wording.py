"""Plain words for keys, settings and names of methods."""

from collections.abc import Mapping, Sequence

from heatcheck.results.written import NOTHING

_SIGNED = " (signed)"

# Rows of a heatmap that are no method: weights made from attention.
_ROWS = {"counterfactual": "weights that give the same answer", "shuffled": "a typical shuffle"}


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


def ranking_title(name: str) -> str:
    """The name of an order in which words are removed.

    >>> ranking_title("leave_one_out (signed)"), ranking_title("random")
    ('leave one out (signed)', 'random order')
    """
    if name == "random":
        return "random order"
    plain = explainer_name(name.removesuffix(_SIGNED))
    return f"{plain}{_SIGNED}" if name.endswith(_SIGNED) else spaced(plain)
