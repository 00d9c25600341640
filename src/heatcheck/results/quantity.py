"""What is measured: every quantity once, with its plain name, its unit, and what high and low values mean."""

from typing import Literal, NamedTuple

from heatcheck.errors import BadInput


class Quantity(NamedTuple):
    """A kind of number. A number without a direction is noise, so there is none without."""

    name: str  # as a measurement or a study's row names it
    words: str  # in plain words
    high: str  # what a high value means
    low: str  # what a low value means
    unit: str = ""  # "nats", "share of texts", …; empty for a plain number
    format: str = "number"  # how its values are written: "number", "fine" or what Python formats by
    check: str = ""  # where a check means something of its own by the name
    counts: Literal["texts", "seeds"] = "texts"  # what the n of its measurements counts


QUANTITIES: dict[tuple[str, str], Quantity] = {}  # by the check that means something of its own, and by name


def register(*quantities: Quantity) -> None:
    """Adds quantities; a second one of the same name, or one that lacks words or a direction, is refused.

    >>> register(Quantity("K", "share of the best rival's effect", high="the words matter", low=""))
    Traceback (most recent call last):
    heatcheck.errors.BadInput: the quantity 'K' does not say what a low value means: give it words.
    """
    for one in quantities:
        for field in ("words", "high", "low"):
            if not getattr(one, field).strip():
                lacking = "what it is in plain words" if field == "words" else f"what a {field} value means"
                raise BadInput(f"the quantity {one.name!r} does not say {lacking}: give it words.")
        if (one.check, one.name) in QUANTITIES:
            raise BadInput(f"the quantity {one.name!r} is registered already: choose another name.")
        QUANTITIES[one.check, one.name] = one


def find_quantity(name: str, check: str = "") -> Quantity | None:
    """The quantity of this name as this check means it; None for one that nobody registered."""
    return QUANTITIES.get((check, name)) or QUANTITIES.get(("", name))
