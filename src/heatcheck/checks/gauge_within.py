"""Gauge twins under a norm budget: parameters at most as far from the model's as those of another seed are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heatcheck.checks.case import Case
from heatcheck.checks.retrained_answers import fits_of, seed_recipes
from heatcheck.data import Example
from heatcheck.errors import NotSupported
from heatcheck.models import Classifier, Recipe, Trainable
from heatcheck.models.classifiers.gauge_budget import (
    Distance,
    Frequencies,
    Within,
    distance,
    nearest_seed,
    require_bare,
    within_budget,
)
from heatcheck.models.classifiers.gauge_twin import Tokens, scores_off_marked, with_scores, word_table
from heatcheck.results import Measurement

WITHIN = "within_budget"
BASELINE = "1: as far as the nearest other seed"


@dataclass(frozen=True)
class Budgeted:
    """Distances of the twins and of the seeds from the model, and the twin within the budget."""

    unit: Distance  # of the nearest seed
    seeds: Sequence[Distance]
    twins: Mapping[str, Distance]
    within: Within

    def measurements(self) -> Iterator[Measurement]:
        """Each twin's distance as a share of the nearest seed's, and every seed's.

        The interval is from the share of the farthest seed's to that of the nearest.
        """
        farthest = Distance(*(max(of) for of in zip(*self.seeds, strict=True)))
        found: list[tuple[str, str | int, Distance]]
        found = [("twin", name, of) for name, of in {**self.twins, WITHIN: self.within.distance}.items()]
        found += [("seed", number, of) for number, of in enumerate(self.seeds, start=1)]
        for axis, name, of in found:
            least = of.ratios(farthest)
            for part, ratio in of.ratios(self.unit).items():
                by = {axis: name, "part": part}
                yield Measurement("parameter_distance", ratio, least[part], ratio, len(self.seeds), BASELINE, by)


def wanted_seeds(case: Case, seeds: int) -> list[Recipe]:
    """Recipes of the seeds that the budget is measured with; none if it cannot be."""
    if case.fits is None or not isinstance(case.subject, Classifier):
        return []
    try:
        require_bare(case.subject)
    except NotSupported:
        return []
    return seed_recipes(case, seeds + 1)[1:]


def find_budgeted(case: Case, turns: Mapping[str, float], *, budget: float, seeds: int) -> Budgeted:
    """The distances, and the reversed twin within the budget; raises NotSupported with the reason if there is none.

    Args:
        turns: twins by name, each as the share of its scores that is taken away (1 makes them equal, 2 reverses them).
        budget: the largest distance, in units of the nearest seed's.
        seeds: other seeds.
    """
    subject = case.subject
    if not isinstance(subject, Classifier):
        raise NotSupported(f"a budget needs a classifier that heatcheck trains, and {subject.id} is none.")
    require_bare(subject)
    fits = fits_of(case)
    others = [fits.load(recipe) for recipe in wanted_seeds(case, seeds)]
    train = fits.corpus["train"].examples
    often, tokens = Frequencies.of(subject, train), _tokens(subject, train)
    own = word_table(subject).scores.cpu().numpy()
    apart = [distance(subject, _classifier(other), often) for other in others]
    unit = nearest_seed(subject, [_classifier(other) for other in others], often)

    def turned(share: float) -> Classifier:
        return with_scores(subject, (1 - share) * own, tokens)

    twins = {name: distance(subject, turned(share), often) for name, share in turns.items()}
    whole = max(turns.values())
    within = within_budget(subject, lambda share: turned(whole * share), unit, budget, often)
    return Budgeted(unit, apart, twins, within)


class WithinSeeds(NamedTuple):
    """A twin within a budget, and its distances as shares of the nearest seed's."""

    twin: Classifier
    share: float  # of the way to the whole twin
    ratios: Mapping[str, float]


def twin_within(
    model: Classifier,
    others: Sequence[Classifier],
    train: Sequence[Example],
    tokens: Tokens,
    *,
    bound: float,
    budget: float,
) -> WithinSeeds:
    """The twin that keeps off marked words as far as a budget allows.

    Args:
        others: honest models of other seeds.
        tokens: of the training texts, with their marks.
        bound: of the whole twin, as in `gauge_twin`.
        budget: the largest distance, in units of the nearest other model's.
    """
    require_bare(model)
    often = Frequencies.of(model, train)
    own = word_table(model).scores.cpu().numpy()
    step = scores_off_marked(tokens, own, bound=bound) - own
    unit = nearest_seed(model, others, often)
    found = within_budget(model, lambda share: with_scores(model, own + share * step, tokens), unit, budget, often)
    return WithinSeeds(found.twin, found.share, found.distance.ratios(unit))


def _classifier(model: Trainable) -> Classifier:
    assert isinstance(model, Classifier)
    return model


def _tokens(subject: Classifier, examples: Sequence[Example]) -> Tokens:
    """The tokens of these texts, none of them marked."""
    rows = [subject.vocabulary.look_up(example.text)[0] for example in examples]
    text = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    word = np.array([number for row in rows for number in row], dtype=np.int64)
    return Tokens(text, word, np.zeros(len(word), dtype=bool))
