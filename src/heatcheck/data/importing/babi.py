"""Imports `babi`, bAbI tasks 1 to 3: numbered lines, a question with its answer and supporting lines after tabs."""

import re
from collections.abc import Iterator

from heatcheck.data.importing.distribution import Distribution, Member
from heatcheck.data.importing.importer import Excluded, Importer, Row
from heatcheck.errors import BadInput

_LINE = re.compile(r"(\d+) (.*\S)\s*")
_SMALL = 1000  # the questions of `en` are the first of `en-10k`


def _read(distribution: Distribution) -> Iterator[Row | Excluded]:
    # The archive holds the same tasks in several sizes and languages.
    folder = next((name for name in ("en-10k/", "en/") if distribution.names(rf"{name}qa1_.*\.txt")), "")
    for task in (1, 2, 3):
        for split in ("train", "test"):
            called = f"{folder}qa{task}_…_{split}.txt"
            with distribution.only(rf"{folder}qa{task}_(?:[^/]*_)?{split}\.txt", called) as member:
                for count, row in enumerate(_questions(member)):
                    yield {
                        "id": f"babi-qa{task}-{split}-{count}",
                        "split": split,
                        "task": task,
                        "story": row.pop("story"),
                        "in_1k": split == "test" or folder == "en/" or count < _SMALL,
                        **row,
                    }


def _questions(member: Member) -> Iterator[Row]:
    """Each question with the statements before it, and which of them support the answer."""
    story, last = -1, 0
    statements: dict[int, str] = {}  # by the number of their line
    for number, line in member.lines():
        if not line.strip():
            continue
        found = _LINE.fullmatch(line.strip("\r\n"))
        if not found or int(found[1]) not in (1, last + 1):
            raise BadInput(
                f"{member.where}, line {number}: expected a line that begins with 1 (a new story) or {last + 1}."
            )
        last = int(found[1])
        if last == 1:
            story, statements = story + 1, {}
        question, *rest = found[2].split("\t")
        if not rest:
            statements[last] = question
            continue
        places = {name: place for place, name in enumerate(statements)}
        try:
            answer, support = rest
            facts = [places[int(name)] for name in support.split()]
        except (ValueError, KeyError):
            raise BadInput(
                f"{member.where}, line {number}: expected a question, its answer and the numbers of "
                "earlier statements, separated by tabs."
            ) from None
        yield {
            "story": story,
            "context": list(statements.values()),
            "question": question.strip(),
            "answer": answer,
            "support": facts,
        }


babi = Importer(
    "babi",
    ("babi_1", "babi_2", "babi_3"),
    "babi_qa123.jsonl.gz",
    "the bAbI project page of Facebook AI Research (Weston et al. 2015): tasks_1-20_v1-2.tar.gz",
    "the folder en-10k (else en) with qa1, qa2 and qa3, _train.txt and _test.txt of each, or the tar.gz around it",
    _read,
    {"train": 30_000, "test": 3000},
)
