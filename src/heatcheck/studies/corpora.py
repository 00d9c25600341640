"""The corpora that studies share, and how each differs from the published one."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from heatcheck.data import Corpus, Split, load_task
from heatcheck.engine import stream
from heatcheck.errors import HeatcheckError

# task -> the published data set, whether its numbers are of the same task at the same size, and what differs anyway
DATA: dict[str, tuple[str, str, str]] = {
    "sst": ("sst", "", "the same 6,355 train and 1,725 test texts"),
    "imdb_small": ("imdb", "less data", "a fifth of the train texts"),
    "20news_sports": ("20news_sports", "", "another random split of the same posts, a little smaller"),
    "ag_news": ("ag_news", "less data", "a twelfth of the train texts, the same test texts"),
    "ade": ("adr_tweets", "other data", "case reports in place of tweets, which may not be passed on"),
    "babi_1": ("babi_1", "", "the same stories; answers are the six places, not every word"),
    "babi_2": ("babi_2", "", "the same stories; answers are the six places, not every word"),
    "babi_3": ("babi_3", "less data", "a fifth of the train stories"),
    "snli": ("snli", "less data", "a twenty-seventh of the train pairs, the same test pairs"),
}


def load(task: str, texts: int | None, data_dir: Path | str | None) -> Corpus:
    """The task as the release of Jain & Wallace prepares it; only some texts of each split for a quick run."""
    corpus = load_task(f"{task}:jw-release", data_dir=data_dir)
    if texts is None:
        return corpus
    splits = {}
    for name, split in corpus.splits.items():
        picked = stream(0, "quick", name).permutation(len(split))[:texts]
        splits[name] = Split(name, tuple(split.examples[i] for i in sorted(picked.tolist())))
    return replace(corpus, splits=splits)


def load_all(
    tasks: Iterable[str], texts: int | None, data_dir: Path | str | None
) -> tuple[dict[str, Corpus], dict[str, str]]:
    """The tasks that are here, and why the others are not."""
    found: dict[str, Corpus] = {}
    missing: dict[str, str] = {}
    for task in tasks:
        try:
            found[task] = load(task, texts, data_dir)
        except HeatcheckError as error:
            missing[task] = str(error)
    return found, missing


def about(task: str, corpus: Corpus, *, smoke: bool) -> dict[str, Any]:
    """What a page says of a task."""
    published, not_comparable, differs = DATA[task]
    if smoke:
        not_comparable, differs = "a smoke run", "a few of the texts"
    return {
        "published": published,
        "not_comparable": not_comparable,
        "differs": differs,
        "labels": list(corpus.labels),
        "sizes": {name: len(split) for name, split in corpus.splits.items()},
        "left_out": dict(corpus.dropped),
    }


def file_name(path: str | None) -> str | None:
    """Of word vectors: where they lie is nobody's business."""
    return None if path is None else Path(path).name
