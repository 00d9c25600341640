"""Real corpora read once for all tests: under pytest every call is checked, so that reading one takes a while."""

import gzip
import json
from functools import cache
from pathlib import Path

from heatcheck.data import Corpus, load_task


@cache
def load(name: str, folder: Path) -> Corpus:
    return load_task(name, data_dir=folder)


@cache
def rows_of(path: Path) -> tuple[dict, ...]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        return tuple(json.loads(line) for line in lines)
