"""What a reader sees of the check `states`: how alike states are, and whether each says which word it stands at."""

from heatcheck.report.view import CheckView
from heatcheck.results import Quantity

_QUANTITIES = (
    Quantity(
        "conicity",
        "conicity of the states (mean |cosine| to their mean)",
        high="All states of a text point nearly one way, so other weights give nearly the same mixture.",
        low="The states of a text point in different directions.",
        unit="mean |cosine|",
    ),
    Quantity(
        "own_word",
        "share of states nearest to their own word",
        high="Nearly every state says which word it stands at.",
        low="Most states do not say which word they stand at.",
        unit="share of words",
    ),
    Quantity(
        "size_of",
        "mean length of a vector",
        high="The vectors are long.",
        low="The vectors are short.",
        unit="length",
    ),
)

VIEW = CheckView("How much each state says of its own word", place=185, quantities=_QUANTITIES)
