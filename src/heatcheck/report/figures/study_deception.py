"""Figures of classifiers and sequence-to-sequence models trained to deceive: accuracy over weight, by model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from heatcheck.report.study_deception import said
from heatcheck.report.study_wording import model_name
from heatcheck.report.study_writing import trained
from heatcheck.results import Model, Row, StudyResult, value_text

_WIDTH, _HEIGHT = 310, 230  # two panels beside each other


class _Drawn(NamedTuple):
    """Which numbers of a study a figure draws, and their names."""

    name: str
    accuracy: str
    mass: str
    uniform: str  # the weight that uniform weights put there
    weight: str
    said: Callable[[str], str]  # names how a model was trained
    title: Callable[[Model], str]
    caption: str


_LABELS = _Drawn(
    "accuracy-by-weight",
    "accuracy_at",
    "mass_at",
    "share",
    "weight on the marked words",
    said,
    lambda model: f"{model.task}: {model_name(model.encoder, model.attention)}",
    "Table 3 as a picture. Each mark is one model of one seed: further right means more weight on the marked words, "
    "further up means higher accuracy. Models at the upper left hide words that they use. Stars and squares are the "
    "published means, honest and at each λ. The dotted line is the majority-class baseline. The dashed line is the "
    "weight that uniform weights have there. The accuracy axes differ.",
)
_TEXTS = _Drawn(
    "accuracy-by-links",
    "written_at",
    "links_at",
    "links_at:uniform",
    "weight on linked words",
    trained,
    lambda model: model.task,
    "Each mark is one model of one seed. Further right means more weight on the linked source words, further up means "
    "more words right. Models at the upper left generate well and attend elsewhere. Stars and squares are published "
    "numbers, where accuracy was published. The dotted line is the accuracy of always the most frequent word. The "
    "dashed line is the weight that uniform weights have on links. The accuracy axes differ.",
)


def deception_scatters(found: StudyResult, models: Sequence[Model]) -> Figure | None:
    """Every model of every seed, and the published means."""
    return _scatters(found, models, _LABELS)


def writing_scatters(found: StudyResult, models: Sequence[Model]) -> Figure | None:
    """The same for sequence-to-sequence models."""
    return _scatters(found, models, _TEXTS)


def _scatters(found: StudyResult, models: Sequence[Model], drawn: _Drawn) -> Figure | None:
    panels: list[tuple[Model, list[Facts], dict[str, float]]] = []
    for model in models:
        rows = {r.quantity: r for r in found.rows if (r.task, r.encoder) == (model.task, model.encoder)}
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


def _ours(model: Model, drawn: _Drawn) -> Iterator[Facts]:
    for point in model.points:
        if {"accuracy", "mass"} <= point.keys():
            kind = drawn.said(str(point["model"]))
            yield {"kind": kind, "seed": point["seed"], "accuracy": point["accuracy"], "mass": point["mass"]}


def _published(rows: Mapping[str, Row], drawn: _Drawn) -> Iterator[Facts]:
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
