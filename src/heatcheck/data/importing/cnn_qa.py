"""Imports `cnn_qa`: CNN news with anonymised entities, one file per question."""

from collections.abc import Iterator

from heatcheck.data.importing.distribution import Distribution
from heatcheck.data.importing.importer import Excluded, Importer, Row
from heatcheck.errors import BadInput

_SPLITS = {"training": "train", "validation": "dev", "test": "test"}


def _read(distribution: Distribution) -> Iterator[Row | Excluded]:
    seen = set()
    for name, member in distribution.each(r"(training|validation|test)/([^/]+)\.question"):
        seen.add(name[1])
        # Between empty lines: address, passage, question, answer, the names behind the entities.
        parts = member.text().strip().split("\n\n")
        if len(parts) not in (4, 5):
            raise BadInput(
                f"{member.where}: expected address, passage, question, answer and entities, separated by empty lines; "
                f"found {len(parts)} parts."
            )
        url, context, question, answer = (part.strip() for part in parts[:4])
        if "@placeholder" not in question or not answer.startswith("@entity"):
            raise BadInput(
                f"{member.where}: the question must contain @placeholder, and the answer must be an @entity."
            )
        if answer not in context.split():
            yield Excluded("whose answer is not an entity of the passage")
            continue
        yield {
            "id": f"cnn-{name[2]}",
            "split": _SPLITS[name[1]],
            "context": context,
            "question": question,
            "answer": answer,
            "url": url,
        }
    for folder in _SPLITS:
        if folder not in seen:
            raise distribution.lacks(f"questions/{folder}/*.question")


cnn_qa = Importer(
    "cnn_qa",
    ("cnn_qa",),
    "cnn_qa.jsonl.gz",
    "DeepMind's question-answering corpus (Hermann et al. 2015; Chen et al. 2016 use it): cnn.tgz with the questions",
    "questions/training, questions/validation and questions/test with *.question files, in a folder or its tgz",
    _read,
    {"train": 380_298, "dev": 3924, "test": 3198},
)
