"""What a reader sees of the check `heads`: a map of all heads, those that matter most, and whether it matters where."""

from collections.abc import Mapping

from heatcheck.report.figures.figure import Figure, declare
from heatcheck.report.figures.head_maps import HeadMap, changes
from heatcheck.report.table import Table, pivot
from heatcheck.report.view import CheckView
from heatcheck.results import CheckResult, Measurement, Quantity
from heatcheck.results.written import NOTHING, interval, number, shown

SHOWN = 10  # heads that matter most
PREFERRED = ("mean", "zero")  # ways by which heads are ranked, if they were run
_WAYS = {
    "zero": "no output (zero)",
    "mean": "mean output (mean)",
    "uniform": "equal weights (uniform)",
    "offset": "mean weights by distance (offset)",
    "other_text": "weights from another text (other_text)",
}
_FOR = {"where": "where it looks", "what": "what it reads, not where it looks", "open": "not decided"}


def main_way(result: CheckResult) -> str:
    """The way of removal by which heads are ranked."""
    ways = [str(way) for way in result.settings["ways"]]
    return next((way for way in PREFERRED if way in ways), ways[0])


def in_short(result: CheckResult) -> str:
    """How many heads matter, and how many of these for where they look, in plain words."""
    way, heads = main_way(result), result.facts["heads"]
    matter = int(result.find("heads_that_matter", way=way).value)
    if not matter:
        return f"No head surely matters alone: no single removal of {heads} surely raises the loss."
    said = f"{matter} of {heads} heads {'matters' if matter == 1 else 'matter'}: removing one surely raises the loss."
    counts = {str(m.by["for"]): int(m.value) for m in result.measurements if m.name == "heads_that_matter_for"}
    if not counts:
        return said
    kinds = {"where": ("matters", "matter"), "what": ("does not", "do not"), "open": ("is open", "are open")}
    where, what, undecided = (
        f"{counts[kind]} {one if counts[kind] == 1 else many}" for kind, (one, many) in kinds.items()
    )
    looks = "it looks" if counts["where"] == 1 else "they look"
    return f"{said} Of these {matter}, {where} for where {looks}, {what}, and {undecided}."


def heads_tables(result: CheckResult) -> list[Table]:
    """The heads that matter most, the map of all, the count by way, and the error of the estimates."""
    return [_most(result), _map(result), _by_way(result), _estimates(result)]


def _most(result: CheckResult) -> Table:
    way = main_way(result)
    ranked = sorted(_of(result, "loss_added", way=way), key=lambda m: (m.by["matters"] != "yes", -m.value))
    rows = []
    for m in ranked[:SHOWN]:
        here = {"layer": m.by["layer"], "head": m.by["head"]}
        share, sink = (next(iter(_of(result, name, **here)), None) for name in ("gaze_share", "sink_mass"))
        rows.append(
            (
                f"layer {m.by['layer']}, head {m.by['head']}",
                str(m.by["matters"]),
                shown(m),
                shown(next(iter(_of(result, "answer_moved", way=way, **here)), None)),
                NOTHING if share is None else shown(share),
                NOTHING if share is None else _FOR[str(share.by["for"])],
                NOTHING if sink is None else number(sink.value),
            )
        )
    columns = (
        "head",
        "matters",
        "loss added (nats)",
        "answer moved",
        "share due to where it looks",
        "matters for",
        "weight on marks and first token",
    )
    return Table(f"{in_short(result)} The {len(rows)} heads that matter most, by {_WAYS[way]}", columns, rows)


def _map(result: CheckResult) -> Table:
    way = main_way(result)
    cells = [
        (f"layer {m.by['layer']}", f"head {m.by['head']}", number(m.value) + ("*" if m.by["matters"] == "yes" else ""))
        for m in _of(result, "loss_added", way=way)
    ]
    caption = f"Loss added without each head (nats), by {_WAYS[way]}; * marks heads that matter"
    return pivot(caption, "layer", cells)._replace(dense=True)


def _by_way(result: CheckResult) -> Table:
    rows = []
    for m in _of(result, "heads_that_matter"):
        way = str(m.by["way"])
        each = _of(result, "loss_added", way=way)
        harm = int(result.find("heads_that_harm", way=way).value)
        mean = sum(one.value for one in each) / len(each)
        rows.append((_WAYS[way], f"{m.value:.0f}", f"{harm}", number(mean), number(max(one.value for one in each))))
    columns = ("in place of the head", "heads that matter", "heads that harm", "mean loss added", "largest loss added")
    return Table(f"Heads that matter, of {result.facts['heads']}, by way of removal", columns, rows)


def _estimates(result: CheckResult) -> Table:
    names = {
        "proxy_spearman": "Spearman ρ",
        "proxy_recall": "top heads found",
        "proxy_signs": "right sign",
        "proxy_error": "relative error",
    }
    cells = [
        (f"{_WAYS[str(m.by['way'])]}: {_ESTIMATES[str(m.by['estimate'])]}", words, f"{number(m.value)} {interval(m)}")
        for m in result.measurements
        if (words := names.get(m.name)) is not None
    ]
    return pivot("How well one gradient estimates the true effects of removal, with 95% intervals", "estimate", cells)


_ESTIMATES = {"signed": "loss added to first order", "importance": "size of the slope (Michel et al.)"}


def _of(result: CheckResult, name: str, **by: object) -> list[Measurement]:
    return [m for m in result.measurements if m.name == name and all(m.by.get(key) == v for key, v in by.items())]


def heads_map(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """One square per head, coloured by the loss that its removal adds, and by that of equal weights in it."""
    first = main_way(result)
    ways = dict.fromkeys((first, *(way for way in ("uniform",) if way in result.settings["ways"])))
    maps = [
        HeadMap(
            f"{'flattened' if way == 'uniform' else 'removed'}: {_WAYS[way]}",
            {_place(m): m.value for m in _of(result, "loss_added", way=way)},
            frozenset(_place(m) for m in _of(result, "loss_added", way=way) if m.by["matters"] == "yes"),
        )
        for way in ways
    ]
    maps = [one for one in maps if any(one.cells.values())]
    if not maps:
        return None
    some = any(one.stars for one in maps)
    caption = (
        "Orange squares are heads without which the answers get worse, green ones with a minus better; "
        f"{'a star marks heads that surely matter' if some else 'no head surely matters, so none has a star'}. "
        f"At the left stands the loss that a head's removal adds, by {_WAYS[first]}. "
    )
    if len(maps) > 1:
        caption += "At the right the head stays, with equal weights for all tokens: where it looks is gone."
    return declare("heads-map", result.check, caption.strip(), changes(maps, "loss added (nats)"))


def _place(m: Measurement) -> tuple[int, int]:
    return int(m.by["layer"]), int(m.by["head"])


_QUANTITIES = (
    Quantity(
        "head_accuracy",
        "share of right answers with all heads",
        high="The model with all its heads answers most of these examples right.",
        low="The model with all its heads answers few of these examples right.",
        unit="share of texts",
    ),
    Quantity(
        "loss_added",
        "loss added by removing the head",
        high="The answers get worse without the head.",
        low="The head is not needed (0), or the answers get better without it (below 0).",
        unit="nats",
        format="fine",
    ),
    Quantity(
        "answer_moved",
        "total variation between the answers with and without the head",
        high="The answers change much without the head.",
        low="The answers stay about the same without the head.",
        unit="probability",
        format="fine",
    ),
    Quantity(
        "sink_mass",
        "weight of the head on marks and the first token",
        high="Most of the head's weight is on marks such as [CLS] and [SEP], or on the first token.",
        low="Most of the head's weight is on words.",
        unit="share of the weight",
    ),
    Quantity(
        "gaze_share",
        "share of the head's effect that is due to where it looks",
        high="The head matters for where it looks: another text's pattern hurts as much as removal.",
        low="The head does as well with another text's pattern, so its heatmap explains little.",
    ),
    Quantity(
        "heads_that_matter",
        "number of heads that matter",
        high="Many heads are needed for the answers.",
        low="Few heads are needed, one at a time.",
        unit="heads",
        format=".0f",
    ),
    Quantity(
        "heads_that_harm",
        "number of heads whose removal surely lowers the loss",
        high="Without some heads the answers would be better.",
        low="Hardly any single head makes the answers worse.",
        unit="heads",
        format=".0f",
    ),
    Quantity(
        "heads_that_matter_for",
        "number of heads by what they matter for",
        high="Many of the heads that matter are of this kind.",
        low="Few of the heads that matter are of this kind.",
        unit="heads",
        format=".0f",
    ),
    Quantity(
        "proxy_spearman",
        "Spearman ρ of estimated and true effects over heads",
        high="One gradient ranks the heads as true removal does.",
        low="One gradient ranks the heads in an unrelated order.",
    ),
    Quantity(
        "proxy_recall",
        "share of the top heads that the estimate finds",
        high="One gradient finds the heads that matter most.",
        low="One gradient misses the heads that matter most.",
        unit="share of the top heads",
    ),
    Quantity(
        "proxy_signs",
        "share of heads whose estimate has the right sign",
        high="The estimate says rightly whether a head helps or harms.",
        low="The estimate often says wrongly whether a head helps or harms.",
        unit="share of heads",
    ),
    Quantity(
        "proxy_error",
        "relative error of the estimate, median head",
        high="The estimates are far from the true effects.",
        low="The estimates are close to the true effects.",
    ),
)

VIEW = CheckView(
    "Heads that matter",
    place=184,
    reading="heatcheck removes one head at a time and reads the examples again. A head matters if its removal surely "
    "raises the loss; among such heads, 5% at most are expected to be false finds. The share due to where it looks "
    "compares another text's pattern with the head's mean output. Near 1, the head matters for where it looks in this "
    "text. Near 0, another text's pattern does as well: the head matters for what it reads, not for where it looks. A "
    "head that rests on marks such as [CLS] may do nothing there; equal weights then add content that it never had. "
    "Heads can stand in for each other, so several heads that do not matter one by one may matter together.",
    held="the trained model; layers above the head read what its removal leaves",
    tables=heads_tables,
    figures=(heads_map,),
    quantities=_QUANTITIES,
    kinds={
        **{("way", way): words for way, words in _WAYS.items()},
        **{("for", kind): words for kind, words in _FOR.items()},
        **{("estimate", kind): words for kind, words in _ESTIMATES.items()},
    },
)
