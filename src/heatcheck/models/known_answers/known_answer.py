"""Base class of models whose right answer is known: the forward pass, and the same model with uniform weights."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example, Vocabulary
from heatcheck.data.planted import (
    LABELS,
    VALUES,
)
from heatcheck.errors import UnknownName
from heatcheck.models.contract.encoding import encode_words
from heatcheck.models.contract.response import Response
from heatcheck.models.contract.subject import NO_EDITS, Edits, Run, Site, Tap
from heatcheck.models.contract.weights import masked_softmax
from heatcheck.models.known_answers.features import (
    OF_FILLER,
    OF_VALUES,
    View,
    against_zero,
    feature_table,
    key_features,
    score_jitter,
    vocabulary,
)


class KnownAnswer:
    """Base class of all known-answer models: the words of the planted tasks, and the forward pass.

    `sharpness` is the score of the attended token above the others (8 gives it ≥ .98 of the weight). `scale` is the
    size of a vote. `jitter` is a fixed score noise per word type. `filler` is the largest vote of a filler word, as a
    share of a vote, drawn per word type. None of them changes the truth while the attended token has ≥ .95 of the
    weight and `filler` is small.
    """

    name = ""
    tasks: tuple[str, ...] = ("planted_keyword", "planted_contrast", "planted_lookup")

    def __init__(
        self,
        task: str,
        *,
        sharpness: float = 8.0,
        scale: float = 3.0,
        jitter: float = 0.1,
        filler: float = 0.0,
        seed: int = 0,
    ) -> None:
        if task not in self.tasks:
            raise UnknownName(f"task for the {self.name}", task, self.tasks)
        self.task, self.sharpness, self.scale, self.jitter = task, sharpness, scale, jitter
        self.filler, self.seed = filler, seed
        self.labels = VALUES if task == "planted_lookup" else LABELS

    id = property(lambda self: f"{self.name}@{self.task}")
    sites: tuple[Site, ...] = (Site("attention"),)
    recipe = None

    # What a subject is: two functions of the features ---------------------------------------------------------

    def scores(self, text: View) -> Tensor:
        """[example token]: the score of each token, before the softmax."""
        raise NotImplementedError

    def votes(self, text: View) -> Tensor:
        """[example token label]: the vote of each state."""
        raise NotImplementedError

    def attention_free(self) -> "KnownAnswer":
        """The best this family can do under uniform weights, in closed form: the baseline of the line *necessary*."""
        return Uniform(self)

    def again(self, seed: int) -> "KnownAnswer":
        """The same model with the jitter and filler votes of another seed: an honestly retrained model."""
        return self.like(type(self), seed=seed)

    def other_heatmaps(self) -> Mapping[str, "KnownAnswer"]:
        """Models with the same decisions and another heatmap, by name, if any are known."""
        return {}

    def like(self, kind: "type[KnownAnswer]", **changes: Any) -> "KnownAnswer":
        """Another kind of model with the same task and nuisance parameters."""
        mine = {name: getattr(self, name) for name in ("sharpness", "scale", "jitter", "filler", "seed")}
        return kind(self.task, **{**mine, **changes})

    # The language of the planted tasks ------------------------------------------------------------------------

    def deciding(self, text: View) -> Float[Tensor, "example token"]:
        """1 at the token that decides the label, 0 elsewhere."""
        if self.task == "planted_lookup":
            assert text.question is not None
            asked = key_features(text.question).sum(1)  # the one key of the question
            return torch.einsum("etk,ek->et", key_features(text.features), asked)
        opinion = text.feature("opinion").abs()
        if self.task == "planted_contrast":
            return opinion * torch.nn.functional.pad(text.feature("marker")[:, :-1], (1, 0))
        return opinion

    def says(self, text: View) -> Float[Tensor, "example token label"]:
        """The vote of each token, in logits of size `scale`; zero for words that say nothing."""
        if self.task == "planted_lookup":
            return self.scale * text.features[..., OF_VALUES]
        return self.scale * against_zero(text.feature("opinion"))

    def murmurs(self, text: View) -> Float[Tensor, "example token label"]:
        """The votes of filler words, in logits of at most `filler` times `scale`."""
        small = text.features[..., OF_FILLER]
        return self.scale * (small if self.task == "planted_lookup" else against_zero(small[..., 0]))

    def overall(self, text: View) -> Float[Tensor, "example 1 label"]:
        """The deciding token's vote plus the mean filler vote, as a summary of the whole text."""
        decided = torch.einsum("et,etl->el", self.deciding(text), self.says(text))[:, None]
        share = text.scored / text.scored.sum(1, keepdim=True).clamp(min=1).double()
        return decided + torch.einsum("et,etl->el", share, self.murmurs(text))[:, None]

    # Subject --------------------------------------------------------------------------------------------------

    @property
    def vocabulary(self) -> Vocabulary:
        return vocabulary()

    @property
    def table(self) -> Float[Tensor, "word feature"]:
        """Features of each word, in float64, so that no statement about a control depends on rounding."""
        return feature_table(self.filler, self.seed)

    @property
    def noise(self) -> Float[Tensor, " word"]:
        """A fixed score for each word type, so that weights are never exactly tied."""
        return self.jitter * score_jitter(self.seed)

    def encode(self, examples: Sequence[Example]) -> Batch:
        labels = [example.label for example in examples]
        known = all(isinstance(label, int) for label in labels)
        return encode_words(
            self.vocabulary,
            examples,
            segments=2 if self.task == "planted_lookup" else 1,
            gold=torch.tensor(labels)[:, None] if known else None,
            device=torch.device("cpu"),
        )

    def run(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Collection[Site] = ()) -> Run:
        tap = Tap(edits, want)
        scores, votes = self._look(batch, tap)
        weights = tap(Site("attention"), masked_softmax(tap(Site("score"), scores), batch.scored))
        context = tap(Site("context"), torch.einsum("eqt,etl->eql", weights[:, 0].to(votes.dtype), votes))
        return tap.run(context, torch.zeros(len(batch), 1, dtype=torch.long))

    def response(self, batch: Batch) -> Response:
        scores, votes = self._look(batch, Tap(NO_EDITS, ()))
        weights = masked_softmax(scores, batch.scored)
        return Response.linear(weights, batch.scored, votes[:, None], votes.new_zeros(1, len(self.labels)))

    def _look(self, batch: Batch, tap: Tap) -> tuple[Tensor, Tensor]:
        """The scores and votes that make the heatmap."""
        text, scores = self._read(batch, tap)
        return scores, tap(Site("state"), self.votes(text))

    def _read(self, batch: Batch, tap: Tap) -> tuple[View, Float[Tensor, "example 1 1 token"]]:
        tokens = batch.inputs["tokens"]
        features = tap(Site("embedding"), self.table[tokens])
        question = self.table[batch.inputs["question"]] if "question" in batch.inputs else None
        text = View(features, question, batch.scored)
        return text, (self.scores(text) + self.noise[tokens])[:, None, None, :]


class Uniform(KnownAnswer):
    """Another model's votes under uniform weights, without filler votes: the best model of its family."""

    name = "uniform"

    def __init__(self, of: KnownAnswer) -> None:
        self.tasks = of.tasks
        super().__init__(of.task, scale=of.scale, jitter=0.0)
        self.of = of

    def again(self, seed: int) -> KnownAnswer:
        return self  # without jitter there is nothing to draw again

    id = property(lambda self: f"uniform({self.of.id})")

    def scores(self, text: View) -> Tensor:
        return torch.zeros_like(text.features[..., 0])

    def votes(self, text: View) -> Tensor:
        return self.of.votes(text)
