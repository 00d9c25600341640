"""Retrained models to compare the audited one with: how each is trained, and its answers to the same texts.

The audited model itself is the first of its seeds, so it is not retrained. A model whose counterparts are known in
closed form (models/contract/twins.py) supplies them; nothing is trained then.
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

AWAY_EPOCHS = 8  # at most, of an adversary that starts away from its parent: it knows the answers from the start
ADVERSARY_SEED = 1000  # added to the recipe's seed, so that no adversary starts like the audited model


class Said(NamedTuple):
    """The answers of several models, in the order asked for, and the missing ones with the reason."""

    fits: tuple[Recorded, ...]
    not_run: Mapping[str, str]


def fits_of(case: Case) -> Fits:
    """The retrained models; raises NotSupported with the option to add if there are none."""
    if case.fits is None:
        raise NotSupported("it compares with retrained models: add --refit to train them.")
    return case.fits


def seed_recipes(case: Case, seeds: int) -> list[Recipe]:
    """The model's own recipe, then the same recipe with other seeds."""
    own = fits_of(case).recipe
    others = [seed for seed in range(seeds) if seed != own.seed][: seeds - 1]
    return [own, *(replace(own, seed=seed) for seed in others)]


def honest_seeds(case: Case, seeds: int) -> Said:
    """Answers of the audited model and its other seeds to `case.tested`; the audited model first."""
    if isinstance(case.subject, KnowsItsTwins):
        again = [record(case.subject.again(case.seed + number), case.tested) for number in range(1, seeds)]
        return Said((case.own, *again), {})
    return said(case, seed_recipes(case, seeds))


def said(case: Case, recipes: Iterable[Recipe]) -> Said:
    """Answers of the models of these recipes to `case.tested`; missing models have a reason instead."""
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
    """The same recipe with imposed weights, such as `weights="uniform"`."""
    return replace(recipe, impose=impose)


def trained_for(recipe: Recipe, loss: str, **settings: Any) -> Recipe:
    """The same recipe with another loss; label weights stay."""
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
    """Recipe of a model trained to give the same answers with other weights; at strength 0 it only imitates.

    No dropout: it learns the audited model's answers, not labels that it could overfit. The kept epoch has the best
    training loss, as published.
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
    epochs = min(epochs, AWAY_EPOCHS) if start == "away" else epochs
    training = {**own.training, "epochs": epochs, "patience": 10, "select": "train_loss", "skip_first": False}
    model = {**own.model, "dropout": 0.0}
    seed = own.seed + ADVERSARY_SEED * (1 + restart)
    return replace(own, model=model, training=training, loss=loss, seed=seed, impose=None)


def total_variation(p: Float[np.ndarray, "... label"], q: Float[np.ndarray, "... label"]) -> Float[np.ndarray, "..."]:
    """Total variation distance: half the sum of absolute differences; |Δp| for two labels."""
    return np.asarray(np.abs(p - q).sum(-1) / 2)


def tempered(
    other: Float[np.ndarray, "example label"], base: Float[np.ndarray, "example label"]
) -> Float[np.ndarray, "example label"]:
    """Probabilities from log-probabilities `other`, after fitting one temperature to the probabilities `base`.

    Two models that differ only in confidence then have no distance.
    """

    def apart(log_factor: float) -> float:
        return float(total_variation(softmax(np.exp(log_factor) * other, -1), base).mean())

    # The mean total variation may have several minima in the temperature, so the search starts at the best of a grid.
    grid = np.linspace(-5, 5, 41)
    start = float(grid[np.argmin([apart(point) for point in grid])])
    found = minimize_scalar(apart, bounds=(start - 0.25, start + 0.25), method="bounded")
    best = min((0.0, start, float(found.x)), key=apart)
    return np.asarray(softmax(np.exp(best) * other, -1))
