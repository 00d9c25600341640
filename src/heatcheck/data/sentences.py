"""Which sentence each word of a text belongs to; a hierarchical model attends over sentences."""

import re
from collections.abc import Sequence

_END = re.compile(r"""[.!?…]["'”’»)\]}]*$""")  # a word that ends a sentence
_AFTER = re.compile(r"""([.!?…"'”’»)\]}]+|-r[rsc]b-)$""", re.IGNORECASE)  # a word that still belongs to what has ended
_QUOTES = frozenset({'"', "'"})  # they open and close alike
_INITIALS = re.compile(r"([^\W\d_]\.)+$")  # the H. of H. G. Wells, or H.G.
_TITLES = frozenset({"dr", "jr", "mr", "mrs", "ms", "prof", "sr", "st", "vs"})


def sentence_of(words: Sequence[str]) -> tuple[int, ...]:
    """The number of the sentence that each word belongs to.

    A sentence ends after a full stop, exclamation mark or question mark and the quotes and brackets that close after
    it, whether they are words of their own or part of one. A title or an initial does not end one; where the mark
    stands apart, an initial cannot be told from a word, so only titles are known.

    >>> sentence_of("It is bad ! ( Or is it ? ) I left .".split(" "))
    (0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2)
    >>> sentence_of("Mr. Smith laughs. So did I".split(" "))
    (0, 0, 0, 1, 1, 1)
    """
    numbers: list[int] = []
    sentence, ended, quotes = 0, False, 0
    before = ""  # the last word that is not empty
    for word in words:
        bare = word.strip()
        closes = bare not in _QUOTES or quotes % 2 == 1
        if ended and bare and not (_AFTER.match(bare) and closes):
            sentence, ended, quotes = sentence + 1, False, 0
        numbers.append(sentence)
        quotes += bare in _QUOTES
        ended = ended or _ends(bare, before)
        before = bare or before
    return tuple(numbers)


def _ends(word: str, before: str) -> bool:
    if _END.search(word) is None or _INITIALS.match(word):
        return False
    return (before if word == "." else word.rstrip(".")).lower() not in _TITLES
