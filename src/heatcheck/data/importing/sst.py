"""Imports `sst`: the Stanford Sentiment Treebank as Penn-style trees in train.txt, dev.txt and test.txt."""

import re
from collections.abc import Iterator

from heatcheck.data.importing.distribution import Distribution
from heatcheck.data.importing.importer import Excluded, Importer, Row
from heatcheck.errors import BadInput

_LEAF = re.compile(r"\(([0-4]) ([^ ()]+)\)")
_NODE = re.compile(r"\(([0-4]) (?:\0 ?)+\)")
_ESCAPED = {"-LRB-": "(", "-RRB-": ")"}


def read_tree(tree: str) -> tuple[int, list[str], list[int]] | None:
    """A tree's own label, its words with the treebank's escapes undone, and their labels; None if it is no tree.

    >>> read_tree("(3 (2 Not) (3 (2 1\\\\/2) (1 -RRB-)))")
    (3, ['Not', '1/2', ')'], [2, 2, 1])
    >>> read_tree("(3 (2 Not)")
    """
    leaves = _LEAF.findall(tree)
    if not leaves:
        return None
    bare, before = _LEAF.sub("\0", tree), ""
    while bare != before:  # from the leaves up, until the root is all there is
        bare, before = _NODE.sub("\0", bare), bare
    if bare != "\0":
        return None
    words = [_ESCAPED.get(word, word.replace("\\/", "/").replace("\\*", "*")) for _, word in leaves]
    return int(tree[1]), words, [int(label) for label, _ in leaves]


def _read(distribution: Distribution) -> Iterator[Row | Excluded]:
    for split in ("train", "dev", "test"):
        with distribution.only(rf"{split}\.txt", f"{split}.txt") as member:
            count = 0
            for number, line in member.lines():
                if not (tree := line.strip("\r\n ")):
                    continue
                found = read_tree(tree)
                if found is None:
                    raise BadInput(
                        f"{member.where}, line {number}: expected a tree with labels 0 to 4, such as (3 (2 a) (3 b))."
                    )
                fine, words, labels = found
                label = None if fine == 2 else int(fine > 2)
                yield {
                    "id": f"sst-{split}-{count}",
                    "split": split,
                    "text": " ".join(words),
                    "label": label,
                    "label_name": "neutral" if label is None else ("negative", "positive")[label],
                    "fine_label": fine,
                    "token_labels": labels,
                }
                count += 1


sst = Importer(
    "sst",
    ("sst",),
    "sst.jsonl.gz",
    "the treebank's page at Stanford NLP (Socher et al. 2013): the trees in PTB format",
    "train.txt, dev.txt and test.txt with one tree per line, in a folder or its zip",
    _read,
    {"train": 8544, "dev": 1101, "test": 2210},
)
