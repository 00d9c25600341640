"""Alignment error rates and BLEU against cases worked out by hand."""

import math

import numpy as np
import pytest

from heatcheck import stats
from heatcheck.errors import BadInput


def rate(found, sure, possible):
    return float(stats.alignment_error_rate(stats.alignment_counts([found], [sure], [possible]))[0])


def test_error_rates_by_hand():
    sure, possible = {(0, 0), (1, 1)}, {(2, 2)}
    assert rate(sure, sure, possible) == 0.0
    assert rate(sure | possible, sure, possible) == 0.0, "a possible link is no mistake"
    assert rate({(0, 0)}, sure, possible) == pytest.approx(1 - 2 / 3), "one sure link of two is missing"
    assert rate({(0, 0), (1, 1), (3, 3)}, sure, possible) == pytest.approx(1 - 4 / 5), "one link too many"
    assert rate({(3, 3)}, sure, possible) == 1.0


def test_texts_are_pooled_not_averaged():
    counts = stats.alignment_counts([{(0, 0)}, {(9, 9)}], [{(0, 0)}, {(0, 0), (1, 1), (2, 2)}], [set(), set()])
    assert stats.alignment_error_rate(counts.mean(0, keepdims=True))[0] == pytest.approx(1 - 2 / 6)


def test_weight_on_links_does_not_see_padding():
    weights = np.array([[[0.75, 0.25, 0.0], [0.5, 0.5, 0.0], [0.1, 0.2, 0.7]]])
    aligned = np.zeros((1, 3, 3), dtype=bool)
    aligned[0, 0, 0] = aligned[0, 1, :2] = aligned[0, 2, 2] = True
    valid = np.array([[True, True, False]])
    assert stats.aligned_mass(weights, aligned, valid).tolist() == [[1.75, 2.0]]
    longer = [np.pad(a, ((0, 0), (0, 2), (0, 2)), constant_values=True) for a in (weights, aligned)]
    assert stats.aligned_mass(longer[0], longer[1], np.pad(valid, ((0, 0), (0, 2)))).tolist() != [[1.75, 2.0]], (
        "padded tokens must carry no weight"
    )
    longer[0][..., 3:] = 0
    assert stats.aligned_mass(longer[0], longer[1], np.pad(valid, ((0, 0), (0, 2)))).tolist() == [[1.75, 2.0]]


def bleu(found, wanted):
    counts = stats.bleu_counts([text.split() for text in found], [text.split() for text in wanted])
    return float(stats.bleu(counts.mean(0, keepdims=True))[0])


def test_bleu_by_hand():
    # 5 of 6 words, 3 of 5 pairs, 2 of 4 triples, 1 of 3 quadruples are right; nothing is too short.
    found, wanted = ["the", "big", "cat", "is", "on", "the"], ["the", "cat", "is", "on", "the", "mat"]
    assert bleu([" ".join(found)], [" ".join(wanted)]) == pytest.approx(
        100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25, rel=1e-12
    )


def test_bleu_punishes_what_is_too_short_and_counts_no_word_twice():
    assert bleu(["a b c d"], ["a b c d e f"]) == pytest.approx(100 * math.exp(1 - 6 / 4))
    assert bleu(["a b c d e f"], ["a b c d"]) == pytest.approx(100 * (4 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)
    assert stats.bleu_counts([["the"] * 7], [["the", "cat", "is", "on", "the", "mat"]])[0, 0] == 2, "clipped"


def test_bleu_is_of_the_corpus_not_a_mean_of_texts():
    assert bleu(["a b c d", "x"], ["a b c d", "y"]) == pytest.approx(100 * (4 / 5) ** 0.25)
    assert bleu(["a b c", "x"], ["a b c", "y"]) == 0.0, "no four words in a row are right"
    assert bleu([""], ["a b"]) == 0.0, "nothing written is no error"


def test_unequal_numbers_of_texts_are_refused():
    with pytest.raises(BadInput, match="2 generated texts"):
        stats.bleu_counts([["a"], ["b"]], [["a"]])
    with pytest.raises(BadInput, match="sure 1"):
        stats.alignment_counts([set(), set()], [set()], [set(), set()])
