"""The same tiny transformer, or the same texts, in another arrangement: scores must not notice."""

from typing import Any

import numpy as np
import torch

from heatcheck.explainers import Explainer
from heatcheck.models.hf import Transformer
from tiny_transformers import EXAMPLES, make

ARRANGED = ("bert", "gpt2", "llama")
HEAD = 8  # coordinates of a head


def lively(family: str, *, labels: int = 3, seed: int = 0) -> Transformer:
    """With biases and gains that are not the zeros and ones of a fresh model: nobody can forget one unnoticed."""
    subject = make(family, labels=labels, seed=seed, sharp=10.0 if family == "gpt2" else 4.0)  # it starts smaller
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in subject.network.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return subject


def with_heads_turned_round(family: str) -> Transformer:
    """The lively model with its heads in the opposite order; the function that it computes is the same."""
    subject = lively(family)
    order = torch.arange(4 * HEAD).view(4, HEAD).flip(0).flatten()
    with torch.no_grad():
        for block in subject.blocks:
            _TURN[family](subject.network.get_submodule(block.where), order)
    return subject


def _turn_bert(block: Any, order: torch.Tensor) -> None:
    own, out = block.attention.self, block.attention.output.dense
    for linear in (own.query, own.key, own.value):
        linear.weight.copy_(linear.weight[order])
        linear.bias.copy_(linear.bias[order])
    out.weight.copy_(out.weight[:, order])


def _turn_gpt2(block: Any, order: torch.Tensor) -> None:
    both, out = block.attn.c_attn, block.attn.c_proj
    thrice = torch.cat([order, order + len(order), order + 2 * len(order)])
    both.weight.copy_(both.weight[:, thrice])
    both.bias.copy_(both.bias[thrice])
    out.weight.copy_(out.weight[order])


def _turn_llama(block: Any, order: torch.Tensor) -> None:
    """Two heads share a key and a value; the pairs change places too."""
    own = block.self_attn
    shared = order[order < 2 * HEAD]
    own.q_proj.weight.copy_(own.q_proj.weight[order])
    own.k_proj.weight.copy_(own.k_proj.weight[shared])
    own.v_proj.weight.copy_(own.v_proj.weight[shared])
    own.o_proj.weight.copy_(own.o_proj.weight[:, order])


_TURN = {"bert": _turn_bert, "gpt2": _turn_gpt2, "llama": _turn_llama}


def check_arrangements(explainer: Explainer, family: str, *, tolerance: float = 1e-4, varied: float = 0.01) -> None:
    """Texts alone and in a padded batch, in another order; heads in another order. `tolerance` is of the largest."""
    subject = lively(family)
    together = [np.asarray(row) for row in explainer.explain(subject, EXAMPLES, 0)]
    assert all(np.isfinite(row).all() and row.std() > varied * np.abs(row).max() for row in together)
    for example, row in zip(EXAMPLES, together, strict=True):
        (alone,) = explainer.explain(subject, [example], 0)
        _close(alone, row, tolerance)
    for row, other in zip(together, explainer.explain(subject, EXAMPLES[::-1], 0)[::-1], strict=True):
        _close(other, row, tolerance)
    turned = with_heads_turned_round(family)
    batch = subject.encode(EXAMPLES)
    site = subject.sites[-1]
    with torch.no_grad():
        before, after = subject.run(batch, want=[site]), turned.run(batch, want=[site])
    torch.testing.assert_close(after.logits, before.logits, rtol=1e-4, atol=1e-4)
    assert (after.parts[site] - before.parts[site]).abs().max() > 5e-3  # heads do differ
    for row, other in zip(together, explainer.explain(turned, EXAMPLES, 0), strict=True):
        _close(other, row, tolerance)


def _close(found: Any, wanted: np.ndarray, tolerance: float) -> None:
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * np.abs(wanted).max())
