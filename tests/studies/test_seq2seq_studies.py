"""Sequence-to-sequence models of studies: trained and scored in one job, under their own weights and others."""

import importlib
import json
import shutil
from dataclasses import replace

import pytest

from heatcheck.checks.other_weights import SWAPS
from heatcheck.data import Corpus, Split
from heatcheck.errors import BadInput
from heatcheck.models import load_folder
from heatcheck.report import write_study
from heatcheck.studies import STUDIES, corpora, run_study, seq2seq
from heatcheck.studies.corpora import Source, load
from heatcheck.studies.seq2seq import score_work
from heatcheck.studies.study import Place
from heatcheck.studies.vashishth2019.seq2seq import RETRAINED, SEQUENCES, source_of, values_of
from heatcheck.training import plan_recipe
from heatcheck.training.seq2seq_evaluation import evaluate_seq2seq
from tried_study import found_by

study = importlib.import_module("heatcheck.studies.vashishth2019")  # the package's name of it is the Study
SMALL = {"preset": "pruthi-seq2seq", "hidden": 8, "embedding": 8, "epochs": 1, "batch_size": 64}


def wanted():
    corpus = load(Source("bigram_flip", drawn=100, symbols=8), None)
    changes = {"learned": {}, "uniform": {"impose": {"weights": "uniform"}}}
    return {name: (plan_recipe(corpus, seed=0, **SMALL, **change), corpus) for name, change in changes.items()}


def score_models(recipes, folder):
    found = found_by(lambda place, _: [score_work(recipes, place)], folder, device="cpu")
    return found.kept, found.failed


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("written")
    return folder, *score_models(wanted(), folder)


def test_scores_are_those_of_the_fitted_model_under_each_kind_of_weights(scored):
    folder, scores, failed = scored
    assert not failed
    for name, (recipe, corpus) in wanted().items():
        subject = load_folder(folder / "fits" / recipe.id)
        others = SWAPS if name == "learned" else ()
        assert set(scores[name]["test"]) == {"own", *others}, "what was trained under other weights has no own"
        for kind in ("own", *others):
            impose = recipe.impose if kind == "own" else {"weights": kind}
            found = json.loads(json.dumps(evaluate_seq2seq(subject, corpus["test"], impose=impose).facts()))
            assert scores[name]["test"][kind] == found
        dev = evaluate_seq2seq(subject, corpus["dev"], impose=recipe.impose)
        assert scores[name]["dev"] == json.loads(json.dumps(dev.facts()))
        assert scores[name]["gold"] is None


def test_models_that_train_longest_go_first(tmp_path):
    works = score_work(wanted(), Place(tmp_path, None, "cpu"))
    assert [work.name for work in works] == ["uniform", "learned"]


def test_small_results_are_enough(scored, tmp_path, monkeypatch):
    shutil.copytree(scored[0] / "results", tmp_path / "results")
    monkeypatch.setattr(seq2seq, "score_job", lambda *_: pytest.fail("it was scored before"))
    assert score_models(wanted(), tmp_path)[0] == scored[1]


def test_what_was_scored_stays_when_another_fit_fails(tmp_path, monkeypatch):
    recipe, corpus = wanted()["learned"]
    fit = seq2seq.fit_job

    def no_memory(argument, folder, store):
        if argument["recipe"]["seed"] == 1:
            raise BadInput("no memory left")
        fit(argument, folder, store)

    monkeypatch.setattr(seq2seq, "fit_job", no_memory)
    scores, failed = score_models({"first": (replace(recipe, seed=1), corpus), "second": (recipe, corpus)}, tmp_path)
    assert failed == {"first": "no memory left"}
    assert list(scores) == ["second"]


def test_alignments_by_hand_are_used_where_they_are_here(tmp_path, monkeypatch):
    recipe, corpus = wanted()["learned"]
    known = Split("test", tuple(corpus["test"].examples[:5]))
    by_hand = Corpus("by_hand", (), {"test": known}, tokens="spaces")
    monkeypatch.setattr(seq2seq, "GOLD_OF", {"bigram_flip": "by_hand"})
    monkeypatch.setattr(seq2seq, "load_task", lambda *_, **__: by_hand)
    scores, _ = score_models({"it": (recipe, corpus)}, tmp_path)
    subject = load_folder(tmp_path / "fits" / recipe.id)
    told = evaluate_seq2seq(subject, known, told=True)
    assert scores["it"]["gold"] == json.loads(json.dumps(told.facts()))
    assert told != evaluate_seq2seq(subject, known), "every step is told there"


def test_a_model_with_a_parent_is_refused(tmp_path):
    recipe, corpus = wanted()["learned"]
    child = replace(recipe, impose={"weights": "parent", "parent": "ab"})
    with pytest.raises(BadInput, match="learns from another model"):
        score_models({"child": (child, corpus)}, tmp_path)


# Across tasks ----------------------------------------------------------------------------------------------------


def facts(accuracy, bleu=0.0):
    return {
        "accuracy": {"value": accuracy},
        "majority": 0.1,
        "evenness": {"value": 0.4},
        "bleu": {"value": bleu},
    }


def made_up(task_seeds=((0.9, 0.5, 0.6), (0.7, 0.5, 0.2))):
    """Two seeds: accuracy with learned weights, with uniform ones, and with all on the first."""
    return {
        "learned": [
            {"test": {"own": facts(own, 30.0), **{kind: facts(own / 2, 3.0) for kind in SWAPS}}, "dev": facts(own)}
            for own, _, _ in task_seeds
        ],
        "uniform": [{"test": {"own": facts(even, 20.0)}, "dev": facts(even)} for _, even, _ in task_seeds],
        "first": [{"test": {"own": facts(first, 10.0)}, "dev": facts(first)} for _, _, first in task_seeds],
    }


def by_text(found):
    return {of.text: values for of, values in found.items()}


def test_the_numbers_of_a_task_are_paired_by_seed():
    found = by_text(values_of("bigram_flip", made_up()))
    assert found["put_in:own"] == found["trained:learned"] == [0.9, 0.7]
    assert found["lost_put_in:random"] == pytest.approx([0.45, 0.35])
    assert found["lost_trained:first"] == pytest.approx([0.3, 0.5])
    # Uniform weights are better on dev (.5 against .4): N is against them.
    assert found["N:retrained"] == pytest.approx([0.4 / 0.8, 0.2 / 0.6])
    assert found["index"] == pytest.approx([0.4 / 0.9, 0.2 / 0.7])
    assert found["commonest"] == [0.1]
    assert not [name for name in found if name.startswith("bleu")]
    translated = by_text(values_of("multi30k", made_up()))
    assert translated["bleu_put_in:own"] == [30.0, 30.0]
    assert translated["bleu_put_in:uniform"] == [3.0, 3.0]
    assert translated["bleu_trained:first"] == [10.0, 10.0]


def test_a_seed_that_learned_nothing_leaves_no_share_to_be_lost():
    found = by_text(values_of("bigram_flip", made_up(((0.9, 0.5, 0.6), (0.05, 0.5, 0.2)))))
    assert not {"N:retrained", "index"} & set(found)
    assert found["headroom:retrained"] == pytest.approx([0.8, -0.05])


def test_texts_to_write_stand_in_the_one_table_below_the_others(tmp_path):
    settings = replace(study.QUICK, tasks=("bigram_flip",))
    found = run_study(STUDIES["vashishth2019"], settings, tmp_path, device="cpu")
    assert not found.failed
    rows = {row.quantity: row for row in found.rows}
    assert {f"trained:{kind}" for kind in ("learned", *RETRAINED)} <= set(rows)
    assert {f"put_in:{kind}" for kind in ("own", *SWAPS)} <= set(rows)
    assert {row.seeds for name, row in rows.items() if name != "commonest"} == {2}
    page = write_study(found, tmp_path / "study.html").read_text()
    assert "sequence to sequence" in page
    assert "sequence to sequence: imposed at test time" in page


def test_a_quick_run_takes_a_few_texts_of_a_task_that_is_not_generated(monkeypatch):
    whole = load(Source("bigram_flip", drawn=100, symbols=8), None)
    monkeypatch.setattr(corpora, "load_task", lambda *_, **__: replace(whole, name="multi30k"))
    few = load(source_of("multi30k", 7), None)
    assert {name: len(split) for name, split in few.splits.items()} == {"train": 7, "dev": 7, "test": 7}
    assert few["train"].examples == whole["train"].examples[:7]
    assert load(source_of("multi30k", None), None) == replace(whole, name="multi30k")


def test_a_task_that_is_not_here_is_named(tmp_path):
    settings = study.Settings(tasks=("multi30k",))
    with pytest.raises(BadInput, match=r"the data of every task is missing\. The first error: .*multi30k"):
        run_study(STUDIES["vashishth2019"], settings, tmp_path, data_dir=tmp_path)
    assert set(SEQUENCES) < set(study.TASKS)
