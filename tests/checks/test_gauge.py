"""The closed-form twins: against what the algebra says, against a model that really has their parameters, and where
there are none."""

import numpy as np
import pytest
import torch
from scipy.special import expit, log_softmax, logsumexp, softmax

from heatcheck.checks import CHECKS, Case
from heatcheck.checks.gauge import TWINS, GaugeSettings, find_twins
from heatcheck.data import Corpus, Example, Split, load_task
from heatcheck.errors import BadInput, NotSupported
from heatcheck.explainers import read_out
from heatcheck.models import Site, load_folder
from heatcheck.models.classifiers.gauge_budget import Frequencies, distance
from heatcheck.models.known_answers import Reader
from heatcheck.report.checks.gauge import gauge_tables
from heatcheck.training import Fits, fit_recipe, plan_recipe
from subjects import SUBJECTS, classifier

measure = CHECKS["gauge"].measure


def case_of(subject, examples, **options):
    return Case(subject, examples, labels=getattr(subject, "labels", ("a", "b")), **options)


@pytest.fixture(scope="module")
def keyword():
    return load_task("planted_keyword")["test"].examples


def test_the_reader_has_a_twin_with_every_decision_and_the_opposite_heatmap(keyword):
    result = measure(case_of(Reader("planted_keyword"), keyword[:60], tested=keyword[:200]), GaugeSettings())
    for twin in TWINS:
        assert result.find("agreement", twin=twin).value == 1
        assert result.find("agreement", twin=twin).n == 200
        assert result.find("jsd_contributions", twin=twin).value == pytest.approx(0, abs=1e-9)
        assert result.find("tvd_tempered", twin=twin).value < 0.98 * result.find("tvd", twin=twin).value
    assert result.find("jsd", twin="uniform").low > 0.4
    assert result.find("jsd", twin="reversed").low > 0.6
    assert len(result.examples) == 200
    assert not result.excluded
    assert all(np.isfinite(values).all() and len(values) == 200 for values in result.per_example.values())


def test_the_witness_is_the_text_whose_heatmaps_differ_most(keyword):
    result = measure(case_of(Reader("planted_keyword"), keyword[:50]), GaugeSettings())
    shown = result.facts["witness"]
    assert shown["id"] == result.examples[int(result.per_example["jsd:reversed"].argmax())]
    example = {e.id: e for e in keyword}[shown["id"]]
    decides = example.marks["rationale"].index(True)
    assert shown["words"] == list(example.words)
    assert shown["label"] == ("negative", "positive")[example.label]
    assert shown["own"][decides] > 0.95
    assert shown["twin"][decides] == min(shown["twin"]) < 0.001
    for name in ("own", "twin"):
        assert sum(shown[name]) == pytest.approx(1)


def test_weights_and_probabilities_are_the_closed_form_s():
    """One deciding word of score s and vote R among n − 1 fillers of score 0 that say nothing, all texts as long.

    uniform: weight 1/n, vote R e^s / c; reversed: weight e^{−s}/(e^{−s} + n − 1), vote R e^{2s} / c. Each c is free,
    and such that the logits of the typical text, here of all, are what they were: no probability moves.
    """
    s, n, vote = 2.0, 15, 3.0
    examples = [e for e in load_task("planted_keyword")["test"].examples if len(e.words) == n]
    case = case_of(Reader("planted_keyword", sharpness=s, jitter=0.0, scale=vote), examples)
    found = find_twins(case)
    decides = np.array([e.marks["rationale"] for e in examples])
    at = found.readout.word >= 0
    weight = {name: answer.weights[at].reshape(-1, n)[decides] for name, answer in found.twins.items()}
    np.testing.assert_allclose(weight["uniform"], 1 / n, rtol=1e-5)
    np.testing.assert_allclose(weight["reversed"], np.exp(-s) / (np.exp(-s) + n - 1), rtol=1e-5)
    p = expit(vote * np.exp(s) / (np.exp(s) + n - 1))
    for answer in (found.own, *found.twins.values()):
        right = np.exp(answer.log_probabilities)[np.arange(len(examples)), [e.label for e in examples]]
        np.testing.assert_allclose(right, p, rtol=1e-5)


@pytest.mark.parametrize("name", ["average", "average three labels"])
def test_equal_to_a_model_with_the_twin_s_parameters(name):
    """The twin's scores and relevances are written into the subject itself, and it is run from its words on."""
    subject, examples = SUBJECTS[name]
    examples = [e for e in examples if e.text != "dull"]  # it shares no word with the others: its constant is free too
    found = find_twins(case_of(subject, examples))
    batch = subject.encode(examples)
    with torch.no_grad():
        run = subject.run(batch, want=[Site("score"), Site("state")])
    scores = run.parts[Site("score")][:, 0, 0].double().numpy()
    states = run.parts[Site("state")].double().numpy()
    weight, bias = (part.detach().double().numpy() for part in (subject.output.weight, subject.output.bias))
    votes = states @ weight.T + bias  # [example token output]
    for twin, times in TWINS.items():
        hidden = np.where(batch.scored.numpy(), (1 - times) * scores, -np.inf)
        logits = np.einsum("et,eto->eo", softmax(hidden, -1), np.exp(times * scores)[..., None] * votes)
        logits = np.pad(logits, ((0, 0), (1, 0))) if logits.shape[1] == 1 else logits
        ours = found.twins[twin].log_probabilities
        # The same up to the one free constant: the margins are proportional with one factor for all texts.
        theirs = log_softmax(logits, -1)
        ours, theirs = (each - each.mean(-1, keepdims=True) for each in (ours, theirs))
        factor = (ours * theirs).sum() / (theirs**2).sum()
        np.testing.assert_allclose(ours, factor * theirs, rtol=1e-4, atol=1e-5)
        own = found.readout.allowed
        np.testing.assert_allclose(found.twins[twin].weights[own], softmax(hidden, -1)[batch.scored.numpy()], atol=1e-5)


def test_a_trained_model_without_context_has_twins_on_texts_it_has_never_seen(tmp_path):
    whole = load_task("planted_keyword")
    splits = {name: Split(name, whole[name].examples[:300]) for name in whole.splits}
    corpus = Corpus("small", whole.labels, splits, whole.tokens)
    small = {"hidden": 8, "embedding": 8, "epochs": 6, "learning_rate": 0.05, "dropout": 0.0}
    fit_recipe(plan_recipe(corpus, encoder="average", **small), corpus, tmp_path / "model")
    subject, tested = load_folder(tmp_path / "model"), corpus["test"].examples
    result = measure(case_of(subject, tested[:50], tested=tested), GaugeSettings())
    for twin in TWINS:
        assert result.find("agreement", twin=twin).value == 1
        assert result.find("jsd_contributions", twin=twin).value < 1e-6
    assert result.find("jsd", twin="reversed").value > result.find("jsd", twin="uniform").value > 0.01
    assert result.find("tvd", twin="reversed").value < 0.2
    assert result.find("tvd_tempered", twin="reversed").value <= result.find("tvd", twin="reversed").value + 1e-9


def test_scores_are_found_from_weights_that_know_them_up_to_a_constant_a_text():
    """Also between words that never stand in one text, through others that stand with both."""
    subject, _ = SUBJECTS["average"]
    texts = ["a film", "film is", "is bad", "bad a", "good is good"]
    examples = [Example(f"t{n}", text, label=0) for n, text in enumerate(texts)]
    found = find_twins(case_of(subject, examples))
    readout = read_out(subject, examples)
    with torch.no_grad():
        run = subject.run(subject.encode(examples), want=[Site("score")])
    scores = run.parts[Site("score")][:, 0, 0].double().numpy()
    # ln Z of each text tells the constants apart: the uniform twin's logits are Z/n times the subject's.
    shown = np.where(readout.allowed, scores, -np.inf)
    expected = logsumexp(shown, axis=1) - np.log(readout.allowed.sum(1))
    margin = [np.diff(a.log_probabilities, axis=1)[:, 0] for a in (found.twins["uniform"], found.own)]
    louder = np.log(margin[0] / margin[1])
    np.testing.assert_allclose(louder - louder.mean(), expected - expected.mean(), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("lstm", "depends on the words around it"),
        ("cnn", "depends on the words around it"),
        ("reader@planted_contrast", "the score of '.*' depends on the words around it"),
        ("bystander_right@planted_keyword", "the relevance of '.*' depends on the words around it"),
        ("shifted@planted_keyword", "depends on the words around it"),
        ("dial(0.3)@planted_twins", "depends on the words around it"),
        ("reader@planted_lookup", "these are pairs"),
        ("pair average", "these are pairs"),
        ("label-wise", "makes several"),
    ],
)
def test_where_there_is_none_one_sentence_says_why(name, sentence):
    subject, examples = SUBJECTS[name]
    with pytest.raises(NotSupported, match=sentence):
        measure(case_of(subject, examples), GaugeSettings())


def test_words_that_stand_in_one_text_only_show_nothing():
    subject, _ = SUBJECTS["average"]
    few = [Example("a", "a film", label=0), Example("b", "dull plot", label=1)]
    with pytest.raises(NotSupported, match="no word occurs in two of these texts"):
        measure(case_of(subject, few), GaugeSettings())
    more = [*few, Example("c", "a plot", label=1)]
    assert len(measure(case_of(subject, few, tested=more), GaugeSettings()).examples) == 3


def test_one_word_and_words_of_several_tokens():
    """One word keeps its decision and its weight; the tokens of a cut word are types of their own."""
    subject = classifier([Example("v", "is n't so bad good", label=0)], encoder="average")
    examples = [
        Example("a", "isn't bad", label=0),
        Example("b", "bad", label=1),
        Example("c", "so good isn't", label=0),
    ]
    result = measure(case_of(subject, examples), GaugeSettings())
    assert result.facts["types"] == 5
    assert result.per_example["jsd:reversed"][1] == 0
    assert (result.per_example["agreement:reversed"] == 1).all()
    assert len(result.facts["witness"]["own"]) == len(result.facts["witness"]["words"])


def test_saturated_weights_are_not_guessed():
    subject, examples = SUBJECTS["average"]
    with torch.no_grad():
        before = subject.attention.score.weight.clone()
        subject.attention.score.weight.mul_(1e4)
    try:
        with pytest.raises(NotSupported, match="0 in floating point"):
            measure(case_of(subject, examples), GaugeSettings())
    finally:
        with torch.no_grad():
            subject.attention.score.weight.copy_(before)


def test_bad_settings():
    with pytest.raises(BadInput, match=r"gauge\.draws must be at least 1"):
        GaugeSettings(draws=0)


# A budget of distance -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_seeds(tmp_path_factory):
    """A trained model without context, and its other seeds."""
    folder, whole = tmp_path_factory.mktemp("seeds"), load_task("planted_keyword")
    splits = {name: Split(name, whole[name].examples[:200]) for name in whole.splits}
    corpus = Corpus("small", whole.labels, splits, whole.tokens)
    small = {"encoder": "none", "attention": "linear", "embedding": 8, "epochs": 4, "learning_rate": 0.05}
    fit_recipe(plan_recipe(corpus, dropout=0.0, **small), corpus, folder / "model", device="cpu")
    subject = load_folder(folder / "model")
    fits = Fits(subject, corpus, store=folder / "fits", device="cpu")
    case = case_of(subject, corpus["test"].examples, fits=fits)
    recipes = CHECKS["gauge"].plan(case, GaugeSettings(budget=0.5, seeds=2))
    assert [recipe.seed for recipe in recipes] == [1, 2]
    assert CHECKS["gauge"].plan(case, GaugeSettings()) == [], "without a budget nothing is retrained"
    fits.make(recipes)
    return case


def words_apart(case):
    """How far the other seeds' words are, over the tokens of the training texts."""
    often = Frequencies.of(case.subject, case.fits.corpus["train"].examples)
    others = map(case.fits.load, CHECKS["gauge"].plan(case, GaugeSettings(budget=0.5, seeds=2)))
    return np.array([distance(case.subject, other, often).words for other in others])


def test_the_twin_within_a_budget_is_no_farther_than_the_seeds(with_seeds):
    for budget in (0.2, 0.5):
        result = measure(with_seeds, GaugeSettings(budget=budget, seeds=2))

        def apart(part, result=result, **by):
            return result.find("parameter_distance", part=part, **by)

        assert result.find("agreement", twin="within_budget").value == 1
        assert result.find("jsd_contributions", twin="within_budget").value < 1e-6
        assert max(apart(part, twin="within_budget").value for part in ("parameters", "words")) == pytest.approx(
            budget, abs=5e-3
        )
        of_words = words_apart(with_seeds)
        assert [apart("words", seed=seed).value for seed in (1, 2)] == pytest.approx(of_words / min(of_words))
        for part in ("parameters", "words"):
            seeds = [apart(part, seed=seed).value for seed in (1, 2)]
            assert min(seeds) == pytest.approx(1), "the unit is the nearest"
            assert apart(part, twin="reversed").low == pytest.approx(apart(part, twin="reversed").value / max(seeds))
            assert apart(part, twin="uniform").value < apart(part, twin="reversed").value
        assert 0 < result.facts["share_of_the_way"] < 1
        assert 0 < result.find("jsd", twin="within_budget").value < result.find("jsd", twin="reversed").value
    enough = measure(with_seeds, GaugeSettings(budget=1e6, seeds=2))
    assert enough.facts["share_of_the_way"] == 1
    assert enough.find("jsd", twin="within_budget").value == pytest.approx(enough.find("jsd", twin="reversed").value)


def test_the_page_has_the_distances(with_seeds):
    result = measure(with_seeds, GaugeSettings(budget=0.5, seeds=2))
    twins, distances = gauge_tables(result)
    assert [row[0] for row in twins.rows] == ["uniform", "reversed", "within budget"]
    assert [row[0] for row in distances.rows] == [
        *(row[0] for row in twins.rows),
        *(f"another seed ({n})" for n in (1, 2)),
    ]
    assert len(gauge_tables(measure(with_seeds, GaugeSettings()))) == 1


def test_a_budget_that_cannot_be_measured_leaves_the_rest(keyword):
    result = measure(case_of(Reader("planted_keyword"), keyword[:30]), GaugeSettings(budget=1.0))
    assert "heatcheck trains" in result.not_run["the twin within a budget"]
    assert result.find("agreement", twin="reversed").value == 1
    with pytest.raises(BadInput, match="at least 0"):
        GaugeSettings(budget=-1.0)
