"""The study: a small run on generated texts, its choices, and its numbers by hand."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

from heatcheck.errors import BadInput, UnknownName
from heatcheck.report.studies.jain2020_fresh import _READ, VIEW, rationales_in_short
from heatcheck.studies import STUDIES, read_published, run_study
from heatcheck.studies.cells import Measured

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
    del right["random", 0.2]
    left = measured(settings, right, gold)
    assert "accuracy_gap:attention:random:0.2" not in {of.text for of, *_ in study.numbers_of(settings, "sst", left)}


def test_every_kind_is_read_beside_its_controls():
    settings = study.Settings()
    cells = study.cells_of(settings, "sst")
    assert len(cells) == len({cell.name for cell in cells}) == 5 * (1 + 3 * 12)
    assert len(study.cells_of(settings, "eraser_movies")) == 5 * (2 + 3 * 10)
    assert {kind for pair in study.PAIRS for kind in pair} <= set(study.KINDS) <= set(_READ)
    assert study.corpora(settings)["eraser_movies"].task == "eraser_movies:marked"


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
