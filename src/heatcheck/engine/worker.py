"""Runs jobs in separate processes, which end with the main process and cannot crash it."""

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import NamedTuple

from heatcheck.engine.identity import Facts
from heatcheck.engine.place import JobFunction, Report, attempt_pickled, cores_here

_GRACE_S = 5.0
_PR_SET_PDEATHSIG = 1


class Worker(NamedTuple):
    """A process that makes one folder."""

    process: SpawnProcess
    reports: Connection


class Processes:
    """So many processes at once on this machine, a new one for each job, each with its share of the cores."""

    def __init__(self, function: JobFunction, workers: int) -> None:
        self._function = function
        self._workers = workers
        self._running: dict[Path, Worker] = {}

    def has_room(self) -> bool:
        return len(self._running) < self._workers

    def start(self, argument: Facts, target: Path) -> None:
        threads = max(1, cores_here() // self._workers)
        self._running[target] = _start_worker(pickle.dumps((self._function, argument)), target, threads)

    def reports(self) -> list[tuple[Path, Report]]:
        handles = [handle for worker in self._running.values() for handle in (worker.process.sentinel, worker.reports)]
        # The time limit is for a dead worker whose own children keep its pipes open: nothing would wake us.
        wait(handles, timeout=1.0)
        ended = []
        for target, worker in list(self._running.items()):
            if report := _report_of(worker, target):
                del self._running[target]
                ended.append((target, report))
        return ended

    def stop(self) -> None:
        workers = list(self._running.values())
        self._running.clear()
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.process.join(_GRACE_S)
            worker.process.kill()
            worker.process.join()
            worker.reports.close()


def _start_worker(payload: bytes, target: Path, threads: int) -> Worker:
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
    return Worker(process, reports)


def _report_of(worker: Worker, target: Path) -> Report | None:
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
    if target.is_dir():
        return Report("done")
    return Report(
        "failed", f"its process died with signal {-code}" if code < 0 else f"its process exited with status {code}"
    )


def _work(payload: bytes, target: Path, reports: Connection, parent: int, by_signal: bool) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C reaches the whole group; our parent ends us
    _die_with(parent, by_signal)
    reports.send(attempt_pickled(payload, target))


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
