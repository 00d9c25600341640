"""What a reader sees of the check `log_odds`: the model's weights compared with those of a bag of words."""

from heatcheck.report.view import CheckView
from heatcheck.results import Quantity

_QUANTITIES = (
    Quantity(
        "jsd",
        "JSD between the model's weights and these",
        high="The model's weights differ a lot from these.",
        low="The model's weights nearly equal these.",
        unit="nats",
        check="log_odds",
    ),
    Quantity(
        "change",
        "mean change of the probability",
        high="The replacement moves the probability a lot.",
        low="The replacement hardly moves the probability.",
        unit="probability",
        check="log_odds",
    ),
    Quantity(
        "flips",
        "share of texts whose decision changes",
        high="The replacement changes many decisions.",
        low="The replacement changes few decisions.",
        unit="share of texts",
        check="log_odds",
    ),
)

VIEW = CheckView(
    "Weights and words of a bag of words",
    place=160,
    quantities=_QUANTITIES,
)
