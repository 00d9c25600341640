"""Ids computed from content (a hash of plain facts), and random generators seeded by a seed and a purpose."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.random.bit_generator import ISeedSequence

from heatcheck.errors import BadInput

Facts: TypeAlias = Mapping[str, Any]
"""Plain JSON: settings, recipes, manifests."""


def plain(value: object, where: str = "") -> Any:
    """The value as plain JSON (tuples become lists); raise BadInput naming any place that JSON cannot hold.

    >>> plain({"model": {"sizes": (1, 2)}})
    {'model': {'sizes': [1, 2]}}
    >>> plain({"model": {"sizes": [1, float("nan")]}})
    Traceback (most recent call last):
    heatcheck.errors.BadInput: 'model.sizes[1]' is nan, which JSON cannot hold. Use None instead.
    """
    place = repr(where) if where else "the value"
    if isinstance(value, float) and not math.isfinite(value):
        raise BadInput(f"{place} is {value}, which JSON cannot hold. Use None instead.")
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise BadInput(f"{place} has the key {key!r}. JSON keys must be strings.")
        return {key: plain(item, f"{where}.{key}" if where else key) for key, item in value.items()}
    raise BadInput(
        f"{place} has the type {type(value).__name__}. Use strings, numbers, booleans, None, lists and dicts."
    )


def nulled(value: Any) -> Any:
    """The value as strict JSON for display: numbers that are not finite become null, and keys become strings.

    >>> nulled({"low": float("-inf"), 1: (0.5, float("nan"))})
    {'low': None, '1': [0.5, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): nulled(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [nulled(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def content_id(facts: Facts, *, length: int = 12) -> str:
    """A stable id: the first hexadecimal digits of the SHA-256 of the facts.

    The order of keys does not matter, nor tuple or list. 1 and 1.0 are different facts: settle the types of
    settings before hashing them.

    >>> content_id({"seed": 0, "model": {"encoder": "lstm"}})
    '3c30f70e6ea2'
    >>> content_id({"model": {"encoder": "lstm"}, "seed": 0})
    '3c30f70e6ea2'
    """
    return _digest(facts).hex()[:length]


def stream(seed: int, *purpose: str | int) -> np.random.Generator:
    """A random generator for a seed and a purpose: each name gives its own numbers.

    One generator for a whole batch would make results depend on the order of its examples; one for each
    example does not.

    >>> stream(0, "permutation", "example-7").permutation(5).tolist()
    [4, 1, 0, 3, 2]
    """
    # Philox is a counter-based cipher: streams with different keys are independent by design.
    key: Any = _Key(_digest([seed, *purpose])[:16])  # numpy takes any ISeedSequence, and its types know of one alone
    return np.random.Generator(np.random.Philox(key))


class _Key(ISeedSequence):
    """A key for Philox as it is: given as `key=`, numpy asks the system for entropy first, for as long as all else."""

    def __init__(self, digest: bytes) -> None:
        self._digest = digest

    def generate_state(self, n_words: int, dtype: Any = np.uint64) -> Any:  # noqa: ARG002 - numpy names both
        """Its two words, the lower one first: the digest is a number written from the highest digit on."""
        return np.frombuffer(self._digest, dtype=">u8")[::-1].astype(np.uint64)


def seed_of(seed: int, *purpose: str | int) -> int:
    """A whole number below 2⁶⁴ by the same name as a stream: for a generator that starts from one, many times over.

    >>> seed_of(0, "permutation", "example-7") == seed_of(0, "permutation", "example-7") != seed_of(1, "permutation")
    True
    """
    return int.from_bytes(_digest([seed, *purpose])[:8], "big")


# Made once: `json.dumps` makes an encoder at each call, and there is a stream for each example of each draw.
_COMPACT = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def _digest(value: object) -> bytes:
    return hashlib.sha256(_COMPACT.encode(plain(value)).encode()).digest()
