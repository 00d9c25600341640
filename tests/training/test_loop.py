"""The one training loop: it learns, it can be stopped anywhere, and a recipe decides everything."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from heatcheck.data import Corpus, Split, load_task
from heatcheck.engine import stream
from heatcheck.errors import BadInput, UnknownName
from heatcheck.models import Recipe, Site
from heatcheck.training import (
    TrainingSettings,
    build,
    epoch_batches,
    evaluate,
    fit_recipe,
    imposed,
    make_optimizer,
    make_plan,
    plan_recipe,
    predict,
    train,
    train_loop,
)

SMALL = {"hidden": 8, "embedding": 8, "epochs": 3}


def cut(task, **sizes):
    """The first so many examples of each split."""
    whole = load_task(task)
    splits = {name: Split(name, whole[name].examples[:size]) for name, size in sizes.items()}
    return Corpus("small", whole.labels, splits, whole.tokens)


@pytest.fixture(scope="module")
def corpus():
    """200 keyword texts to train on: enough to learn, quick to read."""
    return cut("planted_keyword", train=200, dev=200, test=200)


def weights_of(folder):
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("encoder", ["average", "cnn", "lstm"])
@pytest.mark.parametrize("attention", ["tanh", "dot"])
def test_every_model_learns_a_keyword(encoder, attention):
    small = {"hidden": 16, "embedding": 32, "epochs": 4, "learning_rate": 0.02, "dropout": 0.0}
    texts = cut("planted_keyword", train=500, dev=50, test=300)
    fit = train(texts, encoder=encoder, attention=attention, progress=False, **small)
    assert fit.test.accuracy > 0.95
    assert fit.test.majority < 0.6


def test_a_context_is_learned_where_it_is_needed():
    """planted_contrast: a bag is right 11/16 at best, so more shows that the encoder reads the marker."""
    texts = cut("planted_contrast", train=1200, dev=50, test=400)
    fit = train(texts, hidden=32, embedding=32, epochs=5, learning_rate=0.01, dropout=0.0, progress=False)
    assert fit.test.accuracy > 0.9


def test_two_segments_and_more_than_two_labels():
    texts = cut("planted_lookup", train=200, dev=50, test=300)
    fit = train(texts, encoder="lstm", hidden=32, embedding=32, epochs=3, progress=False)
    assert fit.subject.settings.decoder == "merge"
    assert fit.test.n == 300
    assert np.isnan(fit.test.auc)
    assert fit.test.accuracy > 0.1


@pytest.fixture(scope="module")
def whole(corpus, tmp_path_factory):
    """The folder of a fit that nobody stopped."""
    folder = tmp_path_factory.mktemp("loop") / "whole"
    fit_recipe(plan_recipe(corpus, **SMALL), corpus, folder)
    return folder


def test_the_same_seed_gives_the_same_weights_and_another_does_not(corpus, whole, tmp_path):
    recipe = plan_recipe(corpus, **SMALL)
    for name, made in (("b", recipe), ("c", dataclasses.replace(recipe, seed=1))):
        fit_recipe(made, corpus, tmp_path / name)
    assert same(weights_of(whole), weights_of(tmp_path / "b"))
    assert not same(weights_of(whole), weights_of(tmp_path / "c"))


def test_the_caller_s_random_state_decides_nothing(corpus, tmp_path):
    recipe = plan_recipe(corpus, **SMALL)
    torch.manual_seed(1)
    fit_recipe(recipe, corpus, tmp_path / "a")
    torch.manual_seed(2)
    expected = torch.rand(1)
    torch.manual_seed(2)
    fit_recipe(recipe, corpus, tmp_path / "b")
    assert same(weights_of(tmp_path / "a"), weights_of(tmp_path / "b"))
    assert torch.equal(torch.rand(1), expected), "and training leaves the caller's random state alone"


@pytest.mark.parametrize("stop_at", [1, 3, 7, 8, 15, 20])
def test_stopped_anywhere_and_resumed_it_ends_with_the_same_weights(corpus, whole, tmp_path, monkeypatch, stop_at):
    """7 steps an epoch: before the first checkpoint, in the middle of an epoch, on its last step."""
    recipe = plan_recipe(corpus, **SMALL)

    import heatcheck.training.fit as fit_module

    steps = iter(range(10_000))

    def interrupted(*arguments, **options):
        def watch(*_):
            if next(steps) == stop_at:
                raise KeyboardInterrupt

        return train_loop(*arguments, **{**options, "watch": watch})

    monkeypatch.setattr(fit_module, "train_loop", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit_recipe(recipe, corpus, tmp_path / "resumed")
    assert not (tmp_path / "resumed").exists()
    fit_recipe(recipe, corpus, tmp_path / "resumed")
    assert same(weights_of(whole), weights_of(tmp_path / "resumed"))
    records = [(folder / "training.jsonl").read_text() for folder in (whole, tmp_path / "resumed")]
    assert records[0] == records[1]
    assert next(steps) == stop_at + 1 + 21 - 7 * (stop_at // 7), "whole epochs are not trained again"


def test_a_checkpoint_of_another_recipe_is_not_resumed(corpus, tmp_path, monkeypatch):
    import heatcheck.training.fit as fit_module

    def stop(*arguments, **options):
        train_loop(*arguments, **options)
        raise KeyboardInterrupt

    other = plan_recipe(corpus, seed=5, **SMALL)
    monkeypatch.setattr(fit_module, "train_loop", stop)
    with pytest.raises(KeyboardInterrupt):
        fit_recipe(other, corpus, tmp_path / "m")
    monkeypatch.setattr(fit_module, "train_loop", train_loop)
    recipe = plan_recipe(corpus, **SMALL)
    fit_recipe(recipe, corpus, tmp_path / "m")
    fit_recipe(recipe, corpus, tmp_path / "fresh")
    assert same(weights_of(tmp_path / "m"), weights_of(tmp_path / "fresh"))


def test_imposed_uniform_weights_leave_the_attention_untrained(corpus):
    recipe = plan_recipe(corpus, impose={"weights": "uniform"}, **SMALL)
    subject = build(recipe, corpus)
    before = {name: tensor.clone() for name, tensor in subject.attention.state_dict().items()}
    optimizer_free = dataclasses.replace(recipe, training={**recipe.training, "weight_decay": 0.0})
    train_loop(subject, corpus, optimizer_free, _scratch())
    assert same(before, subject.attention.state_dict())
    batch = subject.encode(corpus["test"].examples)
    used = subject.run(batch, edits=imposed(subject, batch, recipe.impose), want=[Site("attention")])
    weights = used.parts[Site("attention")][:, 0, 0]
    assert torch.allclose(weights, batch.scored / batch.scored.sum(1, keepdim=True))
    with pytest.raises(UnknownName, match="unknown kind of imposed weights 'of'"):
        imposed(subject, batch, {"weights": "of"})


def _scratch():
    import tempfile
    from pathlib import Path

    return Path(tempfile.mkdtemp())


def test_the_kept_epoch_is_the_best_one(corpus, tmp_path):
    recipe = plan_recipe(corpus, **{**SMALL, "epochs": 12, "select": "loss", "patience": 2, "learning_rate": 0.2})
    fit_recipe(recipe, corpus, tmp_path / "m")
    history = [json.loads(line) for line in (tmp_path / "m" / "training.jsonl").read_text().splitlines()]
    summary = json.loads((tmp_path / "m" / "training.json").read_text())
    losses = [epoch["dev"]["loss"] for epoch in history]
    assert summary["kept_epoch"] == int(np.argmin(losses))
    assert len(history) == summary["kept_epoch"] + 3 < 12, "it stops after two epochs without a better one"
    from heatcheck.models import load

    subject = load(tmp_path / "m")
    assert evaluate(subject, corpus["dev"]).loss == pytest.approx(min(losses), abs=1e-6)


def test_the_first_epoch_can_be_barred(corpus, tmp_path):
    """With a learning rate of nothing every epoch is the same, and the first eligible one is kept."""
    for barred, kept in ((True, 1), (False, 0)):
        chosen = {"hidden": 8, "embedding": 8, "epochs": 3, "learning_rate": 0.0, "skip_first": barred}
        fit_recipe(plan_recipe(corpus, preset="jw-release", **chosen), corpus, tmp_path / str(kept))
        assert json.loads((tmp_path / str(kept) / "training.json").read_text())["kept_epoch"] == kept


def test_an_epoch_sees_every_example_once_in_batches_of_like_length():
    examples = load_task("planted_keyword")["train"].examples
    settings = TrainingSettings(length_noise=0.1)
    batches = list(epoch_batches(examples, settings, stream(0, "test")))
    assert sorted(e.id for batch in batches for e in batch) == sorted(e.id for e in examples)
    assert {len(batch) for batch in batches[:-1]} <= {32, len(examples) % 32}
    spread = [max(len(e.words) for e in batch) - min(len(e.words) for e in batch) for batch in batches]
    everywhere = max(len(e.words) for e in examples) - min(len(e.words) for e in examples)
    assert np.mean(spread) < everywhere / 4
    means = [np.mean([len(e.words) for e in batch]) for batch in batches]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.5, "batches come in random order"
    again = list(epoch_batches(examples, settings, stream(0, "test")))
    other = list(epoch_batches(examples, settings, stream(1, "test")))
    assert [[e.id for e in b] for b in batches] == [[e.id for e in b] for b in again]
    assert [[e.id for e in b] for b in batches] != [[e.id for e in b] for b in other]


def test_scores_by_hand(corpus):
    subject = build(plan_recipe(corpus, **SMALL), corpus).eval()
    examples = corpus["test"].examples
    logs = predict(subject, examples, batch_size=7)
    alone = np.stack([predict(subject, [e])[0] for e in examples[:20]])
    assert np.allclose(logs[:20], alone, atol=1e-5)
    scores = evaluate(subject, examples)
    gold = np.array([e.label for e in examples])
    assert scores.accuracy == np.mean(logs[:, 0].argmax(-1) == gold)
    assert scores.loss == pytest.approx(-np.mean(logs[np.arange(200), 0, gold]), abs=1e-6)
    assert scores.majority == max(gold.mean(), 1 - gold.mean())
    assert scores.low < scores.accuracy < scores.high
    with pytest.raises(BadInput, match="no examples to predict"):
        evaluate(subject, [])
    with pytest.raises(BadInput, match="no gold labels"):
        evaluate(subject, [dataclasses.replace(examples[0], label=None)])


def test_presets_are_as_published(corpus):
    """Jain & Wallace's spec §3: AMSGrad, no decay on attention, summed loss, weighted positives."""
    paper, release, wp = (make_plan(corpus, name, {}) for name in ("jw-paper", "jw-release", "wp"))
    assert paper.model == release.model == wp.model
    assert (paper.model.embedding, paper.model.hidden, paper.model.dropout) == (300, 128, 0.0)
    assert (paper.training.select_split, release.training.select_split, wp.training.select_split) == (
        "test",
        "dev",
        "test",
    )
    for plan in (paper, release, wp):
        chosen = plan.training
        assert (chosen.optimizer, chosen.amsgrad, chosen.learning_rate, chosen.weight_decay) == (
            "adam",
            True,
            1e-3,
            1e-5,
        )
        assert (chosen.epochs, chosen.batch_size, chosen.reduction, chosen.select) == (8, 32, "sum", "auc")
        assert (chosen.decay_attention, chosen.class_weight, chosen.skip_first, chosen.clip) == (False, True, True, 0)
    assert make_plan(corpus, "jw-paper", {"encoder": "cnn"}).model.hidden == 256
    assert make_plan(corpus, "jw-release", {"encoder": "cnn"}).model.hidden == 128
    imdb = dataclasses.replace(corpus, name="imdb")
    assert make_plan(imdb, "jw-paper", {}).training.min_documents == 20
    assert make_plan(imdb, "jw-release", {}).training.min_documents == 10


def test_a_class_weight_counts_train(corpus):
    recipe = plan_recipe(corpus, preset="jw-release")
    positive = sum(e.label for e in corpus["train"])
    assert recipe.loss["label_weight"] == [1.0, (200 - positive) / positive]


def test_attention_is_left_out_of_the_decay(corpus):
    recipe = plan_recipe(corpus, preset="jw-paper", hidden=8, embedding=8)
    subject = build(recipe, corpus)
    optimizer = make_optimizer(subject, TrainingSettings(**recipe.training))
    rest, attention = optimizer.param_groups
    assert (rest["weight_decay"], attention["weight_decay"]) == (1e-5, 0.0)
    assert len(rest["params"]) + len(attention["params"]) == len(list(subject.parameters()))
    assert type(optimizer) is torch.optim.Adam
    assert rest["amsgrad"]


def test_what_is_refused(corpus, tmp_path):
    with pytest.raises(
        UnknownName,
        match=r"unknown preset 'jw'.*known: default, finetune, jw-paper, jw-release, pruthi, pruthi-seq2seq, serrano, ",
    ):
        plan_recipe(corpus, preset="jw")
    with pytest.raises(UnknownName, match=r"unknown setting 'epoch' \(did you mean 'epochs'\?\)"):
        plan_recipe(corpus, epoch=3)
    with pytest.raises(BadInput, match="epochs must be a whole number, not 'many'"):
        plan_recipe(corpus, epochs="many")
    with pytest.raises(BadInput, match="epochs must be at least 1, not 0"):
        plan_recipe(corpus, epochs=0)
    with pytest.raises(BadInput, match="amsgrad must be true or false, not 'yes'"):
        plan_recipe(corpus, amsgrad="yes")
    with pytest.raises(
        UnknownName,
        match=r"unknown encoder 'lstn' \(did you mean 'lstm'\?\); known: average, cnn, conv, gru, lstm, lstm_ahead",
    ):
        plan_recipe(corpus, encoder="lstn")
    with pytest.raises(BadInput, match=r"hidden must be divisible by 4, .* not 6"):
        build(plan_recipe(corpus, encoder="cnn", hidden=6), corpus)
    with pytest.raises(UnknownName, match="unknown value for optimizer 'sgd'"):
        plan_recipe(corpus, optimizer="sgd")
    with pytest.raises(BadInput, match="unknown device 'gpu'"):
        train(corpus, device="gpu", progress=False)
    with pytest.raises(BadInput, match=r"none.npz does not exist"):
        train(corpus, vectors=tmp_path / "none.npz", progress=False)
    recipe = plan_recipe(corpus, **SMALL)
    with pytest.raises(BadInput, match=r"the recipe is for small@\w+, but the data is planted_keyword@"):
        fit_recipe(recipe, load_task("planted_keyword"), tmp_path / "m")
    with pytest.raises(UnknownName, match="unknown loss 'hinge'"):
        fit_recipe(dataclasses.replace(recipe, loss={"name": "hinge"}), corpus, tmp_path / "m")
    assert not list(tmp_path.glob(".*")), "nothing half-written is left"
    assert not (tmp_path / "m").exists()


def test_vectors_are_the_start(corpus, tmp_path):
    (tmp_path / "tiny.txt").write_text("brilliant 1 2 3\nawful -1 -2 -3\n")
    recipe = plan_recipe(corpus, vectors=tmp_path / "tiny.txt", hidden=8)
    assert recipe.model["embedding"] == 3
    assert recipe.model["vectors"].startswith("tiny.txt@")
    subject = build(recipe, corpus, vectors=tmp_path / "tiny.txt")
    (number,), _ = subject.vocabulary.look_up("brilliant")
    assert subject.embed.weight[number].tolist() == [1, 2, 3]
    with pytest.raises(BadInput, match=r"the recipe starts from the word vectors tiny.txt@"):
        build(recipe, corpus)


def test_recipes_are_named_by_what_decides_them(corpus):
    recipe = plan_recipe(corpus)
    assert recipe.id == plan_recipe(corpus).id
    assert isinstance(recipe, Recipe)
    different = [plan_recipe(corpus, seed=1), plan_recipe(corpus, epochs=2), plan_recipe(load_task("planted_keyword"))]
    assert len({recipe.id, *(other.id for other in different)}) == 4
