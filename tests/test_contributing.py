"""CONTRIBUTING's promises: a new encoder, and a new line of the card, is one file and one line."""

import html
import re
from pathlib import Path

import pytest

import heatcheck
from heatcheck import audit, train, write_report
from heatcheck.auditing import LINES
from heatcheck.cli.fail_if import conditions
from heatcheck.data.planted import planted
from heatcheck.models import ENCODERS

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
CHANGED = {"A new encoder": "models/classifier.py", "A new line of the card": "auditing/lines/card.py"}


def section(title):
    """The file of a section, and the line that is added."""
    words = GUIDE[GUIDE.index(f"## {title} is one file and one line") :]
    code, diff = (re.search(rf"```{kind}\n(.*?)```", words, flags=re.DOTALL)[1] for kind in ("python", "diff"))
    file = {}
    exec(code, file)
    return file, diff


def test_the_encoder_of_the_guide_works(monkeypatch):
    file, diff = section("A new encoder")
    ((name, encoder),) = re.findall(r'^\+    "(\w+)": (\w+),$', diff, flags=re.MULTILINE)
    monkeypatch.setitem(ENCODERS, name, file[encoder])
    small = {"hidden": 16, "embedding": 32, "epochs": 4, "learning_rate": 0.02, "dropout": 0.0}
    fit = train(planted("planted_keyword", sizes=(500, 50, 300)), encoder=name, progress=False, **small)
    assert fit.test.accuracy > 0.95


def test_the_line_of_the_guide_is_audited_and_drawn(monkeypatch, tmp_path):
    file, diff = section("A new line of the card")
    assert re.findall(r"^\+ +(\w+\.\w+),$", diff, flags=re.MULTILINE) == ["sharp.RULE"]
    monkeypatch.setitem(LINES, file["RULE"].name, file["RULE"])
    found = audit("known:reader@planted_keyword", "planted_keyword", examples=40, checks=["permutation"])
    assert found.card["sharp"].state == "yes"
    assert found.card["sharp"] in found.card.lines
    report = html.unescape(re.sub(r"<.*?>", "", write_report(found, tmp_path / "report.html").read_text()))
    for words in (found.card["sharp"].question, found.card["sharp"].sentence, found.card["sharp"].advice):
        assert words in report
    assert [condition.line for condition in conditions(["sharp=no"])] == ["sharp"]


@pytest.mark.parametrize("title", CHANGED)
def test_the_diff_of_the_guide_is_of_the_code(title):
    _, diff = section(title)
    before = "".join(f"{line[1:]}\n" for line in diff.splitlines() if not line.startswith("+"))
    assert before in (Path(heatcheck.__file__).parent / CHANGED[title]).read_text()
