"""One progress bar for a whole audit, with the time left."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from heatcheck.auditing import Plan
    from heatcheck.engine import Outcome

SECONDS = 1.0  # between two reads of the store
LINES = 30.0  # seconds between two lines in a log
TRUSTED = 0.02  # share of the work that must be done before its pace is trusted


class Progress(NamedTuple):
    """How far an audit is."""

    what: str
    share: float  # done, 0 to 1
    seconds_left: float  # about


class Watch:
    """Tracks the progress of an audit: finished steps are reported to it, running ones are looked up in the store.

    Work is measured in expected seconds. The pace so far corrects the time left, separately for training runs and for
    checks, because training runs may run in parallel or on other machines.
    """

    def __init__(
        self,
        fits: Mapping[str, float],
        checks: Mapping[str, float],
        share_done: Callable[[str], float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            fits: expected seconds per training run, by its id.
            checks: expected seconds per check, by name, in the order they run.
            share_done: how much of a training run is done, 0 to 1.
        """
        self.outcomes: list[Outcome] = []
        self._fits, self._checks, self._share_done, self._clock = fits, checks, share_done, clock
        self._ended: set[str] = set()
        self._check = ""
        self._done: list[str] = []  # checks
        self._started = self._check_started = self._checks_started = clock()
        self._there = self._fitted()  # from earlier audits, so it took no time in this one

    def fit(self, outcome: "Outcome", _done: int, _all: int) -> None:
        """Record that a training run has ended, well or not."""
        self.outcomes.append(outcome)
        self._ended.add(outcome.job.id)

    def check(self, name: str, _done: int, _all: int) -> None:
        """Record that a check begins; an empty name means that the last one has ended."""
        now = self._clock()
        if self._check:
            self._done.append(self._check)
        else:
            self._checks_started = now
        self._ended.update(self._fits)
        self._check, self._check_started = name, now

    def now(self) -> Progress:
        """The progress at this moment."""
        whole = math.fsum(self._fits.values()) + math.fsum(self._checks.values())
        fitted, checked = self._fitted(), self._checked()
        share = (fitted + checked) / whole if whole > 0 else 1.0
        return Progress(self._what(), min(share, 1.0), self._left(fitted, checked))

    def _what(self) -> str:
        if self._check:
            return f"check {len(self._done) + 1}/{len(self._checks)}: {self._check}"
        if self._done:
            return "collecting results"
        made = sum(self._share_done(name) == 1 or name in self._ended for name in self._fits)
        return f"training: {made} of {len(self._fits)} models done" if self._fits else "checks"

    def _left(self, fitted: float, checked: float) -> float:
        now = self._clock()
        to_fit, to_check = math.fsum(self._fits.values()), math.fsum(self._checks.values())
        fits_pace = _pace(now - self._started, fitted - self._there, to_fit - self._there)
        checks_pace = _pace(now - self._checks_started, checked, to_check) if self._check else 1.0
        return (to_fit - fitted) * fits_pace + (to_check - checked) * checks_pace

    def _fitted(self) -> float:
        return math.fsum(
            seconds * (1.0 if name in self._ended else self._share_done(name)) for name, seconds in self._fits.items()
        )

    def _checked(self) -> float:
        """A running check reports nothing until it ends: assume its expected pace, up to 95%."""
        done = math.fsum(self._checks.get(name, 0.0) for name in self._done)
        expected = self._checks.get(self._check, 0.0)
        return done + min(self._clock() - self._check_started, 0.95 * expected) if self._check else done


def _pace(elapsed: float, done: float, of: float) -> float:
    """Seconds taken per expected second."""
    return elapsed / done if of > 0 and done / of > TRUSTED else 1.0


def in_words(seconds: float) -> str:
    """
    >>> in_words(20.0), in_words(700.0), in_words(9000.0)
    ('under a minute left', 'about 12 min left', 'about 2 h 30 min left')
    """
    minutes = round(seconds / 60)
    if minutes < 1:
        return "under a minute left"
    return f"about {minutes} min left" if minutes < 120 else f"about {minutes // 60} h {minutes % 60} min left"


@contextmanager
def watching(plan: "Plan", *, workers: int = 0, shown: bool) -> Iterator[Watch]:
    """A progress bar on standard error while an audit runs; a log file gets a line every 30 seconds instead."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not shown:
        yield Watch({}, {}, lambda _: 0.0)
        return
    watch = _watch(plan, workers)
    if not console.is_terminal:
        with _looking(lambda: console.print(in_a_line(watch.now()), soft_wrap=True), LINES):
            yield watch
        return
    left = TextColumn("{task.fields[left]}")
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), left)
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=1.0, left="")

        def look() -> None:
            found = watch.now()
            bar.update(task, description=found.what, completed=found.share, left=in_words(found.seconds_left))

        look()
        with _looking(look, SECONDS):
            yield watch


@contextmanager
def _looking(look: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call `look` every few seconds in a second thread."""
    stopped = threading.Event()

    def look_again() -> None:
        while not stopped.wait(seconds):
            look()

    looking = threading.Thread(target=look_again, daemon=True)
    looking.start()
    try:
        yield
    finally:
        stopped.set()
        looking.join()


def in_a_line(found: Progress) -> str:
    """
    >>> in_a_line(Progress("check 2/9: erasure", 0.25, 700.0))
    'heatcheck: check 2/9: erasure, 25% done, about 12 min left'
    """
    return f"heatcheck: {found.what}, {found.share:.0%} done, {in_words(found.seconds_left)}"


def _watch(plan: "Plan", workers: int) -> Watch:
    from heatcheck.auditing import plan_fits
    from heatcheck.training import share_done

    costs = plan.costs()
    fits = plan_fits(plan, plan.seconds_a_pass)
    at_once = min(max(1, workers), max(1, len(fits)))
    store = plan.case.fits.store if plan.case.fits is not None else None
    return Watch(
        {fit.id: fit.seconds / at_once for fit in fits},
        {cost.check: cost.seconds for cost in costs},
        lambda name: 0.0 if store is None else share_done(name, store),
    )
