"""The retrained models that an audit needs, their approximate cost, and the lines of the card that they can decide."""

from collections.abc import Sequence
from typing import NamedTuple

from heatcheck.auditing.lines import LINES, lines_decided_by_fits
from heatcheck.auditing.planning import Plan
from heatcheck.checks import CHECKS
from heatcheck.training import TrainingSettings, describe, describe_model, kind_of_run, share_done, work_of

TRAINING = 4.0  # about so many times as long as a text's forward pass is its training step: forward, backward, update


class Searched(NamedTuple):
    """That a training run is one of several of which heatcheck trains some."""

    number: int  # of the search, among those of the plan
    check: str  # that searches
    at_most: int
    of: int
    usually: float  # so many


class PlannedFit(NamedTuple):
    """One training run: how much of it is done, how long all of it takes on its own, and what it is for."""

    id: str
    name: str
    done: float  # 0 to 1, as its store says
    seconds: float  # at most, about: it may stop early
    checks: tuple[str, ...] = ()  # that use it
    lines: tuple[str, ...] = ()  # of the card that it can decide, by their short names
    sure: bool = True  # False: it depends on what a search finds
    search: Searched | None = None
    if_open: bool = False  # only if its lines are not settled without it
    kind: str = ""  # runs of one kind take about equally many of their epochs
    epochs: int = 1  # at most
    model: str = ""  # the name without the task


def plan_fits(plan: Plan, seconds_a_pass: float) -> list[PlannedFit]:
    """The training runs that the checks need or may need; none without `refit`."""
    fits = plan.case.fits
    if fits is None:
        return []
    texts, own = len(fits.corpus["train"]), fits.recipe
    alone = TRAINING * seconds_a_pass * texts * TrainingSettings(**own.training).epochs  # of the subject itself
    searched: dict[str, Searched] = {}
    recipes = {recipe.id: recipe for recipe in plan.recipes}
    used = {name: [check for check, of in plan.recipes_of.items() if name in {r.id for r in of}] for name in recipes}
    every = [(check, search) for check, of_check in plan.searches.items() for search in of_check]
    for number, (check, search) in enumerate(every):
        for recipe in search.candidates:
            recipes.setdefault(recipe.id, recipe)
            used[recipe.id] = [*dict.fromkeys((*used.get(recipe.id, ()), check))]
            searched[recipe.id] = Searched(number, check, search.at_most, len(search.candidates), search.usually)
    sure = {recipe.id for recipe in plan.recipes}
    return [
        PlannedFit(
            recipe.id,
            describe(recipe),
            share_done(recipe.id, fits.store),
            alone * work_of(recipe, texts) / work_of(own, texts),
            tuple(used[recipe.id]),
            decided_with(used[recipe.id]),
            recipe.id in sure,
            searched.get(recipe.id),
            not plan.all_fits and not any(CHECKS[check].refits for check in used[recipe.id]),
            kind_of_run(recipe),
            TrainingSettings(**recipe.training).epochs,
            describe_model(recipe),
        )
        for recipe in recipes.values()
        if recipe != own
    ]


def decided_with(checks: Sequence[str]) -> tuple[str, ...]:
    """The lines that models which these checks retrain can decide, in the order of the card."""
    decided = {line for check in checks for line in lines_decided_by_fits(check)}
    return tuple(rule.short for rule in LINES.values() if rule.short in decided)


def at_most(fits: Sequence[PlannedFit]) -> list[PlannedFit]:
    """The training runs of the longest course that the searches can take."""
    chosen = [fit for fit in fits if fit.sure]
    left = {fit.search.number: fit.search.at_most for fit in fits if fit.search is not None}
    for fit in chosen:
        if fit.search is not None:
            left[fit.search.number] -= 1
    for fit in sorted((fit for fit in fits if not fit.sure), key=lambda fit: -(1 - fit.done) * fit.seconds):
        if fit.search is not None and left[fit.search.number] > 0:
            left[fit.search.number] -= 1
            chosen.append(fit)
    return chosen
