"""Where the parts of a transformer block are, one row per model family; an unknown family is refused, never guessed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heatcheck.data import Batch
from heatcheck.errors import NotSupported
from heatcheck.models.contract.subject import Edit, Site
from heatcheck.models.hf.layer import Layer, Norm
from heatcheck.models.hf.transformer import Transformer

# How a module is not linear; `tanh` is a head that calls torch.tanh itself, `product` what follows a gate.
Bend: TypeAlias = Literal["attention", "norm", "activation", "product", "tanh"]
AT_ONCE = 2**22  # weights that are worked on together


class Family(NamedTuple):
    """Paths within a block; `after` are paths within the network, of what bends between the last block and the logits.

    Whether a norm centres (LayerNorm) or not (RMSNorm), and which way round a projection is stored (GPT-2's Conv1D the
    other way), the modules say themselves.
    """

    attention: str
    projection: str  # of the heads' contexts, back to states
    norms: tuple[str, str]  # of the attention, of the MLP
    normed_first: bool  # norms stand before what they norm (GPT-2, Llama), or after it with the residual (BERT)
    activation: str
    gated: str | None = None  # what takes in activation · gate, where the MLP has one
    after: Mapping[str, Bend] = MappingProxyType({})


def _like_bert(**after: Bend) -> Family:
    return Family(
        "attention.self",
        "attention.output.dense",
        ("attention.output.LayerNorm", "output.LayerNorm"),
        normed_first=False,
        activation="intermediate.intermediate_act_fn",
        after={path.replace("__", "."): bend for path, bend in after.items()},
    )


_LIKE_LLAMA = Family(
    "self_attn",
    "self_attn.o_proj",
    ("input_layernorm", "post_attention_layernorm"),
    normed_first=True,
    activation="mlp.act_fn",
    gated="mlp.down_proj",
    after={"model.norm": "norm"},
)

FAMILIES: dict[str, Family] = {
    "albert": Family(
        "attention",
        "attention.dense",
        ("attention.LayerNorm", "full_layer_layer_norm"),
        normed_first=False,
        activation="activation",
        after={"albert.pooler_activation": "activation"},
    ),
    "bert": _like_bert(bert__pooler__activation="activation"),
    "distilbert": Family(
        "attention",
        "attention.out_lin",
        ("sa_layer_norm", "output_layer_norm"),
        normed_first=False,
        activation="ffn.activation",  # its head's ReLU has a slope of 0 or 1 already
    ),
    "electra": _like_bert(classifier__activation="activation"),
    "gpt2": Family(
        "attn",
        "attn.c_proj",
        ("ln_1", "ln_2"),
        normed_first=True,
        activation="mlp.act",
        after={"transformer.ln_f": "norm"},
    ),
    "llama": _LIKE_LLAMA,
    "modernbert": Family(
        "attn",
        "attn.Wo",
        ("attn_norm", "mlp_norm"),  # the first block's attention has none
        normed_first=True,
        activation="mlp.act",
        gated="mlp.Wo",
        after={"model.final_norm": "norm", "head.act": "activation", "head.norm": "norm"},
    ),
    "qwen2": _LIKE_LLAMA,
    "qwen3": _LIKE_LLAMA,
    "roberta": _like_bert(classifier="tanh"),
}


def family_of(subject: Transformer) -> Family:
    """The subject's row.

    >>> FAMILIES["gpt2"].normed_first, FAMILIES["bert"].normed_first
    (True, False)
    """
    kind = str(getattr(subject.network.config, "model_type", type(subject.network).__name__))
    if kind not in FAMILIES:
        raise NotSupported(
            f"heatcheck does not know the inside of a {kind} block ({subject.id}). It knows: "
            f"{', '.join(sorted(FAMILIES))}."
        )
    return FAMILIES[kind]


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
        found |= {within(subject, layer, norm): "norm" for norm in row.norms}
        found[within(subject, layer, row.activation)] = "activation"
        if row.gated is not None:
            found[within(subject, layer, row.gated)] = "product"
    return found | dict(row.after)


def read_norm(module: nn.Module) -> Norm | None:
    """A norm in tensors; None for one that does nothing."""
    if isinstance(module, nn.Identity):
        return None
    gain, bias = getattr(module, "weight", None), getattr(module, "bias", None)
    if isinstance(module, nn.LayerNorm):
        return Norm(gain, bias, module.eps, centred=True)
    return Norm(gain, bias, float(module.variance_epsilon), centred=False)  # type: ignore[arg-type]  # a float, which torch types as a module


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
            layer = Layer(held.pop("weights"), values, held.pop("states"), *_fixed(subject, family, number), row=rows)
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


def _fixed(
    subject: Transformer, family: Family, number: int
) -> tuple[Float[Tensor, "head feature size"], Float[Tensor, " size"] | None, Norm | None, Norm | None]:
    """What a layer has whatever it reads: its output projection and bias, and the norms that come after."""

    def module(path: str) -> nn.Module:
        found: nn.Module = subject.network.get_submodule(within(subject, number, path))
        return found

    projection, bias = read_projection(module(family.projection), subject.network.config.num_attention_heads)
    if family.normed_first:
        return projection, bias, None, None
    first, last = family.norms
    return projection, bias, read_norm(module(first)), read_norm(module(last))


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
