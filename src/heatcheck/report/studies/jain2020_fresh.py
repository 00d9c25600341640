"""What a reader sees of the study jain2020_fresh: models that read a rationale alone, and their controls."""

from collections.abc import Iterable, Mapping

from heatcheck.report.study_quantities import RIGHT, study_quantity
from heatcheck.report.study_view import Chapter, StudyView, TableMaker
from heatcheck.report.study_wording import with_interval
from heatcheck.report.table import Table
from heatcheck.results import Row, StudyResult, key
from heatcheck.results.written import NOTHING, number

_READ = {
    "full": "the whole text",
    "attention": "highest attention",
    "attention_window": "window of highest attention",
    "gradient": "highest gradient",
    "gradient_window": "window of highest gradient",
    "leave_one_out": "highest leave-one-out",
    "random": "random words",
    "random_window": "random window",
    "attention_rest": "all but the highest attention",
    "random_rest": "all but random words",
    "attention_places": "only the places of the highest attention",
    "leave_one_out_places": "only the places of the highest leave-one-out",
    "random_places": "only the places of random words",
    "human": "words that people marked",
}
_KEPT = "share of the gain kept"


def by_share(found: StudyResult, name: str, caption: str) -> list[Table]:
    """One line per way to extract words, one column per share; one column alone where words have no share."""
    shares = sorted({row.by["share"] for row in found.rows if row.name == name and "share" in row.by})
    paper = any(row.paper is not None for row in found.rows if row.name == name)
    tables = []
    for task in dict.fromkeys(row.task for row in found.rows):
        of: dict[tuple[str, float | None], Row] = {
            (_title(row), row.by.get("share")): row for row in found.rows if row.name == name and row.task == task
        }
        lines = []
        for title in dict.fromkeys(title for title, _ in of):
            whole = of.get((title, None))
            cells = [_cell(of.get((title, share))) for share in shares]
            published = [row.paper for row in of.values() if _title(row) == title and row.paper is not None]
            beside = [number(published[0]) if published else NOTHING] if paper else []
            lines.append(
                (title, *(cells if whole is None else [_cell(whole), *[NOTHING] * (len(shares) - 1)]), *beside)
            )
        heads = (*(f"{100 * share:.3g}%" for share in shares), *(["paper (BERT)"] if paper else []))
        tables += [Table(f"{caption}: {task}", ("the model reads", *heads), lines, dense=True)] if lines else []
    return tables


def _title(row: Row) -> str:
    beside = row.by.get("beside")
    return _READ[row.by["read"]] + ("" if beside is None else f" − {_READ[beside]}")


def _cell(row: Row | None) -> str:
    return NOTHING if row is None else with_interval(row)


def rationales_in_short(rows: Iterable[Row]) -> str:
    """Whether a short rationale is enough, and whether the controls are as good, one sentence per task."""
    found: dict[str, Mapping[str, Row]] = {}
    for row in rows:
        found[row.task] = {**found.get(row.task, {}), row.quantity: row}
    told = []
    for task, of in found.items():
        shares = sorted({row.by["share"] for row in of.values() if row.name == "accuracy_read" and "share" in row.by})
        full = of.get(key("accuracy_read", read="full").text)
        if full is None or not shares:
            continue
        short = shares[len(shares) // 2]
        parts = [
            f"{_READ[read]} {number(one.value)}"
            for read in ("attention", "random", "attention_rest")
            if (one := of.get(key("accuracy_read", read=read, share=short).text)) is not None
        ]
        told.append(
            f"{task}: accuracy is {number(full.value)} from whole texts. From {100 * short:.3g}% of the words it is: "
            f"{', '.join(parts)}."
        )
    return " ".join(told)


def _tables(name: str, caption: str) -> tuple[TableMaker, ...]:
    return (lambda found: by_share(found, name, caption),)


VIEW = StudyView(
    in_short=rationales_in_short,
    chapters=(
        Chapter("accuracy", _tables("accuracy_read", "Accuracy"), title="Is a rationale enough?"),
        Chapter(
            "differences", _tables("accuracy_gap", "Difference in accuracy"), title="Is it better than its controls?"
        ),
        Chapter("length", _tables("gain_kept", "Share of the gain kept"), title="How long must a rationale be?"),
        Chapter("macro_f1", _tables("macro_f1", "Macro-F1"), title="As published"),
        Chapter("people", _tables("token_f1", "Match with marked words"), title="Do people mark the same words?"),
    ),
    shown={"macro_f1:full": "macro-F1, whole texts", "macro_f1:attention:0.2": "macro-F1, 20% by attention"},
    unpublished={
        "accuracy_read:full": "accuracy, whole texts",
        "accuracy_read:attention:0.2": "accuracy, 20% by attention",
        "accuracy_gap:attention:random:0.2": "difference in accuracy, 20% by attention and at random",
        "gain_kept:attention:0.2": _KEPT,
    },
    quantities=(
        study_quantity("macro_f1", "macro-F1", *RIGHT),
        study_quantity("accuracy_read", "accuracy", *RIGHT),
        study_quantity(
            "accuracy_gap",
            "difference in accuracy",
            "models that read the first are more often right",
            "models that read the second are more often right (below 0), or neither is (0)",
        ),
        study_quantity(
            "gain_kept",
            "share of the gain over the majority class that is kept",
            "these words are nearly enough (1 is as good as the whole text)",
            "these words are not enough (0 is the majority class)",
        ),
        study_quantity(
            "token_f1",
            "match with the words that people marked (F1)",
            "the models read what people marked",
            "the models read other words",
        ),
    ),
)
