"""The study of a transformer trained to deceive: a smoke run on a bare machine, redrawn elsewhere; numbers by hand."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

from heatcheck.data import load_task
from heatcheck.errors import BadInput, UnknownName
from heatcheck.report import write_study, write_study_figures
from heatcheck.report.studies.pruthi2020_transformer import layers_in_short, tables_of_layers
from heatcheck.results import key
from heatcheck.studies import STUDIES, read_published
from heatcheck.studies.of_transformers import SCRATCH
from heatcheck.studies.study import Place
from smoke_runs import drawn_elsewhere, smoke_run

study = importlib.import_module("heatcheck.studies.pruthi2020_transformer")  # the package's name of it is the Study


@pytest.fixture(scope="module")
def smoke(tmp_path_factory, made_up_corpora):
    """`heatcheck reproduce pruthi2020_transformer --quick`: its folder, and what it says as JSON."""
    folder = tmp_path_factory.mktemp("smoke") / "study"
    return smoke_run(study.NAME, folder, "--data-dir", str(made_up_corpora))


@pytest.fixture(scope="module")
def redrawn(smoke, tmp_path_factory, made_up_corpora):
    """The study drawn elsewhere, from a copy of the small results alone."""
    return drawn_elsewhere(study.NAME, study.QUICK, smoke[0], tmp_path_factory.mktemp("elsewhere"), made_up_corpora)


def test_the_smoke_run_has_a_number_for_every_question(smoke):
    folder, said = smoke
    assert said["failed"] == {}
    assert list(said["tasks"]) == ["pronoun"]
    for heads in study.HEADS:
        rows = {row["quantity"]: row for row in said["rows"] if row["attention"] == heads}
        assert {row["encoder"] for row in rows.values()} == {SCRATCH}
        for at in ("0", "1"):
            names = ("accuracy_at", "mass_at", "largest_at", "rollout_at", "after_deletion", "left_out_at")
            assert rows.keys() >= {f"{name}:{at}" for name in names}
            assert rows.keys() >= {f"{name}:{at}:{layer}" for name in ("row_mass", "others_mass") for layer in (1, 2)}
            assert rows[f"row_mass:{at}:2"]["value"] == pytest.approx(rows[f"mass_at:{at}"]["value"])
            assert rows[f"largest_at:{at}"]["value"] >= rows[f"mass_at:{at}"]["value"]
        assert rows.keys() >= {"accuracy_at:removed", "accuracy_lost:1", "mass_removed:1", "agreement:1", "share"}
        assert {row["seeds"] for row in rows.values()} == {1, 2}
        assert all(np.isfinite(row["value"]) for row in rows.values())
    honest = {row["value"] for row in said["rows"] if row["quantity"] == "mass_at:0"}
    assert len(honest) == 1, "the same models stand beside both ways with heads"
    assert not [path for path in (folder / "results").rglob("*") if path.suffix == ".safetensors"], "numbers only"


def test_the_page_can_be_drawn_from_small_results_alone(redrawn, tmp_path):
    found, states, elsewhere = redrawn
    assert set(states) == {"reused"}
    assert not (elsewhere / "fits").exists()
    assert sum(path.stat().st_size for path in (elsewhere / "results").rglob("*") if path.is_file()) < 60_000
    page = write_study(found, tmp_path / "study.html").read_text()
    for words in ("Learning to deceive", "Table 3: accuracy", "rows of the other words", "reproduction by Caulfield"):
        assert words in page
    table, used, *layers = tables_of_layers(found)
    assert [row[:2] for row in table.rows][:4] == [
        ("pronoun, mean", "words removed"),
        ("pronoun, mean", "honest"),
        ("pronoun, mean", "λ = 1"),
        ("pronoun, mean", "baseline"),
    ]
    assert table.rows[1][3:5] == ("1.000", "0.999")
    assert table.rows[5][6:8] == ("0.997", "0.998"), "the published weight of the head with the most"
    assert len(used.rows) == 4
    assert [made.columns[2:] for made in layers] == [("layer 1", "layer 2", "share")] * 2
    (figure,) = write_study_figures(found, tmp_path / "figures", suffix="csv")
    assert figure.read_text().count(",honest,") >= 4
    assert layers_in_short(found.rows).count("at λ = 1") == 2
    assert layers_in_short([]) == ""


def test_published_numbers_stand_beside_the_way_with_heads_that_they_are_of(redrawn):
    found = {(row.attention, row.key): row for row in redrawn[0].rows}
    met = 0
    for one in read_published(study.NAME):
        if one.task == "pronoun" and one.key.by["trained"] != 0.1:
            ours = found[one.attention, one.key]
            assert (ours.paper, ours.rerun) == (one.paper, one.rerun)
            assert ours.statement.startswith("not comparable (a smoke run)") or one.paper is None
            met += 1
    assert met == 9


def test_a_model_is_named_by_its_weights_and_not_by_their_folder(tmp_path, made_up_corpora):
    """Results of one machine are read on another, where the pretrained model lies elsewhere."""
    source = study.Source("pronoun", 24)
    corpus = load_task("pronoun", data_dir=made_up_corpora)
    kind = study.Kind("pronoun", 1.0, "max", 0)
    names = []
    for folder in ("one", "other"):
        start = study.from_nothing(corpus, tmp_path / folder, small=True)
        recipe = study.recipe_of(study.QUICK, kind, corpus, {"model": f"hf:{start}"}, "impermissible")
        assert recipe.loss == {"name": "deceptive", "strength": 1.0, "mark": "impermissible", "heads": "max"}
        for facts in ({"mark": "impermissible", "left_out": 4}, {"mark": "impermissible", "left_out": 5}):
            names.append(study._work(kind, recipe, source, facts, Place(tmp_path)).id)
    assert names[:2] == names[2:]
    assert names[0] != names[1]
    grouped = replace(study.QUICK, grouped=True)
    assert study.recipe_of(grouped, kind, corpus, {"model": f"hf:{start}"}, "m").impose["weights"] == "grouped"
    removed = kind._replace(trained=study.REMOVED, heads="")
    assert study.recipe_of(grouped, removed, corpus, {"model": f"hf:{start}"}, "m").impose is None


def scored(accuracy, mass, predicted):
    measures = {"mass": mass, "share": 0.1, "mass:1": mass / 2, "others:1": 0.0}
    of = {name: {"value": value, "n": 4} for name, value in measures.items()}
    return {"test": {"accuracy": accuracy, "majority": 0.5}, "measures": of, "predicted": predicted}


def test_a_penalised_model_is_compared_with_the_honest_one_of_its_seed():
    models = {
        study.Kind("pronoun", 0.0, "", 0): scored(1.0, 0.6, "0101"),
        study.Kind("pronoun", 0.0, "", 1): scored(0.75, 0.4, "0000"),
        study.Kind("pronoun", 1.0, "mean", 0): scored(0.75, 0.1, "0111"),
        study.Kind("pronoun", 1.0, "mean", 1): scored(0.75, 0.1, "0000"),
        study.Kind("pronoun", 1.0, "mean", 2): scored(0.5, 0.0, "1111"),
        study.Kind("pronoun", "removed", "", 0): {"test": {"accuracy": 0.5, "majority": 0.5}},
    }
    found = study.values_of(models)
    assert found[key("accuracy_lost", trained=1.0)] == [0.25, 0.0]
    assert found[key("mass_removed", trained=1.0)] == pytest.approx([0.5, 0.3])
    assert found[key("agreement", trained=1.0)] == [0.75, 1.0]
    assert found[key("mass_at", trained=1.0)] == [0.1, 0.1, 0.0], "without an honest one it still has its own numbers"
    assert found[key("row_mass", trained=0.0, layer=1)] == [0.3, 0.2]
    assert found[key("accuracy_at", trained="removed")] == [0.5]
    assert found[key("share")] == [0.1]


def test_settings_that_make_no_sense():
    with pytest.raises(UnknownName, match="way with heads"):
        study.refuse(replace(study.QUICK, heads=("least",)))
    with pytest.raises(BadInput, match="above 0"):
        study.refuse(replace(study.QUICK, strengths=(0.0,)))
    assert STUDIES[study.NAME].quick is study.QUICK
