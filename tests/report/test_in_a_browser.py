"""What the page's own script makes of it: figures drawn, words shaded, texts opened, nothing run that a word says."""

import re
from contextlib import contextmanager

import audits
import numpy as np
import pytest

from heatcheck.report import write_report
from heatcheck.report.shared_words import SIGNS
from heatcheck.report.wording import explainer_name
from heatcheck.results import headline_of
from heatcheck.results.written import sentences

DESK, PHONE = {"width": 1200, "height": 900}, {"width": 390, "height": 844}


@contextmanager
def opened(browser, path, address="", **context):
    """The page of a report with its figures drawn; afterwards nothing may have gone wrong or been asked for."""
    context = browser.new_context(offline=True, viewport=context.pop("viewport", DESK), **context)
    page = context.new_page()
    page.set_default_timeout(20_000)
    wrong, asked = [], []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: asked.append(request.url.partition("#")[0]))
    page.goto(path.as_uri() + address)
    page.wait_for_function("[...document.querySelectorAll('[data-figure]')].every((place) => place.textContent)")
    try:
        yield page
        assert wrong == []
        assert set(asked) == {path.as_uri()}
    finally:
        context.close()


@pytest.fixture(scope="module")
def audit():
    return audits.in_every_state()


@pytest.fixture(scope="module")
def path(audit, tmp_path_factory):
    return write_report(audit, tmp_path_factory.mktemp("full") / "report.html")


@pytest.fixture(scope="module")
def shared(browser, path):
    with opened(browser, path) as page:
        yield page


@pytest.fixture
def page(shared):
    """The page as it is after opening; what a test does to it, the next one does not see."""
    yield shared
    shared.evaluate("document.getElementById('one').close()")
    shared.emulate_media(media="screen", color_scheme="light")
    shared.set_viewport_size(DESK)
    shared.fill("#search", "")
    shared.select_option("#order", "given")
    shared.evaluate("document.activeElement.blur()")


def first(page, count=4):
    return page.locator("#texts .id").all_inner_texts()[:count]


def escape(page):
    """Close the opened text; the browser tells the page a moment later."""
    page.keyboard.press("Escape")
    page.wait_for_function("location.hash === '#examples'")
    assert not page.locator("#one").is_visible()


def ids_by(found, quantity):
    """The texts of a check, those with the most of it first, as far as the page can tell them apart."""
    order = np.argsort(-found.per_example[quantity].round(3), kind="stable")
    return [found.examples[at] for at in order]


def test_figures_and_heatmaps_are_drawn(audit, page):
    assert page.locator(".drawing svg").count() == 7
    heights = page.locator(".drawing svg").evaluate_all("(all) => all.map((one) => Number(one.getAttribute('height')))")
    assert all(height > 150 for height in heights), "in their full size, folded or not"
    assert "could not be drawn" not in page.inner_text("body")
    assert page.inner_text("#found") == "4 of 40 texts"
    assert page.locator("#texts > li").count() == 4
    page.click("#more")
    assert page.inner_text("#found") == "34 of 40 texts"
    misses = page.locator("#texts").get_by_text("misclassified: labelled").count()
    wrong = sum(example.gold != example.predicted for example in audit.examples[:34])
    assert misses == page.locator("#texts > li.wrong").count() == wrong > 0
    rows = page.locator("#texts .who").all_inner_texts()
    assert rows[:4] == ["attention", "weights that give the same answer", "leave one out", "gradient"]
    assert len(rows) == 136
    assert page.locator("#texts [role=img][aria-label^='attention, heaviest words: ']").count() == 34
    title = page.locator("#texts .w.g10.minus[title^='leave one out']").first.get_attribute("title")
    assert re.match(r"leave one out −0\.\d+", title)
    assert page.locator("#texts .mark").count() > 0


def test_the_card_is_read_without_opening_anything(audit, page):
    card = audit.card
    headline = headline_of(card)
    assert page.inner_text("#answer h1") == headline.answer
    told = page.inner_text(".sayings")
    assert all(words in told for words in (*headline.may_say[:2], *headline.do_not_say[:2]))
    rows = page.locator("#answer .line").all_inner_texts()
    for line, told in zip(card.in_reading_order, rows, strict=True):
        told = " ".join(told.split())
        assert told.startswith(f"{SIGNS[line.state]} {line.badge} {line.question}")
        assert " ".join(sentences(line.sentence)[:2]) in told
        assert not line.strip or f"{line.strip.measurement.value:.2f}" in told
        assert "how to read it" not in told, "the evidence is folded"


def test_a_line_unfolds_below_its_row(audit, page):
    line = page.locator("#line-points")
    row, next_row = line.locator("summary"), page.locator("#line-hard")
    page.evaluate("scrollTo(0, 0)")
    before, after = row.bounding_box(), next_row.bounding_box()
    row.click()
    beneath = line.locator(".behind")
    assert row.bounding_box() == before
    assert beneath.bounding_box()["y"] >= before["y"] + before["height"]
    assert next_row.bounding_box()["y"] >= beneath.bounding_box()["y"] + beneath.bounding_box()["height"]
    k = audit.card["points"].evidence[0]
    assert f"{k.value:.3f}" in beneath.inner_text()
    row.click()
    assert next_row.bounding_box() == after
    assert not beneath.is_visible()


def test_an_address_or_a_link_opens_its_line(browser, path):
    with opened(browser, path, "#line-points") as page:
        opened_lines = "[...document.querySelectorAll('.line[open]')].map((line) => line.id)"
        assert page.evaluate(opened_lines) == ["line-points"]
        page.evaluate("location.hash = '#line-across'")
        page.wait_for_function("document.getElementById('line-across').open")
        page.evaluate("document.querySelector('.brand').innerHTML = '<a href=\"#line-across\">across</a>'")
        page.locator("#line-across summary").click()
        assert page.evaluate(opened_lines) == ["line-points"]
        page.locator(".brand a").click()  # to the address where one already is
        assert page.evaluate(opened_lines) == ["line-points", "line-across"]
        followed = "(done) => { addEventListener('hashchange', () => setTimeout(done)); location.hash = '#%E0%A4%A'; }"
        page.evaluate(f"new Promise({followed})")  # is no name, and breaks nothing


@pytest.fixture(scope="module")
def real(browser, tmp_path_factory):
    """The page of the tiny real audit as it is."""
    with opened(browser, write_report(audits.full(), tmp_path_factory.mktemp("real") / "report.html")) as page:
        yield page


SCREEN = {"width": 1200, "height": 860}


def test_the_answer_fits_the_first_screen(real):
    real.set_viewport_size(SCREEN)
    box = real.locator("#answer").bounding_box()
    assert real.locator("#answer .line").count() == 4
    assert box["y"] + box["height"] <= SCREEN["height"]


def test_nothing_of_the_answer_scrolls_sideways_on_a_phone(real):
    """Not even what is folded, once it is open."""
    real.set_viewport_size(PHONE)
    folds = "document.querySelectorAll('#answer details').forEach((one) => { one.open = %s; })"
    wide = """() => [...document.querySelectorAll("#answer *")].filter((one) =>
      one.getBoundingClientRect().right > innerWidth
      || getComputedStyle(one).overflowX === "auto" && one.scrollWidth > one.clientWidth)
      .map((one) => one.tagName + "." + one.className)"""
    assert real.evaluate(wide) == []
    real.evaluate(folds % "true")
    assert real.evaluate(wide) == []
    real.evaluate(folds % "false")


# Texts of a strip that leave its box, or that stand on each other.
MISPLACED = """() => [...document.querySelectorAll(".strip")].flatMap((strip) => {
  const box = strip.getBoundingClientRect();
  const texts = [...strip.querySelectorAll(".zones span, .marks span")]
    .map((one) => [one.textContent, one.getBoundingClientRect()]);
  const out = texts.filter(([, at]) => at.left < box.left - 1 || at.right > box.right + 1
    || at.top < box.top - 1 || at.bottom > box.bottom + 1);
  const over = texts.flatMap(([a, at], place) => texts.slice(place + 1).filter(([, to]) =>
    at.left < to.right && to.left < at.right && at.top < to.bottom && to.top < at.bottom).map(([b]) => a + " on " + b));
  return [...out.map(([words]) => words + " leaves the strip"), ...over];
})"""


@pytest.mark.parametrize("width", [1200, 720, 390])
def test_words_of_a_strip_stand_apart_and_inside(real, width):
    real.set_viewport_size({"width": width, "height": 860})
    assert real.locator(".strip").count() == 5
    assert real.locator(".strip .zones span, .strip .marks span").count() == 18
    assert real.evaluate(MISPLACED) == []


def test_no_question_is_squeezed_in_a_narrow_window(real):
    """A strip beside it would leave it a column of single words."""
    real.set_viewport_size({"width": 720, "height": 860})
    assert all(one.bounding_box()["width"] > 300 for one in real.locator("#answer .says").all())


def test_the_answer_is_printed_on_a_page_of_its_own(real):
    real.emulate_media(media="print")
    kind = "getComputedStyle(document.getElementById('answer')).breakAfter"
    assert real.evaluate(kind) == "page", "what follows begins the second one"
    margin = dict.fromkeys(("top", "right", "bottom", "left"), "15mm")
    hidden = real.add_style_tag(content="main > :not(#answer) { display: none; } #answer { break-after: auto; }")
    try:
        assert len(re.findall(rb"/Type /Page\b", real.pdf(format="A4", margin=margin))) == 1
    finally:
        hidden.evaluate("(one) => one.remove()")
        real.emulate_media(media="screen")


def test_other_fits_are_drawn(browser, tmp_path):
    audit = audits.full(checks=audits.REFITTED)
    with opened(browser, write_report(audit, tmp_path / "report.html")) as page:
        assert page.locator("svg").count() == 5
        assert "could not be drawn" not in page.inner_text("body")
        found = audit.results["seed_variance"]
        jsd = dict(zip(found.examples, found.per_example["jsd"], strict=True))
        sampled = {example.id for example in audit.examples}
        wanted = [text for text in ids_by(found, "jsd") if text in sampled]
        assert len(wanted) < len(found.examples), "it was measured on all texts of the split"
        page.select_option("#order", "v")
        assert first(page) == wanted[:4]
        told = page.inner_text("#texts > li:first-child")
        assert f"JSD from other seeds {jsd[wanted[0]]:.2f}" in told


def test_hostile_words_stay_words(browser, tmp_path):
    path = write_report(audits.hostile(), tmp_path / "report.html")
    with opened(browser, path) as page:
        page.on("dialog", lambda dialog: pytest.fail(f"a word was run: {dialog.message}"))
        odd = page.locator("#texts > li").first
        assert odd.locator(".w").first.inner_text() == "<script>alert(1)</script>"
        assert page.locator("#texts script, #texts b b, #texts u, #texts i:not(.heat > i)").count() == 0
        assert "no scores for this text" in odd.inner_text()
        assert odd.locator(".w[title='attention gives this word no score']").count() == 2
        page.get_by_text("show all 3000 words").click()
        assert page.locator("#texts > li").nth(1).locator(".row").first.locator(".w").count() == 3000
        odd.locator(".id").click()
        assert page.inner_text("#one-title") == "<b>id</b>"
        assert page.locator("#one b b, #one script, #one u").count() == 0
        assert page.url == f"{path.as_uri()}#text-%3Cb%3Eid%3C%2Fb%3E"
        page.keyboard.press("j")
        assert page.inner_text("#one-title") == "long"


def test_the_text_says_how_different_its_other_weights_are(audit, page):
    found = audit.results["counterfactual"].per_example
    shown = page.inner_text("#texts > li:first-child")
    values = (found["jsd:published:0.05"][0], found["floor"][0], found["most"][0])
    assert "JSD from attention {:.2f} (floor {:.2f}, most {:.2f})".format(*values) in shown
    assert f"the output moves by Δp {found['change:published:0.05'][0]:.3f}" in shown
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
    assert first(page) == [example.id for example in audit.examples[:4]]
    wanted = ids_by(audit.results[check], quantity)
    assert wanted[:4] != [example.id for example in audit.examples[:4]]
    page.select_option("#order", order)
    assert first(page) == wanted[:4]
    page.select_option("#order", "given")
    assert first(page) == [example.id for example in audit.examples[:4]]


def test_texts_are_ordered_by_disagreement_and_by_mistakes(audit, page):
    page.select_option("#order", "disagreement")
    page.click("#more")
    told = re.findall(r"τ of attention with leave one out (\S+)", page.inner_text("#texts"))
    taus = [float(tau.replace("−", "-")) for tau in told]
    assert len(taus) == 34
    assert taus == sorted(taus)
    assert taus[0] < 0 < taus[-1]
    page.select_option("#order", "wrong")
    page.click("#more")
    wrong = [example.id for example in audit.examples if example.gold != example.predicted]
    assert 0 < len(wrong) < 34
    assert first(page, len(wrong)) == wrong
    assert page.locator("#texts > li.wrong").count() == len(wrong)


def test_search_finds_words_labels_and_names(audit, page):
    word = "tedious"
    wanted = sum(word in example.words for example in audit.examples)
    assert 1 < wanted < 30
    page.fill("#search", word.upper())
    assert page.inner_text("#found") == f"{min(4, wanted)} of {wanted} matching texts"
    assert all(word in text for text in page.locator("#texts > li").all_inner_texts())
    last = audit.examples[-1].id
    page.fill("#search", last)
    assert first(page) == [last]
    page.fill("#search", "no such word")
    assert page.inner_text("#found") == "No text matches."
    assert page.locator("#texts > li").count() == 0


def test_a_text_opens_with_all_its_rows(audit, path, page):
    page.select_option("#order", "j")
    (second,) = ids_by(audit.results["counterfactual"], "jsd:published:0.05")[1:2]
    example = next(of for of in audit.examples if of.id == second)
    page.get_by_role("link", name=second, exact=True).click()
    dialog = page.get_by_role("dialog", name=second)
    assert dialog.is_visible()
    assert page.url == f"{path.as_uri()}#text-{second}"
    rows = dialog.locator(".who").all_inner_texts()
    marked = ["the reason, as marked"] if example.rationale else []
    scored = {explainer_name(name) for name in example.scores}
    assert rows[: len(rows) - len(scored)] == marked
    assert {*rows[-len(scored) :]} == scored
    assert all(len(row.split()) == len(example.words) for row in dialog.locator(".heat").all_inner_texts())
    found = audit.results["counterfactual"]
    moved = found.per_example["change:published:0.05"][found.examples.index(second)]
    assert f"Δp {moved:.3f}" in dialog.inner_text()
    assert "2 of 40" in dialog.inner_text()
    page.get_by_role("button", name="previous").click()
    assert page.inner_text("#one-title") == ids_by(audit.results["counterfactual"], "jsd:published:0.05")[0]
    assert page.get_by_role("button", name="previous").is_disabled()
    page.get_by_role("button", name="close").click()
    assert not page.locator("#one").is_visible()


def test_people_s_reasons_stand_in_their_own_row(audit, page):
    marked = next(example for example in audit.examples if example.rationale)
    page.get_by_role("link", name=marked.id, exact=True).click()
    words = [word for word, inside in zip(marked.words, marked.rationale, strict=True) if inside]
    row = page.locator("#one .row").first
    assert row.locator(".who").inner_text() == "the reason, as marked"
    assert row.locator(".mark").all_inner_texts() == words
    assert f"marked as the reason: {', '.join(words)}" in page.locator("#one .hidden").inner_text()


def test_the_keyboard_alone_moves_opens_and_closes(audit, page):
    ids = [example.id for example in audit.examples]

    def focused():
        return page.evaluate("document.activeElement.textContent")

    for key in ("j", "j", "ArrowDown", "k"):
        page.keyboard.press(key)
    assert focused() == ids[1]
    page.keyboard.press("Enter")
    assert page.inner_text("#one-title") == ids[1]
    for key in ("ArrowRight", "j", "k", "ArrowLeft", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    assert page.inner_text("#one-title") == ids[0], "there is none before the first"
    for _ in range(35):
        page.keyboard.press("j")
    escape(page)
    assert focused() == ids[35], "the list has grown to it"
    page.keyboard.press("/")
    page.keyboard.type("jk")
    assert page.input_value("#search") == "jk", "letters are letters while one types"


def test_an_address_opens_its_text(audit, browser, path):
    beyond = audit.examples[35].id
    with opened(browser, path, f"#text-{beyond}") as page:
        assert page.inner_text("#one-title") == beyond
        escape(page)
        page.keyboard.press("Enter")
        assert page.inner_text("#one-title") == beyond, "closed, its name has the focus"


def colours(page):
    ink = "getComputedStyle(document.querySelector('.drawing svg text')).fill"
    return page.evaluate(f"[getComputedStyle(document.body).backgroundColor, {ink}]")


def test_dark_is_a_choice_and_paper_stays_white(page):
    light = colours(page)
    page.get_by_role("button", name="dark", exact=True).click()
    dark = colours(page)
    assert light[0] != dark[0]
    assert light[1] != dark[1], "figures too"
    page.emulate_media(media="print")
    assert colours(page) == ["rgb(255, 255, 255)", light[1]]
    page.emulate_media(media="screen")
    page.get_by_role("button", name="light", exact=True).click()
    assert colours(page) == light
    page.emulate_media(color_scheme="dark")
    assert colours(page) == light, "chosen once, the system is not asked"


def test_the_system_s_dark_is_followed_until_one_chooses(browser, path):
    with opened(browser, path, color_scheme="dark") as page:
        before = colours(page)
        page.get_by_role("button", name="light", exact=True).click()
        assert colours(page)[0] != before[0]


def test_a_phone_scrolls_one_way_only(page):
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.locator("#texts .id").first.click()
    assert page.locator("#one").evaluate("(one) => one.scrollWidth - one.clientWidth") == 0


def test_it_prints(page):
    folded = page.locator("details[open]").count()
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type /Page\b", pdf)) > 3
    assert page.locator("details[open]").count() == folded, "what was unfolded for paper is folded again"


def test_contents_terms_and_the_skip_link_lead_somewhere(page):
    page.evaluate("document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.get_by_text("Contents", exact=True).click()
    page.get_by_role("link", name="Shuffling the weights").click()
    assert page.url.endswith("#check-permutation")
    assert not page.get_by_role("link", name="Shuffling the weights").is_visible(), "folded once used"
    page.locator("#line-hard summary").click()
    page.locator("#line-hard .term", has_text="q").first.click()
    assert page.locator(":target dt").inner_text() == "q"
    assert page.locator(":target").is_visible()
