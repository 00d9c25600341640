"""Jobs run once, in order, each for itself, and leave nobody behind."""

import os
import signal
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from jobs_for_tests import FAMILY, alive, do, eventually, files, job, pids_in, program, states

from heatcheck import engine
from heatcheck.engine import Job, Outcome, read_json, worker
from heatcheck.errors import BadInput

pytestmark = pytest.mark.slow  # processes of its own

both = pytest.mark.parametrize("workers", [0, 2])


def run(jobs: Sequence[Job], store: Path, workers: int = 0) -> dict[str, Outcome]:
    return {outcome.job.id: outcome for outcome in engine.map(do, jobs, store, workers=workers)}


@both
def test_prerequisites_come_first(tmp_path: Path, workers: int) -> None:
    outcomes = run(FAMILY, tmp_path / "store", workers)
    assert states(outcomes) == dict.fromkeys(["base", "twin", "child", "grandchild", "alone"], "done")
    order = list(outcomes)
    assert order.index("base") < order.index("twin") < order.index("child") < order.index("grandchild")
    for outcome in outcomes.values():
        assert outcome.folder == tmp_path / "store" / outcome.job.id
        assert sorted(entry.name for entry in outcome.folder.iterdir()) == ["facts.json", "value.txt"]
        assert outcome.reason == outcome.log == ""
        assert 0 < outcome.seconds < 30


def test_processes_make_the_same_folders_as_we_do(tmp_path: Path) -> None:
    run(FAMILY, tmp_path / "here")
    run(FAMILY, tmp_path / "there", workers=2)
    here = files(tmp_path / "here")
    assert len(here) == 2 * len(FAMILY)
    assert len(set(here.values())) == len(here)
    assert files(tmp_path / "there") == here


@both
def test_what_is_there_is_reused(tmp_path: Path, workers: int) -> None:
    run([job("base")], tmp_path)
    (tmp_path / "base" / "mark.txt").touch()
    outcomes = run(FAMILY, tmp_path, workers)
    assert states(outcomes) == {
        **dict.fromkeys(["twin", "child", "grandchild", "alone"], "done"),
        "base": "reused",
    }
    assert (tmp_path / "base" / "mark.txt").exists()
    assert outcomes["base"].folder == tmp_path / "base"
    assert set(states(run(FAMILY, tmp_path, workers)).values()) == {"reused"}


@both
def test_further_jobs_run_next_and_need_what_has_ended(tmp_path: Path, workers: int) -> None:
    """Each is asked for after an outcome, runs once, and is counted; one that needs a failure is skipped."""
    wanted = {
        "first": [job("then", needs=["first"]), job("bad", "fail")],
        "then": [job("then", needs=["first"]), job("last", needs=["then"])],
        "bad": [job("orphan", needs=["bad"])],
    }
    ended: list[str] = []
    counts: list[tuple[int, int]] = []
    outcomes = {}
    for outcome in engine.map(
        do,
        [job("first"), job("queued"), job("also_queued")],
        tmp_path,
        workers=workers,
        progress=lambda _, *count: counts.append(count),
        more=lambda: wanted.pop(ended[-1], []),
    ):
        ended.append(outcome.job.id)
        outcomes[outcome.job.id] = outcome
    assert states(outcomes) == {
        **dict.fromkeys(["first", "queued", "also_queued", "then", "last"], "done"),
        "bad": "failed",
        "orphan": "skipped",
    }
    assert len(ended) == len(set(ended)) == 7
    assert counts[-1] == (7, 7)
    if not workers:
        assert ended == ["first", "bad", "orphan", "then", "last", "queued", "also_queued"]
    with pytest.raises(BadInput, match="needs 'nowhere', which is neither another job nor a folder"):
        list(engine.map(do, [job("one")], tmp_path, more=lambda: [job("lost", needs=["nowhere"])]))


@both
def test_a_failure_stops_only_what_needs_it(tmp_path: Path, workers: int) -> None:
    jobs = [
        job("grandchild", needs=["child"]),
        job("child", needs=["base", "bad"]),
        job("bad", "fail"),
        job("base"),
        job("other", needs=["base"], parents=["base"]),
        job("refused", "refuse"),
    ]
    outcomes = run(jobs, tmp_path, workers)
    assert states(outcomes) == {
        "bad": "failed",
        "refused": "failed",
        "base": "done",
        "other": "done",
        "child": "skipped",
        "grandchild": "skipped",
    }
    assert outcomes["bad"].reason == "ValueError: two lines"
    assert outcomes["bad"].log.startswith("Traceback")
    assert "jobs_for_tests.py" in outcomes["bad"].log
    assert outcomes["refused"].reason == "row 3 has no label: add one."
    for name in ("child", "grandchild"):
        assert outcomes[name].reason == "needs the job bad, which failed"
    assert [outcomes[name].folder for name in ("bad", "refused", "child", "grandchild")] == [None] * 4
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["base", "other"]


@both
def test_a_failed_job_is_tried_again(tmp_path: Path, workers: int) -> None:
    assert states(run([job("a", "fail")], tmp_path, workers)) == {"a": "failed"}
    assert states(run([job("a")], tmp_path, workers)) == {"a": "done"}


def test_a_folder_that_is_there_does_not_need_its_prerequisites(tmp_path: Path) -> None:
    run([job("base"), job("child", needs=["base"], parents=["base"])], tmp_path)
    for path in (tmp_path / "base").iterdir():
        path.unlink()
    (tmp_path / "base").rmdir()
    assert states(run([job("child", needs=["base"], parents=["base"])], tmp_path)) == {"child": "reused"}
    jobs = [
        job("base", "fail"),
        job("child", needs=["base"]),
        job("grandchild", needs=["child"], parents=["child"]),
    ]
    assert states(run(jobs, tmp_path)) == {"base": "failed", "child": "reused", "grandchild": "done"}


def test_a_prerequisite_may_be_in_the_store_already(tmp_path: Path) -> None:
    run([job("base")], tmp_path)
    assert states(run([job("child", needs=["base"], parents=["base"])], tmp_path)) == {"child": "done"}


def test_the_same_job_twice_runs_once(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    twice = [
        job("a", "append", log=str(log)),
        job("a", "append", log=str(log))._replace(name="by another name"),
    ]
    assert len(list(engine.map(do, twice, tmp_path / "store"))) == 1
    assert log.read_text() == "a\n"


@pytest.mark.parametrize(
    ("jobs", "sentence"),
    [
        ([job("a"), job("a", other=1)], "'the job a' and 'the job a' differ but share the id a"),
        ([job("b"), job("a"), job("a", needs=["b"])], "share the id a"),
        ([job("a", needs=["ghost"])], "'the job a' needs 'ghost', which is neither another job nor a folder in"),
        (
            [job("a", needs=["b"]), job("b", needs=["c"]), job("c", needs=["a"]), job("d")],
            "they need each other in a circle",
        ),
        ([job("a", needs=["a"])], "'the job a' needs 'the job a'"),
        ([job("../a")], "cannot name a folder"),
    ],
)
def test_what_cannot_be_planned_is_refused_before_anything_runs(tmp_path: Path, jobs: list[Job], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        engine.map(do, [job("first"), *jobs], tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_a_cycle_is_told_in_the_right_direction(tmp_path: Path) -> None:
    jobs = [job("a", needs=["b"]), job("b", needs=["c"]), job("c", needs=["a"])]
    with pytest.raises(BadInput) as info:
        engine.map(do, jobs, tmp_path)
    names = str(info.value).partition(": ")[2].rstrip(".").split(" needs ")
    needs = {repr(job.name): {f"'the job {need}'" for need in job.needs} for job in jobs}
    assert len(names) == 4
    assert all(need in needs[name] for name, need in pairwise(names))


def test_the_number_of_workers_and_the_function_are_checked_first(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="workers is -1"):
        engine.map(do, [job("a")], tmp_path, workers=-1)
    with pytest.raises((AttributeError, TypeError)):
        engine.map(lambda *_: None, [job("a")], tmp_path, workers=1)


def test_progress_counts(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    jobs = [job("a"), job("b", "fail"), job("c", needs=["b"]), job("a")]
    outcomes = engine.map(
        do, jobs, tmp_path, progress=lambda outcome, done, total: seen.append((outcome.job.id, done, total))
    )
    for count, _ in enumerate(outcomes, start=1):
        assert len(seen) == count
    assert seen == [("a", 1, 3), ("b", 2, 3), ("c", 3, 3)]


def test_no_jobs_no_outcomes(tmp_path: Path) -> None:
    assert run([], tmp_path / "store") == run([], tmp_path / "store", workers=2) == {}


def test_so_many_at_once_and_no_more(tmp_path: Path) -> None:
    run([job(f"job{number}", "sleep", seconds=0.5) for number in range(4)], tmp_path, workers=2)
    times = [read_json(tmp_path / f"job{number}" / "times.json") for number in range(4)]
    together = [sum(began <= moment < ended for began, ended in times) for moment, _ in times]
    assert max(together) == 2


def test_the_share_of_the_gpu_is_the_workers_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of ours that asks for the device while a worker starts must not take the worker's share."""
    ours: list[str | None] = []
    start = worker.SpawnProcess.start

    def watched(process: worker.SpawnProcess) -> None:
        start(process)
        ours.append(os.environ.get(worker.SHARE_OF_GPU))

    monkeypatch.setattr(worker.SpawnProcess, "start", watched)
    run([job("a", "share of the GPU")], tmp_path, workers=2)
    assert (tmp_path / "a" / "share.txt").read_text() == "0.4000"
    assert ours == [None]


def test_two_processes_share_the_work(tmp_path: Path) -> None:
    log, store, count = tmp_path / "log.txt", tmp_path / "store", 12
    call = f"append_all({str(store)!r}, {str(log)!r}, {count})"
    said = [process.communicate(timeout=40)[0].split() for process in [program(call, stdout=-1) for _ in range(2)]]
    assert sorted(said[0] + said[1]) == ["done"] * count + ["reused"] * count
    assert sorted(log.read_text().split()) == sorted(f"job-{number}" for number in range(count))


def test_a_worker_that_dies_fails_only_its_own_job(tmp_path: Path) -> None:
    jobs = [
        job("dies", "die"),
        job("orphan", needs=["dies"]),
        job("exits", "exit"),
        job("made", "die after"),
        job("a"),
        job("b", needs=["a"], parents=["a"]),
    ]
    outcomes = run(jobs, tmp_path, workers=2)
    assert outcomes["dies"].reason == "its process died with signal 9"
    assert outcomes["exits"].reason == "its process exited with status 3"
    assert outcomes["orphan"].reason == "needs the job dies, which failed"
    assert states(outcomes) == {
        "dies": "failed",
        "orphan": "skipped",
        "exits": "failed",
        "made": "done",  # its folder is whole: what came after does not matter
        "a": "done",
        "b": "done",
    }


def test_a_process_makes_one_folder_after_the_other(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    jobs = [job(f"job-{number}", pids=str(pids)) for number in range(6)]
    jobs += [job("fails", "fail", pids=str(pids)), job("last", needs=["job-0"], pids=str(pids))]
    outcomes = run(jobs, tmp_path / "store", workers=2)
    assert [state for name, state in states(outcomes).items() if name != "fails"] == ["done"] * 7
    assert 1 <= len(list(pids.iterdir())) <= 2  # one, if it is done before the other has started
    assert not any(alive(int(path.name)) for path in pids.iterdir())


def test_nobody_dies_of_what_an_earlier_job_left(tmp_path: Path) -> None:
    jobs = [job("guilty", "die later", seconds=0.5), job("innocent", "sleep", needs=["guilty"], seconds=1.0)]
    assert states(run(jobs, tmp_path, workers=1)) == {"guilty": "done", "innocent": "done"}
    outcomes = run([job("a"), job("dies", "die", needs=["a"])], tmp_path, workers=1)
    assert outcomes["dies"].reason == "its process died with signal 9", "in a process of its own too"


def test_an_idle_process_may_die(tmp_path: Path) -> None:
    jobs = [
        job("guilty", "die later", seconds=0.1),
        job("meanwhile", "sleep", seconds=1.0),
        job("innocent", needs=["meanwhile"]),
        job("other", needs=["meanwhile"]),
    ]
    assert set(states(run(jobs, tmp_path, workers=2)).values()) == {"done"}


def test_a_job_goes_on_from_what_its_dead_worker_left(tmp_path: Path) -> None:
    assert states(run([job("a", "die once")], tmp_path, workers=1)) == {"a": "failed"}
    assert (tmp_path / ".a.part" / "checkpoint.txt").read_text() == "first"
    assert states(run([job("a", "die once")], tmp_path, workers=1)) == {"a": "done"}
    assert files(tmp_path) == {"a/checkpoint.txt": b"first"}


def test_a_long_last_word_is_heard(tmp_path: Path) -> None:
    outcome = run([job("a", "fail", message="word\n" * 200_000)], tmp_path, workers=1)["a"]
    assert outcome.reason.startswith("ValueError: word word")
    assert len(outcome.log) > 10**6


def test_a_thread_left_behind_keeps_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_GRACE_S", 0.2)
    began = time.monotonic()
    assert states(run([job("a", "linger"), job("b")], tmp_path, workers=1)) == {"a": "done", "b": "done"}
    assert time.monotonic() - began < 40  # the thread sleeps for 60


@pytest.mark.parametrize(("given", "expected"), [(None, None), ("7", "7")])
def test_workers_share_the_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str | None, expected: str | None
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if given:
        monkeypatch.setenv("OMP_NUM_THREADS", given)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(10))
    run([job("a", "threads")], tmp_path, workers=3)
    assert (tmp_path / "a" / "threads.txt").read_text() == (expected or "3")
    assert os.environ.get("OMP_NUM_THREADS") == given


@pytest.mark.parametrize(
    "how",
    [
        "does='spin'",
        "does='spin', in_thread=True",  # without the kernel's help
        "does='hold'",  # only with the kernel's help
        "module='slow_import_for_tests', in_thread=True",
    ],
)
def test_kill_9_of_the_parent_leaves_no_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    monkeypatch.setenv("HEATCHECK_TEST_PIDS", str(pids))
    parent = program(f"endless({str(tmp_path / 'store')!r}, {str(pids)!r}, {how})")
    workers = pids_in(pids, 2)
    time.sleep(0.7)  # past the watch's first look
    assert all(alive(pid) for pid in workers)
    parent.kill()
    parent.wait()
    assert eventually(lambda: not any(alive(pid) for pid in workers), seconds=5)


def test_ctrl_c_ends_the_workers_and_keeps_their_checkpoints(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    call = f"endless({str(tmp_path / 'store')!r}, {str(pids)!r})"
    parent = program(call, stderr=-1, start_new_session=True)
    workers = pids_in(pids, 2)
    os.killpg(parent.pid, signal.SIGINT)  # as the terminal does: to all of them
    said = parent.communicate(timeout=30)[1]
    assert said.count("Traceback") == 1
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert not any(alive(pid) for pid in workers)
    left = {entry.name for entry in (tmp_path / "store").iterdir()}
    assert {name for name in left if not name.endswith(".lock")} == {".endless.part", ".sleeps.part"}


def test_a_worker_leaves_ctrl_c_to_its_parent(tmp_path: Path) -> None:
    assert states(run([job("a", "interrupt")], tmp_path, workers=1)) == {"a": "done"}


def test_workers_outlive_the_thread_that_started_them(tmp_path: Path) -> None:
    jobs = [job("quick"), job("slow", "sleep", seconds=1.0)]
    outcomes = engine.map(do, jobs, tmp_path, workers=2)
    seen: list[Outcome] = []
    thread = threading.Thread(target=lambda: seen.append(next(outcomes)))
    thread.start()
    thread.join()
    assert [(outcome.job.id, outcome.state) for outcome in [*seen, *outcomes]] == [
        ("quick", "done"),
        ("slow", "done"),
    ]


def test_leaving_the_iterator_early_ends_the_workers(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    jobs = [job("spins", "spin", pids=str(pids)), job("quick"), job("never")]
    outcomes = engine.map(do, jobs, tmp_path / "store", workers=2)
    assert next(iter(outcomes)).job.id == "quick"
    workers = pids_in(pids, 1)
    began = time.monotonic()
    outcomes.close()  # type: ignore[attr-defined]
    assert time.monotonic() - began < 3
    assert not any(alive(pid) for pid in workers)
    assert not (tmp_path / "store" / "never").exists()


def test_an_uncaught_exception_ends_the_workers(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    parent = program(f"stumble({str(tmp_path / 'store')!r}, {str(pids)!r})", stderr=-1)
    said = parent.communicate(timeout=40)[1]
    assert said.rstrip().endswith("RuntimeError: stumbled")
    assert not any(alive(int(path.name)) for path in pids.iterdir())
    assert len(list(pids.iterdir())) == 1
