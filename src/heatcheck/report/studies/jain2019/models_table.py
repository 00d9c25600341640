"""Jain & Wallace 2019, all models of a task side by side: agreement, removals, shuffles and JSD, with baselines."""

from collections.abc import Sequence

from heatcheck.report.study_view import Line, ModelsTable, Rows
from heatcheck.report.study_wording import method_of, two_digits, with_half
from heatcheck.results import Key, Model, Row, key
from heatcheck.results.written import NOTHING

EPSILONS = (0.05, 0.01, 0.001)

# Words and quantity; without a quantity, a title.
LINES: tuple[tuple[str, Key | None], ...] = (
    ("score", key("score")),
    ("Agreement on the order of the words, Kendall τ", None),
    ("attention, gradient", key("tau", pair=("attention", "gradient"))),
    ("– its mechanical floor", key("floor", pair=("attention", "gradient"))),
    ("attention, leave one out", key("tau", pair=("attention", "leave_one_out"))),
    ("– its mechanical floor", key("floor", pair=("attention", "leave_one_out"))),
    ("gradient, leave one out", key("tau", pair=("gradient", "leave_one_out"))),
    ("attention, gradient at uniform weights", key("tau", pair=("attention", "gradient_uniform"))),
    ("Removing the highlighted words: 0 as random words, 1 as the best other method's words", None),
    ("K, words deleted", key("K", operator="deletion")),
    ("K, words masked", key("K", operator="masking")),
    ("Shuffling the weights", None),
    ("share of shuffles that keep the answer (q)", key("q")),
    ("median change of the output", key("permutation")),
    ("Different weights, same answer: JSD in nats", None),
    *(
        line
        for e in EPSILONS
        for line in (
            (f"largest, ε = {e}", key("jsd", epsilon=e)),
            ("– null: relevances shuffled", key("null", epsilon=e)),
            ("– found by the published search", key("searched", epsilon=e)),
            ("– missed by it", key("missed", epsilon=e)),
        )
    ),
    ("floor: JSD that any linear read-out reaches", key("floor")),
    ("share of the possible JSD (U), standardised logits", key("U")),
)

ABOUT = (
    "Means over seeds, ± half of the 95% t interval. The lines under a number are its baselines. Compare a τ with its "
    "mechanical floor, if it has one. Compare the largest JSD with its null and with the result of the published "
    "search. The share q distinguishes models without any search."
)

# How exact the largest JSD of a task is, by how it was computed.
_METHODS = {
    "exact": "The largest JSD is exact: no search can find more.",
    "bracket": "These models have more than two labels. The JSD shown is reached, and the largest one may be a little "
    "larger. The floor holds for two labels only, so it is missing.",
    "search": "The read-out of these models is not linear, so the largest JSD comes from a search, a lower bound. "
    "Its floor and its null hold for linear read-outs only, so they are missing. So is the mechanical floor of "
    "leave-one-out.",
}


def score_name(labels: Sequence[str]) -> str:
    """The paper's name for a model's score.

    >>> score_name(("negative", "positive")), score_name(("entailment", "neutral", "contradiction"))
    ('F1', 'accuracy')
    """
    return "F1" if len(labels) == 2 else "accuracy"


def models_table(models: Sequence[Model], rows: Rows) -> ModelsTable:
    """Every quantity that a model of the task has, and how exact the largest JSD is."""
    found = []
    for what, quantity in LINES:
        cells = () if quantity is None else tuple(_cell(model, quantity, rows) for model in models)
        if quantity is None or any(cell != NOTHING for cell in cells):
            words = score_name(models[0].labels) if quantity == key("score") else what
            found.append(Line(words, cells))
    # A title without lines is dropped.
    lines = [line for line, after in zip(found, [*found[1:], Line("", ())], strict=True) if line.cells or after.cells]
    methods = dict.fromkeys(method_of(model) for model in models if "jsd:published:0.05" in model.examples)
    return ModelsTable(lines, " ".join(_METHODS[method] for method in methods))


def _cell(model: Model, quantity: Key, rows: Rows) -> str:
    def row(of: Key) -> Row | None:
        return rows.get((model.task, model.encoder, model.attention, of, "", ""))

    if quantity.name == "missed":
        best, searched = row(key("jsd", **quantity.by)), row(key("searched", **quantity.by))
        # A difference of means over the same texts; its interval would need the seeds.
        return NOTHING if best is None or searched is None else two_digits(best.value - searched.value)
    one = row(quantity)
    known = quantity != key("floor") or method_of(model) == "exact"  # of two labels: it holds nowhere else
    return with_half(one) if one and known else NOTHING
