"""The adversarial loss against numbers by hand and closed forms, and what training on it must and must not do."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import expit, logsumexp

from heatcheck import stats
from heatcheck.checks import Case
from heatcheck.checks.adversarial_model import AdversarialModelSettings
from heatcheck.checks.retrained_answers import ADVERSARY_SEED, AWAY_EPOCHS, adversary_recipe
from heatcheck.data import Batch, Corpus, Split, load_task
from heatcheck.errors import BadInput
from heatcheck.explainers import read_out
from heatcheck.models import Run, Site, load_folder
from heatcheck.models.known_answers import GaugeTwin, Reader
from heatcheck.training import LOSSES, Fits, Recorded, build, can_look_elsewhere, fit_recipe, plan_recipe, record
from heatcheck.training.losses import FROM_ADVERSARY, FROM_BASE, plan_loss
from heatcheck.training.starts import SPREAD, set_start

SCORE = Site("score")
ANY = Reader("planted_keyword")  # the loss looks at runs, not at who made them
HALF = np.array([[[0.5, 0.5]]], np.float32)  # [head query token]
# KL(adversary‖base) of weights ¼, ¾ against ½, ½, and the other way round
TO_HALF = 0.25 * np.log(0.5) + 0.75 * np.log(1.5)
FROM_HALF = 0.5 * np.log(4 / 3)


def facts(strength, **changes):
    return {"strength": strength, "as_published": False, "divergence": FROM_BASE, **changes}


def batch_of(scored, gold=None):
    scored = torch.tensor(scored)
    word = torch.where(scored, scored.cumsum(1) - 1, -1)
    gold = None if gold is None else torch.tensor(gold)[:, None]
    return Batch(tuple(f"e{n}" for n in range(len(scored))), {}, scored, scored, word, gold, {})


def run_of(scores, logits):
    """One decision an example, made by hand."""
    return Run(logits, torch.zeros(len(logits), 1, dtype=torch.long), {SCORE: scores})


def parent_of(probabilities, weights):
    logs = np.log(np.asarray(probabilities, dtype=float))[:, None]
    return Recorded(tuple(f"e{n}" for n in range(len(logs))), logs, tuple(weights))


def loss_of(scores, logits, batch, parent, **settings):
    run = run_of(torch.as_tensor(scores)[:, None, None, :], torch.as_tensor(logits)[:, None, :])
    return LOSSES["adversarial"].of(ANY, run, batch, facts(**settings), parent)


# The loss by hand -----------------------------------------------------------------------------------------------


def test_two_labels_by_hand():
    """Weights ¼, ¾ against ½, ½ and p = .8 against .5: TVD .3, KL(adversary‖base) = ¼ ln ½ + ¾ ln 3/2."""
    parent = parent_of([[0.5, 0.5]], [HALF])
    asked = np.log([[1.0, 3.0]]), np.log([[0.2, 0.8]]), batch_of([[True, True]]), parent
    assert loss_of(*asked, strength=0.1).item() == pytest.approx(0.3 - 0.1 * TO_HALF, abs=1e-7)
    assert abs(TO_HALF - FROM_HALF) > 0.01, "the direction matters here"
    turned = loss_of(*asked, strength=0.1, divergence=FROM_ADVERSARY)
    assert turned.item() == pytest.approx(0.3 - 0.1 * FROM_HALF, abs=1e-7)


def test_the_divergence_is_the_one_of_torch_as_the_released_code_calls_it():
    """`KLDivLoss()(log α_base, α_adversary)`, summed, is Σ α_a (log α_a − log α_b), the paper's formula."""
    generator = np.random.default_rng(1)
    base, scores = generator.dirichlet(np.ones(5)), generator.normal(size=5)
    adversary = torch.softmax(torch.from_numpy(scores), -1)
    theirs = torch.nn.functional.kl_div(torch.from_numpy(base).log(), adversary, reduction="sum").item()
    parent = parent_of([[0.5, 0.5]], [base[None, None].astype(np.float32)])
    found = loss_of(scores[None], np.zeros((1, 2)), batch_of([[True] * 5]), parent, strength=1.0)
    assert found.item() == pytest.approx(-theirs, abs=1e-6)


def test_the_direction_is_part_of_the_recipe_and_an_older_one_keeps_its_own():
    """No adversary of the reversed loss is taken for one of the published loss."""
    assert plan_loss({"name": "adversarial", "parent": "x"})["divergence"] == FROM_BASE
    parent = parent_of([[0.5, 0.5]], [HALF])
    run = run_of(torch.log(torch.tensor([[[[1.0, 3.0]]]])), torch.zeros(1, 1, 2))
    older = {"strength": 1.0, "as_published": False}
    found = LOSSES["adversarial"].of(ANY, run, batch_of([[True, True]]), older, parent)
    assert found.item() == pytest.approx(-FROM_HALF, abs=1e-6)


def test_three_labels_by_hand():
    """½ Σ|p − q| over the labels, not the largest difference and not their sum."""
    parent = parent_of([[0.2, 0.3, 0.5]], [HALF])
    found = loss_of(np.zeros((1, 2)), np.log([[0.4, 0.4, 0.2]]), batch_of([[True, True]]), parent, strength=0.1)
    assert found.item() == pytest.approx(0.3, abs=1e-7), "equal weights diverge by nothing"


def test_each_example_by_itself_and_tokens_that_are_not_scored_do_not_count():
    quarter = np.array([[[0.25, 0.75]]], np.float32)
    parent = parent_of([[0.5, 0.5], [0.9, 0.1]], [HALF, quarter])
    batch = batch_of([[False, True, True, False], [True, False, False, True]])
    scores = np.array([[80.0, 0.0, np.log(3.0), 7.0], [0.0, 80.0, -80.0, 0.0]])
    found = loss_of(scores, np.log([[0.2, 0.8], [0.6, 0.4]]), batch, parent, strength=0.1)
    expected = [0.3 - 0.1 * TO_HALF, 0.3 - 0.1 * FROM_HALF]  # the second the other way round: ½, ½ against ¼, ¾
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-7)


def test_several_decisions_with_an_attention_each_are_averaged():
    """Two yes-or-no decisions that read two rows of weights."""
    rows = np.array([[[0.5, 0.5], [0.25, 0.75]]], np.float32)
    logs = np.log(np.array([[[0.5, 0.5], [0.9, 0.1]]]))
    scores = torch.log(torch.tensor([[[[1.0, 3.0], [1.0, 3.0]]]]))
    logits = torch.log(torch.tensor([[[0.2, 0.8], [0.9, 0.1]]]))
    run = Run(logits, torch.tensor([[0, 1]]), {SCORE: scores})
    parent = Recorded(("e0",), logs, (rows,))
    found = LOSSES["adversarial"].of(ANY, run, batch_of([[True, True]]), facts(0.1), parent)
    assert found.item() == pytest.approx((0.3 + 0.0) / 2 - 0.1 * (TO_HALF + 0.0) / 2, abs=1e-6)


def test_gradient_is_that_of_finite_differences():
    generator = np.random.default_rng(0)
    weights = [generator.dirichlet(np.ones(n))[None, None].astype(np.float32) for n in (4, 2, 3)]
    parent = parent_of(generator.dirichlet(np.ones(3), size=3), weights)
    batch = batch_of([[True] * 4, [True, False, True, False], [False, True, True, True]])
    scores = torch.from_numpy(generator.normal(size=(3, 4))).requires_grad_()
    logits = torch.from_numpy(generator.normal(size=(3, 3))).requires_grad_()

    def loss(scores, logits):
        run = run_of(scores[:, None, None, :], logits[:, None, :])
        return LOSSES["adversarial"].of(ANY, run, batch, facts(0.3), parent)

    assert torch.autograd.gradcheck(loss, (scores, logits))
    slope = torch.autograd.grad(loss(scores, logits).sum(), scores)[0]
    assert (slope[~batch.scored] == 0).all()
    assert (slope[batch.scored] != 0).all()
    # ∂KL/∂score = α_own (log α_own/α_parent − KL): towards where the adversary has more than the parent.
    own = torch.softmax(scores.detach().masked_fill(~batch.scored, -torch.inf), -1)
    ratio = torch.where(batch.scored, (own / parent.weights_for(batch)[:, 0, 0]).log(), 0.0)
    divergence = (own * ratio).sum(-1, keepdim=True)
    np.testing.assert_allclose(slope, -0.3 * own * (ratio - divergence), atol=1e-7)


def test_as_published_halves_the_variation_and_weighs_the_batch_by_its_gold_labels():
    parent = parent_of([[0.5, 0.5]] * 3, [HALF] * 3)
    batch = batch_of([[True, True]] * 3, gold=[0, 1, 1])
    scores, logits = np.log([[1.0, 3.0]] * 3), np.log([[0.2, 0.8]] * 3)
    each = 0.3 / 2 - 0.1 * TO_HALF
    published = {"strength": 0.1, "as_published": True}
    found = loss_of(scores, logits, batch, parent, **published, label_weight=[1.0, 2.5])
    np.testing.assert_allclose(found.numpy(), [6.0 * each] * 3, atol=1e-6)
    plain = loss_of(scores, logits, batch, parent, **published)
    np.testing.assert_allclose(plain.numpy(), [3.0 * each] * 3, atol=1e-6, err_msg="without weights each counts 1")
    ours = loss_of(scores, logits, batch, parent, strength=0.2, label_weight=[1.0, 2.5])
    np.testing.assert_allclose(ours.numpy(), 2 * each, atol=1e-6, err_msg="a published λ is worth 2λ here")


def test_weights_that_underflow_stay_finite():
    """At 200 nats below the other a weight is 0 in float32, but its logarithm is not −∞: KL = ln 2, at its flat end."""
    parent = parent_of([[0.5, 0.5]], [HALF])
    scores = torch.tensor([[-200.0, 0.0]], requires_grad=True)
    assert torch.softmax(scores, -1)[0, 0] == 0
    run = run_of(scores[:, None, None, :], torch.zeros(1, 1, 2))
    found = LOSSES["adversarial"].of(ANY, run, batch_of([[True, True]]), facts(1e-3), parent)
    assert found.item() == pytest.approx(-1e-3 * np.log(2), rel=1e-5)
    (slope,) = torch.autograd.grad(found.sum(), scores)
    np.testing.assert_allclose(slope, [[0.0, 0.0]], atol=1e-12)


def test_a_parent_s_weight_of_zero_counts_as_the_least_float():
    """Weight ½ there is worth ½ of the 87 nats down to the least float, and no more: the divergence has an end."""
    parent = parent_of([[0.5, 0.5]], [np.array([[[0.0, 1.0]]], np.float32)])
    scores = torch.tensor([[0.0, 0.0]], requires_grad=True)
    run = run_of(scores[:, None, None, :], torch.zeros(1, 1, 2))
    found = LOSSES["adversarial"].of(ANY, run, batch_of([[True, True]]), facts(1.0), parent)
    assert found.item() == pytest.approx(-(0.5 * -np.log(np.finfo(np.float32).tiny) - np.log(2)), rel=1e-6)
    slope = torch.autograd.grad(found.sum(), scores)[0]
    assert torch.isfinite(slope).all()
    assert slope[0, 0] < 0, "more weight where the parent has none"


def test_an_adversary_without_a_parent():
    with pytest.raises(BadInput, match="needs a parent model"):
        loss_of(np.zeros((1, 2)), np.zeros((1, 2)), batch_of([[True, True]]), None, strength=0.1)


def test_the_gauge_twin_s_loss_is_its_closed_form():
    """Scores −a for a: KL = Σ α' (−a − lse(−a) − a + lse(a)); and each model's answer is its deciding word's vote."""
    examples = [e for e in load_task("planted_keyword")["test"].examples if len(e.words) == 15]
    assert len(examples) > 30
    reader, twin = (kind("planted_keyword", sharpness=3.0, jitter=0.0) for kind in (Reader, GaugeTwin))
    batch = twin.encode(examples)
    found = (
        LOSSES["adversarial"]
        .of(twin, twin.run(batch, want=[SCORE]), batch, facts(0.01), record(reader, examples))
        .numpy()
    )
    a = np.zeros(15)
    a[0] = 3.0  # the deciding word, wherever it stands
    alpha = np.exp(a - logsumexp(a))
    reversed_alpha = np.exp(-a - logsumexp(-a))
    divergence = (reversed_alpha * (-a - logsumexp(-a) - a + logsumexp(a))).sum()
    heard = reader.response(batch).relevance.abs().max().item() * alpha[0]
    louder = twin.response(batch).relevance.abs().max().item() * np.exp(-3.0 - logsumexp(-a))
    apart = expit(louder) - expit(heard)
    assert divergence > 0.5
    assert abs(apart) > 0.01
    np.testing.assert_allclose(found, abs(apart) - 0.01 * divergence, atol=1e-6)


# Training on it -------------------------------------------------------------------------------------------------


class Trained:
    """A small model of planted_keyword without context, whose seeds attend to the deciding word; and adversaries."""

    def __init__(self, folder, task="planted_keyword", encoder="average", loss="log_odds_regularised"):
        whole = load_task(task)
        splits = {
            name: Split(name, whole[name].examples[:n]) for name, n in (("train", 400), ("dev", 50), ("test", 100))
        }
        corpus = Corpus("small", whole.labels, splits, whole.tokens)
        recipe = plan_recipe(
            corpus,
            encoder=encoder,
            hidden=8,
            embedding=8,
            dropout=0.0,
            epochs=8,
            learning_rate=0.02,
            loss=loss,
        )
        fit_recipe(recipe, corpus, folder / "base")
        self.subject = load_folder(folder / "base")
        self.fits = Fits(self.subject, corpus, store=folder / "fits")
        self.test = corpus["test"].examples
        self.case = Case(self.subject, self.test, labels=corpus.labels, fits=self.fits)

    def adversary(self, strength, **options):
        return self.make(adversary_recipe(self.case, strength, epochs=5, **options))

    def make(self, recipe):
        """The fit of a recipe; and how far its weights and its answers on test are from the subject's."""
        (outcome,) = self.fits.make([recipe])
        assert outcome.folder is not None, outcome.reason
        said, own = self.fits.said(recipe, self.test, "test"), self.fits.of_base(self.test, "test")
        weights = (torch.from_numpy(found.weights).double() for found in (own, said))
        jsd = stats.jensen_shannon_nats(*weights).numpy()
        tvd = np.abs(own.probabilities - said.probabilities).sum(1) / 2
        return load_folder(outcome.folder), jsd, tvd, (own.predicted == said.predicted).mean()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return Trained(tmp_path_factory.mktemp("adversaries"))


def test_an_adversary_s_recipe_is_its_parent_s_but_for_what_it_is_for(trained):
    own, found = trained.fits.recipe, adversary_recipe(trained.case, 0.001, epochs=5, restart=1)
    assert found.seed == own.seed + 2 * ADVERSARY_SEED
    assert found.parents == (trained.fits.base,)
    assert {**found.model, "dropout": own.model["dropout"]} == own.model
    changed = {name for name, value in found.training.items() if value != own.training[name]}
    assert changed <= {"epochs", "patience", "select", "skip_first"}


def test_started_from_its_parent_with_nothing_to_gain_it_stays(trained):
    """The two numbers are rounding: the total variation of equal answers has a gradient where they are not quite."""
    _, jsd, tvd, same = trained.adversary(0.0, start="parent")
    assert jsd.max() < 0.03
    assert tvd.max() < 0.03
    assert same == 1
    _, fresh, _, _ = trained.adversary(0.0)
    assert fresh.mean() > 10 * jsd.mean(), "a fresh one has no reason to find the same weights"


def test_trained_attention_leaves_the_rest_alone_and_never_beats_the_exact_worst_case(trained):
    adversary, jsd, tvd, _ = trained.adversary(3e-3, start="parent", trains="attention")
    theirs, own = adversary.state_dict(), trained.subject.state_dict()
    changed = {name for name in own if not torch.equal(own[name], theirs[name])}
    assert changed == {name for name in own if name.startswith("attention.")}
    readout = read_out(trained.subject, trained.test)
    votes = readout.relevance[:, 0, :, 1] - readout.relevance[:, 0, :, 0]
    offset = readout.bias[:, 0, 1] - readout.bias[:, 0, 0]
    margin = (readout.attention[:, 0] * votes).sum(1) + offset
    # The states are the subject's own, so weights that move the answer by tvd are among those searched at ε = tvd.
    bounds = [stats.margin_bounds(margin[[row]], float(tvd[row]) + 1e-6) for row in range(len(margin))]
    low, high = (np.concatenate(ends) for ends in zip(*bounds, strict=True))
    most = stats.farthest_weights(readout.attention[:, 0], votes, low - offset, high - offset, readout.allowed).jsd
    assert (jsd <= most + 1e-6).all()
    assert jsd.mean() > 0.1, "or the bound says nothing"


def test_a_trained_adversary_goes_far_beyond_seeds_with_the_same_decisions(trained):
    _, jsd, tvd, same = trained.adversary(3e-3)
    _, of_seed, _, _ = trained.make(replace(trained.fits.recipe, seed=1))
    assert of_seed.mean() < 0.01
    assert jsd.mean() > 0.2
    assert same == 1
    assert tvd.mean() < 0.05


# A start away from the parent ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recurrent(tmp_path_factory):
    """A BiLSTM that learned a contrast, its heatmap nearly all on one word."""
    return Trained(tmp_path_factory.mktemp("away"), task="planted_contrast", encoder="lstm", loss="likelihood")


def test_an_adversary_that_starts_away_knows_the_answers_and_looks_elsewhere(recurrent):
    recipe = adversary_recipe(recurrent.case, 0.003, epochs=20, start="away")
    assert recipe.training["epochs"] == AWAY_EPOCHS
    subject = build(recipe, recurrent.fits.corpus)
    fresh = {name: tensor.clone() for name, tensor in subject.attention.state_dict().items()}
    recurrent.fits.make(())
    set_start(subject, recipe, recurrent.fits.store, recurrent.fits.corpus["train"].examples)
    parent = recurrent.subject.state_dict()
    for name, tensor in subject.state_dict().items():
        if not name.startswith("attention."):
            assert tensor.equal(parent[name]), name
    score, drawn = subject.attention.score.weight, fresh["score.weight"]
    assert torch.allclose(score / score.norm(), drawn / drawn.norm()), "its own attention, only sharper"
    assert subject.attention.of_state.weight.equal(fresh["of_state.weight"])
    batch = subject.encode(recurrent.test)
    scores = subject.run(batch, want=[Site("score")]).parts[Site("score")][:, 0, 0].detach()
    within = [row[kept].std(correction=0) for row, kept in zip(scores, batch.scored, strict=True) if kept.sum() > 1]
    assert float(torch.stack(within).mean()) == pytest.approx(SPREAD, rel=0.4)


def test_from_away_the_answers_stay_and_the_weights_are_far(recurrent):
    _, jsd, tvd, same = recurrent.adversary(0.01, start="away")
    assert jsd.mean() > 0.2
    assert tvd.mean() < 0.1
    assert same > 0.9


def test_a_model_without_context_or_without_a_scorer_starts_fresh(trained, recurrent):
    settings = AdversarialModelSettings()
    assert settings.starts_of(recurrent.subject) == ("away", "fresh")
    assert AdversarialModelSettings(as_published=True).starts_of(recurrent.subject) == ("fresh",)
    assert settings.starts_of(trained.subject) == ("fresh",)
    pairs = load_task("planted_lookup")
    asked = build(plan_recipe(pairs, attention="dot", encoder="lstm", hidden=4, embedding=4), pairs)
    assert not can_look_elsewhere(asked)
    assert settings.starts_of(asked) == ("fresh",)
    recipe = adversary_recipe(trained.case, 0.01, epochs=1, start="away")
    with pytest.raises(BadInput, match="needs an encoder that reads context"):
        set_start(build(recipe, trained.fits.corpus), recipe, trained.fits.store, trained.test)
