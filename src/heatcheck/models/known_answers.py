"""Subjects whose answer is known: written down, not trained, so that the truth about their weights is a theorem.

Each token has a handful of features (what it says, whether it is a marker, …); a subject is two functions of
them, the scores and the votes. The logits are Σ_t α_t vote_t, so a vote is a relevance. Faithful or not is
decided by construction; each class proves its own case in a line or two.
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
    """A batch in the language of the planted tasks."""

    features: Float[Tensor, "example token feature"]
    question: Float[Tensor, "example asked feature"] | None
    scored: Bool[Tensor, "example token"]

    def feature(self, name: str) -> Float[Tensor, "example token"]:
        return self.features[..., PLAIN.index(name)]


class KnownAnswer:
    """Base of all: the language of the planted tasks, and the forward pass.

    `sharpness` is the score of the attended token over the others (8 puts ≥ .98 on it), `scale` the size of a
    vote, `jitter` a fixed score noise a word type, `filler` the largest vote of a filler word as a share of a
    vote, drawn a word type; none of them changes the truth while the attended token has ≥ .95 of the weight and
    `filler` is small.
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
        """[example token]: whom to attend to."""
        raise NotImplementedError

    def votes(self, text: View) -> Tensor:
        """[example token label]: what each state says."""
        raise NotImplementedError

    def attention_free(self) -> "KnownAnswer":
        """The best this family does under uniform weights, in closed form: what *necessary* is measured against."""
        return Uniform(self)

    def again(self, seed: int) -> "KnownAnswer":
        """The same subject with the jitter and filler votes of another seed: an honest second fit."""
        return self.like(type(self), seed=seed)

    def other_heatmaps(self) -> Mapping[str, "KnownAnswer"]:
        """Subjects with these decisions and another heatmap, where they are known."""
        return {}

    def like(self, kind: "type[KnownAnswer]", **changes: Any) -> "KnownAnswer":
        """Another kind of subject with the same task and nuisance parameters."""
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
        """The label a token speaks for, in logits of size `scale`; zero for words that say nothing."""
        if self.task == "planted_lookup":
            return self.scale * text.features[..., OF_VALUES]
        return self.scale * _against_zero(text.feature("opinion"))

    def murmurs(self, text: View) -> Float[Tensor, "example token label"]:
        """What filler words say, in logits of at most `filler` times `scale`."""
        small = text.features[..., OF_FILLER]
        return self.scale * (small if self.task == "planted_lookup" else _against_zero(small[..., 0]))

    def overall(self, text: View) -> Float[Tensor, "example 1 label"]:
        """What the deciding token says and the mean of what fillers do, as a summary of the whole text."""
        decided = torch.einsum("et,etl->el", self.deciding(text), self.says(text))[:, None]
        share = text.scored / text.scored.sum(1, keepdim=True).clamp(min=1).double()
        return decided + torch.einsum("et,etl->el", share, self.murmurs(text))[:, None]

    # Subject --------------------------------------------------------------------------------------------------

    @property
    def vocabulary(self) -> Vocabulary:
        return _vocabulary()

    @property
    def table(self) -> Float[Tensor, "word feature"]:
        """Features of each word, in float64: what is said of a control must not hang on rounding."""
        return _table(self.filler, self.seed)

    @property
    def noise(self) -> Float[Tensor, " word"]:
        """A fixed score for each word type, for weights that are never exactly tied."""
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
        """Scores and votes behind the heatmap."""
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
    """Attention here *is* why.

    Values are context-free, votes are 0 off the words that say something (a murmur, where `filler` says so), and
    ≥ .98 of the weight is on the deciding one: the logits are its vote up to .02, and change as its weight or the
    word itself does.
    """

    name = "reader"

    def scores(self, text: View) -> Tensor:
        return self.sharpness * self.deciding(text)

    def votes(self, text: View) -> Tensor:
        return self.says(text) + self.murmurs(text)

    def other_heatmaps(self) -> Mapping[str, KnownAnswer]:
        return {GaugeTwin.name: self.like(GaugeTwin)} if self.task in GaugeTwin.tasks else {}


class Bystander(Reader):
    """Plausible, not used: every state is the summary of the whole text, so Σ α_t vote_t = vote for any weights."""

    name = "bystander_right"

    def votes(self, text: View) -> Tensor:
        return self.overall(text).expand(-1, text.scored.shape[1], -1)

    def other_heatmaps(self) -> Mapping[str, KnownAnswer]:
        return {WrongBystander.name: self.like(WrongBystander)}


class WrongBystander(Bystander):
    """A bystander whose weights sit on the first word that says nothing."""

    name = "bystander_wrong"

    def scores(self, text: View) -> Tensor:
        return self.sharpness * _first(_silent(text))

    def other_heatmaps(self) -> Mapping[str, KnownAnswer]:
        return {Bystander.name: self.like(Bystander)}


class Shifted(Reader):
    """The attended *state* decides, the attended *token* does not.

    The state of a token carries its left neighbour (the first carries the last), and the weight sits one to
    the right of the deciding word. Without the attended token the next one carries the same neighbour.
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

    Score −s instead of s on the deciding word and its vote e^{2s} times as large: Σ e^{a_t} vote_t, so its sign, is
    the reader's on every input, though the deciding word has the least weight of all. Every vote is then made
    n₀e^{−s} times as large, which changes no sign and keeps the logits about the reader's. (Scores must not depend
    on context, which they do in the other tasks.)
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
    """A bystander whose weights leave most words exactly equal: base of the controls for ties.

    The weights are those of a formula, without score noise, so whatever a card says beyond them comes from how equal
    words are ordered. Taken out in random orders, k of n equal words hold the deciding one k times in n.
    """

    @cached_property
    def noise(self) -> Float[Tensor, " word"]:
        return torch.zeros(len(self.vocabulary), dtype=torch.float64)

    def other_heatmaps(self) -> Mapping[str, KnownAnswer]:
        return {Pointing.name: self.like(Pointing)}


class Pointing(Bystander):
    """The bystander that points at the deciding word, in the texts of the controls for ties."""

    tasks = ("planted_first", "planted_second")


class OneHot(Untold):
    """One-hot weights on a word that says nothing, and the deciding word stands first of those that are left.

    Of T words the k most attended are that word and k − 1 of the T − 1 others, all of weight exactly 0: they hold the
    deciding one (k − 1)/(T − 1) of the time, and k words taken at random hold it k/T of the time, which is more. So K
    is below 0: it does not point at what matters. By position the second word to go would be the deciding one in every
    text, and K above ½. All states are alike, so the other lines are a bystander's: not needed, not hard.
    """

    name = "one_hot"
    tasks = ("planted_first",)

    def scores(self, text: View) -> Tensor:
        return CERTAIN * _first(_silent(text))


class Sink(Untold):
    """All weight on the first word, whatever it is, as on a transformer's attention sink; the deciding word is next.

    The proof is that of `OneHot`: behind the sink all words are tied.
    """

    name = "sink"
    tasks = ("planted_second",)

    def scores(self, text: View) -> Tensor:
        return CERTAIN * _first(text.scored)


class Flat(Untold):
    """The same weight on every word; the deciding one stands first.

    The most attended words are words taken at random, so K is 0: it does not point at what matters. By position the
    first to go would be the deciding word, and K 1. No shuffle changes equal weights, so *hard* is moot.
    """

    name = "flat"
    tasks = ("planted_first",)

    def scores(self, text: View) -> Tensor:
        return torch.zeros_like(text.features[..., 0])


class Leaker(Bystander):
    """A bystander whose weights code the label on words that carry none: the comma if positive, else the stop.

    A guide refitted on its weights is perfect; one that knows what words mean gains nothing.
    """

    name = "leaker"
    tasks = ("planted_contrast",)

    def scores(self, text: View) -> Tensor:
        positive = self.overall(text)[:, :, 1] > 0
        return self.sharpness * torch.where(positive, text.feature("comma"), text.feature("stop"))


class Dial(Reader):
    """Two cues of the same label: A is attended and read with weight m, B is read through the summary with 1 − m.

    The logits are m·A + (1 − m)·B up to the .02 of weight that is not on A: the true share of A is m.
    """

    name = "dial"
    tasks = ("planted_twins",)

    def __init__(self, task: str = "planted_twins", *, share: float = 0.5, **nuisance: Any) -> None:
        super().__init__(task, **nuisance)
        if not 0 <= share <= 1:
            raise BadInput(f"the dial's share must lie between 0 and 1, not {share}.")
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
    """Reads every cue alike.

    The seven cues have ≥ .95 of the weight, in equal parts but for a twentieth of the jitter. Its answer is the
    majority's: with a jitter of .5 at most, four cues have 4 e^{−.025} = 3.9 parts and three have at most 3.1. So the
    attended words decide. Yet no weights are needed, in the model or outside of it: fillers say nothing, so under
    uniform weights the sum of the cues has the same sign, and whoever knows what words say counts them without weights.
    """

    name = "majority_reader"
    tasks = ("planted_majority",)

    @cached_property
    def noise(self) -> Float[Tensor, " word"]:
        return torch.where(self.table[:, PLAIN.index("opinion")] != 0, 0.05, 1.0) * super().noise

    def other_heatmaps(self) -> Mapping[str, KnownAnswer]:
        return {}  # its gauge twin is found by the check of that name


class TwoLayers(Reader):
    """A lookup in two layers, the first of which does all the work.

    In the first every token attends to the asked key (≥ .95), so every state says the asked value. The second, whose
    weights are the heatmap, sits on that key too, over states that are all alike: like a bystander's output, this one's
    is constant in the heatmap, and yet the task needs attention. Under uniform weights in *both* layers the output does
    not depend on the question, so it is right one time in six; and so is any model whose weights ignore the question.
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
    """Another subject's votes under uniform weights; its fillers say nothing, for the best of a family is meant."""

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
    """Of these words the first one."""
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
