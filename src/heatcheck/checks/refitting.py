"""Other fits of the audited subject: their recipes, and what those that could be made say of the same texts.

The subject itself is the first of its seeds, so it is never fitted again. A subject whose fits are closed forms
(models/twins.py) is asked for them; nothing is trained.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from heatcheck.checks.case import Case
from heatcheck.errors import NotSupported
from heatcheck.models import KnowsItsTwins, Recipe
from heatcheck.training import Fits, Recorded, describe, record
from heatcheck.training.losses import FROM_BASE

ADVERSARY_SEED = 1000  # added to the subject's own, so that no adversary starts where its parent did


class Said(NamedTuple):
    """What several fits say, in the order asked for, and those that could not be made with the reason."""

    fits: tuple[Recorded, ...]
    not_run: Mapping[str, str]


def fits_of(case: Case) -> Fits:
    """The case's other fits, or one sentence about how to get some."""
    if case.fits is None:
        raise NotSupported("it compares with other fits of the model: add --refit to make them.")
    return case.fits


def seed_recipes(case: Case, seeds: int) -> list[Recipe]:
    """The subject's own recipe, then the same with other seeds."""
    own = fits_of(case).recipe
    others = [seed for seed in range(seeds) if seed != own.seed][: seeds - 1]
    return [own, *(replace(own, seed=seed) for seed in others)]


def honest_seeds(case: Case, seeds: int) -> Said:
    """What the subject and its other seeds say of `case.tested`; the subject first."""
    if isinstance(case.subject, KnowsItsTwins):
        again = [record(case.subject.again(case.seed + number), case.tested) for number in range(1, seeds)]
        return Said((case.own, *again), {})
    return said(case, seed_recipes(case, seeds))


def said(case: Case, recipes: Iterable[Recipe]) -> Said:
    """What the fits of these recipes say of `case.tested`, without those that are not there."""
    fits = fits_of(case)
    found: list[Recorded] = []
    not_run: dict[str, str] = {}
    for recipe in recipes:
        try:
            found.append(fits.said(recipe, case.tested, "tested"))
        except NotSupported as error:
            not_run[describe(recipe)] = str(error)
    return Said(tuple(found), not_run)


def imposing(recipe: Recipe, **impose: Any) -> Recipe:
    """The same training under imposed weights, such as `weights="uniform"`."""
    return replace(recipe, impose=impose)


def trained_for(recipe: Recipe, loss: str, **settings: Any) -> Recipe:
    """The same training for another loss; what labels weigh stays."""
    weights = {key: value for key, value in recipe.loss.items() if key == "label_weight"}
    return replace(recipe, loss={"name": loss, **settings, **weights})


def adversary_recipe(
    case: Case,
    strength: float,
    *,
    epochs: int,
    restart: int = 0,
    start: str = "fresh",
    trains: str = "all",
    as_published: bool = False,
) -> Recipe:
    """A model trained to give the subject's answers with other weights; at strength 0 it only imitates the answers.

    No dropout: its answers are matched to the parent's, not to labels it could overfit. The kept epoch is the best at
    its own objective on train, as published.
    """
    fits = fits_of(case)
    own = fits.recipe
    loss: dict[str, Any] = {
        "name": "adversarial",
        "parent": fits.base,
        "strength": float(strength),
        "as_published": as_published,
        "divergence": FROM_BASE,
        "start": start,
        "trains": trains,
    }
    if "label_weight" in own.loss:
        loss["label_weight"] = own.loss["label_weight"]
    training = {**own.training, "epochs": epochs, "patience": 10, "select": "train_loss", "skip_first": False}
    model = {**own.model, "dropout": 0.0}
    seed = own.seed + ADVERSARY_SEED * (1 + restart)
    return replace(own, model=model, training=training, loss=loss, seed=seed, impose=None)


def total_variation(p: Float[np.ndarray, "... label"], q: Float[np.ndarray, "... label"]) -> Float[np.ndarray, "..."]:
    """Half the sum of the differences: for two labels |Δp|."""
    return np.asarray(np.abs(p - q).sum(-1) / 2)


def tempered(
    other: Float[np.ndarray, "example label"], base: Float[np.ndarray, "example label"]
) -> Float[np.ndarray, "example label"]:
    """Probabilities from log-probabilities `other`, after the one temperature that brings them nearest to `base`'s.

    Two models that differ in nothing but confidence are no distance apart. `base` are probabilities.
    """

    def apart(log_factor: float) -> float:
        return float(total_variation(softmax(np.exp(log_factor) * other, -1), base).mean())

    # The mean total variation may have several valleys in the temperature: the best of a grid starts the search.
    grid = np.linspace(-5, 5, 41)
    start = float(grid[np.argmin([apart(point) for point in grid])])
    found = minimize_scalar(apart, bounds=(start - 0.25, start + 0.25), method="bounded")
    best = min((0.0, start, float(found.x)), key=apart)
    return np.asarray(softmax(np.exp(best) * other, -1))
