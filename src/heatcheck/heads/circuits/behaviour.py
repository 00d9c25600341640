"""What the heads of a language model do on repeated random tokens: where they look, and which tokens they raise.

Everything is summed where it is made; no map is kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.heads.circuits.matching import follows_a_copy, in_context_score, is_a_copy, repeated
from heatcheck.heads.circuits.texts import Ids, in_batches, loss_by_token
from heatcheck.heads.looking import Looked, Place
from heatcheck.heads.roles import Role, Rule, by_rules
from heatcheck.models import Site
from heatcheck.models.contract.memory import in_memory
from heatcheck.models.contract.opened import OpensItsHeads

PREFIX, PREVIOUS, DUPLICATE, SINK = "prefix matching", "previous token", "duplicate token", "sink"
COPYING, OTHER = "copying", "copying of another token"
MEASURES = (PREFIX, PREVIOUS, DUPLICATE, SINK, COPYING, OTHER)
IN_WEIGHTS = 4  # of them are of the weights alone
SHIFT = 7  # the other token that copying is compared with stands so many places on

RULES = (
    Rule("induction", PREFIX, 0.3, "of the weight lies on what followed earlier copies of the token"),
    Rule("previous token", PREVIOUS, 0.3, "of the weight lies on the token before"),
    Rule("duplicate token", DUPLICATE, 0.3, "of the weight lies on earlier copies of the token"),
)

Weights = Float[Tensor, "example head query key"]


@dataclass(frozen=True)
class Behaviour:
    """What heads do on repeated random tokens, and what the model makes of these."""

    looked: Looked
    losses: Float[np.ndarray, "example token"]  # in nats, on each token but the first
    length: int  # of a segment

    @property
    def roles(self) -> dict[Place, list[Role]]:
        """Induction, previous-token and duplicate-token heads: those whose whole interval is above the threshold."""
        return by_rules(self.looked, RULES)

    def with_role(self, role: str) -> list[Place]:
        """The heads that surely have a role, the largest value first."""
        found = {place: one for place, roles in self.roles.items() for one in roles if one.role == role}
        return sorted(found, key=lambda place: -found[place].value)

    def loss_of_copy(self, copy: int) -> Float[np.ndarray, " example"]:
        """The mean loss on one copy of the segment, counted from 1."""
        return np.asarray(self.losses[:, (copy - 1) * self.length : copy * self.length].mean(1))

    @property
    def copies(self) -> int:
        return int(self.losses.shape[1]) // self.length

    @property
    def in_context(self) -> Float[np.ndarray, " example"]:
        """The in-context-learning score of each text, in nats; more negative: context helps more."""
        return in_context_score(torch.from_numpy(self.losses)).numpy()


def behave(subject: OpensItsHeads, texts: Sequence[Ids], length: int, *, seed: int = 0) -> Behaviour:
    """Read the texts once, and add up what each head does on tokens that stood before.

    Args:
        texts: ids of repeated segments, of one length in all, BOS first.
        length: tokens of a segment.
        seed: decides the resamples of the intervals.
    """
    unembedding = subject.ends().unembedding
    mean = unembedding.mean(0)
    outputs = [subject.factors(layer).output for layer in range(len(subject.sites))]

    @torch.inference_mode()
    def read(places: list[int]) -> tuple[list[Tensor], Tensor, Tensor]:
        batch = subject.encode_ids([texts[place] for place in places], bos=False)
        ids = batch.inputs["input_ids"]
        towards = [unembedding[one] - mean for one in (ids, _shifted(ids, length))]
        want: dict[Site, Callable[[Tensor], Tensor]] = {}
        for site, output in zip(subject.sites, outputs, strict=True):
            want[site] = _of_weights(batch)
            want[Site("value", site.where)] = _raised(output, towards)
        run = subject.run(batch, want=want)
        found = [_joined(run.parts[site], run.parts[Site("value", site.where)]) for site in subject.sites]
        return found, _of_weights(batch)(_even(batch))[:, 0, : 2 * IN_WEIGHTS], loss_by_token(run)

    parts = [found for _, found in in_memory(in_batches(subject, texts), read)]
    counted = [layer.shape[1] for layer in parts[0][0]]
    sums = np.concatenate([torch.cat([layer.cpu() for layer in layers], 1).numpy() for layers, _, _ in parts])
    even = np.concatenate([one.cpu().double().numpy() for _, one, _ in parts]).reshape(len(texts), IN_WEIGHTS, 2)
    looked = Looked(
        places=tuple(Place(layer + 1, head + 1) for layer, many in enumerate(counted) for head in range(many)),
        examples=tuple(f"repeated-{number}" for number in range(len(texts))),
        measures=MEASURES,
        sums=sums,
        uniform=np.concatenate([even, np.tile([0.0, 1.0], (len(texts), len(MEASURES) - IN_WEIGHTS, 1))], axis=1),
        causal=True,
        seed=seed,
    )
    return Behaviour(looked, np.concatenate([loss.cpu().numpy() for *_, loss in parts]), length)


def _of_weights(batch: Batch) -> Callable[[Weights], Float[Tensor, "example head column"]]:
    """Numerators and denominators of what is said of weights alone; then how much each key receives."""
    ids = batch.inputs["input_ids"]
    queries = repeated(ids) & batch.valid
    place = torch.arange(ids.shape[1], device=ids.device)
    before = (place[:, None] - place == 1).expand(*ids.shape, -1)
    first = (place == 0).expand(*ids.shape, -1)
    looks = ((follows_a_copy(ids), queries), (before, queries), (is_a_copy(ids), queries))
    all_looks = (*looks, (first, batch.valid & (place > 0)))

    def reduce(weights: Weights) -> Float[Tensor, "example head column"]:
        own = weights.double()
        columns = []
        for keys, chosen in all_looks:
            columns.append(((own * keys[:, None]).sum(-1) * chosen[:, None]).sum(-1))
            columns.append(chosen.sum(-1)[:, None].double().expand(own.shape[:2]))
        received = torch.einsum("ehqk,eq->ehk", own, queries.double())
        received[..., 0] = 0  # BOS is no token of the text
        return torch.cat([torch.stack(columns, -1), received], dim=-1)

    return reduce


def _raised(
    output: Float[Tensor, "head feature size"], towards: Sequence[Float[Tensor, "example key size"]]
) -> Callable[[Tensor], Tensor]:
    """How much what each key says raises logits: its own token's, and another one's; above the mean over all tokens.

    The final norm's scale is left out: it is a row's own, and changes no sign.
    """

    def reduce(values: Float[Tensor, "example head key feature"]) -> Float[Tensor, "example head key 2"]:
        own = values.repeat_interleave(len(output) // values.shape[1], 1)
        written = torch.einsum("ehkf,hfs->ehks", own, output)
        return torch.stack([torch.einsum("ehks,eks->ehk", written, one).double() for one in towards], -1)

    return reduce


def _shifted(ids: Int[Tensor, "example token"], length: int) -> Int[Tensor, "example token"]:
    """For each token another one of its segment; BOS stays."""
    place = torch.arange(ids.shape[1] - 1, device=ids.device)
    other = 1 + place // length * length + (place % length + SHIFT) % length
    return torch.cat([ids[:, :1], ids[:, other]], dim=1)


def _joined(
    weighed: Float[Tensor, "example head column"], raised: Float[Tensor, "example head key 2"]
) -> Float[Tensor, "example head row 2"]:
    """All measures as numerators and denominators. Copying: mass that raises less mass that lowers, over both."""
    sums = weighed[..., : 2 * IN_WEIGHTS].reshape(*weighed.shape[:-1], IN_WEIGHTS, 2)
    moved = weighed[..., 2 * IN_WEIGHTS :, None] * raised
    copying = torch.stack([moved.sum(-2), moved.abs().sum(-2)], -1)
    return torch.cat([sums, copying], dim=-2)


def _even(batch: Batch) -> Weights:
    """Equal weights on all tokens up to the query's own."""
    seen: Bool[Tensor, "token token"] = torch.ones_like(batch.valid[0])[:, None].expand(-1, batch.valid.shape[1]).tril()
    return (seen / seen.sum(-1, keepdim=True))[None, None].expand(len(batch), -1, -1, -1)
