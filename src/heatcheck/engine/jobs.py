"""Jobs with ids and prerequisites, each of which makes one folder of a store."""

import atexit
import pickle
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Literal, NamedTuple

from heatcheck.engine.identity import Facts
from heatcheck.engine.names import check_name
from heatcheck.engine.place import Here, JobFunction, Place, Report
from heatcheck.engine.ray_worker import RayCluster
from heatcheck.engine.threads import Threads
from heatcheck.engine.worker import Processes
from heatcheck.errors import BadInput


class Job(NamedTuple):
    """One folder to be made: `id` names it in the store, `name` names it to people."""

    id: str
    name: str
    needs: tuple[str, ...]
    argument: Facts


class Outcome(NamedTuple):
    """How a job ended; `reason` is one line, `log` the traceback of a failure."""

    job: Job
    state: Literal["done", "reused", "failed", "skipped"]
    folder: Path | None
    reason: str = ""
    seconds: float = 0.0
    log: str = ""


def map(  # noqa: A001 - read as engine.map
    function: JobFunction,
    jobs: Sequence[Job],
    store: Path,
    *,
    workers: int = 0,
    threads: int = 0,
    cluster: str | None = None,
    progress: Callable[[Outcome, int, int], None] | None = None,
    more: Callable[[], Sequence[Job]] = tuple,
) -> Iterator[Outcome]:
    """Run each job once its prerequisites are there; yield one outcome per job, as they end.

    `function(argument, folder, store)` writes a job's output into `folder`, which becomes `store/ID` when it
    returns. A folder that exists is reused. A job that fails is reported and only what needs it is skipped.
    An interrupted one leaves `store/.ID.part`, which its next run gets as `folder` again, files and all.

    Args:
        function: must be importable by name if there are workers or a cluster.
        jobs: in any order; the same id may occur twice for the same job.
        store: the folder of all outputs, including those of prerequisites that are not among the jobs. All nodes of a
            cluster must see it under the same path.
        workers: 0 runs the jobs in this process, one after the other. Otherwise the number of processes, each with its
            share of the cores (unless OMP_NUM_THREADS is set) and one job after the other. A process that dies fails
            only its own job.
        threads: number of jobs at once in threads of this process instead, for jobs that leave a GPU idle.
        cluster: "ray" starts Ray on this machine and stops it at the end; "ray:HOST:PORT" or "ray:auto" uses a running
            cluster. `workers` limits the number of jobs at once; 0 means one per CPU. A job whose worker dies is tried
            again from its last checkpoint; it fails if it dies every time.
        progress: called with each outcome, how many there are so far, and how many there will be.
        more: asked after each outcome for further jobs, which run next. Their prerequisites must have ended.

    Raises:
        BadInput: before anything runs, for two jobs with one id, an unknown prerequisite or a cycle; when the
            first job is to start, for a cluster that cannot be reached.
        MissingPackage: for a Ray cluster without the package ray.

    >>> import tempfile
    >>> def double(argument, folder, store):
    ...     (folder / "answer.txt").write_text(str(2 * argument["number"]))
    >>> store = Path(tempfile.mkdtemp())
    >>> jobs = [Job("a1", "double 4", (), {"number": 4})]
    >>> [(outcome.job.name, outcome.state) for outcome in map(double, jobs, store)]
    [('double 4', 'done')]
    >>> (store / "a1" / "answer.txt").read_text()
    '8'
    """
    if workers < 0:
        raise BadInput(f"workers is {workers}. Use 0 to run in this process, or 1 or more for separate processes.")
    store = store.absolute()
    planned, order = _plan(jobs, store)
    place: Place = Here(function)
    if cluster is not None:
        place = RayCluster(function, workers, cluster)
    elif threads:
        place = Threads(function, threads)
    elif workers:
        place = Processes(function, workers)
    if not isinstance(place, Here | Threads):
        pickle.dumps((function, planned))  # what cannot be sent to a process is found before anything runs
    return _run(place, planned, order, store, progress, more)


def _run(
    place: Place,
    planned: dict[str, Job],
    order: "TopologicalSorter[str]",
    store: Path,
    progress: Callable[[Outcome, int, int], None] | None,
    more: Callable[[], Sequence[Job]],
) -> Iterator[Outcome]:
    ready: deque[Job] = deque()
    added: set[str] = set()  # further jobs that have not ended
    started: dict[str, float] = {}
    blamed: dict[str, str] = {}  # what failed or was skipped -> the name of the job at the root of it
    count = 0
    # An uncaught exception keeps this generator alive in its traceback; without this, multiprocessing would
    # wait at exit for jobs that nobody wants any more.
    atexit.register(place.stop)
    try:
        while order.is_active() or added:
            ready.extend(planned[job_id] for job_id in order.get_ready())
            ended: list[tuple[Job, Report | None]] = []  # None: skipped
            if ready and place.has_room():
                job = ready.popleft()
                target = store / job.id
                started[job.id] = time.perf_counter()
                if target.is_dir():
                    ended.append((job, Report("reused")))
                elif any(need in blamed for need in job.needs):
                    ended.append((job, None))
                else:
                    place.start(job.argument, target)
            else:
                ended.extend((planned[target.name], report) for target, report in place.reports())
            for job, report in ended:
                outcome = _outcome(job, report, store, time.perf_counter() - started[job.id], blamed)
                if job.id in added:
                    added.remove(job.id)
                else:
                    order.done(job.id)
                count += 1
                if progress:
                    progress(outcome, count, len(planned))
                yield outcome
                for further in more():
                    if further.id not in planned:
                        _plan([further], store, blamed)
                        planned[further.id] = further
                        added.add(further.id)
                        ready.appendleft(further)
    finally:
        place.stop()
        atexit.unregister(place.stop)


def _outcome(job: Job, report: Report | None, store: Path, seconds: float, blamed: dict[str, str]) -> Outcome:
    if report is None:
        blamed[job.id] = next(blamed[need] for need in job.needs if need in blamed)
        return Outcome(job, "skipped", None, f"needs {blamed[job.id]}, which failed")
    if report.state == "failed":
        blamed[job.id] = job.name
    folder = None if report.state == "failed" else store / job.id
    return Outcome(job, report.state, folder, report.reason, seconds, report.log)


def _plan(
    jobs: Sequence[Job], store: Path, failed: Collection[str] = ()
) -> "tuple[dict[str, Job], TopologicalSorter[str]]":
    """Each job once, and the order they may run in; what needs a job that failed is skipped later."""
    planned: dict[str, Job] = {}
    for job in jobs:
        twin = planned.setdefault(check_name(job.id), job)
        if (twin.argument, set(twin.needs)) != (job.argument, set(job.needs)):
            raise BadInput(f"the jobs {twin.name!r} and {job.name!r} differ but share the id {job.id}.")
    for job in planned.values():
        for need in job.needs:
            # A folder that is there needs nothing any more.
            there = need in planned or need in failed or (store / need).is_dir()
            if not there and not (store / job.id).is_dir():
                raise BadInput(
                    f"the job {job.name!r} needs {need!r}, which is neither another job nor a folder in {store}."
                )
    order = TopologicalSorter({job.id: [need for need in job.needs if need in planned] for job in planned.values()})
    try:
        order.prepare()
    except CycleError as error:
        names = " needs ".join(repr(planned[job_id].name) for job_id in reversed(error.args[1]))
        raise BadInput(f"no job can start, because they need each other in a circle: {names}.") from error
    return planned, order
