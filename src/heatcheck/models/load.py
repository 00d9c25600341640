"""Load a model by name: a folder, `hf:NAME`, `known:NAME@TASK` or `known:NAME` for a known-answer model."""

import copy
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from heatcheck.engine import expect, expect_if_given, expect_names
from heatcheck.errors import BadInput, UnknownName
from heatcheck.models.contract.naming import folder_name
from heatcheck.models.contract.parts import HasLayers
from heatcheck.models.contract.subject import Subject
from heatcheck.models.known_answers import KNOWN_ANSWERS, KNOWN_LANGUAGE_MODELS
from heatcheck.models.model_folder import CONFIG, load_folder


def load(
    name: Path | str,
    *,
    device: str = "cpu",
    dtype: str | None = None,
    labels: Sequence[str] | Mapping[Any, Any] | None = None,
    prompt: str | None = None,
    shown: Iterable[Any] = (),
    chat: bool = False,
    answer: str | Sequence[str] | None = None,
    score: str = "text",
) -> Subject:
    """Load a trained model from its folder, a Hugging Face model, or a known-answer model.

    A folder that `save_pretrained` of Hugging Face wrote needs no prefix; names on the Hugging Face hub need `hf:`.

    Args:
        name: a folder, `hf:NAME`, or `known:NAME@TASK` for a model whose answer is known (`known:induction_lm`).
        device: the torch device to load it on.
        dtype: the precision of a Hugging Face model: float32 (default), bfloat16 or float16.
        labels: names of a Hugging Face classifier's outputs, in order, if its config does not name them. With a prompt:
            the word that the model goes on with for each label, such as `{"no": " no", "yes": " yes"}`.
        prompt: makes a classifier of a language model: a text with `{text}` where each text goes.
        shown: texts with their labels that the prompt shows first.
        chat: put the prompt into the model's chat template.
        answer: makes a decision of what a language model says next: an answer such as " Paris" or anything else; or of
            two answers, such as (" Paris", " Rome"), the first or the second.
        score: how answers of several tokens are compared: `text` (by their probability), `mean` (by the mean
            log-probability of their tokens) or `pmi` (by how much more probable the text makes them).

    Returns:
        The model, ready for `audit`, `explain` and `Subject.run`.

    >>> load("known:reader@planted_contrast").id
    'reader@planted_contrast'
    """
    expect("a path", name=name)
    expect("a text", device=device)
    expect_if_given("a text", prompt=prompt, dtype=dtype)
    expect("a text", score=score)
    if prompt is not None or answer is not None:
        asked = _answers(answer, labels) | {"shown": shown, "chat": chat, "score": score}
        return _load_prompted(name, device, dtype, asked if prompt is None else asked | {"prompt": prompt})
    if shown or chat or score != "text" or isinstance(labels, Mapping):
        raise BadInput("words for labels, examples, a score and a chat template belong to a prompt. Give a prompt too.")
    if labels is not None:
        expect_names(labels=labels)
    if str(name).startswith("hf:") or of_hugging_face(Path(name)):
        from heatcheck.models.hf import load_transformer  # transformers takes a second to import

        found = load_transformer(str(name).removeprefix("hf:"), device=device, dtype=dtype, labels=labels)
        found.called = folder_name(name)
        return found
    if dtype not in (None, "float32"):
        raise BadInput(f"{name} computes in float32: another dtype can be chosen for Hugging Face models only.")
    subject = _load(name, device)
    return subject if labels is None else with_labels(subject, labels)


def _answers(answer: object, labels: object) -> dict[str, Any]:
    """What the model can say, as `Prompted` takes it.

    >>> _answers((" Paris", " Rome"), None)
    {'labels': {'Rome': ' Rome', 'Paris': ' Paris'}, 'aim': 'Paris'}
    """
    if answer is None:
        if not isinstance(labels, Mapping):
            raise BadInput("a prompt needs a word for each label, such as --labels bad=' no',good=' yes'.")
        return {"labels": labels}
    if labels is not None:
        raise BadInput("an answer takes the place of labels. Give one or the other.")
    given = [answer] if isinstance(answer, str) else list(answer) if isinstance(answer, list | tuple) else []
    if not 1 <= len(given) <= 2 or not all(isinstance(one, str) and one for one in given):
        raise BadInput(f"answer must be a text such as ' Paris', or two texts, not {answer!r}.")
    if len(given) == 1:
        return {"answer": given[0]}
    own, other = given
    if own == other:
        raise BadInput(f"the two answers are the same, {own!r}. Give two different ones.")
    short = own.strip() != other.strip() and bool(own.strip() and other.strip())
    names = [one.strip() if short else repr(one) for one in given]
    return {"labels": {names[1]: other, names[0]: own}, "aim": names[0]}


def _load_prompted(name: Path | str, device: str, dtype: str | None, asked: Mapping[str, Any]) -> Subject:
    if not (str(name).startswith("hf:") or of_hugging_face(Path(name)) or Path(name).suffix == ".gguf"):
        raise BadInput(f"{name} is no Hugging Face model, and only a language model can be given a prompt.")
    from heatcheck.models.hf import load_prompted  # transformers takes a second to import

    found = load_prompted(str(name).removeprefix("hf:"), device=device, dtype=dtype, **asked)
    found.called = folder_name(name)
    return found


def require_subject(given: object) -> None:
    """Raise BadInput unless this is a model."""
    if not isinstance(given, Subject):
        kind = type(given).__name__
        raise BadInput(
            f"a model must be a folder, hf:NAME, or what heatcheck.load or heatcheck.wrap returned, not {kind}."
        )


def with_labels(subject: Subject, labels: Sequence[str]) -> Subject:
    """A copy of the model with other label names, in the order of its outputs; the weights are shared."""
    if not isinstance(subject, HasLayers) or subject.recipe is not None:
        raise BadInput(
            f"label names can be given only for Hugging Face models (hf:…); {subject.id} already has its own."
        )
    from heatcheck.models.hf import Transformer, name_outputs

    assert isinstance(subject, Transformer)
    renamed = copy.copy(subject)
    name_outputs(renamed, labels)
    return renamed


def of_hugging_face(folder: Path) -> bool:
    """Whether Hugging Face saved this model: its config names an architecture, and no kind of ours."""
    try:
        config = json.loads((folder / CONFIG).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False  # not one that can be read: what is said about a folder of ours is said about this one
    return isinstance(config, dict) and "kind" not in config and bool({"model_type", "architectures"} & set(config))


def _load(name: Path | str, device: str) -> Subject:
    if not str(name).startswith("known:"):
        found = load_folder(Path(name), device=device)
        found.called = folder_name(name, found.recipe)
        return found
    kind, at, task = str(name).removeprefix("known:").partition("@")
    if kind in KNOWN_LANGUAGE_MODELS:
        if at:
            raise BadInput(f"known:{kind} is a language model and has no task. Leave out @{task}.")
        return KNOWN_LANGUAGE_MODELS[kind]()
    if kind not in KNOWN_ANSWERS:
        raise UnknownName("known-answer subject", kind, [*KNOWN_ANSWERS, *KNOWN_LANGUAGE_MODELS])
    if not at:
        raise BadInput(f"known:{kind} needs a task, as in known:{kind}@{KNOWN_ANSWERS[kind].tasks[0]}.")
    return KNOWN_ANSWERS[kind](task)
