"""What every token adds to every other, vector by vector, from a network's modules and the parts it hands out."""

import torch
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.models import Site
from heatcheck.models.hf import Transformer
from heatcheck.models.hf.blocks import family_of, within


def vectors(subject: Transformer, batch: Batch, number: int, followed: str) -> Tensor:
    """What each key adds to each query, from the network's modules and wanted parts alone [example query key size]."""
    site, block = subject.sites[number], subject.blocks[number]
    value, states = Site("value", site.where), Site("input", block.where)
    row = family_of(subject)
    with torch.no_grad():
        run = subject.run(batch, want=[site, value, states])
    out = subject.network.get_submodule(within(subject, number, row.projection))
    zero = out(torch.zeros(1, 32))[0]
    found = torch.zeros(())
    for head in range(4):
        alone = torch.zeros(len(batch), batch.valid.shape[1], 32)
        alone[..., 8 * head : 8 * head + 8] = run.parts[value][:, head]
        found = found + run.parts[site][:, head, :, :, None] * (out(alone) - zero)[:, None]
    total = found.sum(2) + zero + run.parts[states]
    if followed != "attention":
        tokens = torch.arange(found.shape[1])
        found[:, tokens, tokens] += run.parts[states]
    if followed in ("norm", "block") and not row.normed_first:
        norm = subject.network.get_submodule(within(subject, number, row.norms[0]))
        scale = (total.var(-1, unbiased=False, keepdim=True) + norm.eps).sqrt()[:, :, None]
        found = (found - found.mean(-1, keepdim=True)) * norm.weight / scale
    if followed == "block" and not row.normed_first:
        norm = subject.network.get_submodule(within(subject, number, row.norms[1]))
        found = (found - found.mean(-1, keepdim=True)) * norm.weight
    return found.detach().double()


def after_attention(subject: Transformer, layer: int) -> Site:
    """Where the network itself shows the state after a layer's attention, before the MLP."""
    row = family_of(subject)
    use = subject.sites[layer].where.partition("@")[2]
    path = within(subject, layer, row.norms[1 if row.normed_first else 0])
    return Site("input" if row.normed_first else "state", f"{path}@{use}" if use else path)
