"""A crew: workers that stay for jobs that come one after the other."""

import os
import signal

import pytest
from jobs_for_tests import alive, do, eventually, job

from heatcheck import engine
from heatcheck.engine import Crew, read_json

pytestmark = pytest.mark.slow  # processes of its own


def write_process(argument, folder, _store):
    engine.write_json(folder / "made.json", {"process": os.getpid(), "number": argument["number"]})
    if argument.get("die"):
        os.kill(os.getpid(), signal.SIGKILL)
    if argument.get("fail"):
        raise ValueError("no such number")


def numbered(number, **more):
    return job(f"j{number}")._replace(argument={"number": number, **more})


def test_the_same_processes_make_what_is_given_later(tmp_path):
    crew = Crew(write_process, tmp_path, workers=1)
    try:
        crew.give([numbered(1)])
        first = crew.wait(["j1"])
        crew.give([numbered(1), numbered(2)])
        outcomes = first + crew.wait(["j2"])
        made = [read_json(outcome.folder / "made.json") for outcome in outcomes]
        assert [one["number"] for one in made] == [1, 2]
        assert len({one["process"] for one in made}) == 1
    finally:
        crew.stop()
    assert eventually(lambda: not alive(made[0]["process"]))


def test_what_is_needed_first_goes_before_the_rest_and_folders_are_used_again(tmp_path):
    (tmp_path / "j9").mkdir()
    crew = Crew(write_process, tmp_path, workers=1)
    try:
        crew.give([numbered(number) for number in range(5)])
        crew.give([numbered(4), numbered(9)], first=True)
        (four, nine) = crew.wait(["j4", "j9"])
        assert (four.state, nine.state) == ("done", "reused")
        crew.wait([f"j{number}" for number in range(4)])
        order = sorted(range(5), key=lambda number: (tmp_path / f"j{number}" / "made.json").stat().st_mtime_ns)
        assert order.index(4) <= 1  # one may have been under way
    finally:
        crew.stop()


def test_failures_are_told_apart_from_deaths(tmp_path):
    crew = Crew(write_process, tmp_path, workers=2)
    try:
        crew.give([numbered(1, fail=True), numbered(2, die=True), numbered(3)])
        failed, died, done = crew.wait(["j1", "j2", "j3"])
        assert failed.state == died.state == "failed"
        assert "no such number" in failed.reason
        assert failed.log
        assert "signal 9" in died.reason
        assert not died.log
        assert done.state == "done"
    finally:
        crew.stop()


def test_a_cluster_that_cannot_be_reached_is_said_to_who_waits(tmp_path):
    pytest.importorskip("ray")
    crew = Crew(do, tmp_path, workers=1, cluster="ray:127.0.0.1:9")
    try:
        crew.give([job("a")])
        with pytest.raises(engine.jobs.BadInput, match="cannot reach a Ray cluster"):
            crew.wait(["a"])
    finally:
        crew.stop()


def test_ray_keeps_its_processes_for_a_crew(tmp_path):
    pytest.importorskip("ray")
    crew = Crew(write_process, tmp_path, workers=1, cluster="ray")
    try:
        crew.give([numbered(1), numbered(2)])
        made = [read_json(outcome.folder / "made.json") for outcome in crew.wait(["j1", "j2"])]
        assert len({one["process"] for one in made}) == 1
    finally:
        crew.stop()
