"""Fixed splits for corpora that have no split, or no dev split."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence

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


def set_aside(
    examples: Sequence[Example], share: float, *, group: Callable[[Example], str] | None = None
) -> tuple[list[Example], list[Example]]:
    """The examples without a share of them, and that share, decided by hash as in `split_by_hash`.

    A share of the texts of each label; or, with `group`, a share of the groups, whatever their labels: then no
    group stands on both sides.

    >>> kept, aside = set_aside([Example(str(n), f"text {n}", label=n % 2) for n in range(20)], 0.2)
    >>> [e.id for e in aside]
    ['10', '14', '15', '17']
    """
    members: dict[object, set[str]] = defaultdict(set)
    if group is None:
        keys = [_key(example) for example in examples]
    else:
        keys = [hashlib.sha256(group(example).encode()).hexdigest() for example in examples]
    for key, example in zip(keys, examples, strict=True):
        members[example.label if group is None else None].add(key)
    chosen: set[str] = set()  # a text under two labels is set aside under both if it is under one
    for found in members.values():
        chosen.update(sorted(found)[: round(share * len(found))])
    sides: tuple[list[Example], list[Example]] = ([], [])
    for key, example in zip(keys, examples, strict=True):
        sides[key in chosen].append(example)
    return sides


def _key(example: Example) -> str:
    return hashlib.sha256(f"{example.text}\0{example.text_pair or ''}".encode()).hexdigest()
