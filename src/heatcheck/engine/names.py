"""Names that people give to the folders of a store, in its names.json."""

import os
import re
from pathlib import Path

from heatcheck.engine.folder import lock_folder, read_json, write_json
from heatcheck.errors import BadInput, BrokenFolder, UnknownName


def name_folder(store: Path, name: str, id: str, *, move: bool = False) -> None:  # noqa: A002
    """Let `name` stand for the folder `store/id`; a name that stands for another only moves if told to.

    >>> import tempfile
    >>> store = Path(tempfile.mkdtemp())
    >>> (store / "dc6ba4d2e64d").mkdir()
    >>> name_folder(store, "first-lstm", "dc6ba4d2e64d")
    >>> find_folder(store, "first-lstm").name
    'dc6ba4d2e64d'
    """
    check_name(name)
    if name == "latest":
        raise BadInput("'latest' cannot be a name: it would mean another folder tomorrow")
    if not (store / check_name(id)).is_dir():
        raise BadInput(f"cannot name {id!r}: there is no such folder in {store}")
    if name != id and (store / name).is_dir():
        raise BadInput(f"cannot use the name {name!r}: it is the id of another folder in {store}")
    lock = lock_folder(store)  # two processes that name two folders must both be heard
    try:
        names = _names(store)
        if names.get(name, id) != id and not move:
            raise BadInput(f"the name {name!r} stands for {names[name]} in {store} already: choose another")
        write_json(store / "names.json", {**names, name: id})
    finally:
        os.close(lock)


def find_folder(store: Path, name_or_id: str) -> Path:
    """The folder of a store that has this name or this id."""
    names = _names(store)
    folder = store / names.get(name_or_id, check_name(name_or_id))
    if folder.is_dir():
        return folder
    if name_or_id in names:
        raise BrokenFolder(f"{name_or_id!r} is the name of {folder}, which is gone: make it again")
    if not names:
        raise BadInput(f"there is no folder {name_or_id!r} in {store}, and nothing there has a name")
    raise UnknownName(f"folder of {store}", name_or_id, names)


def check_name(text: str) -> str:
    """The text itself if it can name a folder: it never leaves the store and never hides in it.

    >>> check_name("../fit")
    Traceback (most recent call last):
    heatcheck.errors.BadInput: '../fit' cannot name a folder: use letters, digits, '_', '-' and inner '.'
    """
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", text):
        raise BadInput(f"{text!r} cannot name a folder: use letters, digits, '_', '-' and inner '.'")
    return text


def _names(store: Path) -> dict[str, str]:
    path = store / "names.json"
    names = read_json(path) if path.exists() else {}
    if not isinstance(names, dict) or not all(isinstance(target, str) for target in names.values()):
        raise BrokenFolder(f"{path} does not map names to ids: mend it, or delete it and name folders again")
    return names
