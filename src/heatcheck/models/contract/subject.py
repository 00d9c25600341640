"""`Subject`, the interface of any model with attention: every intervention is an argument of its forward pass.

A model's forward pass sends each intermediate quantity through a `Tap`, which applies the edits and keeps the wanted
parts. So no model has a flag for an experiment, and no experiment touches a model.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import BadInput
from heatcheck.models.contract.recipe import Recipe

# What passes a place: `state` is what a module gives, `input` what it is given; the others are an attention's own.
Part: TypeAlias = Literal["embedding", "input", "state", "query", "key", "score", "attention", "value", "context"]


class Site(NamedTuple):
    """A place inside a model. Weights at an attention site are always [example head query key].

    >>> Site("attention")
    Site(part='attention', where='')
    """

    part: Part
    where: str = ""  # module path; "path@1" its second use; "" the only one

    def __str__(self) -> str:
        return f"{self.part}:{self.where}" if self.where else self.part


Edit: TypeAlias = Tensor | Callable[[Tensor], Tensor]  # imposed, or made from what the site produced
Edits: TypeAlias = Mapping[Site, Edit]
Reduce: TypeAlias = Callable[[Tensor], Tensor]
# Sites whose values are wanted; or with each a function, which runs where the value is made: only its result is kept.
Want: TypeAlias = Collection[Site] | Mapping[Site, Reduce]
NO_EDITS: Edits = MappingProxyType({})


@dataclass(frozen=True)
class Run:
    """The result of one forward pass: the logits, and the parts that were wanted.

    A decision is always a softmax over its labels. A single sigmoid z is the pair of logits (0, z), and a multi-label
    model makes one such decision per label. `row` is the query row of the read-out that each decision is read from. A
    user's own module may read its answer from all rows: `pooled` marks them, and the heatmap is their mean.
    """

    logits: Float[Tensor, "example decision label"]
    row: Int[Tensor, "example decision"]
    parts: Mapping[Site, Tensor]
    pooled: Bool[Tensor, "example query"] | None = None

    def readers(self, queries: int) -> Float[Tensor, "example query"]:
        """The share of each query in the first decision's heatmap: all of one row, or equal shares of several."""
        if self.pooled is None:
            return torch.nn.functional.one_hot(self.row[:, 0], queries).double()
        return self.pooled.double() / self.pooled.sum(1, keepdim=True)

    def behind(self, weights: Float[Tensor, "example head query key"]) -> Float[Tensor, "example head key"]:
        """The weights of each head that the first decision is read from."""
        if self.pooled is None:
            return weights[torch.arange(len(weights), device=weights.device), :, self.row[:, 0]]
        return torch.einsum("eq,ehqk->ehk", self.readers(weights.shape[2]).to(weights.dtype), weights)


@runtime_checkable
class Subject(Protocol):
    """Any model with attention: trained by heatcheck, from Hugging Face, or a user's own module."""

    @property
    def id(self) -> str: ...

    @property
    def sites(self) -> tuple[Site, ...]:
        """Attention sites, from input to output; the last is the read-out."""
        ...

    @property
    def recipe(self) -> Recipe | None:
        """How to retrain the model; None if it has no training recipe."""
        ...

    def encode(self, examples: Sequence[Example]) -> Batch: ...

    def run(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Want = ()) -> Run: ...


class Tap:
    """Applies edits to, and keeps wanted parts of, the quantities of one forward pass.

    An imposed tensor goes to the site's own device and precision.

    >>> import torch
    >>> tap = Tap({Site("state"): lambda states: 2 * states}, want=[Site("state")])
    >>> tap(Site("state"), torch.ones(1))
    tensor([2.])
    >>> tap.parts[Site("state")]
    tensor([2.])
    >>> tap = Tap({}, want={Site("state"): torch.sum})
    >>> tap(Site("state"), torch.ones(5)).shape, tap.parts[Site("state")]
    (torch.Size([5]), tensor(5.))
    """

    def __init__(self, edits: Edits, want: Want) -> None:
        self.edits = edits
        self.want = frozenset(want)
        self.reductions: Mapping[Site, Reduce] = want if isinstance(want, Mapping) else {}
        self.parts: dict[Site, Tensor] = {}
        self.passed: list[Site] = []

    def __call__(self, site: Site, produced: Tensor) -> Tensor:
        self.passed.append(site)
        edit = self.edits.get(site)
        value = produced if edit is None else edit.to(produced) if isinstance(edit, Tensor) else edit(produced)
        if value.shape != produced.shape:
            raise BadInput(
                f"the edit at {site} has shape {tuple(value.shape)}, but the site has shape {tuple(produced.shape)}."
            )
        self.keep(site, value)
        return value

    def keep(self, site: Site, value: Tensor) -> None:
        """Keep a value, edited already, if it is wanted."""
        if site in self.want:
            self.parts[site] = self.reduced(site, value)

    def reduced(self, site: Site, value: Tensor) -> Tensor:
        """What is kept of a wanted value."""
        reduce = self.reductions.get(site)
        return value if reduce is None else reduce(value)

    def run(self, logits: Float[Tensor, "example decision label"], row: Int[Tensor, "example decision"]) -> Run:
        """The finished pass; an edit or a wish at a site that never fired is an error, not a silent no-op."""
        for site in {*self.edits, *self.want}:
            if site not in self.passed:
                raise BadInput(
                    f"this forward pass has no site {site}. Choose one of: {', '.join(map(str, self.passed))}."
                )
        return Run(logits, row, self.parts)
