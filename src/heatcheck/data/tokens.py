"""From words to tokens: how a text is cut into the pieces that a vocabulary knows."""

import re
from collections.abc import Callable

from heatcheck.errors import UnknownName

MASKED = "<unk>"  # what a masked word reads to a subject that knows words only
# Clitics stand apart as in the Penn treebank (do n't, it 's), because pretrained vectors were made that way.
_PIECE = re.compile(r"[^\W_]+(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|ll|d|m)\b|[^\W_]+|[^\w\s]+|_+", re.IGNORECASE)


def _spaces(word: str) -> list[str]:
    return [word] if word else []


def _words(word: str) -> list[str]:
    return [word] if word == MASKED else _PIECE.findall(word)  # a masked word stays one token


_SPACES = str.maketrans("\t\n\r\f\v", "     ")
_BREAKS = re.compile(r"[\t\n\r\f\v]")


def spaces_alone(text: str) -> bool:
    """Whether nothing but a space stands between any two words, so that `text.split(" ")` are the words.

    >>> spaces_alone("not so bad"), spaces_alone("not so\\nbad")
    (True, False)
    """
    return _BREAKS.search(text) is None


def split_words(text: str) -> list[str]:
    """A text cut at each plain space, tab or line break: what marks and scores are counted over.

    >>> split_words("not so\\nbad")
    ['not', 'so', 'bad']
    """
    return text.translate(_SPACES).split(" ")  # not str.split(): a no-break space is part of a word


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where each of these words stands: its first character, and the first one after it.

    >>> word_spans("not so\\nbad")
    [(0, 3), (4, 6), (7, 10)]
    """
    found, start = [], 0
    for word in split_words(text):
        found.append((start, start + len(word)))
        start += len(word) + 1
    return found


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {"spaces": _spaces, "words": _words}


def tokenize(text: str, rule: str, *, lowercase: bool = True) -> list[tuple[str, int]]:
    """Tokens of a text, each with the number of the word it comes from.

    >>> tokenize("It isn't bad!", "words")
    [('it', 0), ('is', 1), ("n't", 1), ('bad', 2), ('!', 2)]
    >>> tokenize("It is n't bad !", "spaces", lowercase=False)[2]
    ("n't", 2)
    """
    if rule not in TOKENIZERS:
        raise UnknownName("tokenizer", rule, TOKENIZERS)
    cut = TOKENIZERS[rule]
    words = split_words(text.lower() if lowercase else text)
    return [(token, number) for number, word in enumerate(words) for token in cut(word)]
