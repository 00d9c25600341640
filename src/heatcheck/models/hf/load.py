"""`hf:NAME`: load a classifier, or a pretrained encoder to fine-tune, from a folder or the Hugging Face hub."""

import copy
import hashlib
import io
import logging
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import torch
from torch import Tensor

from heatcheck.engine import content_id
from heatcheck.errors import BadInput, MissingPackage
from heatcheck.models.contract.recipe import Recipe
from heatcheck.models.hf.precision import precision
from heatcheck.models.hf.prompted import Prompted
from heatcheck.models.hf.transformer import Transformer

# Where a folder names code of its own (`auto_map`), transformers would ask, and run it if standard input says yes.
NO_CODE = {"trust_remote_code": False}
CLASSIFIER = "a sequence classifier"
ANY_FAMILY = ("TokenizersBackend", "PreTrainedTokenizerFast")  # what reads a tokenizer.json whose class is not known


def load_transformer(
    name: str,
    *,
    device: str = "cpu",
    dtype: str | None = None,
    labels: Sequence[str] | None = None,
    recipe: Recipe | None = None,
    called: str | None = None,
) -> Transformer:
    """Load the classifier in a folder or with a hub name, ready to run.

    Args:
        dtype: float32, bfloat16 or float16; None: float32.
        labels: names of its outputs, in order, if its config does not name them.
        called: its name in messages and results; default `hf:NAME`.
    """
    read = _read(name, dtype=dtype)
    if read.new:
        raise BadInput(
            f"hf:{name} is not trained to classify ({read.new[0]} is missing): fine-tune it first with "
            f"`heatcheck train TASK --model hf:{name}`. A language model can be asked with --prompt."
        )
    check_choice(called or f"hf:{name}", read.network.config, labels)
    try:
        with quiet():  # a family that is refused is refused in one sentence
            subject = Transformer(read.network.to(device), read.tokenizer, name=called or f"hf:{name}", recipe=recipe)
    except (TypeError, ValueError, LookupError, AttributeError) as error:  # a config may say anything
        raise BadInput(_cannot_read(name, name, error)) from error
    if labels is not None:
        name_outputs(subject, labels)
    return subject.eval()


def load_prompted(
    name: str,
    *,
    device: str = "cpu",
    dtype: str | None = None,
    **asked: Any,
) -> Prompted:
    """Load the language model in a folder, in a GGUF file or with a hub name, as a classifier that is asked in words.

    Args:
        asked: the prompt and the answers, as `Prompted` takes them.
    """
    from transformers import AutoModelForCausalLM

    read = _read(name, AutoModelForCausalLM, "a language model", dtype=dtype)
    if read.new:
        raise BadInput(f"hf:{name} is no language model ({read.new[0]} is missing). Leave out the prompt or answer.")
    try:
        with quiet():
            found = Prompted(read.network.to(device), read.tokenizer, name=f"hf:{name}", **asked)
    except (TypeError, ValueError, LookupError, AttributeError) as error:  # a config may say anything
        raise BadInput(_cannot_read(name, name, error, "a language model")) from error
    found.eval()
    return found


def check_choice(name: str, config: Any, labels: Sequence[str] | None) -> None:
    """Refuse regressions (for transformers, a lone output is one) and outputs without distinct names."""
    kind = getattr(config, "problem_type", None)
    if kind == "regression":
        raise BadInput(
            f"{name} predicts a number (problem_type is regression), but heatcheck audits classifiers: choose one."
        )
    if config.num_labels == 1 and labels is None:
        raise BadInput(
            f"{name} has one output (num_labels is 1), which transformers treats as a regression. If it is the "
            "logit of the second of two labels, name both, such as --labels no,yes."
        )
    names = [config.id2label.get(number) for number in range(config.num_labels)]
    if labels is None and (not all(isinstance(each, str | int) for each in names) or len(set(names)) < len(names)):
        raise BadInput(
            f"{name} does not give each of its {len(names)} outputs a name of its own (id2label in its config.json "
            f"gives {names}). Name them in order with --labels."
        )


def name_outputs(subject: Transformer, labels: Sequence[str]) -> None:
    """Name the model's outputs, in order."""
    wanted = len(subject.labels)
    if len(labels) != wanted or len(set(labels)) < wanted:
        raise BadInput(
            f"{subject.name} has {wanted} labels ({', '.join(subject.labels)}): give exactly that many different "
            f"names, not {','.join(labels)!r}."
        )
    subject.labels = tuple(labels)


def save_network(subject: Transformer, folder: Path) -> None:
    """The network and its tokenizer as transformers keeps them, its labels by name."""
    config = subject.network.config
    named = (config.id2label, config.label2id)
    if config.num_labels > 1:
        config.id2label = dict(enumerate(subject.labels))
        config.label2id = {label: number for number, label in enumerate(subject.labels)}
    try:
        with quiet():
            subject.network.save_pretrained(folder)
            subject.tokenizer.save_pretrained(folder)
    finally:
        config.id2label, config.label2id = named


class Pretrained(NamedTuple):
    """What a fine-tuning starts from: the weights of an encoder or a decoder, without any head."""

    name: str  # a hub name, or the whole path of a folder
    network: Any  # with whatever head it was read with
    tokenizer: Any
    weights: Mapping[str, Tensor]

    @property
    def fingerprint(self) -> str:
        """A name made from the weights: a folder or a hub name may hold others tomorrow."""
        digest = hashlib.sha256()
        for key, tensor in sorted(self.weights.items()):
            digest.update(key.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
        return content_id({"weights": digest.hexdigest()})


def read_pretrained(name: str) -> Pretrained:
    """The weights below the head, and the tokenizer they go with."""
    read = _read(name)
    below = f"{read.network.base_model_prefix}."
    weights = {k: v for k, v in read.network.state_dict().items() if k.startswith(below) and k not in read.new}
    if not weights:
        raise BadInput(
            f"hf:{name} has no weights that fit a {type(read.network).__name__}: choose another pretrained model."
        )
    folder = Path(name).expanduser()
    whole = str(folder.absolute()) if folder.is_dir() else name
    return Pretrained(whole, read.network, read.tokenizer, weights)


def make_transformer(
    start: Pretrained, labels: Sequence[str], *, seed: int, dropout: float | None = None, recipe: Recipe | None = None
) -> Transformer:
    """A classifier on top of pretrained weights; its head, and what else they lack, is drawn from the seed.

    Args:
        dropout: in place of every rate that the model has of its own.
    """
    from transformers import AutoModelForSequenceClassification

    kinds: Any = AutoModelForSequenceClassification
    config = copy.deepcopy(start.network.config)
    config.num_labels = len(labels)
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: number for number, label in enumerate(labels)}
    config.problem_type = None
    if dropout is not None:
        for name, value in config.to_dict().items():
            if "drop" in name and isinstance(value, float):
                setattr(config, name, dropout)
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(seed)
        network = kinds.from_config(config, dtype=torch.float32, **NO_CODE)
    network.load_state_dict(start.weights, strict=False)
    with quiet():
        return Transformer(network, start.tokenizer, name=f"hf:{start.name}", recipe=recipe)


class _Read(NamedTuple):
    network: Any
    tokenizer: Any
    new: list[str]  # parameters that the files do not hold


def _read(name: str, kind: Any = None, called: str = CLASSIFIER, *, dtype: str | None = None) -> _Read:
    numbers = precision(dtype)
    try:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError:
        raise MissingPackage("transformers") from None
    kind = kind or AutoModelForSequenceClassification
    folder = Path(name).expanduser()
    weights = _gguf(folder)
    if weights is None:
        _check_name(name)
    where = str(folder if weights is None else weights.parent) if weights or folder.is_dir() else name
    try:
        with quiet():  # a head without weights is said in one sentence
            here: dict[str, Any] = {"local_files_only": Path(where).is_dir() or not _hub_has_an_address(), **NO_CODE}
            if weights is not None:
                here["gguf_file"] = weights.name
            with redirect_stderr(io.StringIO()) if weights else nullcontext():  # a bar that asks nobody
                tokenizer = AutoTokenizer.from_pretrained(where, **here)
                network, found = kind.from_pretrained(where, dtype=numbers, output_loading_info=True, **here)
            if weights is not None:
                _forget_quantisation(network)
    # What a damaged file raises is of the library that reads it; the sentence names its kind.
    except Exception as error:
        raise BadInput(_cannot_read(name, where, error, called)) from None
    if tokenizer.init_kwargs.get("auto_map") and type(tokenizer).__name__ in ANY_FAMILY:
        raise BadInput(_brings_code(name))  # passed over, and another tokenizer might cut texts otherwise
    return _Read(network, tokenizer, sorted({*found["missing_keys"], *(key[0] for key in found["mismatched_keys"])}))


def _forget_quantisation(network: Any) -> None:
    """The weights are plain numbers by now: such a network can be kept and sent like any other."""
    network.hf_quantizer, network.is_quantized = None, False
    if hasattr(network.config, "quantization_config"):
        del network.config.quantization_config


def _gguf(path: Path) -> Path | None:
    """The GGUF file that a path names, or that stands alone in a folder without a config; None if there is none."""
    found = path if path.suffix == ".gguf" and path.is_file() else None
    if path.is_dir() and not (path / "config.json").is_file():
        inside = sorted(path.glob("*.gguf"))
        if len(inside) > 1:
            raise BadInput(f"{path} has {len(inside)} GGUF files. Name one, such as hf:{inside[0]}.")
        found = inside[0] if inside else None
    if found is not None:
        for package in ("gguf", "accelerate"):
            if find_spec(package) is None:
                raise MissingPackage(package, extra="gguf")
    return found


def _check_name(name: str) -> None:
    """What can be said before anything is read."""
    folder = Path(name).expanduser()
    if not name:
        raise BadInput("hf: needs a name: hf:FOLDER, or hf:OWNER/MODEL on the Hugging Face hub.")
    if folder.is_dir() and (folder / "transformer" / "config.json").is_file():
        raise BadInput(f"heatcheck wrote the folder {name}: leave out hf:.")
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise BadInput(f"hf:{name} has no config.json, so it is not a Hugging Face model.")
    if not folder.is_dir() and (name.startswith((".", "/", "~")) or name.count("/") > 1):
        raise BadInput(f"there is no folder {name} with a Hugging Face model in it.")


def _cannot_read(name: str, where: str, error: Exception, called: str = CLASSIFIER) -> str:
    reason = " ".join(str(error).split())[:200]
    if "trust_remote_code" in str(error):
        return _brings_code(name)
    if Path(where).is_dir():
        return f"hf:{name} cannot be read as {called}: {type(error).__name__}: {reason}"
    return (
        f"hf:{name} is not a folder here, and the Hugging Face hub did not provide it ({reason}). Download it "
        "where there is a network, and give its folder."
    )


def _brings_code(name: str) -> str:
    return (
        f"hf:{name} brings its own code (auto_map names it), and heatcheck never runs a model's code. Choose a "
        "family that transformers itself supports, or load the model yourself and give it to heatcheck.wrap."
    )


def _hub_has_an_address() -> bool:
    """Whether there is a network to ask: without one the hub's client tries for most of a minute."""
    if any(name.lower() in ("https_proxy", "all_proxy") for name in os.environ):
        return True
    host = urlsplit(os.environ.get("HF_ENDPOINT", "https://huggingface.co")).hostname
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        return False
    return True


@contextmanager
def quiet() -> Iterator[None]:
    """Without transformers' own remarks and bars."""
    from transformers.utils import logging as of_transformers

    remarks: Any = of_transformers
    noise = logging.getLogger("transformers")
    level, bars = noise.level, remarks.is_progress_bar_enabled()
    noise.setLevel(logging.ERROR)
    remarks.disable_progress_bar()
    try:
        yield
    finally:
        noise.setLevel(level)
        if bars:
            remarks.enable_progress_bar()
