"""The first screen: one example under two heatmaps, what to show instead, and a direction beside every number."""

import re
from dataclasses import replace

import audits
import pytest
from parsed import Page, plain

from heatcheck.report import write_report
from heatcheck.report.heat import shade_of
from heatcheck.report.measurement_words import quantity_of
from heatcheck.report.opening import open_with
from heatcheck.report.sections import card_line
from heatcheck.results import headline_of


@pytest.fixture(scope="module")
def audit():
    return audits.full()


@pytest.fixture(scope="module")
def page(audit, tmp_path_factory):
    return Page(write_report(audit, tmp_path_factory.mktemp("page") / "report.html"))


def answer_of(audit, tmp_path):
    return Page(write_report(audit, tmp_path / "report.html")).section("answer")


def picked(audit):
    return next(example for example in audit.examples if example.id == audit.shown_first)


def rows_of(source):
    """Each heatmap of the picture: who, the words with their weights, the answer beside them."""
    rows = [part.partition("</div>")[0] for part in source.split('<div class="shown">')[1:]]
    return [
        (
            plain(re.search(r'<span class="who">.*?</span>', row)[0]),
            [plain(cell).rsplit(" ", 1) for cell in re.findall(r"(<span class=\"cell.*?)</small>", _spaced(row))],
            plain((re.search(r'<p class="answer">.*', row, flags=re.DOTALL) or [""])[0]),
        )
        for row in rows
    ]


def _spaced(row):
    return row.replace("<small>", " ")


def short(weight):
    text = f"{weight:.2f}".replace("0.", ".", 1)
    return ".00" if text == "-.00" else text.replace("-", "−")


# ---- the picture --------------------------------------------------------------------------------------------


def test_the_picture_is_the_picked_example_under_its_weights_and_a_typical_shuffle(audit, page):
    example, found = picked(audit), audit.results["permutation"]
    at = found.examples.index(example.id)
    own, shuffled = rows_of(page.section("answer"))[:2]
    for row, scores, probability, who in (
        (own, "attention", "p_own", "the model’s heatmap"),
        (shuffled, "shuffled", "p_typical", "the same weights, shuffled (a typical shuffle)"),
    ):
        cells = [[word, short(weight)] for word, weight in zip(example.words, example.scores[scores], strict=True)]
        assert row == (who, cells, f"{example.predicted} {found.per_example[probability][at]:.2f}")
    assert sorted(example.scores["attention"]) == pytest.approx(sorted(example.scores["shuffled"]))
    told = plain(page.section("answer"))
    q = found.find("q")
    assert f"Over {q.n} examples, {100 * q.value:.0f} of 100 shuffles move the probability by at most 0.05" in told
    assert f"(in this example {100 * found.per_example['q'][at]:.0f})" in told
    assert f'href="#text-{example.id}"' in page.section("answer")


def test_both_heatmaps_have_one_scale(audit):
    example = picked(audit)
    half = tuple(score / 2 for score in example.scores["attention"])
    flatter = example._replace(scores={**example.scores, "shuffled": half})
    shown = open_with(replace(audit, examples=[flatter]), None)
    weights = [score for score in example.scores["attention"] if score is not None]
    assert [word.level for word in shown.rows[0].words] == [shade_of(weight) for weight in weights]
    assert [word.level for word in shown.rows[1].words] == [shade_of(weight / 2) for weight in weights]


def test_the_worst_case_is_folded_and_says_that_every_read_out_has_one(audit, page):
    seen, _, folded = page.section("answer").partition('<details class="bulk">')
    folded = folded.partition("</details>")[0]
    assert "the most different weights with this answer" not in seen
    ((who, cells, beside),) = rows_of(folded)
    example = picked(audit)
    assert who == "the most different weights with this answer"
    assert cells == [[w, short(s)] for w, s in zip(example.words, example.scores["counterfactual"], strict=True)]
    assert beside == ""
    assert "Every model with a linear read-out has such weights, so they alone prove little." in folded
    searched = audits.bounded(audit.results["counterfactual"], "search")
    other = open_with(replace(audit, results={**audit.results, "counterfactual": searched}), None)
    assert "heatcheck searched for them; more different ones may exist." in other.small_print
    assert not any("linear" in words for words in other.small_print)


def test_without_shuffles_the_heatmap_stands_alone(audit):
    shown = open_with(replace(audit, results={}), None)
    assert [row.who for row in shown.rows] == ["the model’s heatmap"]
    assert shown.rows[0].answer == f"{picked(audit).predicted} {picked(audit).probability:.2f}"
    assert (shown.worst, shown.caption) == (None, [])
    assert open_with(replace(audit, shown_first=None), None) is None


def test_odd_names_and_scores_break_no_picture(audit, tmp_path):
    odd = picked(audit)._replace(
        id="half \ud83d an/emoji", probability=float("nan"), scores={"attention": (float("nan"), None, *(0.1,) * 7)}
    )
    page = Page(write_report(replace(audit, examples=[odd], shown_first=odd.id, results={}), tmp_path / "report.html"))
    assert 'href="#text-half%20%3F%20an%2Femoji"' in page.section("answer")
    ((_, cells, beside),) = rows_of(page.section("answer"))
    assert [cell[-1] for cell in cells] == ["its", "what", *(".10",) * 7], "no weight where there is none"
    assert beside == ""
    assert "nan" not in re.findall(r"\w+", plain(page.section("answer")).lower())


# ---- show this instead --------------------------------------------------------------------------------------


def test_where_the_heatmap_fails_another_method_is_shown_with_its_number_and_command(tmp_path):
    audit = audits.pointing_elsewhere()
    shown = answer_of(audit, tmp_path)
    example = picked(audit)
    who, cells, beside = rows_of(shown)[2]
    assert who == "show this instead: leave one out"
    assert cells == [[w, short(s)] for w, s in zip(example.words, example.scores["leave_one_out"], strict=True)]
    assert beside == "", "no answer goes with scores"
    told = plain(shown)
    assert headline_of(audit.card).instead in told
    assert "Show this instead: leave one out." in told
    assert "move the probability by 0.30 [0.29, 0.31], the heatmap's by -0.03 [-0.04, -0.02]" in told
    assert 'For new texts: heatcheck explain MODEL "TEXT" --by leave_one_out' in told


def test_where_no_method_beats_random_words_it_says_so(tmp_path):
    """A heatmap cannot fail where no other method does better: the question cannot be asked, and the page says why."""
    audit = audits.full()
    line = audit.card["points"]._replace(state="unclear", undecided="cannot be asked", may_say="", instead=None)
    shown = answer_of(audits.with_line(audit, line), tmp_path)
    assert "no method clearly finds words that matter more than random words" in plain(shown)
    assert "heatcheck explain" not in shown


def test_a_method_without_scores_here_still_has_its_number_and_command(tmp_path):
    audit = audits.pointing_elsewhere("integrated_gradients")
    for shown in (audit, replace(audit, shown_first=None)):  # and without a picture at all
        told = answer_of(shown, tmp_path)
        assert "show this instead: integrated" not in told
        assert "Show this instead: integrated gradients." in told
        assert "--by integrated_gradients" in told


def test_where_the_words_matter_nothing_is_shown_instead(audit, page):
    assert audit.card["points"].state == "yes"
    assert "instead" not in page.section("answer").lower()
    assert "heatcheck explain" not in page.section("answer")


def test_a_better_method_is_no_reason_to_replace_words_that_matter(tmp_path):
    failing = audits.pointing_elsewhere()
    shown = answer_of(audits.with_line(failing, failing.card["points"]._replace(state="yes")), tmp_path)
    assert "instead" not in shown.lower()


# ---- directions ---------------------------------------------------------------------------------------------


def test_every_number_behind_a_line_has_its_direction_beside_it(audit, page):
    seen = 0
    for line in audit.card.every_line:
        shown = card_line(line)
        numbers = [shown.statistic, *shown.against] if shown.statistic else []
        rows = re.findall(r"<tr><td>(.*?)</tr>", page.line(line.short)[1], flags=re.DOTALL)
        for row, number in zip(rows, numbers, strict=True):
            assert plain(row).startswith(f"{number.quantity} {number.value}")
            assert plain(row).endswith(f"High: {number.high} Low: {number.low}")
            assert number.high
            assert number.low
            seen += 1
    assert seen > 30


def test_the_strip_says_its_direction_to_those_who_cannot_see_it(audit, page):
    labels = [attributes["aria-label"] for _, attributes in page.tags if attributes.get("class") == "strip"]
    assert len(labels) == sum(line.strip is not None for line in audit.card.every_line) == 5
    assert labels[0] == "1.61, 95% interval 1.04 to 5.29; below 0.2 means no; above means yes"


def test_every_section_lists_its_directions(audit, page):
    for check, result in audit.results.items():
        told = plain(page.section(f"check-{check}"))
        quantities = {quantity_of(m.name, check) for m in result.measurements}
        assert f"How to read each number ({len(quantities)})" in told
        for one in quantities:
            assert f"{one.words} High: {one.high} Low: {one.low}" in told
