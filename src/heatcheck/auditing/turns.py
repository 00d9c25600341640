"""Runs the checks of a plan, each as soon as the retrained models that it needs are there.

Checks that need none come first. The models of the checks that decide a line of the card are trained before the others.
A line is told as soon as no check that is still to come can change it.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

from heatcheck.auditing.lines import LINES, judge_lines, lines_decided_by_fits
from heatcheck.auditing.planning import Plan
from heatcheck.auditing.retraining import cannot_refit
from heatcheck.checks import CHECKS
from heatcheck.engine import Outcome
from heatcheck.errors import NotSupported
from heatcheck.models import Recipe, whole_model
from heatcheck.results import CheckResult, Line
from heatcheck.training import between_recordings


class Turns:
    """The checks of a plan: which have ended, and which wait for a model that is not trained yet."""

    def __init__(self, plan: Plan, watch: Callable[[str, int, int], None], told: Callable[[Line], None]) -> None:
        """
        Args:
            watch: called before each check with its name, how many are done, how many there are; after it without name.
            told: called with each line of the card, once it is final.
        """
        self._plan, self._watch, self._told = plan, watch, told
        self._results: dict[str, CheckResult] = {}
        self._not_run: dict[str, str] = {}
        self._lost: dict[str, Outcome] = {}  # training runs that failed, by id
        self._trained: set[str] = set()  # ids of training runs that have ended, well or not
        self._waits: dict[str, set[str]] = {}  # check -> ids of the training runs that it waits for
        self._further: list[Recipe] = []  # to be trained next
        self._said: set[str] = set()  # lines

    def run(
        self,
        *,
        workers: int = 0,
        cluster: str | None = None,
        fitted: Callable[[Outcome, int, int], None] | None = None,
    ) -> None:
        """Run all checks; the results so far are there even if this is interrupted."""
        plan, fits = self._plan, self._plan.case.fits
        retraining = [check for check in plan.checks if plan.recipes_of[check]]
        for check in plan.checks:
            if check not in retraining:
                self._ask(check)
        if not plan.all_fits:
            retraining = [check for check in retraining if CHECKS[check].refits or not self._spare(check)]
        if fits is not None:
            ordered = sorted(retraining, key=_urgency)
            self._waits = {check: self._missing(plan.recipes_of[check]) for check in ordered}
            self._go_on()
            wanted = {r.id: r for check in ordered for r in plan.recipes_of[check]} | {r.id: r for r in self._take()}
            # What is there already costs nothing, and may be all that a check waits for.
            first = sorted(wanted.values(), key=lambda recipe: not (fits.store / recipe.id).is_dir())
            trained = fits.train(first, workers=workers, cluster=cluster, progress=fitted, more=self._take)
            with closing(trained):
                for outcome in trained:
                    self._trained.add(outcome.job.id)
                    if outcome.folder is None:
                        self._lost[outcome.job.id] = outcome
                    self._go_on()

    def _spare(self, check: str) -> bool:
        """Ask a check without the models that it would retrain; True if none of them could change a line.

        That is no guess: the rules of these lines say so, whatever the models would answer.
        """
        rules = [rule for rule in LINES.values() if check in rule.checks]
        case = self._plan.case
        case.spared.add(check)
        try:
            made = ask(self._plan, check)
        except NotSupported:
            made = None  # nor can it be run with them
        found = self._results if made is None else {**self._results, check: made}
        if made is None or (rules and all(rule.settled(rule.judge(found, self._plan.card)) for rule in rules)):
            self._ask(check, made)
            return True
        case.spared.discard(check)
        return False

    @property
    def results(self) -> dict[str, CheckResult]:
        """The results so far, in the order of the plan."""
        return {check: self._results[check] for check in self._plan.checks if check in self._results}

    @property
    def not_run(self) -> dict[str, str]:
        """Why checks could not be run, in the order of the plan."""
        return {check: self._not_run[check] for check in self._plan.checks if check in self._not_run}

    @property
    def not_fitted(self) -> dict[str, str]:
        """Why training runs failed, by name, in the order of the plan."""
        planned = [recipe.id for recipe in self._plan.recipes if recipe.id in self._lost]
        lost = [self._lost[name] for name in dict.fromkeys((*planned, *self._lost))]
        return {outcome.job.name: outcome.reason for outcome in lost}

    @property
    def missing(self) -> list[str]:
        """The checks that have not ended."""
        return [check for check in self._plan.checks if check not in self._results and check not in self._not_run]

    def _missing(self, recipes: Sequence[Recipe]) -> set[str]:
        """The ids of the training runs among these that have not ended."""
        fits = self._plan.case.fits
        own = None if fits is None else fits.recipe
        return {recipe.id for recipe in recipes if recipe != own} - self._trained

    def _go_on(self) -> None:
        """Run each check whose models are there; a check that wants more of them waits again."""
        for check in list(self._waits):
            self._waits[check] -= self._trained
            if self._waits[check]:
                continue
            more = self._plan.more_for(check)
            self._waits[check] = self._missing(more)
            self._further += [recipe for recipe in more if recipe.id in self._waits[check]]
            if not self._waits[check]:
                del self._waits[check]
                self._ask(check)

    def _take(self) -> list[Recipe]:
        further, self._further = self._further, []
        return further

    def _ask(self, check: str, made: CheckResult | None = None) -> None:
        """Run a check, unless its result is there, and tell what is final now."""
        done = len(self._results) + len(self._not_run)
        self._watch(check, done, len(self._plan.checks))
        try:
            with between_recordings():  # models may be trained meanwhile, in other threads
                self._results[check] = ask(self._plan, check) if made is None else made
        except NotSupported as error:
            self._not_run[check] = self._plan.told(str(error))
        self._watch("", done + 1, len(self._plan.checks))
        self._tell()

    def _tell(self) -> None:
        """Tell the lines that have become final, each once; those that were not run are no news."""
        plan, missing = self._plan, self.missing
        why = cannot_refit(whole_model(plan.case.subject))
        for line, final in judge_lines(
            self._results,
            plan.card,
            self._not_run,
            cannot_refit=why,
            available=plan.available,
            missing=missing,
            heatmap=plan.case.heatmap,
        ):
            if final and line.state != "not run" and line.name not in self._said:
                self._said.add(line.name)
                self._told(line)


def ask(plan: Plan, check: str) -> CheckResult:
    """Run one check of a plan; raises NotSupported with the reason where it cannot be run."""
    found = CHECKS[check].ask(plan.case, plan.checks[check])
    return replace(found, not_run={part: plan.told(why) for part, why in found.not_run.items()})


def _urgency(check: str) -> int:
    """The place on the card of the first line that its retrained models can decide; after all lines if they cannot."""
    decided = lines_decided_by_fits(check)
    return min((place for place, rule in enumerate(LINES.values()) if rule.short in decided), default=len(LINES))
