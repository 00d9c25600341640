"""The study: a smoke run of the whole path on a bare machine, redrawn from its small results, and what it chooses."""

import csv
import importlib
import json
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from heatcheck import engine
from heatcheck.data import load_task
from heatcheck.errors import BadInput, BrokenFolder
from heatcheck.results import CheckResult, Measurement, keep_results, read_results
from heatcheck.results.check_files import EXAMPLES, RESULTS
from heatcheck.stats import t_interval
from heatcheck.studies import STUDIES, read_published, run_study
from heatcheck.studies.cells import Cell, Measured, plan_job
from heatcheck.studies.corpora import DATA
from heatcheck.studies.wiegreffe2019.numbers import FAR, _spread, best_of, gather
from smoke_runs import drawn_elsewhere, smoke_run

study = importlib.import_module("heatcheck.studies.wiegreffe2019")  # the package's name of it is the Study
run = partial(run_study, STUDIES["wiegreffe2019"])
SMALL = replace(study.QUICK, tasks=("sst",))
PUBLISHED = read_published("wiegreffe2019")


@pytest.fixture(scope="module")
def smoke(tmp_path_factory, made_up_corpora):
    """`heatcheck reproduce wiegreffe2019 --quick` of one task: its folder, and what it says as JSON."""
    return smoke_run(
        "wiegreffe2019",
        tmp_path_factory.mktemp("smoke") / "study",
        "--tasks",
        "sst",
        "--data-dir",
        str(made_up_corpora),
    )


@pytest.fixture(scope="module")
def redrawn(smoke, tmp_path_factory, made_up_corpora):
    """The study drawn elsewhere, from a copy of the small results alone."""
    return drawn_elsewhere("wiegreffe2019", SMALL, smoke[0], tmp_path_factory.mktemp("elsewhere"), made_up_corpora)


def test_the_smoke_run_has_a_number_for_every_question(smoke):
    folder, said = smoke
    assert said["failed"] == {}
    assert (folder / "table.csv").is_file()
    names = {row["quantity"] for row in said["rows"]}
    assert names >= {f"f1:{weights}" for weights in ("learned", "uniform", "last")}
    assert names >= {f"guide_f1:{weights}" for weights in ("uniform", "learned", "base", "adversary")}
    assert names >= {
        "jsd:seeds",
        "tvd:seeds",
        "J_seed",
        "tvd_tempered:imitator",
        "log_odds_guide:own",
        "swapped:uniform",
    }
    assert said["notes"][0].startswith("This is a smoke run")
    assert any("from memory" in note for note in said["notes"])
    assert "gauge" in said["tasks"]["sst"]["not_run"], "a BiLSTM has no twin in closed form"


def test_published_numbers_stand_beside_ours(redrawn):
    rows = {row.quantity: row for row in redrawn[0].rows if not row.of_class}
    for row in read_published("wiegreffe2019"):
        if row.task == "sst" and row.key.text in rows:
            ours = rows[row.key.text]
            assert ours.paper == row.paper
            assert ours.comparison in ("not comparable", "chosen")
            assert ours.statement.startswith(("not comparable (a smoke run): ours is", "chosen among those tried"))
    assert sum(row.paper is not None for row in redrawn[0].rows) >= 6
    assert all(np.isfinite(row.value) for row in redrawn[0].rows)
    of_fits = {"f1:uniform": 2, "guide_f1:base": 2, "jsd:seeds": 2, "J_seed": 2, "swapped:own": 1, "prior": 1}
    assert {quantity: rows[quantity].seeds for quantity in of_fits} == of_fits


def test_the_page_can_be_drawn_from_small_results_alone(smoke, redrawn):
    found, states, elsewhere = redrawn
    assert states == ["reused"]
    assert [path.name for path in elsewhere.iterdir()] == ["results"], "nothing was fitted"
    assert len(found.rows) == len(smoke[1]["rows"])
    for ours, theirs in zip(found.rows, smoke[1]["rows"], strict=True):
        assert (ours.quantity, ours.value, ours.seeds) == (theirs["quantity"], theirs["value"], theirs["seeds"])
    kept = [path for path in elsewhere.rglob("*") if path.is_file()]
    assert {path.suffix for path in kept} == {".json", ".npz"}, "no weights of a model"
    assert sum(path.stat().st_size for path in kept) < 200_000


def test_what_is_drawn_of_a_model(redrawn):
    (model,) = redrawn[0].models
    assert {len(values) for values in model.examples.values()} == {60}
    assert set(np.unique(model.examples["predicted"])) <= {0.0, 1.0}
    assert model.examples.keys() >= {"jsd", "tvd", "max_attention"}
    by_class = {row.of_class: row.value for row in redrawn[0].rows if row.quantity == "jsd:seeds" and not row.bin}
    assert by_class.keys() <= {"", "0", "1"}
    for name, mean in by_class.items():
        members = model.examples["predicted"] == float(name) if name else np.ones(60, bool)
        assert model.examples["jsd"][members].mean() == pytest.approx(mean)
    assert {point["model"] for point in model.points} >= {"adversary", "seed", "uniform"}
    adversaries = [point for point in model.points if point["model"] == "adversary"]
    assert sorted(point["strength"] for point in adversaries) == [1e-3, 2e-3]
    assert not [point for point in model.points if not point.keys() >= {"jsd", "tvd"} or "J_star" in point]
    for point in adversaries:
        assert 0 <= point["f1"] <= 1
        assert point["jsd_low"] <= point["jsd"] <= point["jsd_high"]


def test_a_fit_that_fails_is_named_and_loses_nothing_else(smoke, tmp_path, made_up_corpora, monkeypatch):
    folder = tmp_path / "study"
    shutil.copytree(smoke[0] / "fits", folder / "fits")
    broken = []
    for config in (folder / "fits").glob("*/config.json"):
        loss = json.loads(config.read_text())["recipe"]["loss"]
        if loss["name"] == "adversarial" and loss["strength"] == 1e-3:
            broken.append(config.parent.name)
            shutil.rmtree(config.parent)
    assert len(broken) == 1

    def no_memory(*_):
        raise BadInput("no memory left")

    calls = []
    real = engine.map

    def counted(function, jobs, *arguments, **options):
        calls.append([job.name for job in jobs])
        return real(function, jobs, *arguments, **options)

    monkeypatch.setattr("heatcheck.training.stack.fit_job", no_memory)
    monkeypatch.setattr(engine, "map", counted)
    found = run(SMALL, folder, data_dir=made_up_corpora, device="cpu")
    ((name, reason),) = found.failed.items()
    assert name.startswith("sst: ")
    assert "adversary at λ = 0.001" in name
    assert "no memory left" in reason
    assert "(delete results/sst-" in reason
    assert [p["strength"] for p in found.models[0].points if p["model"] == "adversary"] == [2e-3]
    assert "f1:uniform" in {row.quantity for row in found.rows}
    # All bases at once, then all other fits at once, then what is measured; a base put into the store is no fit.
    bases, fits, checks = filter(None, calls)
    assert (bases, checks) == (["sst: lstm, seed 0"], ["sst: checks"])
    kinds = [name.split()[1] for name in fits]
    assert kinds == sorted(kinds, key=["lstm,", "average,"].index), "the longest first"
    assert len(fits) == 1 + 2 * 2 + 1 + 2 + 4 * 2, "another seed, uniform and last, imitator, adversaries, guides"


def test_a_base_that_fails_is_said_and_nothing_else_is_tried(tmp_path, made_up_corpora, monkeypatch):
    def no_memory(*_):
        raise BadInput("no memory left")

    monkeypatch.setattr("heatcheck.training.stack.fit_job", no_memory)
    with pytest.raises(BadInput, match=r"no model could be measured\. The first error: its base model: no memory left"):
        run(SMALL, tmp_path, data_dir=made_up_corpora, device="cpu")


def planned(task, **changes):
    corpus = load_task("planted_lookup" if task == "babi_1" else "planted_keyword")
    wanted = study.cells_of(study.Settings(**changes), task)
    return [plan_job("wiegreffe2019", 2, cell, corpus, {}) for cell in wanted]


def test_choices_of_a_task():
    ((job,), (other,)) = planned("sst"), planned("20news_sports")
    chosen = job.argument["settings"]
    assert job.argument["choices"]["preset"] == "wp"
    assert {chosen[f"{check}.seeds"] for check in ("necessity", "seed_variance", "guide")} == {8}
    assert other.argument["settings"]["necessity.seeds"] == 5
    strengths = chosen["adversarial_model.strengths"]
    assert len(other.argument["settings"]["adversarial_model.strengths"]) >= 5
    assert 2 * 5.25e-4 in strengths, "the published λ of Table 4, under twice their total variation"
    assert chosen["guide.strength"] == 2 * 1e-3
    assert chosen["guide.strength"] in strengths, "the guide's adversary is fitted once"
    assert chosen["guide.epochs"] == chosen["adversarial_model.epochs"] == 80
    assert chosen["adversarial_model.starts"] == ["fresh", "parent"]
    assert other.argument["settings"]["adversarial_model.starts"] == ["fresh"]


def test_stories_are_asked_for_necessity_alone_with_two_decoders(tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("the 0.1 0.2\n")
    jobs = planned("babi_1", vectors=str(vectors))
    assert [job.argument["choices"]["decoder"] for job in jobs] == ["merge", "linear"]
    assert len({job.argument["base"] for job in jobs}) == 2
    for job in jobs:
        assert job.argument["checks"] == ["necessity"]
        assert set(job.argument["settings"]) == {"necessity.seeds"}
        assert job.argument["choices"]["vectors"] is None


def test_a_folder_is_named_by_what_decides_its_numbers():
    (job,) = planned("sst")
    for changes in ({"seeds": 5}, {"adversary_epochs": 20}, {"strengths": (1e-3,)}, {"epochs": 3}, {"examples": 100}):
        (changed,) = planned("sst", **changes)
        assert changed.id != job.id, changes
    (again,) = planned("sst", tasks=("sst",))
    assert again.id == job.id
    assert job.id.startswith("sst-")


def adversary(strength, jsd, f1, **more):
    facts = {"model": "adversary", "start": "fresh", "trains": "all", "restart": 0, "tvd": 0.05, "tvd_tempered": 0.04}
    return {**facts, "strength": strength, "jsd": jsd, "f1": f1, **more}


def test_the_best_far_adversary_is_chosen_by_f1():
    far = adversary(1e-3, FAR + 0.01, 0.80)
    points = [
        adversary(1e-4, FAR, 0.99),  # not beyond
        adversary(2e-3, 0.6, 0.70),
        adversary(1e-3, 0.6, 0.95, start="parent"),
        adversary(1e-3, 0.6, 0.95, trains="attention"),
        adversary(1e-3, 0.6, None),
        {"model": "seed", "seed": 1, "jsd": 0.9, "tvd": 0.0},
        far,
    ]
    assert best_of(points) == far
    assert best_of(points[:1]) is None


def cell_of(points, published="sst"):
    """A cell with nothing but the points of its frontier."""
    about = {"published": published, "not_comparable": "", "differs": "", "labels": ["bad", "good"]}
    cell = Cell("sst", "sst", "lstm", "tanh", {}, ("adversarial_model",), {})
    f1 = [{key: p[key] for key in ("strength", "start", "trains", "restart", "f1")} for p in points]
    by = [{key: p[key] for key in ("model", "strength", "start", "trains", "restart")} for p in points]
    measured = tuple(
        Measurement(name, p[name], p[name] - 0.01, p[name] + 0.01, 60, "seeds", of)
        for p, of in zip(points, by, strict=True)
        for name in ("jsd", "tvd", "tvd_tempered")
    )
    result = CheckResult("adversarial_model", "x", "retrained", measured, (), {}, {}, {"seeds": 5}, 0)
    return Measured(cell, about, 0.8, {}, {"adversarial_model": result}, {"f1": f1}, "sst-0")


def test_table_4_is_in_the_published_unit_and_says_of_how_many_fits_it_is():
    found = gather([cell_of([adversary(1e-3, 0.5, 0.8), adversary(1e-2, 0.6, 0.7)])], PUBLISHED)
    rows = {row.quantity: row for row in found.rows}
    assert rows["best:lambda"].value == pytest.approx(5e-4)
    assert rows["best:lambda"].paper == 5.25e-4
    assert rows["best:lambda"].statement == "chosen among those tried"
    assert (rows["best:jsd"].value, rows["best:jsd"].low, rows["best:jsd"].seeds) == (0.5, 0.49, 1)
    assert rows["best:f1"].statement == "one seed only: ours is lower by 0.02"


def test_where_no_adversary_gets_far_the_notes_say_so():
    found = gather([cell_of([adversary(1e-3, 0.2, 0.8), adversary(4e-3, 0.3, 0.7)])], PUBLISHED)
    assert not [row for row in found.rows if row.quantity.startswith("best:")]
    assert found.notes[-1].startswith("sst: no adversary has a mean JSD above 0.4")
    assert "0.30, at λ = 0.002 in the published unit" in found.notes[-1]


def test_answers_stand_beside_the_values_of_the_same_texts():
    cell = cell_of([adversary(1e-3, 0.2, 0.8)])
    values = {"jsd": np.array([0.1, 0.2, 0.3])}
    seeds = CheckResult("seed_variance", "x", "retrained", (), ("b", "c", "a"), values, {"d": "empty"}, {"seeds": 5}, 0)
    cell = cell._replace(predicted={"a": 0, "b": 1, "c": 0, "d": 1}, results={**cell.results, "seed_variance": seeds})
    found = gather([cell], PUBLISHED)
    assert found.models[0].examples["predicted"].tolist() == [1.0, 0.0, 0.0]


def test_the_spread_of_an_f1_is_that_behind_its_t_interval():
    values = [0.81, 0.80, 0.83, 0.82, 0.79]
    f1 = Measurement("f1", *t_interval(np.array(values)), "", {})
    assert _spread(f1) == pytest.approx(np.std(values, ddof=1))
    assert np.isnan(_spread(f1._replace(name="accuracy"))), "its interval holds the spread of the texts too"
    assert np.isnan(_spread(f1._replace(n=1)))


def test_results_come_back_as_they_were(tmp_path):
    measured = (
        Measurement("jsd", 0.1, -np.inf, np.inf, 1, "none: one seed", {"class": "good"}),
        Measurement("tvd", 0.2, 0.1, 0.3, 7, "seeds", {}),
    )
    values = {"jsd": np.array([0.1, np.nan, 0.3]), "right:log_odds:own": np.array([1.0, 0.0, 1.0])}
    given = CheckResult(
        "guide", "sst@0", "retrained", measured, ("a", "b", "c"), values, {"d": "empty"}, {"seeds": 2}, 3,
        not_run={"seed 1": "killed"}, facts={"words": 7}, question="Why?", paper="a paper", baseline="chance",
    )  # fmt: skip
    keep_results({"guide": given}, tmp_path)
    found = read_results(tmp_path)["guide"]
    assert replace(found, per_example={}) == replace(given, per_example={})
    assert found.per_example.keys() == values.keys()
    for name, of in values.items():
        np.testing.assert_array_equal(found.per_example[name], of)
    kept = json.loads((tmp_path / RESULTS).read_text())["guide"]
    older = {name: kept[name] for name in ("subject", "holds", "measurements", "examples", "excluded", "seed")}
    older["settings"] = {"seeds": 2, "words": 7, "not_run": {"seed 1": "killed"}}  # as 0.1 kept them
    (tmp_path / RESULTS).write_text(json.dumps({"guide": older}))
    found = read_results(tmp_path)["guide"]
    assert (found.facts["words"], found.not_run, found.settings["seeds"]) == (7, {"seed 1": "killed"}, 2)
    (tmp_path / EXAMPLES).write_bytes(b"PK half of it")
    with pytest.raises(BrokenFolder, match="is damaged: delete it"):
        read_results(tmp_path)


def test_the_table_of_published_numbers_says_that_it_is_from_memory():
    published = read_published("wiegreffe2019")
    assert all("from memory" in row.source for row in published)
    assert {DATA[task][0] for task in study.TASKS if task != "babi_1"} <= {row.task for row in published}


def test_the_table_of_published_numbers_is_the_reference(published_tables):
    reference = (published_tables / "wp_paper_tables.csv").read_text()
    ours = {(row.task, row.key.text): row.paper for row in read_published("wiegreffe2019")}
    theirs = {(r["table"], r["dataset"], r["item"]): r["value"] for r in csv.DictReader(reference.splitlines())}
    for quantity, item in (
        ("f1:uniform", ("W&P Table 2", "sst", "W&P uniform attention")),
        ("guide_f1:adversary", ("W&P Table 3", "sst", "ADVERSARY (lambda=0.001)")),
        ("best:tvd", ("W&P Table 4", "sst", "TVD")),
    ):
        assert ours["sst", quantity] == float(theirs[item])
    assert len(ours) == sum(table != "W&P Table 1" and item != "J&W reported" for table, _, item in theirs)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"tasks": ("ssst",)}, "unknown task of wiegreffe2019 'ssst' .did you mean 'sst'"),
        ({"tasks": ("snli",)}, "unknown task of wiegreffe2019 'snli'"),
        ({"preset": "jw-paper"}, "unknown preset of wiegreffe2019 'jw-paper'"),
        ({"seeds": 1}, "at least 2 seeds, not 1"),
        ({"starts": ("afresh",)}, "unknown start of wiegreffe2019 'afresh'"),
        ({"strengths": (-1.0,)}, "at least 0, not -1.0"),
    ],
)
def test_a_mistake_is_said_before_anything_runs(tmp_path, changes, sentence):
    with pytest.raises(BadInput, match=sentence):
        run(replace(SMALL, **changes), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_wrong_device_and_a_missing_task_are_said_once(tmp_path):
    with pytest.raises(BadInput, match="unknown device 'nonsense'"):
        run(SMALL, tmp_path, device="nonsense")
    with pytest.raises(BadInput, match="the data of every task is missing"):
        run(replace(SMALL, texts=None), tmp_path, data_dir=tmp_path)
