"""Imports `imdb_full`: the Large Movie Review Dataset, one file per review, named ID_RATING.txt."""

from collections.abc import Iterator

from heatcheck.data.importing.distribution import Distribution
from heatcheck.data.importing.importer import Excluded, Importer, Row
from heatcheck.errors import BadInput

SPLITS = ("train", "test")
LABELS = ("neg", "pos")


def _read(distribution: Distribution) -> Iterator[Row | Excluded]:
    found: dict[tuple[int, int, int], Row] = {}
    for name, member in distribution.each(r"(train|test)/(neg|pos)/(\d+)_(\d+)\.txt"):
        split, label, number, rating = name[1], name[2], int(name[3]), int(name[4])
        text = member.text()
        if not text.strip():
            raise BadInput(f"{member.where} is empty. Unpack the archive again.")
        place = SPLITS.index(split), LABELS.index(label), number
        if place in found:
            raise BadInput(f"{member.where}: review {number} occurs twice. Give a folder with one copy of the data.")
        found[place] = {
            "id": f"imdb-{split}-{label}-{number}",
            "split": split,
            "text": text,
            "label": LABELS.index(label),
            "label_name": label,
            "rating": rating,
        }
    for split in range(2):
        for label in range(2):
            if not any(place[:2] == (split, label) for place in found):
                raise distribution.lacks(f"{SPLITS[split]}/{LABELS[label]}/ID_RATING.txt")
    # An archive's own order is anybody's: the same rows in the same order whichever way they came.
    yield from (found[place] for place in sorted(found))


imdb_full = Importer(
    "imdb_full",
    ("imdb_full",),
    "imdb_full.jsonl.gz",
    "the Large Movie Review Dataset page at Stanford AI (Maas et al. 2011): aclImdb_v1.tar.gz",
    "the folder aclImdb (or its tar.gz) with train/neg, train/pos, test/neg and test/pos",
    _read,
    {"train": 25_000, "test": 25_000},
)
