"""What studies of heads share: numbers of the check `roles` as means over the heads of each layer."""

from collections.abc import Iterator, Sequence

import numpy as np

from heatcheck.results import CheckResult, Key, key, register_axes

ALL = "all"
register_axes("heads_mean", ("measure", "layer"))
register_axes("heads_above", ("measure",))
register_axes("pattern_share", ("pattern",))


def layer_means(found: CheckResult, measures: Sequence[str]) -> Iterator[tuple[Key, float]]:
    """Each measure as the mean over heads, by layer and over all layers."""
    for measure in measures:
        own = [m for m in found.measurements if m.name == measure]
        for layer in sorted({int(m.by["layer"]) for m in own}):
            values = [m.value for m in own if m.by["layer"] == layer]
            yield key("heads_mean", measure=measure, layer=layer), float(np.mean(values))
        if own:
            yield key("heads_mean", measure=measure, layer=ALL), float(np.mean([m.value for m in own]))


def heads_above(found: CheckResult, thresholds: dict[str, float]) -> Iterator[tuple[Key, float]]:
    """The share of heads whose measure is above a threshold."""
    for measure, threshold in thresholds.items():
        values = [m.value for m in found.measurements if m.name == measure]
        if values:
            yield key("heads_above", measure=measure), float(np.mean([value > threshold for value in values]))


def pattern_shares(found: CheckResult, patterns: Sequence[str]) -> Iterator[tuple[Key, float]]:
    """The share of heads whose map is of each class."""
    classes = list(found.facts["patterns"].values())
    for pattern in patterns:
        yield key("pattern_share", pattern=pattern), classes.count(pattern) / len(classes)
