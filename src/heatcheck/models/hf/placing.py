"""Which block of a network each of its attentions stands in, and what a pass between blocks can start from."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import nn

from heatcheck.errors import NotSupported
from heatcheck.models.contract.subject import Site


class Placed(NamedTuple):
    """The blocks of a network's attentions."""

    blocks: tuple[Site, ...]  # the output of the block around each attention
    entry: Site  # what goes into the first block of the stack that the answer is read from
    paths: tuple[str, ...]  # of all blocks, each once
    skips: bool  # where a block's output is given, neither it nor one before it need be computed
    not_stacked: str = ""  # why the attentions are not one per layer of one stack
    not_layered: str = ""  # why its layers are no blocks


def place(network: Any, sites: Sequence[Site], called: str, *, blocks: bool = True) -> Placed:
    """Each attention with the block it stands in; networks with layers that have none are refused.

    Args:
        blocks: False if what blocks hand on is not one state per token.
    """
    used: Counter[tuple[str, str]] = Counter()
    places: list[Site] = []
    for site in sites:
        attention, path = site.where.partition("@")[0], block_of(network, site.where)
        count = used[path, attention]  # the same block again, as in ALBERT, or its next attention
        used[path, attention] += 1
        places.append(Site("state", f"{path}@{count}" if count else path))
    paths = tuple(dict.fromkeys(path for path, _ in used))
    require_attention_in_every_layer(network, paths, called)
    if not blocks or any(path == attention for path, attention in used):
        return _without_blocks(network, sites, called)
    stacks = list(dict.fromkeys(_list_of(path) for path in paths))
    first = next(path for path in paths if _list_of(path) == stacks[-1])
    two = len(stacks) > 1 and bool(getattr(network.config, "is_encoder_decoder", False))
    return Placed(
        tuple(places),
        Site("input", first),
        paths,
        skips=not two,
        not_stacked=f"{called} has an encoder and a decoder" if two else "",
    )


def _without_blocks(network: Any, sites: Sequence[Site], called: str) -> Placed:
    """XLM keeps attentions and MLPs in lists side by side, SqueezeBERT hands on features by token: only their end."""
    above = _list_of(_list_of(block_of(network, sites[-1].where)))
    return Placed(
        (Site("state", above),) * len(sites),
        Site("embedding"),
        (),
        skips=False,
        not_layered=f"the layers of {called} do not hand on a state per token",
    )


def _children(network: nn.Module, path: str) -> list[str]:
    return [name for name, _ in network.get_submodule(path).named_children()]


def _list_of(path: str) -> str:
    return path.rpartition(".")[0]


def require_attention_in_every_layer(network: nn.Module, paths: Sequence[str], called: str) -> None:
    """Refuse hybrids: a heatmap does not show layers that read tokens without attention."""
    lists = {_list_of(path) for path in paths}
    layers = [f"{of}.{name}".lstrip(".") for of in lists for name in _children(network, of)]
    without = [path for path in layers if path not in paths]
    if without:
        has = "has" if len(without) == 1 else "have"
        raise NotSupported(
            f"{called} does not read by attention alone: {len(without)} of its {len(layers)} layers {has} no "
            "attention that heatcheck can read. Choose a model with attention in every layer."
        )


def block_of(network: nn.Module, path: str) -> str:
    """The block that an attention stands in: what comes first of its path that is one of a list, and no list itself.

    >>> network = nn.ModuleDict({"layers": nn.ModuleList([nn.ModuleDict({"attention": nn.Linear(1, 1)})])})
    >>> block_of(network, "layers.0.attention")
    'layers.0'
    """
    parts = path.partition("@")[0].split(".")
    for number in range(1, len(parts) + 1):
        found = ".".join(parts[:number])
        if parts[number - 1].isdigit() and not isinstance(network.get_submodule(found), nn.ModuleList):
            return found
    return ".".join(parts)
