"""Planted tasks: nothing but the rationale tells the label."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from heatcheck import stats
from heatcheck.data import TASKS, load_task
from heatcheck.data.planted import OPINIONS, SIZES, VALUES, WRITERS, planted
from heatcheck.errors import BadInput, UnknownName

FIRST = ["planted_first", "planted_second"]
OPINION_TASKS = [*FIRST, "planted_keyword", "planted_majority", "planted_contrast", "planted_twins", "reviews"]


def bag_of_words_score(train, test):
    """Smoothed log-odds of each word for the second label, summed over a text's words: a naive Bayes."""
    counts = {}
    for words, label in train:
        for word in words:
            counts.setdefault(word, [1, 1])[label] += 1
    odds = {word: np.log(seen[1] / seen[0]) for word, seen in counts.items()}
    return np.array([sum(odds.get(word, 0) for word in words) for words, _ in test])


def texts(split, *, with_rationale):
    return [
        ([w for w, marked in zip(e.words, e.marks["rationale"], strict=True) if with_rationale or not marked], e.label)
        for e in split
    ]


@pytest.mark.parametrize("name", OPINION_TASKS)
def test_without_its_rationale_a_text_says_nothing(name):
    corpus = load_task(name)
    test = texts(corpus["test"], with_rationale=False)
    score = bag_of_words_score(texts(corpus["train"], with_rationale=False), test)
    gold = np.array([label for _, label in test]) == 1
    spread = norm.ppf(0.9995) / np.sqrt(12 * len(gold) / 4)  # of an AUC under chance
    assert abs(stats.roc_auc(score, gold) - 0.5) < spread


@pytest.mark.parametrize("name", [*FIRST, "planted_keyword", "planted_majority", "planted_twins"])
def test_with_it_a_bag_is_enough(name):
    corpus = load_task(name)
    test = texts(corpus["test"], with_rationale=True)
    score = bag_of_words_score(texts(corpus["train"], with_rationale=True), test)
    assert stats.roc_auc(score, np.array([label for _, label in test]) == 1) > 0.97


@pytest.mark.parametrize("name", ["planted_contrast", "reviews"])
def test_a_bag_cannot_tell_which_opinion_decides(name):
    """The Bayes rate of a bag of five opinions is 11/16; nothing a bag does can be clearly above it."""
    corpus = load_task(name)
    test = texts(corpus["test"], with_rationale=True)
    score = bag_of_words_score(texts(corpus["train"], with_rationale=True), test)
    right = np.mean((score > 0) == (np.array([label for _, label in test]) == 1))
    bayes = 11 / 16 if name == "planted_contrast" else 0.8
    assert 0.55 < right < bayes + 0.05


def test_contrast_is_what_it_says():
    for example in load_task("planted_contrast")["test"]:
        (place,) = [n for n, marked in enumerate(example.marks["rationale"]) if marked]
        words = example.words
        assert words[place - 1] == "but"
        assert words[place] in OPINIONS[example.label]
        assert words.count("but") == words.count(",") == words.count(".") == 1
        assert sum(word in OPINIONS[0] + OPINIONS[1] for word in words) == 5


def test_lookup_is_what_it_says():
    for example in load_task("planted_lookup")["test"]:
        pairs = dict(word.split(":") for word in example.words if ":" in word)
        assert sorted(pairs.values()) == list(VALUES), "each value once, so a guess is right one time in six"
        assert pairs[example.text_pair] == VALUES[example.label]


def test_majority_has_no_ties():
    for example in load_task("planted_majority")["test"]:
        votes = [word in OPINIONS[1] for word in example.words if word in OPINIONS[0] + OPINIONS[1]]
        assert example.label == (2 * sum(votes) > len(votes))


def test_the_same_examples_every_time():
    again = TASKS["planted_contrast"].read(Path()).reference
    assert load_task("planted_contrast").reference == again


@pytest.mark.parametrize(
    "reference",
    [
        "planted_contrast@19acb78bb1cb",
        "planted_first@28e38f488e12",
        "planted_keyword@aeca95d54fbb",
        "planted_lookup@489e31826e8d",
        "planted_majority@57cdab946491",
        "planted_second@5460670cd598",
        "planted_twins@1608da83568e",
    ],
)
def test_the_same_examples_for_ever(reference):
    """Pinned: a change here silently changes every published number on these tasks."""
    name = reference.partition("@")[0]
    assert load_task(name).reference == reference
    assert planted(name).reference == reference


@pytest.mark.parametrize("name", WRITERS)
def test_other_texts_of_the_same_task(name):
    """Another seed shares no text; lengths are as asked for; sizes too."""
    usual = planted(name, seed=0)
    other = planted(name, seed=1, fillers=(9, 11), sizes=(60, 20, 40))
    assert {split: len(examples) for split, examples in other.splits.items()} == {"train": 60, "dev": 20, "test": 40}
    texts_of = [{e.text for split in corpus.splits.values() for e in split} for corpus in (usual, other)]
    assert not texts_of[0] & texts_of[1]
    beside = {"planted_contrast": 8, "planted_lookup": 6, "planted_majority": 7, "planted_twins": 2}
    assert {len(e.words) - beside.get(name, 1) for split in other.splits.values() for e in split} == {9, 10, 11}
    assert all(sum(e.marks["rationale"]) >= 1 for e in other["test"])
    assert list(other.splits) == list(SIZES)


def test_a_text_without_its_rationale_says_nothing_at_other_lengths_either():
    corpus = planted("planted_contrast", seed=5, fillers=(6, 30))
    test = texts(corpus["test"], with_rationale=False)
    score = bag_of_words_score(texts(corpus["train"], with_rationale=False), test)
    gold = np.array([label for _, label in test]) == 1
    assert abs(stats.roc_auc(score, gold) - 0.5) < norm.ppf(0.9995) / np.sqrt(12 * len(gold) / 4)


def test_texts_that_cannot_be_written():
    with pytest.raises(UnknownName, match=r"unknown planted task 'planted_peas'"):
        planted("planted_peas")
    with pytest.raises(BadInput, match="1 ≤ fewest ≤ most, not 5 and 4"):
        planted("planted_keyword", fillers=(5, 4))
    with pytest.raises(BadInput, match="6 pieces need at least 5 filler words between them, but got 3"):
        planted("planted_contrast", fillers=(3, 3))


@pytest.mark.parametrize("name", [*OPINION_TASKS, "planted_lookup"])
def test_labels_are_balanced_and_sizes_as_listed(name):
    corpus = load_task(name)
    assert {split: len(examples) for split, examples in corpus.splits.items()} == TASKS[name].sizes
    share = np.bincount([e.label for e in corpus["train"]]) / len(corpus["train"])
    assert abs(share - 1 / len(corpus.labels)).max() < 0.05
