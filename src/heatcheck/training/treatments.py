"""Treatments: changes of a recipe that are meant to give heatmaps that can be read.

Each is another loss, another encoder or another way from scores to weights. The training loop and the models know
nothing of treatments: `treated` makes a recipe from a recipe. To add one, write a function from recipe to recipe and
one entry of TREATMENTS.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import torch

from heatcheck.data import Corpus
from heatcheck.engine import Facts, Plugged
from heatcheck.errors import NotSupported, UnknownName
from heatcheck.models import ENCODERS, Recipe
from heatcheck.training.fresh import SETTINGS as OF_FRESH
from heatcheck.training.fresh import read_a_rationale
from heatcheck.training.losses import like, plan_loss

Treat = Callable[[Recipe, Corpus, Mapping[str, Any]], Recipe]
NOTHING: Facts = MappingProxyType({})


class Treatment(NamedTuple):
    """A change of a recipe, with its settings and with the lines of the card that may not judge it."""

    name: str
    about: str  # a noun phrase, as tables show it
    paper: str
    treat: Treat  # raises NotSupported, with one sentence, where it does not apply
    settings: Facts = NOTHING  # with their defaults
    not_judged_by: frozenset[str] = frozenset()  # lines of the card whose own statistic its loss trains
    note: str = ""


def treated(recipe: Recipe, corpus: Corpus, name: str, changes: Mapping[str, Any] = NOTHING) -> Recipe:
    """The same training run, of the same seed, with a treatment.

    Args:
        recipe: an untreated training run.
        corpus: the task that it is trained on.
        name: a name in TREATMENTS.
        changes: settings of the treatment by name, such as its `strength`.

    >>> from heatcheck.data import load_task
    >>> from heatcheck.training import plan_recipe
    >>> corpus = load_task("planted_keyword")
    >>> treated(plan_recipe(corpus), corpus, "diversity", {"strength": 0.2}).loss
    {'name': 'diversity', 'strength': 0.2}
    """
    if name not in TREATMENTS:
        raise UnknownName("treatment", name, TREATMENTS)
    treatment = TREATMENTS[name]
    settings = dict(treatment.settings)
    for key, value in changes.items():
        if key not in settings:
            raise UnknownName(f"setting of the treatment {name}", key, settings)
        settings[key] = like(settings[key], f"treatment.{key}", value)
    if "encoder" not in recipe.model or recipe.model.get("hierarchical"):
        raise NotSupported(
            f"the treatment {name} needs a classifier that heatcheck trains from scratch, with one attention over "
            "words."
        )
    if recipe.impose is not None or recipe.loss["name"] != "likelihood":
        raise NotSupported(
            f"the treatment {name} starts from a model with learned weights and the usual loss: leave out --impose and "
            "--loss."
        )
    return treatment.treat(recipe, corpus, settings)


def _with_loss(name: str) -> Treat:
    """The likelihood with a penalty; the weights of labels stay."""

    def treat(recipe: Recipe, _: Corpus, settings: Mapping[str, Any]) -> Recipe:
        kept = {key: value for key, value in recipe.loss.items() if key != "name"}
        return replace(recipe, loss={**plan_loss({"name": name, **settings}), **kept})

    return treat


def _with_normaliser(name: str) -> Treat:
    """Other weights from the same scores."""

    def treat(recipe: Recipe, _: Corpus, settings: Mapping[str, Any]) -> Recipe:
        if recipe.model.get("normaliser", "softmax") != "softmax":
            raise NotSupported(
                f"this model's weights are made by {recipe.model['normaliser']} already, not by softmax."
            )
        share = {"top_share": settings["share"]} if "share" in settings else {}
        return replace(recipe, model={**recipe.model, "normaliser": name, **share})

    return treat


ORTHOGONAL = {"lstm": "orthogonal_lstm", "lstm_ahead": "orthogonal_lstm_ahead"}


def _orthogonal(recipe: Recipe, _: Corpus, __: Mapping[str, Any]) -> Recipe:
    encoder = recipe.model["encoder"]
    if encoder not in ORTHOGONAL:
        raise NotSupported(
            f"orthogonal states are those of an LSTM, and this encoder is {encoder}. Use --encoder lstm."
        )
    return replace(recipe, model={**recipe.model, "encoder": ORTHOGONAL[encoder]})


def _of_one_width(name: str) -> Treat:
    """A loss that compares states with embeddings: `hidden` becomes what makes them as wide."""

    def treat(recipe: Recipe, corpus: Corpus, settings: Mapping[str, Any]) -> Recipe:
        encoder, width = recipe.model["encoder"], int(recipe.model["embedding"])
        if encoder == "none":
            raise NotSupported("without an encoder the states are the embeddings, so there is nothing to tie.")
        hidden = hidden_for(encoder, width)
        if hidden is None:
            raise NotSupported(
                f"states of the encoder {encoder} cannot be as wide as embeddings of {width} numbers. Set an even "
                "embedding."
            )
        return _with_loss(name)(replace(recipe, model={**recipe.model, "hidden": hidden}), corpus, settings)

    return treat


def hidden_for(encoder: str, width: int) -> int | None:
    """The setting `hidden` that gives this encoder states of this width; None if none does.

    >>> hidden_for("lstm", 200), hidden_for("lstm", 7), hidden_for("average", 7)
    (100, None, 7)
    """
    for hidden in (width // 2, width):
        with torch.random.fork_rng(devices=[]):  # making an encoder draws its first weights
            if hidden and ENCODERS[encoder](width, hidden).size == width:
                return hidden
    return None


def _guided_by_people(recipe: Recipe, corpus: Corpus, settings: Mapping[str, Any]) -> Recipe:
    mark = settings["mark"]
    if not any(any(example.marks.get(mark, ())) for example in corpus["train"]):
        raise NotSupported(f"nobody marked words as {mark!r} in the training texts of {corpus.name}.")
    return _with_loss("rationale_guided")(recipe, corpus, settings)


def _guided_by_relevance(recipe: Recipe, corpus: Corpus, settings: Mapping[str, Any]) -> Recipe:
    if recipe.model["decoder"] != "linear" or recipe.model["label_wise"]:
        raise NotSupported("output relevance needs one decision that is linear in the states: decoder=linear.")
    return _with_loss("relevance_guided")(recipe, corpus, settings)


_ALL = (
    Treatment(
        "diversity",
        "states pushed apart (Diversity LSTM)",
        "Mohankumar et al. 2020",
        _with_loss("diversity"),
        MappingProxyType({"strength": 0.5}),
    ),
    Treatment(
        "entmax",
        "weights by entmax, many of them 0",
        "Peters, Niculae & Martins 2019",
        _with_normaliser("entmax"),
    ),
    Treatment(
        "fresh",
        "a second model that reads only extracted words (FRESH)",
        "Jain et al. 2020",
        read_a_rationale,
        OF_FRESH,
        note="it reads nothing but the extracted words, by construction",
    ),
    Treatment(
        "masked_words",
        "states that can name their word when it is hidden",
        "Tutek & Šnajder 2020",
        _of_one_width("masked_words"),
        MappingProxyType({"strength": 0.1, "share": 0.15}),
        note="it makes states as wide as embeddings, so its model may be larger than the untreated one",
    ),
    Treatment(
        "orthogonal",
        "states at right angles to the mean before them (Orthogonal LSTM)",
        "Mohankumar et al. 2020",
        _orthogonal,
        note="their LSTM reads in one direction (encoder lstm_ahead), and a bidirectional one is treated in both",
    ),
    Treatment(
        "placebo",
        "a penalty of weight 0",
        "",
        _with_loss("diversity"),
        MappingProxyType({"strength": 0.0}),
        note="its weights are those of the untreated model, bit for bit",
    ),
    Treatment(
        "rationale_guided",
        "attention guided to the words that people marked",
        "",
        _guided_by_people,
        MappingProxyType({"strength": 1.0, "mark": "rationale"}),
        frozenset({"plausible to people"}),
    ),
    Treatment(
        "relevance_guided",
        "attention guided to the states that decide",
        "after Snell et al. 2021",
        _guided_by_relevance,
        MappingProxyType({"strength": 5.0}),
        frozenset({"points at what matters"}),
    ),
    Treatment(
        "sparsemax",
        "weights by sparsemax, most of them 0",
        "Martins & Astudillo 2016",
        _with_normaliser("sparsemax"),
    ),
    Treatment(
        "top_k",
        "weights on a share of the words only",
        "",
        _with_normaliser("top_k"),
        MappingProxyType({"share": 0.2}),
        note="the words without weight still reach the states of their neighbours",
    ),
    Treatment(
        "tying",
        "states kept near their words' embeddings",
        "Tutek & Šnajder 2020",
        _of_one_width("tying"),
        MappingProxyType({"strength": 1.0}),
        note="it makes states as wide as embeddings, so its model may be larger than the untreated one",
    ),
)
TREATMENTS: dict[str, Treatment] = {treatment.name: treatment for treatment in _ALL}
TREATMENTS = Plugged("heatcheck.treatments", Treatment, TREATMENTS)
