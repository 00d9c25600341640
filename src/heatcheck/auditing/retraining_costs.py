"""The retrained models that an audit needs, and their approximate cost."""

from typing import NamedTuple

from heatcheck.auditing.planning import Plan
from heatcheck.training import TrainingSettings, describe, share_done, work_of

TRAINING = 4.0  # about so many times as long as a text's forward pass is its training step: forward, backward, update


class PlannedFit(NamedTuple):
    """One training run: how much of it is done, and how long all of it takes on its own."""

    id: str
    name: str
    done: float  # 0 to 1, as its store says
    seconds: float  # at most, about: it may stop early


def plan_fits(plan: Plan, seconds_a_pass: float) -> list[PlannedFit]:
    """The training runs that the checks need; none without `refit`."""
    fits = plan.case.fits
    if fits is None:
        return []
    texts, own = len(fits.corpus["train"]), fits.recipe
    alone = TRAINING * seconds_a_pass * texts * TrainingSettings(**own.training).epochs  # of the subject itself
    return [
        PlannedFit(
            recipe.id,
            describe(recipe),
            share_done(recipe.id, fits.store),
            alone * work_of(recipe, texts) / work_of(own, texts),
        )
        for recipe in plan.recipes
        if recipe != own
    ]
