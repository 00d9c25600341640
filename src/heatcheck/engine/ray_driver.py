"""The separate process in which heatcheck uses Ray, and what Ray's workers run for it.

Ray takes hold of the process it is used from: it replaces handlers of signals, prints on the terminal and ends
the process when a part of Ray dies. So it gets one of its own, the driver. We tell the driver what to make, it
tells us what became of it; when we are gone it cancels what is at work, and ends the Ray that it started.
"""

import multiprocessing
import os
import platform
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, NamedTuple

from heatcheck.engine.place import Report, attempt_pickled, cores_here

_GRACE_S = 10.0
_LINGER_S = 5.0
_OBJECT_STORE_BYTES = 80 * 2**20  # only reports go through it, but Ray takes no less than 75 MiB


class Died(NamedTuple):
    """A job that ended without a report."""

    how: str


class Driver(NamedTuple):
    """A process that uses Ray; `folder` holds its own files and those of the Ray that it started."""

    process: SpawnProcess
    pipe: Connection
    folder: Path


def start_driver(address: str | None, workers: int, *, stay: bool = False) -> Driver:
    """A new driver, whose workers may `stay` for several jobs.

    Its first word is how many jobs may run at once, or a sentence that says why none can.
    """
    # Not in TMPDIR, which may be long: Ray keeps sockets there, and their paths must be short.
    folder = Path(tempfile.mkdtemp(prefix="heatcheck-ray-", dir="/tmp" if os.name == "posix" else None))
    context = multiprocessing.get_context("spawn")
    pipe, its_end = context.Pipe()
    arguments = (its_end, os.getpid(), folder, Path.cwd(), address, workers, stay)
    process = context.Process(target=_drive, args=arguments, daemon=True)
    process.start()
    its_end.close()
    return Driver(process, pipe, folder)


def stop_driver(driver: Driver) -> None:
    """End a driver, its jobs and the Ray that it started."""
    driver.pipe.close()  # which the driver notices
    wait([driver.process.sentinel], _GRACE_S)
    # Agents of Ray live on for a minute if their driver was killed. It is joined afterwards, for until then nobody
    # else can have its number. Without POSIX there are no groups of processes, and the agents end by themselves.
    if driver.process.pid is not None and hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(driver.process.pid, signal.SIGKILL)
    driver.process.kill()
    driver.process.join()
    shutil.rmtree(driver.folder, ignore_errors=True)


def must_share(store: Path) -> str:
    """The end of the sentence about a node that does not see our files."""
    return f"{store} must be on a file system that all machines of the Ray cluster share"


def _drive(
    pipe: Connection, parent: int, folder: Path, directory: Path, address: str | None, workers: int, stay: bool
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setsid"):  # ctrl-C is for our parent: it would end the parts of Ray in no good order
        os.setsid()
    _write_to(folder / "driver.log")
    try:
        with suppress(EOFError, OSError):  # nobody is at the other end of the pipe any more
            try:
                limit, threads = _connect(address, workers, folder)
            except Exception as error:
                pipe.send(_one_sentence(error))
            else:
                pipe.send(limit)
                _serve(pipe, parent, _task(directory, threads, stay=stay))
    finally:
        import ray

        ray.shutdown()  # which ends what is at work for us, also on a cluster that was there
        shutil.rmtree(folder, ignore_errors=True)


def _write_to(log: Path) -> None:
    """Keep what this process and its children print from the terminal."""
    with log.open("w") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)


def _connect(address: str | None, workers: int, folder: Path) -> tuple[int, int]:
    """Join or start a Ray; how many jobs may run there at once, and with how many threads each."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if address is None:
        # The ports of Ray are open to the whole network: only who has this token may use them.
        os.environ.update({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)})
        options: dict[str, Any] = {
            "address": "local",
            "num_cpus": max(workers, cores_here()),
            "object_store_memory": _OBJECT_STORE_BYTES,
            "include_dashboard": False,
            "_temp_dir": str(folder / "ray"),  # which Ray opens to all users of this machine; `folder` is ours
        }
    else:
        options = {"address": address}
    import ray

    ray.init(**options, log_to_driver=False, logging_level="ERROR")
    cpus = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
    limit = workers or sum(cpus)
    if limit == 0:
        raise RuntimeError("its machines have no CPUs")
    # A job that reserves more than the smallest machine has could not run there.
    return limit, max(1, min(sum(cpus) // limit, min(filter(None, cpus), default=1)))


def _task(directory: Path, threads: int, *, stay: bool) -> Any:
    """The function that makes a folder, as Ray calls it: in a new process unless they `stay`, never twice by itself."""
    import ray

    environment = {name: value for name, value in os.environ.items() if name.startswith("HEATCHECK_")}
    environment["PYTHONPATH"] = os.pathsep.join(str(directory / entry) for entry in sys.path)
    environment["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS", str(threads))
    # Some versions of Ray hide the GPUs from a job that reserves none; a process of ours would see them.
    environment["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    calls = 0 if stay else 1  # 0: no limit
    remote = ray.remote(max_calls=calls, max_retries=0, num_cpus=threads, runtime_env={"env_vars": environment})
    return partial(remote(_make).remote, directory, stay)


def _serve(pipe: Connection, parent: int, task: Any) -> None:
    """Start what we are asked to and say how it ended, until nobody listens."""
    from ray.exceptions import LocalRayletDiedError

    talking = threading.Lock()  # jobs end in threads of Ray's

    def tell(target: Path, future: Any) -> None:
        if isinstance(future.exception(), LocalRayletDiedError):
            os._exit(1)  # this Ray will never run another job; our parent starts a new driver
        with talking, suppress(OSError):
            pipe.send((target, _said(future)))

    while True:
        while not pipe.poll(0.5):
            if os.getppid() != parent:  # and a child of its own keeps its end of the pipe open
                return
        payload, target = pipe.recv()
        task(payload, target).future().add_done_callback(partial(tell, target))


def _said(future: Any) -> Report | Died:
    from ray import exceptions

    error = future.exception()
    match error:
        case None:
            report: Report = future.result()
            return report
        case exceptions.WorkerCrashedError():
            return Died("its worker was killed or crashed")
        case exceptions.OutOfMemoryError():
            return Died("its machine ran out of memory")
        case exceptions.NodeDiedError() | exceptions.ObjectLostError():
            return Died("its machine left the cluster")
    cause = getattr(error, "cause", None) or error
    return Report("failed", f"{type(cause).__name__}: {' '.join(str(cause).split())}", str(error))


def _make(directory: Path, stay: bool, payload: bytes, target: Path) -> Report:
    """Make one folder, in a worker of Ray."""
    if not target.parent.is_dir():
        return Report("failed", f"the folder does not exist on {platform.node()}: {must_share(target.parent)}")
    with suppress(OSError):
        os.chdir(directory)
    try:
        return attempt_pickled(payload, target)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        return Report("failed", f"its process exited with status {code}")
    finally:
        if not stay:
            # A thread that the job left behind must not keep this process, whose only job it was.
            end = threading.Timer(_LINGER_S, os._exit, (0,))
            end.daemon = True
            end.start()


def _one_sentence(error: BaseException) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(text.split()).partition(". ")[0]
