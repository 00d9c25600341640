"""One classifier for one or two segments: embedding, encoder, attention, decoder."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heatcheck.data import Batch, Example, Vocabulary
from heatcheck.data.vocabulary import PAD
from heatcheck.errors import BadInput, UnknownName
from heatcheck.models.attention import ATTENTIONS, masked_softmax
from heatcheck.models.average import Average
from heatcheck.models.bilstm import BiLSTM
from heatcheck.models.cnn import CNN
from heatcheck.models.encoder import Encoder
from heatcheck.models.encoding import encode_words
from heatcheck.models.recipe import Recipe
from heatcheck.models.response import Response
from heatcheck.models.subject import NO_EDITS, Edits, Run, Site, Tap

ENCODERS: dict[str, type[Encoder]] = {
    "average": Average,
    "cnn": CNN,
    "lstm": BiLSTM,
}
DECODERS = ("linear", "merge")


@dataclass(frozen=True)
class ClassifierSettings:
    """What decides the shape of a classifier."""

    encoder: str = "lstm"
    attention: str = "tanh"
    embedding: int = 300
    embedding_scale: float = 0.1  # spread of embeddings that start at random
    hidden: int = 128  # lstm: a direction; cnn: all kernels together
    segments: int = 1
    decoder: str = "linear"  # merge: tanh(W c + W_q q) before the output, as Jain & Wallace for questions
    label_wise: bool = False  # an attention and a yes-or-no decision for each label
    dropout: float = 0.0  # on embeddings, and on contexts

    def __post_init__(self) -> None:
        for kind, name, known in (
            ("encoder", self.encoder, ENCODERS),
            ("attention", self.attention, ATTENTIONS),
            ("decoder", self.decoder, DECODERS),
        ):
            if name not in known:
                raise UnknownName(kind, name, known)
        for name in ("embedding", "hidden"):
            if not 1 <= getattr(self, name) <= 100_000:
                raise BadInput(f"{name} must lie between 1 and 100,000, not {getattr(self, name)}.")
        if not 0 <= self.dropout < 1:
            raise BadInput(f"dropout must be at least 0 and below 1, not {self.dropout}.")
        if not 0 <= self.embedding_scale < math.inf:
            raise BadInput(f"embedding_scale must be at least 0, not {self.embedding_scale}.")
        if self.segments not in (1, 2):
            raise BadInput(f"a classifier reads 1 or 2 segments, not {self.segments}.")
        if self.decoder == "merge" and (self.segments == 1 or self.label_wise):
            raise BadInput("the merge decoder merges a question: it needs 2 segments and one decision.")


class Classifier(nn.Module):
    """A text (or a passage with its question) to labels, through one attention.

    With two labels there is one output z, read as the logits (0, z): what a sigmoid does.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        labels: Sequence[str],
        settings: ClassifierSettings,
        *,
        recipe: Recipe | None = None,
        vectors: Float[Tensor, "word feature"] | None = None,
    ) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.labels = tuple(labels)
        self.settings = settings
        self.recipe = recipe
        self.embed = self._embedding(vectors)
        make_encoder = ENCODERS[settings.encoder]
        self.encoder = make_encoder(settings.embedding, settings.hidden)
        size = self.encoder.size
        self.embed_question = self._embedding(vectors) if settings.segments == 2 else None
        self.encode_question = make_encoder(settings.embedding, settings.hidden) if settings.segments == 2 else None
        self.attention = ATTENTIONS[settings.attention](
            size,
            question=size if settings.segments == 2 else 0,
            queries=len(self.labels) if settings.label_wise else 1,
        )
        outputs = 1 if len(self.labels) == 2 and not settings.label_wise else len(self.labels)
        merged = settings.decoder == "merge"
        self.of_context = nn.Linear(size, size // 2) if merged else None
        self.of_question = nn.Linear(size, size // 2) if merged else None
        self.output = nn.Linear(size // 2 if merged else size, outputs)
        self.dropout = nn.Dropout(settings.dropout)

    def _embedding(self, vectors: Float[Tensor, "word feature"] | None) -> nn.Embedding:
        size = (len(self.vocabulary), self.settings.embedding)
        if vectors is None:
            vectors = self.settings.embedding_scale * torch.randn(size)
        elif tuple(vectors.shape) != size:
            raise BadInput(
                f"vectors of shape {tuple(vectors.shape)} for an embedding of {size}: set embedding={vectors.shape[1]}."
            )
        table = nn.Embedding(*size, padding_idx=PAD, _weight=vectors.clone())
        with torch.no_grad():
            table.weight[PAD] = 0
        return table

    @property
    def id(self) -> str:
        return self.recipe.id if self.recipe else "unnamed"

    @property
    def sites(self) -> tuple[Site, ...]:
        return (Site("attention"),)

    @property
    def device(self) -> torch.device:
        return self.output.weight.device

    def encode(self, examples: Sequence[Example]) -> Batch:
        return encode_words(
            self.vocabulary,
            examples,
            segments=self.settings.segments,
            gold=self._gold(examples),
            device=self.device,
        )

    def run(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Collection[Site] = ()) -> Run:
        tap = Tap(edits, want)
        states, question = self._states(batch, tap)
        scores = tap(Site("score"), self.attention(states, question)[:, None])  # [example head query key]
        weights = tap(Site("attention"), masked_softmax(scores, batch.scored))
        context = tap(Site("context"), torch.einsum("eqk,ekf->eqf", weights[:, 0], states))
        logits = self._decide(self._before_output(context, question))
        queries = torch.arange(logits.shape[1], device=self.device)
        return tap.run(logits, queries.expand(logits.shape[:2]))

    def response(self, batch: Batch) -> Response:
        """Weights to logits with the states fixed; linear, so with relevances, unless the decoder merges."""
        tap = Tap(NO_EDITS, ())
        states, question = self._states(batch, tap)
        weights = masked_softmax(self.attention(states, question)[:, None], batch.scored)
        attention = weights.transpose(1, 2)  # [example decision head token]: each decision has its own query
        if self.of_context is None:
            output = self.output.weight
            # [example decision token label]: label-wise, each output is a decision of its own
            votes = torch.einsum("etf,of->eto", states, output)
            votes = votes.transpose(1, 2)[..., None] if self.settings.label_wise else votes[:, None]
            bias = self.output.bias[:, None] if self.settings.label_wise else self.output.bias[None]
            return Response.linear(attention, batch.scored, self._against_zero(votes), self._against_zero(bias))
        # The merge needs only the projected states: half as wide, and never the encoder again.
        projected = self._project(states)
        assert self.of_context is not None

        def logits(
            weights: Float[Tensor, "example draw decision head token"],
        ) -> Float[Tensor, "example draw decision label"]:
            mixed = torch.einsum("edqht,etf->edqf", weights, projected)
            return self._decide(self._merge(mixed, question, draws=True))

        return Response(attention, batch.scored, logits)

    def _states(self, batch: Batch, tap: Tap) -> tuple[Tensor, Tensor | None]:
        embedded = tap(Site("embedding"), self.embed(batch.inputs["tokens"]))
        states = tap(Site("state"), self.encoder(self.dropout(embedded), batch.valid))
        if self.embed_question is None or self.encode_question is None:
            return states, None
        asked = batch.inputs["question"]
        embedded_question = tap(Site("embedding", "question"), self.embed_question(asked))
        of_question = self.encode_question(self.dropout(embedded_question), asked != PAD)
        return states, self.encode_question.summary(of_question, asked != PAD)

    def _project(self, contexts: Tensor) -> Tensor:
        assert self.of_context is not None
        return nn.functional.linear(contexts, self.of_context.weight)

    def _merge(self, projected: Tensor, question: Tensor | None, *, draws: bool = False) -> Tensor:
        assert self.of_context is not None
        assert self.of_question is not None
        of_question: Tensor = self.of_question(question)[:, None]
        return (projected + self.of_context.bias + (of_question[:, None] if draws else of_question)).tanh()

    def _before_output(self, context: Tensor, question: Tensor | None) -> Tensor:
        context = self.dropout(context)
        return context if self.of_context is None else self._merge(self._project(context), question)

    def _decide(self, features: Tensor) -> Tensor:
        """Features [… query feature] to logits [… decision label]."""
        if self.settings.label_wise:
            votes = torch.einsum("...of,of->...o", features, self.output.weight) + self.output.bias
            return self._against_zero(votes[..., None])
        return self._against_zero(self.output(features))

    def _against_zero(self, outputs: Tensor) -> Tensor:
        """A lone output z becomes the logits (0, z)."""
        return nn.functional.pad(outputs, (1, 0)) if outputs.shape[-1] == 1 else outputs

    def _gold(self, examples: Sequence[Example]) -> Int[Tensor, "example decision"] | None:
        labels = [example.label for example in examples]
        if any(label is None for label in labels):
            return None
        if self.settings.label_wise:
            sets = [label if isinstance(label, tuple) else (label,) for label in labels]
            rows = [[int(k in chosen) for k in range(len(self.labels))] for chosen in sets]
            return torch.tensor(rows, device=self.device)
        return torch.tensor(labels, device=self.device)[:, None]
