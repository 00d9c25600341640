"""Treatments: changes of a recipe that are meant to make a model's attention easier to read.

Each is another loss, another encoder or another way from scores to weights. The training loop and the models know
nothing of treatments: `treated` makes a recipe from a recipe.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from heatcheck.data import Corpus
from heatcheck.engine import Facts
from heatcheck.errors import NotSupported, UnknownName
from heatcheck.models import Recipe
from heatcheck.training.losses import plan_loss


class Treatment(NamedTuple):
    """A change of a recipe, with its settings and what may not judge it."""

    name: str
    about: str  # a noun phrase, as tables show it
    paper: str
    treat: Callable[[Recipe, Corpus, Mapping[str, Any]], Recipe]  # raises NotSupported where it does not apply
    settings: Facts = MappingProxyType({})  # with their defaults
    not_judged_by: frozenset[str] = frozenset()  # lines of the card whose own statistic its loss trains
    note: str = ""


def treated(recipe: Recipe, corpus: Corpus, name: str, changes: Mapping[str, Any] = MappingProxyType({})) -> Recipe:
    """The same training with a treatment, of the same seed.

    Args:
        recipe: an untreated training run.
        corpus: the task that it is trained on.
        name: a name in TREATMENTS.
        changes: settings of the treatment by name, such as its `strength`.
    """
    if name not in TREATMENTS:
        raise UnknownName("treatment", name, TREATMENTS)
    treatment = TREATMENTS[name]
    for key in changes:
        if key not in treatment.settings:
            raise UnknownName(f"setting of the treatment {name}", key, treatment.settings)
    if "encoder" not in recipe.model:
        raise NotSupported(f"the treatment {name} needs a classifier that heatcheck trains from scratch.")
    if recipe.impose is not None or recipe.loss["name"] != "likelihood":
        raise NotSupported(
            f"the treatment {name} starts from a model with learned weights and the likelihood as its loss. "
            "Train one without --impose and --loss."
        )
    return treatment.treat(recipe, corpus, {**treatment.settings, **changes})


def _other_loss(name: str) -> Callable[[Recipe, Corpus, Mapping[str, Any]], Recipe]:
    """The likelihood with a penalty; weights of labels stay."""

    def treat(recipe: Recipe, _: Corpus, settings: Mapping[str, Any]) -> Recipe:
        kept = {key: value for key, value in recipe.loss.items() if key != "name"}
        return replace(recipe, loss={**plan_loss({"name": name, **settings}), **kept})

    return treat


_ALL = (
    Treatment(
        "diversity",
        "states pushed apart (Diversity LSTM)",
        "Mohankumar et al. 2020",
        _other_loss("diversity"),
        MappingProxyType({"strength": 0.5}),
    ),
    Treatment(
        "placebo",
        "a penalty of weight 0",
        "",
        _other_loss("diversity"),
        MappingProxyType({"strength": 0.0}),
        note="its weights are those of the untreated model, bit for bit",
    ),
)
TREATMENTS: dict[str, Treatment] = {treatment.name: treatment for treatment in _ALL}
