"""Models that write, through the one training loop: honest, deceptive, under imposed weights; and how well they do."""

from pathlib import Path

import numpy as np
import pytest
import torch

from heatcheck.data import Corpus, Example, Split, draw_sequences, load_task
from heatcheck.errors import BadInput, UnknownName
from heatcheck.models import Run, Site, load_folder
from heatcheck.training import describe, evaluate, make_plan, plan_recipe, train
from heatcheck.training.imposed import imposed
from heatcheck.training.jobs import work_of
from heatcheck.training.losses import LEAST_LEFT, LOSSES, plan_loss
from heatcheck.training.seq2seq import build_sequences
from heatcheck.training.seq2seq_evaluation import PLACES, evaluate_seq2seq, weight_beside
from subjects import PAIRS, WRITERS, writes

ATTENTION = Site("attention")
UNIFORM = {"weights": "uniform"}
DECEPTIVE = {"name": "deceptive", "mark": "alignment", "strength": 1.0}
SMALL = {"decoder": "luong", "embedding": 24, "hidden": 24, "epochs": 4, "learning_rate": 0.02, "progress": False}


def corpus():
    return draw_sequences("bigram_flip", sizes=(400, 40, 60), symbols=6, lengths=(2, 4))


@pytest.fixture(scope="module")
def fits(tmp_path_factory):
    store = tmp_path_factory.mktemp("writing")
    changes = {"honest": {}, "deceptive": {"loss": DECEPTIVE}, "uniform": {"impose": UNIFORM}}
    return {name: train(corpus(), out=store / name, **SMALL, **change) for name, change in changes.items()}


def test_what_was_trained(fits):
    honest, uniform = fits["honest"], fits["uniform"]
    assert honest.test.accuracy > honest.test.majority + 0.2
    imposed_, own = (evaluate(uniform.subject, corpus()["test"], impose=kind).loss for kind in (UNIFORM, None))
    assert uniform.test.loss == imposed_ != own, "it is scored under the weights it learned with"
    assert honest.logistic_regression == {"not_fitted": "a sequence-to-sequence task has no labels"}
    again = load_folder(honest.folder)
    assert evaluate(again, corpus()["test"]).facts() == honest.test.facts()
    assert again.recipe.model["kind"] == "seq2seq"


def test_deceptive_training_takes_weight_off_the_links(fits):
    masses = {name: evaluate_seq2seq(fits[name].subject, corpus()["test"]).links.mass for name in fits}
    assert masses["deceptive"].high < masses["honest"].low
    imposed_ = evaluate_seq2seq(fits["uniform"].subject, corpus()["test"], impose={"weights": "uniform"}).links
    assert imposed_.mass.value == pytest.approx(imposed_.mass_of_uniform)
    # Of n words and two marks each word has one link, the end mark none: Σ n/(n + 2) / Σ (n + 1).
    lengths = [len(example.words) for example in corpus()["test"]]
    expected = sum(n / (n + 2) for n in lengths) / sum(n + 1 for n in lengths)
    assert imposed_.mass_of_uniform == pytest.approx(expected)
    assert imposed_.most_mass == pytest.approx(sum(lengths) / sum(n + 1 for n in lengths))


def test_scores_over_words_are_those_of_the_logits():
    subject = writes(PAIRS)
    found = evaluate(subject, PAIRS)
    batch = subject.encode(PAIRS)
    logs, decided = subject.run(batch).logits.log_softmax(-1), batch.gold != -100
    right = logs.gather(-1, batch.gold.clamp(min=0)[..., None])[..., 0][decided]
    assert found.loss == pytest.approx(-float(right.detach().mean()), rel=1e-5)
    assert found.accuracy == pytest.approx(float((logs.argmax(-1) == batch.gold)[decided].float().mean()))
    assert found.n == len(PAIRS)
    assert 0 < found.majority < 0.5
    with pytest.raises(BadInput, match="no example"):
        evaluate(subject, [])


def test_what_is_written_freely_is_scored_to_the_length_of_the_target():
    """A model that always says `b`: at its place in "a b" and "b b", never an end mark."""
    examples = [Example("1", "a b", "a b"), Example("2", "b b", "b b"), Example("3", "a", "a")]
    subject = writes(examples)
    with torch.no_grad():
        subject.output.weight.zero_()
        subject.output.bias[:] = torch.tensor([float(token == "b") for token in subject.labels])
    found = evaluate_seq2seq(subject, examples)
    assert (found.n, found.words) == (3, 8)
    assert found.accuracy.value == pytest.approx(3 / 8)
    assert found.exact.value == 0
    assert found.exact.high > 0.3, "none of three says little"
    assert found.majority == pytest.approx(3 / 8)
    assert found.bleu.value == 0
    assert found.links is None
    assert found.facts()["links"] is None
    with pytest.raises(BadInput, match="no example"):
        evaluate_seq2seq(subject, [])


def test_the_penalty_is_pooled_over_the_words_of_a_batch():
    examples = [Example("1", "a b", "a b", alignment=((0, 0), (1, 1))), Example("2", "a", "a", alignment=((0, 0),))]
    subject = writes(examples, start_mark=False)
    batch = subject.encode(examples)
    run = subject.run(batch, want=[ATTENTION])
    own = torch.zeros_like(run.parts[ATTENTION])
    own[0, 0, :, 0] = 1.0  # of "a b </s>" only the first step attends to its link
    own[1, 0, :, 1] = 1.0  # of "a </s>" none does
    facts = plan_loss(DECEPTIVE)
    honest = LOSSES["likelihood"].of(subject, run, batch, {}, None)
    found = LOSSES["deceptive"].of(subject, Run(run.logits, run.row, {ATTENTION: own}), batch, facts, None)
    assert torch.allclose(found - honest, torch.full((2,), -np.log(1 - 1 / 5)), atol=1e-5)
    own[:] = 0
    own[:, 0][batch.aligned] = 1.0  # all on links; steps without one have no weight at all here
    worst = LOSSES["deceptive"].of(subject, Run(run.logits, run.row, {ATTENTION: own}), batch, facts, None) - honest
    assert torch.allclose(worst, torch.full((2,), -np.log(LEAST_LEFT)), rtol=1e-4)
    with pytest.raises(BadInput, match="needs word alignments"):
        LOSSES["deceptive"].of(*WRITERS["luong"][:1], run, writes(PAIRS).encode(PAIRS), facts, None)


@pytest.mark.parametrize("name", WRITERS)
def test_weights_are_imposed_at_each_step_told_or_not(name):
    subject, examples = WRITERS[name]
    batch = subject.encode(examples)
    keys = batch.valid
    for ask in (subject.run, subject.generate):
        given = {
            kind: ask(batch, edits=imposed(subject, batch, {"weights": kind}), want=[ATTENTION]).parts[ATTENTION]
            for kind in ("uniform", "first", "permuted")
        }
        even = (keys / keys.sum(1, keepdim=True))[:, None, None]
        assert torch.allclose(given["uniform"], even.expand_as(given["uniform"]))
        assert (given["first"][..., 0] == 1).all(), "all on the first place: the start mark where there is one"
        assert given["first"].sum() == given["first"][..., 0].sum()
        permuted = given["permuted"]
        assert torch.allclose(permuted.sum(-1), torch.ones(permuted.shape[:3]))
        assert (permuted[~keys[:, None, None].expand_as(permuted)] == 0).all()


def test_each_step_is_shuffled_in_its_own_way():
    subject, examples = WRITERS["bahdanau"]
    batch = subject.encode(examples)
    fixed = torch.arange(1.0, batch.valid.shape[1] + 1).expand(len(batch), 1, 1, -1) * batch.valid[:, None, None]
    edit = imposed(subject, batch, {"weights": "permuted"})[ATTENTION]
    steps = [edit.at_step(fixed, step) for step in range(4)]
    assert torch.equal(steps[0], edit(fixed)), "the first is as it was before there were steps"
    assert not any(torch.equal(steps[0], other) for other in steps[1:])
    assert all(torch.equal(step.sort(-1).values, fixed.sort(-1).values) for step in steps)
    alone = imposed(subject, one := subject.encode(examples[:1]), {"weights": "permuted"})[ATTENTION]
    short = one.valid.shape[1]
    assert torch.equal(alone.at_step(fixed[:1, ..., :short], 2), steps[2][:1, ..., :short])


def test_presets():
    of = {name: plan_recipe(corpus(), preset=name) for name in ("default", "pruthi-seq2seq", "snell-copy")}
    pruthi, snell = of["pruthi-seq2seq"], of["snell-copy"]
    assert {name: pruthi.model[name] for name in ("cell", "decoder", "attention", "embedding", "hidden")} == {
        "cell": "gru", "decoder": "bahdanau", "attention": "additive", "embedding": 256, "hidden": 512,
    }  # fmt: skip
    assert (pruthi.model["teacher_forcing"], pruthi.model["dropout"], pruthi.training["patience"]) == (0.5, 0.5, 2)
    assert (snell.model["decoder"], snell.model["bidirectional"], snell.model["hidden"]) == ("luong", False, 256)
    assert describe(of["default"]) == "bigram_flip: gru to gru, seed 0"
    assert work_of(of["default"], 10) > 0
    built = build_sequences(snell, corpus())
    assert built.vocabulary == built.target_vocabulary
    assert len(built.labels) == 10, "six symbols and four marks"


@pytest.mark.parametrize(
    ("preset", "task", "said"),
    [
        (
            "pruthi",
            None,
            "but the preset pruthi is for classification. Use default, pruthi-seq2seq, snell-copy",
        ),
        (
            "snell-copy",
            "planted_keyword",
            "is a classification task, but the preset snell-copy is for sequence-to-sequence. Use default",
        ),
    ],
)
def test_a_preset_for_the_other_kind_of_task_is_refused(preset, task, said):
    with pytest.raises(BadInput, match=said):
        make_plan(load_task(task) if task else corpus(), preset, {})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"loss": "log_odds_regularised"}, "needs labels"),
        ({"impose": {"weights": "log_odds"}}, "cannot be imposed"),
        ({"model": "hf:any"}, "Fine-tuning needs a task with labels"),
        ({"vectors": "glove.txt"}, "do not use pretrained vectors"),
        ({"select": "auc"}, "Use accuracy or loss"),
    ],
)
def test_what_a_model_that_writes_cannot_be_asked_for(changes, said):
    with pytest.raises(BadInput, match=said):
        train(corpus(), **SMALL, **changes)
    assert not Path("heatcheck-out").exists(), "and nothing was made"


def test_an_unknown_setting_names_those_there_are():
    with pytest.raises(UnknownName, match="teacher_forcing"):
        make_plan(corpus(), "default", {"encoder": "lstm"})


def test_a_deceptive_loss_says_what_it_needs(tmp_path):
    unlinked = tuple(Example(e.id, e.text, e.text_pair) for e in corpus()["train"].examples[:8])
    plain = Corpus("plain", (), {name: Split(name, unlinked) for name in ("train", "dev", "test")}, tokens="spaces")
    with pytest.raises(BadInput, match="needs word alignments"):
        train(plain, out=tmp_path / "m", loss=DECEPTIVE, **SMALL)


@pytest.mark.parametrize("told", [False, True])
def test_what_is_scored_is_what_was_written(told):
    subject, examples = writes(PAIRS, shared_embedding=True), PAIRS
    batch = subject.encode(examples)
    chosen = (subject.run if told else subject.generate)(batch).logits.argmax(-1)
    right = (chosen == batch.gold).sum() / (batch.gold != -100).sum()
    assert evaluate_seq2seq(subject, examples, told=told).accuracy.value == pytest.approx(float(right))
    assert not torch.equal(subject.run(batch).logits.argmax(-1), subject.generate(batch).logits.argmax(-1))


def test_links_go_to_the_heaviest_word():
    """All weight on the first place: the first word, where no mark stands before it; else a mark, and no link."""
    examples = [Example("1", "a b", "a b", alignment=((0, 0), (1, 1)))]
    under = {"impose": {"weights": "first"}}
    found = evaluate_seq2seq(writes(examples, start_mark=False), examples, **under).links
    assert found.error_rate.value == pytest.approx(1 - 2 / 4), "of two links found and two known, one is both"
    assert found.mass.value == pytest.approx(1 / 3), "a link, a miss and an end mark"
    assert found.error_rate_of_diagonal == 0
    marked = evaluate_seq2seq(writes(examples), examples, **under).links
    assert marked.error_rate.value == 1
    assert marked.mass.value == 0


def test_weight_beside_the_links_token_by_token():
    rng = torch.Generator().manual_seed(0)
    weights = torch.rand(3, 4, 6, generator=rng)
    linked = torch.rand(3, 4, 6, generator=rng) < 0.3
    valid = torch.arange(6) < torch.tensor([[6], [4], [2]])
    weights, linked = weights * valid[:, None], linked & valid[:, None]
    found = weight_beside(weights, linked, valid)
    for row in range(3):
        for at, places in enumerate(PLACES):
            expected = sum(
                float(weights[row, step, token])
                for step in range(4)
                for token in range(6)
                if 0 <= token - places < 6 and linked[row, step, token - places]
            )
            assert float(found[row, at]) == pytest.approx(expected, abs=1e-5)
        assert float(found[row, -2]) == pytest.approx(float(weights[row, :, 0].sum()), rel=1e-5)
        assert float(found[row, -1]) == pytest.approx(float(weights[row, :, [5, 3, 1][row]].sum()), rel=1e-5)


def test_where_weight_goes_whatever_is_read_together():
    linked, plain = Example("1", "a b", "a b", alignment=((0, 0), (1, 1))), Example("2", "a b a", "a b a")
    subject = writes([linked, plain])
    together, apart = (evaluate_seq2seq(subject, [linked, plain], batch_size=size).links for size in (2, 1))
    assert apart.on_ends == pytest.approx(together.on_ends)


def test_where_weight_goes_and_how_evenly():
    """All weight on the start mark is one token before the first word's link, two before the second's."""
    examples = [Example("1", "a b", "a b", alignment=((0, 0), (1, 1)))]
    subject = writes(examples)
    found = evaluate_seq2seq(subject, examples, impose={"weights": "first"})
    beside = {place: share for place, share in found.links.beside.items() if share}
    assert beside == {"-1": pytest.approx(1 / 3), "-2": pytest.approx(1 / 3)}
    assert found.links.on_ends == {"first": 1.0, "last": 0.0}
    assert found.evenness.value == 0
    assert evaluate_seq2seq(subject, examples, impose=UNIFORM).evenness.value == pytest.approx(1)
    longer = [*examples, Example("2", "a b a b", "b a b a", alignment=((0, 1),))]
    each = [evaluate_seq2seq(subject, [one]).evenness.value for one in longer]
    together = evaluate_seq2seq(subject, longer).evenness.value
    assert together == pytest.approx((3 * each[0] + 5 * each[1]) / 8, rel=1e-5), "a mean over words"


def test_texts_whose_links_are_not_known_say_nothing_about_links():
    linked = Example("1", "a b", "a b", alignment=((0, 0), (1, 1)))
    unknown = Example("2", "a b a b", "b a b a")
    subject = writes([linked, unknown])
    alone, both = (evaluate_seq2seq(subject, some) for some in ([linked], [linked, unknown]))
    assert both.links.error_rate.value == alone.links.error_rate.value
    assert both.links.mass.value == pytest.approx(alone.links.mass.value)
    assert both.links.most_mass == alone.links.most_mass == pytest.approx(2 / 3)
    assert both.links.on_ends == pytest.approx(alone.links.on_ends)
    assert both.n == 2
