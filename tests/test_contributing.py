"""CONTRIBUTING's promise: a new encoder is one file and one line."""

import re
from pathlib import Path

import heatcheck
from heatcheck import train
from heatcheck.data.planted import planted
from heatcheck.models import ENCODERS

ROOT = Path(__file__).parents[1]


def test_the_encoder_of_the_guide_works(monkeypatch):
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", guide, flags=re.DOTALL)
    file = {}
    exec(code, file)
    (line,) = re.findall(r'^\+    "(\w+)": (\w+),$', guide, flags=re.MULTILINE)
    monkeypatch.setitem(ENCODERS, line[0], file[line[1]])
    small = {"hidden": 16, "embedding": 32, "epochs": 4, "learning_rate": 0.02, "dropout": 0.0}
    fit = train(planted("planted_keyword", sizes=(500, 50, 300)), encoder=line[0], progress=False, **small)
    assert fit.test.accuracy > 0.95


def test_the_diff_of_the_guide_is_of_the_code():
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    (diff,) = re.findall(r"```diff\n(.*?)```", guide, flags=re.DOTALL)
    before = "".join(f"{line[1:]}\n" for line in diff.splitlines() if not line.startswith("+"))
    assert before in (Path(heatcheck.__file__).parent / "models" / "classifier.py").read_text()
