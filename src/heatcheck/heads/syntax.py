"""Syntactic roles: does a head find the head of a word, beyond what position, luck and chance give?

Every score stands beside four baselines. *Best offset*: the best fixed distance for the relation, chosen on train.
*Offset twin*: the head's own mean weight at each distance in place of its weights, so that the excess is content.
*Untrained twin*: the same architecture with random weights, best of all its heads. *Other tree*: the arcs of another
sentence of the same length.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtr

from heatcheck import stats
from heatcheck.data.treebank import Sentence
from heatcheck.engine import stream
from heatcheck.errors import BadInput
from heatcheck.heads.looking import Place
from heatcheck.heads.parsed import DIRECTIONS, Guesses, twin_guesses

ALL = "all"
LEFT_OUT = ("punct", "root")
OFFSETS = tuple(offset for offset in range(-5, 6) if offset)
SURE = 0.05


class Gold(NamedTuple):
    """The arcs of some sentences: each word's head (-1: none that counts) and its relation."""

    head: Int[np.ndarray, "example word"]
    relation: np.ndarray  # of texts, [example word]
    lengths: tuple[int, ...]

    def chosen(self, relation: str, direction: int, causal: bool) -> Bool[np.ndarray, "example word"]:
        """The words whose arc is of this relation and can be seen in this direction."""
        words = self.head >= 0
        if relation != ALL:
            words = words & (self.relation == relation)
        if causal:  # a decoder's word sees earlier words only
            place = np.arange(self.head.shape[1])
            words = words & ((self.head < place) if direction == 0 else (self.head > place))
        return np.asarray(words)


class Found(NamedTuple):
    """One relation in one direction: its best head, chosen on train and scored on test, and the baselines on test."""

    relation: str
    direction: str
    place: Place
    score: stats.Interval
    offset: int
    best_offset: float
    offset_twin: float
    untrained: float  # 99th percentile over heads and seeds
    untrained_best: float
    other_tree: float
    arcs: int
    coverage: float  # the share of the relation's arcs that the model can see in this direction
    on_train: float  # the head's score where it was chosen


class SyntacticRole(NamedTuple):
    """A head that finds a relation's heads: surely beyond the best offset, its offset twin and untrained heads."""

    place: Place
    relation: str
    direction: str
    score: stats.Interval
    over_offset: float
    over_twin: float
    adjusted_p: float


class Syntax(NamedTuple):
    """Syntactic scores of a model."""

    found: tuple[Found, ...]
    roles: tuple[SyntacticRole, ...]
    tests: int  # heads × relations × directions


def gold_of(sentences: Sequence[Sentence]) -> Gold:
    """The arcs that count: neither punctuation nor the root."""
    most = max(len(sentence.words) for sentence in sentences)
    head = np.full((len(sentences), most), -1, dtype=np.int64)
    relation = np.full((len(sentences), most), "", dtype=object)
    for row, sentence in enumerate(sentences):
        for place, (to, name) in enumerate(zip(sentence.head, sentence.relation, strict=True)):
            if name.partition(":")[0] not in LEFT_OUT and to >= 0:
                head[row, place], relation[row, place] = to, name
    return Gold(head, relation, tuple(len(sentence.words) for sentence in sentences))


def score_syntax(
    train: tuple[Guesses, Gold],
    test: tuple[Guesses, Gold],
    untrained: Sequence[Guesses],
    *,
    least: int = 50,
    draws: int = 1000,
    seed: int = 0,
) -> Syntax:
    """Score every relation in both directions.

    Args:
        train: guesses and arcs of the sentences that heads and offsets are chosen on.
        test: those of other sentences.
        untrained: guesses of untrained twins about the test sentences, one per seed.
        least: arcs of a relation that both must have.
    """
    learned, known = train
    guesses, gold = test
    twin = twin_guesses(learned, gold.lengths, gold.head.shape[1])
    other = _other_trees(gold, seed)
    counts = _resamples(len(gold.lengths), draws, seed)
    names = [ALL, *sorted(set(gold.relation[gold.head >= 0].tolist()))]
    found: list[Found] = []
    tested: list[tuple[SyntacticRole, bool]] = []
    p_values: list[np.ndarray] = []
    for relation in names:
        for direction, said in enumerate(DIRECTIONS):
            on_train, on_test = (one.chosen(relation, direction, guesses.causal) for one in (known, gold))
            if on_train.sum() < least or on_test.sum() < least:
                continue
            right, n = _right(guesses.heads[..., direction], gold.head, on_test)
            of_twin, _ = _right(twin[..., direction], gold.head, on_test)
            offset = _best_offset(known, on_train)
            at_offset, _ = _right(_pointing(gold, offset)[:, None], gold.head, on_test)
            ready, _ = _right(learned.heads[..., direction], known.head, on_train)
            best = int(ready.sum(0).argmax())
            drawn = counts @ n
            resampled = (counts @ right) / drawn[:, None]
            low, high = np.quantile(resampled, [0.025, 0.975], axis=0)
            scores = right.sum(0) / n.sum()
            random_scores = np.concatenate(
                [_right(one.heads[..., direction], gold.head, on_test)[0].sum(0) / n.sum() for one in untrained]
                or [np.zeros(1)]
            )
            ceiling = float(np.quantile(random_scores, 0.99))
            borrowed = other.chosen(relation, direction, guesses.causal)
            by_luck, luck_n = _right(guesses.heads[:, best : best + 1, :, direction], other.head, borrowed)
            whole = gold.chosen(relation, direction, False).sum()
            score = stats.Interval(float(scores[best]), float(low[best]), float(high[best]), int(n.sum()))
            found.append(
                Found(
                    relation,
                    said,
                    guesses.places[best],
                    score,
                    offset,
                    float(at_offset.sum() / n.sum()),
                    float(of_twin[:, best].sum() / n.sum()),
                    ceiling,
                    float(random_scores.max()),
                    float(by_luck.sum() / max(luck_n.sum(), 1)),
                    int(n.sum()),
                    float(n.sum() / whole),
                    float(ready[:, best].sum() / on_train.sum()),
                )
            )
            over = [(right - base, (counts @ (right - base)) / drawn[:, None]) for base in (at_offset, of_twin)]
            p_values.append(np.maximum(*(_p(own.sum(0) / n.sum(), resampled) for own, resampled in over)))
            for at, place in enumerate(guesses.places):
                of_head = stats.Interval(float(scores[at]), float(low[at]), float(high[at]), int(n.sum()))
                over_offset, over_twin = (float(own[:, at].sum() / n.sum()) for own, _ in over)
                role = SyntacticRole(place, relation, said, of_head, over_offset, over_twin, 1.0)
                tested.append((role, bool(low[at] > ceiling)))
    if not tested:
        raise BadInput(f"no relation has {least} arcs in both parts of the treebank. Give more sentences.")
    adjusted = stats.benjamini_hochberg(np.concatenate(p_values))
    roles = tuple(
        one._replace(adjusted_p=float(p))
        for (one, beyond), p in zip(tested, adjusted, strict=True)
        if beyond and p < SURE
    )
    return Syntax(tuple(found), roles, len(tested))


def _right(
    guessed: Int[np.ndarray, "example head word"],
    gold: Int[np.ndarray, "example word"],
    chosen: Bool[np.ndarray, "example word"],
) -> tuple[Float[np.ndarray, "example head"], Float[np.ndarray, " example"]]:
    """How many of each sentence's chosen arcs each head finds, and how many there are."""
    width = min(guessed.shape[2], gold.shape[1])
    hit = (guessed[:, :, :width] == gold[:, None, :width]) & chosen[:, None, :width]
    return hit.sum(-1).astype(float), chosen.sum(-1).astype(float)


def _pointing(gold: Gold, offset: int) -> Int[np.ndarray, "example word"]:
    """Each word's neighbour at this offset."""
    place = np.arange(gold.head.shape[1]) + offset
    lengths = np.array(gold.lengths)[:, None]
    return np.asarray(np.where((place >= 0) & (place < lengths), place, -2))


def _best_offset(gold: Gold, chosen: Bool[np.ndarray, "example word"]) -> int:
    hits = [int(((_pointing(gold, offset) == gold.head) & chosen).sum()) for offset in OFFSETS]
    return OFFSETS[int(np.argmax(hits))]


def _other_trees(gold: Gold, seed: int) -> Gold:
    """For each sentence the arcs of another one of the same length, by chance; none where no other is that long."""
    head, relation = np.full_like(gold.head, -1), np.full_like(gold.relation, "")
    generator = stream(seed, "heads", "other tree")
    for length in sorted(set(gold.lengths)):
        rows = np.flatnonzero(np.array(gold.lengths) == length)
        if len(rows) > 1:
            order = generator.permutation(rows)
            head[order], relation[order] = gold.head[np.roll(order, 1)], gold.relation[np.roll(order, 1)]
    return Gold(head, relation, gold.lengths)


def _resamples(sentences: int, draws: int, seed: int) -> Float[np.ndarray, "draw example"]:
    generator = stream(seed, "heads", "syntax")
    return generator.multinomial(sentences, np.full(sentences, 1 / sentences), size=draws).astype(float)


def _p(excess: Float[np.ndarray, " head"], resampled: Float[np.ndarray, "draw head"]) -> Float[np.ndarray, " head"]:
    """One-sided, from the bootstrap's standard error: draws alone could not show how small a p-value is."""
    spread = resampled.std(0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(spread > 0, excess / spread, np.where(excess > 0, np.inf, 0.0))
    return np.asarray(ndtr(-z))
