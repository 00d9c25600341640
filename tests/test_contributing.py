"""CONTRIBUTING's promises: a new encoder, and a new line of the card, is one file and one line."""

import html
import re
from pathlib import Path

import pytest

import heatcheck
from heatcheck import audit, train, write_report
from heatcheck.auditing import LINES, CardSettings
from heatcheck.cli import show
from heatcheck.cli.fail_if import conditions
from heatcheck.data.planted import planted
from heatcheck.models import ENCODERS
from made_up_lines import permutation
from voice import faults_of

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
CHANGED = {"A new encoder": "models/classifiers/classifier.py", "A new line of the card": "auditing/lines/card.py"}


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


def test_the_line_of_the_guide_is_audited_and_drawn(monkeypatch, tmp_path, capsys):
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
    monkeypatch.setenv("COLUMNS", "120")
    show.card(found)
    number = found.card["sharp"].strip.number
    assert (
        f"yes Do a few words hold most of the weight? {number}; below 0.8 means yes\n"
        "    A few words hold most of the weight.\n"
    ) in capsys.readouterr().out


def test_the_line_of_the_guide_speaks_plainly():
    file, _ = section("A new line of the card")
    settings = CardSettings()
    states = {}
    for bounds in ((0.1, 0.3), (0.7, 0.85), (0.85, 0.9)):
        line = file["judge_sharp"](permutation(evenness=bounds), settings)
        states[line.state] = line
        said = (line.question, line.sentence, line.reason, line.holds, line.cannot_see, line.advice)
        assert not [fault for text in said for fault in faults_of(text, "sharp", every_rule=True)]
    assert list(states) == ["yes", "unclear", "no"]
    assert states["unclear"].would_take > 0
    assert file["judge_sharp"](None, settings).reason == "heatcheck audit MODEL --checks permutation"


@pytest.mark.parametrize("title", CHANGED)
def test_the_diff_of_the_guide_is_of_the_code(title):
    _, diff = section(title)
    before = "".join(f"{line[1:]}\n" for line in diff.splitlines() if not line.startswith("+"))
    assert before in (Path(heatcheck.__file__).parent / CHANGED[title]).read_text()
