"""The live page, used as a person would, beside what the library computes."""

import json

import pytest
from by_hand import TEXT, drag, probabilities, settled, weights
from kept_audits import keep
from serving import serving

import heatcheck as hc
from heatcheck.data import Example
from heatcheck.explainers import stand_ins
from heatcheck.models import Site
from heatcheck.results import headline_of
from heatcheck.serve import shown_text
from heatcheck.serve.schema import AskedWeights


def under(subject, text, given):
    """What the library says under these weights."""
    batch = subject.encode([Example("text", text)])
    site = Site("attention")

    def edit(own):
        assert int(batch.scored.sum()) == len(given)
        own = own.clone()
        own[0, 0, 0, batch.scored[0]] = own.new_tensor(given) / sum(given)
        return own

    return subject.run(batch, edits={site: edit}).logits[0, 0].softmax(-1).tolist()


def test_the_page_opens_with_the_headline_of_the_models_audit(browser, models):
    audit, _ = keep(models["lstm"], "2026-03-02", n=1_000)
    headline = headline_of(audit.card)
    assert len(headline.do_not_say) > 2
    with serving(models) as address:
        context = browser.new_context(viewport={"width": 1200, "height": 900})
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        assert page.inner_text("#audit h2") == headline.answer
        shown = page.inner_text("#audit")
        assert "From the audit of 2026-03-02, 1,000 examples of rotten_tomatoes." in shown
        assert f"{headline.instead} For new texts: {audit.card['points'].instead.command}" in shown
        for kind, said in (("may", headline.may_say), ("not", headline.do_not_say)):
            assert page.locator(f"#audit .{kind} dd:visible").all_inner_texts() == [f"“{one}”" for one in said[:2]]
        page.click(f"#audit .not button >> text={len(headline.do_not_say) - 2} more")
        assert page.locator("#audit .not dd:visible").count() == len(headline.do_not_say)
        page.click("#audit .not button >> text=fewer")
        box, field = page.locator("#audit").bounding_box(), page.locator("#text").bounding_box()
        assert box["height"] <= 150
        assert box["y"] + box["height"] <= field["y"]
        assert page.locator("#audit a").count() == 0
        page.select_option("#model", "bert")
        assert page.inner_text("#audit") == "No audit of this model was found here. Run: heatcheck audit MODEL"
        page.select_option("#model", "lstm")
        assert page.inner_text("#audit h2") == headline.answer
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        context.close()


def test_what_an_audit_says_is_text_and_never_markup(browser, models):
    _, folder = keep(models["lstm"], "2026-03-02")
    kept = folder / "audit.json"
    facts = json.loads(kept.read_text())
    facts["headline"] = dict.fromkeys(facts["headline"], "<b>bold</b>") | {"may_say": ["<i>x</i>"], "do_not_say": []}
    kept.write_text(json.dumps({**facts, "task": "<img src=x>"}))
    with serving(models) as address:
        page = browser.new_page()
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        assert page.inner_text("#audit h2") == "<b>bold</b>"
        assert "“<i>x</i>”" in page.inner_text("#audit")
        assert "<img src=x>" in page.inner_text("#audit")
        assert page.locator("#audit :is(b, i, img)").count() == 0
        page.close()


def test_a_typed_text_is_read(page, models):
    batch = models["lstm"].encode([Example("text", TEXT)])
    settled(page, models["lstm"].run(batch).logits[0, 0].softmax(-1).tolist(), 1e-6)
    scores = hc.explain(models["lstm"], TEXT, by=["attention", "gradient"])
    assert weights(page) == pytest.approx([score for _, score in scores["attention"]], abs=1e-4)
    heaviest = max(scores["gradient"], key=lambda one: abs(one[1]))[0]
    page.wait_for_selector("#rows .heat[role=img] >> nth=1")
    label = page.locator("#rows .row", has_text="gradient").first.locator(".heat").get_attribute("aria-label")
    assert label.startswith(f"gradient, heaviest words: {heaviest} ")


def test_dragging_a_weight_moves_the_probability_as_the_library_does(page, models):
    before = probabilities(page)
    drag(page, 2, 0.7)
    after = weights(page)
    assert after[2] == pytest.approx(0.7, abs=0.05)
    assert sum(after) == pytest.approx(1, abs=1e-3)
    expected = under(models["lstm"], TEXT, after)
    assert max(abs(a - b) for a, b in zip(expected, before, strict=True)) > 1e-3  # so that the next line says something
    settled(page, expected)
    page.click("#own")
    settled(page, before, 1e-6)


def test_keys_move_a_weight_too(page, models):
    bar = page.query_selector_all("#bars .pull")[4]
    bar.focus()
    page.keyboard.press("End")
    settled(page, under(models["lstm"], TEXT, [0, 0, 0, 0, 1, 0, 0]))
    assert weights(page)[4] == 1


def test_uniform_and_shuffled(page, models):
    own = weights(page)
    page.click("#uniform")
    settled(page, under(models["lstm"], TEXT, [1] * 7))
    page.click("#permuted")
    asked = AskedWeights(model="lstm", text=TEXT, kind="permuted", seed=0)
    shuffled = shown_text.impose(models["lstm"], asked).weights
    assert sorted(shuffled) == pytest.approx(sorted(own), abs=2e-4)
    assert shuffled != pytest.approx(own, abs=2e-4)
    page.wait_for_function(
        "(wanted) => [...document.querySelectorAll('#bars .pull')]"
        ".every((bar, at) => Math.abs(Number(bar.ariaValueNow) - wanted[at]) < 2e-4)",
        arg=shuffled,
    )
    assert page.inner_text("#where") == "shuffle 1"
    settled(page, under(models["lstm"], TEXT, shuffled))


def test_an_erased_word_is_not_read(page, models):
    page.click("#bars .word >> text=dull")
    without = TEXT.replace(" dull", "")
    batch = models["lstm"].encode([Example("text", without)])
    settled(page, models["lstm"].run(batch).logits[0, 0].softmax(-1).tolist(), 1e-6)
    assert page.get_attribute("#bars .word >> text=dull", "aria-pressed") == "true"
    page.click("#whole")
    batch = models["lstm"].encode([Example("text", TEXT)])
    settled(page, models["lstm"].run(batch).logits[0, 0].softmax(-1).tolist(), 1e-6)


@pytest.mark.parametrize("epsilon", [0.001, 0.2])
def test_the_slider_changes_the_other_heatmap(page, models, epsilon):
    import math

    power = math.log10(epsilon)
    page.eval_on_selector(
        "#epsilon", "(node, value) => { node.value = value; node.dispatchEvent(new Event('input')); }", power
    )
    rounded = float(page.input_value("#epsilon"))
    found = stand_ins(models["lstm"], [Example("text", TEXT)], epsilon=float(f"{10**rounded:.3g}"))
    told = f"The heatmap differs by {found.jsd[0, 0]:.2f} nats"
    page.wait_for_function(
        "(told) => document.getElementById('adversary-found').textContent.startsWith(told)", arg=told
    )
    page.click("#use")
    page.wait_for_function("() => document.getElementById('where').textContent === 'changed by hand'")
    assert weights(page) == pytest.approx(found.weights[0, 0][1:-1].tolist(), abs=2e-4)


def test_a_link_brings_everything_back(page, browser):
    drag(page, 1, 0.5)
    page.click("#bars .word >> text=dull")  # erasing starts again from its own weights
    page.wait_for_function("() => document.querySelectorAll('#bars .gone').length === 1")
    drag(page, 1, 0.5)
    page.check("#by input[value=random]")
    page.wait_for_selector("#rows .who >> text=random")
    page.wait_for_load_state("networkidle")  # the answer to the last drag is shown, too
    page.click("#copy")
    link, shown, moved = page.url, probabilities(page), weights(page)
    assert TEXT.split()[1] not in link.partition("#")[0]
    other = browser.new_context().new_page()
    other.goto(link)
    settled(other, shown, 1e-5)
    assert other.input_value("#text") == TEXT
    assert weights(other) == pytest.approx(moved, abs=1e-4)
    assert other.query_selector_all("#bars .gone .word")[0].inner_text() == "dull"
    assert other.is_checked("#by input[value=random]")
    other.context.close()


def test_a_link_to_another_model_says_so(page, address):
    page.goto("about:blank")
    page.goto(f"{address}#eyJtb2RlbCI6Im5vcGUifQ")
    page.wait_for_selector("#problem:not([hidden])")
    assert "the model “nope”, which is not served here" in page.inner_text("#problem").replace("This", "this")


def test_a_text_that_is_too_long_gets_a_sentence(page):
    page.fill("#text", "word " * 450)
    page.wait_for_selector("#problem:not([hidden])")
    assert page.inner_text("#problem") == "The text has 451 words; the page takes at most 400. Shorten it."
    assert page.is_hidden("#found")
    page.fill("#text", TEXT)
    page.wait_for_selector("#found:not([hidden])")
    assert page.is_hidden("#problem")


def test_layers_and_heads_of_a_transformer(page, models):
    bert = models["bert"]
    page.select_option("#model", "bert")
    page.wait_for_selector("#glance canvas")
    batch = bert.encode([Example("text", TEXT)])
    run = bert.run(batch, want=bert.sites)
    assert page.locator("#glance canvas").count() == len(bert.sites) * run.parts[bert.sites[0]].shape[1]
    page.select_option("#layer", index=1)
    page.select_option("#head", index=2)
    page.wait_for_function("() => document.getElementById('where').textContent === 'layer 1, head 2'")
    row = run.parts[bert.sites[0]][0, 1, 0].detach()
    of_words = [float(row[batch.word[0] == place].sum()) for place in range(7)]
    assert weights(page)[:7] == pytest.approx(of_words, abs=1e-4)
    page.click("#uniform")

    def uniform(own):
        own = own.clone()
        own[0, 1, 0] = batch.valid[0] / batch.valid[0].sum()
        return own

    settled(page, bert.run(batch, edits={bert.sites[0]: uniform}).logits[0, 0].softmax(-1).tolist(), 1e-6)
    page.click("#glance button >> nth=0")
    page.wait_for_function("() => document.getElementById('where').textContent === 'layer 1, head 1'")
    page.wait_for_function("() => document.getElementById('mean-note').textContent.startsWith('Layer 1, head 1')")
    assert page.locator("#matrix td[title]").count() == 7 * 8  # the last column is special tokens

    def flat(own):
        own = own.clone()
        own[0, 0] = batch.valid[0] / batch.valid[0].sum()
        return own

    before, after = (r.logits[0, 0].softmax(-1) for r in (run, bert.run(batch, edits={bert.sites[0]: flat})))
    label = int(before.argmax())
    was, now = (f"{of[label]:.3f}" for of in (before, after))
    moved = f"stays at {was}." if was == now else f"goes from {was} to {now}."
    assert f"of {bert.labels[label]} {moved}" in page.locator("#flat-note").inner_text()
    first = run.parts[bert.sites[0]][0, 0, :, 0].mean()
    assert f"the first token {first:.2f};" in page.locator("#mean-note").inner_text()


def test_a_phone_does_not_scroll_sideways(browser, address):
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme="dark")
    page = context.new_page()
    page.goto(address)
    page.select_option("#model", "bert")
    page.fill("#text", " ".join([TEXT] * 5))
    page.wait_for_selector("#glance canvas")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()
