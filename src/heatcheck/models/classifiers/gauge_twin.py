"""Twins of context-free classifiers: models with the same decision on every text and little weight on marked words.

Suppose that each word w has one score a_w and one vote r_w (bias included) wherever it stands. Then the logits are
Σ_t e^{a_t} r_t / Σ_t e^{a_t}. Replace the scores by any others a'_w and multiply each vote by m_w = e^{a_w − a'_w}: the
numerator is the same on every text, and the positive normaliser changes no decision. So the scores are free, and scores
that leave little weight on marked words can be found from texts alone, for any such model.
"""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.optimize import Bounds, minimize
from torch import Tensor

from heatcheck.data import Example, Vocabulary
from heatcheck.data.vocabulary import END, PAD, START, UNKNOWN
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models.classifiers.attention import Attention
from heatcheck.models.classifiers.classifier import Classifier
from heatcheck.models.classifiers.context_free import ContextFree, Unencoded
from heatcheck.models.classifiers.make import make_classifier
from heatcheck.models.classifiers.normalisers import NORMALISERS

BOUND = 6.0  # largest |ln m|: a vote up to 400 times as large, which float32 bears (docs/checks/deception.md)
RIDGE = 3e-3  # pulls scores together that few texts have an opinion about
ITERATIONS = 300


@dataclass(frozen=True)
class Tokens:
    """Texts as one long row of tokens: the text and the vocabulary word of each token, and whether it is marked."""

    text: Int[np.ndarray, " token"]
    word: Int[np.ndarray, " token"]
    marked: Bool[np.ndarray, " token"]

    @classmethod
    def of(cls, vocabulary: Vocabulary, examples: Iterable[Example], mark: str) -> "Tokens":
        """The tokens of examples that have marked and unmarked tokens; other examples say nothing."""
        texts, words, marks = [], [], []
        for number, example in enumerate(examples):
            if mark not in example.marks:
                continue
            numbers, places = vocabulary.look_up(example.text)
            marked = [example.marks[mark][place] for place in places]
            if any(marked) and not all(marked):
                texts += [number] * len(numbers)
                words += numbers
                marks += marked
        _, text = np.unique(np.array(texts, dtype=np.int64), return_inverse=True)
        return cls(text, np.array(words, dtype=np.int64), np.array(marks, dtype=bool))

    def log_sums(self, scores: Float[np.ndarray, " word"]) -> Float[np.ndarray, " example"]:
        """ln Σ_t e^{a_t} of each text."""
        top = scores.max()
        return np.asarray(np.log(np.bincount(self.text, np.exp(scores[self.word] - top))) + top)


def scores_off_marked(
    tokens: Tokens, own: Float[np.ndarray, " word"], *, bound: float = BOUND
) -> Float[np.ndarray, " word"]:
    """Scores by word under which these texts' weight on marked words is small: Σ −ln(1 − mass) is minimised.

    None is farther than the bound from the word's own. A word that is unknown at test stands where words of a single
    text stood in train, so each text counts twice, once with such words unknown: then <unk> has an opinion on it, and
    is not what an untrained embedding happens to be.
    """
    if not 0 < bound < np.inf:
        raise BadInput(f"bound must be a finite number above 0, not {bound}.")
    if not len(tokens.text):
        raise NotSupported("a gauge twin cannot be made: no training text has both marked and unmarked words.")
    pairs = np.unique(np.stack([tokens.word, tokens.text]), axis=1)
    rare = np.bincount(pairs[0], minlength=len(own)) == 1
    text = np.concatenate([tokens.text, tokens.text + tokens.text.max() + 1])
    word = np.concatenate([tokens.word, np.where(rare[tokens.word], UNKNOWN, tokens.word)])
    rest = ~np.tile(tokens.marked, 2)
    centre, top = own[tokens.word].mean(), own.max() + bound

    def objective(scores: Float[np.ndarray, " word"]) -> tuple[float, Float[np.ndarray, " word"]]:
        large = np.exp(scores[word] - top)
        every, others = np.bincount(text, large), np.bincount(text, large * rest)
        of_token = large * (1 / every[text] - rest / others[text])
        apart = scores - centre
        gradient = np.bincount(word, of_token, minlength=len(own)) + RIDGE * apart
        return float((np.log(every) - np.log(others)).sum() + RIDGE / 2 * apart @ apart), gradient

    found = minimize(
        objective,
        np.clip(np.full(len(own), centre), own - bound, own + bound),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(own - bound, own + bound),
        options={"maxiter": ITERATIONS, "maxfun": 2 * ITERATIONS},
    )
    return np.asarray(found.x)


@dataclass(frozen=True)
class WordTable:
    """The score and votes of each vocabulary word in a context-free classifier, in float64."""

    scores: Float[Tensor, " word"]
    votes: Float[Tensor, "word output"]  # bias included


def word_table(subject: Classifier) -> WordTable:
    """Scores and votes of every word; raises NotSupported if they depend on more than the word."""
    shape, exact = subject.settings, deepcopy(subject).double()
    encoder, attention = exact.encoder, exact.attention
    if not isinstance(encoder, ContextFree) or not isinstance(attention, Attention):
        raise NotSupported(
            f"a gauge twin needs a model that reads each word by itself; {subject.id} reads words in context."
        )
    if not NORMALISERS[shape.normaliser].is_softmax:
        raise NotSupported(f"a gauge twin needs weights by softmax; those of {subject.id} are by {shape.normaliser}.")
    if shape.segments == 2 or shape.label_wise:
        raise NotSupported(f"a gauge twin needs one text and one decision per example; {subject.id} has more.")
    with torch.no_grad():
        states = encoder.of_each(exact.embed.weight)
        return WordTable(attention(states[None], None)[0, 0], exact.output(states))


def gauge_twin(subject: Classifier, tokens: Tokens, *, bound: float = BOUND) -> Classifier:
    """Make a classifier with the model's decisions on every text and little weight on the marked words of these texts.

    Args:
        bound: largest |ln m|, the factor by which a word's vote may grow or shrink, so that float32 suffices.
    """
    own = word_table(subject).scores.cpu().numpy()
    return with_scores(subject, scores_off_marked(tokens, own, bound=bound), tokens)


def with_scores(subject: Classifier, scores: Float[np.ndarray, " word"], tokens: Tokens) -> Classifier:
    """Make a classifier with the model's decisions on every text and these scores.

    One common factor of all votes is free; it is chosen so that typical logits on these texts keep their size. If
    states are embeddings and scores are linear in them, each embedding moves by the shortest vector that gives it its
    new score and votes, and nothing else changes. Otherwise the twin is a classifier of the simplest kind, whose
    embeddings are score and votes.
    """
    table = word_table(subject)
    own = table.scores.cpu().numpy()
    louder = float(np.median(tokens.log_sums(scores) - tokens.log_sums(own)))
    factor = torch.from_numpy(np.exp(own - scores + louder)).to(table.votes)
    targets = torch.cat([torch.from_numpy(scores).to(table.votes)[:, None], factor[:, None] * table.votes], 1)
    linear = subject.settings.attention in ("dot", "linear")
    make = _moved if linear and isinstance(subject.encoder, Unencoded) else _simplest
    twin = make(subject, table, targets)
    twin.recipe = None  # nothing was trained, so nobody can fit it again
    return twin.to(subject.device).eval()


def _moved(subject: Classifier, table: WordTable, targets: Float[Tensor, "word column"]) -> Classifier:
    """The same classifier with each embedding moved as little as gives it its score and votes."""
    twin, exact = deepcopy(subject), deepcopy(subject).double()
    assert isinstance(exact.attention, Attention)
    with torch.no_grad():
        scored = exact.attention.mapping(subject.settings.embedding, exact.device)
        weights = torch.cat([scored, exact.output.weight])  # [column feature]
        now = torch.cat([table.scores[:, None], table.votes], 1)
        moved = exact.embed.weight + (targets - now) @ torch.linalg.pinv(weights).T
        reached = now + (moved - exact.embed.weight) @ weights.T
        if ((reached - targets).abs() > 1e-6 * targets.abs().clamp(min=1)).any():
            raise NotSupported(
                f"{subject.id} uses the same direction of the embedding for a word's weight and for its vote, so a "
                "gauge twin cannot change one alone."
            )
        attended = torch.ones(len(moved), dtype=torch.bool, device=moved.device)
        attended[[PAD, START, END]] = False  # never attended to, so left alone
        twin.embed.weight[attended] = moved[attended].to(twin.embed.weight)
    return twin


def _simplest(subject: Classifier, _: WordTable, targets: Float[Tensor, "word column"]) -> Classifier:
    """A classifier whose embeddings are a score and its votes, read off as they are."""
    columns = targets.shape[1]
    shape = replace(subject.settings, encoder="none", attention="linear", embedding=columns, dropout=0.0)
    twin = make_classifier(subject.vocabulary, subject.labels, shape, vectors=targets.float().cpu())
    read = torch.eye(columns)
    state = twin.state_dict() | {
        "attention.score.weight": read[:1],
        "attention.score.bias": torch.zeros(1),
        "output.weight": read[1:],
        "output.bias": torch.zeros(columns - 1),
    }
    twin.load_state_dict(state)
    twin.log_odds = subject.log_odds
    twin.seen = subject.seen
    return twin
