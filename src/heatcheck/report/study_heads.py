"""Words and tables that studies of heads share."""

from collections.abc import Sequence

from heatcheck.report.study_columns import DEEPEST, Columns, by_layer
from heatcheck.report.study_quantities import study_quantity
from heatcheck.report.study_wording import models_in_order, with_interval
from heatcheck.report.table import Table
from heatcheck.results import Row, StudyResult
from heatcheck.results.written import NOTHING

MEASURES = {
    "special_tokens": "Weight on special tokens",
    "previous_token": "Share of queries that look most at the token before",
    "next_token": "Share of queries that look most at the token after",
    "punctuation_mass": "Weight on punctuation",
    "entropy_nats": "Entropy in nats",
    "attention_distance": "Distance in tokens",
    "variability": "Variability between texts",
    "sink": "Weight on the first token",
    "column_mass": "Weight on the most attended token",
    "diagonal_mass": "Weight within one token of the query",
}
QUANTITIES = (
    study_quantity("heads_mean", "mean over heads of {}", "the heads have much of it", "the heads have little of it"),
    study_quantity(
        "heads_above", "share of heads above the threshold: {}", "most heads are above", "few heads are above"
    ),
    study_quantity("pattern_share", "share of heads whose map is {}", "most maps are of this class", "few maps are"),
)


def layers_below(found: StudyResult) -> list[Table]:
    """One row per layer for each model that is too deep for a table with a column per layer."""
    made = []
    for model in models_in_order(found):
        rows = {
            (str(row.by["measure"]), row.by["layer"]): row
            for row in found.rows
            if row.name == "heads_mean" and (row.task, row.encoder) == (model.task, model.encoder)
        }
        measures = [measure for measure in MEASURES if any(of == measure for of, _ in rows)]
        layers = sorted({layer for _, layer in rows if isinstance(layer, int)})
        if len(layers) > DEEPEST:
            body = [
                (str(layer), *(_cell(rows.get((measure, layer))) for measure in measures)) for layer in (*layers, "all")
            ]
            caption = f"Means over heads by layer, {model.task}, {model.encoder}"
            made.append(Table(caption, ("layer", *(MEASURES[measure] for measure in measures)), body, dense=True))
    return made


def _cell(row: Row | None) -> str:
    return NOTHING if row is None else with_interval(row)


def tables_by_layer(measures: Sequence[str]) -> list[Columns]:
    """One table per measure: a column for each layer, then all."""
    return [
        Columns(
            f"{MEASURES[measure]}, mean over heads",
            {**by_layer(f"heads_mean:{measure}"), f"heads_mean:{measure}:all": "all layers"},
        )
        for measure in measures
    ]
