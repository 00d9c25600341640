"""The baseline beside every model: scikit-learn's own logistic regression on counts of the model's own words."""

import dataclasses
import json
import sys

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from heatcheck.data import Corpus, Example, Split, build_vocabulary, texts_of
from heatcheck.errors import BadInput, MissingPackage
from heatcheck.training import fit_bag_of_words, fit_recipe, made_once, plan_recipe, train

TINY = {"encoder": "average", "hidden": 4, "embedding": 4, "epochs": 1, "progress": False}


def weak_words(seed, count, labels=2):
    """Texts of 12 words, each of which says a little: a penalty that keeps a few strong words has nothing to keep."""
    generator = np.random.default_rng(seed)
    odds = np.random.default_rng(0).normal(size=(labels, 400))
    words = np.array([f"w{number}" for number in range(397)] + ["the", "not", "a"])  # stop words speak too
    examples = []
    for number in range(count):
        label = int(generator.integers(labels))
        picked = generator.choice(words, size=12, p=softmax(0.4 * odds[label]))
        examples.append(Example(f"{seed}-{number}", " ".join(picked), label=label))
    return tuple(examples)


@pytest.fixture(scope="module")
def corpus():
    splits = {"train": weak_words(1, 400), "dev": weak_words(2, 40), "test": weak_words(3, 400)}
    return Corpus("weak", ("no", "yes"), {name: Split(name, of) for name, of in splits.items()}, "spaces")


def by_scikit_learn(train, test, **settings):
    count = CountVectorizer(token_pattern=r"\S+")
    fitted = LogisticRegression(max_iter=1000, **settings)
    fitted.fit(count.fit_transform([e.text for e in train]), [e.label for e in train])
    return fitted.predict_proba(count.transform([e.text for e in test]))


def test_a_model_s_baseline_is_the_standard_one(corpus):
    """Weak words add up; the regression that keeps the strongest words alone is near chance here."""
    standard = by_scikit_learn(corpus["train"], corpus["test"])
    right = float((standard.argmax(-1) == [e.label for e in corpus["test"]]).mean())
    assert right > 0.7, "otherwise there is nothing to lose"
    fitted = train(corpus, **TINY)
    assert fitted.logistic_regression["accuracy"] == pytest.approx(right, abs=0.003)
    summary = json.loads((fitted.folder / "training.json").read_text())
    assert summary["logistic_regression"] == fitted.logistic_regression
    assert summary["logistic_regression"]["penalty"] == "L2"
    assert summary["log_odds"]["accuracy"] < right - 0.02, "what the table of log-odds comes from, and no baseline"


@pytest.mark.parametrize("labels", [2, 3])
def test_probabilities_are_scikit_learn_s(labels):
    examples, others = weak_words(4, 200, labels), weak_words(5, 50, labels)
    names = ("a", "b", "c", "never")[: labels + (labels > 2)]
    found = fit_bag_of_words(build_vocabulary(texts_of(examples)), names, examples)
    logs = found.log_probabilities(others)
    assert logs.shape == (50, 1, len(names))
    assert np.allclose(np.exp(logs).sum(-1), 1)
    assert np.allclose(np.exp(logs[:, 0, :labels]), by_scikit_learn(examples, others), atol=5e-3)
    assert found.converged


def test_words_are_counted():
    """Thrice is more than once, and words that no training text has say nothing."""
    examples = [Example(f"e{n}", "good bad " + ("good good" if n % 2 else "bad bad"), label=n % 2) for n in range(20)]
    found = fit_bag_of_words(build_vocabulary(texts_of(examples)), ("no", "yes"), examples)
    once, thrice, plain, unknown = np.exp(
        found.log_probabilities([Example(t, t) for t in ("good", "good good good", "film", "<pad> <unk>")])[:, 0, 1]
    )
    assert plain == unknown < once < thrice


def test_options_pairs_and_several_labels():
    examples = weak_words(6, 120, 3)
    vocabulary = build_vocabulary(texts_of(examples))
    found = fit_bag_of_words(vocabulary, ("a", "b", "c"), examples)
    free = np.exp(found.log_probabilities(examples)[:, 0])
    bound = np.exp(found.log_probabilities([dataclasses.replace(e, options=(0, 2)) for e in examples])[:, 0])
    assert (bound[:, 1] == 0).all()
    assert np.allclose(bound[:, [0, 2]], free[:, [0, 2]] / free[:, [0, 2]].sum(1, keepdims=True))

    sets = [dataclasses.replace(e, label=(0,) if e.label else (0, 1)) for e in examples]
    each = fit_bag_of_words(vocabulary, ("always", "b", "never"), sets, several=True)
    logs = each.log_probabilities(sets)
    assert logs.shape == (120, 3, 2)
    assert (logs[:, 0, 1] > np.log(0.99)).all()
    assert (logs[:, 2, 0] > np.log(0.99)).all()
    assert (logs[:, 1].argmax(-1) == [len(e.label) == 2 for e in sets]).mean() > 0.8

    asked = [Example(f"q{n}", "a lamp a tree", "lamp" if n % 2 else "tree", n % 2) for n in range(30)]
    pairs = fit_bag_of_words(build_vocabulary(texts_of(asked)), ("no", "yes"), asked)
    assert (pairs.log_probabilities(asked)[:, 0].argmax(-1) == [e.label for e in asked]).all()
    assert pairs.words == 6, "a word of the question is another feature than the same word of the text"


def test_without_scikit_learn_the_reason_is_kept(corpus, tmp_path, monkeypatch):
    made_once.forget()
    for module in ("sklearn.linear_model", "sklearn.feature_extraction.text"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackage, match="scikit-learn"):
        fit_bag_of_words(build_vocabulary(["a b"]), corpus.labels, corpus["train"].examples)
    chosen = {name: value for name, value in TINY.items() if name != "progress"}
    fit_recipe(plan_recipe(corpus, **chosen), corpus, tmp_path / "m")
    summary = json.loads((tmp_path / "m" / "training.json").read_text())
    assert "pip install scikit-learn" in summary["logistic_regression"]["not_fitted"]


def test_a_folder_with_the_baseline_of_before_says_so(corpus):
    """Its number was that of a weaker regression: none is better than a wrong one."""
    fitted = train(corpus, **TINY)
    summary = json.loads((fitted.folder / "training.json").read_text())
    summary["logistic_regression"] = summary.pop("log_odds")
    (fitted.folder / "training.json").write_text(json.dumps(summary))
    again = train(corpus, **TINY)
    assert again.reused
    assert again.logistic_regression == {"not_fitted": "an older heatcheck trained this model"}


def test_what_has_no_label_is_refused():
    with pytest.raises(BadInput, match="the example x has no label"):
        fit_bag_of_words(build_vocabulary(["a"]), ("no", "yes"), [Example("x", "a")])
