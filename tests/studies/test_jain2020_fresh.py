"""The study: a small run on generated texts, its choices, and its numbers by hand."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

from heatcheck.auditing import plan_audit
from heatcheck.data import build_vocabulary, texts_of
from heatcheck.data.planted import planted
from heatcheck.errors import BadInput, UnknownName
from heatcheck.models import Chooser, ClassifierSettings, Extraction, extracting, make_classifier
from heatcheck.report.studies.jain2020_fresh import _READ, VIEW, rationales_in_short
from heatcheck.studies import STUDIES, read_published, run_study
from heatcheck.studies.cells import Measured
from heatcheck.training import plan_recipe

study = importlib.import_module("heatcheck.studies.jain2020_fresh")  # the package's name of it is the Study
SMALL = replace(study.QUICK, kinds=("attention", "random", "attention_places"), texts=24)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    return run_study(STUDIES["jain2020_fresh"], SMALL, folder, data_dir=folder / "none", device="cpu")


def test_a_small_run_has_a_number_for_every_question(found):
    rows = {row.quantity: row for row in found.rows}
    assert found.failed == {}
    kinds = ("full", "attention:0.2", "random:0.2", "attention_places:0.2")
    assert rows.keys() >= {f"{name}:{kind}" for name in ("macro_f1", "accuracy_read") for kind in kinds}
    assert rows.keys() >= {"commonest", "accuracy_gap:attention:random:0.2"}
    assert all(row.seeds == 2 for row in found.rows if row.name == "accuracy_read")
    assert rows["macro_f1:full"].paper is None or rows["macro_f1:full"].comparison == "not comparable"


def test_its_page_has_a_table_for_each(found):
    tables = [table for chapter in VIEW.chapters for make in chapter.tables for table in make(found)]
    captions = [table.caption.partition(":")[0] for table in tables]
    assert captions[:2] == ["Accuracy", "Difference in accuracy"]
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)
    accuracy = {row[0]: row[1] for row in tables[0].rows}
    assert list(accuracy) == [_READ[kind] for kind in ("full", "attention", "random", "attention_places")]
    assert "accuracy is" in rationales_in_short(found.rows)


def measured(settings, right, gold):
    """Cells whose answers are right where `right` has it: by what is read, [seed, example]."""
    cells = {cell.name: cell for cell in study.cells_of(settings, "sst")}
    about = {"labels": ["no", "yes"], "not_comparable": ""}
    there = {}
    for (read, share), of in right.items():
        for seed, row in enumerate(of):
            name = study.name_of("sst", read, share, seed)
            said = np.where(row, gold, 1 - gold).tolist()
            there[name] = Measured(cells[name], about, 0.0, {}, {}, {"answers": said, "gold": gold.tolist()})
    return there


def test_the_numbers_by_hand():
    settings = replace(study.Settings(), kinds=("attention", "random"), shares=(0.2,), seeds=2)
    gold = np.array([0, 1] * 10)
    right = {("full", None): np.ones((2, 20), bool)}
    right["attention", 0.2] = np.arange(20) < np.array([[18], [16]])
    right["random", 0.2] = np.arange(20) < np.array([[12], [12]])
    values = {of.text: value for of, value, _ in study.numbers_of(settings, "sst", measured(settings, right, gold))}
    assert values["accuracy_read:attention:0.2"].value == pytest.approx(0.85)
    assert values["commonest"].value == 0.5
    assert values["gain_kept:attention:0.2"].value == pytest.approx(0.35 / 0.5)
    assert values["accuracy_gap:attention:random:0.2"].value == pytest.approx(0.25)
    assert values["accuracy_gap:attention:random:0.2"].n == 2
    assert values["macro_f1:full"].value == 1.0
    left = measured(settings, right, gold)
    del left[study.name_of("sst", "random", 0.2, 1)]
    found = {of.text for of, *_ in study.numbers_of(settings, "sst", left)}
    assert "accuracy_read:attention:0.2" in found
    assert not found & {"accuracy_gap:attention:random:0.2", "accuracy_read:random:0.2"}, "one seed of two failed"


def test_the_match_with_marked_words_by_hand():
    """Of all words one is marked: F1 is 2 / (n + 1). Who reads the rest has no rationale to match."""
    corpus = planted("planted_keyword", sizes=(20, 10, 10))
    recipe, words = plan_recipe(corpus), [len(example.words) for example in corpus["test"]]
    found = {}
    for reads in ("chosen", "rest"):
        extraction = Extraction("random", 1.0, reads=reads)
        reader = make_classifier(
            build_vocabulary(texts_of(corpus["train"])), corpus.labels, ClassifierSettings(embedding=4, hidden=4)
        ).eval()
        reader.recipe = replace(recipe, extract=extraction.facts())
        subject = extracting(reader, Chooser(extraction, reader.vocabulary.rule))
        found[reads] = study.answers_of(plan_audit(subject, corpus, checks=["agreement"]), {})
    assert found["chosen"]["token_f1"] == pytest.approx([2 / (n + 1) for n in words])
    assert found["chosen"]["gold"] == [example.label for example in corpus["test"]]
    assert found["rest"].keys() == {"answers", "gold"}


def test_every_kind_is_read_beside_its_controls():
    settings = study.Settings()
    cells = study.cells_of(settings, "sst")
    assert len(cells) == len({cell.name for cell in cells}) == 5 * (1 + 3 * 12)
    assert len(study.cells_of(settings, "eraser_movies")) == 5 * (2 + 3 * 10)
    assert {kind for pair in study.PAIRS for kind in pair} <= set(study.KINDS) <= set(_READ)
    assert study.corpora(settings)["eraser_movies"].task == "eraser_movies:marked"


def test_every_kind_extracts_what_its_name_says():
    """By the settings of each cell, with its own share and seed."""
    parts = {"window": ("window", "chosen"), "rest": ("top_k", "rest"), "places": ("top_k", "pattern")}
    settings = replace(study.Settings(), shares=(0.1, 0.4), seeds=2)
    cells = {cell.name: cell for task in ("sst", "eraser_movies") for cell in study.cells_of(settings, task)}
    assert {cell.choices.get("seed", cell.seed) for cell in cells.values() if cell.name.endswith("seed 1")} == {1}
    for kind in study.KINDS:
        by, _, part = kind.rpartition("_")
        by, (how, reads) = (by, parts[part]) if part in parts else (kind, ("top_k", "chosen"))
        for share in settings.shares:
            found = cells[study.name_of("sst", kind, share, 0)].choices["treatment"]
            by_model = "gradient_through" if by == "gradient" else by  # as published
            assert found == {"name": "fresh", "by": by_model, "how": how, "reads": reads, "share": share}
    human = cells[study.name_of("eraser_movies", "human", None, 0)].choices["treatment"]
    assert (human["by"], human["reads"]) == ("human", "chosen")


def test_published_numbers_are_those_that_were_read():
    found = {(one.task, one.key.text): one.paper for one in read_published("jain2020_fresh")}
    assert found == {
        ("sst", "macro_f1:full"): 0.90,
        ("sst", "macro_f1:attention:0.2"): 0.81,
        ("sst", "macro_f1:attention_window:0.2"): 0.81,
        ("eraser_movies", "macro_f1:full"): 0.95,
    }


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"kinds": ("atention",)}, UnknownName, "did you mean 'attention'"),
        ({"shares": (1.0,)}, BadInput, "between 0 and 1"),
        ({"seeds": 1}, BadInput, "at least 2 seeds"),
        ({"preset": "wp"}, UnknownName, "preset of jain2020_fresh"),
    ],
)
def test_wrong_settings_are_sentences(changes, error, said):
    with pytest.raises(error, match=said):
        study.refuse(replace(study.Settings(), **changes))
