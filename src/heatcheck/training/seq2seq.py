"""Training of sequence-to-sequence models: their recipes, which settings these allow, and how training starts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from heatcheck.data import Corpus, build_vocabulary, texts_of
from heatcheck.errors import BadInput
from heatcheck.models import Recipe, Seq2Seq, Seq2SeqSettings
from heatcheck.models.seq2seq.model import KIND
from heatcheck.training.settings import TrainingSettings, make_plan

LOSSES_OF_SEQUENCES = ("deceptive", "likelihood")
NOT_IMPOSED = ("log_odds", "parent")  # kinds of weights that are known of labels, or for as many decisions in each text


def is_of_sequences(recipe: Recipe) -> bool:
    """Whether a recipe is for a sequence-to-sequence model."""
    return recipe.model.get("kind") == KIND


def plan_sequences(
    corpus: Corpus, preset: str, vectors: Path | str | None, changes: Mapping[str, Any]
) -> tuple[dict[str, Any], TrainingSettings]:
    """The model's part of a recipe, and the training's."""
    if vectors is not None:
        raise BadInput(f"models for {corpus.name} do not use pretrained vectors. Leave out --vectors.")
    settings, training = make_plan(corpus, preset, changes)
    return settings.facts(), training


def check_sequences(recipe: Recipe) -> None:
    """Refuses what a recipe for such a model cannot ask for; says nothing of other recipes."""
    if not is_of_sequences(recipe):
        return
    name = recipe.loss["name"]
    if name not in LOSSES_OF_SEQUENCES:
        raise BadInput(
            f"the loss {name} needs labels, but a sequence-to-sequence model has none. "
            f"Use {' or '.join(LOSSES_OF_SEQUENCES)}."
        )
    imposed = None if recipe.impose is None else recipe.impose["weights"]
    if imposed in NOT_IMPOSED:
        raise BadInput(f"{imposed} weights cannot be imposed on a sequence-to-sequence model. Use uniform or first.")


def build_sequences(recipe: Recipe, corpus: Corpus) -> Seq2Seq:
    """The untrained model: its vocabularies from train, its parameters from the recipe's seed."""
    facts = {name: value for name, value in recipe.model.items() if name != "kind"}
    settings, training = Seq2SeqSettings(**facts), TrainingSettings(**recipe.training)
    train = corpus["train"].examples
    read, written = [example.text for example in train], [example.text_pair or "" for example in train]
    source, target = (
        build_vocabulary(
            texts_of(train) if settings.shared_embedding else texts,
            min_documents=training.min_documents,
            rule=corpus.tokens,
            lowercase=training.lowercase,
        )
        for texts in (read, written)
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        return Seq2Seq(source, target, settings, recipe=recipe)
