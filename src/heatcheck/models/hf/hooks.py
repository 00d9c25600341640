"""What heatcheck hangs on the modules of a network: each lets a forward pass of heatcheck's see what goes by.

They know nothing of a subject but what the pass at hand knows, so several subjects can share one network.
"""

from typing import Any

from torch import Tensor, nn

from heatcheck.models.contract.arguments import first_tensor, with_first_tensor
from heatcheck.models.contract.subject import Site
from heatcheck.models.hf.taps import ACTIVE, Pass


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


def embedded(module: nn.Module, _: Any, found: Tensor) -> Tensor | None:
    now = ACTIVE.get()
    if now is None or id(module) not in now.names or Site("embedding") not in now.wanted:
        return None
    # A copy: some families (CTRL) scale it in place, and what was taken out here must stay as it was.
    return now.send("embedding", "", found).clone()


def scored(module: nn.Module, _: Any, found: Tensor) -> None:
    now = ACTIVE.get()
    if now is not None and id(module) in now.names:
        now.every_row = found


def sent(now: Pass, where: str, found: Any) -> Any:
    """What a module gave, the first of several things, on its way through the tap."""
    own = found[0] if isinstance(found, tuple) else found
    if not isinstance(own, Tensor):
        return found
    used = now.send("state", where, own)
    return (used, *found[1:]) if isinstance(found, tuple) else used
