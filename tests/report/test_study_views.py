"""One view per study: each study has one, draws only what its own view names, and a study without one is shown too."""

from dataclasses import replace
from itertools import combinations

import pytest
import study_results
from parsed import Page

from heatcheck.checks import CHECKS
from heatcheck.cli import show_study
from heatcheck.report import write_study, write_study_figures
from heatcheck.report.studies import STUDY_VIEWS, view_of_study
from heatcheck.report.study_figures import draw_study
from heatcheck.report.study_view import Chapter, StudyView
from heatcheck.report.table import Table
from heatcheck.results import OF_STUDIES, QUANTITIES, parse_key
from heatcheck.studies import STUDIES


def makers(view):
    return {make for chapter in view.chapters for make in (*chapter.tables, *chapter.figures)}


def test_every_study_has_a_view_and_every_view_a_study():
    assert STUDY_VIEWS.keys() == STUDIES.keys()
    assert view_of_study("snell2021") is STUDY_VIEWS["snell2021"]
    assert all(view.chapters for view in STUDY_VIEWS.values())


def test_no_maker_is_of_two_studies():
    for one, other in combinations(STUDY_VIEWS, 2):
        assert not makers(STUDY_VIEWS[one]) & makers(STUDY_VIEWS[other]), (one, other)


def test_a_study_calls_its_own_makers_and_no_others(monkeypatch, tmp_path):
    called = []

    def counting(study, make):
        def count(found):
            called.append(study)
            return make(found)

        return count

    for name, view in STUDY_VIEWS.items():
        chapters = tuple(
            replace(
                chapter,
                tables=tuple(counting(name, make) for make in chapter.tables),
                figures=tuple(counting(name, make) for make in chapter.figures),
            )
            for chapter in view.chapters
        )
        in_short = counting(name, view.in_short)
        monkeypatch.setitem(STUDY_VIEWS, name, replace(view, chapters=chapters, in_short=in_short))
    for found in (study_results.study(), study_results.refitted()):
        called.clear()
        write_study(found, tmp_path / "study.html")
        assert set(called) == {found.name}
        assert len(called) == len(makers(STUDY_VIEWS[found.name])) + 1, "each once, and the sentences"


@pytest.mark.parametrize("study", STUDY_VIEWS)
def test_a_view_names_quantities_that_there_are(study):
    view = STUDY_VIEWS[study]
    named = {parse_key(quantity).name for quantity in (*view.shown, *view.unpublished)}
    named |= {kind.name for kind in (*view.kinds.values(), *view.chosen)}
    named |= {name for about, _ in (*view.done, *view.about_published) for name in about} | {*view.retrained}
    assert named <= {name for check, name in QUANTITIES if check == OF_STUDIES}
    assert not view.shown.keys() & view.unpublished.keys()
    assert all(one.check == OF_STUDIES for one in view.quantities)


def test_a_chapter_is_a_check_or_has_a_title_of_its_own():
    for view in STUDY_VIEWS.values():
        for chapter in view.chapters:
            assert bool(chapter.title) != (chapter.name in CHECKS), chapter.name


@pytest.fixture
def nobodys():
    """A study that no view is about."""
    return replace(study_results.refitted(), name="nobodys2031")


def test_a_study_without_a_view_is_drawn(nobodys, tmp_path):
    page = Page(write_study(nobodys, tmp_path / "study.html"))
    assert [a["id"] for tag, a in page.tags if tag == "section"][-1] == "figures-numbers"
    assert page.source.count("<tr><td>films</td><td>BiLSTM, tanh</td>") == sum(r.task == "films" for r in nobodys.rows)
    assert "Every number, the mean over seeds with its 95% interval" in page.text
    assert "guide accuracy:adversary all 0.600 [0.588, 0.612] – – 3" in page.text
    assert "Every published number beside ours" in page.text
    assert draw_study(nobodys) == write_study_figures(nobodys, tmp_path, suffix="csv") == []


def test_a_terminal_shows_it_too(nobodys, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    show_study.study(nobodys)
    told = capsys.readouterr().out
    assert sum(line.startswith("films lstm tanh") for line in told.splitlines()) == sum(
        row.task == "films" and not row.bin for row in nobodys.rows
    )
    assert "F1 of a guide, an adversary" in told
    assert "0.60 [0.59, 0.61]" in told


def test_a_small_view_is_enough(nobodys, tmp_path, monkeypatch, capsys):
    def one_table(found):
        return [Table("A table of mine", ("task",), [(task,) for task in found.tasks])]

    mine = StudyView(
        done=((("f1",), "Somebody trained something."), (("no such number",), "And something else.")),
        chapters=(Chapter("mine", (one_table,), title="A chapter of mine", reading="Read it twice."),),
        unpublished={"J_star": "how far"},
    )
    monkeypatch.setitem(STUDY_VIEWS, "nobodys2031", mine)
    text = Page(write_study(nobodys, tmp_path / "study.html")).text
    for words in ("Somebody trained something.", "A table of mine", "A chapter of mine", "Read it twice."):
        assert words in text
    assert "And something else" not in text
    assert "Every number, the mean" not in text
    show_study.study(nobodys)
    shown = [line for line in capsys.readouterr().out.splitlines() if " lstm tanh " in line]
    assert len(shown) == 2
    assert all("how far" in line for line in shown)
