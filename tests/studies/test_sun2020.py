"""sun2020: smoke runs, groups and numbers by hand, and the predicted failure at the extremes on a small task."""

import json
from dataclasses import replace
from functools import partial
from importlib import import_module

import numpy as np
import pytest

from drawn import legend_opacities
from heatcheck.cli import show_study
from heatcheck.data import Corpus, Example, Split
from heatcheck.errors import BadInput, BrokenFolder, UnknownName
from heatcheck.report import write_study
from heatcheck.report.studies.sun2020 import VIEW, auc_by_scale, scores_over_training
from heatcheck.report.study_summary import in_short, not_met
from heatcheck.report.study_wording import quantity_name
from heatcheck.stats import t_interval
from heatcheck.studies import STUDIES, read_published, run_study
from heatcheck.studies.study import Found
from heatcheck.studies.sun2020 import NEGATIVE, NEUTRAL, OTHER, POSITIVE, QUICK
from heatcheck.studies.sun2020.model import Descent, WordScores, texts_of, untrained

study = import_module("heatcheck.studies.sun2020")  # the package has the study under the same name
run = partial(run_study, STUDIES["sun2020"])
SMALL = replace(QUICK, tasks=("synthetic",), texts=40)


@pytest.fixture(scope="module")
def ran(tmp_path_factory, made_up_corpora):
    folder = tmp_path_factory.mktemp("sun")
    told = []
    settings = replace(QUICK, texts=150)
    found = run(settings, folder, data_dir=made_up_corpora, device="cpu", progress=lambda o, *_: told.append(o))
    return found, told, folder, settings


def test_a_run_has_every_number_of_every_model(ran):
    found, told, _, settings = ran
    assert not found.failed
    assert [outcome.state for outcome in told] == ["done"] * 8
    places = {(task, f"λ = {scale:g}") for task in study.TASKS for scale in settings.strengths}
    assert {(row.task, row.encoder) for row in found.rows} == places == {(m.task, m.encoder) for m in found.models}
    assert {row.seeds for row in found.rows} == {2}
    assert all(np.isfinite([row.value, row.low, row.high]).all() for row in found.rows)
    assert {row.bin for row in found.rows} == {"", "epoch 0", "epoch 1", "epoch 2"}
    lost = [row for row in found.rows if row.quantity == "auc_lost"]
    assert {row.encoder for row in lost} == {"λ = 1"}, "nothing is lost against itself"
    (chance,) = {round(row.value, 6) for row in found.rows if row.quantity == "mass:chance" and row.task == "synthetic"}
    assert chance == round(2 / 12, 6)
    assert all("a smoke run" in row.rerun_statement for row in found.rows if row.rerun is not None)
    assert "reference" not in found.tasks["sst"]
    assert "412 positive, 265 negative, 1,384 neutral" in found.tasks["sst"]["differs"]


def test_what_is_there_is_not_trained_again(ran, made_up_corpora):
    found, _, folder, settings = ran
    told = []
    again = run(settings, folder, data_dir=made_up_corpora, progress=lambda o, *_: told.append(o.state))
    assert told == ["reused"] * 8
    assert again.rows == found.rows
    kept = next((folder / "results").glob("synthetic-10-seed-1-*"))
    with np.load(kept / "scores.npz") as scores:
        auc = study.auc_of(scores["attention"], scores["group"], (POSITIVE, NEGATIVE))
    facts = json.loads((kept / study.FOUND).read_text())
    assert facts["numbers"]["auc:polar"] == auc
    (kept / study.FOUND).write_text("{}")
    with pytest.raises(BrokenFolder, match="delete it"):
        run(settings, folder, data_dir=made_up_corpora)
    (kept / study.FOUND).write_text(json.dumps(facts))


def test_its_page_and_what_is_said_of_it(ran, tmp_path, capsys):
    found, *_ = ran
    page = write_study(found, tmp_path / "study.html").read_text()
    for words in ("Attention scores and the scale λ", "auc-by-scale", "scores-over-training", "Ignore its numbers"):
        assert words in page
    assert "On synthetic, attention scores separate polar from neutral words best at" in in_short(found.rows, VIEW)
    assert "The models have word vectors only" in page
    assert "earlier run" in page
    show_study.study(found)
    assert "|polarity|" in capsys.readouterr().out
    assert all(legend_opacities(make(found)) == {1.0} for make in (auc_by_scale, scores_over_training))
    named = {row.quantity: quantity_name(row, (), VIEW) for row in found.rows}
    assert named["auc:polarity"] == "AUC of |polarity|, polar words"
    assert named["mean_a:positive"] == "mean attention score, positive words"
    assert not_met(found) == ["20 of synthetic: no text of ours is in that group, or no such model was run"] or not_met(
        found
    )


def test_sst_is_left_out_where_it_is_not(tmp_path):
    found = run(replace(SMALL, tasks=study.TASKS), tmp_path / "s", data_dir=tmp_path)
    assert set(found.failed) == {"sst"}
    assert set(found.tasks) == {"synthetic"}
    with pytest.raises(
        BadInput, match=r"no model could be measured\. The first error: planted_keyword has no negative word"
    ):
        run(replace(SMALL, tasks=("sst",)), tmp_path / "s", data_dir=tmp_path)
    with pytest.raises(BadInput, match="the data of every task is missing"):
        run(replace(SMALL, tasks=("sst",), texts=None), tmp_path / "s", data_dir=tmp_path)


def test_wrong_choices(tmp_path):
    with pytest.raises(UnknownName, match="task of sun2020 'imdb'"):
        run(replace(QUICK, tasks=("imdb",)), tmp_path)
    with pytest.raises(BadInput, match="at least 2"):
        run(replace(QUICK, seeds=1), tmp_path)
    for wrong in ((), (0.0,), (float("inf"),), (-1.0, 10.0)):
        with pytest.raises(BadInput, match="numbers above 0"):
            run(replace(QUICK, strengths=wrong), tmp_path)


# Numbers by hand --------------------------------------------------------------------------------------------------


def test_generated_texts():
    """Ten neutral words, two of the text's label, none twice; other texts for another seed and split."""
    ready = study.synthetic(3, {"train": 60, "test": 10})
    train = ready.splits["train"]
    assert train.lengths.tolist() == [12] * 60
    assert train.signs.tolist() == [1.0] * 30 + [-1.0] * 30
    assert [(ready.group == code).sum() for code in (NEUTRAL, POSITIVE, NEGATIVE)] == [1000, 50, 50]
    for words, sign in zip(train.words.reshape(-1, 12), train.signs, strict=True):
        assert len(set(words.tolist())) == 12
        polar = POSITIVE if sign > 0 else NEGATIVE
        assert sorted(ready.group[words].tolist()) == [NEUTRAL] * 10 + [polar] * 2
    again, other = study.synthetic(3, {"train": 60}), study.synthetic(4, {"train": 60})
    np.testing.assert_array_equal(again.splits["train"].words, train.words)
    assert (other.splits["train"].words != train.words).any()
    assert (ready.splits["test"].words != train.words[:120]).any()


def test_groups_of_a_corpus():
    """Counted in train only, whatever the case of a letter; words that only test has are in no group."""

    def split(name, texts):
        return Split(
            name, tuple(Example(f"{name}-{n}", text, None, label, {}) for n, (text, label) in enumerate(texts))
        )

    train = split("train", [("Good the", 1)] * 3 + [("good the", 1)] * 3 + [("the bad", 0)] * 6 + [("good odd", 0)])
    corpus = Corpus("films", ("negative", "positive"), {"train": train, "test": split("test", [("new Good", 1)] * 7)})
    ready = study.from_corpus(corpus)
    words = ["good", "the", "bad", "odd", "new"]  # in the order in which they come
    assert dict(zip(words, ready.group.tolist(), strict=True)) == {
        "good": POSITIVE,
        "the": NEUTRAL,
        "bad": NEGATIVE,
        "odd": OTHER,
        "new": OTHER,
    }
    assert ready.splits["test"].words.tolist() == [4, 0] * 7
    few = replace(corpus, splits={"train": split("train", [("good the", 1), ("the bad", 0)])})
    with pytest.raises(BadInput, match="films has no positive word"):
        study.from_corpus(few)


def test_numbers_of_a_model_by_hand():
    """Not trained at all: a rate of zero. Scores are what the vectors say."""
    vectors = np.zeros((5, 8), dtype=np.float32)
    vectors[:, 0], vectors[:, 1] = [0.0, 2.0, -1.0, 1.0, 9.0], [0.1, 3.0, -3.0, 0.0, 9.0]  # the last is in no group
    model = WordScores(vectors, *np.eye(8, dtype=np.float32)[:2], 1.0)
    group = np.array([NEUTRAL, POSITIVE, NEGATIVE, NEUTRAL, OTHER])
    texts = texts_of([[0, 1], [2, 3, 0]], [1, -1])
    ready = study.Ready({"train": texts, "test": texts}, group)
    found = study.measured(model, ready, Descent(0.0, 2, 1, dropout=False), np.random.default_rng(0))
    numbers = found["numbers"]
    assert numbers["auc:polar"] == numbers["auc:start"] == 0.5  # 2 is above both, −1 above none
    assert (numbers["auc:positive"], numbers["auc:negative"], numbers["auc:polarity"]) == (1.0, 0.0, 1.0)
    first, second = np.exp(2) / (1 + np.exp(2)), np.exp(-1) / (np.exp(-1) + np.exp(1) + 1)
    assert numbers["mass:polar"] == pytest.approx((first + second) / 2)
    assert numbers["mass:chance"] == pytest.approx((1 / 2 + 1 / 3) / 2)
    said = (0.1 * (1 - first) + 3 * first, -3 * second + 0.1 / (np.exp(-1) + np.exp(1) + 1))
    assert numbers["loss"] == pytest.approx(np.mean(np.log1p(np.exp([-said[0], said[1]]))))
    assert numbers["right:train"] == numbers["right:test"] == 1.0
    assert (numbers["mean_a:neutral"], numbers["mean_s:negative"], numbers["v_dot_w"]) == (0.5, -3.0, 0.0)
    assert list(found["curves"]) == ["0", "1"]
    assert "right:dev" not in numbers


def test_the_epoch_that_is_best_on_dev_is_kept():
    """Dev has the labels turned round, so it is best before the model has learned much: train is told of the end."""
    ready = study.synthetic(0, {"train": 200, "test": 100})
    turned = replace(ready.splits["test"], signs=-ready.splits["test"].signs)
    model = untrained(1100, 16, 3.0, np.random.default_rng(0), polar=1.0)
    how = Descent(0.3, 20, 12)
    told = study.measured(model, ready._replace(splits={**ready.splits, "dev": turned}), how, np.random.default_rng(1))
    assert told["numbers"]["right:train"] > 0.8
    assert told["numbers"]["right:dev"] + told["numbers"]["right:test"] == pytest.approx(1, abs=0.011)
    plain = untrained(1100, 16, 3.0, np.random.default_rng(0), polar=1.0)
    last = study.measured(plain, ready, how, np.random.default_rng(1))
    assert last["numbers"]["right:test"] > told["numbers"]["right:test"] + 0.1


def test_what_a_scale_loses_is_counted_seed_by_seed():
    def facts(auc):
        both = {"auc:positive": auc, "auc:negative": 0.85, "v_dot_w": 2.0}
        return {"numbers": {"auc:polar": auc, **both}, "curves": {"0": {"mean_a:neutral": auc}}}

    kept = {study.work_name("synthetic", 10.0, at): facts(auc) for at, auc in enumerate((0.9, 0.8, 1.0, 0.85))}
    kept |= {study.work_name("synthetic", 1.0, at): facts(auc) for at, auc in enumerate((0.7, 0.7))}
    settings = replace(QUICK, tasks=("synthetic",), seeds=4, texts=None)
    found = study.gather(settings, Found(published=read_published("sun2020"), kept=kept))
    rows = {(row.encoder, row.quantity, row.bin): row for row in found.rows}
    lost = rows["λ = 1", "auc_lost", ""]
    assert (lost.value, lost.low, lost.high, lost.seeds) == pytest.approx(t_interval(np.array([0.2, 0.1])))
    assert ("λ = 10", "auc_lost", "") not in rows
    assert rows["λ = 10", "auc_apart", ""].value == pytest.approx((0.05 + 0.05 + 0.15 + 0) / 4)
    side = rows["λ = 10", "same_side", ""]
    assert (side.value, side.seeds) == (pytest.approx(2 / 3), 3), "where they are alike neither is higher"
    assert rows["λ = 10", "mean_a:neutral", "epoch 0"].seeds == 4
    assert rows["λ = 1", "auc:polar", ""].rerun == 0.952
    assert rows["λ = 1", "auc:polar", ""].rerun_statement.startswith("outside")


def test_extremes_fail_as_predicted():
    """A small task, every seed alike: at a moderate λ scores find the polar words, at the extremes they do not, while
    polarity finds them and the texts are decided alike."""
    found = {}
    for scale in (0.02, 3.0, 1000.0):
        for seed in range(2):
            ready = study.synthetic(seed, {"train": 3000, "test": 200})
            model = untrained(1100, 32, scale, np.random.default_rng(seed), polar=1.0)
            how = Descent(0.5, 20, 12, dropout=False)
            found[scale, seed] = study.measured(model, ready, how, np.random.default_rng(seed))["numbers"]
    for seed in range(2):
        small, moderate, large = (found[scale, seed] for scale in (0.02, 3.0, 1000.0))
        assert moderate["auc:polar"] > 0.97
        assert small["auc:polar"] < moderate["auc:polar"] - 0.1
        assert large["auc:polar"] < moderate["auc:polar"] - 0.1
        assert large["mass:polar"] == pytest.approx(large["mass:chance"], abs=0.02)
        assert moderate["mass:polar"] > 0.5
        assert large["auc:polarity"] > 0.97
        assert min(moderate["right:test"], large["right:test"]) > 0.97


def test_the_published_table():
    """Each row of a model that the study has, and shares as shares."""
    rows = read_published("sun2020")
    assert {(row.task, row.encoder) for row in rows} == {
        ("synthetic", "λ = 1"),
        ("synthetic", "λ = 10"),
        ("synthetic", "λ = 100"),
        ("sst", "λ = 10"),
    }
    assert {row.encoder for row in rows} <= {study.name_of(scale) for scale in study.Settings().strengths}
    named = [(row.task, row.encoder, row.key) for row in rows]
    assert len(set(named)) == len(named)
    assert all(row.source and (row.paper or row.rerun) for row in rows)
    assert [row.paper for row in rows if row.task == "sst"] == [0.986, 0.8, 0.818]
