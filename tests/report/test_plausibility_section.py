"""What people marked, on the page: apart from the card, and each number beside both kinds of chance."""

import re
from dataclasses import replace

import audits
import pytest
from parsed import Page

from heatcheck.report import write_figures, write_report
from heatcheck.report.figures import draw
from heatcheck.report.wording import meaning


@pytest.fixture(scope="module")
def audit():
    return audits.full(60, checks=(audits.plausibility,))


@pytest.fixture(scope="module")
def page(audit, tmp_path_factory):
    return Page(write_report(audit, tmp_path_factory.mktemp("page") / "report.html"))


def rows_of(page, caption):
    """The rows of the table with this caption, as lists of text."""
    source = page.source[page.source.index(f"<caption>{caption}") :]
    rows = re.findall(r"<tr>(.*?)</tr>", source[: source.index("</table>")], flags=re.DOTALL)
    return [[re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row)] for row in rows]


def test_it_stands_apart_and_says_what_it_does_not_say(page):
    places = [page.source.index(words) for words in
              ("<h3>works out of context</h3>", "<h3>across models</h3>", "about people, whatever the model does",
               "<h3>plausible to people</h3>", '<section id="check-')]  # fmt: skip
    assert places == sorted(places)
    assert "says nothing about why the model decided." in page.source[places[3] : places[4]]


@pytest.mark.parametrize("state", ["yes", "no"])
def test_it_has_no_part_in_what_is_advised(audit, tmp_path, state):
    line = audit.card["plausible"]._replace(state=state)
    told = Page(write_report(audits.with_line(audit, line), tmp_path / "report.html"))
    shown = told.source[told.source.index('<section id="meaning">') :]
    shown = shown[: shown.index("</section>")]
    lead, advice = meaning(audit.card)
    assert lead in shown
    assert all(words in shown for words in advice)
    assert "people" not in shown
    assert shown.count("<li>") == len(audit.card.lines) + 1, "and across models, which says no"


def test_where_nobody_marked_anything_there_is_one_quiet_line(tmp_path):
    told = Page(write_report(audits.nothing_run(), tmp_path / "report.html"))
    assert "<b>plausible to people</b>: not run (nobody marked a rationale in these texts.)." in told.source
    assert "<h3>plausible to people</h3>" not in told.source


def test_areas_stand_beside_both_kinds_of_chance(page):
    columns, *rows = rows_of(page, "How high people&#39;s words are ranked")
    assert columns == ["explanation", "AUPRC", "95% interval", "random scores", "its runs elsewhere", "P", "n"]
    assert rows == [
        ["attention", "0.420", "[0.400, 0.440]", "0.310", "0.320", "0.147 [0.117, 0.177]", "60"],
        ["gradient x input", "0.385", "[0.365, 0.405]", "0.310", "0.330", "0.096 [0.066, 0.126]", "60"],
    ]


def test_hard_choices_stand_beside_both_kinds_of_chance(page):
    columns, *rows = rows_of(page, "A choice of 31% of its words a text (audited)")
    words, spans = ["0.370 [0.360, 0.380]", "0.260", "0.270"], ["0.042 [0.032, 0.052]", "0.031", "0.032"]
    assert rows[0] == ["attention, top k", *words, *spans]
    assert [row[0] for row in rows][2:] == ["attention, window", "gradient x input, window"]
    assert len(columns) == 7


def test_the_published_numbers_stand_beside_the_others(page):
    columns, *rows = rows_of(page, "What the published code makes of the same marks")
    assert sum("(published)" in column for column in columns) == 2
    assert [row[0] for row in rows] == ["attention", "gradient x input", "random"]
    assert rows[0][1:] == ["0.420", "0.423", "0.062", "0.042", "0.052"]


def test_the_figure_draws_each_explanation_and_its_chances(audit, tmp_path):
    (figure,) = draw(audit)
    drawn = figure.spec["data"]["values"]
    assert len(drawn) == 2 * 3 * 3  # explanations, marks, panels
    mine = {row["kind"]: row["value"] for row in drawn if (row["explanation"], row["panel"]) == ("attention", "AUPRC")}
    assert mine == {"attention": 0.42, "random scores": 0.31, "its runs elsewhere": 0.32}
    (path,) = write_figures(audit, tmp_path, suffix="svg")
    assert path.stem == "plausibility-agreement"
    assert "its runs elsewhere" in path.read_text()
    empty = replace(audit.results["plausibility"], measurements=())
    assert draw(replace(audit, results={"plausibility": empty})) == []
