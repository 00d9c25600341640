"""Takes the heads of a Hugging Face language model apart: what each reads and writes, and what adds up to the logits.

The table of families says where norms and output projections are. Where queries, keys and values are made, the names
and shapes of an attention's own modules say. Whatever is read is tried on a pass: a layout that does not give the
model's own values is refused, never guessed.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heatcheck.data import Batch
from heatcheck.errors import NotSupported
from heatcheck.models.contract.opened import Ends, Factors, Stream
from heatcheck.models.contract.subject import Site
from heatcheck.models.contract.until import run_until
from heatcheck.models.hf.blocks import family_of, read_norm, read_projection, within
from heatcheck.models.hf.layer import Norm
from heatcheck.models.hf.transformer import Transformer
from heatcheck.models.hf.trial import MADE_UP

APART = (("q_proj", "k_proj", "v_proj"), ("query", "key", "value"))  # a module each
JOINED = ("c_attn", "qkv_proj", "Wqkv", "query_key_value")  # one module for all three
CLOSE, CLOSE_IN_HALF = 1e-3, 0.03  # of the largest value


class _Inwards(NamedTuple):
    """What makes queries, keys and values of a normed state, by head, before any norm is folded in."""

    query: Float[Tensor, "head size feature"]
    key: Float[Tensor, "head size feature"]
    value: Float[Tensor, "head size feature"]
    bias: Float[Tensor, "head feature"] | None  # of the values


def read_factors(subject: Transformer, layer: int) -> Factors:
    """What the heads of a layer read and write, norms folded in; refused for blocks that heatcheck does not know."""
    family = family_of(subject)
    _require_plain(subject)
    inwards, norm = _inwards(subject, layer), _front(subject, layer)
    _try_values(subject, layer, inwards, norm)
    output, _ = read_projection(_module(subject, layer, family.projection), subject.heads[layer])
    if family.branch is not None and (branch := read_norm(_module(subject, layer, family.branch))) is not None:
        output = branch.linear(output)
    readers = (inwards.query, inwards.key, inwards.value)
    query, key, value = (_folded(norm, one).detach() for one in readers)
    for name, path in zip(("query", "key"), family.of_scores, strict=False):
        if (of_scores := _norm_of_scores(subject, layer, path)) is not None:
            gained = _gained(of_scores, query if name == "query" else key)
            query, key = (gained, key) if name == "query" else (query, gained)
    return Factors(query, key, value, output.detach() * _times(subject))


def read_ends(subject: Transformer) -> Ends:
    """The embedding and the unembedding, the final norm folded into it."""
    head = subject.network.get_output_embeddings()
    norm = read_norm(subject.network.get_submodule(subject.place("final_norm").where))
    embedding, weight = subject.network.get_input_embeddings().weight.detach(), head.weight.detach()
    if embedding.shape[-1] != weight.shape[-1]:
        raise NotSupported(f"the embeddings of {subject.id} have another width than its states.")
    _try_end(subject)
    constant = weight.new_zeros(len(weight)) if getattr(head, "bias", None) is None else head.bias.detach()
    if norm is not None and norm.bias is not None:
        constant = constant + weight @ norm.bias.detach().to(weight.dtype)
    return Ends(embedding, _folded(norm, weight.T[None])[0].T.detach(), constant)


@torch.no_grad()
def read_stream(subject: Transformer, batch: Batch, rows: Int[Tensor, " example"]) -> Stream:
    """What adds up to the last state of one token of each example, in double precision."""
    family = family_of(subject)
    _require_plain(subject)
    examples = torch.arange(len(batch), device=rows.device)

    def at_row(states: Tensor) -> Tensor:
        return states.reshape(len(batch), -1, states.shape[-1])[examples, rows].double()  # OPT: all tokens in one row

    def of_heads(context: Float[Tensor, "example head query feature"]) -> Float[Tensor, "example head feature"]:
        return context[examples, :, rows].double()

    end, head = Site("input", subject.place("final_norm").where), subject.place("unembedding")
    start = Site("input", subject.blocks[0].where)
    contexts = [Site("context", site.where) for site in subject.sites]
    thoughts = [subject.place("mlp_out", layer) for layer in range(len(subject.sites))]
    want: dict[Site, Callable[[Tensor], Tensor]] = dict.fromkeys((start, end, head, *thoughts), at_row)
    found = subject.run(batch, want=want | dict.fromkeys(contexts, of_heads)).parts
    names, parts = ["embedding"], [found[start]]
    for layer, (context, thought) in enumerate(zip(contexts, thoughts, strict=True)):
        branch = None if family.branch is None else read_norm(_module(subject, layer, family.branch))
        projection, bias = read_projection(_module(subject, layer, family.projection), subject.heads[layer])
        written = torch.einsum("ehf,hfs->ehs", found[context], projection.double())
        constant = torch.zeros_like(found[start]) if bias is None else bias.double().expand_as(found[start])
        if branch is not None:
            scale = branch.scale(written.sum(1) + constant)
            written, constant = branch.linear(written) / scale[:, None], branch.linear(constant) / scale
            constant = constant if branch.bias is None else constant + branch.bias.double()
        names += [f"head {layer + 1}.{number + 1}" for number in range(written.shape[1])]
        names += [f"bias {layer + 1}", f"mlp {layer + 1}"]
        parts += [_times(subject) * one for one in (*written.unbind(1), constant, found[thought])]
    norm = read_norm(subject.network.get_submodule(end.where))
    scale = torch.ones_like(found[end][:, :1]) if norm is None else norm.scale(found[end])
    return Stream(tuple(names), torch.stack(parts, dim=1), scale, found[head])


def _module(subject: Transformer, layer: int, path: str) -> nn.Module:
    found: nn.Module = subject.network.get_submodule(within(subject, layer, path))
    return found


def _require_plain(subject: Transformer) -> None:
    if not family_of(subject).normed_first:
        raise NotSupported(f"{subject.id} norms after each block, so its heads read no state as it was written.")
    if subject.adapted:
        raise NotSupported(f"{subject.id} has adapters in its blocks: merge them first (merge_and_unload).")


def _times(subject: Transformer) -> float:
    """The constant factor on what a block adds (Granite)."""
    name = family_of(subject).times
    return 1.0 if name is None else float(getattr(subject.network.config, name))


def _front(subject: Transformer, layer: int) -> Norm | None:
    """The norm in front of the attention, if there is one."""
    family = family_of(subject)
    if family.norms[0] == family.branch:
        return None
    return read_norm(_module(subject, layer, family.norms[0]))


def _norm_of_scores(subject: Transformer, layer: int, path: str) -> Norm | None:
    parent, _, name = path.rpartition(".")
    found = getattr(_module(subject, layer, parent), name, None)
    return read_norm(found) if isinstance(found, nn.Module) else None


def _folded(norm: Norm | None, reader: Float[Tensor, "head size feature"]) -> Float[Tensor, "head size feature"]:
    """A reader that reads states before the norm, but for the division by their scale."""
    if norm is None:
        return reader
    gained = reader if norm.gain is None else reader * norm.gain.to(reader.dtype)[:, None]
    return gained - gained.mean(-2, keepdim=True) if norm.centred else gained


def _gained(norm: Norm, reader: Float[Tensor, "head size feature"]) -> Float[Tensor, "head size feature"]:
    """With the gain of a norm of queries or keys, which is one for each head or one for all."""
    if norm.gain is None:
        return reader
    gain = norm.gain.detach().to(reader.dtype)
    groups = gain.reshape(-1, reader.shape[-1])
    return reader * groups.repeat_interleave(len(reader) // len(groups), 0)[:, None]


def _inwards(subject: Transformer, layer: int) -> _Inwards:
    """Where queries, keys and values are made, by the names of an attention's modules."""
    attention, heads = _module(subject, layer, family_of(subject).attention), subject.heads[layer]
    projection, _ = read_projection(_module(subject, layer, family_of(subject).projection), heads)
    width = projection.shape[1]
    for names in APART:
        if all(isinstance(getattr(attention, name, None), nn.Module) for name in names):
            modules = [getattr(attention, name) for name in names]
            return _of_all([_weight(one) for one in modules], [_bias(one) for one in modules], heads, width)
    for name in JOINED:
        module = getattr(attention, name, None)
        if isinstance(module, nn.Module):
            order = _order(name, _weight(module).shape[1], heads, width)
            bias = _bias(module)
            weights = [_weight(module)[:, part] for part in order]
            return _of_all(weights, [None if bias is None else bias[part] for part in order], heads, width)
    raise NotSupported(f"heatcheck does not know where {subject.id} makes queries, keys and values.")


def _order(name: str, outputs: int, heads: int, width: int) -> Sequence[Tensor]:
    """The columns of queries, keys and values in a joint projection."""
    columns = torch.arange(outputs)
    if name == "query_key_value" and outputs == 3 * heads * width:  # head after head, each with its three
        return [columns.reshape(heads, 3, width)[:, part].flatten() for part in range(3)]
    groups = (outputs // width - heads) // 2
    ends = [heads * width, (heads + groups) * width]
    return list(torch.tensor_split(columns, ends))


def _of_all(weights: Sequence[Tensor], biases: Sequence[Tensor | None], heads: int, width: int) -> _Inwards:
    query, key, value = (_by_head(weight, heads, width) for weight in weights)
    bias = biases[2]
    if bias is not None:
        bias = bias.reshape(-1, width)
        bias = bias.repeat_interleave(heads // len(bias), 0)
    return _Inwards(query, key, value, bias)


def _by_head(weight: Float[Tensor, "size output"], heads: int, width: int) -> Float[Tensor, "head size feature"]:
    """With a copy for each head that shares keys or values."""
    of_groups = weight.reshape(len(weight), -1, width).transpose(0, 1)
    return of_groups.repeat_interleave(heads // len(of_groups), 0)


def _weight(module: Any) -> Float[Tensor, "size output"]:
    weight: Tensor = module.weight
    return weight.T if isinstance(module, nn.Linear) else weight  # Conv1D is stored [in out]


def _bias(module: Any) -> Float[Tensor, " output"] | None:
    return getattr(module, "bias", None)


@torch.no_grad()
def _try_end(subject: Transformer) -> None:
    """Refuse a model that does more to its last states than norm and unembed them."""
    normed, read = subject.place("final_norm"), Site("input", subject.place("unembedding").where)
    found = subject.run(subject.encode(MADE_UP), want=[normed, read]).parts
    if not torch.equal(found[normed].flatten(), found[read].flatten()):
        raise NotSupported(f"{subject.id} has more than a norm between its last block and its logits.")


@torch.no_grad()
def _try_values(subject: Transformer, layer: int, inwards: _Inwards, norm: Norm | None) -> None:
    """Refuse a layer whose values are not what was read of it makes of its states."""
    batch = subject.encode(MADE_UP)
    states: list[Tensor] = []

    def note(entering: Tensor) -> Tensor:
        states.append(entering if norm is None else norm(entering))
        return entering

    entered, made = Site("input", subject.blocks[layer].where), Site("value", subject.sites[layer].where)
    found = run_until(subject, batch, made, edits={entered: note})
    values = torch.einsum("eks,hsf->ehkf", states[-1], inwards.value)
    if inwards.bias is not None:
        values = values + inwards.bias[None, :, None]
    own = found.repeat_interleave(values.shape[1] // found.shape[1], 1)
    close = CLOSE if own.element_size() >= 4 else CLOSE_IN_HALF
    if values.shape != own.shape or float((values - own).abs().max()) > close * max(1.0, float(own.abs().max())):
        raise NotSupported(f"heatcheck does not know how {subject.id} makes its values, so it cannot read its heads.")
