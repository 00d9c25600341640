"""Preparations: what the originals do to texts and splits, by name, with everything that is left out counted."""

from collections import Counter
from dataclasses import replace

import pytest

from corpora import load
from heatcheck.data import (
    PREPARATIONS,
    TASKS,
    Corpus,
    Example,
    Preparation,
    Split,
    is_task,
    load_task,
    name_parts,
    prepare,
)
from heatcheck.data.splitting import set_aside
from heatcheck.errors import UnknownName

PREPARED = [
    *("20news_sports:jw-paper", "ade:jw-paper", "ag_news:jw-paper", "babi_1:jw-paper", "sst:jw-paper"),
    *(f"{name}:jw-release" for name in ("20news_sports", "ade", "ag_news", "babi_1", "imdb_small", "snli", "sst")),
]


def corpus_of(*texts: str, **more: object) -> Corpus:
    examples = tuple(Example(str(n), text, label=n % 2, **more) for n, text in enumerate(texts))
    return Corpus("some", ("no", "yes"), {"train": Split("train", examples)})


def texts(corpus: Corpus, split: str = "train") -> list[str]:
    return [example.text for example in corpus[split]]


@pytest.mark.parametrize(
    ("cut", "text", "wanted"),
    [
        (None, " It isn't\t\tBAD , 10/10\n", "It isn't BAD , 10/10"),
        ("words", "It isn't BAD, 10/10", "it is n't bad , qqq / qqq"),
        ("isolate", "It isn't BAD... B2B", "it isn ' t bad . . . qqq"),
        ("strip", "It isn't BAD, -LRB- 21st )", "it isn t bad lrb qqq"),
        ("apostrophes", "It isn't BAD_10/10", "it isn't bad qqq qqq"),
    ],
)
def test_ways_to_cut(cut, text, wanted):
    prepared = prepare(corpus_of(text), Preparation(cut=cut, digits=cut is not None))
    assert texts(prepared) == [wanted]
    assert prepared.tokens == ("words" if cut is None else "spaces")
    assert wanted.split(" ") == list(prepared["train"].examples[0].words)


def test_case_and_digits_are_settings():
    assert texts(prepare(corpus_of("A 1"), Preparation(cut="words", lowercase=False))) == ["A 1"]
    with pytest.raises(UnknownName, match="unknown way to cut words 'spacy'"):
        Preparation(cut="spacy")


def test_the_second_text_and_the_marks_follow():
    """A token is marked as the word it comes from, and a word without a token takes its mark away with it."""
    marks = {"rationale": (False, True, False, True)}
    corpus = corpus_of("I can't -- see,now", text_pair="Why? 9", marks=marks)
    (example,) = prepare(corpus, Preparation(cut="words", digits=True))["train"].examples
    assert example.text == "i ca n't -- see , now"
    assert example.marks["rationale"] == (False, True, True, False, True, True, True)
    assert example.text_pair == "why ? qqq"
    (example,) = prepare(corpus, Preparation(cut="strip"))["train"].examples
    assert example.marks["rationale"] == (False, True, True, True, True)


def test_quotes_and_signatures_of_a_post():
    post = "\nIn article <1@a> bob writes:\n> so bad\n| it is\nNo, it is good.\n\nReally: I\nsaw it.\n--\nEve\nHome\n"
    assert texts(prepare(corpus_of(post), Preparation(replies=False))) == ["No, it is good. Really: I saw it."]
    assert texts(prepare(corpus_of("one line > no quote"), Preparation(replies=False))) == ["one line > no quote"]
    marked = corpus_of(
        "> he said\nyes it is\n\nEve", marks={"rationale": (True, True, True, False, True, False, False, False)}
    )
    (example,) = prepare(marked, Preparation(replies=False))["train"].examples
    assert (example.text, example.marks["rationale"]) == ("yes it is", (False, True, False))


def test_texts_without_a_marked_word_are_left_out_and_counted():
    marks = ({}, {"rationale": (False, False)}, {"rationale": (False, True)})
    examples = tuple(Example(str(n), "a b", label=n % 2, marks=of) for n, of in enumerate(marks))
    corpus = Corpus("some", ("no", "yes"), {name: Split(name, examples) for name in ("train", "test")})
    kept = prepare(corpus, PREPARATIONS["marked"]["eraser_movies"])
    assert [example.id for split in kept.splits.values() for example in split] == ["2", "2"]
    assert kept.dropped == {"no word marked as rationale": 4}


def test_bounds_are_strict():
    corpus = corpus_of("a", "a b", "a b c", "a b c d", "a b c d e")
    kept = prepare(corpus, Preparation(longer_than=2, shorter_than=5))
    assert texts(kept) == ["a b c", "a b c d"]
    assert kept.dropped == {"2 words or fewer": 2, "5 words or more": 1}


def test_extremes_are_dropped_with_their_ties_in_every_split():
    of_length = [" ".join("a" * n) for n in (1, 1, 2, 3, 4, 4)]
    corpus = corpus_of(*of_length)
    corpus = replace(corpus, splits={**corpus.splits, "test": Split("test", corpus["train"].examples[2:])})
    kept = prepare(corpus, Preparation(drop_extremes=True))
    assert (texts(kept), texts(kept, "test")) == (["a a", "a a a"], ["a a a"])
    assert kept.dropped == {"the shortest texts of their split": 3, "the longest texts of their split": 4}
    kept = prepare(corpus, Preparation(drop_extremes=True, longer_than=1))
    assert kept.dropped == {"1 words or fewer": 2, "the longest texts of their split": 4}
    kept = prepare(corpus_of("a b", "b a"), Preparation(drop_extremes=True))
    assert kept.dropped == {"the shortest texts of their split": 2}, "nothing is counted twice"


def in_splits(**sizes: int) -> Corpus:
    splits = {
        split: Split(split, tuple(Example(f"{split}{n}", f"{split} {n}", label=n % 2) for n in range(size)))
        for split, size in sizes.items()
    }
    return Corpus("some", ("no", "yes"), splits)


def sizes(corpus: Corpus) -> dict[str, int]:
    return {name: len(split) for name, split in corpus.splits.items()}


def test_splits():
    two, three = in_splits(train=100, test=40), in_splits(train=80, dev=20, test=40)
    assert sizes(prepare(two, Preparation(dev_share=0.2))) == {"train": 80, "dev": 20, "test": 40}
    assert sizes(prepare(two, Preparation(test_kept=0.25))) == {"train": 100, "test": 10}
    assert prepare(two, Preparation(test_kept=0.25)).dropped == {"beyond the share of test that is kept": 30}
    pooled = prepare(three, Preparation(test_share=0.2, dev_share=0.25))
    assert sizes(pooled) == {"train": 84, "dev": 28, "test": 28}
    assert {e.id.rstrip("0123456789") for e in pooled["test"]} == {"train", "dev", "test"}
    assert sizes(prepare(three, Preparation(dev_share=0.2))) == sizes(three), "a dev split that is there stays"
    none = prepare(three, Preparation(dev_share=0.0))
    assert (sizes(none), none.dropped) == (
        {"train": 80, "test": 40},
        {"in the dev split, which this preparation does not use": 20},
    )
    joined = prepare(three, Preparation(dev_share=0.0, join_dev=True))
    assert (sizes(joined), joined.dropped) == ({"train": 100, "test": 40}, {})


def test_what_is_set_aside_depends_on_the_texts_alone():
    examples = [Example(str(n), f"text {n}", label=int(n > 30)) for n in range(100)]
    kept, aside = set_aside(examples, 0.2)
    assert Counter(e.label for e in aside) == {0: 6, 1: 14}
    turned = [replace(e, id=f"other {e.id}") for e in reversed(examples)]
    assert {e.text for e in set_aside(turned, 0.2)[1]} == {e.text for e in aside}
    assert [e for e in examples if e not in aside] == kept, "in the order they came"
    twice = [*examples, *(replace(e, id=f"again {e.id}", label=1 - e.label) for e in examples)]
    kept, aside = set_aside(twice, 0.2)
    assert not {e.text for e in kept} & {e.text for e in aside}, "not even under another label"
    kept, aside = set_aside(examples, 0.5, group=lambda e: e.id[-1])
    assert (len(kept), len({e.id[-1] for e in aside})) == (50, 5)


def test_names():
    assert is_task("sst")
    assert is_task("sst:jw-paper")
    assert not is_task("planted_keyword:jw-paper")
    assert not is_task("nothing:jw-paper")
    with pytest.raises(UnknownName, match=r"unknown preparation of sst 'jw-papr' .did you mean 'jw-paper'"):
        load_task("sst:jw-papr")
    with pytest.raises(UnknownName, match=r"unknown preparation of planted_keyword 'jw-paper'; known: .$"):
        load_task("planted_keyword:jw-paper")
    with pytest.raises(UnknownName, match="unknown task 'nothing:jw-paper'"):
        load_task("nothing:jw-paper")
    assert all(of.keys() <= TASKS.keys() for of in PREPARATIONS.values())


@pytest.mark.parametrize("name", PREPARED)
def test_prepared_tasks_lose_nothing_silently(some_corpora, name):
    task, preparation = name_parts(name)
    plain, prepared = load(task, some_corpora), load(name, some_corpora)
    assert prepared.name == name
    assert prepared.reference.startswith(f"{name}@")
    whole = {e.id for split in plain.splits.values() for e in split}
    kept = {e.id for split in prepared.splits.values() for e in split}
    assert kept <= whole
    assert len(kept) == sum(len(split) for split in prepared.splits.values())
    assert len(kept) + sum(prepared.dropped.values()) == len(whole) + sum(plain.dropped.values())
    assert ("dev" in prepared.splits) == (preparation == "jw-release")
    assert prepared.labels == plain.labels


def by_label(corpus: Corpus, split: str) -> list[int]:
    counts = Counter(e.label for e in corpus[split])
    return [counts[label] for label in range(len(corpus.labels))]


def test_sst_has_the_published_sizes(real_corpora):
    """Table 1 of the paper, exactly: 3034/3321 and 863/862 sentences of 6 to 47 words, 18.7 on average."""
    corpus = load("sst:jw-paper", real_corpora)
    assert by_label(corpus, "train") == [3034, 3321]
    assert by_label(corpus, "test") == [863, 862]
    lengths = [len(e.words) for e in corpus["train"]]
    assert (min(lengths), max(lengths)) == (6, 47)
    assert sum(lengths) / len(lengths) == pytest.approx(18.704, abs=0.001)


def test_babi_has_the_published_sizes(real_corpora):
    """Lengths of the paper's files, and the vocabulary that the released code printed (with its four marks)."""
    lengths = [len(e.words) for e in load("babi_1:jw-paper", real_corpora)["train"]]
    assert len(lengths) == 10_000
    assert (min(lengths), max(lengths), sum(lengths) / 10_000) == (11, 67, pytest.approx(36.198, abs=0.001))
    release = load("babi_1:jw-release", real_corpora)
    words = {word for e in release["train"] for word in f"{e.text} {e.text_pair}".split(" ")}
    assert len(words) + 4 == 24


def test_ag_news_loses_what_the_original_loses(real_corpora):
    corpus = load("ag_news:jw-paper", real_corpora)
    assert by_label(corpus, "test") == [1900, 1898]


def test_20news_is_near_the_published_sizes(real_corpora):
    """716/710 and 171/183 in the paper; another tokenizer, and a split by hash."""
    corpus = load("20news_sports:jw-paper", real_corpora)
    assert by_label(corpus, "train") == pytest.approx([716, 710], rel=0.05)
    assert by_label(corpus, "test") == pytest.approx([171, 183], rel=0.1)
