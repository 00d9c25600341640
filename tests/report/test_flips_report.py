"""What a page shows of flips: the sign first, every number in words, curves that never lose a text."""

import numpy as np
import pytest

from heatcheck.checks import CHECKS, Case
from heatcheck.checks.flips import FlipsSettings
from heatcheck.data import load_task
from heatcheck.models import KNOWN_ANSWERS
from heatcheck.report.checks.flips import fraction_boxes, survival_curves
from heatcheck.report.figures.survival import box, curve, looks, survival
from heatcheck.report.sections import every_number, tables_of


@pytest.fixture(scope="module")
def result():
    subject = KNOWN_ANSWERS["reader"]("planted_contrast", filler=0.3)
    case = Case(subject, load_task("planted_contrast")["test"].examples[:80], labels=subject.labels)
    return CHECKS["flips"].measure(case, FlipsSettings(explainers=("contribution",), draws=50))


@pytest.fixture(scope="module")
def nothing_flips():
    """No ranking flips anything before all is gone, and most texts never flip."""
    subject = KNOWN_ANSWERS["bystander_right"]("planted_keyword")
    examples = [e for e in load_task("planted_keyword")["test"].examples[:40] if e.label == 0]
    return CHECKS["flips"].measure(Case(subject, examples, labels=subject.labels), FlipsSettings(draws=50))


def test_the_sign_comes_first(result):
    first, rankings, single, changes, pairs = tables_of(result)
    assert first.caption.startswith("Share removed until the decision flips")
    share = result.find("sign_share", over="all")
    assert f"{share.value:.3f}" in first.rows[0][5]
    assert [row[0] for row in first.rows] == ["all texts", "texts that flip under every ranking"]
    assert [row[0] for row in rankings.rows][:2] == ["attention", "attention ascending"]
    assert "gradient × attention (signed)" in [row[0] for row in rankings.rows]
    assert [row[0] for row in single.rows] == ["any other token", "the published sampler"]
    assert single.columns == (
        "random weight drawn from",
        "both flip the decision",
        "only the heaviest does",
        "only the random one does",
        "neither does",
        "it is the heaviest itself",
    )
    assert changes.rows[0][0] == "all"
    assert len(pairs.rows) == 2


def test_every_number_is_said_in_words(result):
    for row in every_number(result).rows:
        assert "_" not in row[0], row
        assert "largest weight" not in row[1], "a bin of differences is none of largest weights"


def test_where_nothing_flips_there_is_still_a_page(nothing_flips):
    tables = tables_of(nothing_flips)
    assert [row[2] for row in tables[1].rows] == ["1.000"] * len(tables[1].rows)
    assert fraction_boxes(nothing_flips, {}) is None
    rows = survival_curves(nothing_flips, {}).spec["layer"][0]["data"]["values"]
    assert {row["y"] for row in rows} == {1.0}


def test_curves_are_shares_of_all_texts():
    draw = np.random.default_rng(0)
    fractions = np.where(draw.random(60) < 0.3, np.nan, draw.integers(1, 21, size=60) / 20)
    found = survival(fractions, steps=20)
    for at in range(21):
        assert found[at] == pytest.approx(np.mean([np.isnan(f) or round(f * 20) > at for f in fractions]))
    rows = curve("random", found)
    assert (rows[0]["x"], rows[-1]["x"]) == (0.0, 1.0)
    assert rows[-1]["y"] == pytest.approx(np.isnan(fractions).mean(), abs=1e-4)
    assert {row["ranking"] for row in rows} == {"random order"}


def test_boxes_are_of_the_texts_that_flip():
    (row,) = box("attention", np.array([0.1, 0.2, 0.3, np.nan]))
    assert (row["median"], row["never"], row["texts"]) == (0.2, "never 25%", 3)
    assert box("attention", np.array([np.nan])) == []


def test_figures_have_a_line_a_ranking(result):
    curves, boxes = survival_curves(result, {}), fraction_boxes(result, {})
    lines, labels = (layer["data"]["values"] for layer in curves.spec["layer"])
    names = {row["ranking"] for row in lines}
    assert {row["label"] for row in labels} == names
    assert names == set(looks(result.facts["rankings"]))
    assert len(set(looks(result.facts["rankings"]).values())) == len(names), "no two look alike"
    assert "The sign alone explains" in boxes.caption
