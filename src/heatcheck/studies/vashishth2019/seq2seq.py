"""The third kind of task of Vashishth et al. 2019: sequence to sequence, where every generated word attends again.

The models are those of pruthi2020_sequences without a penalty. heatcheck imposes other weights while they generate
freely. The same seeds also train with uniform weights and with all weight on the first source position.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from heatcheck.checks.other_weights import SWAPS
from heatcheck.data import Corpus
from heatcheck.data.seq2seq import KINDS
from heatcheck.engine import Facts
from heatcheck.models import Recipe
from heatcheck.results import Key, Model, Row, key
from heatcheck.studies.corpora import Source, sizes_of, stands_in
from heatcheck.studies.rows import Where, row_of
from heatcheck.studies.study import Found
from heatcheck.training import plan_recipe

SEQUENCES = ("bigram_flip", "sequence_copy", "sequence_reverse", "multi30k")
PRESET = "pruthi-seq2seq"
TEXTS = 20_000  # to learn a generated task from
RETRAINED = ("uniform", "first")  # the others are imposed at test time only
ENCODER, ATTENTION = "gru", "additive"
UNPUBLISHED = "the paper translates other texts, and its numbers could not be re-read"


class Part(NamedTuple):
    """What a study page shows of the sequence-to-sequence tasks."""

    rows: list[Row]
    models: list[Model]
    tasks: dict[str, Facts]


def source_of(task: str, texts: int | None) -> Source:
    """All of a task, or the first texts of each split."""
    return Source(task, first=texts, drawn=texts or TEXTS, substitute="bigram_flip")


def recipes_of(corpora: Mapping[str, Corpus], *, seeds: int, changes: Facts) -> dict[str, tuple[Recipe, Corpus]]:
    """Every model by name: learned weights, and others imposed in training; `changes` are to the preset."""
    return {
        _name(task, weights, seed): (_recipe(corpus, weights, seed, changes), corpus)
        for task, corpus in corpora.items()
        for weights in ("learned", *RETRAINED)
        for seed in range(seeds)
    }


def gather_scores(found: Found, seeds: int) -> Part:
    """The rows of the sequence-to-sequence tasks."""
    part = Part([], [], {})
    for task, corpus in found.corpora.items():
        # Paired by seed: a seed counts if it was trained with every kind of weights.
        whole = [s for s in range(seeds) if all(_name(task, w, s) in found.kept for w in ("learned", *RETRAINED))]
        if not whole or task not in SEQUENCES:
            continue
        of_task = {w: [found.kept[_name(task, w, seed)] for seed in whole] for w in ("learned", *RETRAINED)}
        where = (task, ENCODER, ATTENTION)
        part.rows.extend(
            row_of(Where(*where, quantity), values, None, "") for quantity, values in values_of(task, of_task).items()
        )
        part.models.append(Model(*where, (), len(whole), {}, ()))
        part.tasks[task] = _about(found.sources[task], corpus)
    return part


def values_of(task: str, scores: Mapping[str, Sequence[Facts]]) -> dict[Key, list[float]]:
    """Every quantity of a task, one value per seed, from the scores of its models by their training weights."""
    found = dict(_put_in(task, scores["learned"]))
    learned = np.array(found[key("put_in", weights="own")])
    trained = {"learned": learned} | {kind: _accuracies(scores[kind], "test") for kind in RETRAINED}
    found |= {key("trained", weights=kind): values.tolist() for kind, values in trained.items()}
    found |= {key("lost_trained", weights=kind): (learned - trained[kind]).tolist() for kind in RETRAINED}
    if task not in KINDS:
        found |= {key("bleu_trained", weights=kind): _bleus(scores[kind], "own") for kind in RETRAINED}
    commonest = found[key("commonest")][0]
    # As for labels: compared with the better of the two without learned weights, chosen on dev.
    better = max(RETRAINED, key=lambda kind: float(_accuracies(scores[kind], "dev").mean()))
    room = learned - commonest
    found[key("headroom", against="retrained")] = room.tolist()
    if (room > 0).all():  # a share of nothing says nothing
        found[key("N", against="retrained")] = ((learned - trained[better]) / room).tolist()
        found[key("index")] = ((learned - trained["uniform"]) / learned).tolist()
    return found


def _put_in(task: str, learned: Sequence[Facts]) -> Iterator[tuple[Key, list[float]]]:
    """The effect of imposing other weights on trained models."""
    yield key("commonest"), [learned[0]["test"]["own"]["majority"]]
    own = _accuracies(learned, "test")
    yield key("put_in", weights="own"), own.tolist()
    for kind in SWAPS:
        put_in = np.array([one["test"][kind]["accuracy"]["value"] for one in learned])
        yield key("put_in", weights=kind), put_in.tolist()
        yield key("lost_put_in", weights=kind), (own - put_in).tolist()
    yield key("evenness"), [one["test"]["own"]["evenness"]["value"] for one in learned]
    if task not in KINDS:
        for kind in ("own", *SWAPS):
            yield key("bleu_put_in", weights=kind), _bleus(learned, kind)


def _accuracies(scores: Sequence[Facts], split: str) -> np.ndarray:
    """Accuracy under the weights a model was trained with, one value per seed."""
    found = (one["test"]["own"] if split == "test" else one["dev"] for one in scores)
    return np.array([of["accuracy"]["value"] for of in found])


def _bleus(scores: Sequence[Facts], kind: str) -> list[float]:
    return [one["test"][kind]["bleu"]["value"] for one in scores]


def _name(task: str, weights: str, seed: int) -> str:
    return f"{task}, {weights} weights, seed {seed}"


def _recipe(corpus: Corpus, weights: str, seed: int, changes: Facts) -> Recipe:
    given: dict[str, Any] = dict(changes)
    if weights != "learned":
        given["impose"] = {"weights": weights}
    return plan_recipe(corpus, preset=PRESET, seed=seed, **given)


def _about(source: Source, corpus: Corpus) -> dict[str, Any]:
    how = f"trained with learned, {' and '.join(RETRAINED)} weights; the others imposed at test time"
    return {
        "task": source.task,
        "published": source.task,
        "labels": [],
        **sizes_of(corpus),
        "segments": 2,
        "written": True,
        "differs": "; ".join(filter(None, (stands_in(source), how))),
        "not_comparable": UNPUBLISHED,
        "not_run": {},
    }
