"""`known:induction_lm`: a language model of three heads, written by hand, that continues what it has seen before."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import BadInput
from heatcheck.models.contract.encoding import pad
from heatcheck.models.contract.opened import Ends, Factors, Stream, as_decisions
from heatcheck.models.contract.subject import NO_EDITS, Edits, Run, Site, Tap, Want
from heatcheck.models.contract.weights import softmax_within

BOS, WORDS, PLACES = 0, 32, 128
SIZE = 3 * WORDS + PLACES + 1
TOKEN, PREVIOUS, ANSWER = (slice(part * WORDS, (part + 1) * WORDS) for part in range(3))
PLACE, ONE = slice(3 * WORDS, SIZE - 1), SIZE - 1
SHARP = 40.0  # the score of a key that is asked for, above all others
LOUD = 10.0  # the logit of the answer
UNDECIDED = -100


class InductionLM:
    """A previous-token head, an induction head, and a third head that shows the same map and does nothing.

    A state is [token | previous token | answer | position | 1], each part one-hot or 0. Each layer has one head, and
    adds to the states; there is no norm and no MLP.

    1. The head of layer 1 asks for the position before its own. That key's score is 40 and all others' are 0, so at
       least 1 − 127 e⁻⁴⁰ of the weight is on the token before. It writes that token into *previous*.
    2. The head of layer 2 asks for keys whose *previous* is its own token. So where the token stood before, all weight
       but 127 e⁻⁴⁰ is on what followed it: with a BOS its prefix matching is 1. It writes the attended token into
       *answer*, which alone makes logits. So it copies (+1), and a repeated text is continued from its second copy on.
    3. The head of layer 3 reads what the head of layer 2 reads, which that did not change: both maps are the same. Its
       W_O is 0, so no weights there can change an answer.

    Layer 1 writes into *previous*, which the keys of layer 2 read, and its queries and values do not. Both maps are the
    identity of 32 tokens, so the composition of layer 1 into the keys of layer 2 is 32^½ / 32 = 0.177, and 0 into
    its queries and values. Random heads have 225^−½ = 0.067.

    Token 0 is BOS; a text is words such as `t1 t31`. The model computes in float64.
    """

    id = "induction_lm"
    recipe = None
    labels = ("another token", "the next token")
    sites = tuple(Site("attention", f"layer.{layer}") for layer in range(3))
    blocks = tuple(Site("state", f"layer.{layer}") for layer in range(3))
    heads = (1, 1, 1)
    first_id = BOS

    def __init__(self) -> None:
        self.device = torch.device("cpu")

    def ordinary_ids(self) -> list[int]:
        return list(range(1, WORDS))

    def encode(self, examples: Sequence[Example]) -> Batch:
        known = {f"t{number}": number for number in range(1, WORDS)}
        for example in examples:
            wrong = next((word for word in example.words if word not in known), None)
            if wrong is not None or not example.words:
                raise BadInput(f"example {example.id}: {self.id} reads the words t1 to t{WORDS - 1}, not {wrong!r}.")
        batch = self.encode_ids([[known[word] for word in example.words] for example in examples], bos=True)
        gold = torch.where(batch.valid[:, 1:], 1, UNDECIDED)
        return Batch(tuple(e.id for e in examples), batch.inputs, batch.valid, batch.scored, batch.word, gold, {})

    def encode_ids(self, ids: Sequence[Sequence[Any]], *, bos: bool) -> Batch:
        """A batch of token ids as they are given; with `bos`, 0 goes first where it does not stand already."""
        rows = [[BOS, *row] if bos and list(row[:1]) != [BOS] else list(row) for row in ids]
        for number, row in enumerate(rows):
            if not 0 < len(row) <= PLACES or not all(0 <= one < WORDS for one in row):
                raise BadInput(
                    f"list {number}: {self.id} reads 1 to {PLACES} tokens with ids from 0 to {WORDS - 1}. Change it."
                )
        tokens = pad(rows, BOS, self.device)
        valid = pad([[1] * len(row) for row in rows], 0, self.device).bool()
        scored = valid & (tokens != BOS)
        word = torch.where(scored, scored.cumsum(1) - 1, -1)
        return Batch(tuple(map(str, range(len(rows)))), {"input_ids": tokens}, valid, scored, word, None, {})

    def rows(self, batch: Batch) -> Int[Tensor, " example"]:
        """The last token of each text."""
        return batch.valid.sum(1) - 1

    def run(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Want = ()) -> Run:
        tap = Tap(edits, want)
        logs = self._logits(batch, tap)[:, :-1].log_softmax(-1)
        logs = logs.gather(-1, batch.inputs["input_ids"][:, 1:, None])[..., 0]
        return tap.run(as_decisions(logs), torch.arange(logs.shape[1]).expand(logs.shape))

    def factors(self, layer: int) -> Factors:
        return self._heads[layer]

    def ends(self) -> Ends:
        return Ends(_one_hot(TOKEN, WORDS).T, LOUD * _one_hot(ANSWER, WORDS).T, torch.zeros(WORDS).double())

    @torch.no_grad()
    def stream(self, batch: Batch, rows: Int[Tensor, " example"]) -> Stream:
        examples = torch.arange(len(batch))
        contexts = [Site("context", site.where) for site in self.sites]
        tap = Tap(NO_EDITS, [Site("embedding"), *contexts])
        logits = self._logits(batch, tap)[examples, rows]
        written = [
            tap.parts[context][examples, 0, rows] @ head.output[0]
            for context, head in zip(contexts, self._heads, strict=True)
        ]
        parts = torch.stack([tap.parts[Site("embedding")][examples, rows], *written], dim=1)
        names = ("embedding", *(f"head {layer + 1}.1" for layer in range(3)))
        return Stream(names, parts, torch.ones(len(batch), 1).double(), logits)

    @cached_property
    def _heads(self) -> tuple[Factors, ...]:
        own, before, answer = (_one_hot(part, WORDS) for part in (TOKEN, PREVIOUS, ANSWER))
        place, asked = _one_hot(PLACE, PLACES), _one_hot(PLACE, PLACES).roll(-1, 1)
        asked[PLACE.start] = 0  # nothing stands before the first
        return (
            _head(asked, place, own, before),
            _head(own, before, own, answer),
            _head(own, before, own, 0 * answer),
        )

    def _logits(self, batch: Batch, tap: Tap) -> Float[Tensor, "example token word"]:
        ids, tokens = batch.inputs["input_ids"], batch.valid.shape[1]
        states = torch.zeros(*ids.shape, SIZE, dtype=torch.float64)
        states[..., TOKEN] = torch.nn.functional.one_hot(ids, WORDS).double()
        states[..., PLACE] = torch.eye(PLACES, dtype=torch.float64)[:tokens]
        states[..., ONE] = 1
        states = tap(Site("embedding"), states)
        allowed = batch.valid[:, None, :] & torch.ones(tokens, tokens, dtype=torch.bool).tril()
        for site, head in zip(self.sites, self._heads, strict=True):
            where = site.where
            states = tap(Site("input", where), states)
            scores = (states[:, None] @ head.query) @ (states[:, None] @ head.key).mT / head.key.shape[-1] ** 0.5
            scores = tap(Site("score", where), scores.masked_fill(~allowed[:, None], -torch.inf))
            weights = tap(site, softmax_within(scores, allowed))
            values = tap(Site("value", where), states[:, None] @ head.value)
            context = tap(Site("context", where), weights.to(values.dtype) @ values)
            states = tap(Site("state", where), states + (context @ head.output).sum(1))
        return states @ self.ends().unembedding.T


def _one_hot(part: slice, many: int) -> Float[Tensor, "size item"]:
    """Reads a part of the state as it is."""
    found = torch.zeros(SIZE, many, dtype=torch.float64)
    found[part] = torch.eye(many, dtype=torch.float64)
    return found


def _head(asks: Tensor, asked: Tensor, reads: Tensor, writes: Tensor) -> Factors:
    """One head; a key that is what the query asks for has the score SHARP."""
    return Factors(SHARP * asks.shape[-1] ** 0.5 * asks[None], asked[None], reads[None], writes.T[None])
