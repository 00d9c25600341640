"""`imdb_full`: the film reviews of Maas et al. in their official splits, and `imdb_small`, a balanced sample.

`imdb_ratings` is that sample by the stars its writers gave; reviews with 5 or 6 of 10 are not among them.
"""

from dataclasses import replace

from heatcheck.data.example import Example
from heatcheck.data.folder_tasks import Fields, folder_task
from heatcheck.data.preparation import Preparation

LABELS = ("negative", "positive")
RATINGS = (1, 2, 3, 4, 7, 8, 9, 10)


def _make(fields: Fields) -> Example:
    return Example(fields["id"], fields["text"].replace("<br />", " "), label=fields["label"])  # markup, not words


def _rated(fields: Fields) -> Example:
    if fields["rating"] not in RATINGS:
        raise ValueError(f"rating {fields['rating']!r} is not one of {', '.join(map(str, RATINGS))}")
    return replace(_make(fields), label=RATINGS.index(fields["rating"]))


_PREPARED = Preparation(dev_share=0.2)
imdb_full = folder_task(
    "imdb_full",
    "film reviews (Maas et al.), official split; dev taken from train by hash",
    LABELS,
    {},
    "none stated",
    _make,
    preparation=_PREPARED,
)
imdb_small = folder_task(
    "imdb_small",
    "film reviews (Maas et al.), a sample of each official split; dev taken from train by hash",
    LABELS,
    {"train": 3999, "dev": 1001, "test": 2500},
    "none stated",
    _make,
    importable=False,
    preparation=_PREPARED,
)
imdb_ratings = folder_task(
    "imdb_ratings",
    "the reviews of imdb_small by their rating, 1 to 4 and 7 to 10; dev taken from train by hash",
    tuple(map(str, RATINGS)),
    {"train": 3999, "dev": 1001, "test": 2500},
    "none stated",
    _rated,
    file="imdb_small",
    codes=range(len(LABELS)),
    importable=False,
    preparation=_PREPARED,
)
