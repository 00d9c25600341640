"""Pages for everyone: nothing that axe-core finds, in light and dark; figures that fit; one scale of weights."""

from dataclasses import replace
from itertools import pairwise

import audits
import pytest
import study_results
from test_in_a_browser import PHONE, opened

from accessible import violations
from heatcheck.report import write_comparison, write_report, write_study, write_treatments
from heatcheck.report.audit_figures import draw
from heatcheck.report.checks.heads import heads_map
from heatcheck.report.examples import WEIGHTS
from heatcheck.report.figures.files import _data_of
from heatcheck.report.figures.published import ours_against_theirs
from heatcheck.report.heat import shade_of
from heatcheck.report.studies import view_of_study
from heatcheck.report.treatments import changes
from heatcheck.report.wording import explainer_name
from heatcheck.results import CheckResult, Measurement
from treated_world import treatments

SCREEN = {"width": 1440, "height": 900}
HEADS, LAYERS = 4, 3
NOT_SHOWN = 0.25  # of the weight of the first text, which lies on special tokens


def measured(name, value, **by):
    return Measurement(name, value, value - 0.01, value + 0.01, 20, "0.1: uniform weights", by)


def result(check, measurements, **facts):
    settings = {"ways": ["mean", "uniform"]}
    return CheckResult(check, "model", "states", tuple(measurements), ("a",), {}, {}, settings, 0, facts=facts)


def of_heads():
    """What the checks of heads and layers measure, in small."""
    places = [{"layer": layer + 1, "head": head + 1} for layer in range(LAYERS) for head in range(HEADS)]
    added = [
        measured("loss_added", 0.01 * at - 0.03, way=way, matters="yes" if at == 7 else "no", **place)
        for way in ("mean", "uniform")
        for at, place in enumerate(places)
    ]
    counts = [
        measured(name, 1.0, way=way) for way in ("mean", "uniform") for name in ("heads_that_matter", "heads_that_harm")
    ]
    special = [measured("special_tokens", 0.05 * at, **place) for at, place in enumerate(places)]
    marks = [measured("punctuation_mass", 0.1, **place) for place in places]
    layers = [
        measured("spearman", 0.1 * layer, target=target, method=method, layer=layer)
        for target in ("blank_out", "gradient")
        for method in ("raw", "rollout", "flow")
        for layer in range(1, LAYERS + 1)
    ] + [measured("spearman", 0.01, target=target, method="random") for target in ("blank_out", "gradient")]
    return {
        "heads": result("heads", added + counts, heads=len(places)),
        "roles": result("roles", special + marks, roles={}, patterns={}),
        "layers": result("layers", layers),
    }


@pytest.fixture(scope="module")
def audit():
    """Every check of a trained model, those of heads, and a first text whose weight is not all on words."""
    whole = audits.full(checks=(*audits.CHECKS, *audits.REFITTED, "plausibility"))
    first = whole.examples[0]
    less = tuple((1 - NOT_SHOWN) * weight for weight in first.scores["attention"])
    examples = [first._replace(scores={**first.scores, "attention": less}), *whole.examples[1:]]
    return replace(whole, examples=examples, results={**whole.results, **of_heads()})


@pytest.fixture(scope="module")
def page(browser, audit, tmp_path_factory):
    path = write_report(audit, tmp_path_factory.mktemp("everyone") / "report.html")
    with opened(browser, path, viewport=SCREEN) as page:
        yield page


@pytest.fixture(autouse=True)
def _as_it_was(request):
    yield
    if "page" in request.fixturenames:
        page = request.getfixturevalue("page")
        page.emulate_media(media="screen", color_scheme="light")
        page.set_viewport_size(SCREEN)


def in_both_themes(page):
    found = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        found += [f"{theme}: {one}" for one in violations(page, only="color-contrast" if theme == "dark" else "")]
    return found


def test_axe_finds_what_is_wrong(page):
    """Or that it finds nothing would say nothing."""
    page.evaluate("document.getElementById('found').insertAdjacentHTML('afterend', '<img id=bad src=data:,>')")
    try:
        assert [one.partition(" ")[0] for one in violations(page, "#examples")] == ["image-alt"]
    finally:
        page.evaluate("document.getElementById('bad').remove()")


def test_axe_finds_nothing_in_a_report(page):
    assert in_both_themes(page) == []


def test_axe_finds_nothing_in_what_is_folded(page):
    folds = "document.querySelectorAll('#check-permutation details').forEach((one) => { one.open = %s; })"
    page.evaluate(folds % "true")
    try:
        assert violations(page, "#check-permutation") == []
    finally:
        page.evaluate(folds % "false")


def test_axe_finds_nothing_in_a_report_on_a_phone(page):
    page.set_viewport_size(PHONE)
    drawn(page)
    assert violations(page) == []


def test_axe_finds_nothing_in_a_comparison(browser, audit, tmp_path):
    other = replace(audits.in_every_state(), subject="another")
    path = write_comparison({"one": audit, "another": other}, tmp_path / "comparison.html")
    with opened(browser, path) as page:
        assert in_both_themes(page) == []
        assert page.inner_text("h1").startswith("They differ in ")
        rows = page.locator("#texts-under-each .opening").first.locator(".who").all_inner_texts()
        assert rows == ["one", "another"], "the same text under both"
        lines = len(audit.card.every_line)
        assert page.locator(".forest").count() == lines
        assert page.locator(".forest .tree").count() == 2 * lines


def test_axe_finds_nothing_in_a_comparison_of_treatments(browser, tmp_path):
    found = treatments()
    with opened(browser, write_treatments(found, tmp_path / "treatments.html")) as page:
        assert in_both_themes(page) == []
        assert f"{page.inner_text('h1')} {page.inner_text('.lead')}" == found.advice
        row = page.locator(".treated tr", has_text="diversity")
        assert row.locator(".badge").all_inner_texts() == [cell.word for cell in found.rows[0].cells]
        assert "yes" in row.locator(".badge").nth(1).get_attribute("class"), "what helps looks as a yes"
        known = [one for row in found.rows for cell in row.cells for one in (cell.change, cell.beyond) if one]
        marks = page.locator("#changes svg .mark-symbol.role-mark path").count()
        assert marks == len(known), "a mark per difference"
        page.set_viewport_size(PHONE)
        drawn(page)
        assert page.evaluate(TOO_WIDE) == [], "its legend, too"


def test_further_right_is_better_in_every_panel():
    panels = {panel["title"].split(":")[0]: panel for panel in changes(treatments()).spec["concat"]}
    turned = {
        title: any(layer["encoding"]["x"].get("scale", {}).get("reverse") for layer in panel["layer"])
        for title, panel in panels.items()
    }
    assert [title for title, is_turned in turned.items() if is_turned] == ["shuffles keep the answer"]


def test_a_map_without_stars_says_that_no_head_surely_matters():
    some = of_heads()["heads"]
    none = replace(some, measurements=tuple(m._replace(by={**m.by, "matters": "no"}) for m in some.measurements))
    assert "a star marks heads that surely matter" in heads_map(some, {}).reading
    assert "no head surely matters" in heads_map(none, {}).reading


def test_axe_finds_nothing_in_a_study(browser, tmp_path):
    with opened(browser, write_study(study_results.study(), tmp_path / "study.html")) as page:
        assert in_both_themes(page) == []
        tops = [page.locator(place).bounding_box()["y"] for place in ("#against svg", "#pair", "#done")]
        assert tops == sorted(tops), "ours against theirs first, then the pair of heatmaps"
        assert page.locator("#pair .who").all_inner_texts() == ["original", "adversarial"]


def test_a_folded_report_has_twelve_screens_at_most(page):
    assert page.locator(".check").count() == 13
    assert page.locator("details[open]").count() == 0
    assert page.evaluate("document.documentElement.scrollHeight") <= 12 * SCREEN["height"]


def test_heatmaps_come_second_and_every_check_opens_with_one_picture(page):
    ids = page.locator("#content > section").evaluate_all("(all) => all.map((one) => one.id)")
    assert ids[:3] == ["answer", "examples", "evidence"]
    pictures = "(all) => all.map((one) => one.querySelectorAll('.seen [data-figure], .seen .opening').length)"
    assert set(page.locator(".check").evaluate_all(pictures)) == {1}
    assert page.locator(".check > .folds .scroll:visible").count() == 0, "tables are folded"


# Figures in sight that are wider than their place, by name.
TOO_WIDE = """() => [...document.querySelectorAll("[data-figure]")]
  .filter((place) => place.checkVisibility() && place.scrollWidth > place.clientWidth + 1)
  .map((place) => `${place.dataset.figure}: ${place.scrollWidth} in ${place.clientWidth}`)"""


def drawn(page):
    """Waits until the figures in sight have been fitted to the width of the window."""
    page.wait_for_function("""[...document.querySelectorAll("[data-figure]")].every((place) =>
      !place.checkVisibility() || Math.abs(place.clientWidth - place.room) < 5)""")
    page.wait_for_timeout(100)


@pytest.mark.parametrize("width", [390, 720])
def test_figures_fit_a_phone_and_a_page_at_twice_its_size(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    drawn(page)
    assert page.evaluate(TOO_WIDE) == []
    assert page.locator("[data-figure]:visible:not(:has(svg))").count() == 0, "all of them could be drawn"
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_one_shade_is_one_weight_in_all_texts(page):
    shown = page.locator("#texts .w[data-n]").evaluate_all(
        "(all) => all.map((one) => [one.dataset.n, Number(/h(\\\\d+)/.exec(one.className)[1])])".replace("\\\\", "\\")
    )
    assert len(shown) > 20
    for weight, level in shown:
        at = float(weight)
        assert shade_of(max(0.0, at - 0.006)) <= level <= shade_of(at + 0.006)
    assert page.locator("#texts .w.g10").count() >= 4, "other methods have a scale per row"
    page.select_option("#shades", "row")
    assert page.locator("#texts > li").first.locator(".row").first.locator(".h10").count() >= 1
    page.select_option("#shades", "one")


def test_scores_are_shown_as_the_audit_has_them(audit, page):
    """Three significant digits of a weight, two of another score, whatever form they have in the page."""
    names = {explainer_name(name): name for name in audit.examples[0].scores}
    texts = page.locator("#texts > li")
    for at, example in enumerate(audit.examples[:4]):
        for row in texts.nth(at).locator(".row").all():
            who = names[row.locator(".who").inner_text()]
            said = row.locator(".w").evaluate_all("(all) => all.map((one) => one.title)")
            found = [one.replace("\N{MINUS SIGN}", "-").split(";")[0].split()[-1] for one in said]
            digits = 3 if who in WEIGHTS else 2
            wanted = [f"{score:.{digits}g}" for score in example.scores[who]]
            assert list(map(float, found)) == pytest.approx(list(map(float, wanted)), rel=1e-9, abs=1e-15), who


def test_weight_on_special_tokens_is_said(page):
    first = page.locator("#texts > li").first.locator(".measures").first
    assert f"{NOT_SHOWN:.0%} of the weight is on special tokens" in first.inner_text()
    assert "special tokens" not in page.locator("#texts > li").nth(1).inner_text()


def test_show_more_adds_and_does_not_build_again(page):
    page.evaluate("document.querySelector('#texts > li').kept = true")
    page.click("#more")
    assert page.locator("#texts > li").count() == 34
    assert page.evaluate("document.querySelector('#texts > li').kept")


def test_long_texts_open_a_few_at_a_time(browser, tmp_path):
    """500 texts of 200 words; `python -m benchmarks.opening` times it."""
    audit = audits.full(500)
    times = lambda words: tuple((words * 200)[:200])  # noqa: E731 - for words and scores alike
    examples = [
        one._replace(
            words=times(one.words), rationale=None, scores={name: times(of) for name, of in one.scores.items()}
        )
        for one in audit.examples
    ]
    path = write_report(replace(audit, examples=examples), tmp_path / "report.html")
    with opened(browser, path) as page:
        assert page.inner_text("#found") == "4 of 500 texts", "all of them are in the page"
        assert page.locator("#texts .w").count() < 4 * 4 * 201
        ready = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        assert ready < 8_000, "2 s on an idle machine"


def test_heads_are_maps_and_layers_are_lines(audit):
    figures = {figure.name: figure.spec for figure in draw(audit)}
    words, special = (next(_data_of(panel)) for panel in figures["roles-weight"]["concat"])
    assert len(words) == HEADS * LAYERS
    for on_words, on_special in zip(words, special, strict=True):
        assert on_words["value"] + on_special["value"] + 0.1 == pytest.approx(1), "and a tenth on punctuation"
    removed, flat = figures["heads-map"]["concat"]
    assert flat["title"] == "flattened: equal weights (uniform)"
    stars = [row for row in next(_data_of(removed)) if row["star"] == "yes"]
    assert [(row["layer"], row["head"]) for row in stars] == [(2, 4)]
    (minus,) = [layer for layer in removed["layer"] if layer["mark"].get("text") == "\N{MINUS SIGN}"]
    bound = float(minus["transform"][0]["filter"].partition("<")[2])
    below = [row["value"] for row in next(_data_of(removed)) if row["value"] < bound]
    assert sorted(below) == [-0.03, -0.02, -0.01], "what falls is told apart without colour"
    panel, _ = figures["layers-rankings"]["concat"]
    line = panel["layer"][1]["encoding"]
    dashes = line["strokeDash"]["scale"]["range"]
    assert len(set(map(tuple, dashes))) == len(dashes) == 4, "told apart without colour"
    labels = list(_data_of(panel))[-1]
    assert {row["label"] for row in labels} == {"weights of the layer", "rollout", "flow", "random order"}
    places = sorted(row["at"] for row in labels)
    assert all(b - a >= 10.9 for a, b in pairwise(places)), "no label hides another"
    assert line["y"]["scale"]["domain"][0] >= -0.1, "no empty half below 0"


def test_ours_stand_against_theirs():
    found = study_results.study()
    figure = ours_against_theirs(found, view_of_study(found.name))
    (panel,) = figure.spec["concat"]
    line, rows = list(_data_of(panel))[:2]
    line, rows = sorted((line, rows), key=len)
    assert [row["theirs"] == row["ours"] for row in line] == [True, True]
    wanted = [(row.paper, row.value) for row in found.rows if row.paper is not None]
    assert sorted((row["theirs"], row["ours"]) for row in rows) == sorted(wanted)
    assert all(row["low"] < row["ours"] < row["high"] for row in rows)
    assert "3 inside the seed interval, 1 outside, 2 not comparable" in figure.caption
