"""How heads formed in the runs of a study (olsson2022), as the local page (`heatcheck serve`) plays it.

The study's folder holds the numbers at each look and, at some, the map of one head. They are read once, when the page
starts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from heatcheck.errors import BadInput
from heatcheck.results import Model, StudyResult, read_study

CURVES = {
    "prefix_matching": "prefix matching: weight on what followed before",
    "previous_token": "weight on the previous token, layer 1",
    "in_context": "in-context score, nats; lower: context helps more",
    "loss": "loss on held-out texts, nats per token",
}


class HeadRun(BaseModel):
    """One run that can be played."""

    id: str
    kind: str
    seed: int


class HeadRuns(BaseModel):
    """The runs of the study that the page was started with."""

    title: str
    runs: list[HeadRun]


class AskedHeadRun(BaseModel):
    """A request for one run."""

    model_config = ConfigDict(extra="forbid", strict=True)

    run: Annotated[str, Field(max_length=200, description="Id of the run, from /api/head-runs.")]


class HeadCurve(BaseModel):
    """A number at each look."""

    name: str
    title: str
    values: list[float]


class HeadsSeen(BaseModel):
    """One run: numbers at all looks, and the map of its best head at some of them."""

    run: HeadRun
    steps: list[int]
    curves: list[HeadCurve]
    head: str  # layer.head, the best at the end of training
    words: list[str]
    played: list[int]  # steps whose map is kept
    maps: list[list[list[float]]]  # [played query key]
    window: tuple[int, int] | None  # steps between which prefix matching rose; None: it did not
    met: bool  # whether the run shows a phase change


@dataclass(frozen=True)
class HeadsOverTraining:
    """The runs of a study, by the id that the page uses."""

    title: str
    runs: Mapping[str, tuple[Model, int]]

    def overview(self) -> HeadRuns:
        """All runs, kind by kind."""
        return HeadRuns(title=self.title, runs=[_named(*one) for one in self.runs.values()])

    def one(self, asked: AskedHeadRun) -> HeadsSeen:
        """A run, by its id."""
        if asked.run not in self.runs:
            raise BadInput(f"no run {asked.run[:100]!r}: GET /api/head-runs lists the runs.")
        model, at = self.runs[asked.run]
        of = model.examples
        layer, head = of["best"][at].tolist()
        return HeadsSeen(
            run=_named(model, at),
            steps=of["steps"].tolist(),
            curves=[HeadCurve(name=name, title=title, values=_rounded(of[name][at])) for name, title in CURVES.items()],
            head=f"{layer}.{head}",
            words=letters(of["text"].tolist()),
            played=of["played"][at].tolist(),
            maps=[[_rounded(row) for row in seen] for seen in of["maps"][at] / 255],
            window=(int(of["begin"][at]), int(of["end"][at])) if of["risen"][at] else None,
            met=bool(of["met"][at]),
        )


def read_heads(folder: Path | str) -> HeadsOverTraining:
    """The runs of a study's folder that have maps of heads over training."""
    found: StudyResult = read_study(folder)
    models = [model for model in found.models if {"maps", "played", "best", "met", "seed"} <= model.examples.keys()]
    if not models:
        raise BadInput(
            f"{folder} holds the study {found.name}, which keeps no heads over training. Name a folder of olsson2022."
        )
    runs = [(model, at) for model in models for at in range(model.seeds)]
    return HeadsOverTraining(found.title, {_named(*run).id: run for run in runs})


def _named(model: Model, at: int) -> HeadRun:
    seed = int(model.examples["seed"][at])
    return HeadRun(id=f"{model.task}, seed {seed}", kind=model.task, seed=seed)


def letters(text: list[int]) -> list[str]:
    """Made-up words as letters in the order in which they come; the token that begins the text as a dot.

    >>> letters([0, 31, 7, 31])
    ['·', 'A', 'B', 'A']
    """
    order = {word: place for place, word in enumerate(dict.fromkeys(text[1:]))}
    return ["·", *(chr(ord("A") + order[word]) for word in text[1:])]


def _rounded(values: np.ndarray) -> list[float]:
    return [round(value, 3) for value in values.astype(float).tolist()]
