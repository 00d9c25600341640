"""What a page shows of perturbation and identifiability."""

from dataclasses import replace

import audits
import pytest

from heatcheck.checks import CHECKS, Case
from heatcheck.checks.identifiability import IdentifiabilitySettings
from heatcheck.checks.perturbation import PerturbationSettings
from heatcheck.data import load_task
from heatcheck.models import load
from heatcheck.report import write_figures, write_report
from heatcheck.report.checks.perturbation import areas, removal_curves
from heatcheck.report.sections import every_number, tables_of
from heatcheck.results.written import number
from tiny_transformers import EXAMPLES, tiny


@pytest.fixture(scope="module")
def removed():
    examples = load_task("planted_keyword")["test"].examples[:12]
    case = Case(load("known:reader@planted_keyword"), examples, labels=("negative", "positive"))
    settings = PerturbationSettings(
        ("attention", "leave_one_out", "gradient"),
        shares=(0.2, 0.5),
        operators=("masking", "deletion"),
        random_orders=2,
        draws=30,
    )
    return CHECKS["perturbation"].measure(case, settings)


@pytest.fixture(scope="module")
def free():
    case = Case(tiny("bert"), EXAMPLES, labels=("0", "1"))
    return CHECKS["identifiability"].measure(case, IdentifiabilitySettings(heads=2, draws=20))


def test_all_explainers_are_ranked_with_intervals(removed):
    by_size, with_sign = tables_of(removed)
    assert {row[0] for row in by_size.rows} == {"attention", "leave one out", "gradient", "random order"}
    assert by_size.rows[-1][0] == "random order"
    means = [float(row[2].split()[0].replace("−", "-")) for row in by_size.rows]
    assert means == sorted(means, reverse=True), "best first"
    best = by_size.rows[0]
    assert "[" in best[1]
    assert "[" in best[2]
    own = removed.find("area", ranking="attention", operator="both")
    assert next(row for row in by_size.rows if row[0] == "attention")[2].startswith(number(own.value))
    assert [row[0] for row in with_sign.rows][-1] == "random order"
    assert "leave one out (signed)" in {row[0] for row in with_sign.rows}
    assert all("nan" not in cell for table in (by_size, with_sign) for row in table.rows for cell in row)


def test_one_way_of_removing_needs_no_mean(removed):
    one = replace(
        removed,
        settings={**removed.settings, "operators": ["masking"]},
        measurements=tuple(m for m in removed.measurements if m.by.get("operator") == "masking"),
    )
    table = tables_of(one)[0]
    assert not any(column.startswith("area, ") for column in table.columns)
    assert table.rows[-1][0] == "random order"
    assert areas(one, {}) is not None


def test_figures(removed):
    drawn = areas(removed, {})
    assert drawn.name == "perturbation-areas"
    rows = drawn.spec["data"]["values"] if "data" in drawn.spec else next(iter(drawn.spec["datasets"].values()))
    assert {row["operator"] for row in rows} == {"masking", "deletion", "both"}
    assert {row["ranking"] for row in rows} == {"attention", "leave one out", "gradient", "random order"}
    lines = removal_curves(removed, {})
    assert "2 best other methods" in lines.caption
    assert areas(replace(removed, measurements=()), {}) is None
    assert removal_curves(replace(removed, measurements=()), {}) is None


def test_what_is_said_of_weights_and_tokens(free):
    weights, tokens = tables_of(free)
    assert "head width 8" in weights.caption
    assert weights.rows[0][0].startswith("share of texts long enough")
    assert len(weights.rows) == 8
    assert [row[0] for row in tokens.rows] == ["1", "2", "3"]
    assert "guessing: 0.1" in tokens.caption


def test_on_the_page_and_as_files(removed, free, tmp_path):
    audit = audits.full()
    audit = replace(audit, results={**audit.results, "perturbation": removed, "identifiability": free})
    write_report(audit, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    for words in ("Ranking of methods by word removal", "perturbation-areas", "Different weights, same head output"):
        assert words in page
    names = {path.name for path in write_figures(audit, tmp_path, suffix="csv")}
    assert {"perturbation-areas.csv", "perturbation-curves.csv"} <= names


def test_every_number_has_words(removed, free):
    for result in (removed, free):
        assert not [row for row in every_number(result).rows if "_" in row[0] or "_" in row[1]]
