"""Workers that stay for many small jobs: jobs are given at any time, and waited for when their folders are needed."""

import atexit
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from heatcheck.engine.jobs import Job, Outcome
from heatcheck.engine.names import check_name
from heatcheck.engine.place import JobFunction, Place, Report
from heatcheck.engine.ray_worker import RayCluster
from heatcheck.engine.worker import Processes

SOON = 0.02  # seconds between two looks for new jobs, while a worker has nothing to do
LATER = 0.2  # and while none is free


class Crew:
    """Some processes of this machine, or of a Ray cluster, that make folders of one store until `stop`.

    `map` is for a list of jobs that is known from the start. A crew is for jobs that come one after the other: its
    processes keep what they have imported and read. Its jobs have no prerequisites. A thread hands them out, so that
    the caller can do something else meanwhile.
    """

    def __init__(self, function: JobFunction, store: Path, *, workers: int, cluster: str | None = None) -> None:
        """
        Args:
            function: must be importable by name.
            store: the folder of all outputs.
            workers: number of processes; on a cluster 0 means one per CPU.
            cluster: as for `map`.
        """
        self._function, self._store = function, store.absolute()
        self._place: Place = (
            Processes(function, workers) if cluster is None else RayCluster(function, workers, cluster, stay=True)
        )
        self._waiting: deque[Job] = deque()
        self._running: dict[str, tuple[Job, float]] = {}
        self._ended: dict[str, Outcome] = {}
        self._changed = threading.Condition()
        self._stopped = False
        self._broken: Exception | None = None
        self._thread = threading.Thread(target=self._hand_out, daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    def give(self, jobs: Sequence[Job], *, first: bool = False) -> None:
        """Put jobs into the queue, at its head if they are needed `first`; a job that was given before runs once."""
        with self._changed:
            queued = {job.id: job for job in self._waiting}
            known = {*self._ended, *self._running}
            new = [job for job in jobs if check_name(job.id) not in known and (first or job.id not in queued)]
            if first:
                ids = {job.id for job in new}
                self._waiting = deque([*new, *(job for job in self._waiting if job.id not in ids)])
            else:
                self._waiting.extend(new)
            self._changed.notify_all()

    def wait(self, ids: Sequence[str]) -> list[Outcome]:
        """How these jobs ended, in this order, once they all have. An error of the cluster is raised here."""
        with self._changed:
            while self._broken is None and not all(name in self._ended for name in ids):
                self._changed.wait(LATER)  # a limit, so that ctrl-C is noticed on every system
            if self._broken is not None:
                raise self._broken
            return [self._ended[name] for name in ids]

    def stop(self) -> None:
        """End the workers and what they are at; finished folders stay."""
        with self._changed:
            self._stopped = True
            self._waiting.clear()
            self._changed.notify_all()
        self._thread.join()
        atexit.unregister(self.stop)

    def _hand_out(self) -> None:
        try:
            while not self._stopped:
                with self._changed:
                    while not (self._stopped or self._waiting or self._running):
                        self._changed.wait()
                if not self._stopped:
                    self._step()
        except Exception as error:  # such as a cluster that cannot be reached
            with self._changed:
                self._broken = error
                self._changed.notify_all()
        finally:
            self._place.stop()

    def _step(self) -> None:
        """Start what can start, and note what has ended."""
        while self._place.has_room() and (job := self._next()) is not None:
            target = self._store / job.id
            if target.is_dir():
                self._note(job, Report("reused"))
            else:
                self._place.start(job.argument, target)
        if self._running:
            for target, report in self._place.reports(SOON if self._place.has_room() else LATER):
                self._note(self._running[target.name][0], report)

    def _next(self) -> Job | None:
        with self._changed:
            if not self._waiting:
                return None
            job = self._waiting.popleft()
            self._running[job.id] = job, time.perf_counter()
            return job

    def _note(self, job: Job, report: Report) -> None:
        with self._changed:
            _, started = self._running.pop(job.id)
            folder = None if report.state == "failed" else self._store / job.id
            seconds = time.perf_counter() - started
            said = job._replace(argument={})  # the argument may be large, and nobody needs it any more
            self._ended[job.id] = Outcome(said, report.state, folder, report.reason, seconds, report.log)
            self._changed.notify_all()
