"""Longformer's attention as one map of all tokens (Beltagy et al. 2020), where the network itself has two.

A token sees its window and the *global* tokens ([CLS] in a classifier); a global token sees all. Global tokens have
queries, keys and values of their own. So a `value` is both kinds side by side, and a row uses one half of its context:
the first half in a window, the second half in a global row. In heatcheck's passes texts are not padded to the window.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heatcheck.models.contract.subject import Site
from heatcheck.models.hf.hooks import first_time
from heatcheck.models.hf.kernel import masked
from heatcheck.models.hf.met_softmax import require_met
from heatcheck.models.hf.taps import ACTIVE

States = Float[Tensor, "example token size"]
Tokens = Bool[Tensor, "example token"]
Heads = Float[Tensor, "example head token feature"]


def has_global_rows(network: nn.Module) -> bool:
    """Whether some rows of its attentions read other values than the rest."""
    return any(hasattr(module, "value_global") for module in network.modules())


def global_half(values: Float[Tensor, "example head key feature"]) -> Float[Tensor, "example head key size"]:
    """What a global row reads of values."""
    return values[..., values.shape[-1] // 2 :]


def spell_out_windows(network: nn.Module) -> None:
    """From now on passes of heatcheck's compute these attentions in full."""
    modules: Iterator[Any] = network.modules()
    for module in modules:
        if hasattr(module, "value_global") and first_time(module, "met"):
            module.forward = partial(_through, module, module.forward)
        if hasattr(module, "_pad_to_window_size") and first_time(module, "unpadded"):
            module._pad_to_window_size = partial(_unpadded, module, module._pad_to_window_size)


def _unpadded(module: nn.Module, pad: Callable[..., Any], *given: Any, **named: Any) -> Any:
    now = ACTIVE.get()
    if now is None or id(module) not in now.names:
        return pad(*given, **named)
    names = ("input_ids", "attention_mask", "token_type_ids", "position_ids", "inputs_embeds")
    return 0, *(named[name] for name in names)


def _through(module: Any, forward: Callable[..., Any], hidden_states: States, **named: Any) -> Any:
    """All passes of heatcheck's are spelled out, so that those that are compared round alike."""
    now = ACTIVE.get()
    where = None if now is None else now.use(module, "weights")
    if now is None or where is None:
        return forward(hidden_states, **named)
    now.tap.passed.append(Site("attention", where))
    require_met(now, where, module)
    padding, is_global = named["is_index_masked"], named["is_index_global_attn"]
    scores = now.send("score", where, _scores(module, hidden_states, padding, is_global))
    made = scores.softmax(-1, dtype=torch.float32).to(scores.dtype).masked_fill(padding[:, None, :, None], 0.0)
    weights = now.send("attention", where, made)
    weights = nn.functional.dropout(weights, module.dropout, module.training)
    both = [_by_head(module, project(hidden_states)) for project in (module.value, module.value_global)]
    context = weights @ now.send("value", where, torch.cat(both, -1))
    near, far = now.send("context", where, context).chunk(2, -1)
    out = torch.where(is_global[:, None, :, None], far, near)
    return (out.transpose(1, 2).flatten(2),)


def _scores(module: Any, states: States, padding: Tokens, is_global: Tokens) -> Float[Tensor, "example head query key"]:
    """Each row's masked scores: of both kinds of queries, side by side, one is 0, so that one product makes both."""
    far = is_global[:, None, :, None]
    queries = [_by_head(module, project(states)) for project in (module.query, module.query_global)]
    keys = [_by_head(module, project(states)) for project in (module.key, module.key_global)]
    query = torch.cat([queries[0].masked_fill(far, 0.0), queries[1].masked_fill(~far, 0.0)], -1)
    products = query / math.sqrt(module.head_dim) @ torch.cat(keys, -1).transpose(2, 3)
    place = torch.arange(states.shape[1], device=states.device)
    window = (place[:, None] - place).abs() <= module.one_sided_attn_window_size
    seen = (window | is_global[:, None, :] | is_global[:, :, None]) & ~padding[:, None, :]
    return masked(products, seen[:, None])


def _by_head(module: Any, states: States) -> Heads:
    return states.reshape(*states.shape[:2], module.num_heads, module.head_dim).transpose(1, 2)
