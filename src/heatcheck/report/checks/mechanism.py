"""What a reader sees of the check `mechanism`: the heads of induction circuits, who feeds them, what removal costs."""

from collections.abc import Mapping

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import ATTENTION, Figure, altair, declare
from heatcheck.report.table import Table
from heatcheck.report.view import CheckView
from heatcheck.results import CheckResult, Measurement, Quantity
from heatcheck.results.written import NOTHING, interval, number, shown

SHOWN = 10  # heads of each kind
_ROLES = {
    "induction": ("prefix_matching", "weight on what followed earlier copies"),
    "previous token": ("previous_token_mass", "weight on the token before"),
    "duplicate token": ("duplicate_token_mass", "weight on earlier copies"),
}
_TEXTS = {"repeated": "repeated random tokens", "ordinary": "ordinary texts"}
_HEADS = {"induction": "induction heads", "random": "as many random heads"}


def in_short(result: CheckResult) -> str:
    """How many induction heads there are, and what their removal costs, in plain words."""
    found, heads = result.facts["roles"]["induction"], result.facts["heads"]
    if not found:
        return f"No head is an induction head: none of {heads} surely attends to what followed earlier copies."
    said = f"{len(found)} of {heads} heads {'is an induction head' if len(found) == 1 else 'are induction heads'}."
    cost, beyond = _one(result, "removal_cost", texts="repeated", heads="induction"), _beyond(result, "repeated")
    if cost is None or beyond is None:
        return said
    more = "surely more" if beyond.low > 0 else "not significantly more"
    return (
        f"{said} Without {'it' if len(found) == 1 else 'them'} the loss on repeated tokens rises by "
        f"{number(cost.value)} nats, {more} than without as many random heads."
    )


def mechanism_tables(result: CheckResult) -> list[Table]:
    """Induction heads with their evidence, other heads of the circuit, the cost of removal, and the loss by copy."""
    return [
        _induction(result),
        *(_heads_with(result, role) for role in list(_ROLES)[1:]),
        _costs(result),
        _loss(result),
    ]


def _induction(result: CheckResult) -> Table:
    rows = []
    for place in result.facts["roles"]["induction"][:SHOWN]:
        layer, head = (int(part) for part in place.split("."))
        here = {"layer": layer, "head": head}
        fed = next((m for m in result.measurements if m.name == "composition" and m.by["reader"] == place), None)
        weights = _one(result, "copying_from_weights", **here)
        rows.append(
            (
                place,
                shown(_one(result, "prefix_matching", **here)),
                shown(_one(result, "behavioural_copying", **here)),
                shown(_one(result, "direct_effect", **here)),
                NOTHING if weights is None else f"{number(weights.value)} ({weights.baseline.rpartition('; ')[2]})",
                NOTHING if fed is None else f"{fed.by['writer']} ({number(fed.value)} times random)",
            )
        )
    columns = (
        "layer.head",
        "weight on what followed earlier copies",
        "copying",
        "direct effect (logits)",
        "copying from weights",
        "fed most by",
    )
    return Table(f"{in_short(result)} The first {len(rows)}, as layer.head", columns, rows)


def _heads_with(result: CheckResult, role: str) -> Table:
    name, words = _ROLES[role]
    rows = []
    for place in result.facts["roles"][role][:SHOWN]:
        layer, head = (int(part) for part in place.split("."))
        measured = _one(result, name, layer=layer, head=head)
        rows.append((place, shown(measured), NOTHING if measured is None else measured.baseline))
    return Table(f"{role.capitalize()} heads, as layer.head", ("layer.head", words, "baseline"), rows)


def _costs(result: CheckResult) -> Table:
    rows = []
    for texts, words in _TEXTS.items():
        costs = [_one(result, "removal_cost", texts=texts, heads=heads) for heads in _HEADS]
        beyond = _beyond(result, texts)
        if beyond is not None:
            rows.append((words, *map(shown, costs), shown(beyond), beyond.baseline))
    columns = ("on", "without the induction heads", "without random heads", "difference", "baseline")
    return Table("Loss added by removing heads, in nats, with 95% intervals", columns, rows)


def _loss(result: CheckResult) -> Table:
    found = sorted((m for m in result.measurements if m.name == "loss_of_copy"), key=lambda m: int(m.by["copy"]))
    rows = [(str(m.by["copy"]), number(m.value), interval(m)) for m in found]
    return Table("Loss on each copy of the random tokens, in nats", ("copy", "loss", "95% interval"), rows)


def _one(result: CheckResult, name: str, **by: object) -> Measurement | None:
    found = (m for m in result.measurements if m.name == name and all(m.by.get(key) == v for key, v in by.items()))
    return next(found, None)


def _beyond(result: CheckResult, texts: str) -> Measurement | None:
    return _one(result, "removal_cost_beyond_random", texts=texts)


def mechanism_map(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """One square per head, coloured by its weight on what followed earlier copies."""
    alt = altair()
    cells = [
        {"layer": m.by["layer"], "head": m.by["head"], "weight": m.value}
        for m in result.measurements
        if m.name == "prefix_matching"
    ]
    if not cells:
        return None
    drawn = (
        alt.Chart(alt_data(cells))
        .mark_rect()
        .encode(
            x=alt.X("head:O", title="head"),
            y=alt.Y("layer:O", title="layer"),
            color=alt.Color("weight:Q", title="weight").scale(domain=[0, 1], range=["#eeeeee", ATTENTION]),
            tooltip=[alt.Tooltip("layer:O"), alt.Tooltip("head:O"), alt.Tooltip("weight:Q", format=".3f")],
        )
    )
    caption = "The weight of each head on tokens that followed earlier copies of the query. 1: an induction head."
    return declare("mechanism-map", result.check, caption, drawn)


_QUANTITIES = (
    Quantity(
        "prefix_matching",
        "weight on what followed earlier copies of the token",
        high="The head attends to what followed earlier copies, as an induction head does.",
        low="The head does not attend to what followed earlier copies.",
        unit="share of the weight",
    ),
    Quantity(
        "previous_token_mass",
        "weight on the token before, on repeated random tokens",
        high="The head attends to the token before.",
        low="The head seldom attends to the token before.",
        unit="share of the weight",
    ),
    Quantity(
        "duplicate_token_mass",
        "weight on earlier copies of the token",
        high="The head attends to earlier copies of the token itself.",
        low="The head does not attend to earlier copies.",
        unit="share of the weight",
    ),
    Quantity(
        "behavioural_copying",
        "whether the head raises the logits of the tokens it attends to",
        high="The head raises the tokens that it attends to.",
        low="The head raises and lowers them alike (0), or lowers them (below 0).",
    ),
    Quantity(
        "direct_effect",
        "what the head itself adds to the token that continues a copy",
        high="The head writes the token that continues the copy.",
        low="The head does not write that token itself (0), or works against it (below 0).",
        unit="logits",
    ),
    Quantity(
        "copying_from_weights",
        "copying score from eigenvalues of the weights",
        high="The head's weights hand on the tokens that they read.",
        low="The head's weights hand on nothing of the kind (0), or the opposite (below 0).",
    ),
    Quantity(
        "composition",
        "composition of a head into the keys of an induction head, in times random",
        high="The keys of the induction head read what the earlier head writes.",
        low="The keys read no more of it than of random heads (1).",
        unit="times random",
    ),
    Quantity(
        "loss_of_copy",
        "loss on one copy of the random tokens",
        high="The model does not continue the text from its earlier copies.",
        low="The model continues the text from its earlier copies.",
        unit="nats",
    ),
    Quantity(
        "in_context_score",
        "loss on late tokens less loss on early ones",
        high="Earlier tokens do not help the model with later ones.",
        low="Earlier tokens help the model with later ones.",
        unit="nats",
    ),
    Quantity(
        "heads_in_circuit",
        "number of heads with a role in the circuit",
        high="Many heads have this role.",
        low="Few heads have this role.",
        unit="heads",
        format=".0f",
    ),
    Quantity(
        "removal_cost",
        "loss added by removing these heads together",
        high="The model needs these heads for such texts.",
        low="The model does as well without these heads (0), or better (below 0).",
        unit="nats",
    ),
    Quantity(
        "removal_cost_beyond_random",
        "loss added by removing induction heads, less that of random heads",
        high="The model needs the induction heads more than as many random heads.",
        low="Random heads are needed as much (0), or more (below 0).",
        unit="nats",
    ),
)

VIEW = CheckView(
    "Induction circuits",
    place=188,
    reading="An induction head attends to what followed earlier copies of the current token. Its map alone does not "
    "show that it continues the text: read the direct effect and the cost of removal. Copying from weights is a hint "
    "and no test for induction. In deep models many heads copy, and induction heads need not. Induction heads can "
    "stand in for each other, so the cost is that of all of them together.",
    held="the trained model; layers above a removed head read what its removal leaves",
    tables=mechanism_tables,
    figures=(mechanism_map,),
    quantities=_QUANTITIES,
    kinds={
        **{("texts", kind): words for kind, words in _TEXTS.items()},
        **{("heads", kind): words for kind, words in _HEADS.items()},
    },
)
