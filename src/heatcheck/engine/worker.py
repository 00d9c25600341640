"""One job: tried here, or in a process of its own that cannot outlive us nor take us along when it dies."""

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Literal, NamedTuple

from heatcheck.engine.folder import FolderExists, whole_folder
from heatcheck.errors import HeatcheckError

_GRACE_S = 5.0
_PR_SET_PDEATHSIG = 1


class Report(NamedTuple):
    """How a job ended: one line for the reader, and the whole traceback for whoever mends it."""

    state: Literal["done", "reused", "failed"]
    reason: str = ""
    log: str = ""


class Worker(NamedTuple):
    """A process that makes one folder."""

    process: SpawnProcess
    reports: Connection
    target: Path


def attempt(function: Callable[[Any, Path, Path], None], argument: Any, target: Path) -> Report:
    """Make one folder in this process."""
    try:
        with whole_folder(target) as folder:
            function(argument, folder, target.parent)
    except FolderExists as error:
        # Somebody else made it while we waited: just as good. Another folder is the function's own affair.
        return Report("reused") if error.folder == target else _failure(error)
    except Exception as error:
        return _failure(error)
    return Report("done")


def start_worker(function: Callable[[Any, Path, Path], None], argument: Any, target: Path, *, threads: int) -> Worker:
    """Make one folder in a new process."""
    payload = pickle.dumps((function, argument))
    context = multiprocessing.get_context("spawn")
    reports, sender = context.Pipe(duplex=False)
    # The kernel's signal follows the *thread* that started the worker; only the main one lives as we do.
    by_signal = threading.current_thread() is threading.main_thread()
    process = context.Process(target=_work, args=(payload, target, sender, os.getpid(), by_signal))
    already_set = "OMP_NUM_THREADS" in os.environ  # the user knows better
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    try:
        process.start()
    finally:
        if not already_set:
            del os.environ["OMP_NUM_THREADS"]
    sender.close()
    return Worker(process, reports, target)


def wait_for_any(workers: Iterable[Worker]) -> None:
    """Sleep until one of the workers has something to say, or has died."""
    # The time limit is for a dead worker whose own children keep its pipes open: nothing would wake us.
    wait([handle for worker in workers for handle in (worker.process.sentinel, worker.reports)], timeout=1.0)


def report_of(worker: Worker) -> Report | None:
    """What the worker reports, or what its death says; None while it is at work."""
    alive = worker.process.is_alive()  # asked first: a last word may come between the two questions
    report = None
    if worker.reports.poll():
        with suppress(EOFError, OSError):  # it died before, or while, saying it
            report = worker.reports.recv()
    elif alive:
        return None
    worker.process.join(_GRACE_S)
    worker.process.kill()  # a thread left behind by the job must not keep its place occupied
    worker.process.join()
    worker.reports.close()
    code = worker.process.exitcode or 0
    if isinstance(report, Report):
        return report
    if worker.target.is_dir():
        return Report("done")
    return Report("failed", f"worker died with signal {-code}" if code < 0 else f"worker exited with {code}")


def stop_workers(workers: Iterable[Worker]) -> None:
    """End the workers, whatever they are doing."""
    workers = list(workers)
    for worker in workers:
        worker.process.terminate()
    for worker in workers:
        worker.process.join(_GRACE_S)
        worker.process.kill()
        worker.process.join()
        worker.reports.close()


def _work(payload: bytes, target: Path, reports: Connection, parent: int, by_signal: bool) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C reaches the whole group; our parent ends us
    _die_with(parent, by_signal)
    reports.send(attempt(_call_pickled, payload, target))


def _call_pickled(payload: bytes, folder: Path, store: Path) -> None:
    # Unpickling imports the function's module: seconds, or an exception of its own.
    function, argument = pickle.loads(payload)
    function(argument, folder, store)


def _die_with(parent: int, by_signal: bool) -> None:
    """End this process when its parent is gone: at once where the kernel helps, else within half a second."""
    if by_signal and sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _failure(error: Exception) -> Report:
    kind = "" if isinstance(error, HeatcheckError) else type(error).__name__
    reason = ": ".join(filter(None, [kind, " ".join(str(error).split())]))
    return Report("failed", reason, "".join(traceback.format_exception(error)))
