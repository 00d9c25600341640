"""The page says what the audit found, loads nothing, and lets no word become markup."""

import re
from dataclasses import replace

import audits
import pytest
from parsed import Page

from heatcheck.report import write_report
from heatcheck.report.wording import SIGNS, interval, meaning, number


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return Page(write_report(audits.full(), tmp_path_factory.mktemp("page") / "report.html"))


def page_of(audit, tmp_path):
    return Page(write_report(audit, tmp_path / "report.html"))


def test_every_line_of_the_card_is_said_in_full(page):
    for line in audits.card().lines:
        for words in (line.name, line.question, line.sentence, line.reason, line.cannot_see):
            assert words in page.text
        assert f"{SIGNS[line.state]} {line.state}" in page.text
        for found in line.evidence:
            for words in (number(found.value), interval(found), f"n = {found.n}"):
                assert words in page.text
    assert page.text.index("The card") < page.text.index("What this means") < page.text.index("Agreement with")
    assert page.text.index("Removing the") < page.text.index("The heatmaps") < page.text.index("About this report")


def test_a_badge_never_relies_on_colour():
    assert len(set(SIGNS.values())) == len(SIGNS) == 4


def test_what_was_audited(page):
    for words in ("bilstm-tanh", "sst", "fingerprint 1f0c", "180 of 1,821", "0.842", "always “positive” gives 0.500"):
        assert words in page.text
    assert "not run: necessity" in page.text
    assert "needs --train FILE" in page.text
    assert "Jain & Wallace 2019" in page.text
    assert "Does attention rank words as gradients do?" in page.text


def test_count_in_is_count_out_and_exclusions(page):
    assert "182 texts in = 180 measured + 2 left out" in page.text
    assert "180 texts in = 180 measured + 0 left out" in page.text
    assert "2 : one word only: no order to compare (test-901, test-902)" in page.text


def test_nothing_is_loaded_from_anywhere(page):
    for tag, attributes in page.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        assert not {"src", "href", "srcset", "action"} & attributes.keys()
        assert not any(name.startswith("on") for name in attributes)
    assert "url(" not in page.styles
    assert "@import" not in page.styles
    policy = next(attributes["content"] for _, attributes in page.tags if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    assert "http" not in page.scripts["figure-specs"]


def test_the_drawing_script_is_there_once_and_only_with_figures(page, tmp_path):
    assert page.source.count("window.vegaEmbed=") == 1
    drawn = [attributes["data-figure"] for _, attributes in page.tags if "data-figure" in attributes]
    assert drawn == list(page.specs) == ["agreement-histogram", "agreement-matrix", "erasure-effects"]
    assert "window.vegaEmbed=" not in page_of(audits.nothing_run(), tmp_path).source


def test_two_thousand_examples_fit_in_five_megabytes(tmp_path):
    words = [f"{word}{at}" for at, word in enumerate(["sentence"] * 20)]
    path = write_report(audits.full(2000, words), tmp_path / "report.html")
    page = Page(path)
    assert path.stat().st_size < 5_000_000
    assert len(page.examples["examples"]) == 2000
    assert len(page.examples["explainers"]) == 5
    assert "would make it larger" not in page.text


def test_what_does_not_fit_is_counted(tmp_path):
    audit = audits.full(60)
    long = [
        e._replace(words=("Wörter" * 20_000,), scores={"attention": (1.0,)}, rationale=None) for e in audit.examples
    ]
    path = write_report(replace(audit, examples=long), tmp_path / "report.html")
    page = Page(path)
    kept = len(page.examples["examples"])
    assert path.stat().st_size < 5_000_000
    assert 0 < kept < 60
    assert f"{kept} of 60 texts are in this page" in page.text


def test_words_never_become_markup(tmp_path):
    page = page_of(audits.hostile(), tmp_path)  # Page itself asserts that tags nest
    assert not {tag for tag, _ in page.tags} & {"img", "i", "u"}
    assert "<img src=http://evil.example/x.png>" in page.text
    assert "<script>alert" not in page.source
    odd = page.examples["examples"][0]
    assert odd["w"][0] == "<script>alert(1)</script>"
    assert odd["w"][1:5] == ['"quoted"', "</script>", "a&b", "👩🏽‍🚀"]
    assert odd["w"][5] == "?", "half an emoji"
    assert odd["s"][0] == [0.5, None, None, 0.1, 0.2, 0, 0, 0.2]
    assert odd["q"] is None


def test_labels_reasons_and_settings_are_escaped(tmp_path):
    audit = audits.full(3)
    agreement = replace(audit.results["agreement"], excluded={"<hr>": "<hr> why"}, settings={"<hr>": "<hr>"})
    page = page_of(replace(audit, results={"agreement": agreement}, not_run={"<hr>": "<hr>"}), tmp_path)
    assert "hr" not in {tag for tag, _ in page.tags}
    assert page.text.count("<hr>") >= 5


def test_an_audit_without_results(tmp_path):
    page = page_of(audits.nothing_run(), tmp_path)
    assert page.text.count("○ not run") == 4
    assert "Nothing is decided yet." in page.text
    assert "No texts were kept" in page.text
    assert "nan" not in page.text.lower().split()


def test_one_text_and_not_a_number(tmp_path):
    page = page_of(audits.no_numbers(), tmp_path)
    assert "nan" not in re.findall(r"\w+", page.text.lower())
    assert page.specs == {}
    assert len(page.examples["examples"]) == 1


def test_rows_of_a_class_that_nobody_predicts(tmp_path):
    audit = audits.full(8)
    positive = [e._replace(predicted="positive") for e in audit.examples]
    page = page_of(replace(audit, examples=positive), tmp_path)
    panels = page.specs["agreement-histogram"]["vconcat"]
    assert [panel["title"] for panel in panels] == ["n = 8"]


def test_meaning_follows_the_states():
    lines = audits.card().lines
    assert "1 yes and 1 no" in meaning(lines)[0]
    assert len(meaning(lines)[1]) == 2
    assert meaning([lines[1]])[0].endswith("as explanations.")
    assert meaning(lines[:2])[0].endswith("only 1 of 2 lines could be decided.")
    assert meaning([lines[2]])[0].startswith("Do not read these heatmaps")
    assert meaning([lines[0], lines[3]]) == (meaning([lines[0]])[0], [])
    assert meaning([lines[1]._replace(name="a new line")])[1] == [lines[1].sentence]


def channel(value):
    return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4


def luminance(colour):
    red, green, blue = (channel(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_shades_read_in_greyscale_and_carry_their_words(page):
    """In both themes: each step darker (or lighter) than the last, text at 4.5 to 1."""
    pairs = re.findall(r"--h(\d+): (#\w{6}); --i\d+: (#\w{6})", page.styles)
    assert [int(level) for level, _, _ in pairs] == [*range(11), *range(11)]
    for theme, order in ((pairs[:11], -1), (pairs[11:], 1)):
        shades = [luminance(shade) for _, shade, _ in theme]
        assert sorted(shades, reverse=order < 0) == shades
        for _, shade, ink in theme:
            light, dark = sorted((luminance(shade), luminance(ink)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5
