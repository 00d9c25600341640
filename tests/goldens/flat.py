"""Nested results as flat paths: path -> a number or a text."""

import csv
import hashlib
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from .texts import normal, text_of_html

Value: TypeAlias = float | int | str
Flat: TypeAlias = dict[str, Value]

MANY = 20  # a longer list of plain values is summarised
TIMES = {"seconds"}  # keys whose value is the clock's


def flatten(found: Any, path: str = "") -> Flat:
    """Every leaf by its path; a name that comes twice is counted."""
    flat: Flat = {}
    for key, value in _leaves(found, path):
        place, again = key, 1
        while place in flat:
            again += 1
            place = f"{key}#{again}"
        flat[place] = value
    return flat


def summary(values: Any) -> dict[str, Any]:
    """Many numbers in few: how many, their mean, and a mean that notices when two change places."""
    numbers = np.array([np.nan if v is None else v for v in np.ravel(np.asarray(values, dtype=object))], dtype=float)
    defined = np.isfinite(numbers)
    kept, places = numbers[defined], np.linspace(-1, 1, len(numbers))[defined]
    shares = {"mean": float(kept.mean()), "tilt": float((kept * places).mean())} if len(kept) else {}
    return {"n": len(numbers), "undefined": int((~defined).sum()), **shares}


def digest(texts: Sequence[Any]) -> dict[str, Any]:
    """Many texts in few: how many, and what they are."""
    joined = json.dumps([normal(str(text)) for text in texts])
    return {"n": len(texts), "sha256": hashlib.sha256(joined.encode()).hexdigest()[:16]}


def of_folder(folder: Path) -> Flat:
    """What is written in a folder, by the kind of each file; of others the name."""
    flat: Flat = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        place = str(path.relative_to(folder))
        if path.suffix == ".html":
            flat[place] = text_of_html(path.read_text())
        elif path.suffix in (".md", ".txt"):
            flat[place] = normal(path.read_text())
        elif path.suffix == ".json":
            flat |= flatten(json.loads(path.read_text()), place)
        elif path.suffix == ".csv":
            flat |= flatten(_table(path.read_text()), place)
        else:
            flat[place] = "there"
    return flat


def _leaves(found: Any, path: str) -> Iterator[tuple[str, Value]]:
    if isinstance(found, np.ndarray):
        yield from _leaves(summary(found), path)
    elif isinstance(found, Mapping):
        for key, value in found.items():
            if str(key) not in TIMES:
                yield from _leaves(value, f"{path}/{normal(str(key))}" if path else normal(str(key)))
        if not found:
            yield path, "{}"
    elif isinstance(found, list | tuple):
        yield from _of_list(found, path)
    else:
        yield path, _leaf(found)


def _of_list(found: Sequence[Any], path: str) -> Iterator[tuple[str, Value]]:
    if len(found) > MANY and all(isinstance(value, str) for value in found):
        yield from _leaves(digest(found), path)
    elif len(found) > MANY and all(_is_number(value) or value is None for value in found):
        yield from _leaves(summary(found), path)
    else:
        for place, value in enumerate(found):
            yield from _of_item(value, path, place)
        if not found:
            yield path, "[]"


def _of_item(value: Any, path: str, place: int) -> Iterator[tuple[str, Value]]:
    """A measurement in a list is found by what it is of, wherever it stands."""
    if not (isinstance(value, Mapping) and {"name", "by"} <= value.keys()):
        return _leaves(value, f"{path}/{place}")
    rest = {key: of_key for key, of_key in value.items() if key not in ("name", "by")}
    return _leaves(rest, f"{path}/{by_name(value['name'], value['by'])}")


def by_name(name: str, by: Any) -> str:
    """One measurement among others."""
    return f"{name}{json.dumps(by, sort_keys=True, ensure_ascii=False, default=str)}"


def _leaf(value: Any) -> Value:
    if value is None or isinstance(value, bool | np.bool_):
        return str(value).lower()
    if _is_number(value):
        number = value.item() if isinstance(value, np.generic) else value
        return number if math.isfinite(number) else str(number)
    return normal(str(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _table(text: str) -> dict[str, Any]:
    """Of each column: a summary of its numbers, or what its texts are."""
    header, *rows = list(csv.reader(io.StringIO(text))) or [[]]
    return {name: _column([row[n] for row in rows]) for n, name in enumerate(header)}


def _column(cells: Sequence[str]) -> dict[str, Any]:
    try:
        return summary([float(cell) if cell else None for cell in cells])
    except ValueError:
        return digest(cells)
