"""Every check has one view, found by its name; a check without one is drawn too."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import audits
import numpy as np
import pytest
from parsed import Page, plain

import heatcheck.report.checks
from heatcheck.checks import CHECKS
from heatcheck.errors import BadInput
from heatcheck.report import notebook, write_markdown, write_report
from heatcheck.report.audit_figures import draw, draw_comparison
from heatcheck.report.checks import CHECK_VIEWS, CheckView, view_of
from heatcheck.report.compared_values import Compared
from heatcheck.report.comparison import compare
from heatcheck.report.measurement_words import direction, of_quantity
from heatcheck.report.sections import sections, tables_of
from heatcheck.report.view import in_order
from heatcheck.results import QUANTITIES, Quantity

# Views without tables and figures of their own, and why.
ONLY_NUMBERS = {}


def test_every_check_has_a_view_and_every_view_a_check():
    assert CHECK_VIEWS.keys() == CHECKS.keys()


def test_views_are_found_by_the_names_of_their_files():
    files = {path.stem for path in Path(heatcheck.report.checks.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == CHECK_VIEWS.keys()


def test_titles_and_places_are_unique():
    assert len({view.title for view in CHECK_VIEWS.values()}) == len(CHECK_VIEWS)
    assert len({view.place for view in CHECK_VIEWS.values()} - {float("inf")}) == len(CHECK_VIEWS)


@pytest.mark.parametrize("check", CHECKS)
def test_a_view_has_tables_or_figures_or_a_reason_for_none(check):
    view = CHECK_VIEWS[check]
    own = view.figures or view.tables is not CheckView("").tables
    assert bool(own) != (check in ONLY_NUMBERS)


def test_what_several_views_name_is_registered_once():
    named = [one for view in CHECK_VIEWS.values() for one in view.quantities]
    assert len(named) == len({(one.check, one.name) for one in named})
    for check, view in CHECK_VIEWS.items():
        for one in view.quantities:
            assert QUANTITIES[one.check, one.name] is one
            assert one.check in ("", check)


@pytest.fixture
def with_a_new_check():
    """An audit with the results of a check that nobody has a view of."""
    audit = audits.full(6)
    return replace(audit, results={**audit.results, "a_new_one": replace(audit.results["erasure"], check="a_new_one")})


def test_a_check_without_a_view_is_drawn(with_a_new_check, tmp_path):
    page = Page(write_report(with_a_new_check, tmp_path / "report.html"))
    shown = plain(page.section("check-a_new_one"))
    assert "A new one" in shown
    assert "Every number of this check" in shown
    last = sections(with_a_new_check, draw(with_a_new_check))[-1]
    assert (last.check, last.title, last.tables, last.figures) == ("a_new_one", "A new one", [], [])
    assert len(last.everything.rows) == len(with_a_new_check.results["a_new_one"].measurements)
    assert "## A new one" in write_markdown(with_a_new_check, tmp_path / "report.md").read_text(encoding="utf-8")
    assert "A new one" in notebook.check_html(with_a_new_check.results["a_new_one"])


@pytest.fixture
def _registers_are_restored():
    """Whatever a test adds is gone after it."""
    kept = [(register, dict(register)) for register in (CHECK_VIEWS, QUANTITIES)]
    yield
    for register, before in kept:
        register.clear()
        register.update(before)


NEW = Quantity("newness", "how new it is", high="It is new.", low="It is old.", format=".1f", check="a_new_one")


@pytest.mark.usefixtures("_registers_are_restored")
def test_a_view_that_is_added_later_is_used(with_a_new_check):
    drawn = CHECK_VIEWS["erasure"]
    view = CheckView("Something new", 15, tables=drawn.tables, figures=drawn.figures, quantities=(NEW,))
    CHECK_VIEWS.add("a_new_one", view)
    assert view_of("a_new_one") is view
    assert in_order(with_a_new_check.results)[:2] == ["agreement", "a_new_one"]
    found = next(one for one in sections(with_a_new_check, draw(with_a_new_check)) if one.check == "a_new_one")
    assert found.title == "Something new"
    assert found.tables == tables_of(with_a_new_check.results["erasure"])
    assert [figure.check for figure in found.figures] == ["a_new_one"]
    assert direction("newness", "a_new_one") == "high: it is new; low: it is old"
    assert (of_quantity("newness", 1.25, "a_new_one"), of_quantity("newness", 1.25)) == ("1.2", "1.250")


@pytest.mark.usefixtures("_registers_are_restored")
def test_a_view_says_what_a_comparison_shows(with_a_new_check):
    audited = with_a_new_check.results["a_new_one"]
    values = {"newness": np.arange(len(audited.examples), dtype=np.float64)}
    shifted = {"newness": values["newness"] + 2}
    first, second = (
        replace(with_a_new_check, results={"a_new_one": replace(audited, per_example=one)}) for one in (values, shifted)
    )
    models = {"first": first, "second": second}
    assert [one.check for one in compare(models).paired] == ["audit"]
    assert draw_comparison(models) == []
    newer = CheckView(
        "Something new",
        compared=(Compared("newness", "how new it is"),),
        comparison_figures=CHECK_VIEWS["erasure"].comparison_figures,
    )
    CHECK_VIEWS.add("a_new_one", newer)
    *_, paired = compare(models).paired
    assert (paired.check, paired.what, paired.difference.value) == ("a_new_one", "how new it is", 2.0)
    assert len(draw_comparison(models)) == 1


@pytest.mark.usefixtures("_registers_are_restored")
def test_no_second_view_of_a_check_and_none_whose_quantities_are_refused():
    with pytest.raises(BadInput, match="has the name 'erasure' already"):
        CHECK_VIEWS.add("erasure", CheckView("Another"))
    wrong = NEW._replace(high="")
    with pytest.raises(BadInput, match="does not say what a high value means"):
        CHECK_VIEWS.add("a_new_one", CheckView("Something new", quantities=(NEW._replace(name="other"), wrong)))
    assert "a_new_one" not in CHECK_VIEWS
    assert ("a_new_one", "other") not in QUANTITIES
    assert view_of("erasure").title == "Removing the highlighted words"


def test_whoever_imports_a_part_of_the_report_finds_every_quantity():
    """In the terminal too: a quantity that is looked up before the views are there would have no words."""
    for module in ("heatcheck.report.measurement_words", "heatcheck.report.notebook", "heatcheck.cli.evidence"):
        asks = f"import {module}; from heatcheck.results import find_quantity; assert find_quantity('K').high"
        subprocess.run([sys.executable, "-c", asks], check=True)
