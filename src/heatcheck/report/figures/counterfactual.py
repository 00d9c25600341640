"""How different the weights can be with the same answer, beside what any model would show."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from heatcheck.report.figures.distribution import MEAN, Style, histogram
from heatcheck.report.figures.figure import (
    ATTENTION,
    FLOOR,
    MECHANICAL,
    MOST,
    WIDTH,
    Figure,
    altair,
    by_class,
    declare,
    heading,
)
from heatcheck.report.figures.largest_weight import by_largest_weight
from heatcheck.report.figures.shapes import mean_of
from heatcheck.report.searched import Place, first_of_each_scale, is_beside, searched
from heatcheck.results import CheckResult
from heatcheck.results.written import number

_SPAN = (0.0, 0.7)  # ln 2 is the most that two distributions can differ
_BINS = 40  # as published
_FLOOR, _NULL, _MOST, _UPPER = (
    "floor: every model reaches it",
    "null: shuffled relevances",
    "largest for any answer",
    "upper bound of the mean",
)
_SHORT = {_FLOOR: "floor", _NULL: "null", _MOST: "largest", _UPPER: "upper bound"}
_STYLES = {
    "mean": MEAN,
    _FLOOR: Style(FLOOR, (6, 4)),
    _NULL: Style(MECHANICAL, (2, 2)),
    _MOST: Style(MOST, (10, 3, 2, 3)),
    _UPPER: Style(ATTENTION, (4, 3)),
}


def jsd_histogram(result: CheckResult, predicted: Mapping[str, str]) -> Figure | None:
    """The largest JSD per text, with one row per predicted class and one column per scale of the logits."""
    found = [(place, result.per_example[place.name("jsd")]) for place in first_of_each_scale(result)]
    found = [(place, values) for place, values in found if np.isfinite(values).any()]
    if not found:
        return None
    beside = [_beside(result, place) for place, _ in found]
    used = {"mean"}.union(*beside)
    styles = {name: style for name, style in _STYLES.items() if name in used}
    parts = list(by_class(result, "jsd", found[0][1], predicted))
    rows = []
    for label, here in parts:
        panels = [
            histogram(
                values[here & np.isfinite(values)],
                {name: mean_of(of_texts[here]) for name, of_texts in {"mean": values, **others}.items()},
                styles,
                span=_SPAN,
                bins=_BINS,
                title=f"{heading(label, int(np.isfinite(values[here]).sum()))}; {place.scale}",
                axis=_axis(place) if label == parts[-1][0] else None,
                width=WIDTH if len(found) == 1 else (WIDTH - 60) // 2,
            )
            for (place, values), others in zip(found, beside, strict=True)
        ]
        rows.append(altair().hconcat(*panels, spacing=30))
    means = "; ".join(
        f"{place.scale}: mean "
        + ", ".join([number(mean_of(values)), *(f"{_SHORT[n]} {number(mean_of(v))}" for n, v in others.items())])
        for (place, values), others in zip(found, beside, strict=True)
    )
    floor = "Every model reaches the floor. " if _FLOOR in used else ""
    caption = (
        "How different the weights of each text can be while the output moves by at most ε. 0 is the same heatmap, "
        f"0.69 a heatmap on entirely different words. A large JSD is no evidence by itself. {floor}A JSD that shuffled "
        f"relevances reach too says nothing about this model. {means[0].upper()}{means[1:]}."
    )
    return declare("counterfactual-histogram", result.check, caption, altair().vconcat(*rows, spacing=14))


def jsd_by_largest_weight(result: CheckResult, predicted: Mapping[str, str]) -> Figure | None:
    """The largest JSD by the largest weight, with one panel per predicted class."""
    found = searched(result)
    if not found:
        return None
    place = found[0]
    beside = _beside(result, place)
    beside.pop(_UPPER, None)  # the violins show attained values
    drawn = by_largest_weight(
        result,
        "jsd",
        predicted,
        span=_SPAN,
        axis=_axis(place),
        column=place.name("jsd"),
        beside=beside,
        styles=_STYLES,
    )
    if drawn is None:
        return None
    caption = (
        f"The same by the largest weight of each text ({place.scale}): flat weights at the bottom, one heavy word at "
        "the top; lines inside are quartiles. In every model, flatter weights allow a larger JSD. Violins that only "
        "follow the lines beside them show the shape of the weights and nothing else."
    )
    return declare("counterfactual-by-largest-weight", result.check, caption, drawn.chart)


def _axis(place: Place) -> str:
    return f"largest JSD at ε = {place.epsilon} (nats)"


def _beside(result: CheckResult, place: Place) -> dict[str, Float[np.ndarray, " example"]]:
    """The baselines of each text's JSD, if they are known for every text."""
    measured = np.isfinite(result.per_example[place.name("jsd")])
    found = {}
    for line, quantity, name in (
        (_FLOOR, "floor", "floor"),
        (_NULL, "null", place.name("null")),
        (_MOST, "most", "most"),
        (_UPPER, "upper", place.name("upper")),
    ):
        values = result.per_example.get(name)
        if values is not None and is_beside(result, quantity) and np.isfinite(values[measured]).all():
            found[line] = values
    return found
