"""Page and figure for Michel et al. 2019: single removals, pruning curves beside random orders, one head per layer."""

from collections.abc import Sequence

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import ATTENTION, FLOOR, MECHANICAL, MOST, RIVAL, WIDTH, Figure, altair, declare
from heatcheck.report.study_columns import Columns, by_layer, in_columns
from heatcheck.report.study_quantities import RIGHT, study_quantity
from heatcheck.report.study_view import Chapter, StudyView
from heatcheck.report.study_wording import models_in_order, with_interval
from heatcheck.report.table import Table
from heatcheck.results import Row, StudyResult
from heatcheck.results.written import NOTHING, number

RANDOM, LOW, HIGH = "random", "random, low end", "random, high end"
DRAWN = {  # of many orders those that a figure shows
    "gradient (Michel)": ATTENTION,
    "answers moved": RIVAL,
    "loss added": MOST,
    "greedy": MECHANICAL,
}
SHOWN = ("0.2", "0.4", "0.6", "0.8")
SINGLES = in_columns(
    Columns(
        "Share of heads whose removal alone surely changes the score (false discoveries held at 5%)",
        {
            "heads_found:accuracy worse": "accuracy falls",
            "heads_found:accuracy better": "accuracy rises",
            "heads_found:loss worse": "loss rises",
            "heads_found:loss better": "loss falls",
        },
    ),
    Columns(
        "Share of heads that matter, and how many of them matter for where they look",
        {
            "heads_matter:zero": "no output",
            "heads_matter:mean": "mean output",
            "heads_matter:other_text": "weights of another text",
            "matter_for:where": "heads: where it looks",
            "matter_for:what": "heads: what it reads",
            "matter_for:open": "heads: not decided",
        },
    ),
    Columns(
        "Spearman ρ of one gradient with true removal, over heads",
        {"gradient_ranks:importance": "size of the slope (Michel)", "gradient_ranks:signed": "with its sign"},
    ),
)
ONE_LEFT = in_columns(
    Columns(
        "Accuracy with one head left in this layer, chosen on dev",
        {**by_layer("one_left"), "one_left:all": "in all layers", "accuracy": "all heads, whole test set"},
    )
)


def orders(found: StudyResult) -> list[Table]:
    """One row per order of removal, the best first."""
    made = []
    for model in models_in_order(found):
        rows = {(r.name, *map(str, r.by.values())): r for r in found.rows if (r.task, r.encoder) == model[:2]}
        areas = sorted((row for row in rows.values() if row.name == "pruning_area"), key=lambda row: -row.value)
        body = []
        for area in areas:
            order = str(area.by["order"])
            beside = [_cell(rows.get((name, order))) for name in ("free_share", "interaction")]
            body.append((order, *(_at(found, model.task, order, s) for s in SHOWN), with_interval(area), *beside))
        for name in (RANDOM, LOW, HIGH) if body else ():
            body.append((name, *(_at(found, model.task, name, s) for s in SHOWN), NOTHING, NOTHING, NOTHING))
        gone = (f"{float(share):.0%} gone" for share in SHOWN)
        columns = ("order", *gone, "area against random", "free share", "interaction")
        made.append(Table(f"Accuracy while heads are removed, {model.task}", columns, body, dense=True))
    return [table for table in made if table.rows]


def _at(found: StudyResult, task: str, order: str, share: str) -> str:
    wanted = {"order": order, "share": share}
    row = next((r for r in found.rows if r.task == task and r.name == "pruned" and r.by == wanted), None)
    return NOTHING if row is None else number(row.value)


def _cell(row: Row | None) -> str:
    return NOTHING if row is None else with_interval(row)


def in_short(rows: Sequence[Row]) -> str:
    """How many heads can go, and what one head per layer can do, in plain words."""
    said = []
    for task in dict.fromkeys(row.task for row in rows):
        of_task = {row.quantity: row.value for row in rows if row.task == task}
        free, alone = of_task.get("free_share:gradient (Michel)"), of_task.get("heads_found:accuracy worse")
        left, whole = of_task.get("one_left:all"), of_task.get("pruned:random:0")
        if free is not None and alone is not None:
            said.append(
                f"{task}: without {alone:.0%} of the heads, one at a time, accuracy surely falls. By the gradient, "
                f"{free:.0%} of them can go together for less than one point."
            )
        if left is not None and whole is not None:
            said.append(f"With one head left in every layer accuracy is {left:.2f}; with all heads, {whole:.2f}.")
    return " ".join(said)


def curves(found: StudyResult) -> Figure | None:
    """Accuracy by the share of heads removed, with the band of random orders."""
    task = next(iter(found.tasks), "")
    points: dict[str, dict[float, float]] = {}
    for row in found.rows:
        if row.name == "pruned" and row.task == task:
            points.setdefault(str(row.by["order"]), {})[float(str(row.by["share"]))] = round(row.value, 4)
    if not {RANDOM, LOW, HIGH} <= points.keys():
        return None
    alt = altair()
    x = alt.X("share:Q", title="share of heads removed").axis(format="%", tickCount=6)
    y = alt.Y("accuracy:Q", title="accuracy").scale(zero=False)
    band = [{"share": s, "low": points[LOW][s], "high": points[HIGH][s]} for s in points[RANDOM]]
    area = alt.Chart(alt_data(band)).mark_area(color=FLOOR, opacity=0.25)
    shown = [name for name in DRAWN if name in points]
    rows = [
        {"order": name, "share": share, "accuracy": value}
        for name in (*shown, RANDOM)
        for share, value in points[name].items()
    ]
    colour = alt.Color("order:N", title=None).scale(domain=[*shown, RANDOM], range=[*(DRAWN[n] for n in shown), FLOOR])
    lines = alt.Chart(alt_data(rows)).mark_line(point=True, strokeWidth=2)
    drawn = alt.layer(
        area.encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        lines.encode(
            x=x, y=y, color=colour.legend(orient="top", labelLimit=0), tooltip=["order:N", "share:Q", "accuracy:Q"]
        ),
    ).properties(width=WIDTH - 70, height=300)
    caption = (
        f"Accuracy on {task} while more heads are removed, mean over seeds; nothing is retrained. The band holds 95% "
        "of the random orders. An order inside the band knows no more than chance."
    )
    return declare("pruning-curves", "heads", caption, drawn)


VIEW = StudyView(
    in_short=in_short,
    settings={
        "curves": "examples of dev and of test for the curves",
        "random": "random orders",
        "greedy": "examples for the greedy order",
    },
    chapters=(
        Chapter("heads", (SINGLES,)),
        Chapter(
            "pruning",
            (orders,),
            (curves,),
            title="How many heads can go",
            reading="heatcheck removes more and more heads without retraining. The area against random is how much "
            "more accurate an order is than random ones, mean over shares. Free is the largest share whose removal "
            "surely costs less than one point of accuracy. Interaction compares the loss that half of the heads add "
            "together with the sum of what each adds alone. Above 1, heads stood in for each other.",
        ),
        Chapter(
            "one left",
            (ONE_LEFT,),
            title="One head per layer",
            reading="In a layer, heatcheck leaves the head that alone keeps the loss smallest on dev. Near the "
            "accuracy of the whole model, that layer's other heads are not needed while other layers are whole.",
        ),
    ),
    shown={},
    unpublished={
        "heads_found:accuracy worse": "share of heads without which accuracy surely falls",
        "free_share:gradient (Michel)": "share of heads that can go for free, by the gradient",
        "pruning_area:gradient (Michel)": "accuracy over random orders, by the gradient",
        "one_left:all": "accuracy with one head left in every layer",
    },
    quantities=(
        study_quantity(
            "heads_found",
            "share of heads by what their removal does: {}",
            "many single heads have this effect",
            "few single heads have this effect",
        ),
        study_quantity(
            "heads_matter",
            "share of heads that matter by {}",
            "removing one of many heads surely raises the loss",
            "removing one head seldom surely raises the loss",
        ),
        study_quantity(
            "matter_for",
            "heads that matter for {}",
            "many of the heads that matter are of this kind",
            "few of the heads that matter are of this kind",
        ),
        study_quantity(
            "gradient_ranks",
            "Spearman ρ of a gradient with true removal: {}",
            "one gradient ranks the heads as removal does",
            "one gradient ranks the heads in another order",
        ),
        study_quantity("pruned", "accuracy with heads removed: {}", *RIGHT),
        study_quantity(
            "pruning_area",
            "accuracy over random orders: {}",
            "the order keeps more accuracy than chance",
            "the order is worse than chance (below 0) or no better (0)",
        ),
        study_quantity(
            "free_share",
            "share of heads that can go for free: {}",
            "many heads can go at no sure cost",
            "hardly any head can go at no sure cost",
        ),
        study_quantity(
            "interaction",
            "loss of half of the heads over the sum of their losses: {}",
            "above 1, heads stood in for each other",
            "below 1, heads cost less together than one by one",
        ),
        study_quantity("one_left", "accuracy with one head left in layer {}", *RIGHT),
    ),
)
