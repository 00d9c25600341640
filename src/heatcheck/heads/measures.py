"""What a head looks at, as sums over one batch: they run where the weights are made, and no map is kept.

Each measure is a numerator and a denominator per example and head. Over a corpus it is the ratio of their sums.
Definitions: docs/heads.md. Sources: Clark et al. 2019, Voita et al. 2019, Vig & Belinkov 2019, Kovaleva et al. 2019,
Gu et al. 2024 (sinks).
"""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck.heads.scene import Scene

OFFSETS = (-3, -2, -1, 0, 1, 2, 3)
CORNER = 10  # first positions, whose weights are compared between texts (Vig & Belinkov)
SMOOTH = 1e-4  # Clark et al. mix so much of uniform weights in before they take a logarithm

Maps = Float[Tensor, "example head query key"]
Sums = tuple[Tensor, Tensor]  # numerator and denominator, each [example head] or [example 1]


def names() -> tuple[str, ...]:
    """The measures, in the order of their columns."""
    return (
        *(f"mass at {offset:+d}" for offset in OFFSETS),
        *(f"top at {offset:+d}" for offset in OFFSETS),
        "sink",
        "special",
        "punctuation",
        "entropy",
        "reader entropy",
        "confidence",
        "distance",
        "rare word",
        "column",
        "diagonal",
        "within segment",
    )


def measure(weights: Maps, scene: Scene) -> Float[Tensor, "example head column 2"]:
    """All measures of these weights: numerators and denominators."""
    weights = weights.float() * scene.queries[:, None, :, None]
    size = weights.shape[:2]
    return torch.stack([torch.stack([part.expand(size) for part in sums], -1) for sums in _each(weights, scene)], -2)


def corner(weights: Maps, scene: Scene) -> Float[Tensor, "example head column"]:
    """The weights among the first positions, row after row; NaN for a shorter text."""
    found = weights.new_full((*weights.shape[:2], CORNER * CORNER), torch.nan, dtype=torch.float32)
    if weights.shape[-1] < CORNER:
        return found
    long = scene.seen[:, CORNER - 1, CORNER - 1]
    found[long] = weights[long, :, :CORNER, :CORNER].float().flatten(2)
    return found


def top_share(weights: Maps, among: Bool[Tensor, "example query key"]) -> Maps:
    """1 at the largest weight of each query among these keys; keys that share the first place share the 1."""
    shown = weights.masked_fill(~among[:, None], -1.0)
    best = (shown == shown.amax(-1, keepdim=True)) & among[:, None]
    return best / best.sum(-1, keepdim=True).clamp(min=1)


def of_words(weights: Maps, words: Float[Tensor, "example word token"]) -> Float[Tensor, "example head word word"]:
    """Weights between words: the sum over a key's pieces, the mean over a query's."""
    to_words = torch.einsum("ehqk,ewk->ehqw", weights.float(), (words > 0).float())
    return torch.einsum("ehqw,evq->ehvw", to_words, words)


def _each(weights: Maps, scene: Scene) -> Iterator[Sums]:
    queries, seen = scene.queries, scene.seen & scene.queries[:, :, None]
    count = queries.sum(-1)[:, None].float()
    best = top_share(weights, seen)
    pairs = {offset: seen.diagonal(offset, 1, 2) for offset in OFFSETS}
    for chosen in (weights, best):
        for offset in OFFSETS:
            yield _along(chosen, pairs[offset], offset), pairs[offset].sum(-1)[:, None].float()
    first = seen[:, :, 0]
    yield (weights[..., 0] * first[:, None]).sum(-1), first.sum(-1)[:, None].float()
    received = weights.sum(2)  # [example head key]
    yield (received * scene.special[:, None]).sum(-1), count
    yield (received * scene.punctuation[:, None]).sum(-1), count
    entropy = _entropy(weights, seen)
    yield (entropy * queries[:, None]).sum(-1), count
    row = scene.reader[:, None, None].expand(-1, weights.shape[1], 1)
    reads = queries.gather(1, scene.reader[:, None]).float()
    yield entropy.gather(-1, row)[..., 0] * reads, reads
    # Without the sink: the first token, and what the tokenizer adds.
    plain = ~scene.special
    plain[:, 0] = False
    kept = weights * plain[:, None, None]
    yield kept.amax(-1).sum(-1), count
    place = torch.arange(weights.shape[-1], device=weights.device)
    apart = (place[:, None] - place).abs().to(kept.dtype)
    yield torch.einsum("ehqk,qk->eh", kept, apart), kept.sum((-1, -2))
    yield _rare(weights, scene)
    yield received.amax(-1), count
    near = sum(_along(weights, pairs[offset], offset) for offset in (-1, 0, 1))
    assert isinstance(near, Tensor)
    yield near, count
    yield _within(weights, scene)


def _along(chosen: Maps, pairs: Bool[Tensor, "example item"], offset: int) -> Float[Tensor, "example head"]:
    return (chosen.diagonal(offset, -2, -1) * pairs[:, None]).sum(-1)


def _entropy(weights: Maps, seen: Bool[Tensor, "example query key"]) -> Float[Tensor, "example head query"]:
    """In nats, with a little of uniform weights mixed in."""
    share = SMOOTH / seen.sum(-1, keepdim=True).clamp(min=1)
    mixed = (1 - SMOOTH) * weights + share[:, None]
    return -torch.where(seen[:, None], mixed * mixed.clamp(min=1e-30).log(), 0.0).sum(-1)


def _rare(weights: Maps, scene: Scene) -> Sums:
    """How often a word looks most at the rarest word that it sees."""
    best = top_share(of_words(weights, scene.words), scene.candidates)
    asking = scene.candidates.sum(-1) > 1
    return (best * (scene.rarest & asking[..., None])[:, None]).sum((-1, -2)), asking.sum(-1)[:, None].float()


def _within(weights: Maps, scene: Scene) -> Sums:
    """The mass within a query's own text, of pairs of texts."""
    if scene.segment is None:
        none = weights.new_zeros(len(weights), 1)
        return none, none
    same = scene.segment[:, :, None] == scene.segment[:, None, :]
    return (weights * same[:, None]).sum((-1, -2)), scene.queries.sum(-1)[:, None].float()
