"""Words and tables that studies of heads share."""

from collections.abc import Sequence

from heatcheck.report.study_columns import Columns, by_layer
from heatcheck.report.study_quantities import study_quantity

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


def tables_by_layer(measures: Sequence[str]) -> list[Columns]:
    """One table per measure: a column for each layer, then all."""
    return [
        Columns(
            f"{MEASURES[measure]}, mean over heads",
            {**by_layer(f"heads_mean:{measure}"), f"heads_mean:{measure}:all": "all layers"},
        )
        for measure in measures
    ]
