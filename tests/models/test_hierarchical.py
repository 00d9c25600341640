"""Attention over words within sentences, then over sentences: by hand, by sentences or not, and through the checks."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from heatcheck.auditing import audit
from heatcheck.checks import CHECKS
from heatcheck.checks.case import Case
from heatcheck.data import Corpus, Example, Split
from heatcheck.errors import BadInput, NotSupported
from heatcheck.explainers import explain_one, read_out, stand_ins
from heatcheck.explainers.word_removal import delete
from heatcheck.models import (
    AttendsToParts,
    ClassifierSettings,
    HierarchicalClassifier,
    Site,
    heat_sites,
    load_folder,
    log_odds_weights,
    name_of_keys,
    readable_keys,
    token_weights,
    uniform_edits,
)
from heatcheck.models.classifiers import hierarchical
from heatcheck.models.classifiers.hierarchical import sentences_by_length
from heatcheck.training import LOSSES, fit_recipe, plan_recipe, predict, record, train
from subjects import HIERARCHICAL, SEVERAL, SUBJECTS, classifier

WORDS, SENTENCES = Site("attention", "words"), Site("attention", "sentences")
each_han = pytest.mark.parametrize("name", HIERARCHICAL)
TEXT = Example("x", "Not so bad. \N{NO-BREAK SPACE} It isn't a film ! good", label=1)
OF_TEXT = [["not", "so", "bad", "."], ["it", "is", "n't", "a", "film", "!"], ["good"]]  # as the vocabulary cuts it


def rows_of(subject, text):
    """Each sentence's embeddings in float64, cut by hand."""
    number = {token: place for place, token in enumerate(subject.vocabulary.tokens)}
    table = subject.embed.weight.detach().double()
    return [torch.stack([table[number.get(token, 1)] for token in tokens]) for tokens in text]


def attend(attention, states):
    """tanh attention written out: weights, and the mixture."""
    w, b, v = (p.detach().double() for p in (*attention.of_state.parameters(), attention.score.weight))
    scores = torch.tensor([float(v[0] @ torch.tanh(w @ state + b)) for state in states])
    weights = (scores.double() - scores.max()).exp()
    weights = weights / weights.sum()
    return weights, sum(weight * state for weight, state in zip(weights, states, strict=True))


def bidirectional(encoder, sequence):
    """torch's own two-way GRU with the encoder's weights, over one sequence alone."""
    both = nn.GRU(sequence.shape[1], encoder.size // 2, batch_first=True, bidirectional=True).double()
    state = {name: value.double() for name, value in encoder.ahead.state_dict().items()}
    state |= {f"{name}_reverse": value.double() for name, value in encoder.behind.state_dict().items()}
    both.load_state_dict(state)
    with torch.no_grad():
        return both(sequence[None])[0][0]


@pytest.mark.parametrize("encoder", ["none", "gru"])
def test_by_hand(encoder):
    subject = classifier([*SEVERAL, TEXT], encoder=encoder, hierarchical=True)

    def encode(encode, sequence):
        return sequence if encoder == "none" else bidirectional(encode, sequence)

    within, vectors = [], []
    for sentence in rows_of(subject, OF_TEXT):
        weights, vector = attend(subject.attention["words"], encode(subject.encoder, sentence))
        within.append(weights)
        vectors.append(vector)
    of_sentences, context = attend(
        subject.attention["sentences"], encode(subject.encode_sentences, torch.stack(vectors))
    )
    weight, bias = (p.detach().double() for p in subject.output.parameters())
    z = float(weight[0] @ context + bias[0])

    run = subject.run(subject.encode([TEXT]), want=[WORDS, SENTENCES])
    assert torch.allclose(run.logits[0, 0].double(), torch.tensor([0.0, z]).double(), atol=1e-6)
    assert torch.allclose(run.parts[SENTENCES][0, 0, 0].double(), of_sentences, atol=1e-6)
    expected = torch.block_diag(*within)
    assert torch.allclose(run.parts[WORDS][0, 0].double(), expected, atol=1e-6)
    assert (run.parts[WORDS][0, 0][expected == 0] == 0).all()
    heat = torch.cat([share * own for share, own in zip(of_sentences, within, strict=True)])
    assert torch.allclose(token_weights(subject, run)[0].double(), heat, atol=1e-6)


def test_where_sentences_are():
    subject, _ = HIERARCHICAL["han gru"]
    batch = subject.encode([TEXT, Example("y", "dull"), Example("z", "\N{NO-BREAK SPACE} . a . b")])
    assert batch.inputs["sentence"].tolist() == [
        [0] * 4 + [1] * 6 + [2],
        [0] + [-1] * 10,
        [0, 1, 1, 2] + [-1] * 7,
    ], "a word without a token makes no sentence"
    assert torch.equal(batch.valid, batch.scored), "no start, no end"
    assert readable_keys(subject, batch).tolist() == [[True] * 3, [True, False, False], [True] * 3]
    assert (name_of_keys(subject), heat_sites(subject)) == ("sentence", (WORDS, SENTENCES))
    run = subject.run(batch, want=[SENTENCES])
    assert run.parts[SENTENCES][1, 0, 0].tolist() == [1, 0, 0], "the one sentence has all the weight"
    with pytest.raises(BadInput, match="score is not an attention site of a hierarchical classifier"):
        subject.allowed(Site("score"), batch)


def test_sentences_are_numbered_without_gaps(monkeypatch):
    """Were a sentence cut that has no token, the next would take its number: no sentence is empty."""
    monkeypatch.setattr(hierarchical, "sentence_of", lambda words: tuple(range(len(words))))
    subject, _ = HIERARCHICAL["han gru"]
    batch = subject.encode([Example("gap", "bad \N{NO-BREAK SPACE} good isn't")])
    assert batch.inputs["sentence"].tolist() == [[0, 1, 2, 2]]
    assert readable_keys(subject, batch).tolist() == [[True] * 3]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.lists(st.integers(1, 40), min_size=1, max_size=6), min_size=1, max_size=5))
def test_every_token_is_in_one_group_of_like_lengths(lengths):
    rows = [[number for number, n in enumerate(row) for _ in range(n)] for row in lengths]
    longest = max(map(len, rows))
    sentence = torch.tensor([row + [-1] * (longest - len(row)) for row in rows])
    seen = []
    for place, inside in sentences_by_length(sentence):
        each = inside.sum(1)
        assert each.max() <= 2 * each.min()
        assert each.max() == place.shape[1]
        for at, own in zip(place, inside, strict=True):
            tokens = at[own]
            seen += tokens.tolist()
            assert (tokens.diff() == 1).all()
            assert len(set(sentence.flatten()[tokens].tolist())) == 1
    assert sorted(seen) == (sentence >= 0).flatten().nonzero()[:, 0].tolist()


def test_one_long_sentence_does_not_pad_the_others(monkeypatch):
    subject, _ = HIERARCHICAL["han gru"]
    read, forward = [], subject.encoder.forward
    monkeypatch.setattr(subject.encoder, "forward", lambda *args: read.append(args[0].shape) or forward(*args))
    subject.run(
        subject.encode([Example("long", "good " * 300 + "."), *(Example(f"s{n}", "a . b .") for n in range(50))])
    )
    assert sum(sentences * tokens for sentences, tokens, _ in read) < 1.1 * (301 + 50 * 4)


@each_han
def test_the_heatmap_is_over_words(name):
    """A word's sentence's weight times its own within the sentence; the weights of a text sum to 1."""
    subject, examples = HIERARCHICAL[name]
    scores = explain_one(subject, examples, "attention")
    assert np.allclose(scores.values.sum(1), 1)
    batch = subject.encode(examples)
    with torch.no_grad():
        run = subject.run(batch, want=subject.sites)
    assert all((run.parts[site][~subject.allowed(site, batch)[:, None]] == 0).all() for site in subject.sites)
    for row, example in enumerate(examples):
        for word in range(len(example.words)):
            parts = [
                float(run.parts[SENTENCES][row, 0, 0, sentence] * run.parts[WORDS][row, 0, sentence, token])
                for token, sentence in enumerate(batch.inputs["sentence"][row].tolist())
                if batch.word[row, token] == word
            ]
            assert scores.values[row, word] == pytest.approx(sum(parts), abs=1e-6)
    case = Case(subject, examples, labels=subject.labels)
    assert case.readout is not None
    assert np.allclose(case.scores("attention").values, scores.values), (
        "not the weights of sentences, at hand as they are"
    )
    assert case.weights[0].shape == case.readout.allowed.shape == readable_keys(subject, batch).shape


def slope(subject, example, edits):
    """d p(predicted) / d embedding by finite differences in float64, dotted with the embedding, a token each."""
    subject = subject.double()
    batch = subject.encode([example])
    with torch.no_grad():
        run = subject.run(batch, want=[Site("embedding")], edits=edits)
        label, embedded = int(subject.run(batch).logits.argmax()), run.parts[Site("embedding")]
        found = []
        for token in range(embedded.shape[1]):
            p = []
            for step in (1e-5, -1e-5):
                moved = embedded.clone()
                moved[0, token] *= 1 + step
                p.append(subject.run(batch, edits={**edits, Site("embedding"): moved}).logits.softmax(-1)[0, 0, label])
            found.append(float(p[0] - p[1]) / 2e-5)
    return np.array(found)


@pytest.mark.parametrize("explainer", ["gradient", "gradient_uniform", "gradient_through", "gradient_x_input"])
def test_gradients(explainer):
    """Held fixed means both attentions, and uniform means words within a sentence and sentences alike."""
    subject = classifier(SEVERAL, encoder="gru", hierarchical=True)
    example = SEVERAL[2]
    batch = subject.encode([example])
    with torch.no_grad():
        own = subject.run(batch, want=subject.sites).parts
    assert min(float(own[site].std()) for site in subject.sites) > 1e-3, "weights that are not uniform anyway"
    scores = explain_one(subject, [example], explainer)
    if explainer == "gradient":
        edits = {site: weights.double() for site, weights in own.items()}
    elif explainer == "gradient_uniform":
        lengths = np.bincount(batch.inputs["sentence"][0].numpy())
        even = [torch.full((1, int(n)), 1 / n, dtype=torch.float64) for n in lengths]
        edits = {WORDS: torch.block_diag(*even)[None, None]}
        edits[SENTENCES] = torch.full((1, 1, 1, len(lengths)), 1 / len(lengths), dtype=torch.float64)
    else:
        edits = {}
    expected = slope(subject, example, edits)
    word = batch.word[0].numpy()
    if explainer != "gradient_x_input":
        expected = np.abs(expected)
    assert np.allclose(scores.values[0], np.bincount(word, weights=expected), atol=1e-5)
    assert np.abs(expected).max() > 1e-3


@each_han
def test_leave_one_out_deletes_from_the_text(name):
    """Without its stop a sentence goes on in the next, which only the text can tell."""
    subject, examples = HIERARCHICAL[name]
    scores = explain_one(subject, examples, "leave_one_out")
    assert list(scores.missing) == ["e1"], "one word only"
    for row, example in enumerate(examples):
        if example.id in scores.missing:
            continue
        whole = np.exp(predict(subject, [example])[0, 0])
        for word in range(len(example.words)):
            rest = np.exp(predict(subject, [delete(example, {word})])[0, 0])
            assert scores.values[row, word] == pytest.approx(whole.max() - rest[whole.argmax()], abs=2e-6)
    joined = subject.encode([delete(examples[3], {3})]), subject.encode([delete(examples[0], {2})])
    assert [int(batch.inputs["sentence"].max()) for batch in joined] == [0, 0]


@each_han
@pytest.mark.parametrize("epsilon", [0.05, 0.001])
def test_other_weights_over_sentences_give_the_same_answer(name, epsilon):
    """By the whole forward pass: nothing of the short cut is believed."""
    subject, examples = HIERARCHICAL[name]
    found = stand_ins(subject, examples, epsilon=epsilon)
    batch = subject.encode(examples)
    weights = torch.from_numpy(found.weights).float()[:, None]
    with torch.no_grad():
        own, other = (subject.run(batch, edits=e).logits.softmax(-1) for e in ({}, {SENTENCES: weights}))
    assert ((own - other).abs().sum(-1) / 2).max() <= epsilon + 2e-6
    assert found.jsd[1] == 0, "one sentence has no other weights"
    assert found.jsd.max() > 0.01


@pytest.mark.parametrize("explainer", ["relevance", "contribution", "counterfactual"])
def test_explainers_that_are_about_a_words_own_vote(explainer):
    subject, examples = HIERARCHICAL["han gru"]
    with pytest.raises(NotSupported, match=r"attends to sentences\.$"):
        explain_one(subject, examples, explainer)


@pytest.mark.parametrize("check", ["gauge", "guide", "log_odds"])
def test_checks_that_are_about_words(check):
    subject, examples = HIERARCHICAL["han none"]
    case = Case(subject, examples, labels=subject.labels)
    with pytest.raises(NotSupported, match="sentences"):
        CHECKS[check].measure(case, CHECKS[check].settings())
    assert read_out(subject, examples).of_word is None


def test_uniform_everywhere():
    subject, examples = HIERARCHICAL["han gru"]
    batch = subject.encode(examples)
    parts = subject.run(batch, edits=uniform_edits(subject, batch), want=subject.sites).parts
    for site in subject.sites:
        allowed = subject.allowed(site, batch)[:, None]
        assert (parts[site][~allowed] == 0).all()
        assert torch.allclose(parts[site], allowed / allowed.sum(-1, keepdim=True).clamp(min=1))
    flat, examples = SUBJECTS["lstm"]
    batch = flat.encode(examples)
    (even,) = flat.run(batch, edits=uniform_edits(flat, batch), want=flat.sites).parts.values()
    assert torch.allclose(even[:, 0, 0], batch.scored / batch.scored.sum(1, keepdim=True))


@pytest.mark.parametrize("wrong", [{"segments": 2}, {"segments": 2, "decoder": "merge"}, {"label_wise": True}])
def test_what_cannot_be_hierarchical(wrong):
    with pytest.raises(BadInput, match=r"^hierarchical=true needs segments=1, decoder=linear and"):
        ClassifierSettings(hierarchical=True, **wrong)


# Trained ---------------------------------------------------------------------------------------------------------

SMALL = {"encoder": "gru", "hierarchical": True, "embedding": 16, "hidden": 8, "dropout": 0.0}


@pytest.fixture(scope="module")
def stories():
    """Four sentences, of which one has an opinion; the others are about nothing."""
    rng = np.random.default_rng(0)

    def story(number):
        label = number % 2
        sentences = [
            " ".join(rng.choice(["the", "film", "was", "long", "and", "slow"], rng.integers(1, 6))) for _ in "abc"
        ]
        sentences.insert(rng.integers(4), f"it is {('bad', 'good')[label]}")
        marks = {}
        text = " . ".join(sentences) + " ."
        marks["rationale"] = tuple(word in ("bad", "good") for word in text.split(" "))
        return Example(f"s{number}", text, label=label, marks=marks)

    rows = [story(number) for number in range(240)]
    splits = {
        name: Split(name, tuple(rows[a:b])) for name, a, b in (("train", 0, 160), ("dev", 160, 200), ("test", 200, 240))
    }
    return Corpus("stories", ("no", "yes"), splits, tokens="spaces")


@pytest.fixture(scope="module")
def fit(stories, tmp_path_factory):
    out = tmp_path_factory.mktemp("fits") / "base"
    return train(stories, out=out, epochs=4, learning_rate=0.02, progress=False, device="cpu", **SMALL)


def test_trained_kept_and_audited(fit, stories):
    assert isinstance(fit.subject, HierarchicalClassifier)
    assert fit.test.accuracy == 1
    again = load_folder(fit.folder)
    test = stories["test"].examples
    assert np.array_equal(predict(again, test), predict(fit.subject, test))
    assert again.recipe.model["hierarchical"] is True
    found = record(again, test)
    assert {weights.shape for weights in found.each} == {(1, 1, 4)}
    assert np.allclose(found.weights.sum(1), 1)

    looked = audit(fit.folder, stories, examples=12, settings={"erasure.rivals": "leave_one_out,gradient_x_input"})
    assert {"agreement", "counterfactual", "erasure", "necessity", "permutation"} <= looked.results.keys()
    assert all("attends to sentences" in looked.not_run[check] for check in ("gauge", "guide"))
    assert {"relevance", "counterfactual"}.isdisjoint(looked.examples[0].scores)
    assert len(looked.examples[0].scores["attention"]) == len(looked.examples[0].words)
    permuted = looked.results["permutation"]
    assert len(permuted.examples) == 12
    assert not permuted.excluded


def test_other_fits_of_it(fit, stories):
    """Under uniform weights over sentences, and an adversary of which only the attentions are trained."""
    store = fit.folder.parent
    even = replace(fit.subject.recipe, impose={"weights": "uniform"})
    fit_recipe(even, stories, store / even.id, device="cpu")
    test = stories["test"].examples
    weights = record(load_folder(store / even.id), test, impose=even.impose).weights
    assert np.allclose(weights, 0.25)
    loss = {"name": "adversarial", "parent": "base", "strength": 0.1, "start": "parent", "trains": "attention"}
    recipe = plan_recipe(stories, loss=loss, epochs=1, **SMALL)
    fit_recipe(recipe, stories, store / recipe.id, device="cpu")
    theirs, mine = (load_folder(folder).state_dict() for folder in (store / recipe.id, fit.folder))
    changed = {name.partition(".")[0] for name, weights in theirs.items() if not torch.equal(weights, mine[name])}
    assert changed == {"attention"}


def test_an_adversary_moves_weights_over_sentences(fit, stories):
    """The loss is the total variation of the answers less the divergence of the weights, written out."""
    test = stories["test"].examples[:6]
    other = classifier(test, encoder="gru", hierarchical=True)
    batch = other.encode(test)
    adversarial = LOSSES["adversarial"]
    with torch.no_grad():
        run = other.run(batch, want=[*adversarial.wants(other), SENTENCES])
    facts = {"strength": 0.5, "as_published": False}
    parent = record(fit.subject, test)
    found = adversarial.of(other, run, batch, facts, parent)
    own, theirs = run.parts[SENTENCES][:, 0, 0].double().numpy(), parent.weights.astype(float)
    apart = np.abs(parent.probabilities - run.logits[:, 0].double().softmax(-1).numpy()).sum(1) / 2
    divergence = (theirs * np.log(theirs / own)).sum(1)
    assert np.allclose(found.numpy(), apart - 0.5 * divergence, atol=1e-5)


@pytest.mark.parametrize(
    "about", [{"loss": "deceptive"}, {"loss": "log_odds_regularised"}, {"impose": {"weights": "log_odds"}}]
)
def test_what_is_about_words_is_not_trained(about, stories, fit):
    with pytest.raises(
        BadInput, match="needs attention over words, but a hierarchical classifier attends to sentences"
    ):
        train(stories, progress=False, device="cpu", **SMALL, **about)
    with pytest.raises(NotSupported, match="attends to sentences"):
        log_odds_weights(fit.subject, fit.subject.encode(stories["test"].examples[:2]))


def test_who_attends_to_parts():
    assert all(isinstance(subject, AttendsToParts) for subject, _ in HIERARCHICAL.values())
    assert not any(isinstance(subject, AttendsToParts) for subject, _ in SUBJECTS.values())
    assert name_of_keys(SUBJECTS["lstm"][0]) == "word"
