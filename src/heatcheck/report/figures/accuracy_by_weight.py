"""Figures for studies of models trained to deceive: accuracy by the weight on marked words, one panel per model."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from heatcheck.engine import Facts
from heatcheck.report.figures.accuracy_scatter import (
    COMMONEST,
    PAPER,
    REPRODUCTION,
    UNIFORM,
    kinds_in,
    panel,
    span_of,
)
from heatcheck.report.figures.figure import Figure, altair, declare
from heatcheck.report.study_wording import models_in_order
from heatcheck.results import Model, Row, StudyResult, value_text

_WIDTH, _HEIGHT = 310, 230  # two panels beside each other


class AccuracyByWeight(NamedTuple):
    """Which numbers of a study a figure draws, and their names."""

    name: str
    accuracy: str
    mass: str
    uniform: str  # the weight that uniform weights put there
    weight: str
    said: Callable[[str], str]  # names how a model was trained
    title: Callable[[Model], str]
    caption: str


def accuracy_by_weight(found: StudyResult, drawn: AccuracyByWeight) -> Figure | None:
    """Every model of every seed, and the published means."""
    panels: list[tuple[Model, list[Facts], dict[str, float]]] = []
    for model in models_in_order(found):
        place = (model.task, model.encoder, model.attention)
        rows = {r.quantity: r for r in found.rows if (r.task, r.encoder, r.attention) == place}
        if f"{drawn.mass}:0" in rows:
            names = (("commonest", COMMONEST), (drawn.uniform, UNIFORM))
            lines = {name: rows[key].value for key, name in names if key in rows}
            panels.append((model, [*_ours(model, drawn), *_published(rows, drawn)], lines))
    if not panels:
        return None
    kinds = kinds_in([point for _, points, _ in panels for point in points])
    charts = [
        panel(
            points,
            kinds,
            lines,
            span=span_of(points, lines),
            title=drawn.title(model),
            weight=drawn.weight,
            width=_WIDTH,
            height=_HEIGHT,
        )
        for model, points, lines in panels
    ]
    spacing = {"row": 18, "column": 60}
    return declare(drawn.name, "deception", drawn.caption, altair().concat(*charts, columns=2, spacing=spacing))


def _ours(model: Model, drawn: AccuracyByWeight) -> Iterator[Facts]:
    for point in model.points:
        if {"accuracy", "mass"} <= point.keys():
            kind = drawn.said(str(point["model"]))
            yield {"kind": kind, "seed": point["seed"], "accuracy": point["accuracy"], "mass": point["mass"]}


def _published(rows: Mapping[str, Row], drawn: AccuracyByWeight) -> Iterator[Facts]:
    """Published points of models with both numbers."""
    for mass in rows.values():
        if mass.name != drawn.mass:
            continue
        at = value_text(mass.by["trained"])
        accuracy = rows.get(f"{drawn.accuracy}:{at}")
        if accuracy is None:
            continue
        for name, of in ((PAPER, "paper"), (REPRODUCTION, "rerun")):
            pair = getattr(accuracy, of), getattr(mass, of)
            if None not in pair:
                yield {"kind": name, "seed": drawn.said(at), "accuracy": pair[0], "mass": pair[1]}
