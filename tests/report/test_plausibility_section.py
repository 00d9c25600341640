"""What people marked, on the page: apart from the card, and each number beside both kinds of chance."""

import re
from dataclasses import replace

import audits
import pytest
from parsed import Page, plain

from heatcheck.report import write_figures, write_report
from heatcheck.report.audit_figures import draw
from heatcheck.results import headline_of


@pytest.fixture(scope="module")
def audit():
    """As the real one, but that it says no across models."""
    return replace(audits.in_every_state(), results=audits.full(checks=["plausibility"]).results)


@pytest.fixture(scope="module")
def page(audit, tmp_path_factory):
    return Page(write_report(audit, tmp_path_factory.mktemp("page") / "report.html"))


def rows_of(page, caption):
    """The rows of the table with this caption, as lists of text."""
    source = page.source[page.source.index(f"<caption>{caption}") :]
    rows = re.findall(r"<tr>(.*?)</tr>", source[: source.index("</table>")], flags=re.DOTALL)
    return [[re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row)] for row in rows]


def test_it_stands_apart_and_says_what_it_does_not_say(audit, page):
    line = audit.card["plausible"]
    wanted = ('id="line-context"', '<section id="evidence"', 'id="line-across"', line.heading, line.preface,
              'id="line-plausible"', '<section id="check-')  # fmt: skip
    places = [page.source.index(words) for words in wanted]
    assert places == sorted(places)
    assert line.heading == "about people, whatever the model does"
    assert "A heatmap that people find plausible is no better an account of the model" in line.preface
    assert line.cannot_see in plain(page.line("plausible")[1])


@pytest.mark.parametrize("state", ["yes", "no"])
def test_it_has_no_part_in_the_answer(audit, tmp_path, state):
    line = audits.in_state(audit.card["plausible"], state)
    told = Page(write_report(audits.with_line(audit, line), tmp_path / "report.html"))
    shown = plain(told.section("answer"))
    headline = headline_of(audit.card)
    assert all(words in shown for words in (headline.answer, *headline.may_say, *headline.do_not_say))
    assert "people" not in shown
    assert shown.count("name of this line") == len(audit.card.lines)


def test_where_nobody_marked_anything_there_is_one_quiet_line(tmp_path):
    told = Page(write_report(audits.nothing_run(), tmp_path / "report.html"))
    row, beneath = map(plain, told.line("plausible"))
    assert "○ cannot be run" in row
    assert "Nobody marked a rationale in these texts." in row
    assert "Why: nobody marked a rationale in these texts." in beneath
    assert "quantity" not in beneath


@pytest.fixture(scope="module")
def found(audit):
    """A number by its name and what it is of; and what of it by chance, by random scores and by its runs elsewhere."""

    def find(name, explainer="attention", **by):
        at_random = {"explainer": "random spans", "matched": explainer}
        of = ({"explainer": explainer}, {"explainer": "random"}, at_random)
        return [audit.results["plausibility"].find(name, **who, **by) for who in of]

    return find


def in_full(m):
    return f"{m.value:.3f} [{m.low:.3f}, {m.high:.3f}]".replace("-", "−")


def test_areas_stand_beside_both_kinds_of_chance(audit, found, page):
    columns, *rows = rows_of(page, "How high each method ranks the marked words")
    assert columns == ["method", "AUPRC", "95% interval", "random scores", "random spans", "P", "n"]
    assert [row[0] for row in rows] == ["attention", "gradient x input"]
    for row, explainer in zip(rows, ("attention", "gradient_x_input"), strict=True):
        area, *chance = found("auprc", explainer)
        p = audit.results["plausibility"].find("P", explainer=explainer)
        assert row[1:3] == in_full(area).split(" ", 1)
        assert row[3:] == [*(f"{m.value:.3f}" for m in chance), in_full(p), str(p.n)]


def test_hard_choices_stand_beside_both_kinds_of_chance(audit, found, page):
    share = audit.results["plausibility"].facts["share_of_words"]
    columns, *rows = rows_of(page, f"Choosing {share:.0%} of the words of each text (audited)")
    wanted = []
    for name, average in (("token_f1", "macro"), ("iou_f1", "macro")):
        own, *chance = found(name, rationale="top k", average=average)
        wanted += [in_full(own), *(f"{m.value:.3f}" for m in chance)]
    assert rows[0] == ["attention, top k", *wanted]
    assert [row[0] for row in rows][2:] == ["attention, window", "gradient x input, window"]
    assert len(columns) == 7


def test_the_published_numbers_stand_beside_the_others(found, page):
    columns, *rows = rows_of(page, "The same agreement by the published definitions")
    assert sum("(published)" in column for column in columns) == 2
    assert [row[0] for row in rows] == ["attention", "gradient x input", "random"]
    areas = [found(name)[0] for name in ("auprc", "average_precision")]
    overlaps = [found("iou_f1", rationale="top k", average=average)[0]
                for average in ("macro as published", "macro", "micro")]  # fmt: skip
    assert len({m.value for m in overlaps}) > 1, "or any order would do"
    assert rows[0][1:] == [f"{m.value:.3f}" for m in (*areas, *overlaps)]


def test_the_figure_draws_each_explanation_and_its_chances(audit, found, tmp_path):
    (figure,) = draw(audit)
    drawn = figure.spec["data"]["values"]
    assert len(drawn) == 2 * 3 * 3  # explanations, marks, panels
    mine = {row["kind"]: row["value"] for row in drawn if (row["explanation"], row["panel"]) == ("attention", "AUPRC")}
    kinds = ("attention", "random scores", "random spans")
    assert mine == {kind: pytest.approx(m.value, abs=1e-4) for kind, m in zip(kinds, found("auprc"), strict=True)}
    (path,) = write_figures(audit, tmp_path, suffix="svg")
    assert path.stem == "plausibility-agreement"
    assert "random spans" in path.read_text()
    empty = replace(audit.results["plausibility"], measurements=())
    assert draw(replace(audit, results={"plausibility": empty})) == []
