"""What a reader sees of the check `permutation`: the effect of shuffling the weights."""

from collections.abc import Mapping, Sequence

from heatcheck.report.compared_values import Compared
from heatcheck.report.figures.figure import Figure, declare
from heatcheck.report.figures.largest_weight import by_largest_weight
from heatcheck.report.figures.several_models import means, outlines
from heatcheck.report.measurement_words import quantity
from heatcheck.report.table import Table, pivot, with_n
from heatcheck.report.view import CheckView, Results
from heatcheck.results import CheckResult, Quantity
from heatcheck.results.written import interval, number


def permutation_tables(result: CheckResult) -> list[Table]:
    """The effects over all texts, then by predicted class and largest weight."""
    overall = Table(
        "Effect of shuffling the weights on the output",
        ("quantity", "mean", "95% interval", "n"),
        [
            (quantity(m), number(m.value), interval(m), f"{m.n:,}")
            for m in result.measurements
            if m.name in ("delta", "q", "flips") and not m.by.keys() & {"class", "bin"}
        ],
    )
    deltas = [m for m in result.measurements if m.name == "delta" and "class" in m.by]
    cells = [(str(m.by["class"]), str(m.by.get("bin", "all")), with_n(m)) for m in deltas]
    title = "Median change of the output, by predicted class and largest weight of the text"
    by_class = pivot(title, "class", sorted(cells, key=lambda cell: (cell[1] != "all", cell[1])))
    return [overall, by_class]


def delta_by_largest_weight(result: CheckResult, predicted: Mapping[str, str]) -> Figure | None:
    """The median change of the output by the largest weight, with one panel per predicted class."""
    drawn = by_largest_weight(result, "delta", predicted, span=(0.0, 1.0), axis="median change of the output")
    if drawn is None:
        return None
    caption = (
        "Violins near 0 mean that it hardly matters which word has which weight. They show how far the output moves "
        "when heatcheck shuffles the weights of a text (median over shuffles). Texts with flat weights are at the "
        "bottom; texts with one heavy word, which say most, are at the top. Lines are quartiles. "
        f"Mean {number(drawn.mean)}."
    )
    return declare("permutation-by-largest-weight", result.check, caption, drawn.chart)


def q_distribution(results: Results, names: Sequence[str]) -> Figure | None:
    """The share of shuffles of the weights that keep each text's answer."""
    panel = {name: result.per_example["q"] for name, result in results.items() if "q" in result.per_example}
    caption = (
        "The share of shuffles of the weights that keep the answer, text by text. At the right, most other orders of "
        f"the weights keep the answer; uniform weights are at 1. Marks on the axis are means. {means({'': panel})}"
    )
    axis = "share of shuffles that keep the answer (q)"
    return outlines({"": panel}, names, "compare-permutation", "permutation", caption, span=(0.0, 1.0), axis=axis)


_QUANTITIES = (
    Quantity(
        "delta",
        "median change of the output when weights are shuffled",
        high="A typical shuffle of the weights moves the output a lot.",
        low="A typical shuffle of the weights hardly moves the output.",
        unit="probability",
    ),
    Quantity(
        "q",
        "share of shuffles that keep the answer (q)",
        high="Most shuffles of the weights leave the answer nearly as it was.",
        low="Most shuffles of the weights move the answer.",
        unit="share of shuffles",
    ),
    Quantity(
        "flips",
        "share of shuffles that change the decision",
        high="Many shuffles of the weights change the decision.",
        low="Few shuffles of the weights change the decision.",
        unit="share of shuffles",
    ),
    Quantity(
        "evenness",
        "evenness of the weights (1 is uniform)",
        high="The weights are spread almost evenly over the tokens.",
        low="A few tokens hold almost all the weight.",
    ),
)

VIEW = CheckView(
    "Shuffling the weights",
    place=60,
    reading="heatcheck shuffles the weights among the words of a text; everything else in the model stays the "
    "same. If the answer hardly moves, it does not depend much on which word has which weight. Shuffling flat weights "
    "changes little in any model, so look at texts with a large weight.",
    tables=permutation_tables,
    figures=(delta_by_largest_weight,),
    quantities=_QUANTITIES,
    compared=(
        Compared("delta", "median change of the output when the weights are shuffled"),
        Compared("q", "share of shuffles that keep the answer (q)"),
    ),
    comparison_figures=(q_distribution,),
)
