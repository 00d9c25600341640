"""Where tests find corpora: real ones where the environment says, made-up ones that every task reads."""

import os

import pytest

import real_data
from heatcheck.data import TASKS, load_task

PASSED_OVER, WRONG = pytest.skip.Exception, pytest.fail.Exception


@pytest.fixture(scope="module")
def set_up_once():
    return os.environ.get("HEATCHECK_DATA")


def test_the_variable_names_the_folder_and_the_tables_are_beside_it(tmp_path):
    (tmp_path / "data").mkdir()
    environment = {"HEATCHECK_DATA": "data"}  # from where the tests were started
    for wrong, lacks in ((environment, PASSED_OVER), ({**environment, "CI": "true"}, WRONG), ({"CI": "true"}, WRONG)):
        with pytest.raises(lacks, match=r"needs the real corpora: .*HEATCHECK_DATA"):
            real_data.corpora(wrong)
    for unset in ({}, {"HEATCHECK_DATA": ""}):
        assert not real_data.corpora_are_expected(unset)
        with pytest.raises(PASSED_OVER, match="HEATCHECK_DATA does not name their folder"):
            real_data.published_tables(unset)
    (tmp_path / "data" / "sst.jsonl.gz").touch()
    assert real_data.corpora(environment) == tmp_path / "data"
    with pytest.raises(WRONG, match="no folder reference beside HEATCHECK_DATA"):
        real_data.published_tables({**environment, "CI": "true"})
    (tmp_path / "reference").mkdir()
    assert real_data.published_tables(environment) == tmp_path / "reference"
    assert real_data.corpora_are_expected({"CI": "true"}), "what could do with made-up corpora is not let off either"


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
