"""ERASER's measures as a page shows them."""

from dataclasses import replace

import audits
import numpy as np
import pytest

from heatcheck.checks import CHECKS, Case
from heatcheck.checks.eraser import EraserSettings
from heatcheck.data import load_task
from heatcheck.models import load
from heatcheck.report import write_figures, write_report
from heatcheck.report.checks.eraser import losses_by_share
from heatcheck.report.sections import every_number, tables_of
from heatcheck.results.written import number

RANKINGS = ["attention", "leave one out", "leave one out (signed)", "random"]


@pytest.fixture(scope="module")
def result():
    examples = load_task("planted_keyword")["test"].examples[:12]
    case = Case(load("known:reader@planted_keyword"), examples, labels=("negative", "positive"))
    settings = EraserSettings(rivals=("leave_one_out",), random_orders=2, draws=30)
    return CHECKS["eraser"].measure(case, settings)


def test_tables(result):
    means, differences, rationales = tables_of(result)
    assert [row[0] for row in means.rows] == RANKINGS * 2
    of = {"ranking": "attention", "operator": "masking", "logits": "published"}
    masked = means.rows[4]
    assert masked[:2] == ("attention", "masking")
    wanted = [
        ("aopc_comprehensiveness", {"definition": "code"}),
        ("aopc_sufficiency", {"definition": "code"}),
        ("normalised_comprehensiveness", {}),
        ("normalised_sufficiency", {}),
        ("aopc_comprehensiveness", {"definition": "paper"}),
        ("aopc_sufficiency", {"definition": "paper"}),
    ]
    for cell, (name, by) in zip(masked[2:-1], wanted, strict=True):
        assert cell.split()[0] == number(result.find(name, **of, **by).value), name
    assert [row[0] for row in differences.rows] == RANKINGS[1:] * 2
    assert differences.caption.startswith("Attention minus")
    standardised = result.find(
        "sufficiency_difference", pair=["attention", "random"], operator="deletion", logits="standardised"
    )
    assert differences.rows[2][5].split()[0] == number(standardised.value)
    assert [row[0] for row in rationales.rows] == [*RANKINGS, "the words that people marked"] * 2
    assert "% of the words" in rationales.caption
    assert all("nan" not in cell for table in (means, differences, rationales) for row in table.rows for cell in row)


def test_without_rationales_nothing_is_said_of_people(result):
    kept = tuple(m for m in result.measurements if m.by.get("share") != "rationale")
    assert len(tables_of(replace(result, measurements=kept))) == 2


def test_a_share_of_nothing_is_a_dash(result):
    kept = tuple(m for m in result.measurements if not m.name.startswith("normalised"))
    assert tables_of(replace(result, measurements=kept))[0].rows[0][4:6] == ("–", "–")


def test_figure(result, tmp_path):
    figure = losses_by_share(result, {})
    assert len(figure.spec["data"]["values"]) == len(RANKINGS) * 5 * 2 * 2
    colour = figure.spec["spec"]["layer"][0]["encoding"]["color"]["scale"]
    dash = figure.spec["spec"]["layer"][0]["encoding"]["strokeDash"]["scale"]
    assert colour["domain"] == dash["domain"] == RANKINGS
    assert dash["range"] == [[1, 0], [12, 3], [2, 3], [6, 4]]  # apart without colours; random orders are dashed
    assert colour["range"][1] == colour["range"][2]  # one colour an explainer
    assert len(set(colour["range"])) == 3
    audit = replace(audits.full(12), results={"eraser": result})
    (drawn,) = write_figures(audit, tmp_path, suffix="svg")
    assert drawn.name == "eraser-by-share.svg"
    text = drawn.read_text()
    assert "without them (comprehensiveness)" in text
    assert "50%" in text


def test_nothing_to_draw(result):
    blank = tuple(m._replace(value=np.nan) for m in result.measurements)
    assert losses_by_share(replace(result, measurements=blank), {}) is None


def test_the_page_says_it_in_words(result, tmp_path):
    path = tmp_path / "report.html"
    write_report(replace(audits.full(12), results={"eraser": result}), path)
    page = path.read_text(encoding="utf-8")
    for words in (
        "Removing or keeping only the highlighted words (ERASER)",
        "A rationale is the top share of a text&#39;s words",
        "12 measured, 0 left out, 12 in all",
    ):
        assert words in page, words
    said = {row[1] for row in every_number(result).rows}
    assert "the words that people marked, deletion, unscaled logits, as many words as people mark" in said
    assert "attention, masking, unscaled logits, as in the paper's Eq. 3" in said
