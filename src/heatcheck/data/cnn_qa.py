"""`cnn_qa`: which entity is left out of a sentence about a news item? An answer is an entity of the item itself."""

import re
from pathlib import Path

from heatcheck.data.example import Corpus, Example
from heatcheck.data.folder_tasks import Fields, Made, gather, missing, rows_of
from heatcheck.data.task import Task
from heatcheck.data.tokens import split_words

FILE = "cnn_qa"
_ENTITY = re.compile(r"@entity\d+")


def entities(passage: str) -> set[str]:
    """The anonymised names in a passage.

    >>> sorted(entities("( @entity3 ) -- @entity10 met @entity3 's wife"))
    ['@entity10', '@entity3']
    """
    return {word for word in split_words(passage) if _ENTITY.fullmatch(word)}


def _read(folder: Path) -> Corpus:
    rows = rows_of(cnn_qa, FILE, folder)
    passages = [str(row.values.get("context")) for row in rows if row.values.get("split") == "train"]
    labels = tuple(sorted(set().union(*map(entities, passages))))
    number = {label: place for place, label in enumerate(labels)}

    def make(fields: Fields) -> Made:
        found = entities(fields["context"])
        if fields["answer"] not in found:
            return "the answer is not in the passage"
        if fields["answer"] not in number:
            return "the answer is in no passage of train"
        options = tuple(sorted(number[entity] for entity in found if entity in number))
        return Example(fields["id"], fields["context"], fields["question"], number[fields["answer"]], options=options)

    return gather("cnn_qa", labels, rows, make, tokens="spaces")


cnn_qa = Task(
    "cnn_qa",
    "CNN news and a sentence with a gap (Hermann et al., anonymised): which entity of the passage fills it?",
    ("@entity0", "@entity1", "…"),
    {},
    "none stated",
    _read,
    missing(FILE, "cnn_qa"),
)
