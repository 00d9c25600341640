"""A treebank in the data folder: sentences with the head and the relation of each word (Universal Dependencies).

`ud_ewt_train.jsonl.gz` and `ud_ewt_devtest.jsonl.gz` hold the English Web Treebank. A text is put together again from
its words and the spaces between them, and each word keeps its place in it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from heatcheck.data.example import Example
from heatcheck.data.rows import read_rows
from heatcheck.errors import BadInput

FILES = ("ud_ewt_train", "ud_ewt_devtest")


@dataclass(frozen=True)
class Sentence:
    """A parsed sentence. `head` is the number of each word's head, counted from 0; -1 is the root.

    >>> found = Sentence("a", ("Do", "n't", "go"), (2, 2, -1), ("aux", "advmod", "root"), (False, True, False))
    >>> found.text, found.example.words
    ("Don't go", ('Do', "n't", 'go'))
    """

    id: str
    words: tuple[str, ...]
    head: tuple[int, ...]
    relation: tuple[str, ...]
    space_after: tuple[bool, ...]

    @property
    def text(self) -> str:
        spaced = (f"{word} " if space else word for word, space in zip(self.words, self.space_after, strict=True))
        return "".join(spaced).rstrip(" ")

    @property
    def example(self) -> Example:
        """The text as an example whose words are the treebank's."""
        spans, start = [], 0
        for word, space in zip(self.words, self.space_after, strict=True):
            spans.append((0, start, start + len(word)))
            start += len(word) + space
        return Example(self.id, self.text, spans=tuple(spans))


class Treebank(NamedTuple):
    """Sentences of one split, and how many of the file are not among them, by reason."""

    sentences: tuple[Sentence, ...]
    dropped: dict[str, int]


def load_treebank(split: str, folder: Path, *, at_most: int | None = None) -> Treebank:
    """Read the sentences of `train`, `dev` or `test`.

    Args:
        at_most: so many, evenly spread over the split.
    """
    if split not in ("train", "dev", "test"):
        raise BadInput(f"a treebank has the splits train, dev and test, not {split!r}.")
    path = folder / f"{FILES[0] if split == 'train' else FILES[1]}.jsonl.gz"
    if not path.is_file():
        raise BadInput(
            f"the treebank {path.name} is missing: copy it to {folder}, or name its folder with --data-dir or "
            "HEATCHECK_DATA."
        )
    found: list[Sentence] = []
    dropped: Counter[str] = Counter()
    for row in read_rows(path):
        if row.values.get("split") != split:
            continue
        made = _sentence(row.values, row.where)
        if isinstance(made, str):
            dropped[made] += 1
        else:
            found.append(made)
    if not found:
        raise BadInput(f"{path.name} has no sentence of the split {split}. Download it again.")
    return Treebank(tuple(spread(found, at_most)), dict(dropped))


def spread(sentences: list[Sentence], at_most: int | None) -> Iterable[Sentence]:
    """So many of them, evenly spread: a treebank is ordered by source."""
    if at_most is None or at_most >= len(sentences):
        return sentences
    return [sentences[place * len(sentences) // at_most] for place in range(at_most)]


def _sentence(fields: Mapping[str, Any], where: str) -> Sentence | str:
    try:
        words = tuple(fields["tokens"])
        head = tuple(int(number) - 1 for number in fields["head"])
        relation, spaces = tuple(fields["deprel"]), tuple(bool(space) for space in fields["space_after"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{where} cannot be read as a parsed sentence: {error}. Download the file again.") from None
    if not len(words) == len(head) == len(relation) == len(spaces):
        raise BadInput(f"{where}: tokens, head, deprel and space_after differ in length. Download the file again.")
    if any(not -1 <= number < len(words) for number in head):
        raise BadInput(f"{where}: a word has a head outside its sentence. Download the file again.")
    if len(words) < 2:
        return "it has a single word"
    if any(not word or word != word.strip() for word in words):
        return "it has a word that is empty or has spaces around it"
    return Sentence(str(fields["id"]), words, head, relation, spaces)
