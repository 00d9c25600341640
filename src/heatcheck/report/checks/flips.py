"""What a reader sees of the check `flips`: how many weights must be removed until the decision flips."""

from collections.abc import Mapping, Sequence

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import WIDTH, Figure, altair, declare
from heatcheck.report.figures.labels import ROOM, label_layer, labels_of
from heatcheck.report.figures.survival import box, box_layers, curve, curve_layer, looks, ranking_name, survival
from heatcheck.report.measurement_words import of_quantity
from heatcheck.report.table import Table, pivot
from heatcheck.report.view import CheckView
from heatcheck.results import CheckResult, Measurement, Quantity
from heatcheck.results.written import NOTHING, alone, number, shown

LABELLED = 0.9  # of the weights removed: a label stands about where its line is then
_SIGN = ("attention", "gradient x attention", "gradient x attention (signed)")


def flips_tables(result: CheckResult) -> list[Table]:
    """The sign first, then every ranking, then single weights."""
    return [_sign(result), _by_ranking(result), _single(result), _changes(result), _pairs(result)]


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
        rows.append((_KINDS["over", over], *means, shown(gap), shown(share), f"{gap.n:,}"))
    columns = ("texts", *map(ranking_name, _SIGN), "attention minus signed", "share due to the sign", "n")
    title = "Share removed until the decision flips, and how much of the advantage of signed gradients is the sign"
    return Table(title, columns, rows)


def _by_ranking(result: CheckResult) -> Table:
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
        (_KINDS["sampler", str(m.by["sampler"])], _KINDS["cell", str(m.by["cell"])], shown(m))
        for m in result.measurements
        if m.name == "single"
    ]
    same = {"correct": "0", "as published": alone(_found(result, "same_place"))}
    if cells:
        cells += [(_KINDS["sampler", name], "it is the heaviest itself", share) for name, share in same.items()]
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


def survival_curves(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """The share of unchanged decisions as more weights are removed, one line per ranking."""
    rankings = _rankings(result)
    if not rankings:
        return None
    unit = str(result.facts.get("removed", "tokens"))
    rows = [row for name in rankings for row in curve(name, survival(result.per_example[f"fraction:{name}"]))]
    styles, width, height = looks(rankings), WIDTH - 60 - ROOM, 300
    ends = {row["ranking"]: row["y"] for row in rows if row["x"] <= LABELLED}  # before they all fall at the end
    colours = {name: style.colour for name, style in styles.items()}
    labels = label_layer(labels_of(ends, span=(0.0, 1.0), height=height, colours=colours), width=width)
    lines = curve_layer(styles, unit=unit, labelled=True).properties(data=alt_data(rows))
    drawn = altair().layer(lines, labels).properties(width=width, height=height)
    caption = (
        f"A line that falls faster finds {unit} that the decision depends on sooner. Lines show the share of unchanged "
        f"decisions after removing the weights of each ranking's top {unit}. Every text counts: one that "
        "never flips stays "
        "unchanged to the end. Dashed rankings know the sign, which no attention heatmap shows: compare attention with "
        "the solid lines. Random order is the first of several."
    )
    return declare("flips-survival", result.check, caption, drawn)


def fraction_boxes(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """The share of weights removed at the flip, over the texts that flip."""
    alt = altair()
    rankings = _rankings(result)
    rows = [row for name in rankings for row in box(name, result.per_example[f"fraction:{name}"])]
    if not rows:
        return None
    unit = str(result.facts.get("removed", "tokens"))
    shown = [name for name in rankings if any(row["ranking"] == ranking_name(name) for row in rows)]
    width = WIDTH - 330
    layers = box_layers(looks(shown), unit=unit)
    names = list(looks(shown))
    layers["never"] = (
        alt.Chart()
        .mark_text(align="left", fontSize=11)
        .encode(x=alt.XValue(width + 8), y=alt.Y("ranking:N", sort=names), text=alt.Text("never:N"))
    )
    drawn = alt.layer(*layers.values(), data=alt_data(rows)).properties(width=width, height=30 * len(rows))
    share = next((m for m in result.measurements if m.name == "sign_share" and m.by == {"over": "all"}), None)
    told = (
        f" The sign alone explains {number(share.value)} of the gap between attention and signed gradient × attention."
        if share
        else ""
    )
    caption = (
        f"The share of the {unit} whose weights must be removed until the decision flips, over texts that flip. Boxes "
        "show the median and the middle half, lines the middle 90%. Boxes cover different texts if the share that "
        f"never flips differs; the curves above always cover all texts.{told}"
    )
    return declare("flips-fractions", result.check, caption, drawn)


def _rankings(result: CheckResult) -> Sequence[str]:
    return [str(name) for name in result.facts.get("rankings", ()) if f"fraction:{name}" in result.per_example]


# Words for facts of measurements.
_KINDS = {
    ("over", "own"): "texts that flip under this ranking",
    ("over", "common"): "texts that flip under every ranking",
    ("over", "all"): "all texts",
    ("against", "attention"): "compared with attention",
    ("outcome", "fewer"): "fewer removals",
    ("outcome", "more"): "more removals",
    ("sampler", "correct"): "any other token",
    ("sampler", "as published"): "the published sampler",
    ("cell", "both"): "both flip the decision",
    ("cell", "top only"): "only the heaviest does",
    ("cell", "random only"): "only the random one does",
    ("cell", "first only"): "only the first does",
    ("cell", "second only"): "only the second does",
    ("cell", "neither"): "neither does",
    ("bin", "Δα 0.0–0.2"): "Δα 0.0–0.2",
    ("bin", "Δα 0.2–0.4"): "Δα 0.2–0.4",
    ("bin", "Δα 0.4–0.6"): "Δα 0.4–0.6",
    ("bin", "Δα 0.6–0.8"): "Δα 0.6–0.8",
    ("bin", "Δα 0.8–1.0"): "Δα 0.8–1.0",
}

_QUANTITIES = (
    Quantity(
        "fraction",
        "share removed until the decision flips, over texts that flip",
        high="Many weights must be removed before the decision flips, in texts that flip.",
        low="Removing a few weights flips the decision, in texts that flip.",
        unit="share of tokens",
    ),
    Quantity(
        "fraction_censored",
        "share removed until the decision flips (never counts as 1)",
        high="Many weights must be removed before the decision flips, or it never flips.",
        low="Removing a few weights flips the decision.",
        unit="share of tokens",
    ),
    Quantity(
        "median_fraction",
        "median share removed until the decision flips, over texts that flip",
        high="Many weights must be removed in the median text that flips.",
        low="Removing a few weights is enough in the median text that flips.",
        unit="share of tokens",
    ),
    Quantity(
        "survival",
        "share of decisions that are unchanged",
        high="Most decisions are unchanged after removing this share of the weights.",
        low="Few decisions are unchanged after removing this share of the weights.",
        unit="share of texts",
    ),
    Quantity(
        "single",
        "share of texts with this outcome of removing the heaviest or a random weight",
        high="This outcome occurs in many texts.",
        low="This outcome occurs in few texts.",
        unit="share of texts",
    ),
    Quantity(
        "pair",
        "share of texts with this outcome of removing either of two weights",
        high="This outcome occurs in many texts.",
        low="This outcome occurs in few texts.",
        unit="share of texts",
    ),
    Quantity(
        "pair_difference",
        "share that only the first weight flips minus share that only the second flips",
        high="Removing the first weight flips more decisions than removing the second.",
        low="Removing the first weight flips no more decisions (0), or fewer (below 0).",
        unit="share of texts",
    ),
    Quantity(
        "delta_js",
        "JSD of the output without the heaviest weight, minus that without a random one",
        high="Removing the heaviest weight moves the output more than removing a random one.",
        low="Removing the heaviest weight moves the output no more than removing a random one.",
        unit="nats",
        format=".5f",
    ),
    Quantity(
        "delta_js_negative",
        "share of draws in which removing the random weight moves the output more",
        high="Removing a random weight often moves the output more than removing the heaviest.",
        low="Removing a random weight rarely moves the output more than removing the heaviest.",
        unit="share of draws",
    ),
    Quantity(
        "same_place",
        "share of draws in which the published sampler draws the heaviest weight itself",
        high="The published sampler often draws the heaviest weight itself.",
        low="The published sampler rarely draws the heaviest weight itself.",
        unit="share of draws",
    ),
    Quantity(
        "head_to_head",
        "share of texts in which a ranking needs fewer, or more, removals than attention",
        high="This outcome occurs in many texts.",
        low="This outcome occurs in few texts.",
        unit="share of texts",
    ),
    Quantity(
        "sign_share",
        "share of the gap between attention and signed gradient × attention that the sign explains",
        high="The sign explains most of the gap.",
        low="The sign explains little of the gap.",
        unit="share",
    ),
    Quantity(
        "gap",
        "share removed until the decision flips, attention minus signed gradient × attention",
        high="Attention needs many more removals than signed gradient × attention.",
        low="Attention needs no more removals than signed gradient × attention.",
        unit="share of tokens",
        check="flips",
    ),
    Quantity(
        "mass",
        "share of all weight removed when the decision flips",
        high="Most of the weight has been removed when the decision flips.",
        low="Little of the weight has been removed when the decision flips.",
        unit="share of weight",
        check="flips",
    ),
    Quantity(
        "never",
        "share of texts that never flip",
        high="Many decisions never flip, however many weights are removed.",
        low="Nearly every decision flips at some point.",
        unit="share of texts",
        check="flips",
    ),
    Quantity(
        "common",
        "share of texts that flip under every ranking",
        high="Most texts flip under every ranking.",
        low="Few texts flip under every ranking.",
        unit="share of texts",
        check="flips",
    ),
    Quantity(
        "default",
        "share of texts whose decision is the one without any weights",
        high="Most decisions equal those the model makes without any weights.",
        low="Few decisions equal those the model makes without any weights.",
        unit="share of texts",
        check="flips",
    ),
)

VIEW = CheckView(
    "Removing weights until the decision flips",
    place=50,
    reading="heatcheck removes weights from the top of a ranking, and the remaining weights share the rest. Signed "
    "gradients first remove what speaks for the decision. An attention heatmap cannot show this sign. Much of their "
    "advantage may be the sign alone, so compare attention with gradient × attention without a sign. Means over texts "
    "that flip cover different texts for each ranking. The curves, and the column that counts never as 1, cover all "
    "texts.",
    tables=flips_tables,
    figures=(survival_curves, fraction_boxes),
    quantities=_QUANTITIES,
    kinds=_KINDS,
)
