"""`sst`: the Stanford Sentiment Treebank's sentences, positive against negative, from a data folder."""

from pathlib import Path

from heatcheck.data.example import SPLITS, Corpus, Example, Split
from heatcheck.data.files import read_rows
from heatcheck.data.task import Task
from heatcheck.errors import BadInput

LABELS = ("negative", "positive")
FILE = "sst.jsonl.gz"


def _missing(folder: Path) -> str | None:
    if (folder / FILE).is_file():
        return None
    return f"put {FILE} into {folder}, or name its folder with --data-dir or HEATCHECK_DATA"


def _read(folder: Path) -> Corpus:
    if missing := _missing(folder):
        raise BadInput(f"task sst is not here: {missing}.")
    splits: dict[str, list[Example]] = {name: [] for name in SPLITS}
    for row in read_rows(folder / FILE):
        values = row.values
        if values["label"] is not None:  # null = neutral, which the binary task leaves out
            splits[values["split"]].append(Example(values["id"], values["text"], label=int(values["label"])))
    return Corpus("sst", LABELS, {n: Split(n, tuple(found)) for n, found in splits.items()}, tokens="spaces")


sst = Task(
    "sst",
    "Stanford Sentiment Treebank sentences without the neutral ones, official split",
    LABELS,
    {"train": 6920, "dev": 872, "test": 1821},
    "none stated",
    _read,
    _missing,
)
