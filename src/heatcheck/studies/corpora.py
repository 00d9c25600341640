"""The corpora that studies share, and how each differs from the published one."""

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from heatcheck.data import (
    PREPARATIONS,
    TASKS,
    Corpus,
    Example,
    Split,
    data_folder,
    draw_sequences,
    load_task,
    name_parts,
)
from heatcheck.data.planted import planted
from heatcheck.data.seq2seq import KINDS
from heatcheck.engine import stream
from heatcheck.errors import HeatcheckError

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
# What stands in for a corpus in a quick run without any corpus of the study, in a word.
GENERATED = {"reviews": "reviews", "planted_keyword": "texts", "bigram_flip": "sequences"}
PUBLISHED_SIZE = 100_000  # sequences in each split of a generated task
# From the 2,000 texts of the task itself a BiLSTM memorises those texts and does not learn the lookup.
LARGER = {"planted_lookup": (20_000, 500, 1_000)}


def as_released(task: str) -> str:
    """The name of a task as Jain & Wallace's release prepares it; generated tasks need no preparation.

    >>> as_released("sst"), as_released("planted_lookup")
    ('sst:jw-release', 'planted_lookup')
    """
    return f"{task}:jw-release" if task in PREPARATIONS["jw-release"] else task


class Source(NamedTuple):
    """Which corpus a study reads, and how much of it."""

    task: str  # as load_task takes it
    texts: int | None = None  # random ones of each split, for a quick run
    first: int | None = None  # of each split, for a quick run of a sequence-to-sequence task
    drawn: int | None = None  # train sequences of a generated task; None: as many as published
    symbols: int | None = None  # of a generated task
    substitute: str = "reviews"  # the generated task that may replace it in a quick run
    replaced: bool = False  # whether it does

    @property
    def name(self) -> str:
        """The task without its preparation."""
        return name_parts(self.task)[0]

    @property
    def quick(self) -> bool:
        """Whether it is cut to a few texts, so that a generated task may replace it."""
        return self.texts is not None or self.first is not None


_alive: "WeakValueDictionary[tuple[Any, ...], Corpus]" = WeakValueDictionary()
_recent: deque[Corpus] = deque(maxlen=2)  # a worker measures one task after the other


def load(source: Source, data_dir: Path | str | None) -> Corpus:
    """The corpus of a source, read once per process as long as somebody uses it, or it is among the last two.

    A data file that changed meanwhile is read again.
    """
    folder = data_folder(data_dir).absolute()
    key = (source, str(folder), _stamp(folder))
    corpus = _alive.get(key)
    if corpus is None:
        corpus = _alive[key] = _read(source, data_dir)
    if not any(corpus is one for one in _recent):
        _recent.append(corpus)
    return corpus


def _stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Changes if a file of the data folder does."""
    found = [(path, path.stat()) for path in sorted(folder.glob("*.jsonl.gz"))]
    return tuple((path.name, stat.st_mtime_ns, stat.st_size) for path, stat in found)


def _read(source: Source, data_dir: Path | str | None) -> Corpus:
    task = source.substitute if source.replaced else source.task
    if task in KINDS:
        drawn = PUBLISHED_SIZE if source.drawn is None else source.drawn
        held = PUBLISHED_SIZE if source.drawn is None else max(100, drawn // 20)
        return draw_sequences(task, sizes=(drawn, held, held), symbols=source.symbols)
    if not source.quick and task in LARGER:
        return planted(task, sizes=LARGER[task])
    corpus = load_task(task, data_dir=data_dir)
    splits = {name: Split(name, _some(split, source)) for name, split in corpus.splits.items()}
    return replace(corpus, splits=splits) if source.quick else corpus


def _some(split: Split, source: Source) -> tuple[Example, ...]:
    if source.texts is None:
        return split.examples[: source.first]
    picked = stream(0, "quick", split.name).permutation(len(split))[: source.texts]
    return tuple(split.examples[i] for i in sorted(picked.tolist()))


class Corpora(NamedTuple):
    """The corpora of a study by the names that it uses, and why others are missing."""

    found: dict[str, Corpus]
    sources: dict[str, Source]
    missing: dict[str, str]


def load_all(sources: Mapping[str, Source], data_dir: Path | str | None) -> Corpora:
    """The corpora whose data is present, and why the others are missing.

    A quick run only shows that the whole path works. Without any corpus of the study, a generated task replaces the
    first.
    """
    lacking = [name for name, source in sources.items() if _lacks(source, data_dir)]
    sources = dict(sources)
    if sources and len(lacking) == len(sources) and sources[lacking[0]].quick:
        sources[lacking[0]] = sources[lacking[0]]._replace(replaced=True)
    found: dict[str, Corpus] = {}
    missing: dict[str, str] = {}
    for name, source in sources.items():
        try:
            found[name] = load(source, data_dir)
        except HeatcheckError as error:
            missing[name] = str(error)
    return Corpora(found, {name: sources[name] for name in found}, missing)


def _lacks(source: Source, data_dir: Path | str | None) -> bool:
    known = TASKS.get(source.name)
    return known is not None and known.missing(data_folder(data_dir)) is not None


def stands_in(source: Source) -> str:
    """Says that a generated task replaces a corpus; empty if none does."""
    if not source.replaced:
        return ""
    return f"generated {GENERATED[source.substitute]} stand in for {source.name}, whose data is missing"


def about(source: Source, corpus: Corpus) -> dict[str, Any]:
    """What a page says about a task."""
    published, not_comparable, differs = DATA.get(source.name, (source.name, "", ""))
    if source.quick:
        not_comparable, differs = "a smoke run", stands_in(source) or "a few of the texts"
    return {
        "published": published,
        "not_comparable": not_comparable,
        "differs": differs,
        "labels": list(corpus.labels),
        "segments": corpus.segments,
        **sizes_of(corpus),
    }


def sizes_of(corpus: Corpus) -> dict[str, Any]:
    """How many texts each split has, and how many were left out and why."""
    return {"sizes": {name: len(split) for name, split in corpus.splits.items()}, "left_out": dict(corpus.dropped)}
