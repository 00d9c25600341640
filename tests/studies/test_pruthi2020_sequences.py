"""The study of writing: its models, its numbers beside the published ones, and what it says of a small run."""

import sys
from dataclasses import replace

import pytest

from heatcheck.errors import BadInput
from heatcheck.report import write_study
from heatcheck.studies import STUDIES, read_published
from heatcheck.studies.pruthi2020_sequences import (
    QUICK,
    Kind,
    Settings,
    corpus_of,
    kinds_of,
    not_comparable,
    recipe_of,
    run,
)

TINY = replace(QUICK, texts=100)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("writing")
    return folder, run(TINY, folder)


def test_the_models_are_the_rows_of_the_table():
    assert {kind.at for kind in kinds_of(Settings(), ["multi30k"])} == {"0", "0.1", "1", "uniform", "none"}
    corpus = corpus_of(TINY, "bigram_flip", None)
    recipes = {at: recipe_of(TINY, Kind("bigram_flip", at, 0), corpus) for at in ("0", "1", "uniform", "none")}
    assert recipes["0"].loss["name"] == "likelihood"
    assert recipes["1"].loss == {"name": "deceptive", "strength": 1.0, "mark": "alignment"}
    assert recipes["uniform"].impose == {"weights": "uniform"}
    assert recipes["none"].impose == {"weights": "first"}


def test_every_number_stands_beside_the_published_one(found):
    _, result = found
    rows = {row.quantity: row for row in result.rows}
    assert not result.failed
    for at in ("0", "1", "uniform", "none"):
        assert 0 <= rows[f"written_at:{at}"].value <= 1
        assert rows[f"written_at:{at}"].seeds == 2
        assert 0 <= rows[f"links_at:{at}"].value <= rows["links_at_most"].value
    assert (rows["links_at:0"].paper, rows["links_at:0"].rerun) == (0.945, 0.939)
    assert rows["links_at:0"].statement.startswith("not comparable (100 sequences instead of 100,000; a smaller model")
    assert rows["links_at:uniform"].low == pytest.approx(rows["links_at:uniform"].high), "no seed changes it"
    assert "commonest" in rows
    assert "misaligned_at:diagonal" in rows


def test_what_is_there_is_not_run_again(found, monkeypatch):
    folder, result = found
    ran = []
    for job in ("fit_job", "score_job"):
        monkeypatch.setattr(sys.modules[run.__module__], job, lambda *_: ran.append(1))
    assert run(TINY, folder).rows == result.rows
    assert not ran


def test_a_page_is_drawn(found, tmp_path):
    page = write_study(found[1], tmp_path / "study.html").read_text()
    assert "weight on linked words, λ = 1" in page
    assert "accuracy of words written freely, no attention" in page


def test_the_published_numbers_are_of_its_tasks_and_rows():
    known = {"0", "0.1", "1", "uniform", "none"}
    for row in read_published("pruthi2020_sequences"):
        kind, _, at = row["quantity"].partition(":")
        assert row["task"] in STUDIES["pruthi2020_sequences"].tasks
        assert at in known
        assert kind == "links_at" or (kind == "bleu_at") == (row["task"] == "multi30k")


def test_as_many_sequences_as_published_are_comparable():
    corpus = corpus_of(replace(Settings(), texts=100), "sequence_copy", None)
    assert len(corpus["test"]) == 100
    assert not_comparable(Settings(), "sequence_copy", corpus) == "100 sequences instead of 100,000"


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"seeds": 1}, "at least 2"), ({"strengths": (0.0,)}, "above 0"), ({"tasks": ("sst",)}, "unknown task")],
)
def test_mistakes_are_refused(changes, said, tmp_path):
    with pytest.raises(BadInput, match=said):
        run(replace(TINY, **changes), tmp_path)


def test_a_task_that_is_not_here_is_named(tmp_path):
    with pytest.raises(BadInput, match="no model could be scored; the first: task multi30k is not here"):
        run(replace(TINY, tasks=("multi30k",)), tmp_path, data_dir=tmp_path)
