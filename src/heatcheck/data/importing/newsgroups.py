"""Imports `20news_sports`: baseball against hockey from 20 Newsgroups sorted by date, one file per article."""

from collections.abc import Iterator

from heatcheck.data.importing.distribution import Distribution
from heatcheck.data.importing.importer import Excluded, Importer, Row
from heatcheck.errors import BadInput

SPLITS = ("train", "test")
LABELS = ("rec.sport.baseball", "rec.sport.hockey")


def _read(distribution: Distribution) -> Iterator[Row | Excluded]:
    found: dict[tuple[int, int, int], Row] = {}
    for name, member in distribution.each(r"20news-bydate-(train|test)/(rec\.sport\.(?:baseball|hockey))/(\d+)"):
        split, label, number = name[1], name[2], int(name[3])
        # The header ends at the first empty line; quotes and footers are part of what people wrote.
        _, blank, body = member.text("latin-1").partition("\n\n")
        if not blank:
            raise BadInput(f"{member.where}: no empty line after the header, so this is not an article.")
        place = SPLITS.index(split), LABELS.index(label), number
        if place in found:
            raise BadInput(f"{member.where}: article {number} occurs twice. Give a folder with one copy of the data.")
        found[place] = {
            "id": f"20news-{split}-{label}-{number}",
            "split": split,
            "text": body,
            "label": LABELS.index(label),
            "label_name": label,
        }
    for split in range(2):
        for label in range(2):
            if not any(place[:2] == (split, label) for place in found):
                raise distribution.lacks(f"20news-bydate-{SPLITS[split]}/{LABELS[label]}")
    yield from (found[place] for place in sorted(found))  # whatever the order of the archive


newsgroups = Importer(
    "20news_sports",
    ("20news_sports",),
    "20news_sports.jsonl.gz",
    "Jason Rennie's 20 Newsgroups page: 20news-bydate.tar.gz",
    "the folders 20news-bydate-train and 20news-bydate-test (or their tar.gz) with rec.sport.baseball and "
    "rec.sport.hockey in each",
    _read,
    {"train": 1197, "test": 796},
)
