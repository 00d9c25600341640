"""Twins of context-free classifiers: the same decisions in any text, other weights, and the shortest way there."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from heatcheck.data import Example, Vocabulary
from heatcheck.data.vocabulary import END, PAD, SPECIAL, START, UNKNOWN
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import Site, load_folder, save
from heatcheck.models.classifiers import gauge_twin as module
from heatcheck.models.classifiers.gauge_twin import (
    RIDGE,
    Tokens,
    gauge_twin,
    scores_off_marked,
    with_scores,
    word_table,
)
from subjects import PAIRS, SETS, SINGLE, THREE, classifier

WEIGHTS, SCORE = Site("attention"), Site("score")
MARK = "impermissible"
KINDS = {
    "none linear": (SINGLE, {"encoder": "none", "attention": "linear"}),
    "none dot": (SINGLE, {"encoder": "none", "attention": "dot"}),
    "none tanh": (SINGLE, {"encoder": "none", "attention": "tanh"}),
    "average tanh": (SINGLE, {"encoder": "average", "attention": "tanh"}),
    "none linear, three labels": (THREE, {"encoder": "none", "attention": "linear", "labels": ("a", "b", "c")}),
    "average dot, three labels": (THREE, {"encoder": "average", "attention": "dot", "labels": ("a", "b", "c")}),
}
# Every other word is marked, the first of each text is not.
MARKED = tuple(replace(e, marks={MARK: tuple(n % 2 == 1 for n in range(len(e.words)))}) for e in SINGLE)


def of_kind(name):
    examples, settings = KINDS[name]
    return classifier(examples, **settings)


def random_texts(subject, n=200, seed=0):
    """Texts of words that are known and one that is not, in any order."""
    draw = np.random.default_rng(seed)
    words = [*subject.vocabulary.tokens[len(SPECIAL) :], "unheard-of"]
    texts = (" ".join(draw.choice(words, draw.integers(1, 12))) for _ in range(n))
    return [Example(f"r{number}", text) for number, text in enumerate(texts)]


def tokens_of(subject, examples=MARKED):
    return Tokens.of(subject.vocabulary, examples, MARK)


def run_of(subject, examples):
    with torch.no_grad():
        return subject.run(subject.encode(examples), want=[WEIGHTS, SCORE])


# The theorem ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_any_scores_leave_every_decision_and_change_the_weights(name):
    subject = of_kind(name)
    texts = random_texts(subject)
    scores = np.random.default_rng(1).normal(0, 2, len(subject.vocabulary))
    twin = with_scores(subject, scores, tokens_of(subject))
    for precision in (torch.float32, torch.float64):
        own, other = (run_of(model.to(precision), texts) for model in (subject, twin))
        same = own.logits.argmax(-1) == other.logits.argmax(-1)
        assert same.all(), f"{int(same.sum())} of {same.numel()} in {precision}"
    assert len(own.logits[:, 0].argmax(-1).unique()) > 1, "one decision for all would be no test"
    apart = (own.parts[WEIGHTS] - other.parts[WEIGHTS]).abs().sum(-1) / 2
    assert apart.mean() > 0.2
    wanted = torch.tensor(scores)[subject.encode(texts).inputs["tokens"]]
    scored = subject.encode(texts).scored
    torch.testing.assert_close(other.parts[SCORE][:, 0, 0][scored], wanted[scored], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["none linear", "average tanh"])
def test_only_the_normaliser_changes(name):
    """logit · Σ e^a is the same in both but for one factor for all texts, the median of the normalisers' ratio."""
    subject = of_kind(name)
    twin = with_scores(subject, np.random.default_rng(1).normal(0, 1, len(subject.vocabulary)), tokens_of(subject))
    texts = random_texts(subject)
    scored = subject.encode(texts).scored[:, None, None]

    def numerator(model):
        run = run_of(model.double(), texts)
        sums = run.parts[SCORE].masked_fill(~scored, -torch.inf).logsumexp(-1)[:, :, 0]
        return run.logits[:, 0, 1:] * sums.exp()

    own, other = numerator(subject), numerator(twin)
    ratio = (other / own)[own.abs() > 1e-3]
    torch.testing.assert_close(ratio, ratio[:1].expand_as(ratio), rtol=1e-3, atol=0)
    texts = [example for example in MARKED if any(example.marks[MARK])]  # those it is scaled on
    sizes = [run_of(model, texts).logits[:, 0, 1].abs().log().numpy() for model in (subject, twin)]
    assert np.median(sizes[1] - sizes[0]) == pytest.approx(0, abs=1e-3)


def test_uniform_scores_give_the_uniform_twin():
    subject = of_kind("none linear")
    twin = with_scores(subject, np.zeros(len(subject.vocabulary)), tokens_of(subject))
    weights = run_of(twin, SINGLE).parts[WEIGHTS][3, 0, 0]
    assert weights[weights > 0].numpy() == pytest.approx(1 / len(SINGLE[3].words), abs=1e-5)


def test_the_table_is_what_the_model_does():
    for name in KINDS:
        subject = of_kind(name).double()
        table = word_table(subject)
        texts = random_texts(subject, 20)
        batch, run = subject.encode(texts), run_of(subject, texts)
        tokens, scored = batch.inputs["tokens"], batch.scored
        torch.testing.assert_close(run.parts[SCORE][:, 0, 0][scored], table.scores[tokens][scored])
        logits = torch.einsum("et,eto->eo", run.parts[WEIGHTS][:, 0, 0], table.votes[tokens])
        torch.testing.assert_close(run.logits[:, 0, -logits.shape[1] :], logits)


# A model like any other ---------------------------------------------------------------------------------------------


def test_embeddings_move_the_shortest_way_and_nothing_else_does():
    subject = of_kind("none linear, three labels")
    scores = np.random.default_rng(1).normal(0, 1, len(subject.vocabulary))
    twin = with_scores(subject, scores, tokens_of(subject))
    before, after = (model.state_dict() for model in (subject, twin))
    assert [name for name in before if not before[name].equal(after[name])] == ["embed.weight"]
    step = (after["embed.weight"] - before["embed.weight"]).double()
    assert not step[[PAD, START, END]].any(), "what is never attended to stays"
    assert step[[UNKNOWN, 5]].abs().amax(1).min() > 1e-3
    rows = torch.cat([before["attention.score.weight"], before["output.weight"]]).double()
    inside = step @ torch.linalg.pinv(rows) @ rows  # the shortest step has no part that neither of them reads
    torch.testing.assert_close(inside, step, atol=1e-5, rtol=1e-5)
    assert step.norm(dim=1).max() < 100


@pytest.mark.parametrize("name", ["none linear", "average tanh"])
def test_saved_and_loaded_it_says_the_same(name, tmp_path):
    subject = of_kind(name)
    twin = gauge_twin(subject, tokens_of(subject))
    (tmp_path / "twin").mkdir()
    save(twin, tmp_path / "twin")
    again = load_folder(tmp_path / "twin")
    texts = random_texts(subject, 30)
    assert run_of(again, texts).logits.equal(run_of(twin, texts).logits)
    assert again.recipe is None
    assert (again.settings.encoder, again.settings.attention) == ("none", "linear")
    assert not twin.training


# Scores that stay off marked words ----------------------------------------------------------------------------------


def objective(scores, own, tokens, ridge):
    """By hand: −ln(1 − mass) of every text as it is and with words of one text unknown, and the ridge."""
    texts_with = {word: set(tokens.text[tokens.word == word]) for word in set(tokens.word)}
    total = ridge / 2 * ((scores - own[tokens.word].mean()) ** 2).sum()
    for text in set(tokens.text):
        here = tokens.text == text
        for words in (tokens.word[here], [w if len(texts_with[w]) > 1 else UNKNOWN for w in tokens.word[here]]):
            weights = np.exp(scores[list(words)])
            total -= np.log(1 - weights[tokens.marked[here]].sum() / weights.sum())
    return total


@pytest.mark.parametrize("ridge", [RIDGE, 0.5])
def test_the_scores_minimise_what_they_should(ridge, monkeypatch):
    monkeypatch.setattr(module, "RIDGE", ridge)
    subject = of_kind("none linear")
    own = word_table(subject).scores.numpy()
    tokens = tokens_of(subject)
    found = scores_off_marked(tokens, own, bound=1.5)
    value = objective(found, own, tokens, ridge)
    assert value < objective(own, own, tokens, ridge) - 1
    limits = list(zip(own - 1.5, own + 1.5, strict=True))
    searched = minimize(objective, own, args=(own, tokens, ridge), method="L-BFGS-B", bounds=limits)
    assert value == pytest.approx(searched.fun, abs=1e-3)
    assert (np.abs(found - own) <= 1.5 + 1e-9).all()
    assert (np.abs(found - own) > 1.5 - 1e-6).any(), "the bound binds here"


def test_two_words_by_hand():
    """One is always marked, one never: they go as far apart as the bound allows."""
    vocabulary = Vocabulary((*SPECIAL, "he", "the"), rule="spaces", lowercase=True)
    texts = [Example(f"e{n}", "the he", marks={MARK: (False, True)}) for n in range(200)]
    found = scores_off_marked(Tokens.of(vocabulary, texts, MARK), np.zeros(6), bound=2.0)
    assert found[4:] == pytest.approx([-2, 2], abs=1e-6)
    assert found[UNKNOWN] == pytest.approx(0, abs=1e-6), "no word is rare here, so nothing is known of unknown ones"


@pytest.mark.parametrize("rare_is_marked", [False, True])
def test_unknown_words_are_scored_as_rare_ones_were(rare_is_marked):
    words = [f"w{n}" for n in range(60)]
    vocabulary = Vocabulary((*SPECIAL, "the", "a", *words), rule="spaces", lowercase=True)
    texts = [
        Example(f"e{n}", f"the {word} a", marks={MARK: (not rare_is_marked, rare_is_marked, False)})
        for n, word in enumerate(words)
    ]
    found = scores_off_marked(Tokens.of(vocabulary, texts, MARK), np.zeros(len(vocabulary)), bound=3.0)
    assert (found[UNKNOWN] < -2) if rare_is_marked else (found[UNKNOWN] > found[4] + 2)


def test_the_twin_has_less_weight_on_marked_words():
    subject = of_kind("none linear")
    twin = gauge_twin(subject, tokens_of(subject), bound=4.0)
    batch = subject.encode(MARKED)
    own, other = (
        (run_of(model, MARKED).parts[WEIGHTS][:, 0, 0] * batch.marks[MARK]).sum(1) for model in (subject, twin)
    )
    some = batch.marks[MARK].any(1)
    assert (other[some] < own[some]).all()
    tighter = gauge_twin(subject, tokens_of(subject), bound=1.0)
    less = (run_of(tighter, MARKED).parts[WEIGHTS][:, 0, 0] * batch.marks[MARK]).sum(1)
    assert other.mean() < less.mean() < own.mean()


def test_tokens_are_those_of_texts_with_both_kinds_of_words():
    vocabulary = Vocabulary((*SPECIAL, "a", "b"), rule="words", lowercase=True)
    texts = [
        Example("0", "a b!", marks={MARK: (False, True)}),
        Example("1", "a b", marks={MARK: (False, False)}),
        Example("2", "a b", marks={MARK: (True, True)}),
        Example("3", "b a"),
        Example("4", "c a", marks={MARK: (True, False)}),
    ]
    found = Tokens.of(vocabulary, texts, MARK)
    assert found.text.tolist() == [0, 0, 0, 1, 1]
    assert found.word.tolist() == [4, 5, UNKNOWN, UNKNOWN, 4]
    assert found.marked.tolist() == [False, True, True, True, False]
    sums = found.log_sums(np.arange(6.0) + 1000)
    assert sums == pytest.approx(1000 + np.log([np.exp([4, 5, 1]).sum(), np.exp([1, 4]).sum()]))


# Where there is none -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("examples", "settings", "reason"),
    [
        (SINGLE, {"encoder": "lstm"}, "reads words in context"),
        (SINGLE, {"encoder": "none", "hierarchical": True}, "reads words in context"),
        (PAIRS, {"encoder": "average", "segments": 2, "labels": ("a", "b", "c")}, "one text and one decision"),
        (SETS, {"encoder": "average", "label_wise": True, "labels": ("a", "b", "c")}, "one text and one decision"),
    ],
)
def test_others_have_no_twin(examples, settings, reason):
    with pytest.raises(NotSupported, match=reason):
        word_table(classifier(examples, **settings))


def test_a_model_that_reads_one_direction_for_both_has_none():
    subject = of_kind("none linear")
    with torch.no_grad():
        subject.attention.score.weight.copy_(2 * subject.output.weight)
    with pytest.raises(NotSupported, match="same direction"):
        gauge_twin(subject, tokens_of(subject))


def test_mistakes_are_said():
    subject = of_kind("none linear")
    with pytest.raises(BadInput, match=r"above 0, not 0\.0"):
        gauge_twin(subject, tokens_of(subject), bound=0.0)
    with pytest.raises(NotSupported, match="no training text has both"):
        gauge_twin(subject, tokens_of(subject, SINGLE))
