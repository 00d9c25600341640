"""Tasks of sequences: what is to be written follows from the source, and the alignment says how."""

import gzip
import json
from collections import Counter

import numpy as np
import pytest

from corpora import rows_of
from heatcheck.data import TASKS, Example, Split, draw_sequences, load_task
from heatcheck.errors import BadInput, UnknownName
from heatcheck.training.jobs import keep_corpus, read_corpus

GENERATED = ("bigram_flip", "copy_distinct", "copy_iid", "copy_permutation", "sequence_copy", "sequence_reverse")


def small(name, **changes):
    return draw_sequences(name, sizes=(60, 5, 5), **changes)


@pytest.mark.parametrize("name", GENERATED)
def test_each_target_word_is_the_source_word_it_is_linked_to(name):
    for example in small(name)["train"]:
        source, target = example.words, example.text_pair.split(" ")
        assert [source[i] for i, _ in example.alignment] == [target[j] for _, j in example.alignment]
        assert [j for _, j in example.alignment] == list(range(len(target))), "one link for each word to be written"
        assert sorted(i for i, _ in example.alignment) == list(range(len(source)))


def test_what_is_done_to_a_sequence():
    orders = {"sequence_copy": (0, 1, 2, 3), "sequence_reverse": (3, 2, 1, 0), "bigram_flip": (1, 0, 3, 2)}
    for name, order in orders.items():
        example = small(name, symbols=10, lengths=(4, 4))["train"].examples[0]
        assert tuple(i for i, _ in example.alignment) == order
        assert example.text_pair.split() == [example.words[i] for i in order]


def test_the_three_copies_differ_in_what_a_bag_of_words_knows():
    permuted, distinct, repeated = (
        [example.words for example in small(f"copy_{name}")["train"]] for name in ("permutation", "distinct", "iid")
    )
    assert {len(words) for words in (*permuted, *distinct, *repeated)} == {40}
    assert len({frozenset(words) for words in permuted}) == 1, "every permutation has the same bag"
    assert all(len(set(words)) == 40 for words in distinct)
    assert len({frozenset(words) for words in distinct}) == 60
    assert all(len(set(words)) < 40 for words in repeated)
    assert {w for words in distinct for w in words} == {f"w{n:02d}" for n in range(60)}


def test_lengths_are_as_published():
    lengths = [len(example.words) for example in draw_sequences("sequence_copy", sizes=(2000, 1, 1))["train"]]
    assert (min(lengths), max(lengths)) == (1, 32)
    assert abs(np.mean(lengths) - 16.5) < 1
    flipped = {len(example.words) for example in small("bigram_flip")["train"]}
    assert flipped <= set(range(2, 33, 2))
    assert len(flipped) > 8


def test_more_of_a_task_begins_with_less_of_it_and_splits_differ():
    few, many = draw_sequences("copy_iid", sizes=(5, 5, 5)), draw_sequences("copy_iid", sizes=(20, 5, 5))
    assert many["train"].examples[:5] == few["train"].examples
    assert few["train"].examples[0].text != few["dev"].examples[0].text
    assert (
        draw_sequences("copy_iid", sizes=(5, 5, 5), seed=1)["train"].examples[0].text != few["train"].examples[0].text
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"lengths": (3, 3)}, "multiples of 2"), ({"lengths": (0, 0)}, "multiples of 2")],
)
def test_impossible_flips_are_refused(changes, said):
    with pytest.raises(BadInput, match=said):
        small("bigram_flip", **changes)


def test_other_mistakes_are_refused():
    with pytest.raises(BadInput, match="cannot draw 40 distinct symbols from 30"):
        small("copy_permutation", symbols=30)
    with pytest.raises(UnknownName, match="sequence_copy"):
        draw_sequences("sequence_copie")


def test_an_alignment_is_part_of_a_fingerprint_and_none_is_not():
    plain, linked = Example("a", "x y", "y x"), Example("a", "x y", "y x", alignment=((1, 0), (0, 1)))
    assert Split("train", (plain,)).fingerprint == "9bdb3f3a2278", "fits of older corpora would be made again"
    assert Split("train", (linked,)).fingerprint != Split("train", (plain,)).fingerprint


def test_a_corpus_is_kept_with_its_alignments(tmp_path):
    corpus = small("bigram_flip")
    assert read_corpus(tmp_path / keep_corpus(corpus, tmp_path)) == corpus


def test_multi30k_is_read_with_its_alignments(real_corpora, tmp_path):
    rows = rows_of(real_corpora / "multi30k_pruthi_align.jsonl.gz")
    assert Counter(row["split"] for row in rows) == TASKS["multi30k"].sizes
    words = sum(len(row["tgt"].split(" ")) for row in rows)
    assert abs(sum(len(row["align"]) for row in rows) / words - 0.97) < 0.01, "as many links a word as the spec counts"
    kept = [row for split in ("train", "test") for row in rows if row["split"] == split][-1010:-990]
    corpus = load_task("multi30k", data_dir=write(tmp_path / "data", kept))
    first, row = corpus["train"].examples[0], kept[0]
    assert (first.id, first.text, first.text_pair) == (row["id"], row["src"], row["tgt"])
    assert first.alignment == tuple(map(tuple, row["align"]))
    assert {len(corpus["train"]), len(corpus["test"])} == {10}


def test_an_alignment_beyond_its_texts_is_refused(tmp_path):
    row = {"id": "a", "split": "train", "src": "a b", "tgt": "c", "align": [[1, 1]]}
    with pytest.raises(BadInput, match="outside its 2 and 1 words"):
        load_task("multi30k", data_dir=write(tmp_path / "data", [row]))


def test_alignments_made_by_hand_are_turned_round(tmp_path):
    gold = {"id": "a", "split": "test", "lang_pair": "deen", "src": "das haus", "tgt": "house", "sure": [[1, 0]]}
    folder = write(tmp_path / "data", [gold, {**gold, "id": "b", "lang_pair": "enfr"}], "gold_alignments")
    corpus = load_task("gold_en_de", data_dir=folder, trainable=False)
    (example,) = corpus["test"]
    assert (example.text, example.text_pair, example.alignment) == ("house", "das haus", ((0, 1),))
    assert corpus.dropped == {"another pair of languages": 1}
    with pytest.raises(BadInput, match=r"gold_en_de has no split 'train'. Its splits: test"):
        load_task("gold_en_de", data_dir=folder)


def test_alignments_made_by_hand_are_all_there(real_corpora):
    corpus = load_task("gold_en_de", data_dir=real_corpora, trainable=False)
    assert len(corpus["test"]) == TASKS["gold_en_de"].sizes["test"]
    assert sum(len(example.alignment) for example in corpus["test"]) == 1232


def write(folder, rows, name="multi30k_pruthi_align"):
    folder.mkdir()
    with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    return folder


def test_an_epoch_of_a_copy_is_two_hundred_steps():
    assert TASKS["copy_iid"].sizes["train"] == 200 * 128
    assert not TASKS["copy_iid"].labels, "nothing is labelled"
