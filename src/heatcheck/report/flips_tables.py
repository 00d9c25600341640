"""Tables of text for the check flips: first how much of a ranking's advantage its sign explains."""

from heatcheck.report.lexicon import BY
from heatcheck.report.table import Table, pivot
from heatcheck.report.wording import spaced
from heatcheck.results import CheckResult, Measurement
from heatcheck.results.written import NOTHING, alone, number, of_quantity, shown

_SIGN = ("attention", "gradient x attention", "gradient x attention (signed)")


def flips_tables(result: CheckResult) -> list[Table]:
    """The sign first, then every ranking, then single weights."""
    return [_sign(result), _rankings(result), _single(result), _changes(result), _pairs(result)]


def ranking_name(name: str) -> str:
    """
    >>> ranking_name("gradient x attention (signed)"), ranking_name("leave_one_out"), ranking_name("random")
    ('gradient × attention (signed)', 'leave one out', 'random order')
    """
    return "random order" if name == "random" else spaced(name).replace(" x ", " × ")


def _found(result: CheckResult, name: str, **by: object) -> Measurement | None:
    """The one measurement with exactly these facts, apart from the number of undefined texts."""
    for m in result.measurements:
        if m.name == name and {key: value for key, value in m.by.items() if key != "undefined"} == by:
            return m
    return None


def _sign(result: CheckResult) -> Table:
    rows = []
    for over in ("all", "common"):
        gap = _found(result, "gap", over=over)
        if gap is None:
            continue
        of = {"all": "fraction_censored", "common": "fraction"}[over]
        by = {} if over == "all" else {"over": "common"}
        means = [alone(_found(result, of, ranking=name, **by)) for name in _SIGN]
        share = _found(result, "sign_share", over=over)
        rows.append((BY["over", over], *means, shown(gap), shown(share), f"{gap.n:,}"))
    columns = ("texts", *map(ranking_name, _SIGN), "attention minus signed", "share due to the sign", "n")
    title = "Share removed until the decision flips, and how much of the advantage of signed gradients is the sign"
    return Table(title, columns, rows)


def _rankings(result: CheckResult) -> Table:
    def cells(name: str) -> tuple[str, ...]:
        own, common = (_found(result, "fraction", ranking=name, over=over) for over in ("own", "common"))
        median = _found(result, "median_fraction", ranking=name, over="own")
        wins = [
            _found(result, "head_to_head", ranking=name, against="attention", outcome=outcome)
            for outcome in ("fewer", "more")
        ]
        return (
            ranking_name(name),
            shown(_found(result, "fraction_censored", ranking=name)),
            alone(_found(result, "never", ranking=name)),
            NOTHING if own is None else f"{number(own.value)} (n = {own.n:,})",
            alone(median),
            alone(common),
            alone(_found(result, "mass", ranking=name)),
            *map(alone, wins),
        )

    common = _found(result, "common")
    shared = f"{common.value:.0%} of the texts" if common else "no text"
    return Table(
        f"Share removed until the decision flips, by ranking; {shared} flip under every ranking",
        (
            "ranking",
            "all texts (never = 1)",
            "share that never flips",
            "texts that flip",
            "their median",
            "texts that flip under every ranking",
            "weight removed",
            "fewer removals than attention",
            "more",
        ),
        [cells(str(name)) for name in result.facts.get("rankings", ())],
        dense=True,
    )


def _single(result: CheckResult) -> Table:
    cells = [
        (BY["sampler", str(m.by["sampler"])], BY["cell", str(m.by["cell"])], shown(m))
        for m in result.measurements
        if m.name == "single"
    ]
    same = {"correct": "0", "as published": alone(_found(result, "same_place"))}
    if cells:
        cells += [(BY["sampler", name], "it is the heaviest itself", share) for name, share in same.items()]
    return pivot(
        "Which removal alone flips the decision: that of the heaviest weight, or of a random one",
        "random weight drawn from",
        cells,
    )


def _changes(result: CheckResult) -> Table:
    at: dict[str, dict[str, Measurement]] = {}
    for m in result.measurements:
        if m.name in ("delta_js", "delta_js_negative") and m.by.get("sampler") == "correct":
            at.setdefault(str(m.by.get("bin", "all")), {})[m.name] = m
    return Table(
        "How much more the output moves without the heaviest weight than without a random one (JSD, nats)",
        ("difference of the weights", "ΔJSD", "95% interval", "share below 0", "texts"),
        [
            (
                where.removeprefix("Δα "),
                *_change(found["delta_js"]),
                alone(found.get("delta_js_negative")),
                f"{found['delta_js'].n:,}",
            )
            for where, found in at.items()
            if "delta_js" in found
        ],
    )


def _change(m: Measurement) -> tuple[str, str]:
    value, low, high = (of_quantity(m.name, part) for part in (m.value, m.low, m.high))
    return value, f"[{low}, {high}]"


def _pairs(result: CheckResult) -> Table:
    rows = []
    for m in result.measurements:
        if m.name == "pair_difference":
            compared = str(m.by["compared"])
            only = [_found(result, "pair", cell=cell, compared=compared) for cell in ("first only", "second only")]
            p = f"{float(m.by['mcnemar_p']):.3g}"
            rows.append((compared, *map(alone, only), shown(m), p, f"{m.n:,}"))
    columns = ("weights", "only the first flips", "only the second flips", "difference", "McNemar p", "n")
    return Table("Two given weights: which of them flips the decision when it alone is removed", columns, rows)
