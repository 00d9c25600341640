"""The study of writing: its models, its numbers beside the published ones, and what it says of a small run."""

from dataclasses import replace
from functools import partial

import pytest

from heatcheck.data import Corpus, Example, Split
from heatcheck.errors import BadInput
from heatcheck.report import write_study
from heatcheck.report.studies.pruthi2020_sequences import VIEW, tables_of_sequences
from heatcheck.report.study_wording import fitted
from heatcheck.studies import STUDIES, read_published, run_study
from heatcheck.studies.corpora import Source, load
from heatcheck.studies.pruthi2020_sequences import (
    QUICK,
    Kind,
    Settings,
    gather,
    kinds_of,
    not_comparable,
    recipe_of,
)
from heatcheck.studies.study import Found

TINY = replace(QUICK, texts=100)
run = partial(run_study, STUDIES["pruthi2020_sequences"])


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("writing")
    return folder, run(TINY, folder)


def test_the_models_are_the_rows_of_the_table():
    assert {kind.at for kind in kinds_of(Settings(), ["multi30k"])} == {"0", "0.1", "1", "uniform", "none"}
    corpus = load(Source("bigram_flip", drawn=TINY.texts, symbols=TINY.symbols), None)
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
    assert "misaligned_at:uniform" not in rows, "weights that are given point at nothing"
    assert "commonest" in rows
    assert "misaligned_at:diagonal" in rows


def test_what_is_there_is_not_run_again(found, monkeypatch):
    folder, result = found
    ran = []
    monkeypatch.setattr("heatcheck.studies.seq2seq.score_job", lambda *_: ran.append(1))
    assert run(TINY, folder).rows == result.rows
    assert not ran


def test_where_the_weight_went_is_said_place_by_place(found):
    _, result = found
    for at in ("0", "1"):
        places = {row.bin: row for row in result.rows if row.quantity == f"beside_at:{at}"}
        assert set(places) == {"-3", "-2", "-1", "+1", "+2", "+3", "first", "last"}
        assert all(0 <= row.value <= 1 and row.seeds == 2 for row in places.values())
    assert not [row for row in result.rows if row.quantity in ("beside_at:uniform", "beside_at:none")]
    (table,) = [table for table in tables_of_sequences(result) if "by distance" in table.caption]
    assert table.columns[2:] == (
        "-3",
        "-2",
        "-1",
        "+1",
        "+2",
        "+3",
        "weight on the start mark",
        "weight on the end mark",
    )
    assert [row[1] for row in table.rows] == ["honest", "λ = 1"]


def test_a_page_is_drawn(found, tmp_path):
    page = write_study(found[1], tmp_path / "study.html").read_text()
    assert "accuracy-by-links" in page
    assert "From honest models to models trained to deceive: bigram_flip: " in page
    assert {"accuracy", "mass", "model", "seed"} == set(found[1].models[0].points[0])
    assert len(found[1].models[0].points) == fitted(found[1].models[0], found[1].rows, VIEW.retrained) == 8
    assert "weight on linked words, λ = 1" in page
    assert "accuracy of freely generated words, no attention" in page


def test_the_published_numbers_are_of_its_tasks_and_rows():
    known = {0.0, 0.1, 1.0, "uniform", "none"}
    for row in read_published("pruthi2020_sequences"):
        kind, at = row.key.name, row.key.by["trained"]
        assert row.task in STUDIES["pruthi2020_sequences"].tasks
        assert at in known
        assert kind == "links_at" or (kind == "bleu_at") == (row.task == "multi30k")


def test_as_many_sequences_as_published_are_comparable():
    corpus = load(Source("sequence_copy", drawn=100), None)
    assert len(corpus["test"]) == 100
    assert not_comparable(Settings(), "sequence_copy", corpus) == "100 sequences instead of 100,000"


def scored(bleu=30.0):
    """What is kept of a model, as far as rows are made of it."""
    links = {"mass": {"value": 0.25}, "error_rate": {"value": 0.6}, "error_rate_of_diagonal": 0.5, "most_mass": 0.9}
    of = {"accuracy": {"value": 0.4}, "bleu": {"value": bleu}, "majority": 0.1}
    own = {**of, "links": {**links, "beside": {"+1": 0.1}, "on_ends": {"first": 0.0, "last": 0.0}}}
    return {"test": {"own": own, "uniform": of}, "gold": None}


def test_of_a_translation_only_bleu_is_not_comparable():
    corpus = Corpus("multi30k", (), {"train": Split("train", (Example("a", "a", "b", alignment=()),))})
    scores = {Kind("multi30k", "0", seed): scored(30.0 + seed) for seed in range(2)}
    kept = {kind.name: of for kind, of in scores.items()}
    found = Found({"multi30k": corpus}, {"multi30k": Source("multi30k")}, read_published("pruthi2020_sequences"))
    found.kept |= kept
    settings = Settings(tasks=("multi30k",), seeds=2)
    gathered = gather(settings, found)
    rows = {row.quantity: row for row in gathered.rows}
    assert rows["bleu_at:0"].statement.startswith("not comparable (BLEU of another tool)")
    assert rows["links_at:0"].rerun_statement.startswith("outside"), "both seeds have .25, and .249 was published"
    assert gathered.tasks["multi30k"]["not_run"] == {"links made by hand": "the data of gold_en_de is missing"}
    smaller = gather(replace(settings, captions=9), found)
    assert {row.statement.split(":")[0] for row in smaller.rows if row.paper} == {
        "not comparable (a smaller model or task)"
    }


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"seeds": 1}, "at least 2"), ({"strengths": (0.0,)}, "above 0"), ({"tasks": ("sst",)}, "unknown task")],
)
def test_mistakes_are_refused(changes, said, tmp_path):
    with pytest.raises(BadInput, match=said):
        run(replace(TINY, **changes), tmp_path)


def test_a_task_that_is_not_here_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"the data of every task is missing\. The first error: .*multi30k"):
        run(replace(TINY, tasks=("multi30k",), captions=None), tmp_path, data_dir=tmp_path)
