"""How far the parameters of a gauge twin are from its base, and the twin that goes no farther than another seed does.

A twin without a limit can be objected to: its parameters may be ones that no training would reach. The unit here is the
distance between honest models that differ in their seed alone. Two distances are measured, because neither is enough:

- `parameters`: of all embeddings and the attention's and decoder's weights, after the rotation of the embedding space
  that brings the other model closest. A rotation changes nothing that a model of this kind does.
- `words`: of each word's score and votes, which is all that the model computes from its parameters, as a root mean
  square over the tokens of some texts. Scores are centred, because a constant changes no weight.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Example
from heatcheck.data.vocabulary import END, PAD, START
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models.classifiers.attention import Attention
from heatcheck.models.classifiers.classifier import Classifier
from heatcheck.models.classifiers.context_free import Unencoded
from heatcheck.models.classifiers.gauge_twin import word_table

HALVINGS = 14  # of the path from the model to its twin: a place to 1 in 16,000


class Distance(NamedTuple):
    """How far one model is from another."""

    parameters: float  # Euclidean, over all that the model learns
    words: float  # root mean square of score and votes per token, in nats
    embedding: float  # the parts of `parameters`
    attention: float
    decoder: float

    def ratios(self, unit: "Distance") -> dict[str, float]:
        """Each distance as a share of another; parts as shares of the same part."""
        return {name: own / of if of else float("inf") if own else 0.0 for name, own, of in self._pairs(unit)}

    def _pairs(self, unit: "Distance") -> list[tuple[str, float, float]]:
        return [(name, getattr(self, name), getattr(unit, name)) for name in self._fields]


class Frequencies(NamedTuple):
    """How often each vocabulary word stands in some texts."""

    counts: Float[np.ndarray, " word"]

    @classmethod
    def of(cls, subject: Classifier, examples: Iterable[Example]) -> "Frequencies":
        words = [word for example in examples for word in subject.vocabulary.look_up(example.text)[0]]
        return cls(np.bincount(np.array(words, dtype=int), minlength=len(subject.vocabulary)).astype(float))


def require_bare(subject: Classifier) -> None:
    """Raise NotSupported unless states are embeddings and scores are linear in them: then twins have the same size."""
    if subject.settings.attention not in ("dot", "linear") or not isinstance(subject.encoder, Unencoded):
        raise NotSupported(
            f"a distance between parameters needs embeddings under linear or dot attention, as with --encoder none. "
            f"The gauge twin of {subject.id} has other parameters than the model."
        )
    word_table(subject)  # raises for pairs, and for several decisions


def distance(base: Classifier, other: Classifier, often: Frequencies) -> Distance:
    """How far a model with the same vocabulary is from the base; see the module's words."""
    for model in (base, other):
        require_bare(model)
    if base.vocabulary.tokens != other.vocabulary.tokens or base.settings != other.settings:
        raise BadInput(f"{other.id} has another vocabulary or other settings than {base.id}: compare models of a kind.")
    own, theirs = _blocks(base), _blocks(other)
    apart = [rows - given for rows, given in zip(_turned(theirs, own), own, strict=True)]
    biases = [_biases(base, other, part) for part in ("attention", "output")]
    squares = [float(rows.square().sum()) for rows in apart]
    parts = [squares[0], squares[1] + biases[0], squares[2] + biases[1]]
    return Distance(sum(parts) ** 0.5, _of_words(base, other, often), *(part**0.5 for part in parts))


def nearest_seed(base: Classifier, seeds: Sequence[Classifier], often: Frequencies) -> Distance:
    """The least distance of each kind to any of these models."""
    found = [distance(base, seed, often) for seed in seeds]
    return Distance(*(min(of) for of in zip(*found, strict=True)))


class Within(NamedTuple):
    """A twin within a budget, and which share of the way to the whole twin it goes."""

    twin: Classifier
    share: float
    distance: Distance


def within_budget(
    base: Classifier, path: Callable[[float], Classifier], unit: Distance, budget: float, often: Frequencies
) -> Within:
    """The twin farthest along a path whose `parameters` and `words` are both at most `budget` units from the base.

    Args:
        path: twins by the share of the way, from the base itself at 0 to the whole twin at 1.
        unit: the distance that a budget of 1 is, such as that of the nearest seed.
    """
    if not 0 < budget < np.inf:
        raise BadInput(f"budget must be a finite number above 0, not {budget}.")

    def fits(share: float) -> bool:
        ratios = distance(base, path(share), often).ratios(unit)
        return max(ratios["parameters"], ratios["words"]) <= budget

    low, high = 0.0, 1.0
    if fits(high):
        low = high
    else:
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if fits(middle) else (low, middle)
    twin = path(low)
    return Within(twin, low, distance(base, twin, often))


def _blocks(subject: Classifier) -> list[Float[Tensor, "_ feature"]]:
    """Embeddings, the attention's row and the decoder's rows; not those of marks that nothing attends to."""
    assert isinstance(subject.attention, Attention)
    embeddings = subject.embed.weight.detach().double().cpu()
    attended = torch.ones(len(embeddings), dtype=torch.bool)
    attended[[PAD, START, END]] = False
    rows = subject.attention.score.weight, subject.output.weight  # type: ignore[union-attr]  # `require_bare`
    return [embeddings[attended], *(row.detach().double().cpu() for row in rows)]


def _turned(
    theirs: Sequence[Float[Tensor, "_ feature"]], own: Sequence[Float[Tensor, "_ feature"]]
) -> list[Float[Tensor, "_ feature"]]:
    """Their rows after the rotation (or reflection) that brings them closest to ours: orthogonal Procrustes."""
    left, _, right = torch.linalg.svd(torch.cat([*theirs]).T @ torch.cat([*own]))
    return [rows @ (left @ right) for rows in theirs]


def _biases(base: Classifier, other: Classifier, part: str) -> float:
    """The squared difference of a part's biases."""
    own, theirs = (
        {name: value for name, value in getattr(model, part).state_dict().items() if name.endswith("bias")}
        for model in (base, other)
    )
    return sum((float((own[name] - theirs[name]).double().square().sum()) for name in own), 0.0)


def _of_words(base: Classifier, other: Classifier, often: Frequencies) -> float:
    """The root mean square difference of score and votes over tokens."""
    share = torch.from_numpy(often.counts / often.counts.sum())
    own, theirs = (
        torch.cat([(table.scores - share @ table.scores)[:, None], table.votes], 1)
        for table in (_on_cpu(base), _on_cpu(other))
    )
    return float((share @ (own - theirs).square()).sum() ** 0.5)


class _Table(NamedTuple):
    scores: Float[Tensor, " word"]
    votes: Float[Tensor, "word output"]


def _on_cpu(subject: Classifier) -> _Table:
    table = word_table(subject)
    return _Table(table.scores.cpu(), table.votes.cpu())
