"""Where sentences end."""

import gzip
import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatcheck.data import sentence_of


@pytest.mark.parametrize(
    "sentences",
    [
        ["so bad"],
        ["it is bad .", "i left ."],
        ["it is bad.", "I left!", "Why?", "because"],
        ['he said : " it is bad . "', "i left ."],
        ["he left . ''", "`` so did she . ''", "the end"],
        ['"It is bad."', "I left."],
        ["it is ( so it seems . )", "bad"],
        ["it ended . -RRB-", "good"],
        ["what ? !", "find out . . .", "now"],
        ["so it is . . ."],
        ["mr . smith and Mrs. Smith left .", "Dr. No stayed"],
        ["J.R.R. Tolkien and H. G. Wells wrote .", "so did i .", "and you"],
        ["it costs 3.5 at best .", "no"],
        [". ", "and then"],
        ["it was bad .", '" never again "'],
    ],
)
def test_sentences_are_numbered(sentences):
    words = " ".join(sentences).split(" ")
    expected = [number for number, sentence in enumerate(sentences) for _ in sentence.split(" ")]
    assert list(sentence_of(words)) == expected


@given(st.lists(st.sampled_from(["a", "b.", ".", "!", '"', ")", "''", "", " ", "Mr.", "X."]), max_size=25))
def test_every_word_is_in_one_sentence_and_every_sentence_has_a_word(words):
    numbers = sentence_of(words)
    assert len(numbers) == len(words)
    assert all(later - earlier in (0, 1) for earlier, later in pairwise(numbers))
    if any(word.strip() for word in words):
        for number in range(numbers[-1] + 1):
            assert any(word.strip() for word, mine in zip(words, numbers, strict=True) if mine == number)
    assert not numbers or numbers[0] == 0


def test_sentences_of_eraser_are_found(real_corpora):
    """Their own cuts as the measure: most of ours are theirs, and most of theirs are ours."""
    both = ours = theirs = 0
    with gzip.open(real_corpora / "eraser_movies.jsonl.gz", "rt", encoding="utf-8") as lines:
        for _, line in zip(range(60), lines, strict=False):
            row = json.loads(line)
            numbers = sentence_of(row["text"].split(" "))
            mine = {place for place in range(1, len(numbers)) if numbers[place] != numbers[place - 1]}
            starts, place = set(), 0
            for length in row["sentence_lengths"][:-1]:
                place += length
                starts.add(place)
            both, ours, theirs = both + len(mine & starts), ours + len(mine), theirs + len(starts)
    assert both / ours > 0.9
    assert both / theirs > 0.8
