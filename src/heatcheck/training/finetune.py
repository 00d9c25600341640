"""Fine-tuning: a recipe for a pretrained Hugging Face transformer, and the model that the loop starts from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from heatcheck.data import Corpus
from heatcheck.errors import BadInput
from heatcheck.models import Recipe, Trainable
from heatcheck.training.settings import TrainingSettings, plan_finetuning

OVER_WORDS = ("log_odds_regularised",)  # losses that compare weights with what is known of each word of a vocabulary


def plan_transformer(
    corpus: Corpus, model: str, preset: str, vectors: Path | str | None, changes: Mapping[str, Any]
) -> tuple[dict[str, Any], TrainingSettings]:
    """The model's part of a recipe, which names the weights that the training starts from; and the training's."""
    if corpus.of_sequences:
        raise BadInput(f"{corpus.name} writes texts, and a transformer is fine-tuned here to choose a label.")
    from heatcheck.models.hf import read_pretrained

    if not model.startswith("hf:"):
        raise BadInput(f"--model takes hf:NAME, a folder or a name of the Hugging Face hub, not {model!r}.")
    if vectors is not None:
        raise BadInput("word vectors are for models that start from nothing: a pretrained one has its own.")
    if any(isinstance(example.label, tuple) for example in corpus["train"]):
        raise BadInput(f"{corpus.name} gives a text several labels, and a transformer is fine-tuned to choose one.")
    facts, training = plan_finetuning(corpus, preset, changes)
    start = read_pretrained(model.removeprefix("hf:"))
    return {"hf": start.name, "weights": start.fingerprint, **facts}, training


def check_transformer(recipe: Recipe) -> None:
    """Refuses what a recipe for a transformer cannot ask for; says nothing of other recipes."""
    if "hf" not in recipe.model:
        return
    imposed = None if recipe.impose is None else recipe.impose["weights"]
    if imposed == "log_odds" or recipe.loss["name"] in OVER_WORDS:
        raise BadInput(
            "log-odds are known of the words of a vocabulary, and a transformer reads pieces of words: they can "
            "neither replace nor guide its weights."
        )
    if recipe.loss.get("trains") == "attention":
        raise BadInput("the attention of a transformer is in all its layers, and cannot be trained alone.")


def build_transformer(recipe: Recipe, corpus: Corpus, *, device: torch.device) -> Trainable:
    """The pretrained model with a new head, before any training; the head is drawn from the recipe's seed."""
    from heatcheck.models.hf import make_transformer, read_pretrained

    name, wanted = str(recipe.model["hf"]), recipe.model["weights"]
    start = read_pretrained(name)
    if start.fingerprint != wanted:
        raise BadInput(f"the weights at hf:{name} are {start.fingerprint}, and the recipe starts from {wanted}.")
    dropout = recipe.model.get("dropout")
    return make_transformer(start, corpus.labels, seed=recipe.seed, dropout=dropout, recipe=recipe).to(device)
