"""`heatcheck calibrate`: what it prints, what it writes, and its exit code."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from heatcheck.auditing import calibration
from heatcheck.auditing.calibration import audit as audits
from heatcheck.auditing.calibration.truth import KEYWORD, Cell

READER = Cell("reader", KEYWORD)


@pytest.fixture
def _one_control(monkeypatch):
    """The smoke run with one control and no dial: this tests the command, not the card."""
    monkeypatch.setattr(calibration, "QUICK", replace(calibration.QUICK, cells=(READER,), dials=0))


@pytest.fixture
def _wrong(monkeypatch):
    """A card that says the opposite on one line."""
    right = audits.lines_of

    def lines_of(plan):
        lines, results = right(plan)
        lines["points at what matters"]["state"] = "no"
        return lines, results

    monkeypatch.setattr(audits, "lines_of", lines_of)


@pytest.mark.usefixtures("_one_control")
def test_a_smoke_run(heatcheck):
    code, out, err = heatcheck("calibrate", "--quick")
    assert (code, err) == (0, "")
    assert "a smoke run is too short to calibrate the card" in out
    assert "The card is calibrated." not in out
    assert "NOT MET" not in out
    assert "moot" not in out
    assert "unasked:  the question cannot be asked, and the card does not decide" in out
    assert all(len(row) <= 80 for row in out.splitlines())
    assert re.search(r"^line +right +wrong +open +controls +at least +unasked +unknown *$", out, flags=re.MULTILINE)
    facts = json.loads(Path("heatcheck-out/calibration/calibration.json").read_text())
    assert facts["passed"] is True
    assert {verdict["judged"] for verdict in facts["verdicts"]} == {"right", "moot"}


@pytest.mark.usefixtures("_one_control", "_wrong")
def test_a_wrong_card_is_an_exit_code_and_a_name(heatcheck):
    code, out, _ = heatcheck("calibrate", "--quick", "--out", "there")
    assert code == 1
    wrong = "reader@planted_keyword, seed 0: points at what matters: the true answer is yes; the card says no (K"
    assert wrong in " ".join(out.split())
    assert "NOT MET" in out
    assert "The verdicts are not calibrated." in out
    code, out, _ = heatcheck("calibrate", "--quick", "--out", "there", "--json")
    facts = json.loads(out)
    assert code == 1
    assert facts["passed"] is False
    assert [v["state"] for v in facts["verdicts"] if v["judged"] == "wrong"] == ["no"]
    assert {line["line"]: line["wrong"] for line in facts["lines"]}["points at what matters"] == 1


def test_what_is_refused(heatcheck):
    for arguments, sentence in (
        (["--workers", "-1"], "--workers must be 0 or more, not -1."),
        (["--seeds", "0"], "seeds must be at least 1, not 0."),
        (["--first-seed", "-3"], "the first seed must be 0 or more, not -3."),
    ):
        code, out, err = heatcheck("calibrate", *arguments)
        assert (code, out, err.strip()) == (2, "", f"heatcheck: {sentence}")
