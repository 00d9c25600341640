"""A subject by name: a folder, `hf:NAME`, or `known:NAME@TASK` for one whose answer is known."""

from pathlib import Path

from heatcheck.errors import BadInput, UnknownName
from heatcheck.models.folder import load_folder
from heatcheck.models.known_answers import KNOWN_ANSWERS
from heatcheck.models.subject import Subject


def load(name: Path | str, *, device: str = "cpu") -> Subject:
    """A trained model from its folder, a Hugging Face sequence classifier, or a known-answer subject.

    >>> load("known:reader@planted_contrast").id
    'reader@planted_contrast'
    """
    if str(name).startswith("hf:"):
        from heatcheck.models.hf import load_transformer  # transformers takes a second to import

        return load_transformer(str(name).removeprefix("hf:"), device=device)
    if not str(name).startswith("known:"):
        return load_folder(Path(name), device=device)
    kind, at, task = str(name).removeprefix("known:").partition("@")
    if kind not in KNOWN_ANSWERS:
        raise UnknownName("known-answer subject", kind, KNOWN_ANSWERS)
    if not at:
        raise BadInput(f"name a task too, as in known:{kind}@{KNOWN_ANSWERS[kind].tasks[0]}.")
    return KNOWN_ANSWERS[kind](task)
