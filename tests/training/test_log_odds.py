"""The log-odds of a bag of words: equal to scikit-learn's own, and put to use in training."""

import dataclasses
import json
import sys

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from sklearn.preprocessing import normalize

from heatcheck.data import Corpus, Example, Split, build_vocabulary, load_task, texts_of, tokenize
from heatcheck.data.planted import NEGATIVE, POSITIVE
from heatcheck.data.vocabulary import SPECIAL
from heatcheck.errors import BadInput, BrokenFolder, MissingPackage, NotSupported, UnknownName
from heatcheck.models import Site, load, log_odds_weights, word_log_odds
from heatcheck.stats import jensen_shannon_nats
from heatcheck.training import (
    LOSSES,
    build,
    evaluate,
    fit_logistic_regression,
    fit_recipe,
    imposed,
    made_once,
    plan_recipe,
    predict,
    train,
    train_loop,
)
from heatcheck.training.evaluation import score
from heatcheck.training.logistic_regression import _bags, _in_bags
from subjects import SINGLE, classifier

SMALL = {"encoder": "average", "hidden": 8, "embedding": 8, "epochs": 3}
ATTENTION = Site("attention")


@pytest.fixture(scope="module")
def corpus():
    """300 keyword texts, with a stop word at the end of each."""
    whole = load_task("planted_keyword")
    splits = {
        name: Split(
            name, tuple(dataclasses.replace(e, text=f"{e.text} not", marks={}) for e in whole[name].examples[:300])
        )
        for name in whole.splits
    }
    return Corpus("small", whole.labels, splits, whole.tokens)


@pytest.fixture(scope="module")
def folder(corpus, tmp_path_factory):
    made = tmp_path_factory.mktemp("fits") / "plain"
    fit_recipe(plan_recipe(corpus, **SMALL), corpus, made)
    return made


def texts(seed, n=120, labels=2):
    """Words in and out of the stop list, more of some in some labels."""
    generator = np.random.default_rng(seed)
    words = np.array(["the", "a", "Not", "very", "plot", "actor", "dull", "lovely", "odd", "slow", "it's", "wow!"])
    examples = []
    for number in range(n):
        label = int(generator.integers(labels))
        odds = np.ones(len(words))
        odds[4 + label] += 1.5
        picked = generator.choice(words, size=generator.integers(1, 9), p=odds / odds.sum())
        examples.append(Example(f"t{number}", " ".join(picked), label=label))
    return examples


def by_scikit_learn(vocabulary, examples, gold):
    """The same regression, without a line of ours."""
    import sklearn
    from sklearn.linear_model import LogisticRegression

    words = [w for w in vocabulary.tokens[len(SPECIAL) :] if w not in ENGLISH_STOP_WORDS]
    count = CountVectorizer(
        binary=True, vocabulary=words, lowercase=False, token_pattern=None, tokenizer=lambda t: t.split("\0")
    )
    cut = ["\0".join(token for token, _ in tokenize(e.text, vocabulary.rule)) for e in examples]
    bags = normalize(count.transform(cut).astype(float))
    old = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8)
    penalty = {"penalty": "l1"} if old else {"l1_ratio": 1.0}
    model = LogisticRegression(
        **penalty, C=1.0, solver="liblinear", class_weight="balanced", random_state=0, max_iter=10_000, tol=1e-8
    )
    model.fit(bags, gold)
    return words, bags, model


@pytest.mark.parametrize("seed", range(3))
def test_two_labels_as_scikit_learn_has_them(seed):
    examples = texts(seed)
    vocabulary = build_vocabulary(texts_of(examples))
    gold = np.array([e.label for e in examples])
    words, bags, model = by_scikit_learn(vocabulary, examples, gold)
    found = fit_logistic_regression(vocabulary, ("no", "yes"), examples)
    assert found.converged
    expected = dict(zip(words, model.coef_[0], strict=True))
    assert np.abs(model.coef_).max() > 1, "otherwise there is nothing to compare"
    for number, token in enumerate(vocabulary.tokens):
        against, in_favour = found.log_odds[number]
        if token in expected:
            assert in_favour == pytest.approx(expected[token], abs=0.02), token
            assert against == -in_favour
        else:
            assert token in ENGLISH_STOP_WORDS or token in SPECIAL
            assert np.isnan([against, in_favour]).all()
    assert found.words == np.count_nonzero(found.log_odds[np.isfinite(found.log_odds[:, 1]), 1])
    probabilities = np.exp(found.log_probabilities(examples))[:, 0]
    assert np.allclose(probabilities, model.predict_proba(bags), atol=5e-3)


def test_the_penalty_and_the_balance_are_those_of_the_optimum():
    """Slopes of the weighted likelihood: ±1 where a word is in, no steeper where it is out."""
    examples = texts(5, n=200)
    examples += [e for e in examples if e.label == 0]  # uneven classes
    vocabulary = build_vocabulary(texts_of(examples))
    found = fit_logistic_regression(vocabulary, ("no", "yes"), examples)
    bags = _bags(vocabulary, examples, _in_bags(vocabulary), segments=1)
    gold = np.array([e.label for e in examples])
    assert abs(gold.mean() - 0.5) > 0.1
    weight = len(gold) / (2 * np.bincount(gold)[gold])
    p = np.exp(found.log_probabilities(examples)[:, 0, 1])
    slope = bags.T @ (weight * (gold - p))
    coefficients = found.log_odds[_in_bags(vocabulary), 1]
    used = coefficients != 0
    assert used.sum() > 0
    assert np.allclose(slope[used], np.sign(coefficients[used]), atol=0.02)
    assert (np.abs(slope[~used]) <= 1.02).all()


def test_more_labels_are_one_against_the_rest():
    examples = texts(1, n=200, labels=3)
    vocabulary = build_vocabulary(texts_of(examples))
    found = fit_logistic_regression(vocabulary, ("a", "b", "c", "never"), examples)
    for label in range(3):
        gold = np.array([e.label == label for e in examples])
        words, _, model = by_scikit_learn(vocabulary, examples, gold)
        numbers = [vocabulary.tokens.index(word) for word in words]
        assert np.allclose(found.log_odds[numbers, label], model.coef_[0], atol=0.02)
    assert (found.log_odds[numbers, 3] == 0).all(), "a label that no text has"
    logs = found.log_probabilities(examples)
    assert logs.shape == (200, 1, 4)
    assert np.allclose(np.exp(logs).sum(-1), 1)
    assert np.isfinite(logs).all()
    assert np.exp(logs[:, 0, 3]).max() < 0.02
    assert (logs[:, 0].argmax(-1) == [e.label for e in examples]).mean() > 0.5


def test_only_options_are_answers():
    examples = texts(1, n=100, labels=3)
    vocabulary = build_vocabulary(texts_of(examples))
    found = fit_logistic_regression(vocabulary, ("a", "b", "c"), examples)
    free = np.exp(found.log_probabilities(examples)[:, 0])
    bound = np.exp(found.log_probabilities([dataclasses.replace(e, options=(0, 2)) for e in examples])[:, 0])
    assert (bound[:, 1] == 0).all()
    assert np.allclose(bound[:, [0, 2]], free[:, [0, 2]] / free[:, [0, 2]].sum(1, keepdims=True))


def test_several_labels_an_example_are_a_decision_each():
    examples = [dataclasses.replace(e, label=(0,) if e.label else (0, 1)) for e in texts(2)]
    vocabulary = build_vocabulary(texts_of(examples))
    found = fit_logistic_regression(vocabulary, ("always", "b"), examples, several=True)
    logs = found.log_probabilities(examples)
    assert logs.shape == (120, 2, 2)
    assert np.allclose(np.exp(logs).sum(-1), 1)
    assert (logs[:, 0, 1] > np.log(0.99)).all()
    _, bags, model = by_scikit_learn(vocabulary, examples, [len(e.label) == 2 for e in examples])
    assert np.allclose(np.exp(logs[:, 1]), model.predict_proba(bags), atol=5e-3)


def test_a_question_s_words_are_features_of_their_own():
    """A word that says yes in the question and nothing in the text."""
    generator = np.random.default_rng(0)
    examples = []
    for number in range(200):
        label = int(generator.integers(2))
        text = " ".join(generator.choice(["lamp", "tree", "river"], size=3))
        pair = "lamp river" if label else "tree river"
        examples.append(Example(f"q{number}", text, pair, label))
    vocabulary = build_vocabulary(texts_of(examples))
    found = fit_logistic_regression(vocabulary, ("no", "yes"), examples)
    lamp = vocabulary.tokens.index("lamp")
    assert found.of_question[lamp, 1] > 3
    assert abs(found.log_odds[lamp, 1]) < 0.5
    assert (found.log_probabilities(examples)[:, 0].argmax(-1) == [e.label for e in examples]).all()


def test_the_planted_words_have_the_largest_log_odds(folder):
    subject = load(folder)
    odds = subject.log_odds[:, 1].nan_to_num(0.0)
    order = odds.argsort()
    words = [subject.vocabulary.tokens[n] for n in order]
    assert set(words[:8]) == set(NEGATIVE)
    assert set(words[-8:]) == set(POSITIVE)
    stop = subject.vocabulary.tokens.index("not")
    assert subject.log_odds[stop].isnan().all()
    assert subject.log_odds[: len(SPECIAL)].isnan().all()


def test_its_scores_stand_beside_the_model_s(folder, corpus):
    found = json.loads((folder / "training.json").read_text())
    baseline = found["log_odds"]
    assert baseline.keys() >= found["test"].keys()
    assert baseline["accuracy"] > 0.99
    assert baseline["n"] == 300
    assert baseline["converged"]
    assert baseline["texts_without_words"] == 0
    subject = load(folder)
    again = fit_logistic_regression(subject.vocabulary, subject.labels, corpus["train"].examples)
    gold = np.array([[e.label] for e in corpus["test"]])
    assert score(again.log_probabilities(corpus["test"].examples), gold).facts().items() <= baseline.items()
    assert torch.equal(subject.log_odds.nan_to_num(9.0), torch.tensor(again.log_odds).float().nan_to_num(9.0))
    assert torch.isnan(subject.log_odds).any()


def test_texts_without_words_are_counted():
    examples = [*texts(0), Example("e", "the a not", label=0), Example("f", "zzz", label=1)]
    vocabulary = build_vocabulary(texts_of(examples[:-1]))
    plain = fit_logistic_regression(vocabulary, ("no", "yes"), examples[:-2])
    found = fit_logistic_regression(vocabulary, ("no", "yes"), examples)
    assert found.texts_without_words == plain.texts_without_words + 2
    assert np.isfinite(found.log_probabilities(examples)).all()


def test_weights_by_hand(folder):
    subject = load(folder)
    examples = [Example("a", "brilliant bana not zzz", label=1), Example("b", "not zzz not", label=0)]
    batch = subject.encode(examples)
    weights = log_odds_weights(subject, batch)[:, 0, 0]
    size = {t: subject.log_odds[subject.vocabulary.tokens.index(t)].abs().mean() for t in ("brilliant", "bana")}
    expected = torch.softmax(torch.stack([size["brilliant"], size["bana"]]), 0)
    assert expected[0] > 0.9
    assert torch.allclose(weights[0], torch.tensor([0, *expected.tolist(), 0, 0, 0]))
    assert torch.allclose(weights[1, :5], torch.tensor([0, 1 / 3, 1 / 3, 1 / 3, 0])), "nothing known: uniform"
    padded = subject.encode([*examples, Example("c", "bana " * 30, label=0)])
    assert torch.allclose(log_odds_weights(subject, padded)[:2, 0, 0, :6], weights)
    used = subject.run(batch, edits=imposed(subject, batch, {"weights": "log_odds"}), want=[ATTENTION])
    assert torch.equal(used.parts[ATTENTION][:, 0, 0], weights)


def test_more_labels_share_one_attention():
    """A mean of |log-odds| over the labels, whatever their signs."""
    subject = classifier(SINGLE, ("a", "b", "c"), label_wise=True)
    subject.log_odds = torch.full((len(subject.vocabulary), 3), torch.nan)
    good, bad = (subject.vocabulary.tokens.index(word) for word in ("good", "bad"))
    subject.log_odds[good] = torch.tensor([3.0, -3.0, 0.0])
    subject.log_odds[bad] = torch.tensor([-1.0, 1.0, 1.0])
    batch = subject.encode([Example("a", "good bad film", label=(0,))])
    used = subject.run(batch, edits=imposed(subject, batch, {"weights": "log_odds"}), want=[ATTENTION])
    expected = torch.softmax(torch.tensor([2.0, 1.0]), 0).tolist()
    for query in range(3):
        assert torch.allclose(used.parts[ATTENTION][0, 0, query], torch.tensor([0, *expected, 0, 0]))


def test_imposed_in_training_and_after(corpus, tmp_path):
    recipe = plan_recipe(corpus, impose={"weights": "log_odds"}, **{**SMALL, "epochs": 8, "learning_rate": 0.01})
    fit_recipe(recipe, corpus, tmp_path / "m")
    subject = load(tmp_path / "m")
    test = corpus["test"].examples
    scored = json.loads((tmp_path / "m" / "training.json").read_text())["test"]
    assert evaluate(subject, test, impose=recipe.impose).accuracy == scored["accuracy"] > 0.95
    assert not np.allclose(predict(subject, test), predict(subject, test, impose=recipe.impose), atol=1e-3)
    start = build(recipe, corpus)
    fresh, trained = (dict(model.attention.named_parameters()) for model in (start, subject))
    for name in fresh:
        assert torch.allclose(fresh[name], trained[name], atol=1e-3), "only decay moves what no loss reaches"


def test_resumed_under_imposed_weights(corpus, tmp_path, monkeypatch):
    import heatcheck.training.fit as fit_module

    recipe = plan_recipe(corpus, impose={"weights": "log_odds"}, **SMALL)
    fit_recipe(recipe, corpus, tmp_path / "whole")

    def stop(*arguments, **options):
        def watch(epoch, *_):
            if epoch == 1:
                raise KeyboardInterrupt

        return train_loop(*arguments, **{**options, "watch": watch})

    monkeypatch.setattr(fit_module, "train_loop", stop)
    with pytest.raises(KeyboardInterrupt):
        fit_recipe(recipe, corpus, tmp_path / "resumed")
    monkeypatch.setattr(fit_module, "train_loop", train_loop)
    fit_recipe(recipe, corpus, tmp_path / "resumed")
    for name in ("model.safetensors", "log_odds.safetensors", "training.json", "training.jsonl"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "resumed" / name).read_bytes(), name


def test_the_regularised_loss_by_hand(folder, corpus):
    subject = load(folder)
    batch = subject.encode(corpus["test"].examples[:7])
    objective = LOSSES["log_odds_regularised"]
    run = subject.run(batch, want=objective.wants(subject))
    facts = {"strength": 3.0}
    together = objective.of(subject, run, batch, facts)
    alone = LOSSES["likelihood"].of(subject, run, batch, facts)
    own, target = run.parts[ATTENTION][:, 0, 0].detach(), log_odds_weights(subject, batch)[:, 0, 0]
    middle = (own + target) / 2
    entropies = [-(p * p.clamp(min=1e-30).log()).sum(1) for p in (middle, own, target)]
    jsd = entropies[0] - (entropies[1] + entropies[2]) / 2
    assert (jsd > 0.01).all()
    assert torch.allclose(together - alone, 3 * jsd, atol=1e-5)


@torch.no_grad()
def apart(subject, examples):
    batch = subject.encode(examples)
    own = subject.run(batch, want=[ATTENTION]).parts[ATTENTION]
    return float(jensen_shannon_nats(own, log_odds_weights(subject, batch)).mean())


def test_regularised_training_brings_the_weights_nearer(corpus, tmp_path):
    chosen = {**SMALL, "epochs": 6, "learning_rate": 0.03, "select": "accuracy", "dropout": 0.0}
    distance = {}
    for strength in (0.0, 5.0):
        recipe = plan_recipe(corpus, loss={"name": "log_odds_regularised", "strength": strength}, **chosen)
        fit_recipe(recipe, corpus, tmp_path / str(strength))
        distance[strength] = apart(load(tmp_path / str(strength)), corpus["test"].examples)
    fit_recipe(plan_recipe(corpus, **chosen), corpus, tmp_path / "plain")
    assert distance[0.0] == pytest.approx(apart(load(tmp_path / "plain"), corpus["test"].examples))
    assert distance[5.0] < distance[0.0] / 3
    assert evaluate(load(tmp_path / "5.0"), corpus["test"]).accuracy > 0.95


def test_recipes_stay_what_they_were(corpus):
    plain = plan_recipe(corpus)
    assert plain.loss == {"name": "likelihood"}
    assert plain.impose is None
    assert plan_recipe(corpus, loss="likelihood").id == plain.id
    other = plan_recipe(corpus, loss="log_odds_regularised")
    assert other.loss == {"name": "log_odds_regularised", "strength": 5.0}
    weighted = plan_recipe(corpus, preset="jw-release", loss="log_odds_regularised")
    assert weighted.loss.keys() == {"name", "strength", "label_weight"}
    changed = plan_recipe(corpus, loss={"name": "log_odds_regularised", "strength": 1})
    assert len({plain.id, other.id, changed.id, plan_recipe(corpus, impose={"weights": "log_odds"}).id}) == 4


def test_the_table_is_no_weight(folder):
    subject = load(folder)
    assert "log_odds" not in subject.state_dict()
    assert subject.log_odds.shape == (len(subject.vocabulary), 2)
    assert subject.log_odds.dtype == torch.float32


def test_a_folder_of_before(folder, corpus, tmp_path):
    """It loads and runs; only what needs the table says so."""
    import shutil

    shutil.copytree(folder, tmp_path / "old")
    (tmp_path / "old" / "log_odds.safetensors").unlink()
    old, new = load(tmp_path / "old"), load(folder)
    examples = corpus["test"].examples[:5]
    assert old.log_odds is None
    assert np.array_equal(predict(old, examples), predict(new, examples))
    with pytest.raises(NotSupported, match=r"carries no log-odds .* Train it again with `heatcheck train TASK --out"):
        predict(old, examples, impose={"weights": "log_odds"})
    with pytest.raises(NotSupported, match="carries no log-odds"):
        word_log_odds(load("known:reader@planted_keyword"))
    summary = json.loads((tmp_path / "old" / "training.json").read_text())
    del summary["logistic_regression"]
    (tmp_path / "old" / "training.json").write_text(json.dumps(summary))
    shutil.copytree(tmp_path / "old", tmp_path / "heatcheck-out" / "fits" / old.id)
    fit = train(corpus, progress=False, **SMALL)
    assert fit.reused
    assert fit.logistic_regression == {"not_fitted": "an older heatcheck trained this model"}


@pytest.mark.parametrize("content", ["short", "shape", "name"])
def test_a_damaged_table(folder, tmp_path, content):
    import shutil

    from safetensors.torch import save_file

    shutil.copytree(folder, tmp_path / "m")
    path = tmp_path / "m" / "log_odds.safetensors"
    if content == "short":
        path.write_bytes(path.read_bytes()[:40])
    else:
        save_file({"log_odds" if content == "shape" else "odds": torch.zeros(3, 2)}, path)
    with pytest.raises(BrokenFolder, match=r"log_odds.safetensors is truncated or belongs to another model"):
        load(tmp_path / "m")


def test_without_scikit_learn(corpus, tmp_path, monkeypatch):
    made_once.forget()
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    fit_recipe(plan_recipe(corpus, **SMALL), corpus, tmp_path / "plain")
    summary = json.loads((tmp_path / "plain" / "training.json").read_text())
    assert "pip install scikit-learn" in summary["log_odds"]["not_fitted"]
    assert load(tmp_path / "plain").log_odds is None
    for changes in ({"impose": {"weights": "log_odds"}}, {"loss": "log_odds_regularised"}):
        with pytest.raises(MissingPackage, match="scikit-learn"):
            fit_recipe(plan_recipe(corpus, **changes, **SMALL), corpus, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_many_labels_are_fitted_only_where_needed(tmp_path):
    labels = tuple(f"l{n}" for n in range(21))
    examples = tuple(Example(f"e{n}", f"w{n % 21} film", label=n % 21) for n in range(84))
    corpus = Corpus("many", labels, {name: Split(name, examples) for name in ("train", "dev", "test")})
    small = {**SMALL, "epochs": 1}
    fit_recipe(plan_recipe(corpus, **small), corpus, tmp_path / "plain")
    summary = json.loads((tmp_path / "plain" / "training.json").read_text())
    assert summary["log_odds"] == {"not_fitted": "there are more than 20 labels"}
    assert summary["logistic_regression"] == {"not_fitted": "there are more than 20 labels"}
    fit_recipe(plan_recipe(corpus, impose={"weights": "log_odds"}, **small), corpus, tmp_path / "imposed")
    assert load(tmp_path / "imposed").log_odds.shape[1] == 21


def test_what_is_refused(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("heatcheck.training.fit.train_loop", None)  # all of it before anything is trained
    with pytest.raises(UnknownName, match="unknown loss 'ridge'; known: adversarial, deceptive, diversity"):
        plan_recipe(corpus, loss="ridge")
    with pytest.raises(
        UnknownName, match=r"unknown setting of the loss log_odds_regularised 'strenght' \(did you mean"
    ):
        plan_recipe(corpus, loss={"name": "log_odds_regularised", "strenght": 1})
    with pytest.raises(BadInput, match="the loss likelihood has no setting 'strength'"):
        plan_recipe(corpus, loss={"strength": 1})
    for wrong in ("much", None):
        with pytest.raises(BadInput, match=r"loss.strength must be a number, not"):
            plan_recipe(corpus, loss={"name": "log_odds_regularised", "strength": wrong})
    with pytest.raises(BadInput, match=r"loss.strength must be at least 0, not -1"):
        plan_recipe(corpus, loss={"name": "log_odds_regularised", "strength": -1})
    with pytest.raises(
        UnknownName,
        match=r"imposed weights 'logodds' \(did you mean 'log_odds'\?\); known: first, grouped, last, log_odds",
    ):
        fit_recipe(plan_recipe(corpus, impose={"weights": "logodds"}, **SMALL), corpus, tmp_path / "m")
    with pytest.raises(BadInput, match="the example x has no label"):
        fit_logistic_regression(build_vocabulary(["a"]), ("no", "yes"), [Example("x", "a")])


def test_the_command_line_has_them(tmp_path, monkeypatch, capsys):
    from heatcheck.cli import main

    rows = [{"text": f"a {'good' if n % 2 else 'dull'} film {n}", "label": n % 2} for n in range(60)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    quick = ["--set", "epochs=1", "--set", "hidden=8", "--set", "embedding=8"]

    def heatcheck(*arguments):
        monkeypatch.setattr(sys, "argv", ["heatcheck", "train", "mine.jsonl", *quick, *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, capsys.readouterr()

    code, shown = heatcheck("--impose", "log_odds", "--json")
    assert code == 0
    made = json.loads(shown.out)
    assert load(made["folder"]).recipe.impose == {"weights": "log_odds"}
    assert made["logistic_regression"]["accuracy"] == 1.0
    code, shown = heatcheck("--loss", "log_odds_regularised", "--set", "loss.strength=2", "--out", "m")
    assert code == 0
    assert "bag of words" in shown.out
    assert load("m").recipe.loss == {"name": "log_odds_regularised", "strength": 2.0}
    for wrong in (["--impose", "none"], ["--loss", "none"], ["--set", "loss.strength=1"], ["--set", "impose=uniform"]):
        code, shown = heatcheck(*wrong)
        assert code == 2
        assert shown.err.startswith("heatcheck: ")
