"""What heatcheck hangs on the modules of a network: each lets a forward pass of heatcheck's see what goes by.

They know nothing of a subject but what the pass at hand knows, so several subjects can share one network.
"""

from typing import Any

import torch
from torch import Tensor, nn

from heatcheck.errors import NotSupported
from heatcheck.models.contract.arguments import first_tensor, with_first_tensor
from heatcheck.models.contract.subject import Site
from heatcheck.models.hf.taps import ACTIVE, Pass

TURNED = "_heatcheck_turned"  # marks a table that is given ids by token and then by example (XLNet)


def first_time(module: nn.Module, what: str) -> bool:
    """Whether this has not been done to the module before, by this subject or another one of the same network."""
    done: set[str] = module.__dict__.setdefault("_heatcheck_has", set())
    if what in done:
        return False
    done.add(what)
    return True


def through_block(path: str, forward: Any, *given: Any, **named: Any) -> Any:
    """A block's forward pass, as the subject that runs wants it."""
    now = ACTIVE.get()
    if now is None or not hasattr(now.owner, "_number"):  # nobody's, or one that is only looking around
        return forward(*given, **named)
    return now.owner._block(now, path, forward, *given, **named)


def entered(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    now, own = ACTIVE.get(), first_tensor(given, named)
    where = None if now is None or own is None else now.use(module, "input")
    if now is None or where is None or own is None:
        return None
    return with_first_tensor(given, named, now.send("input", where, own))


def left(module: nn.Module, _: Any, found: Any) -> Any:
    now = ACTIVE.get()
    where = None if now is None else now.use(module, "state")
    return None if now is None or where is None else sent(now, where, found)


def embedded(module: nn.Module, given: tuple[Any, ...], found: Tensor) -> Tensor | None:
    now = ACTIVE.get()
    if now is None or id(module) not in now.names or Site("embedding") not in now.wanted:
        return None
    if now.looked_up is not None:
        return _again(module, given[0], found, *now.looked_up)
    if TURNED in module.__dict__:
        return now.send("embedding", "", found.transpose(0, 1)).transpose(0, 1)
    # A copy: some families (CTRL) scale it in place, and what was taken out here must stay as it was.
    used = now.send("embedding", "", found)
    now.looked_up = (given[0], found, used)
    return used.clone()


def _again(module: nn.Module, ids: Tensor, found: Tensor, before: Tensor, own: Tensor, used: Tensor) -> Tensor:
    """A decoder's words are the encoder's, one place later: what is done to a word is done to it in both."""
    same = nn.functional.pad(ids[:, 1:] == before[:, :-1], (1, 0))
    earlier = own.roll(1, 1)
    if ids.shape != before.shape or not torch.allclose(found[same], earlier[same], atol=1e-5):
        raise NotSupported(
            f"{type(module).__name__}: the decoder has a vector of its own for each word, so one word has two. Use an "
            "explainer that does not read embeddings."
        )
    return torch.where(same[..., None], used.roll(1, 1), found)


def scored(module: nn.Module, _: Any, found: Tensor) -> None:
    now = ACTIVE.get()
    if now is not None and id(module) in now.names:
        now.every_row = found


def noted(_: nn.Module, __: Any, named: dict[str, Any]) -> None:
    """Keeps the mask of a pass, for `last_of_text`."""
    now = ACTIVE.get()
    if now is not None:
        now.valid = named.get("attention_mask")


def last_of_text(_: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """For a head that reads the last place, padding or not (XLNet): each text's last token is put there."""
    now = ACTIVE.get()
    if now is None or now.valid is None or not given or given[0].shape[:2] != now.valid.shape:
        return None
    states, last = given[0], now.valid.sum(1).long() - 1
    read = states[torch.arange(len(states), device=states.device), last]
    return (torch.cat([states[:, :-1], read[:, None]], 1), *given[1:])


def sent(now: Pass, where: str, found: Any) -> Any:
    """What a module gave, the first of several things, on its way through the tap."""
    several = isinstance(found, tuple | list)
    name = next(iter(found), None) if isinstance(found, dict) else None  # transformers' outputs are dicts
    own = found[name] if name is not None else found[0] if several else found
    if not isinstance(own, Tensor):
        return found
    used = now.send("state", where, own)
    if Site("state", where) in now.tap.want:
        used = used.clone()  # some families (Falcon) add to it in place, and what was taken out must stay as it was
    if used is own:
        return found
    if name is not None:
        return type(found)(**{**found, name: used})
    return type(found)([used, *found[1:]]) if several else used
