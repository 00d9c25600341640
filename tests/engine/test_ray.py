"""Jobs on Ray: as in processes of ours, and a killed worker loses nothing."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jobs_for_tests
import pytest
from jobs_for_tests import FAMILY, alive, do, eventually, files, job, pids_in, program, states

from heatcheck import engine
from heatcheck.engine import Job, Outcome, ray_driver, read_json
from heatcheck.engine.place import Report
from heatcheck.engine.ray_driver import Died
from heatcheck.errors import BadInput, MissingPackage

pytestmark = pytest.mark.slow  # processes of its own

SLOW_S = 90.0  # for what takes Ray a few seconds, on a machine with much else to do


def run(jobs: Sequence[Job], store: Path, cluster: str, workers: int = 0) -> dict[str, Outcome]:
    return {outcome.job.id: outcome for outcome in engine.map(do, jobs, store, workers=workers, cluster=cluster)}


@contextmanager
def started(jobs: Sequence[Job], store: Path, cluster: str) -> Iterator[Iterator[Outcome]]:
    """Outcomes to be read one by one; a job still at work ends with the block, lest it keeps others waiting."""
    outcomes: Any = engine.map(do, jobs, store, cluster=cluster)
    with closing(outcomes):
        yield outcomes


def sessions_of(parent: int) -> set[int]:
    """The sessions that children of a process lead: drivers of Ray."""
    return {session for pid, ppid, session in processes() if ppid == parent and pid == session}


def members(sessions: set[int]) -> list[int]:
    return [pid for pid, _, session in processes() if session in sessions and alive(pid)]


def processes() -> Iterator[tuple[int, int, int]]:
    """The number, the parent and the session of every process."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield int(stat.parent.name), int(fields[1]), int(fields[3])


@pytest.fixture(scope="module")
def _ray_is_installed() -> None:
    if find_spec("ray") is None:
        if os.environ.get("CI"):
            pytest.fail("Ray is not installed: make installs it")
        pytest.skip("needs Ray: pip install 'heatcheck[ray]'")


@pytest.fixture(scope="module")
def cluster(_ray_is_installed: None) -> Iterator[str]:
    """A Ray cluster of three CPUs that is there already, for all these tests."""
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # short, for the sockets of Ray
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", "of-these-tests" * 4)
        with (folder / "log").open("w") as log:
            keeper = program(f"keep_ray({str(folder)!r})", stdin=-1, stdout=log, stderr=log)
        jobs_for_tests.started.remove(keeper)  # it is not for one test alone
        try:
            there = eventually((folder / "address").exists, SLOW_S)
            assert there, (folder / "log").read_text()
            yield f"ray:{(folder / 'address').read_text()}"
        finally:
            with suppress(subprocess.TimeoutExpired):
                keeper.communicate(timeout=SLOW_S)
            keeper.kill()
            keeper.wait()
            shutil.rmtree(folder)


def test_a_cluster_makes_the_same_folders_as_we_do(tmp_path: Path, cluster: str) -> None:
    jobs = [relative for relative in FAMILY if relative.id in ("base", "twin", "alone")]
    made_here = {outcome.job.id: outcome for outcome in engine.map(do, jobs, tmp_path / "here")}
    shutil.copytree(tmp_path / "here" / "alone", tmp_path / "there" / "alone")
    made_there = run(jobs, tmp_path / "there", cluster)
    assert states(made_there) == {**states(made_here), "alone": "reused"}
    assert list(made_there).index("base") < list(made_there).index("twin")
    assert files(tmp_path / "there") == files(tmp_path / "here")
    assert len(set(files(tmp_path / "here").values())) == 2 * len(jobs)
    assert made_there["twin"].folder == tmp_path / "there" / "twin"


def test_so_many_at_once_and_no_more(tmp_path: Path, cluster: str) -> None:
    run([job(f"job{number}", "sleep", seconds=1.5) for number in range(3)], tmp_path, cluster, workers=2)
    times = [read_json(tmp_path / f"job{number}" / "times.json") for number in range(3)]
    assert max(sum(began <= moment < ended for began, ended in times) for moment, _ in times) <= 2


def test_a_failure_stops_only_what_needs_it(tmp_path: Path, cluster: str, capfd: pytest.CaptureFixture[str]) -> None:
    pids, store = tmp_path / "pids", tmp_path / "store"
    pids.mkdir()
    jobs = [
        job("dies", "die", pids=str(pids)),
        job("bad", "fail"),
        job("exits", "exit"),
        job("lost", "lose"),
        job("orphan", needs=["base", "dies"]),
        job("base"),
        job("interrupted", "interrupt"),
        job("made", "die after"),
        job("lingers", "linger", pids=str(pids)),
    ]
    outcomes = run(jobs, store, cluster)
    assert states(outcomes) == {
        **dict.fromkeys(["dies", "bad", "exits", "lost"], "failed"),
        "orphan": "skipped",
        "base": "done",
        "interrupted": "done",  # it leaves ctrl-C to us
        "made": "done",  # its folder is whole: what came after does not matter
        "lingers": "done",
    }
    assert {job_id: outcomes[job_id].reason for job_id in ("dies", "orphan", "bad", "exits", "lost")} == {
        "dies": "died 3 times; last reason: its worker was killed or crashed",
        "orphan": "needs the job dies, which failed",
        "bad": "ValueError: two lines",
        "exits": "its process exited with status 3",
        "lost": f"created on another machine but not visible here: {store} must be on a file system that all machines "
        "of the Ray cluster share",
    }
    assert "jobs_for_tests.py" in outcomes["bad"].log
    assert capfd.readouterr() == ("", "")  # Ray has much to say about workers that die
    assert len(list(pids.iterdir())) == 3 + 1
    assert eventually(lambda: not any(alive(int(path.name)) for path in pids.iterdir()))


def test_who_is_killed_loses_nothing(tmp_path: Path, cluster: str) -> None:
    pids, store = tmp_path / "pids", tmp_path / "store"
    pids.mkdir()
    jobs = [job("killed", "wait to be killed", pids=str(pids)), job("quick"), job("after", needs=["killed"])]
    with started(jobs, store, cluster) as outcomes:
        assert next(outcomes).job.id == "quick"
        checkpoint = store / ".killed.part" / "checkpoint.txt"
        rest: list[Outcome] = []
        reader = threading.Thread(target=lambda: rest.extend(outcomes))
        reader.start()
        assert eventually(checkpoint.exists, SLOW_S)
        [first] = [int(path.name) for path in pids.iterdir()]
        os.kill(first, signal.SIGKILL)
        assert eventually(lambda: checkpoint.read_text().count("\n") == 2, SLOW_S)
        [second] = [int(path.name) for path in pids.iterdir() if int(path.name) != first]
        [driver] = sessions_of(os.getpid())
        os.kill(driver, signal.SIGKILL)
        reader.join(SLOW_S)
    assert [(outcome.job.id, outcome.state) for outcome in rest] == [("killed", "done"), ("after", "done")]
    # Each try went on from what the last one left.
    tries = [int(line) for line in (store / "killed" / "checkpoint.txt").read_text().split()]
    assert tries[:2] == [first, second]
    assert set(tries) == {int(path.name) for path in pids.iterdir()}
    assert len(tries) == 3
    assert eventually(lambda: not any(alive(pid) for pid in tries))  # a worker outlives its killed driver for a moment
    assert not sessions_of(os.getpid())


def test_jobs_find_what_they_would_find_here(tmp_path: Path, cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("HEATCHECK_DATA", "some/folder")
    assert states(run([job("around", "look around")], tmp_path / "store", cluster, workers=1)) == {"around": "done"}
    assert read_json(tmp_path / "store" / "around" / "seen.json") == {
        "directory": str(tmp_path),
        "data": "some/folder",
        "threads": "3",  # one job at once on three CPUs
    }


def left_in(store: Path) -> set[str]:
    """What a store holds; a job that is killed may or may not leave its lock, which the next one takes over."""
    return {entry.name for entry in store.iterdir() if not entry.name.endswith(".lock")}


def test_leaving_early_ends_the_jobs_and_not_the_cluster(tmp_path: Path, cluster: str) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    jobs = [job("holds", "hold", pids=str(pids)), job("quick"), job("never", needs=["holds"])]
    with started(jobs, tmp_path / "store", cluster) as outcomes:
        assert next(outcomes).job.id == "quick"
        [worker] = pids_in(pids, 1, SLOW_S)
    assert not sessions_of(os.getpid())
    assert eventually(lambda: not alive(worker))
    assert left_in(tmp_path / "store") == {".holds.part", "quick"}
    host, port = cluster.removeprefix("ray:").split(":")
    socket.create_connection((host, int(port)), timeout=5).close()


@pytest.mark.usefixtures("_ray_is_installed")
def test_kill_9_takes_a_ray_of_our_own_along(tmp_path: Path) -> None:
    pids, forked = tmp_path / "pids", tmp_path / "forked"
    pids.mkdir()
    call = f"endless({str(tmp_path / 'store')!r}, {str(pids)!r}, cluster='ray', does='hold', forked={str(forked)!r})"
    parent = program(call, stdout=-1, stderr=-1)
    workers = pids_in(pids, 2, SLOW_S)
    assert eventually(forked.exists)
    drivers = sessions_of(parent.pid)
    ours = members(drivers)
    assert len(drivers) == 1
    assert {*workers, *drivers} < set(ours)
    folders = folders_of(ours)
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700]
    assert any(b"RAY_AUTH_MODE=token" in Path(f"/proc/{pid}/environ").read_bytes() for pid in ours)
    parent.kill()
    parent.wait()
    try:
        assert eventually(lambda: not members(drivers))
        assert not any(alive(pid) for pid in workers)
        assert eventually(lambda: not any(folder.exists() for folder in folders))
        assert alive(int(forked.read_text()))  # which kept our end of the driver's pipe open
    finally:
        os.kill(int(forked.read_text()), signal.SIGKILL)
    assert parent.communicate(timeout=SLOW_S) == ("", "")
    assert left_in(tmp_path / "store") == {".endless.part", ".sleeps.part"}


@pytest.mark.usefixtures("_ray_is_installed")
def test_ctrl_c_ends_a_ray_of_our_own_even_the_second(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    call = f"endless({str(tmp_path / 'store')!r}, {str(pids)!r}, cluster='ray', does='hold')"
    parent = program(call, stdout=-1, stderr=-1, start_new_session=True)
    workers = pids_in(pids, 2, SLOW_S)
    drivers = sessions_of(parent.pid)
    [driver] = drivers
    folders = folders_of(members(drivers))
    os.kill(driver, signal.SIGKILL)
    assert eventually(lambda: not members(drivers))  # Ray's agents alone would stay for a minute
    assert not any(alive(pid) for pid in workers)
    assert eventually(lambda: len(list(pids.iterdir())) == 4, SLOW_S)  # both are at work again
    drivers = sessions_of(parent.pid)
    assert driver not in drivers
    folders |= folders_of(members(drivers))
    assert len(folders) == 2
    os.killpg(parent.pid, signal.SIGINT)  # as the terminal does
    said = parent.communicate(timeout=SLOW_S)
    assert not members(drivers)
    assert not any(alive(int(path.name)) for path in pids.iterdir())
    assert not any(folder.exists() for folder in folders)
    assert said[0] == ""
    assert said[1].count("Traceback") == 1
    assert said[1].rstrip().endswith("KeyboardInterrupt")


def folders_of(pids: Sequence[int]) -> set[Path]:
    """The folders in which a Ray of our own keeps its files, as its processes are told."""
    words = " ".join(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ") for pid in pids)
    paths = [Path(word) for word in words.replace("=", " ").split() if word.startswith("/")]
    places = {place for path in paths for place in (path, *path.parents)}
    return {place for place in places if place.name.startswith("heatcheck-ray-")}


def test_an_address_where_nobody_answers_is_said_at_once(tmp_path: Path) -> None:
    began = time.monotonic()
    sentence = r"^cannot reach a Ray cluster at '127.0.0.1:1': Connection refused. Start one there .* or use 'ray'"
    with pytest.raises(BadInput, match=sentence):
        run([job("a")], tmp_path, "ray:127.0.0.1:1")
    assert time.monotonic() - began < 5
    assert not sessions_of(os.getpid())


@pytest.mark.parametrize("text", ["dask", "ray:", "ray:10.0.0.1", "ray:ray://10.0.0.1:10001", "", "auto"])
def test_what_is_no_cluster_is_refused_before_anything_runs(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInput, match=r"is not a cluster\. Use ray "):
        engine.map(do, [job("a")], tmp_path, cluster=text)


def test_without_ray_its_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPackage, match=r"pip install 'heatcheck\[ray\]'"):
        engine.map(do, [job("a")], tmp_path, cluster="ray")
    assert len(list(engine.map(do, [job("a")], tmp_path))) == 1


@pytest.mark.usefixtures("_ray_is_installed")
def test_a_function_that_ray_cannot_import_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(do, "__module__", "__main__")
    with pytest.raises(BadInput, match=r"Ray cannot import 'do' from a script\. Move it to a module"):
        engine.map(do, [job("a")], tmp_path, cluster="ray")


def test_a_machine_that_does_not_see_the_store_does_no_work(tmp_path: Path) -> None:
    made: Any = ray_driver._make(tmp_path, False, b"never read", tmp_path / "nowhere" / "a")
    assert made.state == "failed"
    assert made.reason.startswith("the folder does not exist on ")
    assert made.reason.endswith("nowhere must be on a file system that all machines of the Ray cluster share")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.usefixtures("_ray_is_installed")
def test_how_a_try_ended_is_said_in_plain_words() -> None:
    exceptions = import_module("ray.exceptions")
    unschedulable = "TaskUnschedulableError: The task is not schedulable"
    for error, said in [
        (exceptions.WorkerCrashedError(), Died("its worker was killed or crashed")),
        (exceptions.OutOfMemoryError("low"), Died("its machine ran out of memory")),
        (exceptions.NodeDiedError("gone"), Died("its machine left the cluster")),
        (exceptions.TaskUnschedulableError("no\nroom"), Report("failed", f"{unschedulable}: no room")),
    ]:
        future: Future[Report] = Future()
        future.set_exception(error)
        assert ray_driver._said(future)[:2] == said[:2]


@pytest.mark.usefixtures("_ray_is_installed")
def test_what_is_there_needs_no_ray(tmp_path: Path) -> None:
    run_here = list(engine.map(do, FAMILY, tmp_path))
    began = time.monotonic()
    outcomes = run(FAMILY, tmp_path, "ray:127.0.0.1:1")
    assert states(outcomes) == dict.fromkeys([outcome.job.id for outcome in run_here], "reused")
    assert time.monotonic() - began < 2
