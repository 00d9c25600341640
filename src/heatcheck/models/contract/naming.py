"""The name that people see for a model: its folder's name, never a fingerprint alone."""

from collections.abc import Sequence
from pathlib import Path

from heatcheck.models.contract.recipe import Recipe
from heatcheck.models.contract.subject import Subject

HUB = "hf:"


def name_of(subject: Subject) -> str:
    """The name of the folder the model was loaded from, or a description of the model.

    >>> from heatcheck.models import load
    >>> name_of(load("known:reader@planted_contrast"))
    'reader@planted_contrast'
    """
    called: str = getattr(subject, "called", "")
    if called:
        return called
    return subject.id if subject.recipe is None else _described(subject.recipe)


def folder_name(given: Path | str, recipe: Recipe | None = None) -> str:
    """The name of the model in a folder; hub names and names of known-answer models stay as they are.

    >>> folder_name("runs/my-lstm"), folder_name("hf:owner/model"), folder_name("known:reader@planted_contrast")
    ('my-lstm', 'hf:owner/model', 'known:reader@planted_contrast')
    """
    text = str(given)
    path = Path(text.removeprefix(HUB))
    if text.startswith("known:") or (text.startswith(HUB) and not path.is_dir()):
        return text
    name = path.absolute().name or text
    # Nobody called it that: heatcheck itself named the folder.
    return _described(recipe) if recipe is not None and name == recipe.id else name


def shown_names(given: Sequence[str], subjects: Sequence[Subject]) -> list[str]:
    """One name for each of several models; whole paths if folders in different places share a name."""
    short = [folder_name(one, subject.recipe) for one, subject in zip(given, subjects, strict=True)]
    return [name if short.count(name) == 1 else whole for name, whole in zip(short, given, strict=True)]


def _described(recipe: Recipe) -> str:
    started_from = recipe.model.get("hf")
    kind = recipe.model.get("encoder", "model") if started_from is None else Path(str(started_from)).name
    return f"{kind} on {recipe.task.partition('@')[0]}, seed {recipe.seed} ({recipe.id})"


def rows_of(subject: Subject) -> str:
    """What the heatmap is made of, in sentences, where it is not the row of one token; "" where it is."""
    return str(getattr(subject, "shown_rows", ""))


def asked_of(subject: Subject) -> dict[str, str]:
    """The prompt that a language model is asked with, and its words for labels; nothing of any other model."""
    return dict(getattr(subject, "asked", {}))
