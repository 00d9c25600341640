"""What a reader sees of the check `states`: how alike states are, and whether each says which word it stands at."""

from heatcheck.report.table import Table
from heatcheck.report.view import CheckView
from heatcheck.results import CheckResult, Quantity
from heatcheck.results.written import interval, number

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

_SAYS = {"conicity": "conicity", "own_word": "own word found", "size_of": "mean length"}


def state_table(result: CheckResult) -> list[Table]:
    """One row per number."""
    rows = [
        (", ".join([_SAYS[m.name], *map(str, m.by.values())]), number(m.value), interval(m), m.baseline, f"{m.n:,}")
        for m in result.measurements
    ]
    return [
        Table("How alike states are, and what they say", ("number", "value", "95% interval", "baseline", "n"), rows)
    ]


VIEW = CheckView("How much each state says of its own word", place=185, tables=state_table, quantities=_QUANTITIES)
