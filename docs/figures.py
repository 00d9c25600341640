"""Make the figures of the pages: `python docs/figures.py` most, `python docs/figures.py studies` the quick ones.

Those of the checks are what the report draws of a few audits on built-in data, for which models are trained (some
minutes; what was fitted is kept in `heatcheck-out/fits`). Those of the studies are drawn from the tables of their
pages, so that a figure and its table cannot disagree. Three figures show more than a table holds: `python
docs/figures.py reruns` runs what they are drawn from again, over an hour without a GPU.
"""

import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import altair

import heatcheck as hc
from heatcheck.engine import write_whole
from heatcheck.report import write_figures
from heatcheck.report.figures.figure import Figure, declare
from heatcheck.report.figures.files import write_each
from heatcheck.report.study_figures import draw_study
from heatcheck.studies import STUDIES as STUDY_RUNS
from heatcheck.studies import run_study
from heatcheck.training import STORE

DOCS = Path(__file__).parent
FOLDER = DOCS / "figures"
COLOURS = ["#2b78bd", "#d55e00", "#00946b", "#9467bd", "#808080", "#1b1f26"]  # apart to every kind of colour blindness
# Columns, in a legend.
CALLED = {
    "weight": "ours",
    "weight on links": "ours",
    "repr.": "reproduction",
    "J\\*": "most different adversary (J*)",
}
SHAPES = ["circle", "diamond", "square", "triangle-up", "cross", "triangle-down"]  # and in greyscale

# For dark pages. Texts that a chart colours itself stand on shades, and stay.
DARK = {
    "svg>rect": "fill:#181b21",
    "text[fill='#000']": "fill:#e6e9ee",
    "[stroke='#ddd']": "stroke:#333943",
    "[stroke='black'],[stroke='#1b1f26']": "stroke:#e6e9ee",
    "[fill='#1b1f26']": "fill:#e6e9ee",
}


class Point(NamedTuple):
    """One number of a table."""

    label: str
    series: str
    value: float
    low: float | None
    high: float | None


class Drawn(NamedTuple):
    """A figure of a study: which table it is of, and which columns; layers stand side by side, all else row by row."""

    study: str
    tables: Sequence[str]  # each by its header up to the columns that are told apart
    columns: Sequence[str]  # headers; the second of two that are alike is "paper 2"
    measured: str
    by_layer: bool = False
    labels: int = 1  # how many first columns say what a row is of
    leave: Sequence[str] = ()  # rows whose name starts so
    prefix: bool = False  # the table's first header says what its rows are of


STUDIES = [
    Drawn("abnar2020", ["| against gradients"], "123456", "Spearman ρ with gradients", by_layer=True),
    Drawn("brunner2020", ["| tokens told apart"], "123456", "share of tokens found again", by_layer=True),
    Drawn("chefer2021", ["| by size"], ["area"], "area between the two orders of removal"),
    Drawn(
        "jain2019",
        ["| task, class | ours | paper"],
        ["ours", "paper", "rerun"],
        "τ(attention, gradient), BiLSTM",
    ),
    Drawn("kobayashi2020", ["| mixing ratio"], ["ours", "BERT-base"], "share of a token that comes from others"),
    Drawn(
        "olsson2022",
        ["| kind | runs that meet"],
        ["length of the window, of the training", "fall inside the window"],
        "share (of the training, of the fall of the in-context score)",
    ),
    Drawn(
        "pruthi2020",
        ["| task, model | λ | accuracy"],
        ["weight", "paper 2", "repr. 2"],
        "weight on the marked words",
        labels=2,
    ),
    Drawn(
        "pruthi2020_sequences",
        ["| task, trained", "| translation, trained"],
        ["weight on links", "paper 2", "repr. 2"],
        "weight on the words that each word is written from",
    ),
    Drawn(
        "serrano2019",
        ["| model | accuracy | attention"],
        ["attention", "gradient × attention, unsigned", "the same, signed", "random"],
        "share of the weights removed until the decision flips",
    ),
    Drawn(
        "vashishth2019",
        ["| sst, accuracy", "| snli, accuracy", "| planted_lookup, accuracy"],
        ["learned", "uniform", "shuffled", "random", "first", "last"],
        "test accuracy",
        leave=["lost", "reproduction"],
        prefix=True,
    ),
    Drawn("wiegreffe2019", ["| task | J\\*"], ["J\\*", "between seeds"], "JSD from the base model's weights (nats)"),
]

# Figures that show more than the tables of their pages: study -> the report's figure.
RERUNS = {"snell2021": "copy-survival", "sun2020": "auc-by-scale"}


def read_table(study: str, header: str) -> list[list[str]]:
    """The first table of a study's page whose header starts so, a list of cells a row, the header first."""
    text = (DOCS / "studies" / f"{study}.md").read_text(encoding="utf-8")
    lines = re.sub(r"<!--[\s\S]*?-->", "", text).splitlines()  # without templates of tables
    start = next(at for at, line in enumerate(lines) if line.startswith(header))
    table = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return [table[0], *table[2:]]


def number_of(cell: str) -> tuple[float, float | None, float | None] | None:
    """
    >>> number_of(".27 [.24, .30]"), number_of("−.02"), number_of("–")
    ((0.27, 0.24, 0.3), (-0.02, None, None), None)
    """
    found = re.fullmatch(r"([\d.e−-]+)(?: \[([\d.e−-]+), ([\d.e−-]+)\])?", cell)
    if not found or not re.search(r"\d", cell):
        return None
    value, low, high = (float(part.replace("−", "-")) if part else None for part in found.groups())
    return (value, low, high) if value is not None else None


def points_of(drawn: Drawn) -> Iterator[Point]:
    """Every number that a figure shows; a cell without one gives none."""
    for header in drawn.tables:
        columns, *rows = read_table(drawn.study, header)
        seen: dict[str, int] = {}
        named = {}
        for at, column in enumerate(columns):
            seen[column] = seen.get(column, 0) + 1
            named[column if seen[column] == 1 else f"{column} {seen[column]}"] = at
        for row in rows:
            if any(row[0].startswith(word) for word in drawn.leave):
                continue
            of_table = f"{columns[0].partition(',')[0]}, " if drawn.prefix else ""
            label = of_table + ", λ = ".join(row[: drawn.labels]).replace("*", "").replace("λ = gauge", "gauge")
            for column in drawn.columns:
                cell = row[named[column]] if named[column] < len(row) else ""
                if found := number_of(cell):
                    series = column.removesuffix(" 2")
                    yield Point(label, CALLED.get(series, series), *found)


def chart_of(drawn: Drawn) -> Any:
    """Numbers with their intervals: lines over layers, else a row each."""
    rows = [point._asdict() for point in points_of(drawn)]
    series = list(dict.fromkeys(row["label" if drawn.by_layer else "series"] for row in rows))
    key = "label" if drawn.by_layer else "series"
    columns = 3 if len(series) > 4 else len(series)
    legend = altair.Legend(orient="top", title=None, labelLimit=400, columns=columns, symbolOpacity=1)
    legend = legend if len(series) > 1 else None
    told = {
        "color": altair.Color(
            f"{key}:N", scale=altair.Scale(domain=series, range=COLOURS[: len(series)]), legend=legend
        ),
        "shape": altair.Shape(
            f"{key}:N", scale=altair.Scale(domain=series, range=SHAPES[: len(series)]), legend=legend
        ),
    }
    base = altair.Chart(altair.Data(values=rows))
    value = altair.Axis(grid=True, title=drawn.measured)
    if drawn.by_layer:
        place = altair.X("series:N", title="layer", axis=altair.Axis(labelAngle=0))
        along = {"x": place, "y": altair.Y("value:Q", axis=value)}
        spread = {"x": place, "y": altair.Y("low:Q", axis=value), "y2": "high:Q"}
        lines = base.mark_line(strokeWidth=1.5).encode(color=told["color"], **along)
        size = {"width": 520, "height": 280}
    else:
        labels = list(dict.fromkeys(row["label"] for row in rows))  # or rows with an interval would come first
        place = altair.Y("label:N", sort=labels, title=None, axis=altair.Axis(labelLimit=320, grid=True))
        beside = altair.YOffset("series:N", sort=series)  # or equal numbers would hide one another
        along = {"y": place, "yOffset": beside, "x": altair.X("value:Q", axis=value)}
        spread = {"y": place, "yOffset": beside, "x": altair.X("low:Q", axis=value), "x2": "high:Q"}
        lines = None
        size = {"width": 460, "height": altair.Step(12 + 7 * len(series), **{"for": "position"})}  # a row, not a mark
    bars = (
        base.transform_filter("datum.low != null")
        .mark_rule(strokeWidth=2, opacity=0.55)
        .encode(color=told["color"], **spread)
    )
    dots = base.mark_point(filled=True, size=55, opacity=1).encode(**told, **along)
    return altair.layer(*([lines] if lines else []), bars, dots).properties(**size)


def study_figures(folder: Path) -> None:
    for drawn in STUDIES:
        save(drawn.study, f"{drawn.study}: {drawn.measured}", chart_of(drawn), folder)


def check_figures(folder: Path) -> None:
    """What the report draws of three audits, one picture per check."""
    reviews = hc.train("rotten_tomatoes")
    ranked = ["agreement", "erasure", "eraser", "flips", "perturbation", "permutation", "counterfactual"]
    checks = [*ranked, "necessity", "guide", "log_odds"]
    found = hc.audit(reviews.subject, "rotten_tomatoes", checks=checks, settings={"eraser.operators": "deletion"})
    keep(found, folder, {
        "agreement": "agreement-histogram", "erasure": "erasure-effects", "eraser": "eraser-by-share",
        "flips": "flips-survival", "perturbation": "perturbation-areas", "necessity": "necessity-accuracies",
        "permutation": "permutation-by-largest-weight", "counterfactual": "counterfactual-by-largest-weight",
        "guide": "guide-accuracies", "log_odds": "log-odds-decisions",
    })  # fmt: skip

    # Without context a model has a twin, and is fitted again in seconds.
    average = hc.train("rotten_tomatoes", encoder="average")
    again = ["gauge", "seed_variance", "adversarial_model"]
    found = hc.audit(average.subject, "rotten_tomatoes", checks=again, refit=True)
    keep(
        found,
        folder,
        {"seed_variance": "seed-variance-by-largest-weight", "adversarial_model": "adversarial-model-frontier"},
    )
    save("gauge", "gauge: one text under two heatmaps", gauge_chart(found), folder)
    short_training = hc.train("rotten_tomatoes", encoder="average", epochs=5)
    chosen = {"dynamics.seeds": 3}
    found = hc.audit(short_training.subject, "rotten_tomatoes", checks=["dynamics"], refit=True, settings=chosen)
    keep(found, folder, {"dynamics": "dynamics-agreement"})

    # The words that decide are planted here, so they are marked as people would mark them.
    planted = hc.train("planted_contrast", encoder="average", epochs=3)
    found = hc.audit(planted.subject, "planted_contrast", checks=["plausibility"])
    keep(found, folder, {"plausibility": "plausibility-agreement"})


def rerun_figures(folder: Path) -> None:
    """Curves over training or over settings, from whole runs that need the real corpora."""
    for study, name in RERUNS.items():
        rerun = run_study(STUDY_RUNS[study], STUDY_RUNS[study].settings(), STORE / "studies" / study)
        (figure,) = (one for one in draw_study(rerun) if one.name == name)
        save_drawn(study, figure, folder)
    sst = hc.train("sst")
    found = hc.audit(sst.subject, "sst", checks=["dynamics"], refit=True, settings={"dynamics.seeds": 5})
    keep(found, folder, {"dynamics_sst": "dynamics-agreement"})


def gauge_chart(found: hc.Audit) -> Any:
    """The witness: one text shaded by the model's weights and by its twin's."""
    witness = found.results["gauge"].facts["witness"]
    rows = [
        {"place": at, "word": word, "who": who, "weight": weight}
        for who, weights in (("this model", witness["own"]), ("its twin", witness["twin"]))
        for at, (word, weight) in enumerate(zip(witness["words"], weights, strict=True))
    ]
    place = altair.X(
        "place:O", axis=altair.Axis(title=f"both decide “{witness['label']}”", labelExpr="''", ticks=False)
    )
    base = altair.Chart(altair.Data(values=rows)).encode(x=place)
    colour = altair.Color(
        "weight:Q", scale=altair.Scale(scheme="blues", domain=[0, 1], type="sqrt"), legend=altair.Legend(title="weight")
    )
    boxes = base.mark_rect(stroke="white").encode(y=altair.Y("who:N", sort=None, title=None), color=colour)
    words = base.mark_text(angle=270, fontSize=11).encode(
        y=altair.Y("who:N", sort=None, title=None),
        text="word:N",
        color=altair.condition("datum.weight > 0.36", altair.value("white"), altair.value("black")),
    )
    return (boxes + words).properties(width=altair.Step(26), height=altair.Step(96))


def keep(found: hc.Audit, folder: Path, wanted: dict[str, str]) -> None:
    """Of the figures of an audit, one a check, as files of these names."""
    with tempfile.TemporaryDirectory() as scratch:
        made = {path.stem: path for path in write_figures(found, scratch, suffix="svg")}
        for file, name in wanted.items():
            write_whole(folder / f"{file}.svg", for_dark(short(made[name].read_text(encoding="utf-8"))))


def save(name: str, caption: str, chart: Any, folder: Path) -> None:
    save_drawn(name, declare(name, name, caption, chart), folder)


def save_drawn(name: str, figure: Figure, folder: Path) -> None:
    (path,) = write_each([figure._replace(name=name)], folder, suffix="svg")
    write_whole(path, for_dark(short(path.read_text(encoding="utf-8"))))


def short(svg: str) -> str:
    """Places to a hundredth of a pixel: a file half as large, and nobody sees the difference."""
    number = re.compile(r"-?\d+\.\d{3,}")
    return re.sub(r' (?:d|transform|x|y|x1|x2|y1|y2|width|height)="[^"]*"',
                  lambda part: number.sub(lambda found: f"{float(found[0]):.2f}", part[0]), svg)  # fmt: skip


def for_dark(svg: str) -> str:
    """The figure with colours of its own for dark pages: paper, ink and grid lines; the colours of data stay.

    >>> "prefers-color-scheme:dark" in for_dark('<svg width="9"><rect fill="white"/></svg>')
    True
    """
    rules = "".join(f"{where}{{{colour}}}" for where, colour in DARK.items())
    style = f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"
    return re.sub(r"(<svg[^>]*>)", lambda found: found[0] + style, svg, count=1)


if __name__ == "__main__":
    which = sys.argv[1:] or ["studies", "checks"]
    if "studies" in which:
        study_figures(FOLDER)
    if "checks" in which:
        check_figures(FOLDER)
    if "reruns" in which:
        rerun_figures(FOLDER)
    print(f"figures: {FOLDER}")
