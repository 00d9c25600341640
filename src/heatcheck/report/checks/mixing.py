"""What a reader sees of the check `mixing`: how much each token takes from others, per layer."""

from heatcheck.report.view import CheckView
from heatcheck.results import Quantity

_QUANTITIES = (
    Quantity(
        "mixing",
        "share of a token's new vector that comes from other tokens",
        high="Other tokens make up most of a token's new vector.",
        low="The token itself makes up most of its new vector.",
        unit="share",
    ),
    Quantity(
        "special",
        "share that special tokens get",
        high="Special tokens get most of the weight, or of what attention adds.",
        low="Special tokens get little of the weight, or of what attention adds.",
        unit="share",
    ),
)

VIEW = CheckView(
    "How much each token takes from others",
    place=180,
    quantities=_QUANTITIES,
)
