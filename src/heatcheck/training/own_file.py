"""The user's own file that a model was trained on: recorded in the model's folder, read again the same way.

The recipe knows the file by its name and fingerprint only: where it lies on this machine decides nothing about a fit.
"""

from pathlib import Path
from typing import Any

from heatcheck.data import AS_IT_IS, Corpus, Reading, Source, read_file
from heatcheck.engine import read_json, write_json
from heatcheck.errors import BadInput, BrokenFolder, HeatcheckError

FILE = "data.json"


def remember(corpus: Corpus, folder: Path) -> None:
    """Write into a model's folder which file the corpus was read from, and how; nothing for other corpora."""
    if corpus.source is not None and corpus.source != _if_readable(folder):
        write_json(folder / FILE, {"file": str(corpus.source.file), **corpus.source.reading._asdict()})


def remembered(folder: Path) -> Source | None:
    """The file that the model in this folder was trained on, and how it was read; None where nothing is known."""
    path = folder / FILE
    if not path.is_file():
        return None
    facts = read_json(path)
    kinds: dict[str, Any] = {
        "file": str,
        "text_column": str | None,
        "label_column": str | None,
        "skip_bad_rows": bool,
        "merge_labels": bool,
    }
    if not (
        isinstance(facts, dict)
        and facts.keys() == kinds.keys()
        and all(isinstance(facts[key], kind) for key, kind in kinds.items())
    ):
        raise BrokenFolder(f"{path} is not a file that heatcheck wrote. Delete it, and name the data with --data.")
    return Source(Path(facts.pop("file")), Reading(**facts))


def own_corpus(task: str, folder: Path, reading: Reading = AS_IT_IS) -> Corpus:
    """The file that a model was trained on, read again as it was, where it is there and has not changed.

    Args:
        task: as the recipe has it, `name@fingerprint`.
        folder: the model's.
        reading: in place of what the folder remembers.
    """
    source = remembered(folder)
    name = task.partition("@")[0]
    in_working_folder = Path(name)
    places = [in_working_folder] if source is None else [source.file, in_working_folder]
    how = reading if reading != AS_IT_IS or source is None else source.reading
    there = [place for place in places if place.is_file()]
    for place in there:
        corpus = _read(place, how)
        if corpus is not None and corpus.reference == task:
            return corpus
    if source is None:
        raise BadInput(f"{folder} was trained on {name!r}, which is not a built-in task. Name the file with --data.")
    if source.file in there:
        raise BadInput(f"{source.file} has changed since {folder} was trained on it. Name the data to use with --data.")
    raise BadInput(f"{folder} was trained on {source.file}, which no longer exists. Name the data to use with --data.")


def read_as_remembered(data: str, task: str, folder: Path) -> Corpus | None:
    """A file as the model's own was read, if it is that file, by its path or by its content; else None."""
    source = remembered(folder)
    if source is None or source.reading == AS_IT_IS or not Path(data).is_file():
        return None
    corpus = _read(Path(data), source.reading)
    if corpus is not None and corpus.reference.partition("@")[2] == task.partition("@")[2]:
        return corpus
    if Path(data).resolve() == source.file:
        return read_file(data, trainable=False, reading=source.reading)
    return None


def _read(path: Path, reading: Reading) -> Corpus | None:
    try:
        return read_file(path, reading=reading)
    except HeatcheckError:
        return None


def _if_readable(folder: Path) -> Source | None:
    try:
        return remembered(folder)
    except BrokenFolder:
        return None
