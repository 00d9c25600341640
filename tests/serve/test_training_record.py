"""What the page shows of a training, beside what was written down while it went on."""

import math
from dataclasses import replace

import numpy as np
import pytest
from observed_model import STEPS, observed_model
from serving import send, serving

import accessible
from heatcheck.data import Corpus, Example, Split, load_task
from heatcheck.errors import BadInput, BrokenFolder, NotSupported
from heatcheck.serve import training_record as over_training
from heatcheck.serve.training_record import follow
from heatcheck.training import OF_TOKENS, read_observed
from subjects import SINGLE, classifier
from tiny_transformers import tiny

HOW = "`heatcheck train TASK --set observe=20`"
TEXTS = {example.id: example for example in load_task("planted_keyword")["test"]}
# A word without a token, words of two and three tokens, and one word alone.
ODD = ("the plot  is a bit thin, isn't it? very good", "good", "not so bad, is it?", "a dull film ...")
MADE = Corpus(
    "made",
    ("no", "yes"),
    {
        name: Split(name, tuple(Example(f"{name}{n}", text, label=n % 2) for n, text in enumerate(ODD)))
        for name in ("train", "dev", "test")
    },
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models") / "observed"


@pytest.fixture(scope="module")
def subject(folder):
    folder.mkdir()
    return observed_model(folder)


@pytest.fixture(scope="module")
def training(subject, folder):
    return follow(subject, folder)


@pytest.fixture(scope="module")
def page(subject, folder):
    with serving({"observed": subject, "lstm": classifier(SINGLE)}, folders={"observed": folder}) as address:
        yield address


# Values --------------------------------------------------------------------------------------------------------------


def test_a_text_is_what_was_recorded(training, folder):
    recorded = [read_observed(folder, step) for step in STEPS]
    assert len({tuple(seen.of_tokens["attention"].round(4)) for seen in recorded}) == len(STEPS)
    for place, name in enumerate(recorded[0].ids):
        found = training.one(name)
        assert (found.id, found.steps, found.words) == (name, list(STEPS), list(TEXTS[name].words))
        assert found.label == ("negative", "positive")[TEXTS[name].label]
        for at, seen in enumerate(recorded):
            for quantity in OF_TOKENS:
                own = seen.padded(quantity)[place][: seen.lengths[place]]
                assert found.of_words[quantity][at] == own.tolist()
                assert found.rest[quantity][at] == 0
            logs = seen.log_probabilities[place]
            assert found.right[at] == pytest.approx(math.exp(logs[TEXTS[name].label]))
            assert found.said[at] == ("negative", "positive")[logs.argmax()]
        assert sum(found.uniform) == pytest.approx(1)
        assert set(found.uniform) == {1 / len(found.words)}


def test_a_word_of_several_tokens_has_their_sum(tmp_path):
    subject = observed_model(tmp_path, MADE, examples=4)
    found = follow(subject, tmp_path).one("test0")
    assert found.words == ODD[0].split(" ")
    word = subject.encode([MADE["test"].examples[0]])
    word = word.word[0][word.scored[0]].tolist()
    assert max(word.count(n) for n in word) >= 2
    for at, step in enumerate(STEPS):
        seen = read_observed(tmp_path, step)
        for quantity in OF_TOKENS:
            tokens = seen.of_tokens[quantity][: len(word)]
            by_hand = [sum(v for v, of in zip(tokens, word, strict=True) if of == n) for n in range(len(found.words))]
            assert found.of_words[quantity][at][2] is None, "two spaces: no word between them"
            assert [v or 0 for v in found.of_words[quantity][at]] == pytest.approx(by_hand)
    assert found.uniform == pytest.approx([word.count(n) / len(word) or None for n in range(len(found.words))])
    # The one word of test1 is ranked first by everything: it is no text to count.
    assert [curve.n for curve in follow(subject, tmp_path).overview().curves] == [4, 3, 3]


def first_in_top(weights, votes):
    """A(u, v) of one text, by its definition, and its mean over all places that could be first."""
    top = math.ceil(len(votes) / 20)
    inside = np.array([sum(other > vote for other in votes) < top for vote in votes])
    return inside[weights == weights.max()].mean(), inside.mean()


def test_curves_are_means_of_what_was_recorded(training, folder):
    found = training.overview()
    assert (found.steps, found.recorded, found.observed) == (list(STEPS), len(STEPS), 12)
    assert [(text.id, text.opening) for text in found.texts] == [
        (name, TEXTS[name].text[:100]) for name in read_observed(folder).ids
    ]
    curves = {curve.name: curve for curve in found.curves}
    assert list(curves) == ["accuracy", "evenness", "agreement"]
    for at, step in enumerate(STEPS):
        seen = read_observed(folder, step)
        rows = [
            [seen.padded(quantity)[n][: seen.lengths[n]] for quantity in ("attention", "relevance")] for n in range(12)
        ]
        labels = [TEXTS[name].label for name in seen.ids]
        expected = {
            "accuracy": (seen.right.mean(), max(map(labels.count, labels)) / 12),
            "evenness": (np.mean([-(w * np.log(w)).sum() / math.log(len(w)) for w, _ in rows]), 1),
            "agreement": tuple(np.mean([first_in_top(w, v) for w, v in rows], axis=0)),
        }
        for name, (value, baseline) in expected.items():
            assert curves[name].values[at] == pytest.approx(value)
            assert curves[name].baseline[at] == pytest.approx(baseline)
            assert 0 <= curves[name].low[at] <= value + 1e-9
            assert value - 1e-9 <= curves[name].high[at] <= 1 + 1e-9
            assert curves[name].n == 12
    assert any(curve.low != curve.high for curve in found.curves)


def test_agreement_is_of_attentions_first_word_and_relevances_top(tmp_path):
    # Of more than 20 words the top is two, and words that come again are as high as before: neither is symmetric.
    words = [[f"w{(n * n * 7 + k * k * (n + 3)) % 31}" for k in range(24 + n % 20)] for n in range(50)]
    texts = tuple(Example(str(n), " ".join(of), label=n % 2) for n, of in enumerate(words))
    corpus = Corpus("long", ("no", "yes"), {name: Split(name, texts) for name in ("train", "dev", "test")})
    found = follow(observed_model(tmp_path, corpus, encoder="none", examples=50), tmp_path).overview().curves[2]
    differs = np.zeros(2, dtype=bool)
    for at, step in enumerate(STEPS):
        seen = read_observed(tmp_path, step)
        both = [[seen.padded(of)[n][: seen.lengths[n]] for of in ("attention", "relevance")] for n in range(50)]
        value, floor = np.mean([first_in_top(*rows) for rows in both], axis=0)
        assert (found.values[at], found.baseline[at]) == pytest.approx((value, floor))
        turned = np.mean([first_in_top(*reversed(rows)) for rows in both], axis=0)
        differs |= ~np.isclose(turned, (value, floor))
    assert differs.all(), "so that it says something"


def test_what_was_not_written_down_is_not_shown(tmp_path):
    found = follow(observed_model(tmp_path, quantities=["attention"], examples=1), tmp_path)
    overview = found.overview()
    assert [curve.name for curve in overview.curves] == ["accuracy", "evenness"]
    assert overview.curves[0].low == [None] * len(STEPS), "one text says nothing about others"
    assert list(found.one(overview.texts[0].id).of_words) == ["attention"]


def test_texts_of_ones_own_are_kept_with_the_training(tmp_path):
    texts = tuple(Example(str(n), f"Ein Satz, Nr. {n}", label=n % 2) for n in range(9))
    corpus = Corpus("mine.csv", ("no", "yes"), {name: Split(name, texts) for name in ("train", "dev", "test")})
    found = follow(observed_model(tmp_path, corpus, steps=(0, 2), examples=5), tmp_path)
    seen = read_observed(tmp_path, 2)
    assert [text.opening for text in found.overview().texts] == [f"Ein Satz, Nr. {name}" for name in seen.ids]
    assert found.one(seen.ids[3]).words == ["Ein", "Satz,", "Nr.", seen.ids[3]]


def test_damaged_texts_are_said_to_be(tmp_path):
    found = follow(observed_model(tmp_path), tmp_path)
    (tmp_path / "observed" / "texts.json").write_text("[3]")
    with pytest.raises(BrokenFolder, match=r"texts\.json is damaged. Delete"):
        found.overview()


# Bounds and mistakes -------------------------------------------------------------------------------------------------


def test_of_many_steps_and_texts_some_are_shown_and_all_are_counted(subject, folder, monkeypatch):
    monkeypatch.setattr(over_training, "MAX_STEPS", 3)
    monkeypatch.setattr(over_training, "MAX_TEXTS", 5)
    monkeypatch.setattr(over_training, "MAX_WORDS", 14)
    few = follow(subject, folder)
    found = few.overview()
    assert (found.steps, found.recorded) == ([0, 8, 20], 4)
    assert (len(found.texts), found.observed) == (5, 12)
    assert {len(curve.values) for curve in found.curves} == {3}
    short, long = (
        next(name for name in read_observed(folder).ids if wanted(len(TEXTS[name].words)))
        for wanted in ((14).__ge__, (14).__lt__)
    )
    assert len(few.one(short).said) == 3
    with pytest.raises(BadInput, match=r"has \d+ words; the page shows at most 14. Choose another."):
        few.one(long)


def test_a_training_that_was_not_observed_says_how_it_is(subject, folder, tmp_path):
    other = classifier(SINGLE)
    assert follow(other, folder).why_not == (
        f"heatcheck did not train this model, so it has no record of the training. {HOW} trains one with a record."
    )
    other.recipe = replace(subject.recipe, seed=5)
    for where in (tmp_path, folder, "hf:none"):  # nothing there, the folder of another model, no folder at all
        found = follow(other, where)
        assert found.why_not == f"this model has no record of its training: {HOW} makes one."
        with pytest.raises(NotSupported, match="has no record of its training"):
            found.overview()
        with pytest.raises(NotSupported, match="has no record of its training"):
            found.one("planted_keyword-test-0")
    bert = tiny("bert")
    bert.recipe = replace(subject.recipe, model={"hf": "bert", "weights": "ab"})
    assert follow(bert, tmp_path).why_not.endswith("its logits are not linear in the weights, which a record needs.")


def test_a_file_that_is_not_whole_is_one_sentence(tmp_path):
    found = follow(observed_model(tmp_path), tmp_path)
    (tmp_path / "observed" / "00000008.npz").write_bytes(b"PK")
    with pytest.raises(BrokenFolder, match="is damaged"):
        found.overview()


def test_other_files_beside_the_recorders(tmp_path):
    subject = observed_model(tmp_path)
    (tmp_path / "observed" / "notes.npz").write_bytes(b"")  # not the recorder's
    assert follow(subject, tmp_path).overview().steps == list(STEPS)
    texts = tmp_path / "observed" / "texts.json"
    texts.write_text("[]")
    with pytest.raises(BrokenFolder, match="do not match its record"):
        follow(subject, tmp_path).overview()
    texts.unlink()
    with pytest.raises(BrokenFolder, match=r"texts\.json is missing"):
        follow(subject, tmp_path).overview()


def test_the_server_answers_what_the_library_does(page, training):
    offered = send(page, "/api/models").json["models"]
    assert [one["training"] for one in offered] == ["", follow(classifier(SINGLE), "lstm").why_not]
    found = send(page, "/api/training", {"model": "observed"}).json
    assert found == training.overview().model_dump(mode="json")
    name = found["texts"][2]["id"]
    asked = {"model": "observed", "id": name}
    assert send(page, "/api/observed", asked).json == training.one(name).model_dump(mode="json")


@pytest.mark.parametrize(
    ("path", "asked", "status", "sentence"),
    [
        ("training", {"model": "lstm"}, 422, "heatcheck did not train this model"),
        ("observed", {"model": "lstm", "id": "e0"}, 422, "heatcheck did not train this model"),
        ("observed", {"model": "observed", "id": "../config"}, 422, "no recorded text '../config': /api/training"),
        ("observed", {"model": "observed"}, 422, "id: Field required."),
        ("observed", {"model": "observed", "id": 3}, 422, "id: Input should be a valid string."),
        ("training", {"model": "observed", "folder": "/etc"}, 422, "folder: Extra inputs are not permitted."),
        ("training", {"model": "../observed"}, 404, "no model '../observed'"),
    ],
)
def test_a_mistake_about_a_training_is_one_sentence(page, path, asked, status, sentence):
    found = send(page, f"/api/{path}", asked)
    assert found.status == status
    assert found.error.startswith(sentence)


# The page ------------------------------------------------------------------------------------------------------------


def test_steps_are_scrubbed_through_and_played(page, browser, folder, training, monkeypatch):
    recorded = [read_observed(folder, step) for step in STEPS]

    def shows(opened, place, at):
        seen, end = recorded[at], recorded[at].lengths[place]
        drawn = opened.eval_on_selector_all(
            "#training-bars .column", "all => all.map(({dataset: of}) => [Number(of.attention), Number(of.below)])"
        )
        wanted = [seen.padded(quantity)[place][:end] for quantity in ("attention", "relevance")]
        np.testing.assert_allclose(drawn, np.transpose(wanted), rtol=1e-9)
        assert opened.inner_text("#step-value") == f"step {STEPS[at]} of 20"
        means = [f"{curve.values[at]:.2f}" for curve in training.overview().curves]
        assert opened.locator("#training-curves b").all_inner_texts() == means
        assert opened.is_hidden("#training-problem")
        heights, down = (
            opened.eval_on_selector_all(
                "#training-bars .above .fill", "all => all.map((of) => parseFloat(of.style.height))"
            ),
            opened.eval_on_selector_all(
                "#training-bars .below .fill", "all => all.map((of) => of.classList.contains('against'))"
            ),
        )
        most = max(of.padded("attention")[place].max() for of in recorded)
        np.testing.assert_allclose(heights, 44 * np.sqrt(wanted[0] / most), rtol=1e-3)
        assert down == (wanted[1] < 0).tolist()

    context = browser.new_context(viewport={"width": 390, "height": 800}, reduced_motion="reduce")
    opened = context.new_page()
    troubles = []
    opened.on("pageerror", lambda error: troubles.append(str(error)))
    opened.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    opened.goto(page)
    opened.wait_for_selector("#training-bars .column")
    shows(opened, 0, 3)
    opened.focus("#step")
    link = opened.url
    for key, at in (("Home", 0), ("ArrowRight", 1), ("End", 3), ("ArrowLeft", 2)):
        opened.keyboard.press(key)
        shows(opened, 0, at)
        assert opened.url != link
        link = opened.url
    opened.select_option("#probe", recorded[0].ids[4])
    opened.wait_for_function("(many) => document.querySelectorAll('#training-bars .column').length === many",
                             arg=int(recorded[0].lengths[4]))  # fmt: skip
    shows(opened, 4, 2)
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390

    # The map has a row per word and a stripe per step; a click on it goes to a step. Axes say where it begins and ends.
    strips = opened.locator("#training-map canvas")
    assert strips.count() == opened.locator("#training-bars .column").count()
    assert strips.first.evaluate("node => node.width") == len(STEPS)
    assert opened.locator("#training-map .axis span").all_inner_texts() == ["step 0", "20"]
    ticks = opened.locator("#training-curves svg >> nth=0").locator("text").all_text_contents()
    assert ticks == ["1", "0", "step 0", "20"]
    wide = strips.first.bounding_box()["width"]
    strips.first.click(position={"x": wide * 0.3, "y": 4})
    shows(opened, 4, 1)
    strips.first.click(position={"x": wide * 0.6, "y": 4})
    shows(opened, 4, 2)
    assert accessible.violations(opened, "#training") == []

    other = context.new_page()
    other.goto(opened.url)
    other.wait_for_selector("#training-bars .column")
    shows(other, 4, 2)

    opened.focus("#step")
    opened.keyboard.press("End")
    # Each in one turn of the page: it goes on while nobody asks.
    both = "['step-value', 'play'].map((id) => document.getElementById(id).textContent)"
    begun = opened.evaluate(
        f"() => {{ const play = document.getElementById('play'); play.click(); const begun = {both};"
        f" const watch = setInterval(() => {{ if (!{both}[0].startsWith('step 3 ')) return;"
        " clearInterval(watch); play.click(); }, 10);"
        " return begun; }"
    )
    assert begun == ["step 0 of 20", "pause"], "at the end, it begins again"
    opened.wait_for_function(f"() => {both}[0].startsWith('step 3 ') && {both}[1] === 'play'")
    shows(opened, 4, 1)
    assert opened.inner_text("#play") == "play"
    with monkeypatch.context() as patched:
        patched.setattr(over_training, "MAX_WORDS", 1)
        opened.select_option("#probe", recorded[0].ids[5])
        opened.wait_for_selector("#training-problem:not([hidden])")
        assert opened.inner_text("#training-problem").endswith("words; the page shows at most 1. Choose another text.")
        assert opened.is_hidden("#training-bars")
    opened.select_option("#probe", recorded[0].ids[0])
    opened.wait_for_selector("#training-bars .column")
    shows(opened, 0, 1)
    opened.select_option("#model", "lstm")
    opened.wait_for_selector("#training-shown", state="hidden")
    assert f"{HOW.strip('`')} trains one with a record." in opened.inner_text("#training-note")
    assert opened.inner_text("#training-note code") == HOW.strip("`")
    context.close()
    assert [one for one in troubles if "422" not in one] == []  # the browser itself tells of a refused request
