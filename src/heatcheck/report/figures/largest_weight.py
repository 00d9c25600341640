"""Figure of a check's values by the largest weight of each text: violins, one panel per predicted class."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from heatcheck.report.figures.distribution import Style, columns_for, side_by_side, violins, width_of
from heatcheck.report.figures.figure import by_class, heading
from heatcheck.report.figures.shapes import Span, in_use
from heatcheck.results import CheckResult


class Drawn(NamedTuple):
    """The panels, and the number and mean of their texts."""

    chart: Any
    mean: float
    texts: int


def by_largest_weight(
    result: CheckResult,
    quantity: str,
    predicted: Mapping[str, str],
    *,
    span: Span,
    axis: str,
    column: str = "",
    beside: Mapping[str, Float[np.ndarray, " example"]] = MappingProxyType({}),
    styles: Mapping[str, Style] = MappingProxyType({}),
) -> Drawn | None:
    """Draw violins of a check's values; None if it lacks these values or the largest weights.

    Args:
        column: the name of the values per text, if it differs from the quantity's.
        beside: other values of the same texts, drawn as a line with the style of that name.
    """
    values, largest = (result.per_example.get(name) for name in (column or quantity, "max_attention"))
    if values is None or largest is None:
        return None
    known = np.where(np.isfinite(largest), values, np.nan)
    span = in_use(known, [0.0, *(float(np.nanmax(other)) for other in beside.values() if np.isfinite(other).any())],
                  full=span)  # fmt: skip
    parts = list(by_class(result, quantity, known, predicted))
    if not parts:
        return None
    panels = [
        violins(
            values[here],
            largest[here],
            {name: other[here] for name, other in beside.items()},
            {name: styles[name] for name in beside},
            span=span,
            title=heading(label, int(here.sum())),
            axis=axis,
            first=at % columns_for(len(parts)) == 0,
            width=width_of(len(parts)),
        )
        for at, (label, here) in enumerate(parts)
    ]
    return Drawn(side_by_side(panels), float(np.nanmean(known)), int(np.isfinite(known).sum()))
