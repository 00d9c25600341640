"""Cells: what is fitted and measured of them, that small folders are enough, and that a failure loses nothing else."""

import os
import shutil
import time
from dataclasses import replace

import pytest

from heatcheck import engine
from heatcheck.data import load_task
from heatcheck.errors import BadInput, BrokenFolder
from heatcheck.models import load_folder
from heatcheck.studies import cells, corpora
from heatcheck.studies.cells import Cell, not_fitted, plan_job
from heatcheck.studies.corpora import DATA, LARGER, Source, about, as_released, load
from heatcheck.studies.study import Work
from heatcheck.training import evaluate, predict, stack
from made_up_corpora import write_corpora
from tried_study import found_by

SMALL = {"encoder": "average", "attention": "tanh", "hidden": 8, "embedding": 8, "epochs": 1}
LOOKED = Cell("lookup, seed 0", "lookup", "average", "tanh", SMALL, ("permutation",), {}, examples=30)
REFITTED = LOOKED._replace(name="lookup", checks=("necessity",), settings={"necessity.seeds": 2}, refit=True)
CELLS = [LOOKED, LOOKED._replace(name="lookup, seed 1", seed=1), REFITTED]
LOOKUP = Source("planted_lookup", 60)


def measure(folder, of=CELLS, sources=None, **options):
    found = found_by(of, folder, corpora={"lookup": LOOKUP} | (sources or {}), **{"device": "cpu", **options})
    return [*found.measured.values()], found.failed


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cells") / "study"


@pytest.fixture(scope="module")
def found(folder):
    return measure(folder)


def test_every_cell_is_measured(found, folder):
    measured, failed = found
    assert failed == {}
    assert [one.cell for one in measured] == CELLS
    assert [list(one.results) for one in measured] == [["permutation"], ["permutation"], ["necessity"]]
    assert [one.results["permutation"].subject for one in measured[:2]] != [
        measured[0].results["permutation"].subject
    ] * 2
    assert measured[0].about["sizes"] == {"train": 60, "dev": 60, "test": 60}
    assert measured[0].about["not_comparable"] == "a smoke run"
    assert {path.name for path in (folder / "results").iterdir()} == {one.folder for one in measured}
    assert len({one.folder for one in measured}) == 3


def test_accuracy_is_of_all_of_test_and_answers_of_what_the_checks_read(found, folder):
    corpus = load(LOOKUP, None)
    ids = [example.id for example in corpus["test"]]
    for one in found[0]:
        assert len(one.predicted) == (60 if one.cell.refit else 30)
        job = plan_job("try", 1, one.cell, corpus, {})
        subject = load_folder(folder / "fits" / job.argument["base"])
        assert one.accuracy == pytest.approx(evaluate(subject, corpus["test"]).accuracy)
        said = dict(zip(ids, predict(subject, corpus["test"].examples)[:, 0].argmax(-1).tolist(), strict=True))
        assert one.predicted == {name: said[name] for name in one.predicted}
    assert found[0][0].predicted != found[0][1].predicted, "another seed"
    assert list(found[0][2].predicted) == ids, "checks that retrain models read all of test"


def test_accuracy_of_an_older_folder_is_counted(found, folder, tmp_path):
    shutil.copytree(folder / "results", tmp_path / "results")
    kept = tmp_path / "results" / found[0][2].folder / cells.CELL
    facts = engine.read_json(kept)
    engine.write_json(kept, {key: value for key, value in facts.items() if key != "test"})
    assert measure(tmp_path)[0][2].accuracy == pytest.approx(found[0][2].accuracy)


def test_test_is_evaluated_once_for_each_model(found, folder, tmp_path, monkeypatch):
    """Training does it; a cell without retrained models reads no other text than its sample."""
    assert len(found[0]) == 3
    shutil.copytree(folder / "fits", tmp_path / "fits")
    monkeypatch.setattr("heatcheck.checks.case.record", lambda *_: pytest.fail("all of test is read again"))
    assert len(measure(tmp_path, CELLS[:2])[0]) == 2


def test_small_folders_are_enough(found, folder, tmp_path):
    shutil.copytree(folder / "results", tmp_path / "results")
    states = []
    again, failed = measure(tmp_path, progress=lambda outcome, *_: states.append(outcome.state))
    assert states == ["reused"] * 3
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    assert failed == {}
    assert [(one.cell, one.accuracy, one.predicted) for one in again] == [
        (one.cell, one.accuracy, one.predicted) for one in found[0]
    ]


def test_fits_are_made_once_and_all_at_once(found, folder, tmp_path, monkeypatch):
    calls = []
    real = engine.map

    def counted(function, jobs, *arguments, **options):
        calls.append([job.name for job in jobs])
        return real(function, jobs, *arguments, **options)

    monkeypatch.setattr(engine, "map", counted)
    shutil.copytree(folder / "fits", tmp_path / "fits")
    states = []
    measure(tmp_path, progress=lambda outcome, *_: states.append((outcome.job.name, outcome.state)))
    bases, others, checks = filter(None, calls)
    assert bases == ["lookup, seed 0: average, seed 0", "lookup, seed 1: average, seed 1", "lookup: average, seed 0"]
    assert len(found[0]) == 3
    assert len(others) == 1 + 2 * 2, "another seed, and both seeds with uniform weights and with the last state"
    assert checks == [f"{cell.name}: checks" for cell in CELLS]
    assert {state for name, state in states if not name.endswith("checks")} == {"reused"}


def test_what_a_check_asks_for_later_is_trained_in_further_rounds(tmp_path):
    """A study trains every strength, as papers do, unless its settings say otherwise."""
    settings = {"adversarial_model.seeds": 2, "adversarial_model.epochs": 1, "adversarial_model.slack": 0.9}
    settings["adversarial_model.strengths"] = [1e-6, 1e-5, 1e-4]
    whole = REFITTED._replace(name="whole", checks=("adversarial_model",), settings=settings)
    searched = whole._replace(name="searched", settings={**settings, "adversarial_model.search": True})
    measured, failed = measure(tmp_path, [whole, searched])
    assert failed == {}
    assert not any(one.results["adversarial_model"].not_run for one in measured)
    tried = [
        [m.by["strength"] for m in one.results["adversarial_model"].measurements if m.name == "jsd" if "start" in m.by]
        for one in measured
    ]
    assert tried[0] == [1e-6, 1e-5, 1e-4]
    assert len(tried[1]) == 2
    assert "adversarial_model.search" not in plan_job("try", 1, whole, load(LOOKUP, None), {}).argument["settings"]


def test_what_fails_is_named_and_loses_nothing_else(tmp_path, monkeypatch):
    real = stack.fit_job

    def out_of_memory(argument, target, store):
        if argument["recipe"]["seed"] == 1:
            raise BadInput("no memory left")
        real(argument, target, store)

    monkeypatch.setattr(stack, "fit_job", out_of_memory)
    absent = LOOKED._replace(name="sst, seed 0", task="sst")
    odd = LOOKED._replace(name="odd", settings={"permutation.colour": 3})
    sources = {"sst": Source("sst:jw-release", 60)}
    measured, failed = measure(tmp_path, [absent, odd, *CELLS], sources, data_dir=tmp_path)
    assert [one.cell.name for one in measured] == ["lookup, seed 0", "lookup"]
    assert failed.keys() == {"sst", "odd", "lookup, seed 1"}
    assert failed["lookup, seed 1"] == "its base model: no memory left"
    assert "colour" in failed["odd"]
    lost = not_fitted(measured)
    assert sorted(lost) == [
        "lookup: planted_lookup: average, last weights, seed 1",
        "lookup: planted_lookup: average, seed 1",
        "lookup: planted_lookup: average, uniform weights, seed 1",
    ]
    assert all("no memory left (delete results/lookup-" in reason for reason in lost.values())


def test_an_explainer_that_a_model_lacks_is_no_model_that_failed(found):
    (looked, _, refitted) = found[0]
    missing = {"relevance": "it needs linear logits"}
    for one, failed in ((looked, {}), (refitted, {"lookup: relevance"})):
        results = {name: replace(result, not_run=missing) for name, result in one.results.items()}
        assert set(not_fitted([one._replace(results=results)])) == set(failed)


def test_a_folder_is_named_by_what_decides_its_numbers():
    corpus = load(LOOKUP, None)
    job = plan_job("try", 1, LOOKED, corpus, {})
    changes = ({"seed": 1}, {"examples": 31}, {"refit": True}, {"checks": ("counterfactual",)}, {"name": "lookup"})
    changes += ({"settings": {"permutation.draws": 3}}, {"choices": {**SMALL, "hidden": 16}})
    others = [plan_job("try", 1, LOOKED._replace(**change), corpus, {}) for change in changes]
    others += [plan_job("try", 2, LOOKED, corpus, {}), plan_job("another", 1, LOOKED, corpus, {})]
    others.append(plan_job("try", 1, LOOKED, load(LOOKUP._replace(texts=50), None), {}))
    assert len({job.id, *(other.id for other in others)}) == 1 + len(others)
    assert job.id.startswith("lookup-seed-0-")
    assert plan_job("try", 1, LOOKED._replace(seen="x"), corpus, {"device": "cuda"}).id == job.id


def test_mistakes_are_said_before_anything_runs(tmp_path):
    with pytest.raises(BadInput, match="two models of try have the same name"):
        measure(tmp_path, [LOOKED, LOOKED])
    with pytest.raises(BadInput, match="unknown device 'nonsense'"):
        measure(tmp_path, device="nonsense")
    with pytest.raises(BadInput, match=r"the data of every task is missing\. The first error: "):
        found_by([LOOKED], tmp_path, corpora={"lookup": Source("sst")}, data_dir=tmp_path)
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="is a file: name a folder for the study"):
        measure(tmp_path / "file")


def test_a_damaged_folder_is_said(found, folder, tmp_path):
    shutil.copytree(folder / "results", tmp_path / "results")
    (tmp_path / "results" / found[0][0].folder / cells.CELL).write_text("{}")
    with pytest.raises(BrokenFolder, match="is damaged: delete it and run the same command again"):
        measure(tmp_path)


def test_tasks_come_with_and_without_a_preparation(monkeypatch):
    assert as_released("snli") == "snli:jw-release"
    assert as_released("sst_wiki") == "sst_wiki"
    assert load(Source("planted_contrast"), None).reference == load_task("planted_contrast").reference
    assert LARGER["planted_lookup"][0] == 20_000, "from 2,000 a model learns those texts by heart"
    monkeypatch.setitem(LARGER, "planted_lookup", (2_010, 500, 1_000))
    larger, usual = load(Source("planted_lookup"), None), load_task("planted_lookup")
    assert (len(larger["train"]), len(usual["train"])) == (2_010, 2_000)
    assert larger["test"].fingerprint == usual["test"].fingerprint
    few = load(Source("planted_lookup", 7), None)
    assert {name: len(split) for name, split in few.splits.items()} == {"train": 7, "dev": 7, "test": 7}
    assert about(Source("sst:jw-release"), few)["published"] == DATA["sst"][0]


def test_a_corpus_is_read_once_per_process_and_again_when_its_file_changes(tmp_path, monkeypatch):
    write_corpora(tmp_path)
    read = []
    real = corpora.load_task
    monkeypatch.setattr(corpora, "load_task", lambda task, **where: read.append(task) or real(task, **where))
    source = Source("sst:jw-release", 20)
    first = load(source, tmp_path)
    held = [load(source._replace(texts=texts), tmp_path) for texts in (21, 22, 23)]  # others come between
    assert load(source, tmp_path) is first
    assert len(read) == 1 + len(held)
    os.utime(tmp_path / "sst.jsonl.gz", ns=(time.time_ns(), time.time_ns()))
    assert load(source, tmp_path) is not first
    assert len(read) == 2 + len(held)


def test_a_study_may_decide_what_to_do_from_what_it_found(tmp_path):
    """Rounds of a lottery: what is asked for next depends on what was found; the last round is empty."""
    asked = []

    def rounds(_, found):
        for number in range(3):
            yield [Work(f"number {number}", f"number-{number}", write_number, {"number": number}, read_number)]
            asked.append(dict(found.kept))
            if found.kept[f"number {number}"] == 10:
                break
        yield []

    found = found_by(rounds, tmp_path)
    assert asked == [{"number 0": 0}, {"number 0": 0, "number 1": 10}]
    assert found.kept == asked[-1]
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["number-0", "number-1"]


def write_number(argument, folder, _):
    engine.write_json(folder / "number.json", {"ten times": 10 * argument["number"]})


def read_number(folder):
    return engine.read_json(folder / "number.json")["ten times"]
