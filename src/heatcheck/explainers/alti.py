"""ALTI: how much nearer each token's part comes to a layer's output (L1 distance), combined over all layers."""

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.explainers.norms import explain_by_rollout, shares
from heatcheck.explainers.scores import Explainer
from heatcheck.models.hf.layer import Layer

AT_ONCE = 2**22  # coordinates of parts that are held together: rows are done a few at a time


def nearness(layer: Layer, at_once: int = AT_ONCE) -> Float[Tensor, "example query key"]:
    """max(0, ‖y_i‖₁ − ‖y_i − what j adds to i‖₁), where y_i is the state after the attention, with its biases."""
    written, states, whole = layer.written(), layer.states, layer.output()
    scale = torch.ones_like(whole[..., :1])
    if layer.norm is not None:
        written, states, scale = layer.norm.linear(written), layer.norm.linear(states), layer.norm.scale(layer.summed())
    by_key = written.transpose(1, 2)  # [example key head size]
    step = max(1, at_once // states.numel())
    found = []
    for start in range(0, whole.shape[1], step):
        rows = torch.arange(start, min(start + step, whole.shape[1]), device=whole.device)
        parts = layer.strengths[:, :, rows].permute(0, 3, 2, 1) @ by_key  # [example key query size]
        parts[:, rows, rows - start] += states[:, rows]
        left = whole[:, None, rows] - parts / scale[:, None, rows]
        found.append((whole[:, rows].abs().sum(-1, keepdim=True) - left.abs().sum(-1).mT).clamp(min=0))
    return torch.cat(found, dim=1)


alti = Explainer(
    "alti",
    "how much the token's part reduces the L1 distance to each layer's output, residual and norm included; all layers",
    signed=False,
    explain=explain_by_rollout("alti", lambda layer: shares(nearness(layer))),
    paper="Ferrando et al. 2022",
)
