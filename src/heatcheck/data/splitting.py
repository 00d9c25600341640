"""A fixed split for corpora that come without one."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence

from heatcheck.data.example import Example, Split

RULE = "hash-80-10-10"


def split_by_hash(examples: Sequence[Example]) -> dict[str, Split]:
    """80/10/10 within each label, decided by the hash of the text alone.

    The same file is split the same way on any machine, in whatever order its rows stand, and a text that
    occurs twice cannot stand both in train and in test.
    """
    texts: dict[object, set[str]] = defaultdict(set)
    for example in examples:
        texts[example.label].add(_key(example))
    side: dict[str, str] = {}
    for keys in texts.values():
        ordered = sorted(keys)
        tenth = max(1, round(len(ordered) / 10))
        for place, key in enumerate(ordered):
            # A text under two labels keeps its first side.
            side.setdefault(key, "test" if place < tenth else "dev" if place < 2 * tenth else "train")
    return {name: Split(name, tuple(e for e in examples if side[_key(e)] == name)) for name in ("train", "dev", "test")}


def _key(example: Example) -> str:
    return hashlib.sha256(f"{example.text}\0{example.text_pair or ''}".encode()).hexdigest()
