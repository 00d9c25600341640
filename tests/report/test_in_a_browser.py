"""What the page's own script makes of it: figures drawn, words shaded, nothing run that a word says."""

import re
import shutil
import subprocess

import audits
import pytest

from heatcheck.report import write_report

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
QUIET = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"


@pytest.fixture
def drawn(tmp_path):
    """The page after its script has run, as HTML."""
    if not CHROMIUM:
        pytest.skip("needs Chromium to run the page's script: apt-get install chromium")

    def draw(audit):
        path = write_report(audit, tmp_path / "report.html")
        command = [CHROMIUM, *QUIET.split(), f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=8000"]
        done = subprocess.run([*command, "--dump-dom", path.as_uri()], capture_output=True, timeout=120, check=True)
        page = done.stdout.decode()
        return page[: page.index('<script type="application/json"')]

    return draw


def test_figures_and_heatmaps_are_drawn(drawn):
    page = drawn(audits.full(40))
    assert page.count("<svg") == 3
    assert "could not be drawn" not in page
    assert "30 of 40 texts" in page
    assert page.count('<li class="text') == 30
    assert page.count("misclassified: labelled") == page.count('<li class="text wrong"') > 0
    rows = re.findall(r'<span class="who">([^<]*)</span>', page)
    assert rows[:3] == ["attention", "leave one out", "gradient"]
    assert len(rows) == 90
    assert 'aria-label="attention, heaviest words: ' in page
    assert re.search(r'<span class="w h10 minus" title="leave one out −0\.\d+">', page)
    assert page.count(" mark") > 0


def test_hostile_words_stay_words(drawn):
    page = drawn(audits.hostile())
    assert ">&lt;script&gt;alert(1)&lt;/script&gt;</span>" in page
    assert "<script>alert" not in page
    assert "no scores for this text" in page
    assert 'title="attention gives this word no score"' in page
    assert "show all 3000 words" in page
