"""Job functions for spawned processes, and the programs that the tests start and kill."""

import ctypes
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from heatcheck import engine
from heatcheck.engine.worker import SHARE_OF_GPU
from heatcheck.errors import BadInput


def do(argument: dict[str, Any], folder: Path, store: Path) -> None:
    """What the argument says; always leaves a pid file where it is asked to."""
    if "pids" in argument:
        (Path(argument["pids"]) / str(os.getpid())).touch()
    match argument["do"]:
        case "write":
            parents = [float((store / need / "value.txt").read_text()) for need in argument.get("parents", [])]
            value = sum(parents) + engine.stream(0, argument["value"]).random()
            (folder / "value.txt").write_text(repr(value))
            engine.write_json(folder / "facts.json", argument)
        case "fail":
            (folder / "half.txt").write_text("half")
            raise ValueError(argument.get("message", "two\nlines"))
        case "refuse":
            raise BadInput("row 3 has no label: add one.")
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "die once":
            if not (folder / "checkpoint.txt").exists():
                engine.write_whole(folder / "checkpoint.txt", "first")
                os.kill(os.getpid(), signal.SIGKILL)
        case "wait to be killed":  # twice
            checkpoint = folder / "checkpoint.txt"
            before = checkpoint.read_text() if checkpoint.exists() else ""
            engine.write_whole(checkpoint, f"{before}{os.getpid()}\n")
            if before.count("\n") < 2:
                time.sleep(600)
        case "die after":
            folder.rename(store / argument["value"])
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            sys.exit(3)
        case "share of the GPU":
            (folder / "share.txt").write_text(os.environ[SHARE_OF_GPU])
        case "sleep":
            began = time.time()
            time.sleep(argument["seconds"])
            engine.write_json(folder / "times.json", [began, time.time()])
        case "spin":
            while True:  # holds the interpreter, as a tight loop of a careless job would
                pass
        case "hold":
            ctypes.PyDLL(None).sleep(600)  # as compiled code that does not let other threads run
        case "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)
        case "linger":
            threading.Thread(target=time.sleep, args=(60,)).start()
        case "die later":  # as one whose compiled code broke something that the next job needs
            threading.Timer(argument["seconds"], os.kill, (os.getpid(), signal.SIGKILL)).start()
        case "threads":
            (folder / "threads.txt").write_text(os.environ["OMP_NUM_THREADS"])
        case "look around":
            threads, data = os.environ["OMP_NUM_THREADS"], os.environ.get("HEATCHECK_DATA")
            engine.write_json(folder / "seen.json", {"directory": str(Path.cwd()), "threads": threads, "data": data})
        case "lose":
            Path.rename = lambda *_: None  # as on a disk that nobody else sees
        case "append":
            time.sleep(0.1)  # long enough for a rival to come by
            with Path(argument["log"]).open("a") as log:
                log.write(argument["value"] + "\n")


def job(id: str, do: str = "write", *, needs: Sequence[str] = (), **argument: Any) -> engine.Job:  # noqa: A002
    return engine.Job(id, f"the job {id}", tuple(needs), {"do": do, "value": id, **argument})


FAMILY = [
    job("child", needs=["base", "twin"], parents=["base", "twin"]),
    job("grandchild", needs=["child"], parents=["child"]),
    job("base"),
    job("alone"),
    job("twin", needs=["base"], parents=["base"]),
]


# Programs, run as `python -c "import jobs_for_tests; jobs_for_tests.NAME(…)"`


def endless(
    store: str,
    pids: str,
    *,
    does: str = "spin",
    module: str = "jobs_for_tests",
    in_thread: bool = False,
    cluster: str | None = None,
    forked: str | None = None,
) -> None:
    """Two endless jobs in two workers; a child that holds all our pipes says its number in the file `forked`."""
    function = importlib.import_module(module).do
    jobs = [job("endless", does, pids=pids), job("sleeps", "sleep", seconds=600, pids=pids)]

    def run() -> None:
        list(engine.map(function, jobs, Path(store), workers=2, cluster=cluster))

    def fork() -> None:
        eventually(lambda: len(list(Path(pids).iterdir())) == 2, 90)
        child = os.fork()
        if child == 0:
            os.closerange(0, 3)
            time.sleep(60)
            os._exit(0)
        engine.write_whole(Path(str(forked)), str(child))

    if forked:
        threading.Thread(target=fork).start()
    if in_thread:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    else:
        run()


def stumble(store: str, pids: str) -> None:
    """An exception in the loop over outcomes, while a job is at work and the iterator is kept."""
    jobs = [job("spins", "spin", pids=pids), job("quick", "sleep", seconds=0)]
    outcomes = engine.map(do, jobs, Path(store), workers=2)
    for _ in outcomes:
        while not list(Path(pids).iterdir()):
            time.sleep(0.05)
        globals()["kept"] = outcomes
        raise RuntimeError("stumbled")


def keep_ray(folder: str) -> None:
    """A Ray cluster with three CPUs for others, its address in a file, until the standard input ends."""
    import ray

    del os.environ["PYTHONPATH"]  # a cluster does not know where its users have their modules
    ray.init("local", num_cpus=3, object_store_memory=80 * 2**20, include_dashboard=False, _temp_dir=f"{folder}/ray")
    engine.write_whole(Path(folder) / "address", ray.get_runtime_context().gcs_address)
    sys.stdin.read()
    ray.shutdown()


def append_all(store: str, log: str, count: int) -> None:
    """Many jobs that a second process is doing too."""
    jobs = [job(f"job-{number}", "append", log=log) for number in range(count)]
    states = [outcome.state for outcome in engine.map(do, jobs, Path(store))]
    sys.stdout.write(" ".join(states))


def make_folder(target: str, marks: str, name: str, end: str) -> None:
    """Enter whole_folder, say so in `marks`, wait for the word, and end well or badly."""
    engine.write_whole(Path(marks) / f"{name} started", "")
    try:
        with engine.whole_folder(Path(target)) as folder:
            found = sorted(entry.name for entry in folder.iterdir())
            engine.write_json(Path(marks) / f"{name} entered", found)
            engine.write_whole(folder / f"{name}.txt", name)
            while not (Path(marks) / f"{name} may end").exists():
                time.sleep(0.02)
            if end == "fails":
                raise ValueError("as planned")
    except (engine.FolderExists, ValueError) as error:
        engine.write_json(Path(marks) / f"{name} ended", type(error).__name__)
    else:
        engine.write_json(Path(marks) / f"{name} ended", "well")


def make_many(store: str, log: str, count: int) -> None:
    """Make many folders as fast as possible, against others who do the same."""
    for number in range(count):
        try:
            with engine.whole_folder(Path(store) / str(number)) as folder:
                (folder / "a.txt").write_text("a")
                with Path(log).open("a") as lines:
                    lines.write(f"{number}\n")
                if number % 7 == os.getpid() % 7:
                    raise ValueError("now and then one fails")
                (folder / "b.txt").write_text("b")
        except engine.FolderExists:
            assert (Path(store) / str(number) / "b.txt").exists()
        except ValueError:
            pass


# For the tests themselves

started: "list[subprocess.Popen[str]]" = []


def program(call: str, **options: Any) -> "subprocess.Popen[str]":
    """Start one of the programs above in a new process; conftest.py ends it if the test does not."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", f"import jobs_for_tests; jobs_for_tests.{call}"]
    started.append(subprocess.Popen(command, env=environment, text=True, **options))
    return started[-1]


def states(outcomes: dict[str, engine.Outcome]) -> dict[str, str]:
    return {outcome.job.id: outcome.state for outcome in outcomes.values()}


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def pids_in(folder: Path, count: int, seconds: float = 20.0) -> list[int]:
    """The processes that have said so there, once there are so many."""
    assert eventually(lambda: len(list(folder.iterdir())) == count, seconds)
    pids = [int(path.name) for path in folder.iterdir()]
    assert all(alive(pid) for pid in pids)
    return pids


def eventually(question: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Whether the answer becomes yes in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if question():
            return True
        time.sleep(0.02)
    return question()


def alive(pid: int) -> bool:
    """A zombie that nobody buried is dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
