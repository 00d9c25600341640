"""Data: built-in tasks, your own files, vocabularies and pretrained word vectors."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from heatcheck.data.adverse_effects import ade, adr_tweets
from heatcheck.data.babi import babi_1, babi_2, babi_3
from heatcheck.data.batch import Batch
from heatcheck.data.cnn_qa import cnn_qa
from heatcheck.data.eraser_movies import eraser_movies
from heatcheck.data.example import SPLITS, Corpus, Example, Split, check_corpus
from heatcheck.data.files import read_file, read_frame, read_lists, read_texts
from heatcheck.data.imdb import imdb_full, imdb_ratings, imdb_small
from heatcheck.data.impermissible import pronoun, pronoun_neutral, sst_wiki, wiki_only
from heatcheck.data.labels import doubtful_labels, label_counts, mending_options
from heatcheck.data.mimic import mimic_anemia, mimic_diabetes
from heatcheck.data.movie_reviews import imdb, rotten_tomatoes
from heatcheck.data.news import ag_news, ag_news_topics, newsgroups
from heatcheck.data.planted import (
    planted_contrast,
    planted_first,
    planted_keyword,
    planted_lookup,
    planted_majority,
    planted_second,
    planted_twins,
)
from heatcheck.data.preparation import PREPARATIONS, Preparation, prepare
from heatcheck.data.reading import AS_IT_IS, Reading, Source
from heatcheck.data.reviews import reviews
from heatcheck.data.seen import Seen, seen_in
from heatcheck.data.sentences import sentence_of
from heatcheck.data.seq2seq import (
    bigram_flip,
    copy_distinct,
    copy_iid,
    copy_permutation,
    draw_sequences,
    gold_en_de,
    multi30k,
    sequence_copy,
    sequence_reverse,
)
from heatcheck.data.snli import snli
from heatcheck.data.sst import sst
from heatcheck.data.task import Task
from heatcheck.data.tokens import TOKENIZERS, tokenize
from heatcheck.data.vectors import Vectors, read_vectors
from heatcheck.data.vocabulary import Vocabulary, build_vocabulary, texts_of
from heatcheck.engine import Plugged, expect_if_given
from heatcheck.errors import BadInput, UnknownName

__all__ = [
    "AS_IT_IS",
    "PREPARATIONS",
    "SPLITS",
    "TASKS",
    "TOKENIZERS",
    "Batch",
    "Corpus",
    "Example",
    "Preparation",
    "Reading",
    "Seen",
    "Source",
    "Split",
    "Task",
    "Vectors",
    "Vocabulary",
    "build_vocabulary",
    "check_corpus",
    "data_folder",
    "doubtful_labels",
    "draw_sequences",
    "is_task",
    "label_counts",
    "load_task",
    "mending_options",
    "name_parts",
    "prepare",
    "read_file",
    "read_frame",
    "read_lists",
    "read_texts",
    "read_vectors",
    "seen_in",
    "sentence_of",
    "texts_of",
    "tokenize",
]

TASKS: dict[str, Task] = {
    "20news_sports": newsgroups,
    "ade": ade,
    "adr_tweets": adr_tweets,
    "ag_news": ag_news,
    "ag_news_topics": ag_news_topics,
    "babi_1": babi_1,
    "babi_2": babi_2,
    "babi_3": babi_3,
    "bigram_flip": bigram_flip,
    "cnn_qa": cnn_qa,
    "copy_distinct": copy_distinct,
    "copy_iid": copy_iid,
    "copy_permutation": copy_permutation,
    "eraser_movies": eraser_movies,
    "gold_en_de": gold_en_de,
    "imdb": imdb,
    "imdb_full": imdb_full,
    "imdb_ratings": imdb_ratings,
    "imdb_small": imdb_small,
    "mimic_anemia": mimic_anemia,
    "mimic_diabetes": mimic_diabetes,
    "multi30k": multi30k,
    "planted_contrast": planted_contrast,
    "planted_first": planted_first,
    "planted_keyword": planted_keyword,
    "planted_lookup": planted_lookup,
    "planted_majority": planted_majority,
    "planted_second": planted_second,
    "planted_twins": planted_twins,
    "pronoun": pronoun,
    "pronoun_neutral": pronoun_neutral,
    "reviews": reviews,
    "rotten_tomatoes": rotten_tomatoes,
    "sequence_copy": sequence_copy,
    "sequence_reverse": sequence_reverse,
    "snli": snli,
    "sst": sst,
    "sst_wiki": sst_wiki,
    "wiki_only": wiki_only,
}
TASKS = Plugged("heatcheck.tasks", Task, TASKS)


def data_folder(given: Path | str | None = None) -> Path:
    """The data folder: the given path, else the environment variable HEATCHECK_DATA, else `data`."""
    return Path(given or os.environ.get("HEATCHECK_DATA") or "data")


def name_parts(name: str) -> tuple[str, str | None]:
    """Split `TASK:PREPARATION` into its two parts.

    >>> name_parts("sst:jw-release"), name_parts("sst")
    (('sst', 'jw-release'), ('sst', None))
    """
    task, colon, preparation = name.partition(":")
    return task, preparation if colon else None


def is_task(name: str) -> bool:
    """Whether the name is a built-in task, with or without a preparation.

    >>> is_task("sst:jw-release"), is_task("sst:other"), is_task("reviews.csv")
    (True, False, False)
    """
    task, preparation = name_parts(name)
    return task in TASKS and (preparation is None or task in PREPARATIONS.get(preparation, ()))


def load_task(
    source: Any,
    *,
    data_dir: Path | str | None = None,
    trainable: bool = True,
    text_column: str | None = None,
    label_column: str | None = None,
    skip_bad_rows: bool = False,
    merge_labels: bool = False,
) -> Corpus:
    """Load data: a task by name, a file, a pandas or polars data frame, or `(texts, labels)`.

    A task's name may include a preparation from PREPARATIONS, as in `sst:jw-release`.

    Args:
        source: the name, path, data frame or pair of lists; a corpus is returned as it is.
        data_dir: folder of the corpora that do not come with heatcheck; see `data_folder`.
        trainable: False accepts data that can be audited but not trained on: a single class, or no train split.
        text_column, label_column: names of the columns, if not `text` and `label`. Case does not matter.
        skip_bad_rows: leave out rows that cannot be used, such as rows with an empty text, and count them in `dropped`.
        merge_labels: merge labels that differ only in case and spaces.

    Returns:
        The corpus, with its labels and its train, dev and test splits.

    >>> len(load_task("planted_keyword")["test"])
    1000
    """
    expect_if_given("a text", text_column=text_column, label_column=label_column)
    reading = Reading(text_column, label_column, skip_bad_rows, merge_labels)
    if reading != Reading() and (isinstance(source, Corpus) or (isinstance(source, str) and is_task(source))):
        name = source.name if isinstance(source, Corpus) else source
        raise BadInput(
            f"{name} is a built-in task. Leave out --text-column, --label-column, --skip-bad-rows and --merge-labels: "
            "they are for your own files."
        )
    if isinstance(source, Corpus):
        return source
    if isinstance(source, tuple) and len(source) == 2:
        texts, labels = source
        return read_lists(list(texts), list(labels), trainable=trainable, reading=reading)
    if hasattr(source, "to_dicts") or (hasattr(source, "to_dict") and hasattr(source, "columns")):
        return read_frame(source, trainable=trainable, reading=reading)
    if not isinstance(source, str | Path):
        kind = type(source).__name__
        raise BadInput(f"data cannot be a {kind}. Give the name of a task, a file, a data frame or (texts, labels).")
    if is_task(str(source)):
        return _read_task(str(source), data_folder(data_dir), trainable)
    # A name with a suffix or a folder in it is meant as a file, even if it is not there.
    if Path(source).suffix or Path(source).parent != Path():
        return read_file(source, trainable=trainable, reading=reading)
    task, preparation = name_parts(str(source))
    if task in TASKS and preparation is not None:
        raise UnknownName(f"preparation of {task}", preparation, [n for n, of in PREPARATIONS.items() if task in of])
    raise UnknownName("task", str(source), TASKS)


def _read_task(name: str, folder: Path, trainable: bool) -> Corpus:
    task, asked = name_parts(name)
    corpus = TASKS[task].read(folder)
    if not trainable and "train" not in corpus.splits:
        return corpus
    check_corpus(corpus)
    preparation = TASKS[task].preparation if asked is None else PREPARATIONS[asked][task]
    if preparation is None:
        return corpus
    return check_corpus(replace(prepare(corpus, preparation), name=name))
