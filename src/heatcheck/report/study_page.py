"""The page of a study, self-contained: what was done, notes, every number beside the published one, figures."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from heatcheck.engine import write_whole
from heatcheck.report.checks import view_of
from heatcheck.report.figures.figure import Figure
from heatcheck.report.figures.published import ours_against_theirs
from heatcheck.report.heat import Heatmap, HeatRow, weighed
from heatcheck.report.html import render
from heatcheck.report.studies import view_of_study
from heatcheck.report.study_columns import every_number
from heatcheck.report.study_summary import in_short, not_met, of_tasks, summaries
from heatcheck.report.study_view import Chapter, StudyView
from heatcheck.report.study_wording import (
    ATTENTIONS,
    ENCODERS,
    MODEL_NAMES,
    counted,
    fitted,
    method_of,
    model_name,
    models_in_order,
    said_of,
)
from heatcheck.report.table import Table
from heatcheck.report.wording import explainer_name, said, spaced
from heatcheck.results import Model, StudyResult
from heatcheck.results.written import NOTHING, number

_ELSEWHERE = {"tasks", "encoders", "attentions", "seeds"}  # the header and the table of tasks show these settings
# Plain names of settings that many studies have, and what None means.
_SETTINGS = {"examples": "texts audited", "texts": "texts per split", "strengths": "λ"}
_UNSET = {
    **dict.fromkeys(("epochs", "patience", "hidden"), "as in the preset"),
    "texts": "all",
    "vectors": "none: word vectors are learned from scratch",
}
_EVERY_NUMBER = Chapter("numbers", (every_number,), title="Every number")
SMALL = ("This is a smoke run", "This is a small run")  # the note that stands first
_SLASH = "\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}"


class Section(NamedTuple):
    """A chapter with what its makers gave for this run."""

    check: str
    title: str
    reading: str
    tables: list[Table]
    figures: list[Figure]


class Pair(NamedTuple):
    """One text under the original and under adversarial weights, as in the paper's first figure."""

    task: str
    model: str
    rows: list[HeatRow]
    jsd: str


class Heatmaps(NamedTuple):
    """Some texts of one task."""

    task: str
    model: str
    bound: str  # "" where the weights are exactly the most different ones
    texts: list[Heatmap]


def write_study(found: StudyResult, path: Path | str) -> Path:
    """Write the study as one HTML file that loads nothing from anywhere."""
    path = Path(path)
    view = view_of_study(found.name)
    sections = _sections(found, view)
    published_figure = ours_against_theirs(found, view)
    figures = [figure for section in sections for figure in section.figures]
    figures += [published_figure] if published_figure else []
    tasks = of_tasks(found, view)
    beside = [row for task in tasks for model in task.published for row in model.rows]
    published = [row for row in found.rows if row.paper is not None or row.rerun is not None]
    facts = {
        "floors": any(row.floor != NOTHING for row in beside),
        "papers": any(row.paper != NOTHING for row in beside),
        "reruns": any(row.rerun != NOTHING for row in beside),
        "study": found,
        "facts": _facts(found, view),
        "settings": _settings(found, view),
        "about_tasks": _about_tasks(found, view),
        "in_short": in_short(found.rows, view),
        "ignore": next((note for note in found.notes if note.startswith(SMALL)), ""),
        "summaries": [table for table in summaries(found.rows, view) if table.rows],
        "rerun": view.rerun.word,
        "not_met": not_met(found),
        "tasks": tasks,
        "about_models": view.about_models,
        "chapters": sections,
        "done": said_of(found.rows, view.done),
        "about_published": said_of(published, view.about_published),
        "not_asked": [
            (task, spaced(check), why)
            for task, about in found.tasks.items()
            for check, why in about.get("not_run", {}).items()
        ],
        "heatmaps": _heatmaps(found),
        "scatter": published_figure,
        "pair": _pair(found),
    }
    write_whole(path, render("study.html.jinja", facts, figures))
    return path


def _facts(found: StudyResult, view: StudyView) -> list[tuple[str, str, str]]:
    """The facts of the header: name, value, and a note."""
    kinds = {model_name(model.encoder, model.attention) for model in found.models}
    named_encoders = ENCODERS | MODEL_NAMES
    encoders = [name for key, name in named_encoders.items() if any(model.encoder == key for model in found.models)]
    attentions = [name for key, name in ATTENTIONS.items() if any(model.attention == key for model in found.models)]
    named = f"{', '.join(encoders)} with {' or '.join(attentions)}" if attentions else ", ".join(sorted(kinds))
    each = sorted({model.seeds for model in found.models})
    examples = found.settings.get("examples")
    texts = view.texts(found) or ("texts audited", "all of each test set", "")
    if examples and _refits(found):
        texts = (*texts[:2], f"{examples:,} for checks that use a sample")
    elif examples:
        texts = (texts[0], f"{examples:,} per model", "or all of a smaller test set")
    return [
        (
            "models trained",
            f"{sum(_trained(model, found, view) for model in found.models):,}",
            f"{' or '.join(map(str, each))} per kind",
        ),
        ("kinds", str(len(kinds)), named),
        ("tasks", str(len({model.task.partition(",")[0] for model in found.models})), ""),  # "snli, merge" is of snli
        texts,
        ("failed", str(len(found.failed)), "named below" if found.failed else ""),
    ]


def _trained(model: Model, found: StudyResult, view: StudyView) -> int:
    """How many models of a kind were trained, from its study or from its rows."""
    return int(found.tasks.get(model.task, {}).get("models", fitted(model, found.rows, view.retrained)))


def _settings(found: StudyResult, view: StudyView) -> list[tuple[str, str]]:
    sampled = {"examples": "texts sampled"} if _refits(found) else {}
    names = {**_SETTINGS, **sampled, **view.settings}
    unset = {**_UNSET, **view.unset}
    return [
        (names.get(key, spaced(key)), unset.get(key, said(value)) if value is None else _setting(value))
        for key, value in found.settings.items()
        if key not in _ELSEWHERE
    ]


def _refits(found: StudyResult) -> bool:
    """Whether the study has retrained models, drawn as points."""
    return any(model.points for model in found.models)


def _setting(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _about_tasks(found: StudyResult, view: StudyView) -> Table:
    splits = list(dict.fromkeys(name for about in found.tasks.values() for name in about.get("sizes", {})))
    rows = []
    for task, about in found.tasks.items():
        models = [model for model in found.models if model.task == task]
        sizes = about.get("sizes", {})
        published = about.get("published", task)
        reason = about.get("not_comparable", "")
        beside = "" if published == task.partition(",")[0] else f"compared with {published}: "
        rows.append(
            (
                task,
                f"{sum(_trained(model, found, view) for model in models):,}",
                _SLASH.join(f"{sizes[name]:,}" if name in sizes else NOTHING for name in splits),
                counted(about.get("left_out", {})) or "nothing",
                f"{beside}{about.get('differs', '')}",
                f"no: {reason}" if reason else "yes",
            )
        )
    columns = ("task", "models", _SLASH.join(splits), "excluded", "how it differs", "comparable")
    return Table("The tasks, and how their data differs from the paper’s", columns, rows)


def _sections(found: StudyResult, view: StudyView) -> list[Section]:
    """The chapters that have something to show."""
    sections = [
        Section(
            chapter.name,
            chapter.title or view_of(chapter.name).title,
            chapter.reading or view_of(chapter.name).reading,
            [table for make in chapter.tables for table in make(found)],
            [figure for make in chapter.figures if (figure := make(found))],
        )
        for chapter in view.chapters or (_EVERY_NUMBER,)
    ]
    return [section for section in sections if section.tables or section.figures]


def _heatmaps(found: StudyResult) -> list[Heatmaps]:
    """Heatmaps of some texts of every task."""
    return [
        Heatmaps(
            task,
            model_name(model.encoder, model.attention),
            "" if method_of(model) == "exact" else "found by a search: even more different weights may exist",
            [_heatmap(one) for one in model.heatmaps],
        )
        for task, model in _with_heatmaps(found).items()
    ]


def _with_heatmaps(found: StudyResult) -> dict[str, Model]:
    """The paper's own model of each task, or the first model that has heatmaps."""
    shown: dict[str, Model] = {}
    for model in models_in_order(found):
        if model.heatmaps and ((model.encoder, model.attention) == ("lstm", "tanh") or model.task not in shown):
            shown[model.task] = model
    return shown


def _pair(found: StudyResult) -> Pair | None:
    """One text under the model's weights and under the most different ones that keep the answer."""
    model = next((model for model in _with_heatmaps(found).values()), None)
    if model is None:
        return None
    one = model.heatmaps[0]
    known = one.get("probability") is not None
    answer = str(one["predicted"]) + (f" {one['probability']:.2f}" if known else "")
    rows = [
        HeatRow(
            "original", weighed(one["words"], one["attention"]), answer, 100 * one["probability"] if known else 0.0
        ),
        HeatRow("adversarial", weighed(one["words"], one["counterfactual"]), f"moves by {number(one['change'])}"),
    ]
    return Pair(model.task, model_name(model.encoder, model.attention), rows, number(one["jsd"]))


def _heatmap(one: Mapping[str, Any]) -> Heatmap:
    return Heatmap(
        f"predicted {one['predicted']}" + (f", {one['probability']:.2f}" if one.get("probability") is not None else ""),
        str(one.get("text_pair") or ""),
        " ".join(one["words"]),
        [(explainer_name(name), weighed(one["words"], one[name])) for name in ("attention", "counterfactual")],
        f"JSD {number(one['jsd'])}; the output moves by {number(one['change'])}",
    )
