"""Corpus BLEU-4 (Papineni et al. 2002) on the words as given: one reference per text, no smoothing.

It follows the definition of sacrebleu with `--tokenize none --smooth-method none`, but was not compared with it. Other
tools tokenize, lower-case or smooth differently, and their BLEU differs by points. Name the tool of each number.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from heatcheck.errors import BadInput

ORDERS = 4


def bleu_counts(found: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> Float[np.ndarray, "example 10"]:
    """Per text: correct n-grams (clipped) for n = 1 to 4, generated n-grams, generated words, reference words.

    >>> bleu_counts(["the the cat".split()], ["the cat".split()]).tolist()
    [[2.0, 1.0, 0.0, 0.0, 3.0, 2.0, 1.0, 0.0, 3.0, 2.0]]
    """
    if len(found) != len(references):
        raise BadInput(
            f"there are {len(found)} generated texts but {len(references)} references. Give one reference per text."
        )
    rows = []
    for written, wanted in zip(found, references, strict=True):
        right = [sum((_grams(written, n) & _grams(wanted, n)).values()) for n in range(1, ORDERS + 1)]
        out_of = [max(0, len(written) - n + 1) for n in range(1, ORDERS + 1)]
        rows.append([*right, *out_of, len(written), len(wanted)])
    return np.array(rows, dtype=float).reshape(len(rows), 2 * ORDERS + 2)


def bleu(means: Float[np.ndarray, "draw 10"]) -> Float[np.ndarray, " draw"]:
    """BLEU-4, 0 to 100 (higher is better), from means or sums of `bleu_counts`; 0 if no 4-gram is correct.

    >>> wanted = "the cat is on the mat".split()
    >>> [round(float(x), 2) for x in bleu(bleu_counts(["the cat sat on the mat".split(), wanted], [wanted, wanted]))]
    [0.0, 100.0]
    """
    right, out_of = means[:, :ORDERS], means[:, ORDERS : 2 * ORDERS]
    some = (right > 0).all(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.exp(np.log(np.where(right > 0, right, 1) / np.where(out_of > 0, out_of, 1)).mean(axis=1))
        # Shorter than the references is punished, longer is not: precision does that.
        brevity = np.exp(np.minimum(0, 1 - means[:, -1] / means[:, -2]))
    return np.asarray(100 * np.where(some, precision * brevity, 0.0))


def _grams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1))
