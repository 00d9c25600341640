"""Tables that can be read back, figures that are pictures."""

import csv
import json
import sys
from dataclasses import replace

import audits
import duckdb
import numpy as np
import pytest

from heatcheck.auditing.audited_examples import beside_a_rival
from heatcheck.errors import MissingPackage, UnknownName
from heatcheck.report import write_figures, write_report, write_tables
from heatcheck.report.audit_figures import draw
from heatcheck.report.checks.agreement import tau_histogram
from heatcheck.report.examples import browse
from heatcheck.report.figures.files import script
from heatcheck.report.sections import tables_of


def read(path):
    """Rows as dicts of text or numbers, whichever the format holds."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as lines:
            return list(csv.DictReader(lines))
    if path.suffix == ".json":
        return json.loads(path.read_bytes())
    found = duckdb.sql(f"SELECT * FROM '{path}'")
    return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_tables_round_trip(tmp_path, suffix):
    audit = replace(audits.in_every_state(), results=audits.full(6).results)
    agreement = audit.results["agreement"]
    agreement.per_example["tau:attention|gradient"][2] = np.nan
    paths = write_tables(audit, tmp_path / "new", suffix=suffix)
    assert [path.name for path in paths] == [f"{name}.{suffix}" for name in ("measurements", "per_example", "card")]
    measurements, per_example, card = map(read, paths)

    wanted = [(check, m) for check, result in audit.results.items() for m in result.measurements]
    assert len(measurements) == len(wanted)
    for row, (check, m) in zip(measurements, wanted, strict=True):
        assert list(row) == ["check", "name", "by", "value", "low", "high", "n", "baseline"]
        assert (row["check"], row["name"], json.loads(row["by"])) == (check, m.name, m.by)
        assert (float(row["value"]), float(row["low"]), int(row["n"])) == (m.value, m.low, m.n)

    taus = [row for row in per_example if row["quantity"] == "tau:attention|gradient"]
    assert [row["id"] for row in taus] == list(agreement.examples)
    assert [row["value"] in (None, "") for row in taus] == [at == 2 for at in range(len(taus))]
    assert float(taus[0]["value"]) == agreement.per_example["tau:attention|gradient"][0]

    assert [row["state"] for row in card] == ["not run", "yes", "no", "unclear", "no", "yes"]
    assert [row["name"] for row in card[-2:]] == ["across models", "plausible to people"]
    assert float(card[1]["value"]) == audit.card.lines[1].evidence[0].value
    assert card[0]["value"] in (None, "")


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
@pytest.mark.parametrize("odd", [audits.nothing_run, audits.no_numbers, audits.hostile])
def test_odd_audits_make_tables_too(tmp_path, suffix, odd):
    audit = odd()
    measurements, per_example, _ = map(read, write_tables(audit, tmp_path, suffix=suffix))
    if odd is audits.hostile:
        ids = [row["id"] for row in per_example if (row["check"], row["quantity"]) == ("permutation", "q")]
        assert ids == ["é", 'a "quoted"\nid', "half an emoji ?"]
    assert len(measurements) == sum(len(result.measurements) for result in audit.results.values())


def test_parquet_keeps_its_types_without_a_number(tmp_path):
    path = write_tables(audits.no_numbers(), tmp_path, suffix="parquet")[0]
    kinds = dict(duckdb.sql(f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM '{path}')").fetchall())
    assert (kinds["value"], kinds["n"], kinds["by"]) == ("DOUBLE", "BIGINT", "VARCHAR")


def test_figures_are_pictures(tmp_path):
    names = [
        "agreement-histogram",
        "agreement-differences",
        "agreement-matrix",
        "erasure-effects",
        "permutation-by-largest-weight",
        "counterfactual-histogram",
        "counterfactual-by-largest-weight",
    ]
    audit = audits.full()
    drawings = write_figures(audit, tmp_path, suffix="svg")
    assert [path.name for path in drawings] == [f"{name}.svg" for name in names]
    assert all(path.read_text().startswith("<svg") for path in drawings)
    drawn = {path.stem: path.read_text() for path in drawings}
    (tau,) = [m.value for m in audit.results["agreement"].measurements
              if (m.name, m.by) == ("tau", {"pair": ["attention", "leave_one_out"]})]  # fmt: skip
    assert f"{tau:.3f}" in drawn["agreement-matrix"], "numbers are printed in the cells"
    assert "mechanical floor: relevances shuffled" in drawn["agreement-histogram"]
    assert "τ(gradient, leave one out) minus τ(attention, gradient)" in drawn["agreement-differences"]
    assert "deletion" in drawn["erasure-effects"]
    assert "largest weight in the text" in drawn["permutation-by-largest-weight"]
    assert "null: shuffled relevances" in drawn["counterfactual-histogram"]
    pictures = write_figures(audit, tmp_path, suffix="png")
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)
    assert write_figures(audits.no_numbers(), tmp_path, suffix="svg") == []


def test_the_numbers_behind_each_figure(tmp_path):
    audit = audits.full(checks=["agreement"])
    paths = write_figures(audit, tmp_path, suffix="csv")
    assert [path.stem for path in paths] == [figure.name for figure in draw(audit)]
    (histogram,) = [path for path in paths if path.stem == "agreement-histogram"]
    rows = list(csv.DictReader(histogram.read_text(encoding="utf-8").splitlines()))
    counted = sum(int(row["texts"]) for row in rows if row.get("texts"))
    assert counted == len(audit.results["agreement"].examples) > 30  # every text stands in one bar of one class


def test_where_there_is_no_mechanical_floor_table_and_figure_say_so():
    with_floor = audits.full().results["agreement"]
    measurements = tuple(m for m in with_floor.measurements if m.name != "tau_mechanical_floor")
    without = replace(with_floor, measurements=measurements, facts={"without_floor": {"gradient": "it has context"}})
    said = [tables_of(result)[0].caption for result in (with_floor, without)]
    assert said[0].endswith("A mean τ at or below its mechanical floor says nothing about the words")
    assert said[1].startswith("Attention and each other method. There is no mechanical floor for gradient")
    captions = [tau_histogram(result, {}).caption for result in (with_floor, without)]
    assert ["There is no mechanical floor" in caption for caption in captions] == [False, True]


def test_figures_in_several_formats_at_once(tmp_path):
    audit = audits.full(checks=["erasure"])
    listed, joined = (write_figures(audit, tmp_path, suffix=suffix) for suffix in (["svg", "csv"], "svg, csv"))
    assert listed == joined
    assert {path.suffix for path in joined} == {".svg", ".csv"}


def test_unknown_formats_are_named(tmp_path):
    with pytest.raises(UnknownName, match="table format 'xlsx'"):
        write_tables(audits.full(2), tmp_path, suffix="xlsx")
    with pytest.raises(UnknownName, match="did you mean 'svg'"):
        write_figures(audits.full(2, checks=()), tmp_path, suffix="svgz")


@pytest.mark.parametrize(
    ("package", "said"), [("altair", "altair"), ("vl_convert", "vl-convert-python"), ("jinja2", "jinja2")]
)
def test_an_absent_package_is_named(tmp_path, monkeypatch, package, said):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("heatcheck.report.html._bundle", script)
    with pytest.raises(MissingPackage, match=said):
        write_report(audits.full(2, checks=["erasure"]), tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_the_browser_sorts_by_the_agreement_of_sizes():
    """τ of attention with |leave-one-out|, words without a score left out."""
    first, second = audits.full(2).examples
    examples = [
        first._replace(
            words=("a", "b", "c"), scores={"attention": (1.0, 2.0, 3.0), "leave_one_out": (-0.1, 0.2, -0.3)}
        ),
        second._replace(
            words=("a", "b", "c"), scores={"attention": (1.0, 2.0, None), "leave_one_out": (0.2, 0.1, 9.0)}
        ),
    ]
    audit = audits.full(2)
    object.__setattr__(audit, "examples", beside_a_rival(examples)[0])
    rows = json.loads(browse(audit, 10_000).json)["examples"]
    assert [row["t"] for row in rows] == [1.0, -1.0]
