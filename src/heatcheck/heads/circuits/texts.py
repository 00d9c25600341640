"""Texts of random tokens that stand several times over: what a model can know of them it can only copy."""

import math
from collections.abc import Iterator, Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.engine import stream
from heatcheck.errors import NotSupported
from heatcheck.models import NO_EDITS, Edits, Run, Site
from heatcheck.models.contract.lengths import COPIES, CountsTokens
from heatcheck.models.contract.opened import OpensItsHeads
from heatcheck.models.contract.subject import Want

LENGTH, TIMES = 25, 4  # tokens of a segment, and how often it stands
LEFT_OUT = 0.04  # of the vocabulary at either end: the commonest and the rarest tokens
UNDECIDED = -100
Ids = list[int]


def draw_repeats(
    subject: OpensItsHeads, texts: int, what_for: str, *, length: int = LENGTH, times: int = TIMES, seed: int = 0
) -> list[Ids]:
    """Random texts: BOS, then a segment of different random tokens, so many times over.

    Args:
        what_for: texts for another purpose are other texts.
    """
    ids, first = subject.ordinary_ids(), subject.first_id
    edge = math.ceil(LEFT_OUT * len(ids))
    ids = ids[edge : len(ids) - edge]
    if first is None:
        raise NotSupported(f"{subject.id} has no BOS, and its previous-token heads need something before each text.")
    if len(ids) < length:
        raise NotSupported(f"{subject.id} knows {len(ids)} tokens for random texts; {length} are needed.")
    drawn = (stream(seed, "circuits", what_for, number) for number in range(texts))
    return [[first, *times * [ids[at] for at in one.choice(len(ids), length, replace=False)]] for one in drawn]


def in_batches(subject: OpensItsHeads, texts: Sequence[Ids]) -> Iterator[list[int]]:
    """The places of texts of one length, as many together as the model reads well."""
    size = max(1, subject.tokens_at_once // len(texts[0])) if isinstance(subject, CountsTokens) else COPIES
    for start in range(0, len(texts), size):
        yield list(range(start, min(start + size, len(texts))))


class ReadsIds:
    """A language model that reads texts given as token ids; it decides on the tokens that stood before.

    So its loss is the loss on the second and later copies.
    """

    recipe = None

    def __init__(self, subject: OpensItsHeads, texts: Mapping[str, Ids], length: int) -> None:
        self.subject, self.texts, self.length = subject, texts, length
        self.tokens_at_once = getattr(subject, "tokens_at_once", COPIES * len(next(iter(texts.values()))))

    @property
    def id(self) -> str:
        return self.subject.id

    @property
    def sites(self) -> tuple[Site, ...]:
        return self.subject.sites

    @property
    def blocks(self) -> tuple[Site, ...]:
        return self.subject.blocks

    def lengths(self, examples: Sequence[Example]) -> list[int]:
        return [len(self.texts[example.id]) for example in examples]

    def encode(self, examples: Sequence[Example]) -> Batch:
        batch = self.subject.encode_ids([self.texts[example.id] for example in examples], bos=False)
        gold = torch.full_like(batch.inputs["input_ids"][:, 1:], UNDECIDED)
        gold[:, self.length :] = 1
        return Batch(
            tuple(e.id for e in examples), batch.inputs, batch.valid, batch.scored, batch.word, gold, batch.marks
        )

    def rows(self, batch: Batch) -> Int[Tensor, " example"]:
        return self.subject.rows(batch)

    def run(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Want = ()) -> Run:
        return self.subject.run(batch, edits=edits, want=want)


def as_examples(
    subject: OpensItsHeads, texts: Sequence[Ids], name: str, *, length: int = LENGTH
) -> tuple[ReadsIds, list[Example]]:
    """Texts of ids as examples, and the model that reads them so."""
    named = {f"{name}-{number}": ids for number, ids in enumerate(texts)}
    return ReadsIds(subject, named, length), [Example(one, one) for one in named]


def loss_by_token(run: Run) -> Float[Tensor, "example token"]:
    """The loss on each token but the first, in nats."""
    return -run.logits.double().log_softmax(-1)[..., 1]
