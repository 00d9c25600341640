"""Tables of text for the check perturbation: methods ranked by word removal."""

from heatcheck.report.table import Table
from heatcheck.report.wording import explainer_name, spaced
from heatcheck.results import CheckResult, Measurement
from heatcheck.results.written import alone, of_quantity, shown

_SIGNED = " (signed)"


def perturbation_tables(result: CheckResult) -> list[Table]:
    """First the methods that rank words without a sign, as a heatmap does; then those with a sign."""
    return [
        _league(
            result, "by size", "Methods that rank words without a sign, by the area between the curves, best first"
        ),
        _league(result, "with sign", "Methods with a sign, by the area between the curves, best first"),
    ]


def ranking_title(name: str) -> str:
    """
    >>> ranking_title("leave_one_out (signed)"), ranking_title("random")
    ('leave one out (signed)', 'random order')
    """
    if name == "random":
        return "random order"
    plain = explainer_name(name.removesuffix(_SIGNED))
    return f"{plain}{_SIGNED}" if name.endswith(_SIGNED) else spaced(plain)


def overall(result: CheckResult) -> str:
    """The removal operator of the ranking: "both" if there are several, which stands for their mean."""
    operators = [str(name) for name in result.settings.get("operators", ())]
    return operators[0] if len(operators) == 1 else "both"


def _league(result: CheckResult, league: str, caption: str) -> Table:
    operators = [str(name) for name in result.settings.get("operators", ())]
    by = overall(result)
    ranks = [
        m
        for m in result.measurements
        if m.name == "rank" and m.by.get("among") == league and m.by.get("operator") == by
    ]
    ranks.sort(key=lambda m: (m.value, str(m.by["ranking"])))
    several = operators if len(operators) > 1 else []
    return Table(
        caption,
        (
            "method",
            "rank",
            "area",
            "area minus random",
            *(f"area, {name}" for name in several),
            "AOPC, most relevant first",
            "AOPC, least relevant first",
            "n",
        ),
        [_row(result, m, by, several) for m in ranks],
        dense=True,
    )


def _row(result: CheckResult, rank: Measurement, by: str, operators: list[str]) -> tuple[str, ...]:
    ranking = str(rank.by["ranking"])

    def cell(name: str, operator: str, *, ends: bool = False) -> str:
        found = [
            m
            for m in result.measurements
            if m.name == name and m.by.get("ranking") == ranking and m.by.get("operator") == operator
        ]
        return (shown if ends else alone)(found[0] if found else None)

    place, best, worst = (of_quantity("rank", part) for part in (rank.value, rank.low, rank.high))
    return (
        ranking_title(ranking),
        f"{place} [{best}, {worst}]" if rank.n > 1 else place,
        cell("area", by, ends=True),
        cell("above_random", by, ends=True),
        *(cell("area", operator) for operator in operators),
        cell("aopc", by),
        cell("aopc_least", by),
        f"{rank.n:,}",
    )
