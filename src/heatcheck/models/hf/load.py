"""`hf:NAME`: a sequence classifier from a folder, or from the Hugging Face hub."""

import logging
from typing import Any

import torch

from heatcheck.errors import BadInput, MissingPackage
from heatcheck.models.hf.transformer import Transformer
from heatcheck.models.recipe import Recipe


def load_transformer(
    name: str, *, device: str = "cpu", labels: int | None = None, recipe: Recipe | None = None
) -> Transformer:
    """The classifier in a folder or of a hub name, ready to run.

    Args:
        labels: how many; gives a model that has no trained head a new one, for fine-tuning.
    """
    network, tokenizer = _read(name, labels)
    return Transformer(network.to(device), tokenizer, name=f"hf:{name}", recipe=recipe)


def _read(name: str, labels: int | None) -> tuple[Any, Any]:
    try:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError:
        raise MissingPackage("transformers") from None
    new = {} if labels is None else {"num_labels": labels, "ignore_mismatched_sizes": True}
    noise = logging.getLogger("transformers")
    level = noise.level
    noise.setLevel(logging.ERROR)  # a head without weights is said below, in one sentence
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        network, found = AutoModelForSequenceClassification.from_pretrained(
            name, dtype=torch.float32, output_loading_info=True, **new
        )
    except (OSError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())[:200]
        raise BadInput(f"hf:{name} cannot be read as a sequence classifier: {reason}") from None
    finally:
        noise.setLevel(level)
    missing = sorted(found["missing_keys"])
    if missing and labels is None:
        raise BadInput(
            f"hf:{name} is not trained to classify ({missing[0]} is missing): fine-tune it first with "
            f"`heatcheck train TASK --model hf:{name}`."
        )
    return network, tokenizer
