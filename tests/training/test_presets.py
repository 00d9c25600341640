"""Published presets by task, and training on the tasks of Jain & Wallace from end to end."""

import pytest

from corpora import load, rows_of
from heatcheck.auditing import audit
from heatcheck.cli.audit import data_of
from heatcheck.data import Corpus, Example, Split, load_task
from heatcheck.errors import BadInput
from heatcheck.training import evaluate, make_plan, plan_recipe, predict, train

TINY = {"hidden": 8, "embedding": 8, "epochs": 1, "progress": False, "device": "cpu"}


def of_task(name: str, *, pair: bool = False, dev: bool = True) -> Corpus:
    """A corpus that only has the name and the kind of a task."""
    examples = tuple(Example(str(n), "a b", "c" if pair else None, n % 2) for n in range(4))
    splits = {split: Split(split, examples) for split in ("train", "dev", "test") if dev or split != "dev"}
    return Corpus(name, ("no", "yes"), splits)


# task, pair: hidden, embedding, batch, epochs, min_documents in the paper's state and in the release
PUBLISHED = {
    ("sst", False): ((128, 300, 32, 8, 1), (128, 300, 32, 8, 1)),
    ("imdb", False): ((128, 300, 32, 8, 20), (128, 300, 32, 8, 10)),
    ("imdb_small", False): ((128, 300, 32, 8, 20), (128, 300, 32, 8, 10)),
    ("20news_sports", False): ((128, 300, 32, 8, 2), (128, 300, 32, 8, 2)),
    ("ag_news", False): ((128, 300, 32, 8, 5), (128, 300, 32, 8, 5)),
    ("ade", False): ((128, 300, 32, 8, 2), (128, 300, 32, 8, 2)),
    ("mimic_anemia", False): ((128, 200, 32, 8, 5), (128, 300, 32, 8, 5)),
    ("cnn_qa", True): ((128, 300, 90, 25, 7), (128, 300, 90, 25, 8)),
    ("babi_3", True): ((128, 50, 50, 100, 1), (32, 50, 50, 100, 1)),
    ("snli", True): ((128, 300, 128, 25, 3), (128, 300, 128, 25, 3)),
    ("planted_lookup", True): ((128, 300, 100, 25, 1), (128, 300, 100, 25, 1)),
}


@pytest.mark.parametrize(("task", "pair"), PUBLISHED)
@pytest.mark.parametrize("suffix", ["", ":jw-release"])
def test_presets_by_task(task, pair, suffix):
    paper, release = PUBLISHED[task, pair]
    corpus = of_task(task + suffix, pair=pair)
    for preset, wanted, chosen_on in (
        ("jw-paper", paper, "test"),
        ("jw-release", release, "dev"),
        ("wp", release, "test"),
    ):
        model, training = make_plan(corpus, preset, {})
        found = (model.hidden, model.embedding, training.batch_size, training.epochs, training.min_documents)
        assert found == wanted
        assert training.select_split == chosen_on
        assert training.lowercase == (not task.startswith("babi"))
        assert (training.select, training.reduction) == (("accuracy", "mean") if pair else ("auc", "sum"))
        cnn, _ = make_plan(corpus, preset, {"encoder": "cnn"})
        assert cnn.hidden == model.hidden * (2 if preset == "jw-paper" else 1)


def test_serrano():
    corpus = of_task("imdb_small")
    model, training = make_plan(corpus, "serrano", {})
    assert (model.encoder, model.attention, model.embedding, model.hidden) == ("gru", "tanh", 200, 50)
    assert not model.hierarchical
    assert (training.optimizer, training.learning_rate, training.batch_size, training.clip) == ("adam", 4e-4, 64, 10)
    assert (training.epochs, training.patience, training.select, training.select_split) == (15, 5, "accuracy", "dev")
    conv, _ = make_plan(corpus, "serrano", {"encoder": "conv", "hierarchical": "true"})
    assert (conv.hidden, conv.hierarchical) == (100, True)
    assert make_plan(corpus, "serrano", {"encoder": "conv", "hidden": 8}).model.hidden == 8
    assert make_plan(corpus, "serrano", {"encoder": "none"}).training.epochs == 60
    assert make_plan(corpus, "default", {"encoder": "none"}).training.epochs == 15


def test_pruthi():
    model, training = make_plan(of_task("sst_wiki"), "pruthi", {})
    assert (model.encoder, model.attention, model.embedding, model.hidden) == ("lstm", "linear", 128, 64)
    assert (model.dropout, model.embedding_scale) == (0, 1), "from scratch, as torch starts an embedding"
    assert (training.optimizer, training.learning_rate, training.batch_size) == ("adam", 1e-3, 1)
    assert (training.epochs, training.patience, training.select) == (15, 0, "accuracy")
    assert (training.weight_decay, training.clip, training.min_documents, training.lowercase) == (0, 0, 1, True)
    embedding = make_plan(of_task("pronoun"), "pruthi", {"encoder": "none"}).model
    assert (embedding.encoder, embedding.hidden) == ("none", 64)
    with pytest.raises(
        BadInput, match=r"^attention=linear cannot use a question: with segments=2 choose attention=tanh or"
    ):
        make_plan(of_task("snli", pair=True), "pruthi", {})


def test_sentences_need_one_text():
    with pytest.raises(BadInput, match="hierarchical=true needs segments=1"):
        make_plan(of_task("snli", pair=True), "default", {"hierarchical": "true"})


def test_a_preset_gives_way_to_a_change():
    model, training = make_plan(
        of_task("babi_1", pair=True), "jw-paper", {"encoder": "cnn", "hidden": "16", "epochs": 3}
    )
    assert (model.hidden, training.epochs) == (16, 3)


def test_recipes_made_before_keep_their_names():
    """Ids of 0.1.0: a new table of presets must not refit what is there."""
    ids = {
        ("planted_keyword", "default"): "0f068c9057ed",
        ("planted_keyword", "jw-release"): "130d5896a0cb",
        ("planted_lookup", "jw-paper"): "a4abcefeb192",
    }
    for (task, preset), known in ids.items():
        assert plan_recipe(load_task(task), preset=preset).id == known
        assert plan_recipe(load_task(task), preset=preset, hierarchical=False).id == known, "as before there was any"
    one = plan_recipe(load_task("planted_keyword"), hierarchical=True)
    assert one.model["hierarchical"] is True
    assert one.id != ids["planted_keyword", "default"]


def test_without_a_dev_split():
    corpus = of_task("sst:jw-paper", dev=False)
    assert make_plan(corpus, "jw-paper", {}).training.select_split == "test"
    with pytest.raises(BadInput, match=r"sst:jw-paper has no dev split to choose the best epoch on.*select_split=test"):
        make_plan(corpus, "default", {})
    fit = train(corpus, preset="jw-paper", **TINY)
    assert fit.test.n == 4


def few(corpus: Corpus, n: int) -> Corpus:
    splits = {name: Split(name, split.examples[:n]) for name, split in corpus.splits.items()}
    return Corpus(corpus.name, corpus.labels, splits, corpus.tokens, dropped=corpus.dropped)


@pytest.mark.parametrize("name", ["babi_1", "snli", "snli:jw-release"])
@pytest.mark.parametrize("preset", ["default", "jw-release"])
def test_pairs_from_end_to_end(made_up_corpora, name, preset):
    corpus = few(load(name, made_up_corpora), 60)
    fit = train(corpus, preset=preset, **TINY)
    test = corpus["test"].examples
    assert predict(fit.subject, test).shape == (60, 1, len(corpus.labels))
    assert evaluate(fit.subject, test).facts() == fit.test.facts()
    assert fit.subject.settings.segments == 2
    assert data_of(fit.subject, "mine") == name
    if name == "babi_1":
        batch = fit.subject.encode(test[:8])
        assert batch.marks["rationale"].any()
        known = "mary" if preset == "default" else "Mary"  # the originals keep the case
        assert known in fit.subject.vocabulary.tokens


def test_a_prepared_task_is_found_again_and_says_what_it_left_out(made_up_corpora, tmp_path):
    corpus = few(load("sst:jw-paper", made_up_corpora), 80)
    fit = train(corpus, preset="jw-paper", out=tmp_path / "m", **TINY)
    assert fit.left_out == corpus.dropped
    assert fit.left_out["neutral"] > 0
    assert data_of(fit.subject, "m") == "sst:jw-paper"
    found = audit(fit.folder, corpus, checks=["agreement"], examples=20)
    assert found.about["left out of the task"] == dict(corpus.dropped)
    assert found.split == "test"


def test_answers_out_of_the_passage(made_up_corpora):
    """An untrained model never names an entity that the passage lacks, nor does a trained one."""
    rows = rows_of(made_up_corpora / "cnn_qa_sample.jsonl.gz")
    labels = tuple(sorted({w for row in rows for w in row["context"].split() if w.startswith("@entity")}))
    examples = tuple(
        Example(
            row["id"],
            row["context"],
            row["question"],
            labels.index(row["answer"]),
            options=tuple(n for n, label in enumerate(labels) if label in row["context"].split()),
        )
        for row in rows
    )
    corpus = Corpus("cnn_qa", labels, {n: Split(n, examples) for n in ("train", "dev", "test")}, tokens="spaces")
    fit = train(corpus, preset="jw-release", **(TINY | {"epochs": 3}))
    assert set(labels) <= set(fit.subject.vocabulary.tokens), "all are known, though none is in eight texts"
    assert fit.test.loss < 10
    logs = predict(fit.subject, examples)[:, 0]
    for example, row in zip(examples, logs, strict=True):
        assert row.argmax() in example.options
        assert sum(row > -1000) == len(example.options) < len(labels)
