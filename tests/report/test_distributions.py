"""What a figure draws is what was found: counts, quartiles and the lines beside them."""

from dataclasses import replace

import audits
import numpy as np
import pytest

from heatcheck.report.audit_figures import draw
from heatcheck.report.checks.permutation import delta_by_largest_weight
from heatcheck.report.figures import multiples
from heatcheck.report.figures.distribution import Style, histogram, violins
from heatcheck.report.figures.shapes import FEW, bands, outline

SPAN = (0.0, 1.0)


def figure(audit, name):
    return next(f for f in draw(audit) if f.name == name)


def data_of(layer):
    """The rows that a layer draws."""
    return layer["data"]["values"]


def test_every_text_is_in_a_bar_and_edges_are_inside():
    values = np.array([0.0, 0.3, 1.0, 1.0 + 1e-9])
    bars, lines = histogram(
        values, {"mean": 0.5, "absent": np.nan}, {"mean": Style("red")}, span=SPAN, bins=4
    ).to_dict()["layer"]
    assert [(bar["left"], bar["texts"]) for bar in data_of(bars)] == [(0.0, 1), (0.25, 1), (0.75, 2)]
    assert data_of(lines) == [{"at": 0.5, "line": "mean"}]


def test_violins_have_the_quartiles_of_their_texts():
    largest = np.full(101, 0.6)
    values = np.linspace(0, 0.5, 101)
    area, inner, singles, counts = violins(values, largest, {}, {}, span=SPAN).to_dict()["layer"]
    assert [row["x"] for row in data_of(inner)] == [0.125, 0.25, 0.375]
    assert {row["band"] for row in data_of(area)} == {2}
    assert min(row["x"] for row in data_of(area)) == 0
    assert max(row["x"] for row in data_of(area)) == 0.5
    assert all(0.5 < row["low"] <= row["high"] < 0.75 for row in data_of(area) + data_of(inner))
    assert data_of(singles) == []
    assert data_of(counts) == [{"y": 0.625, "n": "n = 101"}]


def test_a_few_texts_are_drawn_one_by_one():
    values = np.linspace(0.1, 0.2, FEW - 1)
    area, inner, singles, _ = violins(values, np.full(FEW - 1, 0.9), {}, {}, span=SPAN).to_dict()["layer"]
    assert data_of(area) == data_of(inner) == []
    assert [row["x"] for row in data_of(singles)] == pytest.approx(values, abs=1e-4)


def test_lines_beside_violins_are_means_of_the_same_texts():
    largest = np.array([0.1] * 12 + [0.9] * 12)
    beside = {"floor": np.r_[np.full(12, 0.5), np.full(11, 0.1), np.nan], "null": np.full(24, np.nan)}
    styles = {"floor": Style("grey"), "null": Style("blue")}
    layers = violins(np.linspace(0, 1, 24), largest, beside, styles, span=SPAN).to_dict()["layer"]
    assert [(row["line"], row["at"]) for row in data_of(layers[3])] == [("floor", 0.5), ("floor", 0.1)]


def test_bands_hold_every_text_once():
    largest = np.r_[np.random.default_rng(0).random(198), 0.0, 1.0]
    assert sorted(np.concatenate(bands(largest)).tolist()) == list(range(200))


def test_an_outline_of_equal_values_has_a_place():
    grid, density = outline(np.full(30, 0.4), smallest=0.005)
    assert np.isfinite(density).all()
    assert density.max() == 1
    assert grid[density.argmax()] == pytest.approx(0.4, abs=0.001)


def test_an_outline_follows_the_texts():
    """Against a density by scipy, on what is no bell: two hills of unequal height."""
    from scipy.stats import gaussian_kde

    rng = np.random.default_rng(0)
    values = np.r_[rng.normal(0.2, 0.05, 300), rng.normal(0.7, 0.05, 100)]
    grid, density = outline(values, smallest=0.005)
    width = 0.9 * min(values.std(), np.subtract(*np.quantile(values, (0.75, 0.25))) / 1.34) * len(values) ** -0.2
    wanted = gaussian_kde(values, bw_method=width / values.std(ddof=1))(grid)
    assert density == pytest.approx(wanted / wanted.max(), abs=0.01)


def lines_of(panel):
    return {row["line"]: row["at"] for row in data_of(panel["layer"][1])}


def test_the_jsd_stands_between_its_lines():
    """Per class, and per scale of the logits: each line is the mean over the texts of its panel."""
    audit = audits.full(checks=["counterfactual"])
    found = audit.results["counterfactual"]
    drawn = figure(audit, "counterfactual-histogram")
    predicted = {e.id: e.predicted for e in audit.examples}
    panels = drawn.spec["vconcat"]
    assert len(panels) == 2
    for (logits, label), panel in zip(
        [(logits, label) for label in audit.labels for logits in ("published", "standardised")],
        [panel for row in panels for panel in row["hconcat"]],
        strict=True,
    ):
        here = np.array([predicted[text] == label for text in found.examples])
        names = {
            "mean": f"jsd:{logits}:0.05",
            "floor: every model reaches it": "floor",
            "null: shuffled relevances": f"null:{logits}:0.05",
            "largest for any answer": "most",
        }
        wanted = {line: found.per_example[name][here].mean() for line, name in names.items()}
        assert lines_of(panel) == pytest.approx(wanted, abs=1e-4)
        assert sum(bar["texts"] for bar in data_of(panel["layer"][0])) == here.sum() > 10
    assert "no evidence by itself" in drawn.caption


def test_the_jsd_by_largest_weight_has_a_panel_a_class_and_the_same_lines():
    audit = audits.full(checks=["counterfactual"])
    found = audit.results["counterfactual"]
    drawn = str(figure(audit, "counterfactual-by-largest-weight").spec)
    for label in ("positive", "negative"):
        count = sum(e.predicted == label for e in audit.examples if e.id in found.examples)
        assert f"predicted {label}, n = {count}" in drawn
    for line in ("floor: every model reaches it", "null: shuffled relevances", "largest for any answer"):
        assert line in drawn
    bracket = replace(audit, results={"counterfactual": audits.bounded(found, "bracket")})
    assert "upper bound" not in str(figure(bracket, "counterfactual-by-largest-weight").spec), "of what was found"
    del found.per_example["max_attention"]
    assert "counterfactual-by-largest-weight" not in {one.name for one in draw(audit)}


def test_a_bracket_shows_its_upper_end_and_no_floor():
    audit = audits.full(checks=["counterfactual"])
    found = audits.bounded(audit.results["counterfactual"], "bracket")
    name = "counterfactual-histogram"

    def lines(result):
        drawn = figure(replace(audit, results={"counterfactual": result}), name)
        return lines_of(drawn.spec["vconcat"][0]["hconcat"][0])

    drawn = lines(found)
    assert drawn["upper bound of the mean"] > drawn["mean"]
    assert "floor: every model reaches it" not in drawn
    found.per_example["upper:published:0.05"][0] = np.nan
    assert "upper bound of the mean" not in lines(found), "a mean over other texts would not bound this one"


def test_differences_have_their_zero_line():
    audit = audits.full(checks=["agreement"])
    panels = figure(audit, "agreement-differences").spec["vconcat"]
    for panel, other in zip(panels, ("attention|leave_one_out", "attention|gradient"), strict=True):
        values = audit.results["agreement"].per_example[f"difference:gradient|leave_one_out-{other}"]
        assert lines_of(panel) == pytest.approx({"mean": values.mean(), "no difference": 0}, abs=1e-4)


def test_a_figure_does_not_grow_with_the_texts():
    def size(count):
        audit = audits.full(count, checks=["permutation"])
        found = audit.results["permutation"]
        largest = np.random.default_rng(7).beta(1.3, 2.6, len(found.examples))
        spread = replace(found, per_example={**found.per_example, "max_attention": largest, "delta": largest**2})
        drawn = delta_by_largest_weight(spread, {e.id: e.predicted for e in audit.examples})
        return len(str(drawn.spec))

    assert size(2000) < 1.3 * size(500) < 60_000


def test_small_multiples_are_one_declaration_on_the_same_axes():
    rng = np.random.default_rng(0)
    styles = {"mean": Style("red")}
    cells = [(task, model, rng.random(50)) for task in ("sst", "ade") for model in ("lstm", "cnn")]
    cells[0][2][:10] = np.nan
    panels = [multiples.Panel(row, column, values, {"mean": 0.5}) for row, column, values in cells]
    spec = multiples.histograms(panels, styles, span=SPAN, bins=10, axis="τ").to_dict()
    rows = data_of(spec)
    for row, column, _ in cells:
        shares = [r["share"] for r in rows if (r["row"], r["column"], r["part"]) == (row, column, "bars")]
        assert sum(shares) == pytest.approx(1, abs=0.01)
    assert sum(r["part"] == "lines" for r in rows) == len(cells)
    assert spec["facet"]["row"]["sort"] == ["sst", "ade"], "as given, not by the alphabet"
    assert len(spec["spec"]["layer"]) == 2


def test_a_panel_that_is_missing_keeps_its_place():
    """Without a row for it, a browser lets the panels after it slip forward, under another model's name."""
    cells = [("sst", "lstm"), ("sst", "cnn"), ("ade", "cnn")]
    values = np.linspace(0, 1, 30)
    histograms = multiples.histograms(
        [multiples.Panel(*cell, values, {"mean": 0.5}) for cell in cells],
        {"mean": Style("red")},
        span=SPAN,
        bins=10,
        axis="τ",
    )
    violins = multiples.violins(
        [multiples.ViolinPanel(*cell, values, values, {}) for cell in cells], {}, span=SPAN, axis="JSD"
    )
    for drawn in (histograms, violins):
        rows = data_of(drawn.to_dict())
        assert {(r["row"], r["column"]) for r in rows} == {*cells, ("ade", "lstm")}
        assert [r for r in rows if (r["row"], r["column"]) == ("ade", "lstm")] == [{"row": "ade", "column": "lstm"}]


def test_small_multiples_of_violins():
    values, largest = np.r_[np.linspace(0, 0.5, 40), np.nan], np.r_[np.full(40, 0.6), 0.1]
    panels = [multiples.ViolinPanel("sst", "lstm", values, largest, {"floor": np.full(41, 0.3)})]
    spec = multiples.violins(panels, {"floor": Style("grey")}, span=SPAN, axis="JSD").to_dict()
    rows = data_of(spec)
    assert {r["part"] for r in rows} == {"outlines", "quartiles", "lines"}, "the text without a value is in no quarter"
    assert [r["x"] for r in rows if r["part"] == "quartiles"] == [0.125, 0.25, 0.375]
