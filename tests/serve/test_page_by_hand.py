"""Using the local page: nothing jumps, the answer stays in sight, by mouse, finger and keyboard."""

import pytest
from by_hand import TEXT, box, drag, in_sight, probabilities, settled, tab_to, weights
from serving import send, serving

import accessible
import heatcheck as hc
from heatcheck.data import Example
from heatcheck.report.heat import shade_of

# The longest that a drag can say.
SAID = (
    "The heatmap changed by 0.69 (JSD, at most 0.69), the prediction by 1.000 (at most 1). "
    "The model now predicts another label: for this text, these weights matter."
)
# Levels of a canvas, by its colours.
LEVELS = """(canvas) => {
  const style = getComputedStyle(document.documentElement);
  const shades = Array.from({ length: 11 }, (_, at) => style.getPropertyValue("--h" + at).trim());
  const dots = canvas.getContext("2d").getImageData(0, 0, canvas.width, 1).data;
  return Array.from({ length: canvas.width }, (_, at) => shades.indexOf(
    "#" + [...dots.slice(4 * at, 4 * at + 3)].map((one) => one.toString(16).padStart(2, "0")).join("")));
}"""


def to_the_bars(page):
    # A finger's scroll goes on for a while: wait for its end.
    page.evaluate(
        "() => new Promise((done) => { let last = null; const look = () => {"
        " if (scrollY === last) { done(); return; } last = scrollY; setTimeout(look, 150); }; look(); })"
    )
    page.locator("#bars").evaluate("node => node.scrollIntoView({ block: 'center' })")


@pytest.mark.parametrize(("width", "height"), [(1100, 700), (390, 800)])
def test_nothing_jumps_while_a_weight_is_dragged_and_the_answer_stays_in_sight(opened, width, height):
    page = opened(width, height)
    to_the_bars(page)
    before = [box(page, "#bars"), box(page, "#bars .pull >> nth=3")]
    reserved = box(page, "#answer")["height"]
    drag(page, 2, 0.8)
    assert page.inner_text("#where") == "changed by hand"
    assert page.inner_text("#moved").startswith("The heatmap changed by ")
    # Heights too: browsers scroll along with what grows above.
    assert box(page, "#answer")["height"] == reserved
    assert [box(page, "#bars"), box(page, "#bars .pull >> nth=3")] == before
    for part in ("#labels", "#moved", "#bars .pull >> nth=2"):
        assert in_sight(page, part), part
    answer, bar = box(page, "#answer"), box(page, "#bars .pull >> nth=2")
    assert answer["y"] + answer["height"] <= bar["y"], "the answer must not cover what is dragged"
    page.evaluate("(said) => { document.getElementById('moved').textContent = said; }", SAID)
    assert box(page, "#answer")["height"] == reserved, "room for the longest sentence"
    page.click("#own")
    assert box(page, "#bars") == before[0]


def test_bars_are_equally_wide_whatever_the_word(page):
    wide = page.eval_on_selector_all("#bars .pull .fill", "all => all.map((one) => one.getBoundingClientRect().width)")
    assert len(wide) == 7
    assert max(wide) - min(wide) < 0.5
    assert min(wide) > 10


def test_a_finger_scrolls_over_the_bars_and_moves_a_weight_by_tap_or_knob(opened):
    page = opened(390, 800, has_touch=True, is_mobile=True)
    to_the_bars(page)
    own, knob = weights(page), box(page, "#bars .pull .knob >> nth=4")
    assert page.eval_on_selector("#bars .pull", "node => getComputedStyle(node).touchAction") in (
        "pan-x pan-y",
        "manipulation",
    )
    assert page.eval_on_selector("#bars .pull .knob", "node => getComputedStyle(node).touchAction") == "none"
    finger = page.context.new_cdp_session(page)

    def touch(kind, x=None, y=None):
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [] if x is None else [{"x": x, "y": y}]})

    def swipe(x, y, to):
        touch("touchStart", x, y)
        for part in range(1, 9):
            touch("touchMove", x, y + (to - y) * part / 8)
        touch("touchEnd")

    bar, scrolled = box(page, "#bars .pull >> nth=1"), page.evaluate("scrollY")
    x, y = bar["x"] + bar["width"] / 2, bar["y"] + 20
    swipe(x, y, y - 120)
    page.wait_for_function("(before) => scrollY > before + 50", arg=scrolled)
    assert weights(page) == own, "scrolling changes no weight"
    to_the_bars(page)
    knob = box(page, "#bars .pull .knob >> nth=4")
    at = page.evaluate("scrollY")
    swipe(knob["x"] + knob["width"] / 2, knob["y"] + knob["height"] / 2, knob["y"] - 25)
    page.wait_for_function("() => document.getElementById('where').textContent === 'changed by hand'")
    assert weights(page)[4] > own[4] + 0.1
    assert page.evaluate("scrollY") == at, "dragging a knob does not scroll"
    page.wait_for_timeout(500)  # a tap is a gesture of its own
    bar = box(page, "#bars .pull >> nth=0")
    page.touchscreen.tap(bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] - 1 - 0.6**0.5 * 70)
    page.wait_for_function("() => Number(document.querySelector('#bars .pull').ariaValueNow) > .5")
    assert weights(page)[0] == pytest.approx(0.6, abs=0.05)


def test_erasing_says_what_changed(page, models):
    lstm = models["lstm"]
    before = lstm.run(lstm.encode([Example("text", TEXT)])).logits[0, 0].softmax(-1)
    after = lstm.run(lstm.encode([Example("text", TEXT.replace(" dull", ""))])).logits[0, 0].softmax(-1)
    page.click("#bars .word >> text=dull")
    settled(page, after.tolist(), 1e-6)
    label = int(before.argmax())
    said = (
        f"Without “dull”, the probability of {lstm.labels[label]} goes from {before[label]:.3f} to {after[label]:.3f}."
    )
    assert page.inner_text("#moved").startswith(said)
    assert f"was {before[label]:.3f}" in page.inner_text("#labels")
    fewer = lstm.run(lstm.encode([Example("text", TEXT.replace(" dull end", ""))])).logits[0, 0].softmax(-1)
    page.click("#bars .word >> text=end")
    settled(page, fewer.tolist(), 1e-6)
    assert int(fewer.argmax()) != label
    assert page.inner_text("#moved") == (
        f"Without “dull”, “end”, the probability of {lstm.labels[label]} goes from {before[label]:.3f} to "
        f"{fewer[label]:.3f}. The model now predicts {lstm.labels[1 - label]}."
    )
    page.click("#whole")
    settled(page, before.tolist(), 1e-6)
    assert page.inner_text("#moved") == ""
    assert page.is_disabled("#whole")


def test_special_tokens_are_shown_wherever_weights_are(opened, models):
    page, bert = opened(), models["bert"]
    page.select_option("#model", "bert")
    page.wait_for_selector("#glance canvas")
    page.wait_for_selector("#matrix td")
    batch = bert.encode([Example("text", TEXT)])
    run = bert.run(batch, want=[bert.sites[-1]])
    row = run.parts[bert.sites[-1]][0].mean(0)[0].detach()
    rest = float(row[batch.word[0] < 0].sum())
    assert page.locator("#bars .column").last.inner_text().split("\n")[-1] == "special tokens"
    assert weights(page)[-1] == pytest.approx(rest, abs=1e-4)
    said = f"{round(100 * rest)}% on special tokens"
    page.wait_for_selector("#rows .heat[role=img]")
    assert page.locator("#rows .row", has_text="attention").first.locator(".special").inner_text() == said
    page.wait_for_selector("#adversary-row .special")
    assert page.locator("#matrix th.across").last.inner_text() == "special tokens"
    # A strip of a head has a stripe for them, the last.
    assert page.eval_on_selector("#glance canvas", "node => node.width") == len(TEXT.split()) + 1


def levels_of(row):
    """The shades of a row of words."""
    return [
        int(name.split()[1][1:]) for name in row.locator(".w").evaluate_all("all => all.map((one) => one.className)")
    ]


def test_all_heatmaps_of_the_page_have_one_scale(page, address):
    page.wait_for_selector("#rows .heat[role=img]")
    levels = levels_of(page.locator("#rows .row", has_text="attention").first)
    own = weights(page)
    assert levels == [round(10 * one**0.5) for one in own]
    page.wait_for_selector("#rows .row:has-text('gradient') .heat[role=img]")
    others = page.locator("#rows .row", has_text="gradient").first
    hues = {name.split()[1][0] for name in others.locator(".w").evaluate_all("all => all.map((one) => one.className)")}
    assert hues == {"g"}, "blue is for weights"
    answer = send(address, "/api/explain", {"model": "lstm", "text": TEXT, "by": ["gradient"]}).json
    sizes = [abs(one) for one in answer["scores"]["gradient"]]
    assert levels_of(others) == [shade_of(one / sum(sizes)) for one in sizes], "shares of the whole row"
    page.check("#by-row")
    page.wait_for_selector("#rows .h10")
    assert 10 not in levels


def test_heatmaps_of_heads_have_the_scale_of_the_page(opened, address):
    page = opened()
    page.select_option("#model", "bert")
    page.wait_for_selector("#matrix td")
    page.wait_for_selector("#rows .heat[role=img]")
    words = levels_of(page.locator("#rows .row", has_text="attention").first)
    assert words == list(map(shade_of, weights(page)[:-1])), "special tokens have their share"
    layers = send(address, "/api/layers", {"model": "bert", "text": TEXT}).json
    strip = page.eval_on_selector("#glance canvas", LEVELS)
    assert strip == list(map(shade_of, [*layers["rows"][0][0], layers["rest"][0][0]]))
    cells = page.locator("#matrix td[title]").evaluate_all("all => all.map((one) => [one.className, one.title])")
    for name, title in cells:
        weight = float(title.rpartition(" ")[2])
        assert shade_of(weight - 0.0006) <= int(name[1:]) <= shade_of(weight + 0.0006), title


def test_choosing_a_head_shows_its_map_beside_the_grid(opened):
    page = opened(1440, 900)
    page.select_option("#model", "bert")
    page.wait_for_selector("#glance canvas")
    page.locator("#heads").scroll_into_view_if_needed()
    page.locator("#glance button >> nth=6").click()
    page.wait_for_function("() => document.getElementById('matrix-note').textContent.startsWith('Layer 2, head 3')")
    grid, map_ = box(page, "#glance"), box(page, "#matrix-title")
    assert map_["x"] >= grid["x"] + grid["width"]
    assert abs(map_["y"] - grid["y"]) < 60
    assert page.locator("#glance button[aria-pressed=true]").count() == 1


def test_another_model_brings_a_text_of_its_own_and_keeps_one_that_was_typed(browser):
    two = {"reader": hc.load("known:reader@planted_keyword"), "other": hc.load("known:reader@planted_contrast")}
    with serving(two) as address:
        page = browser.new_page()
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        first = page.input_value("#text")
        page.select_option("#model", "other")
        page.wait_for_function("(first) => document.getElementById('text').value !== first", arg=first)
        samples = page.evaluate("fetch('/api/models').then((all) => all.json())")["models"][1]["samples"]
        assert page.input_value("#text") in [one["text"] for one in samples]
        read = (
            "() => [...document.querySelectorAll('#bars button.word')].map((one) => one.textContent).join(' ')"
            " === document.getElementById('text').value"
        )
        page.wait_for_function(read)
        page.fill("#text", TEXT)
        page.wait_for_function("() => document.querySelectorAll('#bars .column').length === 7")
        page.select_option("#model", "reader")
        page.wait_for_selector("#bars .column")
        assert page.input_value("#text") == TEXT
        page.select_option("#sample", "0")
        page.wait_for_function(read)
        page.select_option("#model", "other")
        page.wait_for_function(read)
        assert page.input_value("#text") in [one["text"] for one in samples], "a chosen sample was not typed"
        page.close()


def test_everything_works_by_keyboard_alone(opened):
    page = opened()
    page.focus("#own")
    keys = page.keyboard
    tab_to(page, "#bars .pull")
    before, own = probabilities(page), weights(page)[0]
    for key, by in {"ArrowUp": 0.02, "ArrowRight": 0.04, "PageUp": 0.14, "ArrowDown": 0.12, "PageDown": 0.02}.items():
        keys.press(key)
        assert weights(page)[0] == pytest.approx(own + by, abs=1e-3), key
    keys.press("End")
    page.wait_for_function("() => document.getElementById('where').textContent === 'changed by hand'")
    assert weights(page)[0] == 1
    keys.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "a"
    keys.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('#bars .gone').length === 1")
    assert "Without “a”" in page.inner_text("#moved")
    assert page.evaluate("document.activeElement.textContent") == "a", "the keyboard stays at the word"
    keys.press("Enter")
    page.wait_for_function("() => !document.querySelector('#bars .gone')")
    keys.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('#bars .gone').length === 1")
    page.focus("#own")
    tab_to(page, "#whole")
    keys.press("Space")
    settled(page, before, 1e-6)
    page.focus("#model")
    keys.press("ArrowDown")
    page.wait_for_selector("#glance button")
    tab_to(page, "#glance button[title^='layer 1, head 3']")
    keys.press("Enter")
    page.wait_for_function("() => document.getElementById('where').textContent === 'layer 1, head 3'")
    assert page.evaluate("document.activeElement.title").startswith("layer 1, head 3"), "and at the head"


@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_on_the_page(opened, width):
    page = opened(width, 844, reduced_motion="reduce")
    page.click("#bars .word >> text=dull")
    page.wait_for_function("() => document.getElementById('moved').textContent !== ''")
    assert accessible.violations(page) == []
    page.select_option("#model", "bert")
    page.wait_for_selector("#matrix td")
    page.wait_for_selector("#adversary-row .heat")
    page.wait_for_selector("#rows .heat[role=img] >> nth=1")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert accessible.violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
