"""A trained model as a folder. It contains no code, and nothing is unpickled.

model.safetensors     the weights
config.json           the kind of model, its labels and its recipe
vocabulary.json       its words
log_odds.safetensors  a bag-of-words model's log-odds of each word, from the same texts; older folders have none
seen.safetensors      fingerprints of the texts it was trained on, never a text; older folders have none
training.jsonl        one line per epoch, written by the training loop
data.json             the user's file it was trained on, and how that was read (training/own_file.py)

A classifier that extracts words (its recipe says how) has the model that chooses them beside it:

support/              a model folder

A sequence-to-sequence model has no table of log-odds, but two vocabularies:

target_vocabulary.json  the words it generates

A transformer has neither vocabulary nor table, and its weights are where others expect them:

transformer/          the network and its tokenizer, as `from_pretrained` of transformers reads them
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from heatcheck.data import TOKENIZERS, Seen, Vocabulary
from heatcheck.data.seen import SEEN
from heatcheck.data.vocabulary import SPECIAL
from heatcheck.engine import Facts, read_json, write_json
from heatcheck.errors import BadInput, BrokenFolder, HeatcheckError, NotSupported
from heatcheck.models.classifiers.classifier import Classifier, ClassifierSettings
from heatcheck.models.classifiers.extracting import Chooser, extracting, support_of
from heatcheck.models.classifiers.make import make_classifier
from heatcheck.models.contract.extraction import Extraction
from heatcheck.models.contract.recipe import Recipe
from heatcheck.models.contract.trainable import Trainable
from heatcheck.models.seq2seq.model import KIND, Seq2Seq, Seq2SeqSettings

FORMAT = 1
WEIGHTS, CONFIG, WORDS = "model.safetensors", "config.json", "vocabulary.json"
LOG_ODDS, FINGERPRINTS = "log_odds.safetensors", "seen.safetensors"
TARGET_WORDS = "target_vocabulary.json"
NETWORK = "transformer"
SUPPORT = "support"


def save(subject: Trainable, folder: Path) -> None:
    """Write the folder's files; the caller decides whether the folder appears (engine.whole_folder)."""
    if subject.seen is not None:
        save_file(
            {split: torch.from_numpy(of) for split, of in subject.seen.fingerprints.items()}, folder / FINGERPRINTS
        )
    if not isinstance(subject, Classifier | Seq2Seq):
        _save_transformer(subject, folder)
        return
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in subject.state_dict().items()}
    save_file(weights, folder / WEIGHTS)
    if isinstance(subject, Classifier) and subject.log_odds is not None:
        save_file({"log_odds": subject.log_odds.cpu().contiguous()}, folder / LOG_ODDS)
    recipe = asdict(subject.recipe) if subject.recipe else None
    config = {
        "kind": "classifier" if isinstance(subject, Classifier) else KIND,
        "format": FORMAT,
        "labels": list(subject.labels) if isinstance(subject, Classifier) else [],  # its labels are its words
        "settings": asdict(subject.settings),
        "recipe": recipe,
        "made_with": {"torch": torch.__version__},
    }
    write_json(folder / CONFIG, config)
    _save_words(subject.vocabulary, folder / WORDS)
    if isinstance(subject, Seq2Seq):
        _save_words(subject.target_vocabulary, folder / TARGET_WORDS)
    if (support := support_of(subject)) is not None:
        (folder / SUPPORT).mkdir(exist_ok=True)
        save(support, folder / SUPPORT)


def _save_words(vocabulary: Vocabulary, path: Path) -> None:
    words = {"rule": vocabulary.rule, "lowercase": vocabulary.lowercase, "tokens": list(vocabulary.tokens)}
    write_json(path, words)


def _save_transformer(subject: Trainable, folder: Path) -> None:
    import transformers

    from heatcheck.models.hf import Transformer, save_network

    if not isinstance(subject, Transformer):
        raise NotSupported(
            f"{subject.id} cannot be saved: heatcheck saves only its own models and Hugging Face classifiers."
        )
    save_network(subject, folder / NETWORK)
    config = {
        "kind": "transformer",
        "format": FORMAT,
        "labels": list(subject.labels),
        "recipe": asdict(subject.recipe) if subject.recipe else None,
        "made_with": {"torch": torch.__version__, "transformers": transformers.__version__},
    }
    write_json(folder / CONFIG, config)


def load_folder(folder: Path, *, device: str = "cpu") -> Trainable:
    """Load the model saved in a folder, ready to run.

    Raises a HeatcheckError if the folder, or a file in it, is missing, truncated or of another kind.
    """
    if folder.is_file():
        raise BadInput(
            f"{folder} is a file, not a model. Train a model on it first: `heatcheck train {folder} --out models/mine`."
        )
    if not folder.is_dir():
        raise BadInput(f"there is no model folder {folder}: train one with `heatcheck train TASK --out {folder}`.")
    config = read_json(folder / CONFIG)
    if isinstance(config, dict) and (config.get("kind"), config.get("format")) == ("transformer", FORMAT):
        subject = _load_transformer(folder, config, device)
    else:
        subject = _load_own(folder, config, device)
    subject.seen = _seen(folder)
    return subject


def _load_own(folder: Path, config: Any, device: str) -> Trainable:
    subject = _build(folder, config, read_json(folder / WORDS))
    try:
        weights = load_file(folder / WEIGHTS)
        subject.load_state_dict(weights)
    except FileNotFoundError:
        raise BrokenFolder(f"{folder} has no file {WEIGHTS}: train the model again.") from None
    except (SafetensorError, RuntimeError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise BrokenFolder(
            f"{folder / WEIGHTS} is truncated or belongs to another model ({reason}). Train the model again."
        ) from None
    if isinstance(subject, Classifier):
        subject.log_odds = _log_odds(folder, subject)
    subject = subject.to(device).eval()
    if subject.recipe is None or subject.recipe.extract is None:
        return subject
    return extracting(subject, _chooser(folder, subject.recipe.extract, subject.vocabulary.rule, device))


def _chooser(folder: Path, facts: Facts, rule: str, device: str) -> Chooser:
    """What chooses the words that the model of a folder reads."""
    try:
        extraction = Extraction(**facts)
    except (HeatcheckError, TypeError) as error:
        raise BrokenFolder(f"{folder / CONFIG} is damaged or was edited: {error}") from None
    support = None if extraction.parent is None else load_folder(folder / SUPPORT, device=device)
    return Chooser(extraction, rule, support)


def _load_transformer(folder: Path, config: dict[str, Any], device: str) -> Trainable:
    from heatcheck.models.hf import load_transformer

    try:
        labels, recipe = _label_names(config["labels"]), _recipe(config["recipe"])
        where = str(folder / NETWORK)
        return load_transformer(where, device=device, labels=labels, recipe=recipe, called=str(folder))
    except HeatcheckError as error:
        raise BrokenFolder(f"{folder / NETWORK} is damaged or was edited: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise BrokenFolder(f"{folder / CONFIG} is damaged or was edited ({error!r}). Train the model again.") from None


def _log_odds(folder: Path, subject: Classifier) -> Tensor | None:
    path = folder / LOG_ODDS
    if not path.is_file():
        return None
    try:
        table: Tensor = load_file(path)["log_odds"]
        if table.shape != (len(subject.vocabulary), len(subject.labels)):
            raise ValueError(f"its table has shape {tuple(table.shape)}")
        return table
    except (SafetensorError, KeyError, ValueError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise BrokenFolder(
            f"{path} is truncated or belongs to another model ({reason}). Train the model again."
        ) from None


def _seen(folder: Path) -> Seen | None:
    path = folder / FINGERPRINTS
    if not path.is_file():
        return None
    try:
        found = load_file(path)
        return Seen({split: found[split].numpy() for split in SEEN})
    except (SafetensorError, KeyError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise BrokenFolder(
            f"{path} is truncated or belongs to another model ({reason}). Train the model again."
        ) from None


def _label_names(labels: Any) -> list[str]:
    """Check the label names of a config, which may contain anything."""
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise TypeError("labels are not a list of names")
    if len(set(labels)) < max(2, len(labels)):
        raise ValueError("there are fewer than two labels, or one label occurs twice")
    return labels


def _recipe(facts: Any) -> Recipe | None:
    if facts is not None and not isinstance(facts, dict):
        raise TypeError(f"the recipe is {facts!r}")
    return None if facts is None else Recipe(**facts)


def _vocabulary(words: Any) -> Vocabulary:
    if not all(isinstance(token, str) for token in words["tokens"]):
        raise TypeError("not all tokens are strings")
    vocabulary = Vocabulary(tuple(words["tokens"]), words["rule"], words["lowercase"])
    if vocabulary.tokens[: len(SPECIAL)] != SPECIAL or vocabulary.rule not in TOKENIZERS:
        raise ValueError("the special tokens are missing")
    return vocabulary


def _build(folder: Path, config: Any, words: Any) -> Classifier | Seq2Seq:
    try:
        if config["kind"] not in ("classifier", KIND) or config["format"] != FORMAT:
            raise BrokenFolder(
                f"{folder / CONFIG} has kind {config['kind']} and format {config['format']}, which this heatcheck "
                "cannot read."
            )
        vocabulary = _vocabulary(words)
        recipe = _recipe(config["recipe"])
        if config["kind"] == KIND:
            written = _vocabulary(read_json(folder / TARGET_WORDS))
            return Seq2Seq(vocabulary, written, Seq2SeqSettings(**config["settings"]), recipe=recipe)
        settings = ClassifierSettings(**config["settings"])
        return make_classifier(vocabulary, _label_names(config["labels"]), settings, recipe=recipe)
    except BrokenFolder:
        raise
    except HeatcheckError as error:
        raise BrokenFolder(f"{folder / CONFIG}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, MemoryError) as error:
        raise BrokenFolder(
            f"{folder}: {CONFIG} or {WORDS} is damaged or was edited ({error!r}). Train the model again."
        ) from None
