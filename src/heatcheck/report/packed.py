"""Scores as text for a page's script: as many characters per score as it keeps significant digits.

A report of 500 long texts has a million scores. As JSON each takes six bytes, and half of the texts do not fit into a
file that mail lets through. `examples.js` reads this form.
"""

from collections.abc import Sequence

import numpy as np

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
NONE, ZERO, FIRST = 0, 1, 2  # the codes of no score and of 0, and the first of the others
LOWEST, HIGHEST = -15, 6  # exponents of the first digit; a smaller score is 0, a larger one the largest of these


def packed(scores: Sequence[float | None], digits: int) -> str:
    """Each score, rounded to so many significant digits, as that many characters.

    A score is its sign, its digits and the exponent of the first of them, in one number of base 64.

    >>> packed([None, 0.0, 0.1234, -2.5], digits=2)
    'AAABneqt'
    >>> len(packed([0.1234, 0.5], digits=3))
    6
    """
    values = np.array([np.nan if score is None else score for score in scores], dtype=float)
    finite = np.isfinite(values)
    size = np.where(finite, np.abs(values), 0.0)
    some = size > 0
    exponent = np.floor(np.log10(size, out=np.zeros_like(size), where=some)).astype(int)
    whole = np.rint(size / 10.0 ** (exponent - digits + 1)).astype(int)
    # 0.999 is 1.0 in two digits; and a logarithm may miss a power of ten by one.
    over, under = whole >= 10**digits, some & (whole < 10 ** (digits - 1))
    exponent = exponent + over - under
    whole = np.rint(size / 10.0 ** (exponent - digits + 1)).astype(int)
    large = exponent > HIGHEST
    whole, exponent = np.where(large, 10**digits - 1, whole), np.where(large, HIGHEST, exponent)
    step = 9 * 10 ** (digits - 1)
    code = FIRST + 2 * ((exponent - LOWEST) * step + whole - 10 ** (digits - 1)) + (values < 0)
    code = np.where(some & (exponent >= LOWEST), code, ZERO)
    code = np.where(finite, code, NONE)
    places = 64 ** np.arange(digits - 1, -1, -1)
    return "".join(ALPHABET[place] for place in (code[:, None] // places % 64).ravel())
