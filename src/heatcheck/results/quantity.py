"""Quantities that heatcheck measures, each with its plain name, its unit and the meaning of high and low values."""

from typing import Literal, NamedTuple

from heatcheck.errors import BadInput


class Quantity(NamedTuple):
    """A kind of number, with the meaning of its high and low values."""

    name: str  # as a measurement or a study's row names it
    words: str  # its plain name
    high: str  # what a high value means
    low: str  # what a low value means
    unit: str = ""  # "nats", "share of texts", …; empty for a plain number
    format: str = "number"  # how its values are written: "number", "fine" or what Python formats by
    check: str = ""  # the check that gives the name its own meaning, if one does
    counts: Literal["texts", "seeds"] = "texts"  # what the n of its measurements counts


OF_STUDIES = "study"  # in place of a check: what the name means in a study's rows

# By check (or "") and name. What checks and studies measure stands in the views of heatcheck.report, which fill this.
QUANTITIES: dict[tuple[str, str], Quantity] = {}


def register(*quantities: Quantity) -> None:
    """Add quantities; refuse a second one of the same name, and one without words or a direction.

    >>> register(Quantity("K", "share of the best method's effect", high="The words matter.", low=""))
    Traceback (most recent call last):
    heatcheck.errors.BadInput: the quantity 'K' does not say what a low value means: give it words.
    """
    added: dict[tuple[str, str], Quantity] = {}  # all of them or none
    for one in quantities:
        for field in ("words", "high", "low"):
            if not getattr(one, field).strip():
                lacking = "what it is in plain words" if field == "words" else f"what a {field} value means"
                raise BadInput(f"the quantity {one.name!r} does not say {lacking}: give it words.")
        if (one.check, one.name) in QUANTITIES | added:
            raise BadInput(f"the quantity {one.name!r} is registered already: choose another name.")
        added[one.check, one.name] = one
    QUANTITIES.update(added)


def find_quantity(name: str, check: str = "") -> Quantity | None:
    """Find the quantity of this name, as this check means it; None for an unregistered name."""
    return QUANTITIES.get((check, name)) or QUANTITIES.get(("", name))
