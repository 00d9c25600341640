"""What the local page (`heatcheck serve`) shows of one text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck import stats
from heatcheck.data import Batch, Example
from heatcheck.engine import stream
from heatcheck.errors import BadInput, MissingPackage, NotSupported
from heatcheck.explainers import EXPLAINERS, REMOVALS, explain_one, stand_ins
from heatcheck.explainers.tokens import pool
from heatcheck.models import (
    HasLayers,
    Site,
    Subject,
    asked_of,
    heat_sites,
    in_units,
    readable_keys,
    require_layers,
    require_words,
    token_weights,
    unknown_words,
)
from heatcheck.models.contract.edits import uniform
from heatcheck.serve.schema import (
    MAX_WORDS,
    SLOW_WORDS,
    Adversary,
    Asked,
    AskedAdversary,
    AskedExplanation,
    AskedHead,
    AskedWeights,
    Explained,
    Head,
    Imposed,
    Layers,
    Looked,
    OfWords,
)

# Explainers that run the model once per word, or dozens of times.
SLOW = frozenset(
    {
        "atman",
        "attattr",
        "influence_left_out",
        "integrated_gradients",
        "leave_one_out",
        "lime",
        "shapley_sampling",
        "value_zeroing",
    }
)
TINY = 1e-12
OFFSETS = (-2, -1, 0, 1, 2)  # distances at which a head's mean weight is shown

Weights = Float[np.ndarray, "head token"]


@dataclass(frozen=True)
class OneText:
    """A text as the model reads it, without the erased words."""

    subject: Subject
    whole: Example
    kept: tuple[int, ...]  # positions of the remaining words

    @classmethod
    def of(cls, subject: Subject, asked: Asked) -> "OneText":
        if not asked.text.strip():
            raise BadInput("the text is empty: type at least one word.")
        (whole,) = in_units(subject, [Example("text", asked.text, asked.text_pair)])
        count = len(whole.words)
        if count > MAX_WORDS:
            raise BadInput(f"the text has {count:,} words; the page takes at most {MAX_WORDS}. Shorten it.")
        if asked.erased and max(asked.erased) >= count:
            raise BadInput(f"no word {max(asked.erased)}: the text has {count} words, counted from 0.")
        kept = tuple(place for place in range(count) if place not in set(asked.erased))
        if not any(whole.words[place].strip() for place in kept):
            raise BadInput("every word of the text is erased: restore at least one.")
        return cls(subject, whole, kept)

    @cached_property
    def example(self) -> Example:
        gone = set(range(len(self.whole.words))) - set(self.kept)
        return REMOVALS["deletion"](self.whole, gone) if gone else self.whole

    @cached_property
    def batch(self) -> Batch:
        return self.subject.encode([self.example])

    @cached_property
    def word(self) -> np.ndarray:
        """The word of each token, counted among the kept words; -1 for none."""
        return self.batch.word[0].cpu().numpy()

    @cached_property
    def readable(self) -> Bool[np.ndarray, " token"]:
        return readable_keys(self.subject, self.batch)[0].cpu().numpy()

    def of_words(self, values: Float[np.ndarray, " token"]) -> OfWords:
        """Sums over the tokens of each word of the whole text."""
        return self.in_place(pool(values, self.word, len(self.kept)))

    def in_place(self, values: Float[np.ndarray, " word"]) -> OfWords:
        """Values of the kept words at their positions in the whole text."""
        found: OfWords = [None] * len(self.whole.words)
        for place, value in zip(self.kept, values.tolist(), strict=True):
            found[place] = value if np.isfinite(value) else None
        return found

    def beside(self, own: Float[np.ndarray, "... token"], new: Float[np.ndarray, "... token"]) -> np.ndarray:
        """New weights of the text beside a language model's own of its prompt; of any other model, the new ones."""
        if not asked_of(self.subject):
            return new
        kept, inside = np.where(self.readable, 0.0, own), np.where(self.readable, new, 0.0)
        mass = np.maximum(1 - kept.sum(-1, keepdims=True), 0.0)
        return np.asarray(kept + mass * inside / np.maximum(inside.sum(-1, keepdims=True), TINY))

    def rest(self, values: Float[np.ndarray, " token"]) -> float:
        """The sum over tokens that belong to no word, such as [CLS]; a single text has no padding."""
        return float(values[self.word < 0].sum())


@torch.no_grad()
def look(subject: Subject, asked: Asked) -> Looked:
    """The probabilities and the heatmap."""
    text = OneText.of(subject, asked)
    run = subject.run(text.batch, want=heat_sites(subject))
    heat = _array(token_weights(subject, run)[0])
    strange = set(unknown_words(subject, text.example.text))
    return Looked(
        words=list(text.whole.words),
        unknown=[place for place, word in enumerate(text.whole.words) if word in strange],
        labels=labels_of(subject, run.logits.shape[-1]),
        probabilities=_probabilities(run.logits),
        weights=text.of_words(heat),
        rest=text.rest(heat),
    )


def explain(subject: Subject, asked: AskedExplanation) -> Explained:
    """Scores per word; `missing` says why an explainer gives none."""
    text = OneText.of(subject, asked)
    answer = Explained(scores={}, missing={})
    for name in dict.fromkeys(asked.by):
        if name not in EXPLAINERS:  # scores from files work on the command line only
            raise BadInput(f"no explainer {name!r}: GET /api/models lists the explainers.")
        if name in SLOW and len(text.kept) > SLOW_WORDS:
            answer.missing[name] = (
                f"This method takes at most {SLOW_WORDS} words here, because it runs the model many times."
            )
            continue
        try:
            found = explain_one(subject, [text.example], name)
        except (NotSupported, MissingPackage) as error:
            answer.missing[name] = str(error)
            continue
        if found.missing:
            answer.missing[name] = found.missing["text"]
        else:
            answer.scores[name] = text.in_place(np.where(found.valid[0], found.values[0], np.nan))
    return answer


@torch.no_grad()
def impose(subject: Subject, asked: AskedWeights) -> Imposed:
    """The prediction under replaced attention weights, in the row that it is read from.

    The given weights are per word, and there may be many heads. Each head's weights are multiplied by the factor that
    takes the mean over heads to the given weights, then scaled to sum to 1. With one head, they are the given weights.
    """
    require_words(subject, "moving weights by hand")
    text = OneText.of(subject, asked)
    site = _site(subject, asked.layer)
    plain = subject.run(text.batch, want=[site])
    rows = plain.row[0, :1] if plain.pooled is None else plain.pooled[0].nonzero()[:, 0]
    heads = plain.parts[site].shape[1]
    chosen = list(range(heads)) if asked.head is None else [_within(asked.head, heads, "head", "heads")]
    own = _array(plain.behind(plain.parts[site])[0, chosen])
    asked_for = _new_weights(text, own, asked)
    new = text.beside(own, asked_for)

    def edit(weights: Tensor) -> Tensor:
        weights = weights.clone()
        for row in rows.tolist():
            imposed = text.beside(_array(weights[0, chosen, row]), asked_for)
            weights[0, chosen, row] = torch.from_numpy(imposed).to(weights)
        return weights

    logits = subject.run(text.batch, edits={site: edit}).logits
    before, after = (_probabilities(found) for found in (plain.logits, logits))
    used = new.mean(0)
    return Imposed(
        probabilities=after,
        weights=text.of_words(used),
        rest=text.rest(used),
        change=float(np.abs(np.subtract(after, before)).sum() / 2),
        jsd_nats=_jsd(_whole(own), new),
    )


def adversary(subject: Subject, asked: AskedAdversary) -> Adversary:
    """The most different weights that keep the prediction within ε; exact for two labels and a linear read-out."""
    require_words(subject, "other weights with the same answer")
    text = OneText.of(subject, asked)
    found = stand_ins(subject, [text.example], epsilon=asked.epsilon)
    with torch.no_grad():
        site = subject.sites[-1]
        run = subject.run(text.batch, want=[site])
    own = _array(run.behind(run.parts[site])[0])
    weights, upper = text.beside(own.mean(0), found.weights[0, 0]), float(found.upper[0, 0])
    assert found.method != "jain2019"
    return Adversary(
        method=found.method,
        weights=text.of_words(weights),
        rest=text.rest(weights),
        change=float(found.change[0, 0]),
        jsd_nats=float(found.jsd[0, 0]),
        upper_nats=upper if np.isfinite(upper) else None,
        most_nats=float(stats.most_different(own, np.tile(text.readable, (len(own), 1))).mean()),
    )


@torch.no_grad()
def layers(subject: Subject, asked: Asked) -> Layers:
    """The weights of each layer and head, in the row that the prediction is read from."""
    deep = require_layers(subject, "the view of all heads")
    text = OneText.of(subject, asked)
    run = subject.run(text.batch, want=deep.sites)
    each = [_array(run.behind(run.parts[site])[0]) for site in deep.sites]  # [head token]
    return Layers(
        rows=[[text.of_words(head) for head in layer] for layer in each],
        rest=[[text.rest(head) for head in layer] for layer in each],
    )


@torch.no_grad()
def head(subject: Subject, asked: AskedHead) -> Head:
    """One head's weights between words, or the mean over a layer's heads."""
    require_layers(subject, "the view of one head")
    text = OneText.of(subject, asked)
    if len(text.kept) > SLOW_WORDS:
        raise BadInput(
            f"the text has {len(text.kept)} words; weights between words are shown for at most {SLOW_WORDS} words."
        )
    site = _site(subject, asked.layer)
    plain = subject.run(text.batch, want=[site])
    weights = plain.parts[site][0]  # [head query key]
    chosen = slice(None) if asked.head is None else [_within(asked.head, len(weights), "head", "heads")]

    def flatten(own: Tensor) -> Tensor:
        changed = own.clone()
        changed[:, chosen] = uniform(own)[:, chosen]
        return changed

    flattened = subject.run(text.batch, edits={site: flatten})
    before, flat = (_probabilities(run.logits) for run in (plain, flattened))
    matrix = _array(weights[chosen].mean(0))
    rows: list[list[float | None]] = [[None] * len(text.whole.words) for _ in text.whole.words]
    rest: list[float | None] = [None] * len(text.whole.words)
    for number, place in enumerate(text.kept):
        tokens = text.word == number
        if tokens.any():
            row = matrix[tokens].mean(0)
            rows[place], rest[place] = text.of_words(row), text.rest(row)
    seen = _array(uniform(weights[None])[0, 0]) > 0
    return Head(
        matrix=rows,
        rest=rest,
        offsets={str(offset): _at(matrix, seen, offset) for offset in OFFSETS},
        first=float(matrix[:, 0][seen[:, 0]].mean()),
        flat=flat,
        change=float(np.abs(np.subtract(flat, before)).sum() / 2),
    )


def _at(matrix: Float[np.ndarray, "query key"], seen: Bool[np.ndarray, "query key"], offset: int) -> float | None:
    """The mean weight on the key at this offset, over the queries that see it."""
    pairs = matrix.diagonal(offset)[seen.diagonal(offset)]
    return float(pairs.mean()) if len(pairs) else None


def labels_of(subject: Subject, count: int) -> list[str]:
    return list(getattr(subject, "labels", [str(number) for number in range(count)]))


def _site(subject: Subject, layer: int | None) -> Site:
    if layer is None:
        return subject.sites[-1]
    if not isinstance(subject, HasLayers):
        raise BadInput(
            f"{subject.id} is not a transformer, so it has no layers to choose from: leave out layer and head."
        )
    return subject.sites[_within(layer, len(subject.sites), "layer", "layers")]


def _within(number: int, count: int, one: str, many: str) -> int:
    if number >= count:
        raise BadInput(f"no {one} {number}: the model has {count} {many}, counted from 0.")
    return number


def _new_weights(text: OneText, own: Weights, asked: AskedWeights) -> Weights:
    """The requested weights over tokens, for each head."""
    ways: dict[str, Callable[[], Weights]] = {
        "uniform": lambda: np.tile(text.readable / text.readable.sum(), (len(own), 1)),
        "permuted": lambda: _permuted(text, own, asked.seed),
        "given": lambda: _given(text, own, asked.weights, asked.rest),
    }
    return ways[asked.kind]()


def _permuted(text: OneText, own: Weights, seed: int) -> Weights:
    """Weights shuffled among the tokens that can have weight, the same way in all heads."""
    places = np.flatnonzero(text.readable)
    found = np.zeros_like(own)
    found[:, places] = own[:, stream(seed, "page").permutation(places)]
    return found


def _given(text: OneText, own: Weights, weights: Sequence[float | None] | None, rest: float) -> Weights:
    words = len(text.whole.words)
    if weights is None or len(weights) != words:
        got = "none" if weights is None else str(len(weights))
        raise BadInput(f"this text needs {words} weights, one per word, not {got}.")
    target = np.array(
        [weights[place] or 0.0 for place in text.kept] + [rest]
    )  # the last is for tokens that belong to no word
    owner = np.where(text.word >= 0, text.word, len(target) - 1)
    members = np.bincount(owner[text.readable], minlength=len(target))
    target[members == 0] = 0.0
    if target.sum() <= TINY:
        raise BadInput("all weights are 0: give at least one word a weight.")
    target /= target.sum()
    mean = np.bincount(owner, weights=np.where(text.readable, own.mean(0), 0.0), minlength=len(target))
    light = mean <= TINY
    factor = np.where(light, 0.0, target / np.where(light, 1.0, mean))
    share = np.where(light, target / np.maximum(members, 1), 0.0)  # zero cannot be scaled up: spread evenly
    found = np.where(text.readable, own * factor[owner] + share[owner], 0.0)
    return _whole(found)


def _whole(weights: Weights) -> Weights:
    """Scaled to sum to 1. A head without weight at the chosen tokens gets the mean over heads instead."""
    total = weights.sum(-1, keepdims=True)
    even = weights.mean(0, keepdims=True)
    return np.asarray(np.where(total > TINY, weights / np.maximum(total, TINY), even / even.sum()))


def _jsd(p: Weights, q: Weights) -> float:
    """Jensen–Shannon divergence in nats, mean over heads."""
    return float(stats.jensen_shannon_nats(torch.from_numpy(p), torch.from_numpy(q)).mean())


def _probabilities(logits: Float[Tensor, "1 decision label"]) -> list[float]:
    found: list[float] = logits[0, 0].double().softmax(-1).tolist()
    return found


def _array(part: Tensor) -> np.ndarray:
    return np.asarray(part.detach().double().cpu().numpy())
