"""Known-answer models: written down, not trained, so that the truth about their weights is a theorem.

Each token has a handful of features (what it says, whether it is a marker, …); a model is two functions of them, the
scores and the votes. The logits are Σ_t α_t vote_t, so a vote is a relevance. Whether the weights are faithful follows
from the construction; the docstring of each class proves its case in a few lines.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example, Vocabulary
from heatcheck.data.planted import (
    COMMA,
    FILLERS,
    KEYS,
    LABELS,
    MARKER,
    OPINIONS,
    STOP,
    TWINS_ATTENDED,
    TWINS_SUMMARISED,
    VALUES,
)
from heatcheck.data.vocabulary import SPECIAL
from heatcheck.engine import stream
from heatcheck.errors import BadInput, UnknownName
from heatcheck.models.attention import masked_softmax
from heatcheck.models.encoding import encode_words
from heatcheck.models.response import Response
from heatcheck.models.subject import NO_EDITS, Edits, Run, Site, Tap

PLAIN = ("opinion", "summarised", "marker", "comma", "stop")  # then one feature a key, and twice one a value
OF_KEYS = slice(len(PLAIN), len(PLAIN) + len(KEYS))
OF_VALUES = slice(OF_KEYS.stop, OF_KEYS.stop + len(VALUES))
OF_FILLER = slice(OF_VALUES.stop, OF_VALUES.stop + len(VALUES))  # what a filler word says, where it says anything
CERTAIN = 1e4  # a score over others that leaves them a weight of exactly 0


class View(NamedTuple):
    """A batch in terms of the features of the planted tasks."""

    features: Float[Tensor, "example token feature"]
    question: Float[Tensor, "example asked feature"] | None
    scored: Bool[Tensor, "example token"]

    def feature(self, name: str) -> Float[Tensor, "example token"]:
        return self.features[..., PLAIN.index(name)]


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
            asked = _keys(text.question).sum(1)  # the one key of the question
            return torch.einsum("etk,ek->et", _keys(text.features), asked)
        opinion = text.feature("opinion").abs()
        if self.task == "planted_contrast":
            return opinion * torch.nn.functional.pad(text.feature("marker")[:, :-1], (1, 0))
        return opinion

    def says(self, text: View) -> Float[Tensor, "example token label"]:
        """The vote of each token, in logits of size `scale`; zero for words that say nothing."""
        if self.task == "planted_lookup":
            return self.scale * text.features[..., OF_VALUES]
        return self.scale * _against_zero(text.feature("opinion"))

    def murmurs(self, text: View) -> Float[Tensor, "example token label"]:
        """The votes of filler words, in logits of at most `filler` times `scale`."""
        small = text.features[..., OF_FILLER]
        return self.scale * (small if self.task == "planted_lookup" else _against_zero(small[..., 0]))

    def overall(self, text: View) -> Float[Tensor, "example 1 label"]:
        """The deciding token's vote plus the mean filler vote, as a summary of the whole text."""
        decided = torch.einsum("et,etl->el", self.deciding(text), self.says(text))[:, None]
        share = text.scored / text.scored.sum(1, keepdim=True).clamp(min=1).double()
        return decided + torch.einsum("et,etl->el", share, self.murmurs(text))[:, None]

    # Subject --------------------------------------------------------------------------------------------------

    @property
    def vocabulary(self) -> Vocabulary:
        return _vocabulary()

    @property
    def table(self) -> Float[Tensor, "word feature"]:
        """Features of each word, in float64, so that no statement about a control depends on rounding."""
        return _table(self.filler, self.seed)

    @property
    def noise(self) -> Float[Tensor, " word"]:
        """A fixed score for each word type, so that weights are never exactly tied."""
        return self.jitter * _jitter(self.seed)

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


# One of each for all subjects that ask for the same: an audit makes dozens of them, and reads the same texts with each.


@cache
def _vocabulary() -> Vocabulary:
    fused = [f"{key}:{value}" for key in KEYS for value in VALUES]
    words = {MARKER, COMMA, STOP, *FILLERS, *KEYS, *fused}
    for lexicon in (OPINIONS, TWINS_ATTENDED, TWINS_SUMMARISED):
        words.update(word for side in lexicon for word in side)
    return Vocabulary((*SPECIAL, *sorted(words)), rule="spaces", lowercase=False)


@lru_cache(maxsize=64)
def _table(filler: float, seed: int) -> Float[Tensor, "word feature"]:
    tokens = _vocabulary().tokens
    rows = torch.zeros(len(tokens), OF_FILLER.stop, dtype=torch.float64)
    number = {word: place for place, word in enumerate(tokens)}
    for sign, label in ((-1, 0), (1, 1)):
        for word in OPINIONS[label] + TWINS_ATTENDED[label]:
            rows[number[word], 0] = sign
        for word in TWINS_SUMMARISED[label]:
            rows[number[word], 1] = sign
    for name, word in (("marker", MARKER), ("comma", COMMA), ("stop", STOP)):
        rows[number[word], PLAIN.index(name)] = 1
    for k, key in enumerate(KEYS):
        rows[number[key], OF_KEYS.start + k] = 1
        for v, value in enumerate(VALUES):
            rows[number[f"{key}:{value}"], [OF_KEYS.start + k, OF_VALUES.start + v]] = 1
    for word in FILLERS if filler else ():
        drawn = stream(seed, "filler", word).uniform(-1, 1, len(VALUES))
        rows[number[word], OF_FILLER] = filler * torch.from_numpy(drawn)
    return rows


@lru_cache(maxsize=64)
def _jitter(seed: int) -> Float[Tensor, " word"]:
    drawn = [float(stream(seed, "jitter", word).uniform(-1, 1)) for word in _vocabulary().tokens]
    return torch.tensor(drawn, dtype=torch.float64)


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
        return self.sharpness * _first(_silent(text))

    def other_heatmaps(self) -> Mapping[str, KnownAnswer]:
        return {Bystander.name: self.like(Bystander)}


class Shifted(Reader):
    """The attended *state* decides, but the attended *token* does not.

    The state of a token carries its left neighbour (the first carries the last), and the weight sits one place to the
    right of the deciding word. Without the attended token, the next one carries the same neighbour.
    """

    name = "shifted"

    def scores(self, text: View) -> Tensor:
        return super().scores(text).take_along_dim(_left(text.scored), 1)

    def votes(self, text: View) -> Tensor:
        return super().votes(text).take_along_dim(_left(text.scored)[..., None], 1)

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
        return CERTAIN * _first(_silent(text))


class Sink(Untold):
    """All weight on the first word, whatever it is, as in a transformer's attention sink; the deciding word is second.

    The proof is that of `OneHot`: after the sink, all words are tied.
    """

    name = "sink"
    tasks = ("planted_second",)

    def scores(self, text: View) -> Tensor:
        return CERTAIN * _first(text.scored)


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
        summarised = self.scale * _against_zero(text.feature("summarised").sum(1, keepdim=True))
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


def _silent(text: View) -> Bool[Tensor, "example token"]:
    """Words that say nothing."""
    return (text.features[..., : OF_FILLER.start].abs().sum(-1) == 0) & text.scored


def _first(words: Bool[Tensor, "example token"]) -> Bool[Tensor, "example token"]:
    """The first of these words."""
    return words & (words.cumsum(1) == 1)


def _keys(features: Float[Tensor, "example token feature"]) -> Float[Tensor, "example token key"]:
    return features[..., OF_KEYS]


def _against_zero(vote: Float[Tensor, "example token"]) -> Float[Tensor, "example token label"]:
    return torch.stack([torch.zeros_like(vote), vote], dim=-1)


def _left(scored: Bool[Tensor, "example token"]) -> Int[Tensor, "example token"]:
    """Where each scored token's left neighbour stands; the first one's is the last; others stay."""
    position = torch.arange(scored.shape[1])
    first = scored.int().argmax(1, keepdim=True)
    length = scored.sum(1, keepdim=True)
    return torch.where(scored, (position - first - 1) % length + first, position)


KNOWN_ANSWERS: dict[str, type[KnownAnswer]] = {
    kind.name: kind
    for kind in (
        Bystander,
        Dial,
        Flat,
        GaugeTwin,
        Leaker,
        MajorityReader,
        OneHot,
        Reader,
        Shifted,
        Sink,
        TwoLayers,
        WrongBystander,
    )
}
