"""Fine-tuning a transformer in the one training loop: where it starts, what it learns, and that it can be killed."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import heatcheck.training.fit as fit_module
from heatcheck.auditing import audit, plan_audit
from heatcheck.errors import BadInput, HeatcheckError, UnknownName
from heatcheck.models import load
from heatcheck.training import (
    LOSSES,
    TrainingSettings,
    evaluate,
    fit_recipe,
    make_optimizer,
    plan_recipe,
    record,
    train,
    train_loop,
)
from heatcheck.training.finetune import build_transformer
from heatcheck.training.losses import FROM_BASE
from pretrained import LABELS, film_corpus, keep
from tiny_transformers import EXAMPLES, tiny

QUICK = {"epochs": 2, "learning_rate": 3e-3}


@pytest.fixture(scope="module")
def corpus():
    return film_corpus()


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    return f"hf:{keep('bert', tmp_path_factory.mktemp('start') / 'tiny-bert')}"


@pytest.fixture(scope="module")
def fitted(corpus, start, tmp_path_factory):
    store = tmp_path_factory.mktemp("fitted")
    return train(corpus, model=start, out=store / "fit", progress=False, epochs=5, learning_rate=3e-3)


def test_it_learns_and_comes_back_from_its_folder(fitted, corpus):
    assert fitted.test.accuracy > 0.9 > fitted.test.majority
    again = load(fitted.folder)
    assert again.labels == LABELS
    assert again.recipe.model["hf"].endswith("tiny-bert")
    assert again.id == again.recipe.id
    assert evaluate(again, corpus["test"]).facts() == fitted.test.facts()
    assert not (fitted.folder / "checkpoint.safetensors").exists()
    assert len((fitted.folder / "training.jsonl").read_text().splitlines()) == 5
    assert fitted.logistic_regression["accuracy"] == 1.0


@pytest.mark.parametrize("family", ["gpt2", "llama", "distilbert"])
def test_other_families(family, corpus, tmp_path):
    fit = train(corpus, model=f"hf:{keep(family, tmp_path / 'm')}", out=tmp_path / "fit", progress=False, **QUICK)
    before = build_transformer(fit.subject.recipe, corpus, device=torch.device("cpu")).eval()
    assert fit.test.loss < evaluate(before, corpus["test"]).loss


def test_the_recipe_names_the_start_by_its_weights(corpus, start, tmp_path):
    recipe = plan_recipe(corpus, model=start)
    assert recipe.model.keys() == {"hf", "weights"}
    assert recipe.training["learning_rate"] == 5e-5
    assert recipe.training["linear_decay"] is True
    assert plan_recipe(corpus, model=start, preset="finetune").id == recipe.id
    moved = replace(recipe, model={**recipe.model, "weights": "0" * 12})
    with pytest.raises(BadInput, match=r"the weights of hf:.* are \w{12}, but the recipe starts from 000000000000"):
        fit_recipe(moved, corpus, tmp_path / "m")
    assert plan_recipe(corpus, model=start, dropout="0.0").model["dropout"] == 0.0


def test_settings_that_are_off_leave_older_recipes_their_names(corpus):
    facts = plan_recipe(corpus).training
    assert not {"warm_up", "linear_decay", "accumulate", "bf16"} & facts.keys()
    assert plan_recipe(corpus, warm_up=0.1, accumulate=2).training.items() >= {"warm_up": 0.1, "accumulate": 2}.items()
    settings = TrainingSettings(warm_up=0.1, linear_decay=True, accumulate=3, bf16=True)
    assert TrainingSettings(**settings.facts()) == settings


@pytest.mark.parametrize("warm_up", [0.0, 0.25, 1.0])
def test_the_rate_rises_and_falls_in_straight_lines(warm_up):
    settings = TrainingSettings(warm_up=warm_up, linear_decay=True)
    rates = [settings.rate(step, 40) for step in range(40)]
    rising = round(40 * warm_up)
    assert np.allclose(rates[:rising], np.arange(1, rising + 1) / max(rising, 1))
    assert np.allclose(rates[rising:], np.arange(40 - rising, 0, -1) / max(40 - rising, 1))
    assert {TrainingSettings().rate(step, 40) for step in range(40)} == {1.0}


def test_the_loop_follows_the_rate(corpus, start, tmp_path, monkeypatch):
    """A step of plain AdamW moves a weight by at most the rate: the first by a tenth, the last by next to nothing."""
    seen = []
    make = sys.modules["heatcheck.training.loop"].make_optimizer

    def watched(*arguments):
        optimizer = make(*arguments)
        step = optimizer.step
        optimizer.step = lambda: (seen.append(optimizer.param_groups[0]["lr"]), step())
        return optimizer

    monkeypatch.setattr(sys.modules["heatcheck.training.loop"], "make_optimizer", watched)
    fit_recipe(plan_recipe(corpus, model=start, epochs=2, warm_up=0.5, accumulate=2), corpus, tmp_path / "m")
    assert len(seen) == 4, "96 texts in batches of 32, two a step, twice"
    assert np.allclose(np.array(seen) / 5e-5, [0.5, 1.0, 1.0, 0.5])


def test_two_half_batches_are_one_step(corpus, start, tmp_path):
    """Without dropout, and where the texts of a batch stay together, batches of 16 two a step are batches of 32."""
    alike = {"epochs": 1, "dropout": 0.0, "length_noise": 0.0, "learning_rate": 1e-3}
    one = replace(
        corpus, splits={**corpus.splits, "train": replace(corpus["train"], examples=corpus["train"].examples[:32])}
    )
    fit_recipe(plan_recipe(one, model=start, batch_size=32, **alike), one, tmp_path / "whole")
    fit_recipe(plan_recipe(one, model=start, batch_size=16, accumulate=2, **alike), one, tmp_path / "halves")
    whole, halves = (load_file(tmp_path / name / "transformer" / "model.safetensors") for name in ("whole", "halves"))
    assert all(torch.allclose(whole[name], halves[name], atol=2e-5) for name in whole)
    fit_recipe(plan_recipe(one, model=start, batch_size=16, **alike), one, tmp_path / "two steps")
    other = load_file(tmp_path / "two steps" / "transformer" / "model.safetensors")
    assert not all(torch.allclose(whole[name], other[name], atol=2e-5) for name in whole)


def test_biases_and_norms_are_not_decayed(corpus, start):
    subject = build_transformer(plan_recipe(corpus, model=start), corpus, device=torch.device("cpu"))
    decayed, rest = make_optimizer(subject, TrainingSettings(weight_decay=0.1)).param_groups
    assert (decayed["weight_decay"], rest["weight_decay"]) == (0.1, 0.0)
    assert {p.ndim for p in rest["params"]} == {1}
    assert len(decayed["params"]) + len(rest["params"]) == len(list(subject.parameters()))


def test_killed_and_resumed_it_is_the_same_bit_for_bit(corpus, start, tmp_path, monkeypatch):
    recipe = plan_recipe(corpus, model=start, epochs=3, learning_rate=1e-3)
    fit_recipe(recipe, corpus, tmp_path / "whole")

    def stopped(*arguments, **options):
        def watch(epoch, seen, _):
            if (epoch, seen) == (1, 64):
                raise KeyboardInterrupt

        return train_loop(*arguments, **{**options, "watch": watch})

    monkeypatch.setattr(fit_module, "train_loop", stopped)
    with pytest.raises(KeyboardInterrupt):
        fit_recipe(recipe, corpus, tmp_path / "killed")
    assert (tmp_path / ".killed.part" / "checkpoint.safetensors").is_file()
    monkeypatch.setattr(fit_module, "train_loop", train_loop)
    fit_recipe(recipe, corpus, tmp_path / "killed")
    one, other = (load_file(tmp_path / name / "transformer" / "model.safetensors") for name in ("whole", "killed"))
    assert all(one[name].equal(other[name]) for name in one)
    assert (tmp_path / "whole" / "training.jsonl").read_text() == (tmp_path / "killed" / "training.jsonl").read_text()


def test_training_out_of_memory_is_a_sentence(corpus, start, tmp_path, monkeypatch):
    def full(*_, **__):
        raise torch.OutOfMemoryError

    monkeypatch.setitem(LOSSES, "likelihood", LOSSES["likelihood"]._replace(of=full))
    with pytest.raises(BadInput, match=r"32 examples does not fit .* --set batch_size=16 --set accumulate=2"):
        fit_recipe(plan_recipe(corpus, model=start), corpus, tmp_path / "m")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model": "bert"}, "--model must be hf:NAME"),
        ({"model": "hf:./nowhere"}, "no folder ./nowhere"),
        ({"preset": "wp"}, "the preset wp is for models trained from scratch"),
        ({"encoder": "lstm"}, "encoder is a setting of models trained from scratch"),
        ({"hidden": 3}, "hidden is a setting of models trained from scratch"),
        ({"min_documents": 3}, "min_documents is a setting of word vocabularies"),
        ({"vectors": "glove.txt"}, "a pretrained model has its own embeddings"),
        ({"dropout": 1.5}, "dropout must be at least 0 and below 1"),
        ({"epoch": 3}, "unknown setting 'epoch'"),
    ],
)
def test_what_is_refused(changes, sentence, corpus, start):
    with pytest.raises(BadInput, match=sentence):
        plan_recipe(corpus, **{"model": start, **changes})


def test_a_preset_without_a_model(corpus):
    with pytest.raises(BadInput, match="Name one with --model hf:NAME"):
        plan_recipe(corpus, preset="finetune")
    with pytest.raises(UnknownName, match="finetune"):
        plan_recipe(corpus, preset="finetunes")


@pytest.mark.parametrize(
    "asked",
    [
        {"impose": {"weights": "log_odds"}},
        {"loss": "log_odds_regularised"},
        {"loss": {"name": "adversarial", "parent": "x", "trains": "attention"}},
    ],
)
def test_what_is_about_words_is_refused(asked, corpus, start, tmp_path):
    with pytest.raises(HeatcheckError, match=r"pieces of words|trains=attention is not possible"):
        fit_recipe(plan_recipe(corpus, model=start, **asked), corpus, tmp_path / "m")


# Other fits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_what_is_recorded_is_the_row_that_decides(family):
    subject = tiny(family)
    found = record(subject, EXAMPLES)
    for place, example in enumerate(EXAMPLES):
        run = subject.run(batch := subject.encode([example]), want=[subject.sites[-1]])
        own = run.parts[subject.sites[-1]][0, :, int(subject.rows(batch)[0])]
        assert found.each[place].shape == (4, 1, own.shape[-1])
        assert np.allclose(found.each[place][:, 0], own.detach().numpy(), atol=1e-6)


def test_uniform_weights_are_those_of_the_last_layer(corpus, start, tmp_path):
    recipe = plan_recipe(corpus, model=start, impose={"weights": "uniform"}, **QUICK)
    fit_recipe(recipe, corpus, tmp_path / "m")
    examples = corpus["test"].examples
    under = record(load(tmp_path / "m"), examples, impose=recipe.impose)
    assert all(np.allclose(each, 1 / each.shape[-1]) for each in under.each)
    subject = load(tmp_path / "m")
    batch = subject.encode(examples[:4])
    own = subject.run(batch, want=subject.sites).parts
    assert not torch.allclose(own[subject.sites[0]][0], own[subject.sites[0]][0].mean(-1, keepdim=True), atol=1e-4)


def test_an_adversary_moves_the_row_that_decides(fitted, corpus):
    """The divergence is between the rows the answers are read from, and its gradient reaches no other row."""
    subject = fitted.subject
    examples = corpus["test"].examples
    batch = subject.encode(examples[:3])
    site = subject.sites[-1]
    (score,) = LOSSES["adversarial"].wants(subject)
    facts = {"strength": 1.0, "as_published": False, "divergence": FROM_BASE}
    run = subject.run(batch, want=[score, site])

    def loss(parent):
        return LOSSES["adversarial"].of(subject, run, batch, facts, parent)

    own = record(subject, examples)
    assert torch.allclose(loss(own), torch.zeros(3), atol=1e-5), "it is its own parent"
    uniform = replace(own, each=tuple(np.full_like(weights, 1 / weights.shape[-1]) for weights in own.each))
    # KL(own ‖ uniform) = log n − entropy of own, a mean over heads
    row, tokens = run.parts[site].detach()[:, :, 0], batch.valid.sum(1).tolist()
    divergence = [np.log(n) + (row[i, :, :n] * row[i, :, :n].log()).sum(-1).mean().item() for i, n in enumerate(tokens)]
    assert np.allclose(loss(uniform).detach().numpy(), -np.array(divergence), atol=1e-4)
    (slope,) = torch.autograd.grad(loss(uniform).sum(), run.parts[score])
    assert slope[:, :, 0].abs().max() > 1e-3
    assert slope[:, :, 1:].abs().max() == 0


REFITS = ["necessity", "seed_variance"]
FEW = {"necessity.seeds": 2, "necessity.draws": 50, "necessity.retrained": "uniform", "seed_variance.seeds": 2}


@pytest.fixture(scope="module")
def quick(corpus, start, tmp_path_factory):
    return train(corpus, model=start, out=tmp_path_factory.mktemp("quick") / "fit", progress=False, **QUICK)


def test_an_audit_fits_it_again_from_the_same_start(quick, corpus, tmp_path):
    found = audit(quick.folder, corpus, checks=REFITS, refit=True, all_fits=True, settings=FEW, store=tmp_path / "fits")
    assert found.missing == {}
    by = [(m.name, m.by) for m in found.results["necessity"].measurements]
    assert ("accuracy", {"fit": "retrained", "weights": "uniform"}) in by
    assert found.results["necessity"].facts["family"] == (
        "tiny-bert fine-tuned, a new head; at most 2 epochs over 96 texts; "
        "without attention: uniform weights at all 3 sites"
    )
    jsd = next(m for m in found.results["seed_variance"].measurements if m.name == "jsd" and not m.by)
    assert 0 < jsd.value < np.log(2)
    fits = [json.loads(p.read_text())["recipe"] for p in (tmp_path / "fits").glob("*/config.json")]
    assert {fit["model"]["weights"] for fit in fits} == {quick.subject.recipe.model["weights"]}
    made = {(fit["seed"], *(fit["impose"] or {}).values()) for fit in fits}
    assert made == {(0,), (1,), (0, "uniform", "all"), (1, "uniform", "all")}


def test_adversaries_are_fine_tuned_too(quick, corpus, tmp_path):
    settings = {
        "adversarial_model.strengths": "0.1",
        "adversarial_model.epochs": 1,
        "adversarial_model.seeds": 2,
        "adversarial_model.draws": 50,
        "adversarial_model.epsilons": "0.05",
    }
    found = audit(
        quick.folder, corpus, checks=["adversarial_model"], refit=True, settings=settings, store=tmp_path, examples=4
    )
    models = {m.by.get("model") for m in found.results["adversarial_model"].measurements}
    assert {"seed", "uniform", "adversary"} <= models


@pytest.mark.parametrize("check", ["guide", "deception"])
def test_a_check_that_cannot_says_so(check, quick, corpus, tmp_path):
    marked = {
        name: replace(of, examples=tuple(replace(e, marks={"rationale": (True,) * len(e.words)}) for e in of))
        for name, of in corpus.splits.items()
    }
    texts = replace(corpus, splits=marked)
    chosen = {"split": "all", "examples": 5}  # its test texts are those of train
    found = audit(quick.folder, texts, checks=[check], train=corpus, refit=True, store=tmp_path, **chosen)
    assert check in found.not_run
    assert found.not_run[check].endswith(".")


def test_a_model_without_a_recipe_is_fitted_from_its_own_encoder(start, corpus, tmp_path):
    """Its labels stand in another order than the data's, and other fits are numbered as it is."""
    found = plan_audit(
        start,
        corpus,
        checks=["seed_variance"],
        refit=True,
        train=corpus,
        labels=["positive", "negative"],
        store=tmp_path,
    )
    fits = found.case.fits
    assert fits.corpus.labels == ("positive", "negative")
    assert [e.label for e in fits.corpus["train"]] == [1 - e.label for e in corpus["train"]]
    assert fits.recipe.model["hf"] == start.removeprefix("hf:")
    settings = {"seed_variance.seeds": 2}
    short = replace(corpus, splits={n: replace(s, examples=s.examples[:16]) for n, s in corpus.splits.items()})
    made = audit(
        start,
        short,
        checks=["seed_variance"],
        refit=True,
        train=short,
        labels=["positive", "negative"],
        settings=settings,
        store=tmp_path,
    )
    assert made.missing == {}
    assert "has no training recipe. Its retrained models start from its own encoder" in made.about["other fits"]


def test_a_model_without_a_recipe_and_without_its_texts(start, corpus):
    with pytest.raises(BadInput, match=r"does not name its training data\. Name the training data with --train"):
        plan_audit(start, corpus, refit=True, labels=LABELS)


def test_placeholder_labels_are_said_what_to_do_about(start, corpus):
    with pytest.raises(
        BadInput, match=r"its labels are LABEL_0, LABEL_1\. Name its outputs .* --labels negative,positive"
    ):
        plan_audit(start, corpus)
    subject = load(start)
    plan = plan_audit(subject, corpus, labels=["positive", "negative"])
    assert plan.case.labels == ("positive", "negative")
    assert subject.labels == ("LABEL_0", "LABEL_1"), "the user's own is left alone"
    gold = {example.id: example.label for example in corpus["test"]}
    assert all(example.label == 1 - gold[example.id] for example in plan.case.tested)
