"""Tables of text for the check identifiability: other weights with the same head output, and recovered tokens."""

from heatcheck.report.table import Table, pivot
from heatcheck.report.wording import quantity
from heatcheck.results import CheckResult
from heatcheck.results.written import interval, number, shown

_WEIGHTS = ("longer", "dimension", "effective_distance", "width", "widest", "jsd_low", "jsd_high", "most")


def identifiability_tables(result: CheckResult) -> list[Table]:
    """Weights first, then tokens by layer."""
    width = result.facts.get("head_width")
    weights = Table(
        f"Freedom of the read-out's weights; head width {width}" if width else "Freedom of the read-out's weights",
        ("quantity", "mean", "95% interval", "n"),
        [
            (quantity(m, result.check), number(m.value), interval(m), f"{m.n:,}")
            for name in _WEIGHTS
            for m in result.measurements
            if m.name == name
        ],
    )
    chance = next((m for m in result.measurements if m.name == "chance"), None)
    beside = f" (guessing: {number(chance.value)})" if chance else ""
    tokens = pivot(
        f"Share of tokens that a linear map recovers from their hidden states, by layer{beside}",
        "after layer",
        [
            (str(m.by["layer"]), f"nearest by {m.by['nearest by']}", shown(m))
            for m in result.measurements
            if m.name == "identified"
        ],
    )
    return [weights, tokens]
