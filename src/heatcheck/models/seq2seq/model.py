"""A small sequence-to-sequence model with attention: it generates one text from another, one decision per step."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.data import Batch, Example, Seen, Vocabulary
from heatcheck.data.vocabulary import END, PAD, START
from heatcheck.errors import BadInput, UnknownName
from heatcheck.models.contract.encoding import marks_of, pad
from heatcheck.models.contract.recipe import Recipe
from heatcheck.models.contract.subject import NO_EDITS, Edits, Run, Site, Want
from heatcheck.models.seq2seq.cross_attention import CROSS_ATTENTIONS
from heatcheck.models.seq2seq.decoders import CELLS, DECODERS, Decoder, State
from heatcheck.models.seq2seq.steps import SteppedTap

KIND = "seq2seq"  # what a recipe and a folder call it
NOT_DECIDED = -100  # gold after the end of a target


@dataclass(frozen=True)
class Seq2SeqSettings:
    """Settings that determine the architecture of a sequence-to-sequence model."""

    cell: str = "gru"
    decoder: str = "bahdanau"
    attention: str = "additive"
    heads: int = 1
    embedding: int = 128
    hidden: int = 128  # of the decoder; of the encoder, a direction
    bidirectional: bool = True
    shared_embedding: bool = False  # one vocabulary and one table for both texts
    start_mark: bool = True  # the source begins with a mark, which may be attended to; it always ends with one
    dropout: float = 0.0  # on embeddings
    teacher_forcing: float = 1.0  # share of steps that are told the right last word in training, else their own
    weight_scale: float = 0.0  # spread of normal starting weights, with biases 0; 0 = as torch starts them

    def __post_init__(self) -> None:
        for kind, name, known in (
            ("cell", self.cell, CELLS),
            ("decoder", self.decoder, DECODERS),
            ("attention of a decoder", self.attention, CROSS_ATTENTIONS),
        ):
            if name not in known:
                raise UnknownName(kind, name, known)
        for name, most in (("heads", 1000), ("embedding", 100_000), ("hidden", 100_000)):
            if not 1 <= getattr(self, name) <= most:
                raise BadInput(f"{name} must lie between 1 and {most:,}, not {getattr(self, name)}.")
        if not 0 <= self.dropout < 1:
            raise BadInput(f"dropout must be at least 0 and below 1, not {self.dropout}.")
        if not 0 <= self.teacher_forcing <= 1:
            raise BadInput(f"teacher_forcing must lie between 0 and 1, not {self.teacher_forcing}.")
        if not 0 <= self.weight_scale < math.inf:
            raise BadInput(f"weight_scale must be at least 0, not {self.weight_scale}.")

    def facts(self) -> dict[str, Any]:
        """The settings as a recipe stores them."""
        return {"kind": KIND, **asdict(self)}


class Seq2Seq(nn.Module):
    """Encoder, attention, decoder. `run` gives each step the correct previous word; `generate` gives it its own.

    Weights at the one attention site are [example head step source]. The decoder starts from the encoder's last state,
    which no edit of attention or states changes: even with all weight on one position it still knows something.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        target_vocabulary: Vocabulary,
        settings: Seq2SeqSettings,
        *,
        recipe: Recipe | None = None,
    ) -> None:
        super().__init__()
        if settings.shared_embedding and vocabulary != target_vocabulary:
            raise BadInput("shared_embedding=true needs one vocabulary for both texts.")
        self.vocabulary = vocabulary
        self.target_vocabulary = target_vocabulary
        self.labels = target_vocabulary.tokens
        self.settings = settings
        self.recipe = recipe
        self.seen: Seen | None = None
        self.called = ""
        features, hidden, both = settings.embedding, settings.hidden, settings.bidirectional
        self.embed = nn.Embedding(len(vocabulary), features, padding_idx=PAD)
        self.embed_target = None if settings.shared_embedding else nn.Embedding(len(self.labels), features, PAD)
        self.dropout = nn.Dropout(settings.dropout)
        self.reader = CELLS[settings.cell](features, hidden, batch_first=True, bidirectional=both)
        width = 2 * hidden if both else hidden
        parts = 2 if settings.cell == "lstm" else 1
        # From the last states of both directions to the first of the decoder: of an LSTM, its cell's too.
        self.bridge = nn.ModuleList(nn.Linear(width, hidden) for _ in range(parts)) if both else None
        self.attention = CROSS_ATTENTIONS[settings.attention](hidden, width, settings.heads)
        # The name of its parameters in folders that are asked, so it stays.
        self.writer: Decoder = DECODERS[settings.decoder](settings.cell, features, hidden, settings.heads * width)
        self.output = nn.Linear(self.writer.size, len(self.labels))
        if settings.weight_scale:
            self._start_normally(settings.weight_scale)

    def _start_normally(self, scale: float) -> None:
        for name, parameter in self.named_parameters():
            nn.init.zeros_(parameter) if "bias" in name else nn.init.normal_(parameter, std=scale)
        with torch.no_grad():
            for table in (self.embed, self.embed_target):
                if table is not None:
                    table.weight[PAD] = 0

    @property
    def id(self) -> str:
        return self.recipe.id if self.recipe else "unnamed"

    @property
    def device(self) -> torch.device:
        return self.output.weight.device

    @property
    def sites(self) -> tuple[Site, ...]:
        return (Site("attention"),)

    def readable(self, batch: Batch) -> Bool[Tensor, "example key"]:
        """The source tokens that may be attended to, start and end marks included."""
        return batch.valid

    def encode(self, examples: Sequence[Example]) -> Batch:
        sources = [self.vocabulary.look_up(example.masked_text) for example in examples]
        targets = [self.target_vocabulary.look_up(_target(example)) for example in examples]
        for example, (numbers, _) in zip(examples, sources, strict=True):
            if not numbers:
                raise BadInput(f"example {example.id}: its text has no token. Remove the example or give it a text.")
        before, beside = ([START], [-1]) if self.settings.start_mark else ([], [])
        tokens = pad([[*before, *numbers, END] for numbers, _ in sources], PAD, self.device)
        word = pad([[*beside, *words, -1] for _, words in sources], -1, self.device)
        written = pad([[*words, -1] for _, words in targets], -1, self.device)
        return Batch(
            ids=tuple(example.id for example in examples),
            inputs={"tokens": tokens, "said": pad([[START, *numbers] for numbers, _ in targets], PAD, self.device)},
            valid=tokens != PAD,
            scored=word >= 0,
            word=word,
            gold=pad([[*numbers, END] for numbers, _ in targets], NOT_DECIDED, self.device),
            marks=marks_of(examples, word),
            aligned=aligned_tokens(examples, word, written),
        )

    def run(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Want = ()) -> Run:
        """Run with teacher forcing: each step gets the correct previous word (in training, a share of them does)."""
        steps = batch.inputs["said"].shape[1]
        tap = SteppedTap(edits, want, steps)
        if self.training and self.settings.teacher_forcing < 1:
            told = (torch.rand(steps) < self.settings.teacher_forcing).tolist()
            return self._step_by_step(batch, tap, told)
        return self._at_once(batch, tap) if self.writer.at_once else self._step_by_step(batch, tap, [True] * steps)

    def generate(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Want = ()) -> Run:
        """Run freely: each step reads the likeliest word of the previous one; as many steps as the targets have.

        The generated words are `run.logits.argmax(-1)`, up to the first end mark.
        """
        steps = batch.inputs["said"].shape[1]
        return self._step_by_step(batch, SteppedTap(edits, want, steps), [False] * steps)

    @torch.no_grad()
    def step_relevance(self, batch: Batch, *, edits: Edits = NO_EDITS) -> Float[Tensor, "example decision token"]:
        """log P(correct word at this step | the context is exactly this token's state), all else equal (Snell et al.).

        Zero at padding and after the end. If the context enters the decoder's state (Bahdanau), it is replaced there
        too, at this step only; all other steps use the weights in use, with `edits` if given.
        """
        assert batch.gold is not None
        tap = SteppedTap(edits, (), batch.gold.shape[1])
        states, state = self._read(batch, tap)
        keys, prepared = self.attention.keys(states), self.writer.prepare(states.repeat(1, 1, self.settings.heads))
        found = []
        for step, (said, gold) in enumerate(zip(batch.inputs["said"].T, batch.gold.T, strict=True)):
            embedded = self._said(said[:, None])
            asked = self.writer.before(embedded, state)
            logs = self.output(self.writer.with_each(embedded, asked, prepared)).log_softmax(-1)
            found.append(logs.take_along_dim(gold.clamp(min=0)[:, None, None], -1)[..., 0])
            scores = tap.at_step(Site("score"), self.attention(asked.query, keys), step)
            weights = tap.at_step(Site("attention"), self._weights(scores, batch), step)
            context = tap.at_step(Site("context"), _mixed(weights, states), step)
            _, state = self.writer.after(embedded, asked, context)
        decided = (batch.gold != NOT_DECIDED)[..., None] & batch.valid[:, None]
        return torch.stack(found, dim=1).masked_fill(~decided, 0.0)

    def _at_once(self, batch: Batch, tap: SteppedTap) -> Run:
        states, state = self._read(batch, tap)
        embedded = self._said(batch.inputs["said"])
        asked = self.writer.before(embedded, state)
        scores = tap(Site("score"), self.attention(asked.query, self.attention.keys(states)))
        weights = tap(Site("attention"), self._weights(scores, batch))
        context = tap(Site("context"), _mixed(weights, states))
        features, _ = self.writer.after(embedded, asked, context)
        return self._finish(tap, self.output(features))

    def _step_by_step(self, batch: Batch, tap: SteppedTap, told: Sequence[bool]) -> Run:
        """`told` says which steps read the right last word; the others read the likeliest."""
        states, state = self._read(batch, tap)
        keys, said = self.attention.keys(states), batch.inputs["said"]
        logits: list[Tensor] = []
        for step, is_told in enumerate(told):
            last = said[:, step : step + 1] if is_told or step == 0 else logits[-1].argmax(-1)
            embedded = self._said(last)
            asked = self.writer.before(embedded, state)
            scores = tap.at_step(Site("score"), self.attention(asked.query, keys), step)
            weights = tap.at_step(Site("attention"), self._weights(scores, batch), step)
            context = tap.at_step(Site("context"), _mixed(weights, states), step)
            features, state = self.writer.after(embedded, asked, context)
            logits.append(self.output(features))
        return self._finish(tap, torch.cat(logits, dim=1))

    def _finish(self, tap: SteppedTap, logits: Float[Tensor, "example decision label"]) -> Run:
        return tap.run(logits, torch.arange(logits.shape[1], device=self.device).expand(logits.shape[:2]))

    def _weights(
        self, scores: Float[Tensor, "example head query key"], batch: Batch
    ) -> Float[Tensor, "example head query key"]:
        # Every source ends with a mark, so no row is empty; asking would make a GPU wait at each step.
        return scores.masked_fill(~batch.valid[:, None, None], -torch.inf).softmax(-1)

    def _said(self, words: Int[Tensor, "example query"]) -> Float[Tensor, "example query size"]:
        embedded: Tensor = self.dropout((self.embed_target or self.embed)(words))
        return embedded

    def _read(self, batch: Batch, tap: SteppedTap) -> tuple[Float[Tensor, "example token feature"], State]:
        """States of the source, zero at padding, and the state that the decoder starts from."""
        embedded = self.dropout(tap(Site("embedding"), self.embed(batch.inputs["tokens"])))
        lengths = batch.valid.sum(1).cpu()
        if bool((lengths == embedded.shape[1]).all()):
            states, last = self.reader(embedded)
        else:  # packed, or padding would be read; an LSTM's last cell is to be had in no other way
            packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
            found, last = self.reader(packed)
            states, _ = nn.utils.rnn.pad_packed_sequence(found, batch_first=True, total_length=embedded.shape[1])
        return tap(Site("state"), states), self._first(last)

    def _first(self, last: State) -> State:
        """The decoder's first state: the encoder's last, or of two directions a mixture of both."""
        if self.bridge is None:
            return last
        of_both = last if isinstance(last, tuple) else (last,)
        mixed = [
            bridge(torch.cat([part[0], part[1]], dim=-1)).tanh()[None]
            for bridge, part in zip(self.bridge, of_both, strict=True)
        ]
        return mixed[0] if len(mixed) == 1 else (mixed[0], mixed[1])


def aligned_tokens(
    examples: Sequence[Example], word: Int[Tensor, "example token"], written: Int[Tensor, "example decision"]
) -> Bool[Tensor, "example decision token"] | None:
    """Which source tokens the data links to each step; None where no example has an alignment.

    >>> word, written = torch.tensor([[-1, 0, 1, -1]]), torch.tensor([[0, 1, -1]])
    >>> aligned_tokens([Example("a", "x y", "Y X", alignment=((1, 0), (0, 1)))], word, written)[0].int().tolist()
    [[0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    """
    if all(example.alignment is None for example in examples):
        return None
    device = word.device
    word, written = word.cpu(), written.cpu()  # example by example a GPU would wait
    # [example target-word source-word], with a last row and column for what is no word: number −1 means these.
    size = int(written.max()) + 2, int(word.max()) + 2
    linked = torch.zeros(len(examples), *size, dtype=torch.bool)
    for row, example in enumerate(examples):
        if example.alignment:
            source, target = torch.tensor(example.alignment).T
            if bool((source > word[row].max()).any() or (target > written[row].max()).any()):
                raise BadInput(f"example {example.id}: its alignment goes beyond its words, which count from 0.")
            linked[row, target, source] = True
    found = linked[torch.arange(len(examples))[:, None, None], written[:, :, None], word[:, None]]
    return found.to(device)


def generated_words(subject: Seq2Seq, numbers: Iterable[int]) -> list[str]:
    """The words of a row of token numbers, up to its end mark."""
    found: list[str] = []
    for number in numbers:
        if number == END:
            break
        found.append(subject.labels[number])
    return found


def _target(example: Example) -> str:
    if example.text_pair is None:
        raise BadInput(
            f"example {example.id} has no second text, which a sequence-to-sequence model needs as its target."
        )
    return example.text_pair


def _mixed(
    weights: Float[Tensor, "example head query key"], states: Float[Tensor, "example key feature"]
) -> Float[Tensor, "example query size"]:
    """The context of each step: the heads' mixtures beside each other."""
    return torch.einsum("ehqk,ekf->eqhf", weights, states).flatten(2)
