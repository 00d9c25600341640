"""Find the attention weights of a user's own module by two dry passes with different numbers of examples and tokens."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from heatcheck.errors import BadInput, NotSupported
from heatcheck.models.contract.subject import Tap
from heatcheck.models.own_module.taps import OUTPUT, Interception, Pass
from heatcheck.models.own_module.weight_axes import Axes, axes_of

Said: TypeAlias = str | Sequence[str] | Mapping[str, str] | None  # a path, several, or each with its axes


@dataclass(frozen=True)
class Place:
    """Where a module computes weights: `path` in the module, `where` as a site, `taken` in a returned tuple."""

    path: str
    where: str
    kind: str
    axes: Axes
    taken: int | None = None

    def __str__(self) -> str:
        return f"{self.where!r} ({self.kind}: {self.axes})"


@dataclass(frozen=True)
class _Seen:
    """Weights seen in one pass; `over` is the axis over which they sum to 1."""

    kind: str
    shape: torch.Size
    over: int
    taken: int | None = None


class Look(Pass):
    """A pass that edits nothing and records every tensor that looks like weights."""

    def __init__(self, tokens: Tensor) -> None:
        super().__init__(Tap({}, ()), axes={}, takes={}, embedding=None, examples=tokens.shape[0])
        self.tokens = tokens
        self.made: dict[str, _Seen] = {}  # by functions of torch
        self.given: dict[str, _Seen] = {}  # by modules, in what they return
        self.kept: list[Any] = []  # what was returned: an id means nothing once its object is gone

    def makes_weights(self, key: str, kind: str) -> bool:
        return True

    def weights(self, key: str, kind: str, own: Tensor, over: int) -> Tensor:
        self.made[key] = _Seen(kind, own.shape, over % max(own.ndim, 1))
        return own

    def returned(self, path: str, found: Any) -> Any:
        key = self.use(path, "weights given")
        each = enumerate(found) if isinstance(found, tuple | list) else [(None, found)]
        for place, part in each:
            if isinstance(part, Tensor) and not any(part is other for other in self.kept):
                for over in _sums_to_one(part, self.tokens.shape[1]):
                    self.given[key] = _Seen(OUTPUT, part.shape, over, place)
                    self.kept.append(part)
        return found


def _sums_to_one(part: Tensor, tokens: int) -> Iterator[int]:
    """The last axis as long as the text over which the tensor sums to 1, if there is one."""
    if not part.is_floating_point() or part.ndim < 2 or bool((part < 0).any()):
        return
    for axis in reversed(range(1, part.ndim)):
        if part.shape[axis] == tokens and torch.allclose(sums := part.sum(axis), torch.ones_like(sums), atol=1e-4):
            yield axis
            return


def find_attention(
    module: nn.Module,
    call: Callable[[Tensor], Any],
    passes: tuple[Tensor, Tensor],
    said: Said,
    *,
    name: str,
) -> tuple[Place, ...]:
    """The places the user named, or the only kind found; in forward order, so that the last is the read-out."""
    first, second = (_look(module, call, tokens) for tokens in passes)
    made = _places(first.made, second.made, passes)
    given = _places(first.given, second.given, passes)
    if said is None:
        return _only_kind(module, made or given, first, second, name)
    wanted = said if isinstance(said, Mapping) else dict.fromkeys([said] if isinstance(said, str) else said, "")
    known = {path for path, _ in module.named_modules()}
    chosen: list[Place] = []
    for path, words in wanted.items():
        if path.partition("@")[0] not in known:
            raise BadInput(f"{name} has no module {path!r}. Attention weights were found at: {_listed(made or given)}.")
        axes = Axes.parse(words) if words else None
        inside = [place for seen in (first.made, first.given) for place in _under(path, seen, made + given, axes)]
        if not inside:
            _require_keys_are_tokens(first, second, name)
            raise BadInput(
                f"heatcheck saw no attention weights in {path!r} of {name}. It sees softmax over tokens, "
                "scaled_dot_product_attention, nn.MultiheadAttention and weights that a module returns. Weights "
                f"were found at: {_listed(made or given)}."
            )
        functions = [place for place in inside if place.kind != OUTPUT]
        chosen += functions or inside
    order = [*first.made, *first.given]
    return tuple(sorted(chosen, key=lambda place: order.index(place.path)))


def _require_keys_are_tokens(first: Look, second: Look, name: str) -> None:
    """Refuse weights that cover the text plus a few keys more in both passes: the module adds tokens itself."""
    for path, one in first.made.items():
        other = second.made.get(path)
        if other is None or one.over >= len(one.shape) or len(one.shape) != len(other.shape):
            continue
        keys, tokens = one.shape[one.over], first.tokens.shape[1]
        added = keys - tokens
        if added > 0 and added == other.shape[other.over] - second.tokens.shape[1]:
            raise NotSupported(
                f"{name} attends to {keys} keys but gets {tokens} token ids (at {path!r}): it adds {added} of its "
                "own, such as [CLS]. Give that token a row of the embedding, let the tokenizer add it as the pair "
                "(id, -1), and remove it from forward."
            )


def _look(module: nn.Module, call: Callable[[Tensor], Any], tokens: Tensor) -> Look:
    look = Look(tokens)
    with torch.no_grad(), Interception(module).passing(look):
        call(tokens)
    return look


def _places(first: Mapping[str, _Seen], second: Mapping[str, _Seen], passes: tuple[Tensor, Tensor]) -> list[Place]:
    found = []
    for path, one in first.items():
        other = second.get(path)
        if other is None or other.taken != one.taken:
            continue
        sizes = [(passes[0].shape[axis], passes[1].shape[axis]) for axis in (0, 1)]
        axes = axes_of((one.shape, other.shape), one.over, sizes[0], sizes[1])
        if axes is not None:
            found.append(Place(path, path, one.kind, axes, one.taken))
    return found


def _only_kind(module: nn.Module, found: list[Place], first: Look, second: Look, name: str) -> tuple[Place, ...]:
    """Everything found, if it is one attention, or the same attention in each of several layers."""
    if not found:
        _require_keys_are_tokens(first, second, name)
        shapes = ", ".join(f"{tuple(seen.shape)} at {path!r}" for path, seen in first.made.items())
        beside = f" (weights that are not over tokens: {shapes})" if shapes else ""
        raise NotSupported(
            f"heatcheck saw no attention weights in {name}{beside}. For a module that returns its weights, say "
            f"attention={{'path': 'axes'}}."
        )
    if first.made.keys() != second.made.keys():
        changing = sorted(first.made.keys() ^ second.made.keys())[0].partition("@")[0]
        raise NotSupported(
            f"{changing or name!r} computes weights token by token in a loop. heatcheck can read only weights that "
            "are computed equally often for every text."
        )
    kinds = {(type(module.get_submodule(place.path.partition("@")[0])), place.kind, place.axes) for place in found}
    if len(kinds) > 1:
        raise BadInput(
            f"{name} computes several kinds of weights. Choose with attention=: one path, or several in order, the "
            f"read-out last. Found: {_listed(found)}."
        )
    return tuple(found)


def _under(path: str, seen: Mapping[str, _Seen], found: Sequence[Place], axes: Axes | None) -> list[Place]:
    """The places at or below a path; with axes from the user, also those whose axes heatcheck could not tell."""
    keys = [key for key in seen if key == path or key.startswith(f"{path}.") or (not path) or _same(key, path)]
    by_path = {(place.path, place.kind): place for place in found}
    chosen = []
    for key in keys:
        one = seen[key]
        if axes is not None and len(axes.names) == len(one.shape):
            chosen.append(Place(key, key, one.kind, axes, one.taken))
        elif axes is None and (key, one.kind) in by_path:
            chosen.append(by_path[key, one.kind])
    if len(chosen) == 1:
        only = chosen[0]
        return [Place(only.path, path, only.kind, only.axes, only.taken)]
    return chosen


def _same(key: str, path: str) -> bool:
    return key.partition("@")[0] == path


def _listed(found: Sequence[Place]) -> str:
    return ", ".join(map(str, found)) or "none"
