"""`heatcheck treat` from the command line: its table fits a screen, its report is written, and refusals are said."""

import json

import pytest

from heatcheck.cli.treat import _say
from heatcheck.report import write_treatments
from heatcheck.results.treatments import MEANS
from treated_world import treatments

ROWS = "text,label\n" + "".join(f"{n % 7} films and a {w} plot,{w}\n" for n in range(40) for w in ("good", "bad"))
SHORT = [f"--set=erasure.{one}" for one in ("rivals=gradient_x_input", "random_orders=1", "sizes=1", "draws=10")]


@pytest.fixture(scope="module")
def found():
    return treatments()


def test_the_table_fits_a_screen(found, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert {cell.word for row in found.rows for cell in row.cells} == set(MEANS)
    _say(found)
    said = capsys.readouterr().out
    lines = said.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines[:18])) <= 80
    for word in MEANS:
        assert word in said or word in ("helps",)
    assert "Try diversity" in said
    assert ".77→" in said or "→." in said


@pytest.mark.parametrize("suffix", ["html", "md", "csv", "json"])
def test_reports_have_every_verdict_and_reason(found, tmp_path, suffix):
    text = write_treatments(found, tmp_path / f"mine.{suffix}").read_text()
    for row in found.rows:
        assert row.name in text
        assert all(cell.word in text for cell in row.cells)
    if suffix != "csv":
        assert "cannot be as wide" in text
        assert "people marked words" in text.lower()
        assert "nearly equal" in text


def test_it_trains_audits_and_writes(heatcheck, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text(ROWS)
    tiny = ["--encoder", "average", *(f"--set={one}" for one in ("epochs=1", "embedding=8", "hidden=8"))]
    assert heatcheck("train", "mine.csv", *tiny, "--seed", 3, "--out", "m")[0] == 0
    options = ["--treatments", "top_k", "--seeds", 1, "--examples", 5, *SHORT]
    code, said, _ = heatcheck("treat", "m", *options, "--plan")
    assert code == 0
    assert "2 training runs and 3 audits" in said
    code, said, _ = heatcheck("treat", "m", *options, "--format", "md,json", "--out", "mine", "--json")
    assert code == 0
    facts = json.loads(said)
    assert facts["files"] == ["mine.md", "mine.json"]
    assert facts["rows"][0]["name"] == "top_k"
    assert facts["settings"]["seeds"] == [3]
    assert json.loads((tmp_path / "mine.json").read_text())["advice"] == facts["advice"]
    code, said, _ = heatcheck("treat", "m", *options)
    assert code == 0
    assert "report: heatcheck-out/treatments/" in said
    assert "Nothing is decided" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["known:reader@planted_keyword"], "no training recipe"),
        (["planted_keyword", "--data", "planted_keyword"], "leave out --data"),
        (["planted_keyword", "--treatments", "sparse"], "sparsemax"),
        (["planted_keyword", "--workers", "-1"], "--workers"),
        (["planted_keyword", "--out", "x.pdf"], ".pdf"),
    ],
)
def test_refusals_are_said_in_a_sentence(heatcheck, arguments, words):
    code, _, said = heatcheck("treat", *arguments)
    assert code == 2
    assert words in said
