"""Parts that all figures share: how one is declared, the colours, and the choice of a check's values."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from heatcheck.errors import MissingPackage
from heatcheck.results import CheckResult, Measurement
from heatcheck.results.written import sentences

# These keep three to one against a white and against a dark page, and differ to every kind of colour blindness.
# Attention is blue everywhere, as its heatmaps are; nothing else is.
ATTENTION, RIVAL, FLOOR, MECHANICAL, MOST = "#2b78bd", "#d55e00", "#808080", "#9467bd", "#00946b"
BAR, HONEST = "#7a95b0", "#5f6f80"  # texts in a distribution; other models of the same recipe

CLASSES_DRAWN = 6  # more panels than this are a wall; the table has them all
WIDTH = 780  # of a whole figure, in the page's column


class Figure(NamedTuple):
    """A Vega-Lite declaration and the sentence under it."""

    name: str
    check: str
    caption: str
    spec: dict[str, Any]

    @property
    def reading(self) -> str:
        """Its first sentence: how to read it.

        >>> Figure("a", "b", "Right is better. Bars are intervals.", {}).reading
        'Right is better.'
        """
        return sentences(self.caption)[0]

    @property
    def more(self) -> str:
        """The other sentences."""
        return " ".join(sentences(self.caption)[1:])


def declare(name: str, check: str, caption: str, chart: Any) -> Figure:
    """A figure from an altair chart."""
    spec = chart.properties(description=caption).to_dict()
    # The schema's address is never fetched, but a reader who looks for addresses in the page should find none.
    spec.pop("$schema", None)
    return Figure(name, check, caption, spec)


def overall(result: CheckResult, name: str) -> list[Measurement]:
    """The measurements of this name over all classes."""
    return [m for m in result.measurements if m.name == name and "class" not in m.by]


def by_class(
    result: CheckResult, quantity: str, values: Float[np.ndarray, " example"], predicted: Mapping[str, str]
) -> Iterator[tuple[str, Bool[np.ndarray, " example"]]]:
    """One part per predicted class if the check reports this quantity by class, else one part for all.

    A part is a mask of the result's examples; examples without a value are in none.
    """
    known = np.isfinite(values)
    labels = np.array([predicted.get(example, "") for example in result.examples], dtype=object)
    measured = [str(m.by["class"]) for m in result.measurements if m.name == quantity and "class" in m.by]
    classes = [label for label in dict.fromkeys(measured) if (known & (labels == label)).any()]
    if 2 <= len(classes) <= CLASSES_DRAWN and np.isin(labels[known], classes).all():
        for label in classes:
            yield label, known & (labels == label)
    elif known.any():
        yield "", known


def heading(label: str, n: int) -> str:
    """
    >>> heading("positive", 1234), heading("", 8)
    ('predicted positive, n = 1,234', 'n = 8')
    """
    return f"predicted {label}, n = {n:,}" if label else f"n = {n:,}"


def altair() -> Any:
    """The altair package; raises MissingPackage if it is not installed.

    Pass channels as classes, `x=alt.X("low:Q")`: for plain text, `x="low:Q"`, altair hashes the schemas of all its
    classes every time, which takes 5 ms.
    """
    try:
        import altair
    except ImportError as error:
        raise MissingPackage("altair") from error
    return altair
