"""A study's result as two files, so that its page can be drawn again without running anything."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from heatcheck.engine import Facts, plain, read_json, write_whole
from heatcheck.errors import BadInput, BrokenFolder
from heatcheck.results.as_facts import tagged, untagged
from heatcheck.results.damage import DAMAGE, digest
from heatcheck.results.key import parse_key
from heatcheck.results.study import Model, Published, Row, StudyResult

STUDY, STUDY_ARRAYS = "study.json", "study.npz"
STUDY_FORMAT = 1  # of these files; a larger number is from a later heatcheck

_ARRAYS = "examples"  # the field of a model that is arrays
_LISTS = ("rows", "models", "published")


def keep_study(found: StudyResult, folder: Path | str) -> list[Path]:
    """Write a study's whole result into a folder; `read_study` reads it back."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {
        f"{at}/{name}": values for at, model in enumerate(found.models) for name, values in model.examples.items()
    }
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    others = {name: tagged(value) for name, value in vars(found).items() if name not in _LISTS}
    facts = {
        "format": STUDY_FORMAT,
        "arrays": digest(packed.getvalue()),
        **others,
        "rows": [tagged(row._asdict()) for row in found.rows],
        "published": [tagged({**one._asdict(), "key": one.key.text}) for one in found.published],
        "models": [tagged({**model._asdict(), _ARRAYS: list(model.examples)}) for model in found.models],
    }
    write_whole(folder / STUDY_ARRAYS, packed.getvalue())
    # Last: this file marks the folder as a complete study.
    write_whole(folder / STUDY, json.dumps(plain(facts), separators=(",", ":")) + "\n")
    return [folder / STUDY, folder / STUDY_ARRAYS]


def read_study(folder: Path | str) -> StudyResult:
    """Read the result of a study that `keep_study` wrote.

    >>> read_study("no-such-folder")
    Traceback (most recent call last):
    heatcheck.errors.BadInput: no-such-folder has no study.json: name a folder that `heatcheck reproduce` made.
    """
    folder = Path(folder)
    if not (folder / STUDY).is_file():
        raise BadInput(f"{folder} has no {STUDY}: name a folder that `heatcheck reproduce` made.")
    facts = read_json(folder / STUDY)
    try:
        if facts["format"] > STUDY_FORMAT:
            raise BrokenFolder(f"{folder} was written by a later version of heatcheck: use that version to read it.")
        packed = (folder / STUDY_ARRAYS).read_bytes()
        if digest(packed) != facts["arrays"]:
            raise ValueError(f"{STUDY_ARRAYS} does not belong to {STUDY}")
        with np.load(io.BytesIO(packed), allow_pickle=False) as opened:
            arrays = {name: opened[name] for name in opened.files}
        others = {name: untagged(facts[name]) for name in StudyResult.__dataclass_fields__ if name not in _LISTS}
        rows = tuple(Row(**untagged(row)) for row in facts["rows"])
        models = tuple(_model_from(untagged(model), at, arrays) for at, model in enumerate(facts["models"]))
        published = tuple(Published(**{**untagged(one), "key": parse_key(one["key"])}) for one in facts["published"])
        return StudyResult(**others, rows=rows, models=models, published=published)
    except DAMAGE as error:
        why = f"{STUDY_ARRAYS} cannot be read" if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        raise BrokenFolder(f"{folder} is damaged ({why}): run the command that made the study again.") from None


def _model_from(facts: Facts, at: int, arrays: Mapping[str, np.ndarray]) -> Model:
    return Model(**{**facts, _ARRAYS: {name: arrays[f"{at}/{name}"] for name in facts[_ARRAYS]}})
