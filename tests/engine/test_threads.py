"""Jobs in threads of one process."""

import threading
import time

import pytest

from heatcheck import engine
from heatcheck.engine import Job

together = threading.Barrier(3)


def meet(argument, folder, _):
    together.wait(timeout=10)  # only if all three are at work at once
    (folder / "name.txt").write_text(argument["name"])


def fail(argument, folder, _):
    if argument["name"] == "b":
        raise ValueError("no b")
    (folder / "name.txt").write_text(argument["name"])


def linger(_, folder, __):
    (folder / "checkpoint.txt").write_text("so far")
    while True:
        time.sleep(0.01)


def jobs(names, needs=()):
    return [Job(name, name, tuple(needs), {"name": name}) for name in names]


def test_they_run_at_once(tmp_path):
    outcomes = list(engine.map(meet, jobs("abc"), tmp_path, threads=3))
    assert [outcome.state for outcome in outcomes] == ["done"] * 3
    assert {(tmp_path / name / "name.txt").read_text() for name in "abc"} == set("abc")


def test_one_that_fails_stops_only_what_needs_it(tmp_path):
    found = engine.map(fail, [*jobs("ab"), *jobs("c", needs="b"), *jobs("d", needs="a")], tmp_path, threads=2)
    assert {outcome.job.id: outcome.state for outcome in found} == {
        "a": "done",
        "b": "failed",
        "c": "skipped",
        "d": "done",
    }


def test_an_interrupted_one_leaves_its_checkpoint_and_no_thread(tmp_path):
    before = threading.active_count()

    running = engine.map(linger, jobs("a"), tmp_path, threads=1)
    interrupter = threading.Timer(0.3, running_interrupt, args=(threading.get_ident(),))
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        next(running)
    interrupter.join()
    assert (tmp_path / ".a.part" / "checkpoint.txt").read_text() == "so far"
    assert not (tmp_path / "a").exists()
    assert threading.active_count() == before


def running_interrupt(thread):
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))
