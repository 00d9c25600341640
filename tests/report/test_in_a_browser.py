"""What the page's own script makes of it: figures drawn, words shaded, nothing run that a word says."""

import json
import re
import shutil
import subprocess
from html import unescape
from typing import NamedTuple

import audits
import numpy as np
import pytest

from heatcheck.report import write_report

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
QUIET = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"


# What a reader would do, after the page's own script: every order, of each the first texts, and back to the first.
ORDERED = """
const order = document.getElementById("order");
const choose = (value) => { order.value = value; order.dispatchEvent(new Event("change")); };
const first = {};
for (const option of order.options) {
  choose(option.value);
  first[option.value] = [...document.querySelectorAll("#texts .id")].slice(0, 4).map((node) => node.textContent);
}
choose("given");
document.getElementById("texts").dataset.first = JSON.stringify(first);
"""


class Drawn(NamedTuple):
    """A page after its script has run."""

    html: str
    first: dict[str, list[str]]  # the first texts by each order


def drawn(audit, folder):
    if not CHROMIUM:
        pytest.skip("needs Chromium to run the page's script: apt-get install chromium")
    path = write_report(audit, folder / "report.html")
    page, end, rest = path.read_text().rpartition("</body>")
    path.write_text(f"{page}<script>{ORDERED}</script>{end}{rest}")
    command = [CHROMIUM, *QUIET.split(), f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=8000"]
    done = subprocess.run([*command, "--dump-dom", path.as_uri()], capture_output=True, timeout=120, check=True)
    page = done.stdout.decode()
    (first,) = re.findall(r'data-first="(.*?)"', page)
    return Drawn(page[: page.index('<script type="application/json"')], json.loads(unescape(first)))


@pytest.fixture(scope="module")
def audit():
    return audits.full(40)


@pytest.fixture(scope="module")
def page(audit, tmp_path_factory):
    return drawn(audit, tmp_path_factory.mktemp("full"))


def ids_by(found, quantity):
    """The texts of a check, those with the most of it first, as far as the page can tell them apart."""
    order = np.argsort(-found.per_example[quantity].round(3), kind="stable")
    return [found.examples[at] for at in order]


def test_figures_and_heatmaps_are_drawn(page):
    page = page.html
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


def test_other_fits_are_drawn(tmp_path):
    audit = audits.full(12, checks=audits.REFITTED)
    page = drawn(audit, tmp_path)
    assert page.html.count("<svg") == 5
    assert "could not be drawn" not in page.html
    found = audit.results["seed_variance"]
    assert page.first["v"] == ids_by(found, "jsd")[:4]
    assert f"JSD from other seeds {found.per_example['jsd'].max():.2f}" in page.html


def test_hostile_words_stay_words(tmp_path):
    page = drawn(audits.hostile(), tmp_path).html
    assert ">&lt;script&gt;alert(1)&lt;/script&gt;</span>" in page
    assert "<script>alert" not in page
    assert "no scores for this text" in page
    assert 'title="attention gives this word no score"' in page
    assert "show all 3000 words" in page


def test_the_text_says_how_different_its_other_weights_are(audit, page):
    found = audit.results["counterfactual"].per_example
    shown = page.html[page.html.index('<li class="text') :]
    shown = shown[: shown.index("</li>")]
    values = (found["jsd:published:0.05"][0], found["floor"][0], found["most"][0])
    assert "JSD from attention {:.2f} (floor {:.2f}, most {:.2f}); the output moves by 0.050".format(*values) in shown
    assert f"{100 * audit.results['permutation'].per_example['q'][0]:.0f}% of shuffles keep the answer" in shown


@pytest.mark.parametrize(
    ("order", "check", "quantity"),
    [
        ("j", "counterfactual", "jsd:published:0.05"),
        ("k", "permutation", "q"),
        ("d", "permutation", "delta"),
    ],
)
def test_texts_are_ordered_by_what_was_found(audit, page, order, check, quantity):
    wanted = ids_by(audit.results[check], quantity)
    assert page.first[order] == wanted[:4]
    assert page.first["given"] == [example.id for example in audit.examples[:4]]
    assert wanted[0] != audit.examples[0].id
