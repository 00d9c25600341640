"""The study: a smoke run, redrawn from what it kept; and, of runs whose fate is known, every number by hand."""

import importlib
import json
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from drawn import legend_opacities
from heatcheck import stats
from heatcheck.errors import BadInput, BrokenFolder, UnknownName
from heatcheck.report import write_study
from heatcheck.results import read_study
from heatcheck.studies import STUDIES, read_published, run_study
from heatcheck.studies.snell2021.copying import Curves, by_elimination
from smoke_runs import smoke_run

study = importlib.import_module("heatcheck.studies.snell2021")  # the package's name of it is the Study
run = partial(run_study, STUDIES["snell2021"])
NEVER = 10**6


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    return smoke_run("snell2021", tmp_path_factory.mktemp("smoke") / "study")


def test_the_smoke_run_has_a_number_for_every_question(smoke):
    folder, said = smoke
    rows = {(row["task"], row["quantity"]): row for row in said["rows"]}
    for task in study.COPY_TASKS:
        wanted = {"failed:20", "bad:20", "aligned:20", "elimination", *(f"copied:{kind}:20" for kind in study.KINDS)}
        assert wanted <= {quantity for where, quantity in rows if where == task}
        assert rows[task, "failed:20"]["seeds"] == 3
        assert rows[task, "copied:none:20"]["seeds"] == 2
    assert rows["lottery", "alone:bad"]["seeds"] == 8
    assert rows["lottery", "eight:random"]["seeds"] == 2
    assert all(np.isfinite(row["value"]) for row in said["rows"])
    assert all(row["paper"] is None for row in said["rows"]), "six symbols are not what was published"
    assert said["notes"][0].startswith("This is a smoke run")
    assert (folder / "table.csv").is_file()
    assert len(read_study(folder).rows) == len(said["rows"])


def test_the_page_can_be_drawn_from_what_was_kept(smoke, tmp_path):
    shutil.copytree(smoke[0] / "results", tmp_path / "results")
    states = []
    found = run(study.QUICK, tmp_path, progress=lambda outcome, *_: states.append(outcome.state))
    assert set(states) == {"reused"}
    assert len(states) == 3 * 3 + 2 + 2
    assert [(row.task, row.quantity, row.value) for row in found.rows] == [
        (row["task"], row["quantity"], row["value"]) for row in smoke[1]["rows"]
    ]


def test_a_damaged_result_is_named(smoke, tmp_path):
    shutil.copytree(smoke[0] / "results", tmp_path / "results")
    (path,) = (tmp_path / "results").glob("copy_iid-none-*/curves.json")
    path.write_text(json.dumps({"runs": []}))
    with pytest.raises(BrokenFolder, match=r"copy_iid-none-.* is damaged"):
        run(study.QUICK, tmp_path)


def fate(run):
    """The step after which a run copies: half of the permutations by 200, three in four by 2,000; and so on."""
    if run.member.attention != "learned":
        return NEVER
    if len(run.member.heads) == 1:  # of three heads one is good, one bad, and one good with the first data only
        head = run.member.heads[0]
        return (100, NEVER, 100 if run.data == 0 else NEVER)[head % 3]
    if run.member.heads:
        return 150 if any(head % 3 == 0 for head in run.member.heads) else NEVER
    if run.task.repeated:
        return 80
    if run.task.symbols == 60:
        return 120
    return (100, NEVER, 200, 1000)[run.member.seed % 4]


def told_fates(runs, shape, steps, *, device, folder):  # noqa: ARG001 - as the real one
    at = np.arange(0, steps + 1, 10)
    copies = np.array([fate(run) for run in runs])[:, None] <= at
    right, beside = np.where(copies, 0.99, 0.2), np.where(copies, 0.9, 0.1)
    return Curves(at, right, np.full_like(right, 0.05), np.full_like(right, 0.0), beside)


@pytest.fixture
def known(monkeypatch, tmp_path):
    monkeypatch.setattr(study, "watch_training", told_fates)
    return run(study.Settings(), tmp_path)


def test_every_number_by_hand(known):
    rows = {(row.task, row.quantity): row for row in known.rows}
    first = rows["copy_permutation", "failed:200"]
    assert (first.value, first.seeds) == (0.5, 20)
    assert (first.low, first.high) == stats.share_interval(10, 20)[1:3]
    assert (first.paper, first.statement) == (0.5, "in our exact interval")
    assert rows["copy_permutation", "failed:2000"].value == 0.25
    assert rows["copy_permutation", "bad:200"].value == 0.5
    assert rows["copy_permutation", "half_by"].value == 200
    assert rows["copy_iid", "failed:200"].value == rows["copy_distinct", "failed:200"].value == 0
    assert rows["copy_iid", "failed:200"].high == pytest.approx(0.168, abs=1e-3)
    assert rows["copy_iid", "half_by"].value == 80
    assert rows["copy_permutation", "copied:learned:200"].value == pytest.approx(0.595)
    assert rows["copy_permutation", "copied:none:2000"][7:11] == (pytest.approx(0.2), 0.2, 0.2, 5)
    assert rows["copy_permutation", "aligned:2000"].value == pytest.approx(0.75 * 0.9 + 0.25 * 0.1)
    task = study.COPY_TASKS["copy_permutation"]
    assert rows["copy_permutation", "elimination"].value == by_elimination(task)
    # 20 bad heads are found when the third block of 25 ends: of 75 every third is good, bad, neither.
    assert [rows["lottery", f"alone:{kind}"].value for kind in ("good", "bad", "neither")] == pytest.approx([1 / 3] * 3)
    assert rows["lottery", "alone:bad"].seeds == 75
    assert (rows["lottery", "eight:bad"].value, rows["lottery", "eight:one good"].value) == (0, 1)
    assert rows["lottery", "eight:random"].seeds == 50
    assert known.failed == {}
    assert {task: about["models"] for task, about in known.tasks.items()} == {
        **dict.fromkeys(study.COPY_TASKS, 30),
        "lottery": 3 * 75 + 3 * 50,
    }


def test_a_claim_that_does_not_hold_is_said_to(monkeypatch, tmp_path):
    monkeypatch.setattr(study, "watch_training", told_fates)
    monkeypatch.setitem(globals(), "fate", lambda _: NEVER)
    found = run(study.Settings(tasks=("copy_iid", "lottery")), tmp_path)
    (row,) = [row for row in found.rows if row.quantity == "failed:200"]
    assert row.statement == "not in our exact interval: ours is higher by 1.00"
    assert "half_by" not in {row.quantity for row in found.rows}
    # With no good head, all 400 are tried, and the draw that needs one is said not to have been made.
    assert {row.quantity: row.seeds for row in found.rows if row.task == "lottery"} == {
        "alone:good": 400,
        "alone:bad": 400,
        "alone:neither": 400,
        "eight:bad": 50,
        "eight:random": 50,
    }
    assert found.failed == {"seven bad heads and a good one": "only 0 good and 20 bad heads among 400 tried alone"}


def test_draws_of_heads_are_what_they_say():
    heads = {"good": [0, 3], "bad": list(range(100, 120)), "neither": [7]}
    jobs, _ = study.draw_work(study.Settings(), heads, "cpu")
    drawn = {job.name: [member[3] for _, member, _ in job.argument["runs"]] for job in jobs}
    for words, draws in drawn.items():
        assert len(draws) == 50
        assert all(len(set(one)) == 8 for one in draws)
        assert len({tuple(one) for one in draws}) == 50, words
    assert all(set(one) <= set(heads["bad"]) for one in drawn["eight bad heads"])
    assert all(
        one[0] in (0, 3) and set(one[1:]) <= set(heads["bad"]) for one in drawn["seven bad heads and a good one"]
    )
    assert all(400 <= head < 430 for one in drawn["eight random heads"] for head in one)


def test_the_page_says_who_failed_and_who_was_late(known, tmp_path):
    page = write_study(known, tmp_path / "study.html").read_text()
    assert "permutations of all symbols: 0.500 [0.272, 0.728] after 200 steps" in page
    for words in ("seven bad, one good", "copy-survival", "by elimination"):
        assert words in page
    assert 0 < page.index("<h2>Time to learn to copy</h2>") < page.index("<h2>A lottery of heads</h2>")


def test_the_survival_figure_is_drawn_from_the_times(known):
    from heatcheck.report.studies.snell2021 import copy_survival

    figure = copy_survival(known)
    (values,) = [layer["data"]["values"] for layer in figure.spec["layer"][:1]]
    falls = [(row["step"], row["surviving"]) for row in values if row["sequences"].startswith("permutations")]
    assert falls == [(0, 1), (100, 0.75), (200, 0.5), (1000, 0.25), (2000, 0.25)]
    assert copy_survival(replace(known, models=())) is None
    assert legend_opacities(figure) == {1.0}


def test_what_cannot_be_run_is_said_first(tmp_path):
    with pytest.raises(UnknownName, match="copy_permutations"):
        run(study.Settings(tasks=("copy_permutations",)), tmp_path)
    with pytest.raises(BadInput, match="at least 2 seeds"):
        run(replace(study.QUICK, seeds=1), tmp_path)


def test_the_name_of_a_result_says_all_that_decides_it():
    jobs = {job.name: job for job in study.copy_work(study.Settings(), "copy_iid", "cpu")}
    ids = {job.id for job in jobs.values()}
    for change in ({"seeds": 19, "baseline_seeds": 4}, {"steps": 100}, {"hidden": 8}, {"symbols": 6}):
        other = {job.id for job in study.copy_work(replace(study.Settings(), **change), "copy_iid", "cpu")}
        assert not ids & other
    assert ids == {job.id for job in study.copy_work(study.Settings(), "copy_iid", "cuda")}


def test_published_rows_are_of_tasks_that_there_are():
    assert {one.task for one in read_published("snell2021")} == set(study.COPY_TASKS)
    assert STUDIES["snell2021"].settings() == study.Settings()
