"""`snli`: does the premise entail the hypothesis, contradict it, or neither?"""

from heatcheck.data.example import Example
from heatcheck.data.folder_tasks import Fields, Made, folder_task

LABELS = ("entailment", "neutral", "contradiction")


def _make(fields: Fields) -> Made:
    return Example(fields["id"], fields["premise"], fields["hypothesis"], fields["label"])


snli = folder_task(
    "snli",
    "pairs of sentences (Bowman et al.): the text is the premise, the second text the hypothesis; train is a sample",
    LABELS,
    {"train": 19999, "dev": 9842, "test": 9824},
    "CC BY-SA 4.0",
    _make,
)
