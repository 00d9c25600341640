"""Reads a transformer's blocks by the table of families: norms, projections, and each layer as one pass meets it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heatcheck.data import Batch
from heatcheck.errors import NotSupported
from heatcheck.models.contract.subject import Edit, Site
from heatcheck.models.hf.families import FAMILIES, Bend, Family
from heatcheck.models.hf.layer import Layer, Norm
from heatcheck.models.hf.transformer import Transformer

AT_ONCE = 2**22  # weights that are worked on together


def family_of(subject: Transformer) -> Family:
    """The subject's row.

    >>> FAMILIES["gpt2"].normed_first, FAMILIES["bert"].normed_first
    (True, False)
    """
    config = subject.network.config
    kind = str(getattr(config, "model_type", type(subject.network).__name__))
    if kind not in FAMILIES:
        raise NotSupported(
            f"heatcheck does not know the inside of a {kind} block ({subject.id}). It knows: "
            f"{', '.join(sorted(FAMILIES))}."
        )
    row = FAMILIES[kind]
    for name, known in row.only.items():
        if (own := getattr(config, name, known)) != known:
            raise NotSupported(
                f"heatcheck does not know the inside of a {kind} block with {name}={own!r} ({subject.id}). It knows "
                f"{kind} with {name}={known!r}."
            )
    return row


def within(subject: Transformer, layer: int, path: str) -> str:
    """The whole path of something in a layer's block."""
    row = family_of(subject)
    attention = subject.sites[layer].where.partition("@")[0]
    return f"{attention.removesuffix(row.attention)}{path}"


def bends(subject: Transformer) -> dict[str, Bend]:
    """Every module of the network, from the first block on, that is not linear, and how it is not."""
    row = family_of(subject)
    found: dict[str, Bend] = {}
    for layer in range(len(subject.sites)):
        found[within(subject, layer, row.attention)] = "attention"
        found[within(subject, layer, row.projection)] = "projection"
        found |= {within(subject, layer, norm): "norm" for norm in row.norms}
        found |= {within(subject, layer, norm): "score norm" for norm in row.of_scores}
        found[within(subject, layer, row.activation)] = "activation"
        if row.gated is not None:
            found[within(subject, layer, row.gated)] = "product"
    found |= row.after
    return {path: bend for path, bend in found.items() if _is_there(subject.network, path)}


def _is_there(network: nn.Module, path: str) -> bool:
    """Norms of queries and keys, and the second norm of parallel blocks, depend on the config."""
    parent, _, name = path.rpartition(".")
    return not path or isinstance(getattr(network.get_submodule(parent), name, None), nn.Module)


class _Kind(NamedTuple):
    """How a class of norms computes: less the mean or not, its gain w or 1 + w, and its epsilon if it names none."""

    centred: bool
    more: float
    epsilon: float


_KINDS: dict[type, _Kind] = {}


def read_norm(module: nn.Module) -> Norm | None:
    """A norm in tensors; None for one that does nothing.

    A class of norms is tried out once: families have many names for the same few formulas.
    """
    if isinstance(module, nn.Identity):
        return None
    if type(module) not in _KINDS:
        _KINDS[type(module)] = _try_norm(module)
    kind = _KINDS[type(module)]
    gain: Any = getattr(module, "weight", None)
    bias: Any = getattr(module, "bias", None)
    own: Any = next((getattr(module, name) for name in ("eps", "variance_epsilon") if hasattr(module, name)), None)
    if gain is not None and kind.more:
        gain = gain + kind.more
    return Norm(gain, bias, kind.epsilon if own is None else float(own), kind.centred)


@torch.no_grad()
def _try_norm(module: nn.Module) -> _Kind:
    weight: Any = getattr(module, "weight", None)
    shape: Any = getattr(module, "normalized_shape", ()) if weight is None else weight.shape
    (size,) = shape
    like = torch.empty(0) if weight is None else weight

    def through(states: Tensor) -> Tensor:
        found: Tensor = type(module).forward(module, states)
        return found.double()

    def flat(states: Tensor) -> Tensor:
        """As it comes out less the bias: a norm is odd but for that."""
        return (through(states) - through(-states)) / 2

    signs = torch.ones(size, dtype=like.dtype, device=like.device)
    signs[1::2] = -1
    uneven = torch.linspace(-1, 2, size, dtype=like.dtype, device=like.device)
    gain = flat(1e3 * signs) * signs
    more = 0.0 if weight is None or torch.allclose(gain, weight.double(), atol=1e-3) else 1.0
    small = float((flat(1e-3 * signs) / flat(1e3 * signs)).abs().nanmedian())
    kind = _Kind(torch.allclose(through(uneven), through(uneven + 7), atol=1e-3), more, 1e-6 * (1 / small**2 - 1))
    _KINDS[type(module)] = kind
    read = read_norm(module)
    if read is None or not torch.allclose(read(uneven).double(), through(uneven), atol=1e-3):
        del _KINDS[type(module)]
        raise NotSupported(
            f"heatcheck does not know how a {type(module).__name__} computes, so it cannot go through it."
        )
    return kind


def read_projection(
    module: nn.Module, heads: int
) -> tuple[Float[Tensor, "head feature size"], Float[Tensor, " size"] | None]:
    """An output projection by head, and its bias."""
    weight, bias = module.weight, getattr(module, "bias", None)
    assert isinstance(weight, Tensor)
    inwards = weight.T if isinstance(module, nn.Linear) else weight  # Conv1D is stored [in out]
    return inwards.reshape(heads, -1, inwards.shape[1]), bias


Reduce: TypeAlias = Callable[[Layer], Tensor]


def each_layer(subject: Transformer, batch: Batch, reduce: Reduce, *, only_last: bool = False) -> list[Tensor]:
    """`reduce` of each layer, in the order of layers, from one forward pass; no layer outlives its reduction.

    `reduce` sees a few examples at a time and gives one row for each.
    """
    family = family_of(subject)
    rows = subject.rows(batch)
    found: list[Tensor] = []
    held: dict[str, Tensor] = {}

    def note(name: str) -> Edit:
        def keep(passing: Tensor) -> Tensor:
            held[name] = passing
            return passing

        return keep

    def finish(number: int) -> Edit:
        def with_values(values: Tensor) -> Tensor:
            fixed = _fixed(subject, family, number, values.shape[1])
            layer = Layer(held.pop("weights"), values, held.pop("states"), row=rows, **fixed._asdict())
            found.append(torch.cat([reduce(few) for few in _few_at_a_time(layer)]))
            return values

        return with_values

    edits: dict[Site, Edit] = {}
    for number, (site, block) in enumerate(zip(subject.sites, subject.blocks, strict=True)):
        if only_last and number < len(subject.sites) - 1:
            continue
        edits[Site("input", block.where)] = note("states")
        edits[site] = note("weights")
        edits[Site("value", site.where)] = finish(number)  # the last of the three to pass
    with torch.no_grad():
        subject.run(batch, edits=edits)
    return found


class _Fixed(NamedTuple):
    """What a layer has whatever it reads: its output projection and bias, and norms that come after."""

    projection: Float[Tensor, "head feature size"]
    bias: Float[Tensor, " size"] | None
    branch: Norm | None
    norm: Norm | None
    last: Norm | None


def _fixed(subject: Transformer, family: Family, number: int, heads: int) -> _Fixed:
    def module(path: str) -> nn.Module:
        found: nn.Module = subject.network.get_submodule(within(subject, number, path))
        return found

    projection, bias = read_projection(module(family.projection), heads)
    if family.times is not None:
        factor = float(getattr(subject.network.config, family.times))
        projection, bias = factor * projection, None if bias is None else factor * bias
    branch = None if family.branch is None else read_norm(module(family.branch))
    if family.normed_first:
        return _Fixed(projection, bias, branch, None, None)
    return _Fixed(projection, bias, branch, *(read_norm(module(path)) for path in family.norms[:2]))


def _few_at_a_time(layer: Layer) -> Iterator[Layer]:
    """The layer on a few examples after the other, in double precision."""
    step = max(1, AT_ONCE // layer.weights[0].numel())
    for start in range(0, len(layer.weights), step):
        some = slice(start, start + step)
        yield replace(
            layer,
            weights=layer.weights[some].double(),
            values=layer.values[some].double(),
            states=layer.states[some].double(),
            projection=layer.projection.double(),
            bias=None if layer.bias is None else layer.bias.double(),
            row=layer.row[some],
        )
