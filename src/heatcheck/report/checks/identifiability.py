"""What a reader sees of the check `identifiability`: other weights with the same output, and recovered tokens."""

from collections.abc import Mapping

from heatcheck.report.figures.by_layer import LayerPanel, by_layer
from heatcheck.report.figures.distribution import Style
from heatcheck.report.figures.figure import FLOOR, MOST, RIVAL, Figure, declare
from heatcheck.report.measurement_words import quantity
from heatcheck.report.table import Table, pivot
from heatcheck.report.view import CheckView
from heatcheck.results import CheckResult, Quantity
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


_LOOKS = {"cosine": Style(MOST), "euclidean": Style(RIVAL, (9, 3)), "guessing": Style(FLOOR, (2, 4))}


def tokens_by_layer(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """The share of tokens that are recovered from their hidden states, over the layers."""
    found = [m for m in result.measurements if m.name == "identified"]
    if not found:
        return None
    kinds = [name for name in _LOOKS if any(m.by["nearest by"] == name for m in found)]
    lines = {f"nearest by {name}": [m for m in found if m.by["nearest by"] == name] for name in kinds}
    chance = next((m for m in result.measurements if m.name == "chance"), None)
    across = {"guessing": chance} if chance else {}
    styles = {name if name == "guessing" else f"nearest by {name}": look for name, look in _LOOKS.items()}
    panel = LayerPanel("after each layer", lines, across)
    chart = by_layer([panel], styles, axis="share of tokens found again", full=(0.0, 1.0), height=200)
    caption = (
        "High lines mean that the hidden state at a word still says which word it was. A linear map recovers the "
        "words from their hidden states. If it cannot, a weight at a place is no weight on that place's word."
    )
    return declare("identifiability-tokens", result.check, caption, chart)


_QUANTITIES = (
    Quantity(
        "longer",
        "share of texts long enough for other weights with the same head output",
        high="Most texts are long enough for other weights with the same head output.",
        low="Few texts are long enough for other weights with the same head output.",
        unit="share of texts",
    ),
    Quantity(
        "dimension",
        "dimensions in which the weights can change without changing the head's output",
        high="The weights can change in many directions without changing the head's output.",
        low="The weights can change in few directions without changing the head's output.",
        unit="dimensions",
    ),
    Quantity(
        "effective_distance",
        "share of the weights that has no effect on the output (distance from effective attention)",
        high="Much of the weights has no effect on the head's output.",
        low="Nearly all of the weights affect the head's output.",
        unit="share",
    ),
    Quantity(
        "width",
        "width of the range of a weight with the same head output, mean over tokens",
        high="A weight can change a lot without changing the head's output.",
        low="A weight can hardly change without changing the head's output.",
        unit="weight",
    ),
    Quantity(
        "widest",
        "width of the widest such range in a text",
        high="The freest weight can change a lot without changing the head's output.",
        low="Even the freest weight can hardly change without changing the head's output.",
        unit="weight",
    ),
    Quantity(
        "jsd_low",
        "JSD of the most different weights found with exactly the same head output",
        high="Some very different weights give exactly the same head output.",
        low="The most different weights found with the same head output are similar to those shown.",
        unit="nats",
    ),
    Quantity(
        "jsd_high",
        "upper bound on that JSD",
        high="The bound leaves room for very different weights with the same head output.",
        low="No very different weights give the same head output.",
        unit="nats",
    ),
    Quantity(
        "identified",
        "share of tokens recovered from their hidden states",
        high="A linear map recovers most tokens from their hidden states.",
        low="A linear map recovers few tokens from their hidden states.",
        unit="share of tokens",
    ),
    Quantity(
        "chance",
        "share of tokens recovered by guessing",
        high="Guessing already recovers many tokens.",
        low="Guessing recovers few tokens.",
        unit="share of tokens",
    ),
)

VIEW = CheckView(
    "Different weights, same head output",
    place=80,
    reading="A head adds up value vectors of limited width. If a text has more tokens than that width, "
    "other weights give exactly the same sum. Nothing after the head can tell these weights from the ones shown. The "
    "dimension only counts directions; weights cannot be negative, so look at how far each one can move. Linear "
    "programs give the range of each weight, and a lower and an upper bound on the JSD (in nats; 0.69 means entirely "
    "different tokens). Short texts leave no freedom at all. If a token can be recovered from its hidden state, that "
    "state still belongs to the token. This does not make its weight the token's influence.",
    tables=identifiability_tables,
    figures=(tokens_by_layer,),
    quantities=_QUANTITIES,
)
