"""What a reader sees of the check `layers`: weights, rollout and flow per layer, compared with other scores."""

from heatcheck.report.view import CheckView
from heatcheck.results import Quantity

_QUANTITIES = (
    Quantity(
        "spearman",
        "mean Spearman ρ",
        high="Both rankings order the words of a text almost alike; 1 is the same order.",
        low="Both rankings order the words in unrelated (0) or opposite (−1) ways.",
    ),
)

VIEW = CheckView(
    "Weights, rollout and flow per layer",
    place=170,
    quantities=_QUANTITIES,
)
