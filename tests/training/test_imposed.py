"""Imposed weights: what each kind is, what it depends on, and that random ones can be trained with and resumed."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import chisquare, kstest

from heatcheck.data import Corpus, Example, Split, load_task
from heatcheck.models import readable_keys
from heatcheck.training import IMPOSED, evaluate, fit_recipe, imposed, plan_recipe, record, train, train_loop
from subjects import SUBJECTS, classifier

DRAWN = ("permuted", "random")
# Three sentences of 5, 2 and 6 words: what a hierarchical model attends to.
SENTENCES = (
    Example("a", "the plot is thin . good ! the acting is very good .", label=0),
    Example("b", "dull .", label=1),
)


def weights_of(subject, examples, kind):
    """The weights that the read-out has under a kind, one row an example, and the keys that may have some."""
    batch = subject.encode(examples)
    site = subject.sites[-1]
    with torch.no_grad():
        used = subject.run(batch, edits=imposed(subject, batch, kind and {"weights": kind}), want=[site]).parts[site]
    return used.numpy(), readable_keys(subject, batch).numpy()


@pytest.fixture
def training():
    """An LSTM as it is while it is trained, without dropout."""
    subject = classifier(SUBJECTS["lstm"][1], dropout=0.0)
    return subject.train()


@pytest.mark.parametrize("name", ["lstm", "cnn", "pair merge", "label-wise", "reader@planted_contrast"])
@pytest.mark.parametrize("kind", ["first", "last", "uniform", *DRAWN])
def test_weights_are_weights(name, kind):
    subject, examples = SUBJECTS[name]
    used, readable = weights_of(subject, examples, kind)
    own, _ = weights_of(subject, examples, None)
    assert used.shape == own.shape
    np.testing.assert_allclose(used.sum(-1), 1, atol=1e-6)
    assert (used >= 0).all()
    assert (used[~np.broadcast_to(readable[:, None, None], used.shape)] == 0).all(), "none on padding or a question"
    assert any(not np.allclose(a, b) for a, b in zip(used, own, strict=True))


def test_the_ends_of_a_text_are_those_of_what_may_be_read():
    subject, examples = SUBJECTS["pair merge"]
    _, readable = weights_of(subject, examples, None)
    for kind, end in (("first", 0), ("last", -1)):
        used, _ = weights_of(subject, examples, kind)
        for row, keys in zip(used[:, 0, 0], readable, strict=True):
            assert np.flatnonzero(row).tolist() == [np.flatnonzero(keys)[end]]


def test_of_a_hierarchical_model_sentences_are_weighted():
    subject = classifier(SENTENCES, hierarchical=True)
    own, readable = weights_of(subject, SENTENCES, None)
    assert readable.tolist() == [[True, True, True], [True, False, False]]
    found = {kind: weights_of(subject, SENTENCES, kind)[0][:, 0, 0] for kind in ("first", "last", "uniform", *DRAWN)}
    assert found["first"].tolist() == [[1, 0, 0], [1, 0, 0]]
    assert found["last"].tolist() == [[0, 0, 1], [1, 0, 0]]
    np.testing.assert_allclose(found["uniform"], [[1 / 3, 1 / 3, 1 / 3], [1, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(np.sort(found["permuted"]), np.sort(own[:, 0, 0]), atol=1e-6)
    np.testing.assert_allclose(found["random"].sum(-1), 1, atol=1e-6)


# In evaluation ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lstm", "pair merge", "label-wise"])
def test_permuted_are_the_model_s_own_in_another_order(name):
    subject, examples = SUBJECTS[name]
    used, readable = weights_of(subject, examples, "permuted")
    own, _ = weights_of(subject, examples, None)
    np.testing.assert_array_equal(np.sort(used), np.sort(own))
    moved = [not np.array_equal(a, b) for a, b, keys in zip(used, own, readable, strict=True) if keys.sum() > 3]
    assert moved
    assert all(moved)


@pytest.mark.parametrize("kind", DRAWN)
def test_in_evaluation_they_depend_on_the_id_alone(kind):
    subject, examples = SUBJECTS["lstm"]
    torch.manual_seed(0)
    whole = record(subject, examples, impose={"weights": kind})
    torch.manual_seed(1)
    alone = [record(subject, [example], impose={"weights": kind}) for example in examples]
    for row, one in enumerate(alone):
        np.testing.assert_allclose(one.each[0], whole.each[row], atol=1e-6)
    renamed = record(
        subject, [replace(example, id=f"other {example.id}") for example in examples], impose={"weights": kind}
    )
    assert not np.allclose(renamed.weights, whole.weights)


def test_random_ones_are_uniform_on_the_simplex():
    subject, _ = SUBJECTS["lstm"]
    examples = [Example(str(n), "not so bad", label=0) for n in range(3000)]
    found = record(subject, examples, impose={"weights": "random"}).weights
    # Of three: each has the density 2(1 − w).
    assert all(kstest(found[:, key], lambda w: 1 - (1 - w) ** 2).pvalue > 1e-3 for key in range(3))


def test_permuted_ones_have_every_order_alike():
    subject, _ = SUBJECTS["lstm"]
    examples = [Example(str(n), "not so bad", label=0) for n in range(3000)]
    found = record(subject, examples, impose={"weights": "permuted"}).weights
    _, counts = np.unique(found.round(6), axis=0, return_counts=True)
    assert len(counts) == 6
    assert chisquare(counts).pvalue > 1e-3


# In training -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", DRAWN)
def test_in_training_they_are_drawn_anew_from_torch(kind, training):
    examples = SUBJECTS["lstm"][1]
    torch.manual_seed(0)
    first, second = (weights_of(training, examples, kind)[0] for _ in range(2))
    assert not np.allclose(first, second)
    torch.manual_seed(0)
    np.testing.assert_array_equal(weights_of(training, examples, kind)[0], first)


@pytest.mark.parametrize("kind", DRAWN)
def test_texts_of_a_batch_have_draws_of_their_own(kind, training):
    used, _ = weights_of(training, [Example(str(n), "not so bad", label=0) for n in range(200)], kind)
    orders = np.unique(used[:, 0, 0].argsort(-1), axis=0)
    assert len(orders) == 6


def test_shuffled_weights_are_learned_and_random_ones_are_not(training):
    batch = training.encode(SUBJECTS["lstm"][1])
    moved = {}
    for kind in DRAWN:
        training.zero_grad()
        training.run(batch, edits=imposed(training, batch, {"weights": kind})).logits.logsumexp(-1).sum().backward()
        gradients = [p.grad for p in training.attention.parameters()]
        moved[kind] = any(gradient is not None and bool(gradient.any()) for gradient in gradients)
    assert moved == {"permuted": True, "random": False}


@pytest.mark.parametrize("kind", DRAWN)
def test_stopped_and_resumed_it_ends_with_the_same_weights(kind, tmp_path, monkeypatch):
    from safetensors.torch import load_file

    import heatcheck.training.fit as fit_module

    whole = load_task("planted_keyword")
    corpus = Corpus("small", whole.labels, {n: Split(n, whole[n].examples[:100]) for n in whole.splits}, whole.tokens)
    recipe = plan_recipe(corpus, hidden=8, embedding=8, epochs=3, impose={"weights": kind})
    fit_recipe(recipe, corpus, tmp_path / "whole")
    steps = iter(range(10_000))

    def interrupted(*arguments, **options):
        def watch(*_):
            if next(steps) == 6:  # of 4 an epoch: in the middle of the second
                raise KeyboardInterrupt

        return train_loop(*arguments, **{**options, "watch": watch})

    monkeypatch.setattr(fit_module, "train_loop", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit_recipe(recipe, corpus, tmp_path / "resumed")
    fit_recipe(recipe, corpus, tmp_path / "resumed")
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "resumed"))
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert (tmp_path / "whole" / "training.jsonl").read_text() == (tmp_path / "resumed" / "training.jsonl").read_text()


def test_a_model_learns_under_weights_that_reach_every_word():
    whole = load_task("planted_keyword")
    few = replace(whole, splits={name: Split(name, whole[name].examples[:400]) for name in whole.splits})
    small = {"hidden": 16, "embedding": 32, "epochs": 4, "learning_rate": 0.02, "dropout": 0.0, "progress": False}
    for kind in DRAWN:
        fit = train(few, encoder="average", impose={"weights": kind}, **small)
        assert fit.test.accuracy > 0.7 > fit.test.majority + 0.15, kind
        assert evaluate(fit.subject, few["test"], impose={"weights": kind}) == fit.test


def test_the_kinds():
    assert IMPOSED.keys() == {"first", "last", "log_odds", "parent", "permuted", "random", "uniform"}
