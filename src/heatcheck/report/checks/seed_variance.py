"""What a reader sees of the check `seed_variance`: how much weights and answers differ between random seeds."""

from collections.abc import Mapping

import numpy as np

from heatcheck.report.compared_values import Compared
from heatcheck.report.figures.distribution import columns_for, side_by_side
from heatcheck.report.figures.figure import Figure, by_class, declare, heading
from heatcheck.report.figures.jsd_scatter import SPAN, scatter
from heatcheck.report.figures.largest_weight import by_largest_weight
from heatcheck.report.measurement_words import counted, quantity
from heatcheck.report.table import Table, pivot, with_n
from heatcheck.report.view import CheckView
from heatcheck.results import CheckResult, Quantity
from heatcheck.results.written import interval, number


def seed_variance_tables(result: CheckResult) -> list[Table]:
    """Differences from the audited model, between all seeds, and by class and largest weight."""
    overall = [m for m in result.measurements if not m.by.keys() & {"class", "bin"}]
    cells = [
        (str(m.by["class"]), str(m.by.get("bin", "all")), with_n(m))
        for m in result.measurements
        if m.name == "jsd" and "class" in m.by
    ]
    return [
        Table(
            "The audited model compared with its other seeds, and all pairs of seeds",
            ("quantity", "mean", "95% interval", "n"),
            [(quantity(m, result.check), number(m.value), interval(m), counted(m)) for m in overall],
        ),
        pivot(
            "JSD from the other seeds, by predicted class and largest weight of the text",
            "class",
            sorted(cells, key=lambda cell: (cell[1] != "all", cell[1])),
        ),
    ]


def jsd_of_seeds(result: CheckResult, predicted: Mapping[str, str]) -> Figure | None:
    """The median JSD over seeds by the largest weight, with one panel per predicted class."""
    drawn = by_largest_weight(result, "jsd", predicted, span=SPAN, axis="median JSD from the other seeds (nats)")
    if drawn is None:
        return None
    caption = (
        "Violins far from 0 are texts in which another seed highlights other words. They show how far the weights of "
        "each text are from those of the same recipe with other seeds (median over seeds, as published). Texts with "
        "flat weights are at the bottom, texts with one heavy word at the top. Lines are quartiles. "
        f"Mean {number(drawn.mean)} over {drawn.texts:,} texts."
    )
    return declare("seed-variance-by-largest-weight", result.check, caption, drawn.chart)


def jsd_and_change(result: CheckResult, predicted: Mapping[str, str]) -> Figure | None:
    """Whether weights and answers differ in the same texts."""
    jsd, change = (result.per_example.get(name) for name in ("jsd", "tvd"))
    if jsd is None or change is None:
        return None
    known = np.where(np.isfinite(change), jsd, np.nan)
    parts = list(by_class(result, "jsd", known, predicted))
    if not parts:
        return None
    wide = {1: 620, 2: 320, 3: 200}[columns_for(len(parts))]
    panels = [
        scatter(jsd[here], change[here], heading(label, int(here.sum())), wide, first=at % columns_for(len(parts)) == 0)
        for at, (label, here) in enumerate(parts)
    ]
    caption = (
        "Do the heatmaps differ in the same texts as the answers? A larger dot stands for more texts. At the lower "
        "right are texts on which honest seeds agree on the answer but not on the heatmap."
    )
    return declare("seed-variance-jsd-and-change", result.check, caption, side_by_side(panels))


_QUANTITIES = (
    Quantity(
        "tvd",
        "mean difference of the probabilities (TVD)",
        high="The probabilities differ a lot from the audited model's.",
        low="The probabilities nearly equal the audited model's.",
        unit="probability",
    ),
    Quantity(
        "tvd_tempered",
        "TVD after one temperature for all texts",
        high="The probabilities differ a lot, even after fitting one temperature for all texts.",
        low="The probabilities nearly agree after fitting one temperature for all texts.",
        unit="probability",
    ),
    Quantity(
        "agreement",
        "share of texts with the same decision",
        high="The model decides most texts as the audited model does.",
        low="The model decides few texts as the audited model does.",
        unit="share of texts",
    ),
    Quantity(
        "jsd",
        "mean JSD from the audited model's weights",
        high="Another seed's weights differ a lot from the audited model's.",
        low="Another seed's weights nearly equal the audited model's.",
        unit="nats",
        check="seed_variance",
    ),
    Quantity(
        "jsd_pairs",
        "mean JSD between two seeds",
        high="Two seeds have very different weights.",
        low="Two seeds have nearly the same weights.",
        unit="nats",
        counts="seeds",
    ),
    Quantity(
        "tvd_pairs",
        "mean TVD between two seeds",
        high="Two seeds give very different probabilities.",
        low="Two seeds give nearly the same probabilities.",
        unit="probability",
        counts="seeds",
    ),
    Quantity(
        "tvd_pairs_tempered",
        "mean TVD between two seeds after one temperature for all texts",
        high="Two seeds give very different probabilities, even after fitting one temperature.",
        low="Two seeds give nearly the same probabilities after fitting one temperature.",
        unit="probability",
        counts="seeds",
    ),
    Quantity(
        "agreement_pairs",
        "share of texts on which two seeds make the same decision",
        high="Two seeds make the same decision on most texts.",
        low="Two seeds make the same decision on few texts.",
        unit="share of texts",
        counts="seeds",
    ),
)

VIEW = CheckView(
    "The same recipe with other seeds",
    place=110,
    reading="Models differ even when nobody changes the recipe: the same data, the same settings, another "
    "random seed. This is the baseline for every other claim about different weights. A JSD of 0 means the same "
    "heatmap; 0.69 means a heatmap on entirely different words.",
    tables=seed_variance_tables,
    figures=(jsd_of_seeds, jsd_and_change),
    quantities=_QUANTITIES,
    compared=(Compared("jsd", "JSD from the weights of other seeds"),),
)
