"""Shared code of all classifiers: settings, vocabulary, labels, and how weighted hidden states become logits."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.data import Batch, Example, Seen, Vocabulary
from heatcheck.data.vocabulary import PAD
from heatcheck.engine import Plugged
from heatcheck.errors import BadInput, UnknownName
from heatcheck.models.classifiers.attention import ATTENTIONS
from heatcheck.models.classifiers.bilstm import BiLSTM
from heatcheck.models.classifiers.cnn import CNN, Conv
from heatcheck.models.classifiers.context_free import Average, Unencoded
from heatcheck.models.classifiers.dropout import Dropout
from heatcheck.models.classifiers.encoder import Encoder
from heatcheck.models.classifiers.gru import BiGRU
from heatcheck.models.classifiers.normalisers import NORMALISERS
from heatcheck.models.classifiers.orthogonal import AheadLSTM, OrthogonalAheadLSTM, OrthogonalLSTM
from heatcheck.models.contract.encoding import options_of
from heatcheck.models.contract.recipe import Recipe
from heatcheck.models.contract.response import Response
from heatcheck.models.contract.subject import NO_EDITS, Edits, Run, Site, Want

ENCODERS: dict[str, type[Encoder]] = {
    "average": Average,
    "cnn": CNN,
    "conv": Conv,
    "gru": BiGRU,
    "lstm": BiLSTM,
    "lstm_ahead": AheadLSTM,
    "none": Unencoded,
    "orthogonal_lstm": OrthogonalLSTM,
    "orthogonal_lstm_ahead": OrthogonalAheadLSTM,
}
ENCODERS = Plugged("heatcheck.encoders", Encoder, ENCODERS, classes=True)
DECODERS = ("linear", "merge")
# The logit of a label that an example may not have. Its probability is exactly 0 in any precision, and unlike −∞ it
# leaves log-probabilities, gradients, differences of logits and 0·log 0 finite.
NOT_AN_OPTION = -1e4


@dataclass(frozen=True)
class ClassifierSettings:
    """Settings that determine the architecture of a classifier."""

    encoder: str = "lstm"
    attention: str = "tanh"
    embedding: int = 300
    embedding_scale: float = 0.1  # spread of embeddings that start at random
    hidden: int = (
        128  # gru, lstm: a direction (of `ahead`, the only one); cnn, conv: all windows together; none: not used
    )
    segments: int = 1
    decoder: str = "linear"  # merge: tanh(W c + W_q q) before the output, as Jain & Wallace for questions
    label_wise: bool = False  # an attention and a yes-or-no decision for each label
    dropout: float = 0.0  # on embeddings, and on contexts
    # Words are attended to within each sentence, then sentences within the text (Yang et al. 2016; Serrano & Smith).
    hierarchical: bool = False
    normaliser: str = "softmax"  # from scores to weights: softmax, entmax, sparsemax or top_k
    top_share: float = 0.2  # top_k: share of the text's tokens that have weight

    def __post_init__(self) -> None:
        for kind, name, known in (
            ("encoder", self.encoder, ENCODERS),
            ("attention", self.attention, ATTENTIONS),
            ("decoder", self.decoder, DECODERS),
            ("normaliser", self.normaliser, NORMALISERS),
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
            raise BadInput(f"segments must be 1 (one text) or 2 (a text and a question), not {self.segments}.")
        if self.decoder == "merge" and (self.segments == 1 or self.label_wise):
            raise BadInput("decoder=merge combines a text with its question: it needs segments=2 and label_wise=false.")
        if self.attention == "linear" and self.segments == 2:
            raise BadInput(
                "attention=linear cannot use a question: with segments=2 choose attention=tanh or attention=dot."
            )
        if self.hierarchical and (self.segments == 2 or self.decoder != "linear" or self.label_wise):
            raise BadInput("hierarchical=true needs segments=1, decoder=linear and label_wise=false.")
        if self.hierarchical and self.normaliser != "softmax":
            raise BadInput(f"normaliser={self.normaliser} needs hierarchical=false.")
        if not 0 < self.top_share <= 1:
            raise BadInput(f"top_share must be above 0 and at most 1, not {self.top_share}.")

    def facts(self) -> dict[str, Any]:
        """The settings as a recipe stores them. Later additions are left out when off: older recipes keep their ids."""
        found = asdict(self)
        if not self.hierarchical:
            del found["hierarchical"]
        if self.normaliser == "softmax":
            del found["normaliser"]
        if self.normaliser != "top_k":
            del found["top_share"]
        return found


class Classifier(nn.Module):
    """Base class of all classifiers: from a text (or a passage with its question) to labels, through attention.

    Abstract: flat.py reads words, hierarchical.py words and then sentences.
    With two labels there is one output z, read as the logits (0, z), which is what a sigmoid does.
    """

    encoder: Encoder  # of words
    attention: nn.Module  # all parameters of the attention, and no others
    output: nn.Linear
    log_odds: Tensor | None  # [word label] of a bag-of-words model of the same texts (models/contract/log_odds.py)

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
        self.seen: Seen | None = None
        self.called = ""
        self.embed = self._embedding(vectors)
        self.dropout = Dropout(settings.dropout)
        # Not persistent: it is no weight, so neither checkpoints nor folders without it differ.
        self.register_buffer("log_odds", None, persistent=False)

    def _embedding(self, vectors: Float[Tensor, "word feature"] | None) -> nn.Embedding:
        size = (len(self.vocabulary), self.settings.embedding)
        if vectors is None:
            vectors = self.settings.embedding_scale * torch.randn(size)
        elif tuple(vectors.shape) != size:
            raise BadInput(
                f"the word vectors have {vectors.shape[1]} dimensions, but embedding is {size}: set "
                f"embedding={vectors.shape[1]}."
            )
        table = nn.Embedding(*size, padding_idx=PAD, _weight=vectors.clone())
        with torch.no_grad():
            table.weight[PAD] = 0
        return table

    def _output(self, features: int) -> nn.Linear:
        lone = len(self.labels) == 2 and not self.settings.label_wise
        return nn.Linear(features, 1 if lone else len(self.labels))

    @property
    def id(self) -> str:
        return self.recipe.id if self.recipe else "unnamed"

    @property
    def device(self) -> torch.device:
        return self.output.weight.device

    @property
    def generator(self) -> torch.Generator | None:
        """What the random numbers of a training run are drawn from; None: torch's global generator."""
        return self.dropout.generator

    @generator.setter
    def generator(self, generator: torch.Generator | None) -> None:
        self.dropout.generator = generator

    @property
    def sites(self) -> tuple[Site, ...]:
        raise NotImplementedError

    def encode(self, examples: Sequence[Example]) -> Batch:
        raise NotImplementedError

    def run(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Want = ()) -> Run:
        raise NotImplementedError

    def response(self, batch: Batch) -> Response:
        """Map weights to logits while the hidden states stay the same."""
        raise NotImplementedError

    def _linear_response(
        self,
        attention: Float[Tensor, "example decision head key"],
        allowed: Bool[Tensor, "example key"],
        states: Float[Tensor, "example key feature"],
        options: Bool[Tensor, "example label"] | None,
    ) -> Response:
        """Map weights to logits when the output is linear in the weighted mean of the states."""
        # [example decision key label]: label-wise, each output is a decision of its own
        votes = torch.einsum("ekf,of->eko", states, self.output.weight)
        votes = votes.transpose(1, 2)[..., None] if self.settings.label_wise else votes[:, None]
        bias = self.output.bias[:, None] if self.settings.label_wise else self.output.bias[None]
        relevance, bias = self._against_zero(votes), self._against_zero(bias)
        if options is not None:  # a label that is no option: no token speaks for it, and its bias decides
            forbidden = ~options[:, None, :]
            relevance = relevance.masked_fill(forbidden[:, :, None], 0.0)
            bias = bias.expand(len(options), *bias.shape).masked_fill(forbidden, NOT_AN_OPTION)
        return Response.linear(attention, allowed, relevance, bias)

    def _decide(self, features: Tensor, options: Bool[Tensor, "example label"] | None) -> Tensor:
        """Features [example … query feature] to logits [example … decision label]."""
        if self.settings.label_wise:
            votes = torch.einsum("...of,of->...o", features, self.output.weight) + self.output.bias
            return self._logits(votes[..., None], None)
        return self._logits(self.output(features), options)

    def _logits(self, votes: Tensor, options: Bool[Tensor, "example label"] | None) -> Tensor:
        logits = self._against_zero(votes)
        if options is None:
            return logits
        allowed = options.reshape(len(options), *[1] * (logits.ndim - 2), options.shape[-1])
        return logits.masked_fill(~allowed, NOT_AN_OPTION)

    def _against_zero(self, outputs: Tensor) -> Tensor:
        """A lone output z becomes the logits (0, z)."""
        return nn.functional.pad(outputs, (1, 0)) if outputs.shape[-1] == 1 else outputs

    def _options(self, examples: Sequence[Example]) -> Bool[Tensor, "example label"] | None:
        found = options_of(examples, len(self.labels), self.device)
        if found is not None and self.settings.label_wise:
            raise BadInput(
                "answer options need a model that makes one decision; a label-wise classifier makes one per label."
            )
        return found

    def _gold(self, examples: Sequence[Example]) -> Int[Tensor, "example decision"] | None:
        labels = [example.label for example in examples]
        if any(label is None for label in labels):
            return None
        if self.settings.label_wise:
            sets = [label if isinstance(label, tuple) else (label,) for label in labels]
            rows = [[int(k in chosen) for k in range(len(self.labels))] for chosen in sets]
            return torch.tensor(rows, device=self.device)
        return torch.tensor(labels, device=self.device)[:, None]
