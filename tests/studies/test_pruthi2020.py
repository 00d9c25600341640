"""The study: a smoke run on a bare machine, redrawn from its small results; its choices; its numbers by hand."""

import importlib
import json
import re
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from heatcheck.errors import BadInput, UnknownName
from heatcheck.report import write_study, write_study_figures
from heatcheck.report.studies.pruthi2020 import VIEW, deception_in_short, tables_of_deception
from heatcheck.report.study_summary import not_met
from heatcheck.report.study_wording import fitted, quantity_name
from heatcheck.results import CheckResult, Measurement, key
from heatcheck.stats import Interval, t_interval
from heatcheck.studies import STUDIES, read_published, run_study
from heatcheck.studies.cells import Measured
from heatcheck.studies.corpora import DATA
from heatcheck.studies.rows import Published, Where, row_from
from smoke_runs import drawn_elsewhere, smoke_run

study = importlib.import_module("heatcheck.studies.pruthi2020")  # the package's name of it is the Study
run = partial(run_study, STUDIES["pruthi2020"])
SMALL = replace(study.QUICK, tasks=("sst_wiki",))


@pytest.fixture(scope="module")
def smoke(tmp_path_factory, made_up_corpora):
    """`heatcheck reproduce pruthi2020 --quick` of one task: its folder, and what it says as JSON."""
    return smoke_run(
        "pruthi2020",
        tmp_path_factory.mktemp("smoke") / "study",
        "--tasks",
        "sst_wiki",
        "--data-dir",
        str(made_up_corpora),
    )


@pytest.fixture(scope="module")
def redrawn(smoke, tmp_path_factory, made_up_corpora):
    """The study drawn elsewhere, from a copy of the small results alone."""
    return drawn_elsewhere("pruthi2020", SMALL, smoke[0], tmp_path_factory.mktemp("elsewhere"), made_up_corpora)


def test_the_smoke_run_has_a_number_for_every_question(smoke):
    folder, said = smoke
    assert said["failed"] == {}
    assert (folder / "table.csv").is_file()
    assert list(said["tasks"]) == ["sst_wiki"]
    for encoder in ("none", "lstm"):
        rows = {row["quantity"]: row for row in said["rows"] if row["encoder"] == encoder}
        assert rows.keys() >= {f"{kind}_at:{strength}" for kind in ("accuracy", "mass") for strength in ("0", "1")}
        assert rows.keys() >= {"accuracy_at:removed", "commonest", "share", "neighbours_share:1", "neighbours:1:2"}
        probes = ("norm_embedding", "norm_state", "contribution", "rest_states", "rest_embeddings", "after_deletion")
        assert rows.keys() >= {f"{name}:{strength}" for name in probes for strength in ("0", "1")}
        assert {row["seeds"] for row in rows.values()} == {1, 2}
        assert all(np.isfinite(row["value"]) for row in rows.values())
        assert ("mass_at:twin" in rows) == (encoder == "none"), "a BiLSTM has no twin that can be written down"
        if encoder == "none":
            assert rows["agreement:twin"]["value"] == 1
            assert rows["accuracy_at:twin"]["value"] == rows["accuracy_at:0"]["value"]
            assert rows["mass_at:twin"]["value"] < rows["mass_at:0"]["value"]
            assert rows["contribution:twin"]["value"] == pytest.approx(rows["contribution:0"]["value"], abs=1e-3)
    assert said["notes"][0].startswith("This is a smoke run")
    assert any("BERT" in note for note in said["notes"])
    # An encoder: two seeds honest, at λ = 1, and of the control. Twins are folders too, and were not trained.
    made = [path for path in (folder / "fits").iterdir() if (path / "training.jsonl").is_file()]
    assert len(made) == 2 * 2 * 3
    twins = [path for path in (folder / "fits").glob("*/config.json") if json.loads(path.read_text())["recipe"] is None]
    assert len(twins) == 2


def test_the_page_can_be_drawn_from_small_results_alone(smoke, redrawn):
    found, states, elsewhere = redrawn
    assert set(states) == {"reused"}
    assert [path.name for path in elsewhere.iterdir()] == ["results"], "nothing was fitted"
    assert [(row.encoder, row.quantity, row.value, row.seeds) for row in found.rows] == [
        (row["encoder"], row["quantity"], row["value"], row["seeds"]) for row in smoke[1]["rows"]
    ]
    assert sum(path.stat().st_size for path in elsewhere.rglob("*") if path.is_file()) < 200_000


def test_published_numbers_stand_beside_ours(redrawn):
    found = {(row.encoder, row.quantity): row for row in redrawn[0].rows}
    met = 0
    for row in read_published("pruthi2020"):
        if row.task == "sst_wiki" and row.key.by["trained"] != 0.1:
            ours = found[row.encoder, row.key.text]
            assert (ours.paper, ours.rerun) == (row.paper, row.rerun)
            assert ours.statement.startswith("not comparable (a smoke run): ours is")
            met += 1
    assert met == 10
    assert sum(row.paper is not None for row in found.values()) == 10
    assert any("4 of sst_wiki" in line for line in not_met(redrawn[0])), "λ = 0.1 was not run"


def test_the_page(redrawn, tmp_path):
    found = redrawn[0]
    page = write_study(found, tmp_path / "study.html").read_text()
    for words in ("Learning to deceive", "Table 3: accuracy", "gauge twin", "reproduction by Caulfield", "BERT"):
        assert words in page
    assert "authors' rerun" not in page
    table, *_ = tables_of_deception(found)
    assert [row[:2] for row in table.rows] == [
        ("sst_wiki, embedding", "words removed"),
        ("sst_wiki, embedding", "honest"),
        ("sst_wiki, embedding", "λ = 1"),
        ("sst_wiki, embedding", "gauge twin"),
        ("sst_wiki, embedding", "baseline"),
        ("sst_wiki, BiLSTM", "words removed"),
        ("sst_wiki, BiLSTM", "honest"),
        ("sst_wiki, BiLSTM", "λ = 1"),
        ("sst_wiki, BiLSTM", "baseline"),
    ]
    rows = {(row.encoder, row.quantity): row for row in found.rows}
    honest = table.rows[6]
    assert honest[2].split()[0] == f"{rows['lstm', 'accuracy_at:0'].value:.3f}"
    assert honest[3:5] == ("0.769", "0.776")
    assert honest[5].split()[0] == f"{rows['lstm', 'mass_at:0'].value:.3f}"
    assert honest[6:] == ("0.777", "0.829", "2")
    assert table.rows[7][6:8] == ("0.0007", "0.0005"), "small weights keep their digits"
    for made in tables_of_deception(found):
        assert not [cell for row in made.rows for cell in row if "nan" in cell]
        assert len(made.rows) in (7, 9)
    assert sum(fitted(model, found.rows, VIEW.retrained) for model in found.models) == 12, "twins are not trained"
    (figure,) = write_study_figures(found, tmp_path / "figures", suffix="csv")
    drawn = figure.read_text()
    assert drawn.count("gauge twin") == 2
    assert drawn.count(",honest,") == 4
    assert drawn.count("paper") == drawn.count("reproduction") == 4, "honest and λ = 1 of two encoders"


def test_in_short(redrawn):
    told = deception_in_short(redrawn[0].rows)
    at = {(row.encoder, row.quantity): row.value for row in redrawn[0].rows}
    assert f"sst_wiki, embedding: accuracy {at['none', 'accuracy_at:0']:.2f} → " in told
    assert f"{at['none', 'accuracy_at:twin']:.2f} and" in told
    assert told.count("at λ = 1") == 2
    assert told.count("gauge twin") == 1
    assert deception_in_short([row for row in redrawn[0].rows if not row.quantity.endswith(":1")]) == ""
    assert deception_in_short([]) == ""


def test_a_fit_that_fails_is_named_and_the_others_are_used(smoke, tmp_path, made_up_corpora, monkeypatch):
    shutil.copytree(smoke[0] / "fits", tmp_path / "fits")
    for config in (tmp_path / "fits").glob("*/config.json"):
        recipe = json.loads(config.read_text())["recipe"]
        if recipe and recipe["model"]["encoder"] == "none" and recipe["seed"] == 1:
            deceptive, control = recipe["loss"]["name"] == "deceptive", recipe["task"].startswith("wiki_only")
            if deceptive or control:
                shutil.rmtree(config.parent)

    def no_memory(*_):
        raise BadInput("no memory left")

    monkeypatch.setattr("heatcheck.training.stack.fit_job", no_memory)
    found = run(replace(SMALL, encoders=("none",)), tmp_path, data_dir=made_up_corpora, device="cpu")
    assert found.failed["wiki_only, embedding, seed 1"] == "its base model: no memory left"
    reason = found.failed["sst_wiki, embedding: deceptive model at λ = 1, seed 1"]
    assert "no memory left" in reason
    assert "delete results/" in reason
    rows = {(row.encoder, row.quantity): row for row in found.rows}
    assert rows["none", "accuracy_at:removed"].seeds == 1
    assert rows["none", "accuracy_at:1"].seeds == 1
    assert rows["none", "accuracy_at:0"].seeds == rows["none", "mass_at:twin"].seeds == 2


# Choices ---------------------------------------------------------------------------------------------------------


def test_a_model_and_its_controls():
    base, *controls = study.cells_of(study.Settings(), study.Kind("pronoun", "none"))
    assert (base.name, base.task, base.refit, base.checks) == ("pronoun, embedding", "pronoun", True, ("deception",))
    assert base.settings == {"deception.seeds": 5, "deception.strengths": [0.1, 1.0]}
    choices = {"preset": "pruthi", "encoder": "none", "attention": "linear", "batch_size": 32}
    assert base.choices == {**choices, "epochs": 5}
    assert "pronoun_neutral" in base.seen
    assert [(cell.task, cell.seed, cell.checks, cell.refit) for cell in controls] == [
        ("pronoun_neutral", seed, (), False) for seed in range(5)
    ]
    assert all(cell.choices == base.choices for cell in controls)
    other = study.cells_of(study.Settings(), study.Kind("sst_wiki", "none"))[0]
    assert other.choices == choices  # as many epochs as the preset has
    longer = study.cells_of(study.Settings(epochs=3, batch_size=1), study.Kind("sst_wiki", "lstm"))[0]
    assert (longer.choices["epochs"], longer.choices["batch_size"]) == (3, 1)
    every = [cell.name for kind in study.kinds_of(study.Settings()) for cell in study.cells_of(study.Settings(), kind)]
    assert len(every) == len(set(every)) == 4 * 6


def test_every_task_and_control_is_known():
    named = {*study.TASKS, *(control for control, _ in study.CONTROLS.values())}
    assert named <= set(DATA)
    assert STUDIES["pruthi2020"].tasks == study.TASKS


@pytest.mark.parametrize(
    ("changes", "error", "reason"),
    [
        ({"tasks": ("sst",)}, UnknownName, "unknown task of pruthi2020 'sst'"),
        ({"encoders": ("gru",)}, UnknownName, "unknown encoder of pruthi2020 'gru'"),
        ({"preset": "wp"}, UnknownName, "unknown preset of pruthi2020 'wp'"),
        ({"seeds": 1}, BadInput, "at least 2 seeds, not 1"),
        ({"strengths": (0.0,)}, BadInput, "above 0"),
    ],
)
def test_mistakes_are_said_before_anything_runs(changes, error, reason, tmp_path):
    with pytest.raises(error, match=reason):
        run(replace(study.Settings(), **changes), tmp_path / "study")
    assert not (tmp_path / "study").exists()


# Numbers by hand --------------------------------------------------------------------------------------------------


def measured(name, value, n=5, **by):
    return Measurement(name, value, value - 0.1, value + 0.1, n, "share", by)


def result(*measurements):
    return CheckResult("deception", "m", "retrained", measurements, ("a",), {}, {}, {}, 0)


def by_text(numbers):
    return {of.text: value for of, value in numbers}


def test_what_is_taken_of_the_check():
    found = by_text(
        study.of_check(
            result(
                measured("prior", 0.5, 60),
                measured("share", 0.45, 60),
                measured("neighbours_share", 0.2, 60, distance=2),
                measured("accuracy", 0.9, fit="honest"),
                measured("mass", 0.8, fit="deceptive", strength=0.1),
                measured("mass", 0.05, fit="gauge twin"),
                measured("neighbours", 0.3, fit="deceptive", strength=1.0, distance=2),
                measured("agreement", 1.0, fit="gauge twin"),
                measured("fit_accuracy", 0.7, fit="honest", seed=0),
                measured("deceived", 0.4, fit="deceptive", strength=0.1),
            )
        )
    )
    assert found == {
        "commonest": Interval(0.5, 0.4, 0.6, 1),
        "share": Interval(0.45, 0.35, 0.55, 1),
        "neighbours_share:2": Interval(0.2, 0.1, 0.30000000000000004, 1),
        "accuracy_at:0": Interval(0.9, 0.8, 1.0, 5),
        "mass_at:0.1": Interval(0.8, 0.7000000000000001, 0.9, 5),
        "mass_at:twin": Interval(0.05, -0.05, 0.15000000000000002, 5),
        "neighbours:1:2": Interval(0.3, 0.19999999999999998, 0.4, 5),
        "agreement:twin": Interval(1.0, 0.9, 1.1, 5),
    }


def test_each_model_is_a_mark():
    made = result(
        measured("fit_accuracy", 0.7, fit="honest", seed=3),
        measured("fit_mass", 0.6, fit="honest", seed=3),
        measured("fit_accuracy", 0.65, fit="deceptive", strength=1.0, seed=3),
        measured("fit_mass", 0.1, fit="deceptive", strength=1.0, seed=3),
    )
    assert list(study.points_of(made)) == [
        {"model": "0", "seed": 3, "accuracy": 0.7, "mass": 0.6},
        {"model": "1", "seed": 3, "accuracy": 0.65, "mass": 0.1},
    ]


def test_controls_are_means_over_seeds():
    cell = study.cells_of(study.Settings(), study.Kind("sst_wiki", "none"))[1]
    right = [0.5, 0.52, 0.47]
    made = [Measured(cell._replace(seed=seed), {}, share, {}, {}) for seed, share in enumerate(right)]
    assert by_text(study.of_controls(made)) == {"accuracy_at:removed": t_interval(np.array(right))}
    assert dict(study.of_controls([])) == {}


def test_small_weights_are_not_said_to_be_equal():
    of = ("sst_wiki", "lstm", "linear", key("mass_at", trained=1.0), "", "")
    found = (Where(*of), Interval(0.0002, 0.00015, 0.00025, 5), 0.00005, Published(*of, 0.0007, 0.3), "")
    row, finely = row_from(*found), row_from(*found, finely=True)
    assert row.statement == "outside: ours is lower by 0.00"
    assert finely.statement == "outside: ours is lower by 0.0005"
    assert finely.rerun_statement == row.rerun_statement == "outside: ours is lower by 0.30"
    assert quantity_name(row, (), VIEW) == "weight on the marked words, λ = 1"


def test_the_published_table():
    """A row each number that was read in a reproduction; what was remembered only is not there."""
    rows = read_published("pruthi2020")
    assert len(rows) == 2 * 2 * 7
    assert {(row.task, row.encoder) for row in rows} == {
        (task, encoder) for task in study.TASKS for encoder in study.ENCODERS
    }
    for row in rows:
        assert re.fullmatch(r"accuracy_at:(removed|0|0\.1|1)|mass_at:(0|0\.1|1)", row.key.text)
        assert all(0 <= share <= 1 for share in (row.paper, row.rerun) if share is not None), "shares, not percentages"
        assert row.rerun
    assert [(row.task, row.key.text) for row in rows if row.paper is None] == [
        ("pronoun", "mass_at:0.1"),
        ("pronoun", "mass_at:1"),
    ]
    (kept,) = (r for r in rows if (r.task, r.encoder, r.key.text) == ("sst_wiki", "lstm", "accuracy_at:1"))
    assert (kept.paper, kept.rerun) == (0.610, 0.651)
