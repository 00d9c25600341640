"""Tables of text for the check eraser: every ranking beside random orders and the empty input."""

from collections.abc import Iterable

from heatcheck.report.lexicon import BY
from heatcheck.report.table import Table
from heatcheck.report.wording import said
from heatcheck.results import CheckResult, Measurement
from heatcheck.results.written import alone, shown

_SIDES = ("comprehensiveness", "sufficiency")


def eraser_tables(result: CheckResult) -> list[Table]:
    """The means over the shares, attention compared with each other ranking, and human rationales."""
    audited = str(result.settings.get("explainer", "attention"))
    return [_means(result), _differences(result, audited), _rationales(result)]


def _means(result: CheckResult) -> Table:
    """Means by the code's definition, as a share of what all words add, and by the paper's definition."""
    code = [m for m in _named(result, "aopc_comprehensiveness") if m.by.get("definition") == "code"]
    rows = []
    for m in (m for m in code if m.by.get("logits") == "published"):
        of = {"ranking": m.by["ranking"], "operator": m.by["operator"], "logits": "published"}
        means = [_cell(result, f"aopc_{side}", **of, definition="code") for side in _SIDES]
        shares = [_cell(result, f"normalised_{side}", plain=True, **of) for side in _SIDES]
        paper = [_cell(result, f"aopc_{side}", plain=True, **of, definition="paper") for side in _SIDES]
        rows.append((_ranking(m), said(m.by["operator"]), *means, *shares, *paper, f"{m.n:,}"))
    return Table(
        "Mean over the shares (AOPC, as in the published code); high comprehensiveness and low sufficiency are good",
        (
            "ranking",
            "removed by",
            *_SIDES,
            *(f"{side}, 1 is the empty input" for side in _SIDES),
            *(f"{side} by Eq. 3" for side in _SIDES),
            "n",
        ),
        rows,
        dense=True,
    )


def _differences(result: CheckResult, audited: str) -> Table:
    rows = []
    for m in _named(result, "comprehensiveness_difference"):
        if m.by.get("logits") == "published":
            of = {"pair": m.by["pair"], "operator": m.by["operator"]}
            cells = (
                _cell(result, f"{side}_difference", **of, logits=logits)
                for logits in ("published", "standardised")
                for side in _SIDES
            )
            rows.append((said(m.by["pair"][1]), said(m.by["operator"]), *cells, f"{m.n:,}"))
    return Table(
        f"{said(audited).capitalize()} minus each other ranking, per text; it is better if comprehensiveness is "
        "above 0 and sufficiency below 0",
        ("other ranking", "removed by", *_SIDES, *(f"{side}, {BY['logits', 'standardised']}" for side in _SIDES), "n"),
        rows,
    )


def _rationales(result: CheckResult) -> Table:
    share = result.facts.get("rationale_share")
    rows = [
        (
            _ranking(m),
            said(m.by["operator"]),
            *(_cell(result, side, **{key: m.by[key] for key in ("ranking", "operator", "share")}) for side in _SIDES),
            f"{m.n:,}",
        )
        for m in _named(result, "comprehensiveness")
        if m.by.get("share") == "rationale"
    ]
    many = f" ({share:.1%} of the words)" if isinstance(share, float) else ""
    return Table(
        f"With as many words as people mark on average{many}, and with the words that people marked",
        ("ranking", "removed by", *_SIDES, "n"),
        rows,
    )


def _ranking(m: Measurement) -> str:
    name = str(m.by["ranking"])
    return BY.get(("ranking", name), said(name))


def _named(result: CheckResult, name: str) -> Iterable[Measurement]:
    return (m for m in result.measurements if m.name == name)


def _cell(result: CheckResult, name: str, *, plain: bool = False, **by: object) -> str:
    """The number with its interval, or alone; a dash if it was not measured."""
    found = [m for m in _named(result, name) if all(m.by.get(key) == value for key, value in by.items())]
    return (alone if plain else shown)(found[0] if found else None)
