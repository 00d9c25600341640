"""`babi_1`, `babi_2` and `babi_3`: a story, a question about it, and the sentences that answer it as `rationale`."""

from collections.abc import Sequence
from pathlib import Path

from heatcheck.data.example import Corpus, Example
from heatcheck.data.folder_tasks import Fields, Made, gather, missing, rows_of
from heatcheck.data.preparation import Preparation
from heatcheck.data.task import Task

FILE = "babi_qa123"
STOP = " . "
PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")


def story(context: Sequence[str], support: Sequence[int]) -> tuple[str, tuple[bool, ...]]:
    """The sentences so far as one text, and for each of its words whether it is in a supporting sentence.

    >>> story(["Mary left.", "John ran."], [1])
    ('Mary left . John ran', (False, False, False, True, True))
    """
    sentences = [sentence.removesuffix(".").split(" ") for sentence in context]
    marks: list[bool] = []
    for place, words in enumerate(sentences):
        marks += [False] * (place > 0) + [place in support] * len(words)  # the stop between two belongs to neither
    return STOP.join(" ".join(words) for words in sentences), tuple(marks)


def _opening(example: Example) -> str:
    """What all questions of a story share: its first two sentences."""
    return STOP.join(example.text.split(STOP)[:2])


def _read(number: int, folder: Path) -> Corpus:
    name = f"babi_{number}"
    rows = [row for row in rows_of(TASK_OF[number], FILE, folder) if row.values.get("task") == number]
    answers = {str(row.values.get("answer")) for row in rows if row.values.get("split") == "train"}
    labels = tuple(sorted(answers))

    def make(fields: Fields) -> Made:
        if fields["answer"] not in answers:
            return "the answer occurs nowhere in train"
        text, marks = story(fields["context"], fields["support"])
        question = fields["question"].removesuffix("?").rstrip()
        return Example(fields["id"], text, question, labels.index(fields["answer"]), {"rationale": marks})

    return gather(name, labels, rows, make, tokens="spaces")


def _task(number: int, facts: str, train: int, dev: int) -> Task:
    return Task(
        f"babi_{number}",
        f"bAbI task {number} (10k): where something is, from {facts}; dev taken from train by story",
        PLACES,
        {"train": train, "dev": dev, "test": 1000},
        "CC BY 3.0",
        lambda folder: _read(number, folder),
        missing(FILE, f"babi_{number}"),
        Preparation(dev_share=0.15, dev_group=_opening),
    )


babi_1 = _task(1, "one supporting fact", 8545, 1455)
babi_2 = _task(2, "two supporting facts", 8515, 1485)
babi_3 = _task(3, "three supporting facts", 1635, 290)
TASK_OF = {1: babi_1, 2: babi_2, 3: babi_3}
