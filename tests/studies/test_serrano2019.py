"""The study: a smoke run of the whole path on a bare machine, redrawn from its small results, and what it gathers."""

import importlib
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from heatcheck.errors import UnknownName
from heatcheck.report import write_study
from heatcheck.report.studies.serrano2019 import TABLES, flip_boxes, flip_curves, flips_in_short
from heatcheck.report.study_wording import models_in_order
from heatcheck.report.view import view_of
from heatcheck.results import CheckResult, Measurement
from heatcheck.studies import STUDIES, run_study
from heatcheck.studies.cells import Cell, Measured
from heatcheck.studies.running import gather
from heatcheck.studies.serrano2019.numbers import quantity_of
from heatcheck.studies.study import Found
from smoke_runs import drawn_elsewhere, smoke_run

study = importlib.import_module("heatcheck.studies.serrano2019")  # the package's name of it is the Study
run = partial(run_study, STUDIES["serrano2019"])
SMALL = replace(study.QUICK, tasks=("imdb_small",), encoders=("none",))


@pytest.fixture(scope="module")
def smoke(tmp_path_factory, made_up_corpora):
    """`heatcheck reproduce serrano2019 --quick` of one task and encoder: its folder, and what it says as JSON."""
    return smoke_run(
        "serrano2019",
        tmp_path_factory.mktemp("smoke") / "study",
        "--tasks",
        "imdb_small",
        "--set",
        "encoders=none",
        "--data-dir",
        str(made_up_corpora),
    )


@pytest.fixture(scope="module")
def redrawn(smoke, tmp_path_factory, made_up_corpora):
    """The study drawn elsewhere, from a copy of the small results alone."""
    found, states, elsewhere = drawn_elsewhere(
        "serrano2019", SMALL, smoke[0], tmp_path_factory.mktemp("elsewhere"), made_up_corpora
    )
    assert states == ["reused", "reused"]
    return found, elsewhere


def test_the_smoke_run_has_a_number_for_every_question(smoke):
    folder, said = smoke
    assert said["failed"] == {}
    assert (folder / "table.csv").is_file()
    assert said["notes"][0].startswith("This is a smoke run")
    for encoder in ("flan none", "han none"):
        names = {row["quantity"] for row in said["rows"] if row["encoder"] == encoder}
        assert names >= {
            "accuracy",
            "commonest",
            "texts measured",
            "tokens",
            "evenness",
            "default",
            "common",
            "same_place",
        }
        assert names >= {"gap:all", "censored:attention", "never:random", "survival:0.5:gradient x attention (signed)"}
        for sampler in ("correct", "as published"):
            assert names >= {f"single:{sampler}:{cell}" for cell in ("both", "top only", "random only", "neither")}
    assert all(row["paper"] is None for row in said["rows"]), "published numbers are from memory: in the docs alone"


def test_the_page_can_be_drawn_from_small_results_alone(smoke, redrawn, tmp_path):
    found, elsewhere = redrawn
    assert [path.name for path in elsewhere.iterdir()] == ["results"], "nothing was fitted"
    assert [(row.quantity, row.value) for row in found.rows] == [
        (row["quantity"], row["value"]) for row in smoke[1]["rows"]
    ]
    kept = [path for path in elsewhere.rglob("*") if path.is_file()]
    assert {path.suffix for path in kept} == {".json", ".npz"}, "no weights of a model"
    page = write_study(found, tmp_path / "study.html").read_text(encoding="utf-8")
    for words in ("FLAN noenc", "HAN noenc", view_of("flips").title, "No attention heatmap shows a sign"):
        assert words in page
    assert "Doing without learned attention" not in page


def test_words_and_sentences_are_counted_apart(redrawn):
    flat, deep = models_in_order(redrawn[0])
    assert (flat.encoder, deep.encoder) == ("flan none", "han none")
    assert flat.examples["tokens"].mean() > 5 * deep.examples["tokens"].mean()
    for model in (flat, deep):
        assert {len(values) for values in model.examples.values()} == {len(model.examples["predicted"])}
        assert set(np.unique(model.examples["predicted"])) <= {0.0, 1.0}


def test_every_model_is_a_cell():
    cells = study.cells_of(study.Settings())
    assert len(cells) == len({cell.name for cell in cells}) == (4 * 2 + 1) * 3 * 5
    assert {cell.encoder for cell in cells if cell.task == "sst"} == {"flan gru", "flan conv", "flan none"}
    for cell in cells:
        assert cell.choices["preset"] == "serrano"
        assert cell.choices.get("hierarchical", False) == cell.encoder.startswith("han")
        assert cell.encoder.endswith(f" {cell.choices['encoder']}")
        assert cell.checks == ("flips",)
        assert not cell.refit
    (chosen,) = {cell.choices["epochs"] for cell in study.cells_of(study.QUICK)}
    assert chosen == 1


@pytest.mark.parametrize("wrong", [{"tasks": ("yelp",)}, {"encoders": ("lstm",)}, {"preset": "wp"}])
def test_what_it_does_not_have_is_said(wrong, tmp_path):
    with pytest.raises(UnknownName, match="of serrano2019"):
        run(replace(study.QUICK, **wrong), tmp_path)
    assert list(STUDIES) == sorted(STUDIES)


def measured(seed, gap, sign=None, encoder="han gru", task="imdb_small", **values):
    """A model whose check found these."""
    found = [Measurement("gap", gap, 0.0, 1.0, 4, "", {"over": "all"})]
    if sign is not None:
        found.append(Measurement("sign_share", sign, 0.0, 1.0, 4, "", {"over": "all"}))
    by = {"ranking": "attention", "over": "own", "undefined": 1}
    found.append(Measurement("fraction", 0.5 + seed / 10, 0.0, 1.0, 3, "", by))
    arrays = {"tokens": np.array([2.0, 4.0]), "fraction:attention": np.array([0.5, np.nan]), **values}
    result = CheckResult("flips", "x", "states", tuple(found), ("b", "a"), arrays, {"c": "one sentence only"}, {}, 0)
    cell = Cell(f"{task}, {encoder}, seed {seed}", task, encoder, "tanh", {}, ("flips",), {}, seed=seed)
    about = {"labels": ["bad", "good"], "sizes": {}, "left_out": {}, "not_run": {}}
    return Measured(cell, about, 0.8, {"a": 0, "b": 1, "c": 0}, {"flips": result}, {"commonest": 0.5})


def gathered(cells):
    found = Found(measured={one.cell.name: one for one in cells})
    return gather(STUDIES["serrano2019"], study.Settings(), found)


def test_numbers_are_means_over_seeds():
    found = gathered([measured(0, 0.2, 0.6), measured(1, 0.0), measured(2, 0.4, 0.8)])
    rows = {row.quantity: row for row in found.rows}
    assert (rows["gap:all"].value, rows["gap:all"].seeds) == (pytest.approx(0.2), 3)
    assert (rows["sign_share:all"].value, rows["sign_share:all"].seeds) == (pytest.approx(0.7), 2)
    assert rows["fraction:own:attention"].value == pytest.approx(0.6)
    assert (rows["tokens"].value, rows["texts measured"].value) == (3.0, 2.0)
    (model,) = found.models
    assert model.seeds == 3
    assert model.examples["predicted"].tolist() == [1.0, 0.0] * 3
    assert found.tasks["imdb_small"]["published"] == "IMDB"
    assert "two labels instead of ten" in found.tasks["imdb_small"]["differs"]


def test_names_of_rows_tell_all_measurements_apart():
    from heatcheck.checks import CHECKS, Case
    from heatcheck.checks.flips import FlipsSettings
    from heatcheck.data import load_task
    from heatcheck.models import load

    subject = load("known:reader@planted_contrast")
    case = Case(subject, load_task("planted_contrast")["test"].examples[:30], labels=subject.labels)
    names = [quantity_of(m) for m in CHECKS["flips"].measure(case, FlipsSettings(draws=20)).measurements]
    assert len(names) == len(set(names))


def test_the_headline_is_the_sign():
    found = gathered([measured(0, 0.2, 0.6), measured(0, 0.3, 0.7, "flan gru"), measured(0, 0.0, None, "flan none")])
    said = flips_in_short(found.rows)
    assert said.startswith("Most of the lead of signed gradients over attention is due to their sign")
    assert "in the median of 2 kinds of models (60% to 70%); 1 more have no such lead" in said
    weak = gathered([measured(0, 0.2, 0.3)])
    assert flips_in_short(weak.rows).startswith(
        "Most of the lead of signed gradients over attention is not due to their sign"
    )
    assert flips_in_short([]) == ""


def test_a_row_a_kind_of_model():
    kinds = [measured(0, 0.2, 0.6), measured(0, 0.3, 0.7, "flan gru"), measured(0, 0.1, 0.5, "flan gru", "sst")]
    found = gathered(kinds)
    models = models_in_order(found)
    assert [(model.task, model.encoder) for model in models] == [
        ("imdb_small", "flan gru"),
        ("imdb_small", "han gru"),
        ("sst", "flan gru"),
    ]
    (means, facts) = (TABLES(found)[at] for at in (0, -1))
    assert [row[0] for row in facts.rows] == ["imdb_small, FLAN rnn", "imdb_small, HAN rnn", "sst"]
    assert means.columns[0] == "task"


def test_panels_stand_where_their_model_does():
    """A panel without a row would let those after it slip into its place."""
    kinds = [measured(0, 0.2, 0.6), measured(0, 0.3, 0.7, "flan gru"), measured(0, 0.1, 0.5, "flan gru", "sst")]
    found = gathered(kinds)
    for draw in (flip_curves, flip_boxes):
        rows = draw(found).spec["data"]["values"]
        assert {(row["row"], row["column"]) for row in rows} == {
            (task, kind) for task in ("imdb_small", "sst") for kind in ("FLAN rnn", "HAN rnn")
        }
        absent = [row for row in rows if (row["row"], row["column"]) == ("sst", "HAN rnn")]
        assert [row.get("y", row.get("median")) for row in absent] == [None], "there is no such model"
