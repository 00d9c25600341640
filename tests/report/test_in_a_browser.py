"""What the page's own script makes of it: figures drawn, words shaded, nothing run that a word says."""

import re
import shutil
import subprocess

import audits
import numpy as np
import pytest

from heatcheck.report import write_report

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
QUIET = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"


@pytest.fixture
def drawn(tmp_path):
    """The page after its script has run, as HTML."""
    if not CHROMIUM:
        pytest.skip("needs Chromium to run the page's script: apt-get install chromium")

    def draw(audit, *, first=""):
        """`first` is what a reader would do: JavaScript after the page's own."""
        path = write_report(audit, tmp_path / "report.html")
        page, end, rest = path.read_text().rpartition("</body>")
        path.write_text(f"{page}<script>{first}</script>{end}{rest}")
        command = [CHROMIUM, *QUIET.split(), f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=8000"]
        done = subprocess.run([*command, "--dump-dom", path.as_uri()], capture_output=True, timeout=120, check=True)
        page = done.stdout.decode()
        return page[: page.index('<script type="application/json"')]

    return draw


def test_figures_and_heatmaps_are_drawn(drawn):
    page = drawn(audits.full(40))
    assert page.count("<svg") == 7
    assert "could not be drawn" not in page
    assert "30 of 40 texts" in page
    assert page.count('<li class="text') == 30
    assert page.count("misclassified: labelled") == page.count('<li class="text wrong"') > 0
    rows = re.findall(r'<span class="who">([^<]*)</span>', page)
    assert rows[:4] == ["attention", "weights that give the same answer", "leave one out", "gradient"]
    assert len(rows) == 120
    assert 'aria-label="attention, heaviest words: ' in page
    assert re.search(r'<span class="w h10 minus" title="leave one out −0\.\d+">', page)
    assert page.count(" mark") > 0


def test_other_fits_are_drawn(drawn):
    audit = audits.full(12, checks=audits.REFITTED)
    choose = "const o = document.getElementById('order'); o.value = 'v'; o.dispatchEvent(new Event('change'));"
    page = drawn(audit, first=choose)
    assert page.count("<svg") == 5
    assert "could not be drawn" not in page
    found = audit.results["seed_variance"]
    values = found.per_example["jsd"]
    wanted = [found.examples[at] for at in np.argsort(-values.round(3), kind="stable")]
    assert re.findall(r'<span class="id">([^<]*)</span>', page)[:4] == wanted[:4]
    assert f"JSD from other seeds {values.max():.2f}" in page


def test_hostile_words_stay_words(drawn):
    page = drawn(audits.hostile())
    assert ">&lt;script&gt;alert(1)&lt;/script&gt;</span>" in page
    assert "<script>alert" not in page
    assert "no scores for this text" in page
    assert 'title="attention gives this word no score"' in page
    assert "show all 3000 words" in page


def test_the_text_says_how_different_its_other_weights_are(drawn):
    audit = audits.full(4)
    found = audit.results["counterfactual"].per_example
    values = (found["jsd:published:0.05"][0], found["floor"][0], found["most"][0])
    page = drawn(audit)
    assert "JSD from attention {:.2f} (floor {:.2f}, most {:.2f}); the output moves by 0.050".format(*values) in page
    assert f"{100 * audit.results['permutation'].per_example['q'][0]:.0f}% of shuffles keep the answer" in page


@pytest.mark.parametrize(
    ("order", "check", "quantity"),
    [
        ("j", "counterfactual", "jsd:published:0.05"),
        ("k", "permutation", "q"),
        ("d", "permutation", "delta"),
    ],
)
def test_texts_are_ordered_by_what_was_found(drawn, order, check, quantity):
    audit = audits.full(12)
    values = audit.results[check].per_example[quantity]
    choose = f"const o = document.getElementById('order'); o.value = '{order}'; o.dispatchEvent(new Event('change'));"
    page = drawn(audit, first=choose)
    wanted = [audit.results[check].examples[at] for at in np.argsort(-values.round(3), kind="stable")]
    assert re.findall(r'<span class="id">([^<]*)</span>', page)[:4] == wanted[:4]
    assert wanted[0] != audit.examples[0].id
