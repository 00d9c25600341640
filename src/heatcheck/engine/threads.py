"""Runs jobs in threads of this process, for jobs that share what is in its memory or a GPU that one leaves idle."""

import ctypes
import queue
import threading
from contextlib import suppress
from pathlib import Path

from heatcheck.engine.identity import Facts
from heatcheck.engine.place import JobFunction, Report, attempt

_GRACE_S = 10.0


class Threads:
    """So many jobs at once in this process. A job must not use what all threads share, such as torch's global seed."""

    def __init__(self, function: JobFunction, threads: int) -> None:
        self._function = function
        self._threads = threads
        self._running: dict[Path, threading.Thread] = {}
        self._ended: queue.SimpleQueue[tuple[Path, Report]] = queue.SimpleQueue()

    def has_room(self) -> bool:
        return len(self._running) < self._threads

    def start(self, argument: Facts, target: Path) -> None:
        thread = threading.Thread(target=self._work, args=(argument, target), name=target.name, daemon=True)
        self._running[target] = thread
        thread.start()

    def reports(self, patience: float = 1.0) -> list[tuple[Path, Report]]:
        try:
            ended = [self._ended.get(timeout=patience)]  # not for ever: ctrl-C must get through
        except queue.Empty:
            return []
        with suppress(queue.Empty):
            while True:
                ended.append(self._ended.get_nowait())
        for target, _ in ended:
            self._running.pop(target).join()
        return ended

    def stop(self) -> None:
        """Interrupt what is at work, as ctrl-C would: each job leaves its checkpoint."""
        for thread in self._running.values():
            interrupt = ctypes.py_object(KeyboardInterrupt)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), interrupt)
        for thread in self._running.values():
            thread.join(_GRACE_S)
        self._running.clear()

    def _work(self, argument: Facts, target: Path) -> None:
        with suppress(KeyboardInterrupt):
            self._ended.put((target, attempt(self._function, argument, target)))
