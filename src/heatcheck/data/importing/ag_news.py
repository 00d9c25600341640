"""Imports `ag_news`: class, title and description as CSV; the text is the description, as in Jain & Wallace."""

from collections.abc import Iterator

from heatcheck.data.importing.distribution import Distribution
from heatcheck.data.importing.importer import Excluded, Importer, Row
from heatcheck.errors import BadInput

LABELS = ("World", "Sports", "Business", "Sci/Tech")
_CLASSES = {str(number): number - 1 for number in range(1, 5)}


def _read(distribution: Distribution) -> Iterator[Row | Excluded]:
    for split in ("train", "test"):
        with distribution.only(rf"{split}\.csv", f"{split}.csv") as member:
            count = 0
            for where, fields in member.records():
                if count == 0 and fields[0].strip().lower().startswith("class"):
                    continue  # one of the copies in circulation has a header
                if len(fields) != 3:
                    raise BadInput(f"{where}: expected class, title and description, found {len(fields)} fields.")
                if fields[0].strip() not in _CLASSES:
                    raise BadInput(f"{where}: the class must be 1, 2, 3 or 4, not {fields[0]!r}.")
                label = _CLASSES[fields[0].strip()]
                yield {
                    "id": f"agnews-{split}-{count}",
                    "split": split,
                    "text": fields[2],
                    "title": fields[1],
                    "label": label,
                    "label_name": LABELS[label],
                }
                count += 1


ag_news = Importer(
    "ag_news",
    ("ag_news", "ag_news_topics"),
    "ag_news.jsonl.gz",
    "the AG's corpus as Zhang, Zhao & LeCun (2015) distribute it: ag_news_csv.tar.gz",
    "train.csv and test.csv with class (1 to 4), title and description, in a folder or its tar.gz",
    _read,
    {"train": 120_000, "test": 7600},
)
