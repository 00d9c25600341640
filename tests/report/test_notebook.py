"""What a notebook shows: real IPython, real formatters; nothing that a text holds is markup."""

import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from audits import CHECKS, REFITTED, full, hostile, in_every_state, no_numbers, nothing_run, pointing_elsewhere
from study_results import study

from heatcheck.explainers import Explanation, explain
from heatcheck.report import notebook
from heatcheck.results import headline_of, keep_audit


class Read(HTMLParser):
    """The text of a page, its tags, and whether every tag is closed."""

    def __init__(self, html):
        super().__init__()
        self.text, self.tags, self.open, self.hidden = "", [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data + " "


def said(html):
    return " ".join(Read(html).text.split())


def test_a_card_says_state_number_interval_and_n_of_each_line():
    audit = replace(in_every_state(), results=full(checks=(*CHECKS, *REFITTED)).results)
    shown = said(notebook.audit_html(audit))
    for line in audit.card.every_line:
        assert f"{line.badge} {line.question} {line.name} {line.sentence}" in shown
        assert not line.evidence or f"{in_full(line.evidence[0])} n = {line.evidence[0].n}" in shown
    headline = headline_of(audit.card)
    assert shown.startswith(f"{headline.answer} You may say: “{headline.may_say[0]}”")
    assert f"40 of 46 examples of reviews.jsonl (split test), accuracy {audit.accuracy:.3f}" in shown
    assert f"Not run: identifiability: {audit.not_run['identifiability']}" in shown
    assert "Separate from the card" in shown.partition("across models")[0].partition("works out of context")[2]
    assert said(notebook.card_html(audit.card)).partition("necessary")[2] in shown


def test_it_opens_with_the_answer_what_would_decide_it_and_what_to_show_instead():
    failing = pointing_elsewhere()
    headline = headline_of(failing.card)
    instead = f'{headline.instead} For new texts: heatcheck explain MODEL "TEXT" --by leave_one_out'
    sayings = [f"You may say: “{words}”" for words in headline.may_say]
    sayings += [f"Do not say: “{words}”" for words in headline.do_not_say]
    for html in (notebook.audit_html(failing), notebook.card_html(failing.card)):
        assert said(html).startswith(" ".join((headline.answer, *sayings, instead)))
    undecided = said(notebook.card_html(nothing_run().card))
    assert undecided.startswith(f"{headline_of(nothing_run().card).answer} This would decide it: heatcheck audit You")
    assert "instead" not in said(notebook.card_html(full().card))


def in_full(m):
    """A number and its interval, as a table has them."""
    return f"{m.value:.3f} [{m.low:.3f}, {m.high:.3f}]".replace("-", "−")


def test_a_check_shows_each_measurement_with_interval_n_and_baseline():
    result = full().results["erasure"]
    html = notebook.check_html(result)
    rows = re.findall(r"<tr><td>.*?</tr>", html)
    assert len(rows) == len(result.measurements) > 3
    first = result.measurements[0]
    cells = (*in_full(first).split(" ", 1), str(first.n))
    assert '</td><td class="number">'.join(cells) + f"</td><td>{first.baseline}" in rows[0]
    measured = len(result.examples)
    assert f"40 examples: {measured} measured, {40 - measured} left out" in said(html)
    assert "the trained model; it reads every changed text from scratch" in said(html)


def test_a_long_table_says_what_it_leaves_out(monkeypatch):
    monkeypatch.setattr(notebook, "ROWS", 2)
    result = full().results["erasure"]
    html = notebook.check_html(result)
    assert len(re.findall("<tr><td>", html)) == 2
    assert f"The first 2 of {len(result.measurements)} rows; all are in result.measurements." in said(html)


def test_a_study_shows_ours_beside_the_published():
    result = study()
    shown = said(notebook.study_html(result))
    published = next(row for row in result.rows if row.paper is not None)
    assert published.statement in shown
    assert result.title in shown
    assert "Failed: " in shown


def test_heatmaps_are_shaded_and_told_to_those_who_cannot_see_them():
    html = notebook.heatmaps_html({"attention": [("a", 0.1), ("fine", 0.4)], "gradient": [("a", -0.5), ("fine", None)]})
    page = Read(html)
    words = [attrs for tag, attrs in page.tags if tag == "span" and attrs.get("class", "").startswith("w ")]
    assert [word["class"] for word in words] == ["w h3", "w h6", "w g7 minus", "w g0 none"], "weights on one scale"
    assert words[0]["title"] == "0.100"
    assert "a .10 fine .40" in said(html), "weights are printed"
    assert "Blue is weight" in said(html)
    assert "Grey is the score of another method" in said(html)
    assert "Grey" not in said(notebook.heatmaps_html({"attention": [("a", 0.1)]}))
    assert "largest: fine 0.400, a 0.100. The text: a fine" in said(html)
    assert "largest: a −0.500. The text" in said(html)
    shading = [attrs for tag, attrs in page.tags if attrs.get("aria-hidden") == "true"]
    assert len(shading) == 2


def test_colours_are_those_of_the_report():
    light, dark = notebook._colours()
    for theme in (light, dark):
        named = dict(pair.strip().split(": ") for pair in theme.rstrip(";").split(";"))
        assert {f"--{hue}{level}" for hue in "ghi" for level in range(11)} < named.keys()
        assert {"--sheet", "--ink", "--soft", "--hair", "--yes", "--yes-ink", "--no", "--no-ink"} < named.keys()
    assert "--h10: #08295c" in light
    assert "--h10: #deeefc" in dark


@pytest.mark.parametrize("odd", [hostile, no_numbers, nothing_run])
def test_nothing_is_markup_and_nothing_is_nan(odd):
    audit = odd()
    texts = {name: list(zip(looked.words, scores, strict=True))
             for looked in audit.examples[:1] for name, scores in looked.scores.items()}  # fmt: skip
    for html in (
        notebook.audit_html(audit),
        notebook.heatmaps_html(texts),
        *map(notebook.check_html, audit.results.values()),
    ):
        html.encode("utf-8")
        tags = {tag for tag, _ in Read(html).tags}
        assert not tags & {"script", "img", "iframe", "i", "u", "link"}
        assert "nan" not in said(html).lower().split()
        assert "http" not in html.replace("src=http://evil.example/x.png", "")


def test_dark_where_the_notebook_or_the_system_is():
    style = notebook.card_html(full().card).partition("</style>")[0]
    assert "prefers-color-scheme: dark" in style
    assert 'data-jp-theme-light="false"' in style
    assert style.count("--h10: #deeefc") == style.count("--h10: #08295c") == 2
    rules = re.sub(r"@media[^{]*\{", "", style.partition("<style>")[2])
    for selector in re.findall(r"([^{}]+)\{", rules):
        assert all(".heatcheck" in part for part in selector.split(",")), selector  # nothing else changes


def test_what_explain_gives_still_is_a_dict():
    found = explain("known:reader@planted_contrast", "but dull", by="attention")
    assert isinstance(found, Explanation)
    assert found == dict(found)
    assert list(found) == ["attention"]
    assert found.prediction.label == "negative"
    assert 0.5 < found.prediction.probability < 1


@pytest.mark.parametrize("target", [None, "positive"])
def test_the_prediction_stands_above_the_heatmap(target):
    found = explain("known:reader@planted_contrast", "but dull", by="attention", target=target)
    shown = said(notebook.heatmaps_html(found))
    assert shown.startswith("The model predicts negative (0.95). ")
    assert ("The scores explain positive (0.05) instead." in shown) == (target is not None)
    assert "The model predicts" not in notebook.heatmaps_html(dict(found))


def test_ipython_is_told_and_nothing_heavy_is_imported(tmp_path):
    """In a process of its own: one that has a shell, and one that has not."""
    pytest.importorskip("IPython")
    code = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
import heatcheck as hc
assert not {"torch", "numpy", "heatcheck.report"} & set(sys.modules)
from heatcheck.explainers import Explanation
shown = shell.display_formatter.format(Explanation(attention=[("but", 0.1), ("dull", 0.9)]))[0]
assert 'class="heatcheck"' in shown["text/html"] and "dull" in shown["text/html"], shown
assert "text/html" not in shell.display_formatter.format({"attention": []})[0]
from heatcheck.results import read_audit
audit = read_audit(sys.argv[1])
for result in (audit, audit.card, audit.results["permutation"]):
    assert 'class="heatcheck"' in shell.display_formatter.format(result)[0]["text/html"]
"""
    keep_audit(full(3), tmp_path)
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_ipython_imported_without_a_shell():
    pytest.importorskip("IPython")
    code = "import sys, IPython, heatcheck; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_type_a_notebook_shows_is_where_it_is_said_to_be():
    from importlib import import_module

    import heatcheck

    for (module, name), function in heatcheck._IN_A_NOTEBOOK.items():
        assert getattr(import_module(module), name).__module__ == module
        assert callable(getattr(notebook, function))
