"""How a model uses words that the data marks: their weight, effect on accuracy, and traces in other words' states.

A word without weight can still affect the answer. The hidden state of a neighbour may carry it; a large embedding or
state can make up for a small weight; and the contribution, weight times relevance, need not fall with the weight. The
check measures these in honest and in deceptive models, because each says little alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.checks.gauge import Answer
from heatcheck.data import Batch, Example
from heatcheck.engine import Facts
from heatcheck.errors import NotSupported
from heatcheck.explainers import REMOVALS
from heatcheck.models import Run, Site, Subject, response
from heatcheck.training import batches_by_length, predict

MARKS = ("impermissible", "rationale")  # tried in this order if none is named
DISTANCES = (1, 2, 3)  # of a word from the nearest marked one
EMBEDDING, STATE = Site("embedding"), Site("state")
PENALTY = 0.01  # of the linear read-out, per text and standardised feature
Values = Float[np.ndarray, " example"]


def find_mark(examples: Sequence[Example], wanted: str) -> str:
    """The mark that was asked for, or the first of MARKS that these texts have."""
    there = sorted({name for example in examples for name in example.marks})
    for name in (wanted,) if wanted else MARKS:
        if name in there:
            return name
    other = f", or choose one of theirs ({', '.join(there)}) with --set deception.mark" if there else ""
    raise NotSupported(
        f"deception needs marked words, and no text marks any as {wanted or ' or '.join(MARKS)}. Add such a "
        f"column{other}."
    )


@dataclass(frozen=True)
class Marked:
    """Texts with marked and other words, the same without the marked ones, and the texts left out with reasons."""

    mark: str
    examples: tuple[Example, ...]
    without: tuple[Example, ...]
    excluded: Mapping[str, str]

    @classmethod
    def of(cls, subject: Subject, examples: Sequence[Example], mark: str) -> "Marked":
        """Choose the usable texts; raises NotSupported if there are none."""
        excluded: dict[str, str] = {}
        for start in range(0, len(examples), 512):
            part = examples[start : start + 512]
            batch = subject.encode(part)
            marked = marked_tokens(batch, mark)
            some, rest = marked.any(1).tolist(), (batch.scored & ~marked).any(1).tolist()
            for example, has_marked, has_others in zip(part, some, rest, strict=True):
                if not has_marked:
                    excluded[example.id] = f"none of its words is marked {mark}"
                elif not has_others:
                    excluded[example.id] = f"all of its words are marked {mark}, and nothing is left without them"
        kept = tuple(example for example in examples if example.id not in excluded)
        if not kept:
            raise NotSupported(f"no text has both words marked {mark} and other words.")
        return cls(mark, kept, tuple(_without(example, mark) for example in kept), excluded)


def marked_tokens(batch: Batch, mark: str) -> Bool[Tensor, "example token"]:
    """A mask of scored tokens with this mark; all False if no example of the batch has it."""
    return batch.marks[mark] & batch.scored if mark in batch.marks else torch.zeros_like(batch.scored)


def shares(subject: Subject, texts: Marked) -> dict[str, Values]:
    """Each measure of weight under uniform weights: the share of tokens there."""
    rows: dict[int, dict[str, float]] = {}
    for indices, batch in _batches(subject, texts.examples):
        marked, tokens = marked_tokens(batch, texts.mark), batch.scored.sum(1)
        near = rings(marked, batch.scored)
        found = {"share": marked, **{f"neighbours_share:{d}": ring for d, ring in near.items()}}
        counts = {name: (of.sum(1) / tokens).tolist() for name, of in found.items()}
        rows |= {index: {name: of[row] for name, of in counts.items()} for row, index in enumerate(indices)}
    return _stacked(rows)


def rings(
    marked: Bool[Tensor, "example token"], scored: Bool[Tensor, "example token"]
) -> dict[int, Bool[Tensor, "example token"]]:
    """The scored tokens at each distance from the nearest marked one.

    >>> found = rings(torch.tensor([[False, True, False, False, False]]), torch.ones(1, 5, dtype=torch.bool))
    >>> [found[distance].int().tolist()[0] for distance in DISTANCES]
    [[1, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]
    """
    found, reached = {}, marked
    for distance in DISTANCES:
        wider = reached.clone()
        wider[:, 1:] |= reached[:, :-1]
        wider[:, :-1] |= reached[:, 1:]
        found[distance] = wider & ~reached & scored
        reached = wider
    return found


@dataclass(frozen=True)
class Looked:
    """One model's predicted labels and measures on the texts."""

    predicted: Int[np.ndarray, " example"]
    values: Mapping[str, Values]


@torch.no_grad()
def look(
    subject: Subject, texts: Marked, gold: Int[np.ndarray, " example"], train: Sequence[Example] = ()
) -> tuple[Looked, dict[str, str]]:
    """Measure how a model uses the marked words; also return the missing measures with reasons.

    Args:
        train: texts on which to fit a linear read-out of the other words' states.
    """
    rows: dict[int, dict[str, float]] = {}
    predicted: dict[int, int] = {}
    rest: dict[str, dict[int, np.ndarray]] = {}
    for indices, batch in _batches(subject, texts.examples):
        run = subject.run(batch, want=[subject.sites[-1], EMBEDDING, STATE])
        labels = run.logits[:, 0].argmax(-1)
        marked = marked_tokens(batch, texts.mark)
        found = _weights(subject, run, batch, marked) | _norms(run, batch, marked)
        found |= _contribution(subject, batch, marked, labels)
        listed = {name: of.tolist() for name, of in found.items()}
        rows |= {index: {name: of[row] for name, of in listed.items()} for row, index in enumerate(indices)}
        predicted |= dict(zip(indices, labels.tolist(), strict=True))
        for name, means in _means_of_rest(run, batch, marked).items():
            rest.setdefault(name, {}).update(zip(indices, means, strict=True))
    values = _stacked(rows)
    answers = np.array([predicted[row] for row in range(len(texts.examples))])
    values["accuracy"] = (answers == gold).astype(float)
    values["after_deletion"] = (predict(subject, texts.without)[:, 0].argmax(-1) == gold).astype(float)
    missing = {} if "contribution" in values else {"contribution": f"the read-out of {subject.id} is not linear."}
    if train:
        values |= _read_from_rest(subject, texts, rest, gold, train)
    return Looked(answers, values), missing


def _weights(subject: Subject, run: Run, batch: Batch, marked: Tensor) -> dict[str, Tensor]:
    """The weight on marked tokens and near them, for the first decision, mean over heads."""
    weights = run.behind(run.parts[subject.sites[-1]].double()).mean(1)
    near = rings(marked, batch.scored)
    return {
        "mass": (weights * marked).sum(1),
        **{f"neighbours:{distance}": (weights * ring).sum(1) for distance, ring in near.items()},
    }


def _norms(run: Run, batch: Batch, marked: Tensor) -> dict[str, Tensor]:
    """The marked tokens' share of the norms of all embeddings, and of all hidden states."""
    found = {}
    for name, site in (("norm_embedding", EMBEDDING), ("norm_state", STATE)):
        lengths = run.parts[site].double().norm(dim=-1) * batch.scored
        found[name] = (lengths * marked).sum(1) / lengths.sum(1).clamp(min=1e-300)
    return found


def _contribution(subject: Subject, batch: Batch, marked: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """The marked tokens' share of all contributions to the answer; empty if the read-out is not linear."""
    found = response(subject, batch)
    if found.relevance is None or found.bias is None:
        return {}
    weights = found.attention[:, 0].mean(1).double().cpu().numpy()
    votes = (found.relevance[:, 0] + found.bias[:, 0, None]).double().cpu().numpy()
    each = Answer.of(weights, votes).contributions(labels.cpu().numpy())
    return {"contribution": torch.from_numpy((each * marked.cpu().numpy()).sum(1))}


def _means_of_rest(run: Run, batch: Batch, marked: Tensor) -> dict[str, Float[np.ndarray, "example feature"]]:
    """The mean embedding and the mean state of the tokens that are not marked."""
    rest = (batch.scored & ~marked).double()
    found = {}
    for name, site in (("rest_embeddings", EMBEDDING), ("rest_states", STATE)):
        total = torch.einsum("et,etf->ef", rest, run.parts[site].double())
        found[name] = (total / rest.sum(1, keepdim=True).clamp(min=1)).cpu().numpy()
    return found


def _read_from_rest(
    subject: Subject,
    texts: Marked,
    rest: Mapping[str, Mapping[int, np.ndarray]],
    gold: Int[np.ndarray, " example"],
    train: Sequence[Example],
) -> dict[str, Values]:
    """Whether a linear read-out of the unmarked words is right, per text: from their states and from embeddings."""
    learned: dict[str, dict[int, np.ndarray]] = {}
    for indices, batch in _batches(subject, train):
        run = subject.run(batch, want=[EMBEDDING, STATE])
        for name, means in _means_of_rest(run, batch, marked_tokens(batch, texts.mark)).items():
            learned.setdefault(name, {}).update(zip(indices, means, strict=True))
    labels = np.array([example.label for example in train])
    return {
        name: (linear_read_out(_in_order(learned[name]), labels, _in_order(rest[name])) == gold).astype(float)
        for name in rest
    }


def linear_read_out(
    features: Float[np.ndarray, "text feature"],
    labels: Int[np.ndarray, " text"],
    asked: Float[np.ndarray, "example feature"],
) -> Int[np.ndarray, " example"]:
    """Labels by ridge regression on each label's indicator, fitted on standardised features.

    >>> features = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    >>> linear_read_out(features, np.array([0, 0, 1, 1]), np.array([[0.5, 5.0], [2.5, 5.0]])).tolist()
    [0, 1]
    """
    centre, spread = features.mean(0), features.std(0)
    spread = np.where(spread > 0, spread, 1.0)
    scaled, wanted = (features - centre) / spread, np.eye(labels.max() + 1)[labels]
    table = scaled.T @ scaled + PENALTY * len(features) * np.eye(features.shape[1])
    weights = np.linalg.solve(table, scaled.T @ wanted)  # features are centred, so each label's share is its intercept
    return np.asarray((((asked - centre) / spread) @ weights + wanted.mean(0)).argmax(1))


def _without(example: Example, mark: str) -> Example:
    return REMOVALS["deletion"](example, {place for place, marked in enumerate(example.marks[mark]) if marked})


def _batches(subject: Subject, examples: Sequence[Example]) -> Iterator[tuple[list[int], Batch]]:
    for indices in batches_by_length(examples, 128):
        yield indices, subject.encode([examples[i] for i in indices])


def _in_order(rows: Mapping[int, np.ndarray]) -> Float[np.ndarray, "example feature"]:
    return np.stack([rows[place] for place in range(len(rows))])


def _stacked(rows: Mapping[int, Facts]) -> dict[str, Values]:
    """Values by name, each in the order of the examples."""
    return {name: np.array([rows[row][name] for row in range(len(rows))], dtype=float) for name in rows[0]}
