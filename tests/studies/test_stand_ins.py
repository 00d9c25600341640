"""A smoke run of each study in a fresh clone, where none of its corpora is: a generated task stands in."""

from dataclasses import replace

import pytest

from heatcheck.cli import show_study
from heatcheck.report import write_study
from heatcheck.studies import STUDIES, run_study, seq2seq
from heatcheck.studies.corpora import Source, about, load_all

# As small as a run can be; what is not named is as in `--quick`.
TINY = {
    "abnar2020": {"seeds": 1, "texts": 24, "examples": 4},
    "brunner2020": {"seeds": 1, "texts": 24, "examples": 2},
    "chefer2021": {"seeds": 1, "texts": 24, "examples": 2},
    "clark2019": {"seeds": 1, "texts": 24, "examples": 4},
    "jain2019": {"encoders": ("average",), "attentions": ("tanh",), "texts": 40, "examples": 8, "search": False},
    "jain2020_fresh": {"kinds": ("attention",), "texts": 24},
    "kobayashi2020": {"seeds": 1, "texts": 24, "examples": 4},
    "kovaleva2019": {"seeds": 1, "texts": 24, "examples": 4},
    "michel2019": {"seeds": 1, "texts": 24, "examples": 4, "curves": 6, "random": 2},
    "mohankumar2020": {"texts": 24, "examples": 4, "hidden": 4},
    "olsson2022": {},
    "pruthi2020": {"encoders": ("none",), "texts": 40},
    "pruthi2020_sequences": {"tasks": ("multi30k",), "strengths": (), "texts": 40, "hidden": 4},
    "pruthi2020_transformer": {"heads": ("mean",), "seeds": 1, "texts": 24},
    "serrano2019": {"encoders": ("none",), "texts": 40, "examples": 8},
    "snell2021": {"steps": 10, "tasks": ("copy_iid", "lottery")},
    "sun2020": {"epochs": 1},
    "tutek2020": {"texts": 24, "examples": 4},
    "vashishth2019": {"tasks": ("sst",), "texts": 24, "hidden": 4},
    "vig2019": {"seeds": 1, "texts": 24, "examples": 4},
    "voita2019": {"seeds": 1, "texts": 24, "examples": 4, "curves": 6, "steps": 2, "penalties": (0.04,)},
    "wiegreffe2019": {"strengths": (2e-3,), "texts": 24, "examples": 6},
}
GENERATED = ("olsson2022", "snell2021")  # need no data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One for all studies: those of transformers share their models."""
    return tmp_path_factory.mktemp("studies") / "study"


@pytest.mark.parametrize("name", STUDIES)
def test_every_quick_run_ends_in_a_page_without_any_corpus(folder, tmp_path, name, capsys, monkeypatch):
    monkeypatch.setattr(seq2seq, "SWAPS", ("uniform",))  # the others take as long, one by one
    study = STUDIES[name]
    settings = replace(study.quick, **TINY[name])
    found = run_study(study, settings, folder, data_dir=tmp_path, device="cpu")
    assert found.rows
    page = write_study(found, tmp_path / "study.html").read_text()
    show_study.study(found)
    said = capsys.readouterr()
    assert ("stand in for" in page) == ("stand in for" in said.err) == (name not in GENERATED)
    assert found.notes[0] == study.smoke
    assert found.settings["seeds"] == settings.seeds


def test_what_stands_in_is_said(tmp_path):
    sources = {name: Source(f"{name}:jw-release", 20) for name in ("sst", "snli")}
    found = load_all(sources, tmp_path)
    assert (list(found.found), list(found.missing)) == (["sst"], ["snli"])
    corpus = found.found["sst"]
    assert (corpus.name, len(corpus["train"])) == ("reviews", 20)
    facts = about(found.sources["sst"], corpus)
    assert facts["differs"] == "generated reviews stand in for sst, whose data is missing"
    assert facts["not_comparable"] == "a smoke run"


def test_a_task_that_is_here_needs_no_stand_in(tmp_path):
    found = load_all({"sst": Source("sst", 20), "lookup": Source("planted_lookup", 20)}, tmp_path)
    assert (list(found.found), list(found.missing)) == (["lookup"], ["sst"])
    assert about(found.sources["lookup"], found.found["lookup"])["differs"] == "a few of the texts"


def test_the_study_itself_takes_no_stand_in(tmp_path):
    found = load_all({"sst": Source("sst")}, tmp_path)
    assert not found.found
    assert "sst.jsonl.gz" in found.missing["sst"]
