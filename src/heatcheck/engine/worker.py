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

SHARE_OF_GPU = "HEATCHECK_SHARE_OF_GPU"  # of its memory, that this process may take: a number up to 1
_GRACE_S = 5.0
_PR_SET_PDEATHSIG = 1


class Worker(NamedTuple):
    """A process that makes one folder after the other."""

    process: SpawnProcess
    talk: Connection  # a job goes there, its report comes back
    is_new: bool = True  # no job has ended in it


class Processes:
    """So many processes at once on this machine, each with its share of the cores.

    A process that has made a folder makes the next one too: what it has imported and read need not be again.
    """

    def __init__(self, function: JobFunction, workers: int) -> None:
        self._function = function
        self._workers = workers
        self._running: dict[Path, tuple[Worker, bytes]] = {}
        self._idle: list[Worker] = []

    def has_room(self) -> bool:
        return len(self._running) < self._workers

    def start(self, argument: Facts, target: Path) -> None:
        self._give(pickle.dumps((self._function, argument)), target)

    def reports(self, patience: float = 1.0) -> list[tuple[Path, Report]]:
        handles = [handle for worker, _ in self._running.values() for handle in (worker.process.sentinel, worker.talk)]
        # The time limit is for a dead worker whose own children keep its pipes open: nothing would wake us.
        wait(handles, timeout=patience)
        ended = []
        for target, (worker, payload) in list(self._running.items()):
            report, alive = _report_of(worker)
            if report is None and alive:
                continue
            del self._running[target]
            if report is not None and alive:
                self._idle.append(worker._replace(is_new=False))
            else:
                _end(worker)
            if report is None and not worker.is_new and not target.is_dir():
                self._give(payload, target)  # an earlier job may be to blame: this one gets a process of its own
            else:
                ended.append((target, report or _report_of_death(worker, target)))
        return ended

    def stop(self) -> None:
        workers = [*self._idle, *(worker for worker, _ in self._running.values())]
        self._running.clear()
        self._idle.clear()
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            _end(worker)

    def _give(self, payload: bytes, target: Path) -> None:
        """Let an idle process make this folder, or a new one where there is none."""
        while self._idle:
            worker = self._idle.pop()
            try:
                worker.talk.send((payload, target))
            except OSError:  # it died in the meantime
                _end(worker)
            else:
                self._running[target] = worker, payload
                return
        worker = _start_worker(self._workers)
        self._running[target] = worker, payload
        with suppress(OSError):  # it died at once, which its report will say
            worker.talk.send((payload, target))


def _start_worker(workers: int) -> Worker:
    """A process that takes as much of this machine as one of so many may."""
    context = multiprocessing.get_context("spawn")
    talk, theirs = context.Pipe()
    # The kernel's signal follows the *thread* that started the worker; only the main one lives as we do.
    by_signal = threading.current_thread() is threading.main_thread()
    # The worker itself sets its share of the GPU: were it in our environment meanwhile, a thread of ours that asks for
    # the device would take the worker's share for all of this process.
    process = context.Process(target=_work, args=(theirs, os.getpid(), by_signal, f"{0.8 / workers:.4f}"))
    ours = "OMP_NUM_THREADS" not in os.environ  # where it is set, the user knows better
    if ours:
        os.environ["OMP_NUM_THREADS"] = str(max(1, cores_here() // workers))
    try:
        process.start()
    finally:
        if ours:
            del os.environ["OMP_NUM_THREADS"]
    theirs.close()
    return Worker(process, talk)


def _report_of(worker: Worker) -> tuple[Report | None, bool]:
    """What the worker reports, if it has, and whether it is alive."""
    alive = worker.process.is_alive()  # asked first: a last word may come between the two questions
    report = None
    if worker.talk.poll():
        with suppress(EOFError, OSError):  # it died before, or while, saying it
            report = worker.talk.recv()
        alive = alive and report is not None
    return report, alive


def _report_of_death(worker: Worker, target: Path) -> Report:
    if target.is_dir():
        return Report("done")
    code = worker.process.exitcode or 0
    return Report(
        "failed", f"its process died with signal {-code}" if code < 0 else f"its process exited with status {code}"
    )


def _end(worker: Worker) -> None:
    worker.process.join(_GRACE_S)
    worker.process.kill()  # a thread left behind by a job must not keep its place occupied
    worker.process.join()
    worker.talk.close()


def _work(talk: Connection, parent: int, by_signal: bool, share_of_gpu: str) -> None:
    os.environ.setdefault(SHARE_OF_GPU, share_of_gpu)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C reaches the whole group; our parent ends us
    _die_with(parent, by_signal)
    with suppress(EOFError):  # nobody has another job
        while True:
            payload, target = talk.recv()
            talk.send(attempt_pickled(payload, target))


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
