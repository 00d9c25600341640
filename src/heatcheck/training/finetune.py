"""Fine-tuning: a recipe for a pretrained Hugging Face transformer, and the model that training starts from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from heatcheck.data import Corpus
from heatcheck.errors import BadInput
from heatcheck.models import Recipe, Trainable
from heatcheck.training.losses import OF_STATES
from heatcheck.training.settings import TrainingSettings, plan_finetuning

OVER_WORDS = ("log_odds_regularised",)  # losses that compare weights with what is known of each word of a vocabulary


def plan_transformer(
    corpus: Corpus, model: str, preset: str, vectors: Path | str | None, changes: Mapping[str, Any]
) -> tuple[dict[str, Any], TrainingSettings]:
    """The model's part of a recipe, which names the weights that the training starts from; and the training's."""
    if corpus.of_sequences:
        raise BadInput(f"{corpus.name} is a sequence-to-sequence task. Fine-tuning needs a task with labels.")
    from heatcheck.models.hf import read_pretrained

    if not model.startswith("hf:"):
        raise BadInput(
            f"--model must be hf:NAME, where NAME is a folder or a model of the Hugging Face hub, not {model!r}."
        )
    if vectors is not None:
        raise BadInput("a pretrained model has its own embeddings. Leave out --vectors.")
    if any(isinstance(example.label, tuple) for example in corpus["train"]):
        raise BadInput(f"{corpus.name} has several labels per text. Fine-tuning needs exactly one label per text.")
    facts, training = plan_finetuning(corpus, preset, changes)
    start = read_pretrained(model.removeprefix("hf:"))
    return {"hf": start.name, "weights": start.fingerprint, **facts}, training


def check_transformer(recipe: Recipe) -> None:
    """Raise BadInput if a recipe asks something of a transformer that it cannot do."""
    if "hf" not in recipe.model:
        return
    imposed = None if recipe.impose is None else recipe.impose["weights"]
    if imposed == "log_odds" or recipe.loss["name"] in OVER_WORDS:
        raise BadInput(
            "log-odds cannot replace or guide the weights of a transformer: they are scores of words, but a "
            "transformer reads pieces of words."
        )
    if recipe.loss["name"] in OF_STATES:
        raise BadInput(
            f"the loss {recipe.loss['name']} is about the states of a classifier trained from scratch. "
            "Leave out --model."
        )
    if recipe.loss.get("trains") == "attention":
        raise BadInput(
            "trains=attention is not possible for a transformer, which has attention in every layer. Leave it out."
        )


def build_transformer(recipe: Recipe, corpus: Corpus, *, device: torch.device) -> Trainable:
    """The pretrained model with a new head, before any training; the head is drawn from the recipe's seed."""
    from heatcheck.models.hf import make_transformer, read_pretrained

    name, wanted = str(recipe.model["hf"]), recipe.model["weights"]
    start = read_pretrained(name)
    if start.fingerprint != wanted:
        raise BadInput(
            f"the weights of hf:{name} are {start.fingerprint}, but the recipe starts from {wanted}. Use that version."
        )
    dropout = recipe.model.get("dropout")
    return make_transformer(start, corpus.labels, seed=recipe.seed, dropout=dropout, recipe=recipe).to(device)
