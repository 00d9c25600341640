"""The figure of a study of models trained to deceive: accuracy against weight, a panel a model, as published beside."""

from collections.abc import Iterator, Sequence

from heatcheck.engine import Facts
from heatcheck.report.figures.deception import COMMONEST, PAPER, REPRODUCTION, UNIFORM, kinds_in, panel, span_of
from heatcheck.report.figures.figure import Figure, altair, declare
from heatcheck.report.study_deception import said
from heatcheck.report.study_wording import model_name
from heatcheck.studies import Model, Row, StudyResult

_WIDTH, _HEIGHT = 310, 230  # two panels beside each other


def deception_scatters(found: StudyResult, models: Sequence[Model]) -> Figure | None:
    """Every model of every seed, and where the published means stand."""
    drawn: list[tuple[Model, list[Facts], dict[str, float]]] = []
    for model in models:
        rows = {r.quantity: r for r in found.rows if (r.task, r.encoder) == (model.task, model.encoder)}
        if "mass_at:0" in rows:
            lines = {
                name: rows[key].value for key, name in (("commonest", COMMONEST), ("share", UNIFORM)) if key in rows
            }
            drawn.append((model, [*_ours(model), *_published(rows)], lines))
    if not drawn:
        return None
    kinds = kinds_in([point for _, points, _ in drawn for point in points])
    panels = [
        panel(
            points,
            kinds,
            lines,
            span=span_of(points, lines),
            title=f"{model.task}: {model_name(model.encoder, model.attention)}",
            width=_WIDTH,
            height=_HEIGHT,
        )
        for model, points, lines in drawn
    ]
    caption = (
        "Table 3 as a picture: each mark is a model of one seed; to the right it has more weight on the marked words, "
        "upwards it is more often right. At the upper left are models that hide what they use. Stars and squares are "
        "the published means, honest and at each λ. The dotted line is always the commonest label, the dashed line the "
        "weight that uniform weights put there. Axes of accuracy differ."
    )
    spacing = {"row": 18, "column": 60}
    return declare("accuracy-by-weight", "deception", caption, altair().concat(*panels, columns=2, spacing=spacing))


def _ours(model: Model) -> Iterator[Facts]:
    for point in model.points:
        if {"accuracy", "mass"} <= point.keys():
            kind = said(str(point["model"]))
            yield {"kind": kind, "seed": point["seed"], "accuracy": point["accuracy"], "mass": point["mass"]}


def _published(rows: dict[str, Row]) -> Iterator[Facts]:
    """Where both numbers of a λ are known."""
    for quantity, mass in rows.items():
        kind, _, strength = quantity.partition(":")
        accuracy = rows.get(f"accuracy_at:{strength}")
        if kind != "mass_at" or accuracy is None:
            continue
        for name, of in ((PAPER, "paper"), (REPRODUCTION, "rerun")):
            pair = getattr(accuracy, of), getattr(mass, of)
            if None not in pair:
                yield {"kind": name, "seed": said(strength), "accuracy": pair[0], "mass": pair[1]}
