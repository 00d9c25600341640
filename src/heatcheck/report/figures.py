"""The figures of an audit, each one declaration: drawn by the page's script, or written as SVG or PNG."""

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heatcheck.auditing import Audit
from heatcheck.checks import CheckResult, Measurement
from heatcheck.engine import write_whole
from heatcheck.errors import MissingPackage, UnknownName
from heatcheck.report.examples import explainer_order
from heatcheck.report.wording import interval, number, pair_of, spaced

# These keep three to one against a white and against a dark page, and differ to every kind of colour blindness.
BAR, ATTENTION, RIVAL, FLOOR, MECHANICAL = "#5f9ac4", "#d55e00", "#2f86b8", "#808080", "#9467bd"

_CLASSES_DRAWN = 6  # more histograms than this are a wall; the table has them all
_BINS = 40


class Figure(NamedTuple):
    """A Vega-Lite declaration and the sentence under it."""

    name: str
    check: str
    caption: str
    spec: dict[str, Any]


def write_figures(audit: Audit, folder: Path | str, *, suffix: str) -> list[Path]:
    """Write every figure of the report as svg or png."""
    encoders: dict[str, Callable[[dict[str, Any]], bytes | str]] = {
        "svg": lambda spec: str(_vl_convert().vegalite_to_svg(spec, vl_version=_vegalite_version())),
        "png": lambda spec: bytes(_vl_convert().vegalite_to_png(spec, vl_version=_vegalite_version(), scale=2)),
    }
    if suffix not in encoders:
        raise UnknownName("figure format", suffix, encoders)
    written = []
    for figure in draw(audit):
        path = Path(folder) / f"{figure.name}.{suffix}"
        write_whole(path, encoders[suffix](figure.spec | {"background": "white"}))
        written.append(path)
    return written


def draw(audit: Audit) -> list[Figure]:
    """All figures that have something to show."""
    makers = {"agreement": (_tau_histogram, _tau_matrix), "erasure": (_erasure_effects,)}
    predicted = {looked.id: looked.predicted for looked in audit.examples}
    found = (maker(result, predicted) for check, result in audit.results.items() for maker in makers.get(check, ()))
    return [figure for figure in found if figure]


def script() -> str:
    """Everything a browser needs to draw the figures without a network."""
    bundle = str(_vl_convert().javascript_bundle(vl_version=_vegalite_version()))
    return bundle.replace("</script", r"<\/script")


def _tau_histogram(result: CheckResult, predicted: Mapping[str, str]) -> Figure | None:
    """Agreement text by text, beside what chance and the mechanics of the model alone would give."""
    alt = _altair()
    pair = ("attention", "gradient")
    values = next(
        (v for p in (pair, pair[::-1]) if (v := result.per_example.get(f"tau:{p[0]}|{p[1]}")) is not None), None
    )
    if values is None or not np.isfinite(values).any():
        return None
    lines = [
        (name, m.value)
        for name, m in [
            *(("random floor", m) for m in _overall(result, "tau") if set(pair_of(m)) == {"attention", "random"}),
            *(
                (f"mechanical floor: {spaced(str(m.by.get('kind', 'relevances shuffled')))}", m)
                for m in _overall(result, "tau_mechanical_floor")
                if set(pair_of(m)) == set(pair)
            ),
        ]
        if math.isfinite(m.value)
    ]
    names = ["mean", *dict(lines)]
    colours = [ATTENTION, *(FLOOR if name == "random floor" else MECHANICAL for name in names[1:])]
    dashes = [[1, 0], *([6, 4] if name == "random floor" else [2, 2 + 2 * at] for at, name in enumerate(names[1:]))]

    panels = []
    for label, part in _by_class(result, values, predicted):
        counts, edges = np.histogram(part, bins=_BINS, range=(-1, 1))
        bins = [
            {"left": round(float(edges[at]), 4), "right": round(float(edges[at + 1]), 4), "texts": int(count)}
            for at, count in enumerate(counts)
            if count
        ]
        rules = [{"at": float(part.mean()), "line": "mean"}, *({"at": at, "line": name} for name, at in lines)]
        bars = (
            alt.Chart(alt.Data(values=bins))
            .mark_bar(color=BAR, binSpacing=1)
            .encode(
                x=alt.X("left:Q", bin="binned", title=None).scale(domain=[-1, 1]).axis(tickCount=10),
                x2="right:Q",
                y=alt.Y("texts:Q", title="texts").axis(tickMinStep=1, tickCount=4),
                tooltip=["left:Q", "right:Q", "texts:Q"],
            )
        )
        marks = (
            alt.Chart(alt.Data(values=rules))
            .mark_rule(size=2.5)
            .encode(
                x="at:Q",
                color=alt.Color("line:N", title=None)
                .scale(domain=names, range=colours)
                .legend(orient="top", labelLimit=0),
                strokeDash=alt.StrokeDash("line:N", title=None).scale(domain=names, range=dashes),
                tooltip=["line:N", alt.Tooltip("at:Q", format=".3f")],
            )
        )
        heading = f"predicted {label}, n = {len(part):,}" if label else f"n = {len(part):,}"
        panels.append(alt.layer(bars, marks).properties(width=780, height=130 if label else 190, title=heading))
    known = values[np.isfinite(values)]
    reads = "; ".join(f"{name} {number(at)}" for name, at in lines)
    caption = (
        "How far attention and gradient rank the words of each text alike: 1 is the same order, 0 is no relation. "
        f"Mean {number(float(known.mean()))} over {len(known):,} texts{'; ' + reads if reads else ''}."
    )
    panels[-1].layer[0].encoding.x.title = "Kendall τ between attention and gradient, text by text"
    return _figure("agreement-histogram", result, caption, alt.vconcat(*panels, spacing=14))


def _by_class(
    result: CheckResult, values: np.ndarray, predicted: Mapping[str, str]
) -> Iterator[tuple[str, np.ndarray]]:
    """One part a predicted class where the check has rows a class, else everything in one."""
    known = np.isfinite(values)
    labels = np.array([predicted.get(example, "") for example in result.examples], dtype=object)
    measured = [str(m.by["class"]) for m in result.measurements if m.name == "tau" and "class" in m.by]
    classes = [label for label in dict.fromkeys(measured) if (known & (labels == label)).any()]
    if 2 <= len(classes) <= _CLASSES_DRAWN and np.isin(labels[known], classes).all():
        for label in classes:
            yield label, values[known & (labels == label)]
    else:
        yield "", values[known]


def _tau_matrix(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """Every explainer against every other: attention's disagreement reads differently if its rivals disagree too."""
    alt = _altair()
    cells = [
        {
            "row": spaced(row),
            "column": spaced(column),
            "tau": m.value,
            "shown": number(m.value),
            "interval": interval(m),
            "n": m.n,
        }
        for m in _overall(result, "tau")
        if len(pair_of(m)) == 2 and math.isfinite(m.value)
        for row, column in (pair_of(m), pair_of(m)[::-1])
    ]
    if not cells:
        return None
    order = [spaced(name) for name in explainer_order({name for m in _overall(result, "tau") for name in pair_of(m)})]
    place = {
        "x": alt.X("column:N", title=None, sort=order).axis(orient="top", labelAngle=-30, domain=False, ticks=False),
        "y": alt.Y("row:N", title=None, sort=order).axis(domain=False, ticks=False, labelLimit=220),
    }
    chart = alt.Chart(alt.Data(values=cells))
    squares = chart.mark_rect(cornerRadius=3, stroke="#888888", strokeWidth=0.5).encode(
        **place,
        color=alt.Color("tau:Q", title="mean τ", legend=None).scale(domain=[0, 1], scheme="blues", clamp=True),
        tooltip=["row:N", "column:N", alt.Tooltip("shown:N", title="mean τ"), "interval:N", "n:Q"],
    )
    text = chart.mark_text(fontSize=12).encode(
        **place,
        text="shown:N",
        color=alt.when("datum.tau > 0.55").then(alt.value("#ffffff")).otherwise(alt.value("#111111")),
    )
    size = len(order)
    drawn = alt.layer(squares, text).properties(width=max(90 * size, 200), height=max(38 * size, 90))
    caption = (
        "Mean Kendall τ of every pair; darker is closer. Read the first row against the others: "
        "where the rivals do not agree among themselves, attention cannot agree with all of them."
    )
    return _figure("agreement-matrix", result, caption, drawn)


def _erasure_effects(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """What removing each explanation's favourite words does to the answer."""
    alt = _altair()
    audited = str(result.settings.get("explainer", "attention"))  # a card can be about another heatmap
    kinds = {audited: spaced(audited), "random": "random order"}
    rows: list[dict[str, Any]] = [
        {
            "ranking": spaced(str(m.by.get("ranking", ""))),
            "kind": kinds.get(str(m.by.get("ranking")), "rival"),
            "operator": str(m.by.get("operator", "removal")),
            "effect": m.value,
            "low": m.low if math.isfinite(m.low) else m.value,
            "high": m.high if math.isfinite(m.high) else m.value,
            "shown": f"{number(m.value)} {interval(m)}",
            "n": m.n,
        }
        for m in result.measurements
        if m.name == "effect" and math.isfinite(m.value)
    ]
    if not rows:
        return None
    order = list(dict.fromkeys(row["ranking"] for row in sorted(rows, key=lambda row: -row["effect"])))
    y = alt.Y("ranking:N", title=None, sort=order).axis(labelLimit=220, grid=True)
    names = [spaced(audited), "rival", "random order"]
    colour = alt.Color("kind:N", title=None).scale(domain=names, range=[ATTENTION, RIVAL, FLOOR]).legend(orient="top")
    chart = alt.Chart()
    bars = chart.mark_rule(size=2.5).encode(y=y, x="low:Q", x2="high:Q", color=colour)
    dots = chart.mark_point(size=95, filled=True, opacity=1).encode(
        y=y,
        x=alt.X("effect:Q", title="mean change of the probability").scale(zero=True).axis(tickCount=5),
        color=colour,
        shape=alt.Shape("kind:N", title=None).scale(domain=names, range=["diamond", "circle", "cross"]),
        tooltip=["ranking:N", "operator:N", alt.Tooltip("shown:N", title="effect"), "n:Q"],
    )
    layers = alt.layer(bars, dots, data=alt.Data(values=rows)).properties(width=320, height=max(30 * len(order), 60))
    drawn = layers.facet(column=alt.Column("operator:N", title=None))
    caption = (
        "How much the answer changes when the words ranked highest are taken away; bars are intervals. "
        "A heatmap that points at what matters lies near the best rival and well to the right of random order."
    )
    return _figure("erasure-effects", result, caption, drawn)


def _figure(name: str, result: CheckResult, caption: str, chart: Any) -> Figure:
    spec = chart.properties(description=caption).to_dict()
    # The schema's address is never fetched, but a reader who looks for addresses in the page should find none.
    spec.pop("$schema", None)
    return Figure(name, result.check, caption, spec)


def _overall(result: CheckResult, name: str) -> list[Measurement]:
    return [m for m in result.measurements if m.name == name and "class" not in m.by]


def _altair() -> Any:
    try:
        import altair
    except ImportError as error:
        raise MissingPackage("altair") from error
    return altair


def _vl_convert() -> Any:
    try:
        import vl_convert
    except ImportError as error:
        raise MissingPackage("vl-convert-python") from error
    return vl_convert


def _vegalite_version() -> str:
    """The version altair writes, so that script and declarations agree: v6.4.1 is 6.4 to vl-convert."""
    return ".".join(str(_altair().SCHEMA_VERSION).lstrip("v").split(".")[:2])
