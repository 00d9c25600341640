"""One progress bar for a whole audit, with the time left."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from heatcheck.auditing import Plan, PlannedFit
    from heatcheck.engine import Outcome
    from heatcheck.results import Line

SECONDS = 1.0  # between two reads of the store
LINES = 30.0  # seconds between two lines in a log; what is decided is told if the rest takes longer
TRUSTED = 0.02  # share of the work that must be done before its pace is trusted
NEARLY = 0.95  # the most that something which has not ended counts as done


class Progress(NamedTuple):
    """How far an audit is."""

    what: str
    share: float  # done, 0 to 1
    seconds_left: float  # about
    at_most: bool = False  # no training run has ended, so nobody knows how early they stop


class Fit(NamedTuple):
    """A training run that the bar counts."""

    seconds: float  # of all its epochs, about
    kind: str = ""  # runs of one kind stop about equally early
    search: int | None = None  # the number of the search that may train it
    sure: bool = True  # False: if the search comes to it
    checks: tuple[str, ...] = ()  # that wait for it; when all of these have begun, nobody does


class Searching(NamedTuple):
    """A search over training runs."""

    check: str  # that begins when the search has ended
    usually: float  # runs


class Watch:
    """Tracks the progress of an audit: finished steps are reported to it, running ones are looked up in the store.

    Work is measured in expected seconds. A training run may stop early: it is expected to take the share of its epochs
    that finished runs of its kind took, or else finished runs of any kind. A run that only a search may come to counts
    as likely as it is. The pace so far corrects the time left, separately for training runs and for checks, because
    training runs may run in parallel or on other machines.
    """

    def __init__(
        self,
        fits: Mapping[str, Fit],
        checks: Mapping[str, float],
        share_done: Callable[[str], float],
        clock: Callable[[], float] = time.monotonic,
        *,
        share_used: Callable[[str], float] = lambda _: 1.0,
        searches: Sequence[Searching] = (),
        tell: "Callable[[Line], None]" = lambda _: None,
    ) -> None:
        """
        Args:
            fits: training runs by id.
            checks: expected seconds per check, by name.
            share_done: how much of a training run is done, 0 to 1.
            share_used: the share of its epochs that a finished training run took.
            searches: those that `Fit.search` numbers.
            tell: shows a line of the card that is final.
        """
        self.outcomes: list[Outcome] = []
        self._fits, self._checks, self._share_done, self._clock = fits, checks, share_done, clock
        self._share_used, self._searches, self._tell = share_used, searches, tell
        self._lock = threading.RLock()  # the bar looks from a thread of its own
        self._used: dict[str, float] = {}  # of runs that have ended, the share of their epochs that they took
        self._asked = {name for name, fit in fits.items() if fit.sure}  # runs that are surely part of this audit
        self._lost: set[str] = set()  # runs that failed
        self._check = ""
        self._begun: list[str] = []  # checks
        self._checking = 0.0  # seconds that checks took which have ended
        self._started = self._check_started = clock()
        self._shares: dict[str, float] = {}
        self._look()
        self._there = self._fitted()  # from earlier audits, so it took no time in this one
        self._shown = 0.0

    def fit(self, outcome: "Outcome", _done: int, _all: int) -> None:
        """Record that a training run has ended, well or not."""
        name = outcome.job.id
        with self._lock:
            self.outcomes.append(outcome)
            if name not in self._fits:
                return
            if outcome.state in ("failed", "skipped"):
                self._lost.add(name)
                return
            self._used[name] = self._share_used(name)
            if outcome.state == "reused" and name not in self._asked:
                self._there += self._fits[name].seconds * self._used[name]
            self._asked.add(name)

    def check(self, name: str, _done: int, _all: int) -> None:
        """Record that a check begins; an empty name means that the last one has ended."""
        with self._lock:
            now = self._clock()
            if self._check:
                self._checking += now - self._check_started
            self._begun += [name] if name else []
            self._check, self._check_started = name, now

    def tell(self, line: "Line") -> None:
        """Show a line that is final, unless the whole card comes soon."""
        if self.now().seconds_left >= LINES:
            self._tell(line)

    def now(self) -> Progress:
        """The progress at this moment; the share never falls."""
        with self._lock:
            self._look()
            to_fit, to_check = self._to_fit(), math.fsum(self._checks.values())
            fitted, checked = self._fitted(), self._checked()
            share = min((fitted + checked) / (to_fit + to_check), 1.0) if to_fit + to_check > 0 else 1.0
            self._shown = max(self._shown, share)
            now = self._clock()
            checking = self._checking + (now - self._check_started if self._check else 0.0)
            fits_pace = _pace(now - self._started - checking, fitted - self._there, to_fit - self._there)
            left = (to_fit - fitted) * fits_pace + (to_check - checked) * _pace(checking, checked, to_check)
            return Progress(self._what(), self._shown, left, at_most=self._trains() and not self._used)

    def _look(self) -> None:
        """Read in the store how far training runs are."""
        self._shares = {name: self._share_done(name) for name in self._fits if name not in self._used}
        for name in self._asked:
            if self._shares.get(name) == 1:
                self._used[name] = self._share_used(name)

    def _what(self) -> str:
        if self._check:
            return f"check {len(self._begun)}/{len(self._checks)}: {self._check}"
        if self._trains():
            whole = math.fsum(map(self._chance, self._fits))
            done = len(self._asked & self._used.keys())
            return f"training: {done} of {'' if whole.is_integer() else 'about '}{round(whole)} models done"
        return "collecting results" if self._begun else "checks"

    def _trains(self) -> bool:
        """Whether a training run is still to end."""
        return any(self._chance(name) > 0 for name in self._fits if name not in self._used)

    def _chance(self, name: str) -> float:
        """How likely a training run is part of this audit."""
        search, checks = self._fits[name].search, self._fits[name].checks
        if checks and name not in self._used and all(check in self._begun for check in checks):
            return 0.0  # they could do without it
        if name in self._asked or name in self._lost or search is None:
            return 0.0 if name in self._lost else 1.0
        if self._searches[search].check in self._begun:
            return 0.0  # the search has ended without it
        alike = [other for other, fit in self._fits.items() if fit.search == search]
        unknown = [other for other in alike if other not in self._asked and other not in self._lost]
        further = self._searches[search].usually - (len(alike) - len(unknown))
        return min(1.0, max(0.0, further) / len(unknown))

    def _expected(self, name: str) -> float:
        """The share of its epochs that a training run takes: as it did, or as others of its kind did."""
        if name in self._used:
            return self._used[name]
        known = {other: used for other, used in self._used.items() if other in self._asked}
        alike = [used for other, used in known.items() if self._fits[other].kind == self._fits[name].kind]
        shares = alike or list(known.values()) or [1.0]
        return max(math.fsum(shares) / len(shares), min(1.0, self._shares[name] / NEARLY))

    def _to_fit(self) -> float:
        return math.fsum(self._chance(name) * fit.seconds * self._expected(name) for name, fit in self._fits.items())

    def _fitted(self) -> float:
        done = {name: min(share, NEARLY) for name, share in self._shares.items()} | self._used
        return math.fsum(self._chance(name) * fit.seconds * done[name] for name, fit in self._fits.items())

    def _checked(self) -> float:
        """A running check reports nothing until it ends: assume its expected pace, up to 95%."""
        ended = self._begun[:-1] if self._check else self._begun
        done = math.fsum(self._checks.get(name, 0.0) for name in ended)
        expected = self._checks.get(self._check, 0.0)
        return done + min(self._clock() - self._check_started, NEARLY * expected) if self._check else done


def _pace(elapsed: float, done: float, of: float) -> float:
    """Seconds taken per expected second."""
    return elapsed / done if of > 0 and done / of > TRUSTED else 1.0


def in_words(seconds: float, *, at_most: bool = False) -> str:
    """
    >>> in_words(20.0), in_words(700.0, at_most=True), in_words(9000.0)
    ('under a minute left', 'at most about 12 min left', 'about 2 h 30 min left')
    """
    minutes = round(seconds / 60)
    if minutes < 1:
        return "under a minute left"
    about = "at most about" if at_most else "about"
    return f"{about} {minutes} min left" if minutes < 120 else f"{about} {minutes // 60} h {minutes % 60} min left"


@contextmanager
def watching(plan: "Plan", *, workers: int = 0, shown: bool) -> Iterator[Watch]:
    """A progress bar on standard error while an audit runs; a log file gets a line every 30 seconds instead."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from heatcheck.cli.show import told_row

    console = Console(stderr=True, markup=False, highlight=False)
    if not shown:
        yield Watch({}, {}, lambda _: 0.0)
        return
    watch = _watch(plan, workers, lambda line: console.print(told_row(line, console.width), soft_wrap=True))
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
            bar.update(task, description=found.what, completed=found.share, left=_left(found))

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
    return f"heatcheck: {found.what}, {found.share:.0%} done, {_left(found)}"


def _left(found: Progress) -> str:
    return in_words(found.seconds_left, at_most=found.at_most)


def _watch(plan: "Plan", workers: int, tell: "Callable[[Line], None]") -> Watch:
    from heatcheck.auditing import at_most, plan_fits
    from heatcheck.training import share_done, share_used

    costs = plan.costs()
    fits = {fit.id: fit for fit in plan_fits(plan, plan.seconds_a_pass)}
    at_once = min(max(1, workers), max(1, len(at_most(list(fits.values())))))
    store = plan.case.fits.store if plan.case.fits is not None else None
    return Watch(
        {name: _counted(fit, at_once) for name, fit in fits.items()},
        {cost.check: cost.seconds for cost in costs},
        lambda name: 0.0 if store is None else share_done(name, store),
        share_used=lambda name: 1.0 if store is None else share_used(name, store, fits[name].epochs),
        searches=[Searching(check, one.usually) for check, of_check in plan.searches.items() for one in of_check],
        tell=tell,
    )


def _counted(fit: "PlannedFit", at_once: int) -> Fit:
    number = None if fit.search is None else fit.search.number
    return Fit(fit.seconds / at_once, fit.kind, number, fit.sure, fit.checks)
