"""The corpora that studies share, and how each differs from the published one."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from heatcheck.data import PREPARATIONS, TASKS, Corpus, Split, data_folder, load_task, name_parts
from heatcheck.data.planted import planted
from heatcheck.engine import stream
from heatcheck.errors import BadInput, HeatcheckError

# task -> the published data set, whether its numbers are of the same task at the same size, and what differs anyway
DATA: dict[str, tuple[str, str, str]] = {
    "sst": ("sst", "", "the same 6,355 train and 1,725 test texts"),
    "imdb_small": ("imdb", "less data", "a fifth of the train texts"),
    "20news_sports": ("20news_sports", "", "another random split of the same posts, a little smaller"),
    "ag_news": ("ag_news", "less data", "a twelfth of the train texts, the same test texts"),
    "ade": ("adr_tweets", "other data", "case reports instead of tweets, which may not be shared"),
    "ag_news_topics": ("ag_news_topics", "", "all four topics; a twelfth of the train texts, the same test texts"),
    "babi_1": ("babi_1", "", "the same stories; the answers are the six places, not every word"),
    "babi_2": ("babi_2", "", "the same stories; the answers are the six places, not every word"),
    "babi_3": ("babi_3", "less data", "a fifth of the train stories"),
    "eraser_movies": ("eraser_movies", "", "the same 1,600 train and 199 test reviews"),
    "imdb_ratings": ("imdb_ratings", "other data", "other IMDB reviews, far fewer, none of them rated 5 or 6"),
    "planted_lookup": ("planted_lookup", "", "generated: the value of the key in the question decides"),
    "pronoun": ("pronoun", "", "the authors' own 9,017 train and 1,127 test texts"),
    "pronoun_neutral": ("pronoun_neutral", "", "the authors' own texts, with neutral pronouns"),
    "rotten_tomatoes": ("rotten_tomatoes", "other data", "ten thousand sentences of reviews"),
    "snli": ("snli", "less data", "a twenty-seventh of the train pairs, the same test pairs"),
    "sst_wiki": ("sst_wiki", "", "the authors' own 6,920 train and 1,821 test texts"),
    "wiki_only": ("wiki_only", "", "the authors' own texts, without the reviews"),
}
# From the 2,000 texts of the task itself a BiLSTM memorises those texts and does not learn the lookup.
STAND_IN = "reviews"  # for a quick run without any corpus of the study
LARGER = {"planted_lookup": (20_000, 500, 1_000)}


def as_released(task: str) -> str:
    """The name of a task as Jain & Wallace's release prepares it; generated tasks need no preparation.

    >>> as_released("sst"), as_released("planted_lookup")
    ('sst:jw-release', 'planted_lookup')
    """
    return f"{task}:jw-release" if task in PREPARATIONS["jw-release"] else task


def load(task: str, texts: int | None, data_dir: Path | str | None) -> Corpus:
    """A task by the name that `load_task` takes; for a quick run only some texts of each split.

    A quick run only shows that the whole path works, so generated reviews replace a missing corpus.
    """
    if texts is None and task in LARGER:
        return planted(task, sizes=LARGER[task])
    corpus = load_task(STAND_IN if texts is not None and _lacks(task, data_dir) else task, data_dir=data_dir)
    if texts is None:
        return corpus
    splits = {}
    for name, split in corpus.splits.items():
        picked = stream(0, "quick", name).permutation(len(split))[:texts]
        splits[name] = Split(name, tuple(split.examples[i] for i in sorted(picked.tolist())))
    return replace(corpus, splits=splits)


def load_all(
    tasks: Mapping[str, str], texts: int | None, data_dir: Path | str | None
) -> tuple[dict[str, Corpus], dict[str, str]]:
    """The tasks whose data is present, and why the others are missing, under the names that the study uses.

    In a quick run without any of them, generated reviews replace the first.
    """
    found: dict[str, Corpus] = {}
    missing: dict[str, str] = {}
    standing_in = (
        list(tasks)[:1] if texts is not None and all(_lacks(task, data_dir) for task in tasks.values()) else []
    )
    for name, task in tasks.items():
        try:
            if _lacks(task, data_dir) and name not in standing_in:
                load_task(task, data_dir=data_dir)  # says why it is missing
            found[name] = load(task, texts, data_dir)
        except HeatcheckError as error:
            missing[name] = str(error)
    if not found:
        raise BadInput(f"the data of every task is missing. The first error: {next(iter(missing.values()))}")
    return found, missing


def _lacks(task: str, data_dir: Path | str | None) -> bool:
    known = TASKS.get(name_parts(task)[0])
    return known is not None and known.missing(data_folder(data_dir)) is not None


def about(task: str, corpus: Corpus, *, smoke: bool) -> dict[str, Any]:
    """What a page says about a task."""
    published, not_comparable, differs = DATA[name_parts(task)[0]]
    if smoke:
        not_comparable, differs = "a smoke run", "a few of the texts"
        if name_parts(corpus.name)[0] != name_parts(task)[0]:
            differs = f"generated {corpus.name} stand in for {name_parts(task)[0]}, whose data is missing"
    return {
        "published": published,
        "not_comparable": not_comparable,
        "differs": differs,
        "labels": list(corpus.labels),
        "segments": corpus.segments,
        "sizes": {name: len(split) for name, split in corpus.splits.items()},
        "left_out": dict(corpus.dropped),
    }


def shown_settings(settings: Any, tasks: Iterable[str]) -> dict[str, Any]:
    """The settings of a run as a page shows them: the tasks that were run, and the name of the vectors' file only."""
    vectors = None if settings.vectors is None else Path(settings.vectors).name
    return {**settings.__dict__, "tasks": list(tasks), "vectors": vectors}
