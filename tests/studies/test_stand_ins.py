"""A smoke run of a study in a fresh clone, where none of its corpora is: a generated task stands in."""

import pytest

from heatcheck.data import TASKS
from heatcheck.errors import BadInput
from heatcheck.studies import STUDIES
from heatcheck.studies.corpora import about, load, load_all


@pytest.mark.parametrize(
    "study", ["jain2019", "wiegreffe2019", "pruthi2020", "serrano2019", "abnar2020", "brunner2020"]
)
def test_every_quick_run_finds_something_to_read(tmp_path, study):
    tasks = STUDIES[study].quick.tasks
    found, missing = load_all({task: task for task in tasks}, 20, tmp_path)
    assert list(found) == [tasks[0]]
    assert set(missing) == set(tasks[1:])


def test_the_other_quick_runs_have_a_task_that_is_generated(tmp_path):
    for study in ("vashishth2019", "pruthi2020_sequences"):
        assert any(TASKS[task].missing(tmp_path) is None for task in STUDIES[study].quick.tasks)


def test_what_stands_in_is_said(tmp_path):
    found, missing = load_all({"sst": "sst:jw-release", "snli": "snli:jw-release"}, 20, tmp_path)
    assert (list(found), list(missing)) == (["sst"], ["snli"])
    corpus = found["sst"]
    assert (corpus.name, len(corpus["train"])) == ("reviews", 20)
    facts = about("sst:jw-release", corpus, smoke=True)
    assert facts["differs"] == "generated reviews stand in for sst, whose data is missing"
    assert facts["not_comparable"] == "a smoke run"
    assert load("sst:jw-release", 20, tmp_path).reference == corpus.reference  # as the worker reads it again


def test_a_task_that_is_here_needs_no_stand_in(tmp_path):
    found, missing = load_all({"sst": "sst", "planted_lookup": "planted_lookup"}, 20, tmp_path)
    assert (list(found), list(missing)) == (["planted_lookup"], ["sst"])
    assert about("planted_lookup", found["planted_lookup"], smoke=True)["differs"] == "a few of the texts"


def test_the_study_itself_takes_no_stand_in(tmp_path):
    with pytest.raises(BadInput, match=r"the data of every task is missing\. The first error: .*sst"):
        load_all({"sst": "sst"}, None, tmp_path)
