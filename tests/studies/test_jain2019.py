"""The study: published numbers as they stand in the reference, statements as they should read, and a smoke run."""

import csv
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from heatcheck.errors import BadInput, UnknownName
from heatcheck.results import key
from heatcheck.studies import STUDIES, compare, read_published, run_study
from heatcheck.studies.corpora import DATA
from heatcheck.studies.jain2019 import QUICK, Settings, quantities, shares_of_effect

SMALL = replace(QUICK, tasks=("sst",), encoders=("average",), attentions=("tanh",), texts=60, examples=20)
run = partial(run_study, STUDIES["jain2019"])


@pytest.fixture(scope="module")
def quick(tmp_path_factory, made_up_corpora):
    folder = tmp_path_factory.mktemp("study")
    states = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        found = run(
            SMALL, folder, data_dir=made_up_corpora, device="cpu", progress=lambda o, *_: states.append(o.state)
        )
        again = run(
            SMALL, folder, data_dir=made_up_corpora, device="cpu", progress=lambda o, *_: states.append(o.state)
        )
    return found, again, states


def test_what_is_there_is_not_run_again(quick):
    found, again, states = quick
    assert states == ["done", "done", "reused"], "a model, its checks, and only these again"
    assert repr(again.rows) == repr(found.rows)  # by repr: nan is not nan


def test_every_algorithm_has_its_numbers(quick):
    found, _, _ = quick
    names = {row.quantity for row in found.rows}
    for quantity in (
        "score",
        "tau:attention|gradient",
        "floor:attention|gradient",
        "tau:attention|leave_one_out",
        "tau:gradient|leave_one_out",
        "tau_above_uniform:attention|gradient",
        "top_k_overlap:attention|gradient",
        "difference:gradient|leave_one_out-attention|leave_one_out",
        "permutation",
        "q",
        "jsd:0.05",
        "jsd:0.01",
        "jsd:0.001",
        "searched:0.05",
        "floor",
        "null",
        "most",
        "U",
        "room:deletion",
        "room:masking",
    ):
        assert quantity in names, quantity
    assert all(np.isfinite(row.value) for row in found.rows)
    assert not found.failed


def test_encoders_with_context_have_no_mechanical_floor(tmp_path, made_up_corpora):
    found = run(replace(SMALL, encoders=("cnn",), search=False), tmp_path, data_dir=made_up_corpora, device="cpu")
    names = {row.quantity for row in found.rows}
    assert "tau:attention|gradient" in names
    assert not [name for name in names if name.startswith("floor:")]


def test_k_is_a_share_of_means_and_needs_room():
    effects = {"attention": [0.3, 0.1], "random": [0.1, 0.1], "best rival": [0.4, 0.2]}
    values = {f"effect:{name}:deletion": np.array(of) for name, of in effects.items()}
    found = {of.text: value for of, value in shares_of_effect(values, "deletion")}
    assert found == pytest.approx({"room:deletion": 0.2, "K:deletion": 0.5})
    values["effect:best rival:deletion"] = np.array([0.11, 0.11])
    assert [of.text for of, _ in shares_of_effect(values, "deletion")] == ["room:deletion"]
    assert not list(shares_of_effect(values, "masking"))


def test_published_numbers_stand_beside_ours(quick):
    rows = {(row.quantity, row.of_class): row for row in quick[0].rows if not row.bin}
    published = {"0": (0.6918, 0.6112), "1": (0.6905, 0.5996)}
    seen = [of for of in published if ("tau:attention|gradient", of) in rows]
    assert seen  # so small a model may predict one class only
    for of in seen:
        row = rows["tau:attention|gradient", of]
        assert (row.paper, row.rerun) == pytest.approx(published[of], abs=1e-4)
        assert row.statement.startswith("not comparable (a smoke run): ours is")
        assert rows["tau:gradient|leave_one_out", of].statement == ""  # none was published


def test_heatmaps_and_values_for_the_page(quick):
    model = quick[0].models[0]
    assert 1 <= len(model.heatmaps) <= 6
    assert abs(sum(model.heatmaps[0]["counterfactual"]) - 1) < 1e-6
    assert {len(values) for values in model.examples.values()} == {20}


def test_the_table_of_published_numbers_is_the_reference(published_tables):
    reference = (published_tables / "jw_paper_table2.csv").read_text()
    ours = {
        (one.task, one.encoder, one.of_class): one
        for one in read_published("jain2019")
        if one.key == key("tau", pair=("attention", "gradient"))
    }
    checked = 0
    for row in csv.DictReader(reference.splitlines()):
        if row["dataset"] == "sst" and row["experiment"] == "attention_vs_gradient":
            mine = ours["sst", {"BiLSTM": "lstm", "Average": "average"}[row["encoder"]], row["class"]]
            assert mine.paper == pytest.approx(float(row["repo_paper_run_mean"]), abs=1e-4)
            assert mine.rerun == pytest.approx(float(row["repo_HEAD_rerun_mean"]), abs=1e-4)
            checked += 1
    assert checked == 4
    assert ours["snli", "lstm", "contradiction"].paper == pytest.approx(0.3601)  # their class 0


def test_statements():
    assert compare([0.4, 0.42, 0.38], None, "") == ""
    assert compare([0.4], 0.5, "") == "one seed only: ours is lower by 0.10"
    # One further seed lies within mean ± t s √(1 + 1/n): here 0.40 ± 4.303 · 0.02 · 1.1547 = ± 0.099.
    assert compare([0.4, 0.42, 0.38], 0.498, "") == "inside the seed interval"
    assert compare([0.4, 0.42, 0.38], 0.501, "").startswith("outside")


def test_saturated_and_missing_values_are_left_out_of_means_not_of_counts():
    values = {
        "predicted": np.array([0.0, 1.0, 1.0]),
        "max_attention": np.array([0.3, np.nan, 0.8]),
        "delta": np.array([0.1, np.nan, 0.3]),
        "tau:attention|gradient": np.array([0.5, np.nan, 0.1]),
        "p:attention|gradient": np.array([0.01, np.nan, 0.5]),
        "jsd:standardised:0.05": np.array([0.3, np.nan, 0.5]),
        "most": np.array([0.6, np.nan, 0.6]),
    }
    test = {"f1": 0.7, "accuracy": 0.8}
    numbers = quantities(test, ["no", "yes"], values, exact=True)
    found = {(of.text, *place): value for (of, *place), value in numbers.items()}
    assert (found["score", "", ""], found["accuracy", "", ""]) == (0.7, 0.8)
    assert found["tau:attention|gradient", "", ""] == pytest.approx(0.3)
    assert found["significant:attention|gradient", "", ""] == 0.5
    assert found["permutation", "1", "0.75–1.00"] == pytest.approx(0.3)
    assert found["U", "", ""] == pytest.approx(0.8 / 1.2)


def test_mistakes(tmp_path):
    with pytest.raises(UnknownName, match="did you mean 'sst'"):
        run(Settings(tasks=("ssst",)), tmp_path)
    with pytest.raises(BadInput, match="the data of every task is missing"):
        run(Settings(tasks=("sst",)), tmp_path, data_dir=tmp_path)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"device": "nonsense"}, "unknown device 'nonsense'"),
        ({"settings": Settings(preset="wp")}, "unknown preset of jain2019 'wp'"),
    ],
)
def test_a_mistake_is_said_before_anything_runs(tmp_path, options, sentence):
    with pytest.raises(BadInput, match=sentence):
        run(**{"settings": Settings(tasks=("sst",)), "folder": tmp_path, **options})
    assert not list(tmp_path.iterdir())


def test_every_task_says_how_it_differs():
    published = {one.task for one in read_published("jain2019")}
    assert {DATA[task][0] for task in STUDIES["jain2019"].tasks} <= published
