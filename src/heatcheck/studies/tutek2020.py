"""Tutek & Šnajder 2020, "Staying True to Your Word": states that still say which word they stand at.

A BiLSTM with attention, the same with states tied to their words' embeddings, and the same that also predicts hidden
words. Beside them stand temperature twins of the first, and a model without an encoder, whose states are embeddings:
what treated models gain may only be that their states know less of the context.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heatcheck.data import read_vectors
from heatcheck.engine import Facts
from heatcheck.studies.cells import Cell
from heatcheck.studies.corpora import Source, as_released
from heatcheck.studies.of_treatments import Kind, cell_of, entropy_of, twin_work
from heatcheck.studies.of_treatments import gather as gather_kinds
from heatcheck.studies.study import (
    ALL,
    NO_VECTORS,
    TEXTS,
    VECTORS,
    Found,
    Gathered,
    Piece,
    Place,
    Study,
    setting,
)

TASKS = ("sst", "imdb_small")
VERSION = 1
WIDTH = 300  # of embeddings that start at random
CHECKS: dict[str, Facts] = {
    "flips": {"explainers": [], "random_orders": 1, "draws": 200},
    "necessity": {"draws": 200},
    "permutation": {"draws": 200},
    "states": {"draws": 200},
}


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the names of the result folders."""

    tasks: tuple[str, ...] = setting(("sst",), "Tasks.")
    seeds: int = setting(5, "Models per kind.")
    tying: tuple[float, ...] = setting((0.1, 1.0, 10.0), "Weights λ of tying in the loss.")
    masked_words: tuple[float, ...] = setting((0.1, 1.0), "Weights η of the prediction of hidden words in the loss.")
    examples: int = setting(500, "Test examples, the same for every model of a task.")
    vectors: str | None = setting(None, VECTORS, none=NO_VECTORS, file=True)
    epochs: int = setting(5, "Epochs per training run.")
    texts: int | None = setting(None, TEXTS, none=ALL)


QUICK = Settings(seeds=2, tying=(1.0,), masked_words=(0.1,), examples=30, epochs=1, texts=60)


def kinds_of(settings: Settings) -> list[Kind]:
    """The untreated model, the treated ones by strength, and the model without an encoder."""
    width = WIDTH if settings.vectors is None else read_vectors(settings.vectors, ["the"]).matrix.shape[1]
    base: dict[str, Any] = {
        "preset": "jw-release",
        "encoder": "lstm",
        "attention": "tanh",
        "vectors": settings.vectors,
        "hidden": width // 2,  # states as wide as embeddings
        "epochs": settings.epochs,
        "clip": 1.0,
        "weight_decay": 0.0,
        "reduction": "mean",
        "class_weight": False,
        "min_documents": 5,
        "select": "accuracy",
        "skip_first": False,
    }
    treated = [("tying", strength) for strength in settings.tying]
    treated += [("masked_words", strength) for strength in settings.masked_words]
    return [
        Kind("base", base, treated=False),
        *(
            Kind(f"{name}_{strength:g}", {**base, "treatment": {"name": name, "strength": strength}})
            for name, strength in treated
        ),
        Kind("no_encoder", {**base, "encoder": "none"}, treated=False),
    ]


def cells_of(settings: Settings, kind: Kind) -> list[Cell]:
    """One cell per task and seed."""
    return [
        cell_of(kind, task, seed, CHECKS, settings.examples)
        for task in settings.tasks
        for seed in range(settings.seeds)
    ]


def corpora(settings: Settings) -> dict[str, Source]:
    return {task: Source(as_released(task), settings.texts) for task in settings.tasks}


def plan(settings: Settings, place: Place, found: Found) -> Iterator[Sequence[Piece]]:
    """All models, then the temperature twins, which need two models each."""
    kinds = kinds_of(settings)
    yield [cell for kind in kinds for cell in cells_of(settings, kind)]
    untreated = cells_of(settings, kinds[0])
    yield [
        twin_work(VERSION, base, cell, found.corpora[cell.task], found, place)
        for kind in kinds
        if kind.treated
        for base, cell in zip(untreated, cells_of(settings, kind), strict=True)
        if {base.name, cell.name} <= found.measured.keys()
    ]


def gather(settings: Settings, found: Found) -> Gathered:
    """All models as one result."""
    return gather_kinds(settings.tasks, kinds_of(settings), found, smoke=settings.texts is not None, not_comparable="")


SMOKE = "This is a smoke run: a few texts, one epoch, two seeds. Ignore its numbers."
NOTES = (
    "No published number stands here: we could not re-read the paper's, and its code was not found. The tying loss "
    "and the settings are those of its authors' code of 2023. Their word vectors have 300 numbers (GloVe).",
    "Each state has as many numbers as an embedding, in the base model too. A state's own word is found if no "
    "embedding of another word of the text is nearer, by cosine. It is read from the state itself, and from a linear "
    "map of it that is fitted on other texts.",
    "Tying can be satisfied by short vectors. So the table has the mean length of states and of embeddings.",
    "A temperature twin is the base model with its attention scores times a constant. On dev, its weights have the "
    "mean entropy of the treated model's. So it differs from the base model only in how sharp its weights are.",
    "The model without an encoder has embeddings as states. It shows what a state without any context gives.",
    "The paper's adversaries were not run again.",
)

tutek2020 = Study(
    name="tutek2020",
    title="Staying true to your word, reproduced",
    paper="Tutek & Šnajder 2020, Staying True to Your Word: (How) Can Attention Become Explanation? (RepL4NLP)",
    about="states that still say which word they stand at: tying, masked words, replaced weights",
    tasks=TASKS,
    settings=Settings,
    quick=QUICK,
    version=VERSION,
    corpora=corpora,
    plan=plan,
    gather=gather,
    more=entropy_of,
    notes=NOTES,
    smoke=SMOKE,
    table=Path(__file__).with_suffix(".csv"),
)
