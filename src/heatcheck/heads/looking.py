"""Where the heads of a model look, over a set of texts: each measure with its interval and its baseline."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck import stats
from heatcheck.data import Example
from heatcheck.engine import check_time, stream
from heatcheck.errors import BadInput
from heatcheck.heads.measures import corner, measure, names
from heatcheck.heads.scene import Frequencies, Scene, Stage
from heatcheck.models import Subject, require_layers
from heatcheck.models.contract.memory import in_memory
from heatcheck.training import batches_by_length

VARIABILITY = "variability"
BATCH = 32  # texts at once, for a model that does not count its tokens


class Place(NamedTuple):
    """A head: its layer and its number there, both counted from 1."""

    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.layer}.{self.head}"


class Values(NamedTuple):
    """One measure of every head, with a bootstrap interval over examples, and what uniform weights give."""

    value: Float[np.ndarray, " head"]
    low: Float[np.ndarray, " head"]
    high: Float[np.ndarray, " head"]
    n: int
    uniform: float


@dataclass(frozen=True)
class Looked:
    """What was added up: numerators and denominators of every measure, by example and head."""

    places: tuple[Place, ...]
    examples: tuple[str, ...]
    measures: tuple[str, ...]
    sums: Float[np.ndarray, "example head column 2"]
    uniform: Float[np.ndarray, "example column 2"]
    causal: bool
    seed: int

    def of_examples(self, measure: str) -> Float[np.ndarray, "example head"]:
        """One measure of every example and head; NaN where it is not defined."""
        parts = self.sums[:, :, self._column(measure)]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(parts[..., 1] > 0, parts[..., 0] / parts[..., 1], np.nan))

    def of(self, measure: str, draws: int = 1000, level: float = 0.95) -> Values:
        """One measure over all examples: the ratio of its sums. It is NaN where no example defines it."""
        column = self._column(measure)
        above, below = self.sums[:, :, column, 0], self.sums[:, :, column, 1]
        n = int((below > 0).any(1).sum())
        ends = np.array([(1 - level) / 2, (1 + level) / 2])
        with np.errstate(divide="ignore", invalid="ignore"):
            value = above.sum(0) / below.sum(0)
            resampled = (self._counts(draws) @ above) / (self._counts(draws) @ below)
            low, high = np.quantile(resampled, ends, axis=0)
            even = float(self.uniform[:, column, 0].sum() / self.uniform[:, column, 1].sum())
        if n == 1:
            low, high = np.full_like(value, -np.inf), np.full_like(value, np.inf)
        return Values(value, low, high, n, even)

    def mean(self, measure: str) -> Float[np.ndarray, " head"]:
        """One measure over all examples, without its interval."""
        column = self._column(measure)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.sums[:, :, column, 0].sum(0) / self.sums[:, :, column, 1].sum(0))

    def of_layers(self, measure: str, draws: int = 1000) -> dict[int | str, stats.Interval]:
        """One measure as the mean over the heads of each layer and of all layers, with intervals over examples."""
        column = self._column(measure)
        above, below = self.sums[:, :, column, 0], self.sums[:, :, column, 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            drawn = (self._counts(draws) @ above) / (self._counts(draws) @ below)
        value, n = self.mean(measure), int((below > 0).any(1).sum())
        layers = np.array([place.layer for place in self.places])
        found: dict[int | str, stats.Interval] = {}
        for layer in (*sorted(set(layers.tolist())), "all"):
            own = np.ones(len(layers), dtype=bool) if layer == "all" else layers == layer
            ends = np.quantile(drawn[:, own].mean(1), [0.025, 0.975]) if n > 1 else (-np.inf, np.inf)
            found[layer] = stats.Interval(float(value[own].mean()), float(ends[0]), float(ends[1]), n)
        return found

    def share_above(self, measure: str, threshold: float, draws: int = 1000) -> tuple[float, float]:
        """The interval of the share of heads whose measure is above a threshold."""
        column = self._column(measure)
        above, below = (self._counts(draws) @ self.sums[:, :, column, part] for part in (0, 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = (above / below > threshold).mean(1)
        return float(np.quantile(shares, 0.025)), float(np.quantile(shares, 0.975))

    def defined(self, measure: str) -> bool:
        """Whether any example defines it."""
        return bool((self.sums[:, :, self._column(measure), 1] > 0).any())

    def _column(self, measure: str) -> int:
        return self.measures.index(measure)

    @cached_property
    def _drawn(self) -> dict[int, Float[np.ndarray, "draw example"]]:
        return {}

    def _counts(self, draws: int) -> Float[np.ndarray, "draw example"]:
        """How often each resample has each example; the same resamples for every measure and head."""
        if draws not in self._drawn:
            n = len(self.examples)
            generator = stream(self.seed, "heads", "bootstrap")
            self._drawn[draws] = generator.multinomial(n, np.full(n, 1 / n), size=draws).astype(np.float64)
        return self._drawn[draws]


def look(
    subject: Subject, examples: Sequence[Example], *, frequencies: Frequencies | None = None, seed: int = 0
) -> Looked:
    """Measure where every head looks, on these examples.

    Args:
        frequencies: how often words occur in some corpus, for *rare word*; None: in the examples themselves.
        seed: decides the resamples of the intervals.
    """
    deep = require_layers(subject, "a look at its heads")
    if not examples:
        raise BadInput("there is no text to look at the heads with: give at least one.")
    stage = Stage(deep, examples, frequencies)
    rows: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    @torch.inference_mode()
    def read(indices: list[int]) -> tuple[list[Tensor], Tensor]:
        chosen = [examples[index] for index in indices]
        batch = deep.encode(chosen)
        scene = stage.set_up(batch, chosen)
        found = deep.run(batch, want={site: _reduction(scene) for site in deep.sites})
        return [found.parts[site] for site in deep.sites], measure(scene.even, scene)[:, 0]

    heads: list[int] = []
    for indices, (layers, even) in in_memory(batches_by_length(examples, BATCH, subject), read):
        check_time()
        heads = [layer.shape[1] for layer in layers]
        of_heads = torch.cat([layer.cpu() for layer in layers], dim=1).double().numpy()
        rows.update(zip(indices, zip(of_heads, even.cpu().double().numpy(), strict=True), strict=True))
    kept = np.stack([rows[index][0] for index in range(len(examples))])
    count = len(names())
    sums, corners = kept[..., : 2 * count].reshape(*kept.shape[:2], count, 2), kept[..., 2 * count :]
    uniform = np.stack([rows[index][1] for index in range(len(examples))])
    return Looked(
        places=tuple(Place(layer + 1, head + 1) for layer, many in enumerate(heads) for head in range(many)),
        examples=tuple(example.id for example in examples),
        measures=(*names(), VARIABILITY),
        sums=np.concatenate([sums, _variability(corners)[:, :, None]], axis=2),
        uniform=np.concatenate([uniform, np.tile([0.0, 1.0], (len(uniform), 1, 1))], axis=1),
        causal=stage.causal,
        seed=seed,
    )


class _reduction:  # noqa: N801 - read as a function
    """What is kept of a layer's weights: sums, and a corner of fixed size."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def __call__(self, weights: Float[Tensor, "example head query key"]) -> Float[Tensor, "example head column"]:
        return torch.cat([measure(weights, self.scene).flatten(2), corner(weights, self.scene)], dim=-1)


def _variability(corners: Float[np.ndarray, "example head column"]) -> Float[np.ndarray, "example head 2"]:
    """How far each text's weights among the first positions are from the head's mean there (Vig & Belinkov)."""
    long = np.isfinite(corners).all((1, 2))
    found = np.zeros((*corners.shape[:2], 2))
    if long.sum() > 1:
        own = corners[long]
        found[long, :, 0] = np.abs(own - own.mean(0)).sum(-1)
        found[long, :, 1] = 2 * own.sum(-1)
    return found


def on_grid(places: Sequence[Place], values: Float[np.ndarray, " item"]) -> Float[np.ndarray, "layer head"]:
    """Values by layer and head; NaN where a layer has fewer heads than another."""
    found = np.full((max(p.layer for p in places), max(p.head for p in places)), np.nan)
    for place, value in zip(places, values, strict=True):
        found[place.layer - 1, place.head - 1] = value
    return found
