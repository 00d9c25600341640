"""Where tests find corpora: real ones where the environment says, made-up ones that every task reads."""

import os

import pytest

import real_data
from heatcheck.data import TASKS, load_task

SKIPPED, FAILED = pytest.skip.Exception, pytest.fail.Exception


def outcome(looked_for, environment):
    """Both are caught: a test that is skipped by what it tests would look as if nothing were wrong."""
    with pytest.raises((SKIPPED, FAILED)) as found:
        looked_for(environment)
    return found.type, str(found.value)


@pytest.fixture(scope="module")
def set_up_once():
    return os.environ.get("HEATCHECK_DATA")


def test_the_variable_names_the_folder_and_the_tables_are_beside_it(tmp_path):
    (tmp_path / "data").mkdir()
    environment = {"HEATCHECK_DATA": "data"}  # from where the tests were started
    in_ci = {**environment, "CI": "true"}
    for lacking, wanted in ((environment, SKIPPED), (in_ci, FAILED), ({"CI": "true"}, FAILED), ({}, SKIPPED)):
        raised, told = outcome(real_data.corpora, lacking)
        assert raised is wanted
        assert told.startswith("needs the real corpora: ")
    unset = {"HEATCHECK_DATA": ""}
    assert outcome(real_data.published_tables, unset)[1].endswith("HEATCHECK_DATA does not name their folder")
    assert not real_data.corpora_are_expected(unset)
    assert real_data.corpora_are_expected({"CI": "true"}), "what could do with made-up corpora is not let off either"
    (tmp_path / "data" / "sst.jsonl.gz").touch()
    assert real_data.corpora(in_ci) == tmp_path / "data"
    assert outcome(real_data.published_tables, in_ci)[0] is FAILED
    (tmp_path / "reference").mkdir()
    assert real_data.published_tables(in_ci) == tmp_path / "reference"


def test_nothing_that_is_tested_sees_the_variable(set_up_once):
    assert (set_up_once, os.environ.get("HEATCHECK_DATA")) == (None, None)


def test_made_up_corpora_are_read_by_their_tasks(made_up_corpora):
    here = [
        name
        for name, task in TASKS.items()
        if task.missing(made_up_corpora) is None and task.missing(made_up_corpora / "no")
    ]
    assert len(here) == 16
    for name in here:
        corpus = load_task(name, data_dir=made_up_corpora)
        assert list(corpus.splits) == ["train", "dev", "test"]
        assert corpus.labels == TASKS[name].labels
