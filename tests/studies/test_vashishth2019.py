"""The study: a smoke run on a bare machine, redrawn from its small results; its choices; its numbers by hand."""

import importlib
import json
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from heatcheck import stats
from heatcheck.checks.other_weights import SWAPS
from heatcheck.data import Example
from heatcheck.errors import BadInput
from heatcheck.results import CheckResult, Measurement
from heatcheck.studies import STUDIES, read_published, run_study
from heatcheck.studies.cells import Measured
from heatcheck.studies.corpora import DATA
from heatcheck.studies.running import gather
from heatcheck.studies.study import Found
from heatcheck.training import predict
from smoke_runs import smoke_run
from subjects import classifier

study = importlib.import_module("heatcheck.studies.vashishth2019")  # the package's name of it is the Study
run = partial(run_study, STUDIES["vashishth2019"])
SMALL = replace(study.QUICK, tasks=("planted_lookup",))


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """`heatcheck reproduce vashishth2019 --quick` of a generated task: its folder, and what it says as JSON."""
    return smoke_run("vashishth2019", tmp_path_factory.mktemp("smoke") / "study", "--tasks", "planted_lookup")


def test_the_smoke_run_has_a_number_for_every_question(smoke):
    folder, said = smoke
    assert said["failed"] == {}
    assert (folder / "table.csv").is_file()
    assert list(said["tasks"]) == ["planted_lookup, merge", "planted_lookup, linear"]
    for model in said["tasks"]:
        rows = {row["quantity"]: row for row in said["rows"] if row["task"] == model}
        assert rows.keys() >= {f"put_in:{weights}" for weights in ("own", *SWAPS)}
        assert rows.keys() >= {f"trained:{weights}" for weights in ("learned", *SWAPS)}
        assert rows.keys() >= {f"lost_{way}:{weights}" for way in ("put_in", "trained") for weights in SWAPS}
        assert rows.keys() >= {"evenness", "index", "commonest"}
        assert {row["seeds"] for name, row in rows.items() if name != "commonest"} == {2}
        assert all(np.isfinite(row["value"]) for row in rows.values())
        # The same two models, asked twice: as they are, and as the learned half of the pairs.
        assert rows["put_in:own"]["value"] == pytest.approx(rows["trained:learned"]["value"])
    assert said["notes"][0].startswith("This is a smoke run")
    # A seed and its twins share a folder of fits: 2 decoders × 2 seeds × (learned and five kinds).
    made = [path for path in (folder / "fits").iterdir() if (path / "training.jsonl").is_file()]
    assert len(made) == 2 * 2 * 6
    assert len(list((folder / "results").iterdir())) == 2 * 2


def test_the_page_can_be_drawn_from_small_results_alone(smoke, tmp_path):
    shutil.copytree(smoke[0] / "results", tmp_path / "results")
    states = []
    found = run(SMALL, tmp_path, progress=lambda outcome, *_: states.append(outcome.state))
    assert states == ["reused"] * 4
    assert [path.name for path in tmp_path.iterdir()] == ["results"], "nothing was fitted"
    assert [(row.task, row.quantity, row.value, row.seeds) for row in found.rows] == [
        (row["task"], row["quantity"], row["value"], row["seeds"]) for row in smoke[1]["rows"]
    ]
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 200_000


def test_a_seed_that_fails_is_named_and_the_others_are_used(smoke, tmp_path, monkeypatch):
    shutil.copytree(smoke[0] / "fits", tmp_path / "fits")
    lost = []
    for config in (tmp_path / "fits").glob("*/config.json"):
        recipe = json.loads(config.read_text())["recipe"]
        if recipe["seed"] == 1 and recipe["model"]["decoder"] == "linear" and recipe["impose"] is None:
            lost.append(config.parent.name)
            shutil.rmtree(config.parent)
    assert len(lost) == 1

    def no_memory(*_):
        raise BadInput("no memory left")

    monkeypatch.setattr("heatcheck.training.stack.fit_job", no_memory)
    found = run(SMALL, tmp_path, device="cpu")
    assert found.failed["planted_lookup, linear, seed 1"] == "its base model: no memory left"
    rows = {(row.task, row.quantity): row for row in found.rows}
    assert rows["planted_lookup, linear", "put_in:uniform"].seeds == 1
    assert rows["planted_lookup, linear", "trained:learned"].seeds == 1
    assert rows["planted_lookup, linear", "trained:uniform"].seeds == 2
    assert rows["planted_lookup, linear", "lost_trained:uniform"].seeds == 1
    assert rows["planted_lookup, merge", "put_in:uniform"].seeds == 2
    assert [model.seeds for model in found.models] == [2, 1]


# Choices ---------------------------------------------------------------------------------------------------------


def test_single_sequences_stand_above_pairs_and_pairs_have_two_decoders():
    names = [kind.name for kind in study.kinds_of(("snli", "sst", "planted_lookup", "ag_news"))]
    single, pairs = names[:2], names[2:]
    assert single == ["sst", "ag_news"]
    assert pairs == ["snli, merge", "snli, linear", "planted_lookup, merge", "planted_lookup, linear"]
    assert [kind.task for kind in study.kinds_of(study.TASKS) if not kind.decoder] == list(study.SINGLE)
    assert set(study.SINGLE + study.PAIRS) <= set(DATA)


def test_one_cell_of_a_model_trains_and_all_of_its_seeds_are_tried():
    settings = study.Settings(vectors="vectors.txt", patience=10)
    first, *others = study.cells_of(settings, study.Kind("snli, linear", "snli", "linear"))
    assert (first.name, first.seed, first.refit, first.task) == ("snli, linear", 0, True, "snli")
    assert first.settings == {"necessity.seeds": 5, "necessity.retrained": list(SWAPS)}
    assert [(cell.name, cell.seed, cell.refit) for cell in others] == [
        (f"snli, linear, seed {seed}", seed, False) for seed in (1, 2, 3, 4)
    ]
    chosen = {"preset": "jw-release", "encoder": "lstm", "attention": "tanh", "decoder": "linear", "patience": 10}
    assert all(cell.choices == {**chosen, "vectors": "vectors.txt"} for cell in (first, *others))
    (story, *_), (lookup, *_) = (
        study.cells_of(settings, study.Kind(t, t, "merge")) for t in ("babi_1", "planted_lookup")
    )
    assert story.choices["vectors"] is lookup.choices["vectors"] is None
    assert lookup.choices.items() >= study.OF_TASK["planted_lookup"].items()
    (quick, *_) = study.cells_of(study.QUICK, study.Kind("planted_lookup, merge", "planted_lookup", "merge"))
    assert quick.choices["epochs"] == 1
    (single, *_) = study.cells_of(settings, study.Kind("sst", "sst", ""))
    assert "decoder" not in single.choices


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"tasks": ("ssst",)}, "unknown task of vashishth2019 'ssst' .did you mean 'sst'"),
        ({"tasks": ("ade",)}, "unknown task of vashishth2019 'ade'"),
        ({"preset": "wp"}, "unknown preset of vashishth2019 'wp'"),
        ({"seeds": 1}, "at least 2 seeds, not 1"),
    ],
)
def test_a_mistake_is_said_before_anything_runs(tmp_path, changes, sentence):
    with pytest.raises(BadInput, match=sentence):
        run(replace(SMALL, **changes), tmp_path)
    assert not list(tmp_path.iterdir())


# Numbers ---------------------------------------------------------------------------------------------------------


def measured(kind, seed, texts=6, published="sst", **changes):
    """A cell with made-up answers, and for the first seed made-up fits."""
    settings = study.Settings(seeds=3)
    cell = study.cells_of(settings, kind)[seed]
    rng = np.random.default_rng(seed)
    values = {f"accuracy:swapped:{weights}": rng.integers(2, size=texts) * 1.0 for weights in ("own", *SWAPS)}
    values |= {f"change:{weights}": rng.random(texts) for weights in SWAPS}
    values["evenness"] = np.array([np.nan, *rng.random(texts - 1)])  # the first text has one word
    fits = [
        Measurement("accuracy", 0.1 * n, 0.0, 0.9, 3, "prior", {"fit": "retrained", "weights": weights})
        for n, weights in enumerate(("learned", *SWAPS))
    ]
    fits += [
        Measurement(
            "fit_accuracy", 0.1 + 0.1 * at, 0.0, 0.9, 6, "", {"fit": "retrained", "weights": "uniform", "seed": at}
        )
        for at in range(3)
    ]
    fits += [Measurement("accuracy", 0.99, 0.9, 1.0, texts, "prior", {"fit": "swapped", "weights": "uniform"})]
    fits += [Measurement("difference", 0.2, 0.1, 0.3, 3, "0", {"free": weights}) for weights in SWAPS]
    fits += [Measurement("N", 0.5, 0.4, 0.6, 3, "0", {"against": "retrained", "free": "last"})]
    fits += [Measurement("N", 0.7, 0.4, 0.9, texts, "0", {"against": "swap"})]
    fits += [Measurement("index", 0.3, 0.2, 0.4, 3, "0", {"against": "retrained", "free": "uniform"})]
    names = tuple(f"t{n}" for n in range(texts))
    rows = (Measurement("prior", 0.5, 0.4, 0.6, texts, "none", {}), *(fits if seed == 0 else ()))
    result = CheckResult("necessity", "x", "retrained", rows, names, values, {}, {"seeds": 3}, 0, **changes)
    about = {"published": published, "not_comparable": "", "differs": "", "labels": ["bad", "good"], "segments": 1}
    return Measured(cell, about, 0.8, {}, {"necessity": result}, {}, f"{cell.name}-0")


def gathered(kind, of_seeds, failed=None):
    found = Found({}, {}, read_published("vashishth2019"), {one.cell.name: one for one in of_seeds}, {}, failed or {})
    return gather(STUDIES["vashishth2019"], study.Settings(tasks=(kind.task,), seeds=3), found)


SST = study.Kind("sst", "sst", "")


def test_what_is_put_in_is_over_seeds_and_texts():
    of_seeds = [measured(SST, seed) for seed in range(3)]
    rows = {row.quantity: row for row in gathered(SST, of_seeds).rows}
    right = {
        weights: np.stack([one.results["necessity"].per_example[f"accuracy:swapped:{weights}"] for one in of_seeds])
        for weights in ("own", *SWAPS)
    }
    for weights, values in right.items():
        row = rows[f"put_in:{weights}"]
        assert (row.value, row.low, row.high, row.seeds) == pytest.approx(stats.two_way_interval(values))
        assert row.spread == pytest.approx(values.mean(1).std(ddof=1)), "of seeds alone"
        if weights != "own":
            lost = rows[f"lost_put_in:{weights}"]
            assert (lost.value, lost.low) == pytest.approx(stats.two_way_interval(right["own"] - values)[:2])
    even = np.stack([one.results["necessity"].per_example["evenness"][1:] for one in of_seeds])
    assert rows["evenness"].value == pytest.approx(even.mean()), "without the text of one word"


def test_what_was_trained_is_as_the_check_has_it():
    rows = {row.quantity: row for row in gathered(SST, [measured(SST, seed) for seed in range(3)]).rows}
    assert [rows[f"trained:{weights}"].value for weights in ("learned", *SWAPS)] == pytest.approx(
        [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    )
    assert (rows["N:retrained"].value, rows["N:retrained"].low, rows["N:retrained"].seeds) == (0.5, 0.4, 3)
    assert (rows["index"].value, rows["commonest"].value, rows["commonest"].seeds) == (0.3, 0.5, 1)
    assert rows["lost_trained:first"].value == 0.2
    assert rows["trained:uniform"].spread == pytest.approx(0.1)
    assert np.isnan(rows["trained:learned"].spread), "earlier runs kept no number of each model"


def test_numbers_of_the_reproduction_stand_beside_models_like_its_own():
    published = {(one.task, one.key.text): one.rerun for one in read_published("vashishth2019")}
    assert len(published) == 30
    assert all(one.paper is None for one in read_published("vashishth2019"))
    assert published["babi_1", "trained:uniform"] == 0.485
    assert published["snli", "trained:last"] == 0.759
    merge, linear = (study.Kind(f"snli, {how}", "snli", how) for how in ("merge", "linear"))
    for kind, wanted in ((merge, 3), (linear, 0), (SST, 3)):
        found = gathered(kind, [measured(kind, seed, published=kind.task) for seed in range(3)])
        beside = {row.quantity: row for row in found.rows if row.rerun is not None}
        assert len(beside) == wanted
        assert all(row.paper is None for row in found.rows)
        for quantity, row in beside.items():
            assert row.rerun == published[kind.task, quantity]
            assert row.rerun_statement.startswith("not comparable (an LSTM in one direction): ours is")
        reason = "an LSTM in one direction" if wanted else "no number was published for it"
        assert found.tasks[kind.name]["not_comparable"] == reason


def test_without_its_first_seed_a_model_has_nothing_trained_and_what_is_lost_is_said():
    others = [measured(SST, seed) for seed in (1, 2)]
    found = gathered(SST, others, {"sst": "its base model: no memory left"})
    assert not [row for row in found.rows if row.quantity.startswith("trained:")]
    assert {row.seeds for row in found.rows if row.quantity != "commonest"} == {2}
    assert found.failed == {"sst": "its base model: no memory left"}
    first = measured(SST, 0, not_run={"sst: lstm, first weights, seed 2": "no memory left"})
    assert gathered(SST, [first, *others]).failed == {
        "sst: sst: lstm, first weights, seed 2": "no memory left (delete results/sst-0 to try again)"
    }


@pytest.mark.parametrize("kind", ["uniform", "first", "last", "random"])
@pytest.mark.parametrize("encoder", ["lstm", "average"])
def test_fixed_weights_cannot_know_what_was_asked(kind, encoder):
    """The theorem behind the table: where the question is in the weights only, fixed ones lose it altogether."""
    text = "the plot is a bit thin but the acting is very good indeed"
    asked = [Example("e", text, question, label=0) for question in ("a film", "good", "not so bad")]
    for decoder, differ in (("linear", False), ("merge", True)):
        subject = classifier(asked, ("a", "b", "c"), segments=2, decoder=decoder, encoder=encoder)
        answers = np.stack([predict(subject, [one], impose={"weights": kind})[0, 0] for one in asked])
        assert (np.abs(answers - answers[0]).max() > 1e-3) == differ
        assert differ or np.abs(answers - answers[0]).max() < 1e-7
        own = np.stack([predict(subject, [one])[0, 0] for one in asked])
        assert np.abs(own - own[0]).max() > 1e-5, "its own weights know"


def test_one_sequence_without_context_needs_no_learned_weights():
    """The gauge: a word's weight moved into what the word says gives the same decisions under uniform weights."""
    rng = torch.Generator().manual_seed(0)
    score, value = torch.randn(50, generator=rng), torch.randn(50, 3, generator=rng)
    for _ in range(100):
        words = torch.randint(50, (int(torch.randint(2, 12, (1,), generator=rng)),), generator=rng)
        learned = score[words].softmax(0) @ value[words]
        uniform = (score[words].exp()[:, None] * value[words]).mean(0)
        assert int(learned.argmax()) == int(uniform.argmax())
