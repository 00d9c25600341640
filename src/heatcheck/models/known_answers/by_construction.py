"""The known-answer models: written by hand, not trained, so that the truth about their weights can be proved.

Each token has a handful of features (what it says, whether it is a marker, …); a model is two functions of them, the
scores and the votes. The logits are Σ_t α_t vote_t, so a vote is a relevance. Whether the weights are faithful follows
from the construction; the docstring of each class proves its case in a few lines.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import BadInput
from heatcheck.models.contract.extraction import RANDOM, Extraction, encode_extracted, read_of
from heatcheck.models.contract.response import Response
from heatcheck.models.contract.subject import NO_EDITS, Edits, Run, Site, Tap
from heatcheck.models.contract.weights import masked_softmax
from heatcheck.models.known_answers.features import (
    CERTAIN,
    PLAIN,
    View,
    against_zero,
    first_of,
    left_neighbours,
    silent,
)
from heatcheck.models.known_answers.known_answer import KnownAnswer, Uniform


class Reader(KnownAnswer):
    """The attention weights explain the answer, by construction.

    Votes are context-free and 0 for all words that say nothing (tiny, if `filler` is set), and ≥ .98 of the weight is
    on the deciding word. So the logits are its vote up to .02, and they change when its weight or the word changes.
    """

    name = "reader"

    def scores(self, text: View) -> Tensor:
        return self.sharpness * self.deciding(text)

    def votes(self, text: View) -> Tensor:
        return self.says(text) + self.murmurs(text)

    def other_heatmaps(self) -> Mapping[str, KnownAnswer]:
        return {GaugeTwin.name: self.like(GaugeTwin)} if self.task in GaugeTwin.tasks else {}


class RationaleReader(Reader):
    """A reader that extracts a fifth of the words and reads nothing else, as a classifier of FRESH does.

    The deciding word has the highest score, so it is always read, and has ≥ .95 of the weight among the words that are
    read. So the logits are its vote up to .05, and they change when its weight or the word changes: what holds of the
    reader's heatmap holds of this one. Without the word it reads words as the reader does then, which say nothing.
    (Which word decides must not depend on words that it does not read, as it does after a marker.)
    """

    name = "rationale_reader"
    tasks = ("planted_keyword", "planted_lookup")
    extraction = Extraction(RANDOM, 0.2)  # for its size; the scores choose

    def encode(self, examples: Sequence[Example]) -> Batch:
        whole = super().encode(examples)
        text = View(self.table[whole.inputs["tokens"]], self._question(whole), whole.scored)
        scores = Reader.scores(self, text) + self.noise[whole.inputs["tokens"]]
        # Stable: of equal words the first is read, alone and in any batch.
        order = scores.masked_fill(~whole.scored, -math.inf).argsort(dim=1, descending=True, stable=True).numpy()
        rule, read = self.vocabulary.rule, []
        for row, example in enumerate(examples):
            places = whole.word[row].numpy()[order[row, : self.extraction.size(len(example.words))]].tolist()
            read.append(self.extraction.extract(example, places, rule))
        return encode_extracted(super().encode, examples, read)

    def _question(self, batch: Batch) -> Tensor | None:
        asked = batch.inputs.get("question")
        return None if asked is None else self.table[asked]

    def readable(self, batch: Batch) -> Bool[Tensor, "example key"]:
        """The tokens that may have weight: those it reads."""
        return read_of(batch)

    def run(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Collection[Site] = ()) -> Run:
        return super().run(replace(batch, scored=read_of(batch)), edits=edits, want=want)

    def response(self, batch: Batch) -> Response:
        return super().response(replace(batch, scored=read_of(batch)))

    def attention_free(self) -> KnownAnswer:
        return self.like(EvenRationaleReader, filler=0.0, jitter=0.0)

    def other_heatmaps(self) -> Mapping[str, KnownAnswer]:
        return {}  # none is known


class EvenRationaleReader(RationaleReader):
    """The same words, read with equal weights."""

    name = "rationale_reader, equal weights"

    def scores(self, text: View) -> Tensor:
        return torch.zeros_like(text.features[..., 0])

    def again(self, seed: int) -> KnownAnswer:
        return self  # without jitter there is nothing to draw again


class Bystander(Reader):
    """A plausible heatmap that the answer ignores.

    Every state is the summary of the whole text, so Σ α_t vote_t is that summary's vote for any weights.
    """

    name = "bystander_right"

    def votes(self, text: View) -> Tensor:
        return self.overall(text).expand(-1, text.scored.shape[1], -1)

    def other_heatmaps(self) -> Mapping[str, KnownAnswer]:
        return {WrongBystander.name: self.like(WrongBystander)}


class WrongBystander(Bystander):
    """A model that ignores its weights (a bystander), with the weights on the first word that says nothing."""

    name = "bystander_wrong"

    def scores(self, text: View) -> Tensor:
        return self.sharpness * first_of(silent(text))

    def other_heatmaps(self) -> Mapping[str, KnownAnswer]:
        return {Bystander.name: self.like(Bystander)}


class Shifted(Reader):
    """The attended *state* decides, but the attended *token* does not.

    The state of a token carries its left neighbour (the first carries the last), and the weight sits one place to the
    right of the deciding word. Without the attended token, the next one carries the same neighbour.
    """

    name = "shifted"

    def scores(self, text: View) -> Tensor:
        return super().scores(text).take_along_dim(left_neighbours(text.scored), 1)

    def votes(self, text: View) -> Tensor:
        return super().votes(text).take_along_dim(left_neighbours(text.scored)[..., None], 1)

    def attention_free(self) -> KnownAnswer:
        # Its states are contextual, so its family holds the summary.
        return Uniform(Bystander(self.task, scale=self.scale))

    def other_heatmaps(self) -> Mapping[str, KnownAnswer]:
        return {}  # none is known


class GaugeTwin(Reader):
    """The reader's decisions with the opposite heatmap.

    The deciding word has score −s instead of s, and its vote is e^{2s} times as large. So Σ e^{a_t} vote_t, and with it
    its sign, is the reader's on every input, though the deciding word has the least weight of all. All votes are then
    multiplied by n₀e^{−s}, which changes no sign and keeps the logits close to the reader's. (Scores must not depend on
    context, as they do in the other tasks.)
    """

    name = "gauge_twin"
    tasks = ("planted_keyword",)
    typical_length = 15  # n₀

    def scores(self, text: View) -> Tensor:
        return -super().scores(text)

    def votes(self, text: View) -> Tensor:
        sharp = math.exp(self.sharpness)
        return self.typical_length * (self.says(text) * sharp + self.murmurs(text) / sharp)

    def other_heatmaps(self) -> Mapping[str, KnownAnswer]:
        return {Reader.name: self.like(Reader)}


class Untold(Bystander):
    """Base class of the controls for ties: bystanders whose weights leave most words exactly equal.

    The weights follow a formula, without score noise, so whatever a card says beyond them comes from the order of equal
    words. In a random order, the first k of n equal words include the deciding one with probability k/n.
    """

    @cached_property
    def noise(self) -> Float[Tensor, " word"]:
        return torch.zeros(len(self.vocabulary), dtype=torch.float64)

    def other_heatmaps(self) -> Mapping[str, KnownAnswer]:
        return {Pointing.name: self.like(Pointing)}


class Pointing(Bystander):
    """A bystander whose weights are on the deciding word, for the texts of the controls for ties."""

    tasks = ("planted_first", "planted_second")


class OneHot(Untold):
    """One-hot weights on a word that says nothing; the deciding word is the first of the others.

    The k most attended of T words are that word and k − 1 of the T − 1 others, which all have weight exactly 0. They
    include the deciding word with probability (k − 1)/(T − 1); k random words include it with probability k/T, which is
    more. So K is below 0: the highlighted words do not matter. If ties were broken by position, the deciding word would
    be second in every text, and K would be above ½. All states are alike, so the other lines are a bystander's:
    attention is not needed, and different weights do not change the answer.
    """

    name = "one_hot"
    tasks = ("planted_first",)

    def scores(self, text: View) -> Tensor:
        return CERTAIN * first_of(silent(text))


class Sink(Untold):
    """All weight on the first word, whatever it is, as in a transformer's attention sink; the deciding word is second.

    The proof is that of `OneHot`: after the sink, all words are tied.
    """

    name = "sink"
    tasks = ("planted_second",)

    def scores(self, text: View) -> Tensor:
        return CERTAIN * first_of(text.scored)


class Flat(Untold):
    """The same weight on every word; the deciding word is the first.

    The most attended words are random words, so K is 0: the highlighted words do not matter. If ties were broken by
    position, the deciding word would be removed first, and K would be 1. No shuffle changes uniform weights, so the
    line *hard* cannot be asked here.
    """

    name = "flat"
    tasks = ("planted_first",)

    def scores(self, text: View) -> Tensor:
        return torch.zeros_like(text.features[..., 0])


class Leaker(Bystander):
    """A bystander whose weights encode the label: they are on the comma if positive, else on the full stop.

    A guide trained on its weights is perfect; a guide that knows what words mean gains nothing from them.
    """

    name = "leaker"
    tasks = ("planted_contrast",)

    def scores(self, text: View) -> Tensor:
        positive = self.overall(text)[:, :, 1] > 0
        return self.sharpness * torch.where(positive, text.feature("comma"), text.feature("stop"))


class Dial(Reader):
    """Two cues of the same label: A is attended and used with share m, B is used through the summary with share 1 − m.

    The logits are m·A + (1 − m)·B up to the .02 of weight that is not on A: the true share of A is m.
    """

    name = "dial"
    tasks = ("planted_twins",)

    def __init__(self, task: str = "planted_twins", *, share: float = 0.5, **nuisance: Any) -> None:
        super().__init__(task, **nuisance)
        if not 0 <= share <= 1:
            raise BadInput(f"share must lie between 0 and 1, not {share}.")
        self.share = share

    id = property(lambda self: f"{self.name}({self.share:g})@{self.task}")

    def votes(self, text: View) -> Tensor:
        attended = super().votes(text)
        summarised = self.scale * against_zero(text.feature("summarised").sum(1, keepdim=True))
        return self.share * attended + (1 - self.share) * summarised

    def again(self, seed: int) -> KnownAnswer:
        return self.like(Dial, seed=seed, share=self.share)

    def other_heatmaps(self) -> Mapping[str, KnownAnswer]:
        return {}  # none is known


class MajorityReader(Reader):
    """A reader with equal weight on all seven cues.

    The seven cues have ≥ .95 of the weight, in equal parts up to a twentieth of the jitter. Its answer is the
    majority's: with a jitter of at most .5, four cues have 4 e^{−.025} = 3.9 parts and three have at most 3.1. So the
    attended words decide. Yet no weights are needed, inside the model or outside: fillers say nothing, so under uniform
    weights the sum of the cues has the same sign, and anyone who knows what words say can count them without weights.
    """

    name = "majority_reader"
    tasks = ("planted_majority",)

    @cached_property
    def noise(self) -> Float[Tensor, " word"]:
        return torch.where(self.table[:, PLAIN.index("opinion")] != 0, 0.05, 1.0) * super().noise

    def other_heatmaps(self) -> Mapping[str, KnownAnswer]:
        return {}  # its gauge twin is found by the check of that name


class TwoLayers(Reader):
    """A lookup in two layers, of which the first does all the work.

    In the first layer every token attends to the asked key (≥ .95), so every state holds the asked value. The weights
    of the second layer are the heatmap. They are on that key too, but over states that are all alike: as with a
    bystander, the output does not depend on the heatmap, and yet the task needs attention. Under uniform weights in
    *both* layers the output does not depend on the question, so it is right one time in six; the same holds for any
    model whose weights ignore the question.
    """

    name = "two_layers"
    tasks = ("planted_lookup",)
    first = Site("attention", "first")
    sites = (first, Site("attention"))

    def attention_free(self) -> KnownAnswer:
        return Uniform(self.like(Reader))  # a mean of means is the mean

    def other_heatmaps(self) -> Mapping[str, KnownAnswer]:
        return {WrongBystander.name: self.like(WrongBystander)}

    def _look(self, batch: Batch, tap: Tap) -> tuple[Tensor, Tensor]:
        text, scores = self._read(batch, tap)
        said = tap(Site("state", "first"), self.votes(text))
        of_each = tap(Site("score", "first"), scores.expand(-1, -1, batch.scored.shape[1], -1))
        weights = tap(self.first, masked_softmax(of_each, batch.scored))
        looked_up = tap(Site("context", "first"), torch.einsum("eqk,ekl->eql", weights[:, 0], said))
        return scores, tap(Site("state"), looked_up)
