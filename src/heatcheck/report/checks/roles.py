"""What a reader sees of the check `roles`: where each head looks, as maps of layers and heads, and the roles."""

from collections import Counter
from collections.abc import Mapping

from heatcheck.report.figures.figure import Figure, declare
from heatcheck.report.figures.head_maps import HeadMap, shares
from heatcheck.report.table import Table
from heatcheck.report.view import CheckView
from heatcheck.results import CheckResult, Measurement, Quantity
from heatcheck.results.written import number

_MAPS = {
    "sink": "Weight on the first token",
    "previous_token": "Share of queries that look most at the token before",
    "special_tokens": "Weight on special tokens",
    "entropy_nats": "Entropy of the weights, in nats",
}


def roles_tables(result: CheckResult) -> list[Table]:
    """The heads with roles, how many maps are of each class, then a map of layers and heads per measure."""
    named = result.facts.get("roles", {})
    rows = [(head, "; ".join(roles)) for head, roles in named.items()]
    classes = Counter(result.facts.get("patterns", {}).values())
    return [
        Table("Heads with a role by rule, as layer.head", ("head", "roles"), rows),
        Table("Classes of maps", ("class", "heads"), [(name, str(count)) for name, count in classes.most_common()]),
        *(_map(result, name, caption) for name, caption in _MAPS.items()),
    ]


_NO_WORDS = ("special_tokens", "punctuation_mass")


def _by_head(result: CheckResult, name: str) -> dict[tuple[int, int], Measurement]:
    return {(int(m.by["layer"]), int(m.by["head"])): m for m in result.measurements if m.name == name}


def _map(result: CheckResult, name: str, caption: str) -> Table:
    """One row per layer, one column per head."""
    found = _by_head(result, name)
    if not found:
        return Table(caption, ("layer",), [])
    width = max(head for _, head in found)
    layers = sorted({layer for layer, _ in found})
    baseline = next(iter(found.values())).baseline
    rows = [
        (str(layer), *(number(found[layer, head].value) if (layer, head) in found else "–" for head in heads))
        for heads in [range(1, width + 1)]
        for layer in layers
    ]
    return Table(
        f"{caption} ({baseline})", ("layer", *(f"head {head}" for head in range(1, width + 1))), rows, dense=True
    )


def weight_maps(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """Where the weight of every head lies: on words, and on special tokens."""
    special, marks = ({at: m.value for at, m in _by_head(result, name).items()} for name in _NO_WORDS)
    if not special:
        return None
    words = {at: max(0.0, 1 - share - marks.get(at, 0.0)) for at, share in special.items()}
    mean = sum(words.values()) / len(words)
    chart = shares([HeadMap("weight on words", words), HeadMap("weight on special tokens", special)])
    caption = (
        "A dark square at the right is a head whose weight lies on special tokens, so its heatmap over words "
        "says little. "
        f"At the left is the weight that is left for words, without punctuation: {mean:.0%} on average over the heads."
    )
    return declare("roles-weight", result.check, caption, chart)


_QUANTITIES = (
    Quantity(
        "previous_token",
        "share of queries that attend most to the token before",
        high="The head nearly always attends to the token before.",
        low="The head seldom attends to the token before.",
        unit="share of queries",
    ),
    Quantity(
        "next_token",
        "share of queries that attend most to the token after",
        high="The head nearly always attends to the token after.",
        low="The head seldom attends to the token after.",
        unit="share of queries",
    ),
    Quantity(
        "sink",
        "weight on the first token",
        high="Most of the head's weight lies on the first token, so the rest of its map says little.",
        low="The first token is no sink for this head.",
        unit="share of the weight",
    ),
    Quantity(
        "sink_rate",
        "share of heads with more than 0.3 of their weight on the first token",
        high="Most heads put much of their weight on the first token.",
        low="Few heads put much of their weight on the first token.",
        unit="share of heads",
    ),
    Quantity(
        "special_tokens",
        "weight on special tokens",
        high="Most of the head's weight lies on special tokens such as [SEP].",
        low="Little of the head's weight lies on special tokens.",
        unit="share of the weight",
    ),
    Quantity(
        "punctuation_mass",
        "weight on punctuation",
        high="Most of the head's weight lies on punctuation.",
        low="Little of the head's weight lies on punctuation.",
        unit="share of the weight",
    ),
    Quantity(
        "rare_word",
        "share of words that attend most to the rarest word they see",
        high="The head nearly always attends to the rarest word.",
        low="The head seldom attends to the rarest word.",
        unit="share of words",
    ),
    Quantity(
        "entropy_nats",
        "entropy of the head's weights",
        high="The head spreads its weight over many tokens.",
        low="The head puts its weight on few tokens.",
        unit="nats",
    ),
    Quantity(
        "confidence",
        "largest weight of a query, without the first and special tokens",
        high="The head puts most of its weight on one token.",
        low="No token gets much of the head's weight.",
        unit="share of the weight",
    ),
    Quantity(
        "attention_distance",
        "mean distance of the attended tokens, without the first and special tokens",
        high="The head attends far away.",
        low="The head attends to close tokens.",
        unit="tokens",
    ),
    Quantity(
        "variability",
        "difference of the weights among the first ten tokens between texts",
        high="The head's weights depend on the text.",
        low="The head's weights depend on the position, hardly on the text.",
        unit="share of the weight",
    ),
    Quantity(
        "column_mass",
        "weight on the token that gets most, mean over queries",
        high="All queries attend to the same token.",
        low="Queries attend to different tokens.",
        unit="share of the weight",
    ),
    Quantity(
        "diagonal_mass",
        "weight within one token of the query",
        high="The head attends to the query and its neighbours.",
        low="The head attends beyond the query's neighbours.",
        unit="share of the weight",
    ),
)

VIEW = CheckView(
    "What each head looks at",
    place=186,
    reading="A role is a rule about where a head looks. heatcheck names it only if the interval is above the rule's "
    "threshold and above uniform weights. A role does not say that the head matters: `heatcheck heads` removes heads "
    "to find out. A sink puts most of its weight on the first token; little can be read from the rest of its map.",
    tables=roles_tables,
    figures=(weight_maps,),
    quantities=_QUANTITIES,
)
