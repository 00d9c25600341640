"""Quality of generated texts (free running), and where attention points during generation."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy.stats import binomtest
from torch import Tensor

from heatcheck import stats
from heatcheck.data import Batch, Example
from heatcheck.engine import Facts, stream
from heatcheck.errors import BadInput
from heatcheck.models import Run, Seq2Seq, generated_words, readable_keys, uniform_weights
from heatcheck.models.contract.memory import in_memory
from heatcheck.models.seq2seq.model import NOT_DECIDED
from heatcheck.stats import Interval
from heatcheck.training.evaluation import batches_by_length
from heatcheck.training.imposed import Parent, imposed

PLACES = (-3, -2, -1, 1, 2, 3)  # beside a linked token: where weight goes that is kept off it


class OnLinks(NamedTuple):
    """Weight on what the data links to each word, and how well the heaviest token finds the links."""

    mass: Interval  # share of all weight, pooled over words and end marks, as published
    mass_of_uniform: float  # the same of uniform weights
    most_mass: float  # share of steps that have a link at all: an end mark has none
    error_rate: Interval  # of links from each word to its heaviest source word, none where that is a mark
    error_rate_of_diagonal: float  # the same of links at the same share of the way
    beside: dict[str, float]  # share of all weight so many tokens after a linked one (before it: negative)
    on_ends: dict[str, float]  # and on the first and on the last token of the source, marks where it has them


class Seq2SeqScores(NamedTuple):
    """Free running, as many words as the right text has. Intervals resample texts, not words."""

    n: int
    words: int  # end marks too
    accuracy: Interval  # of words at their place
    exact: Interval  # share of texts without a mistake, with its Wilson interval
    majority: float  # share of the commonest word
    bleu: Interval  # corpus BLEU-4 as stats.bleu has it, 0 to 100
    bleu_of_others: float  # the same where each text is held against another's
    links: OnLinks | None  # None where the data links no words
    evenness: Interval  # of each step's weights, their entropy over that of uniform ones; a mean over words

    def facts(self) -> dict[str, object]:
        """As plain JSON."""
        plain = {name: _plain(value) for name, value in self._asdict().items()}
        return plain | {
            "links": None if self.links is None else {k: _plain(v) for k, v in self.links._asdict().items()}
        }


class _Generated(NamedTuple):
    """What is kept of one text."""

    found: list[str]
    wanted: list[str]
    right: int
    steps: int
    mass: tuple[float, float, float] | None  # own, of uniform weights, steps with a link
    beside: list[float]  # weight at each of PLACES, on the first and on the last token
    evenness: float  # summed over steps
    heaviest: set[tuple[int, int]]  # links from each word to its heaviest source word


@torch.inference_mode()
def evaluate_seq2seq(
    subject: Seq2Seq,
    examples: Iterable[Example],
    *,
    impose: Facts | None = None,
    parent: Parent | None = None,
    batch_size: int = 128,
    told: bool = False,
    seed: int = 0,
) -> Seq2SeqScores:
    """Score the texts that the model generates; with `told`, its next words given the right words so far."""
    examples = tuple(examples)
    if not examples:
        raise BadInput("there are no examples to generate from. Give at least one.")
    site = subject.sites[-1]
    ask: Callable[..., Run] = subject.run if told else subject.generate

    def write(indices: list[int]) -> list[_Generated]:
        batch = subject.encode([examples[i] for i in indices])
        run = ask(batch, edits=imposed(subject, batch, impose, parent), want=[site])
        return _of_each_text(subject, batch, run, run.parts[site].mean(1))

    found: dict[int, _Generated] = {}
    for indices, rows in in_memory(batches_by_length(examples, batch_size), write):
        found.update(zip(indices, rows, strict=True))
    return _scores(examples, [found[i] for i in range(len(examples))], seed)


def _of_each_text(subject: Seq2Seq, batch: Batch, run: Run, weights: Tensor) -> list[_Generated]:
    """A text at a time; `weights` [example step token] are a mean over heads."""
    assert batch.gold is not None
    chosen, decided = run.logits.argmax(-1), batch.gold != NOT_DECIDED
    right, steps = ((chosen == batch.gold) & decided).sum(1).tolist(), decided.sum(1).tolist()
    masses: list[tuple[float, float, float]] | None = None
    if batch.aligned is not None:
        even = uniform_weights(readable_keys(subject, batch))[:, 0].expand_as(weights)
        linked, real = batch.aligned.cpu().numpy(), decided.cpu().numpy()
        own, uniform = (stats.aligned_mass(w.double().cpu().numpy(), linked, real)[:, 0] for w in (weights, even))
        masses = list(zip(own.tolist(), uniform.tolist(), linked.any(-1).sum(1).astype(float).tolist(), strict=True))
    links = torch.zeros_like(weights, dtype=torch.bool) if batch.aligned is None else batch.aligned
    beside = weight_beside(weights * decided[..., None], links, batch.valid).tolist()
    real_keys = batch.valid[:, None].expand_as(weights).flatten(0, 1).cpu().numpy()
    own_rows = weights.double().flatten(0, 1).cpu().numpy()
    own_rows = own_rows / own_rows.sum(1, keepdims=True)  # in float32 they sum to 1 but for the last digits
    even_steps = stats.evenness(own_rows, real_keys).reshape(chosen.shape)
    evenness = (even_steps * decided.cpu().numpy()).sum(1).tolist()
    heaviest = batch.word.take_along_dim(weights.argmax(-1), 1).tolist()  # [example step]: a word, −1 for a mark
    numbers, gold = chosen.tolist(), batch.gold.tolist()
    return [
        _Generated(
            generated_words(subject, numbers[row][: steps[row]]),
            generated_words(subject, gold[row][: steps[row]]),
            right[row],
            steps[row],
            None if masses is None else masses[row],
            beside[row],
            evenness[row],
            {(word, step) for step, word in enumerate(heaviest[row][: steps[row] - 1]) if word >= 0},
        )
        for row in range(len(batch))
    ]


def weight_beside(
    weights: Float[Tensor, "example decision token"],
    linked: Bool[Tensor, "example decision token"],
    valid: Bool[Tensor, "example token"],
) -> Float[Tensor, "example column"]:
    """Weight at each of PLACES from the linked tokens, then on the first and on the last token, summed over steps.

    >>> weights, linked = torch.tensor([[[0.7, 0.2, 0.1]]]), torch.tensor([[[False, True, False]]])
    >>> found = weight_beside(weights, linked, torch.ones(1, 3, dtype=torch.bool))[0]
    >>> [round(float(weight), 1) for weight in found]
    [0.0, 0.0, 0.7, 0.1, 0.0, 0.0, 0.7, 0.1]
    """
    tokens = weights.shape[-1]
    found = []
    for places in PLACES:
        there = torch.zeros_like(linked)
        if abs(places) < tokens:
            there[..., max(places, 0) : tokens + min(places, 0)] = linked[
                ..., max(-places, 0) : tokens - max(places, 0)
            ]
        found.append((weights * there).sum((1, 2)))
    of_tokens = weights.sum(1)
    last = of_tokens.take_along_dim(valid.sum(1, keepdim=True) - 1, 1)
    return torch.stack([*found, of_tokens[:, 0], last[:, 0]], dim=1)


def _scores(examples: Sequence[Example], rows: Sequence[_Generated], seed: int) -> Seq2SeqScores:
    steps = np.array([row.steps for row in rows], dtype=float)
    right = np.array([row.right for row in rows], dtype=float)
    found, wanted = [row.found for row in rows], [row.wanted for row in rows]
    exact = binomtest(int((right == steps).sum()), len(rows))
    ends = exact.proportion_ci(0.95, method="wilson")
    counts = np.unique(np.concatenate([np.array([*words, "</s>"]) for words in wanted]), return_counts=True)[1]
    others = wanted[1:] + wanted[:1]
    return Seq2SeqScores(
        n=len(rows),
        words=int(steps.sum()),
        accuracy=stats.bootstrap_interval(
            np.stack([right, steps], axis=1), stats.ratio_of_means, generator=stream(seed, "words")
        ),
        exact=Interval(float(exact.statistic), float(ends.low), float(ends.high), len(rows)),
        majority=float(counts.max() / counts.sum()),
        bleu=stats.bootstrap_interval(stats.bleu_counts(found, wanted), stats.bleu, generator=stream(seed, "bleu")),
        bleu_of_others=float(stats.bleu(stats.bleu_counts(found, others).mean(axis=0, keepdims=True))[0]),
        links=_on_links([pair for pair in zip(examples, rows, strict=True) if pair[0].alignment is not None], seed),
        evenness=stats.bootstrap_interval(
            np.stack([[row.evenness for row in rows], steps], axis=1),
            stats.ratio_of_means,
            generator=stream(seed, "evenness"),
        ),
    )


def _on_links(pairs: Sequence[tuple[Example, _Generated]], seed: int) -> OnLinks | None:
    """Of texts whose links are known: of others nobody can say what is wrong."""
    if not pairs:
        return None
    rows = [row for _, row in pairs]
    steps, masses = np.array([row.steps for row in rows], dtype=float), np.array([row.mass for row in rows])
    known = [set(example.alignment or ()) for example, _ in pairs]
    counted = stats.alignment_counts([row.heaviest for row in rows], known, known)
    diagonal = [stats.diagonal_links(len(example.words), row.steps - 1) for example, row in pairs]
    of_diagonal = stats.alignment_counts(diagonal, known, known).mean(axis=0, keepdims=True)
    elsewhere = np.array([row.beside for row in rows]).sum(axis=0) / steps.sum()
    return OnLinks(
        mass=stats.bootstrap_interval(
            np.stack([masses[:, 0], steps], axis=1), stats.ratio_of_means, generator=stream(seed, "mass")
        ),
        mass_of_uniform=float(masses[:, 1].sum() / steps.sum()),
        most_mass=float(masses[:, 2].sum() / steps.sum()),
        error_rate=stats.bootstrap_interval(counted, stats.alignment_error_rate, generator=stream(seed, "links")),
        error_rate_of_diagonal=float(stats.alignment_error_rate(of_diagonal)[0]),
        beside={f"{places:+d}": float(share) for places, share in zip(PLACES, elsewhere, strict=False)},
        on_ends={"first": float(elsewhere[-2]), "last": float(elsewhere[-1])},
    )


def _plain(value: object) -> object:
    return value._asdict() if isinstance(value, Interval) else value
