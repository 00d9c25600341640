"""A word vocabulary: tokens to numbers and back."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from heatcheck.data.example import Example
from heatcheck.data.tokens import tokenize

PAD, UNKNOWN, START, END = range(4)
SPECIAL = ("<pad>", "<unk>", "<sos>", "<eos>")


@dataclass(frozen=True)
class Vocabulary:
    """Tokens in a fixed order; the first four are padding, unknown, start and end.

    >>> vocabulary = Vocabulary((*SPECIAL, "bad", "not"), rule="spaces", lowercase=True)
    >>> vocabulary.look_up("not so bad")
    ([5, 1, 4], [0, 1, 2])
    """

    tokens: tuple[str, ...]
    rule: str
    lowercase: bool

    @cached_property
    def _number(self) -> dict[str, int]:
        # A text that contains "<pad>" does not get to write padding.
        return {token: number for number, token in enumerate(self.tokens) if number >= len(SPECIAL)}

    @cached_property
    def _look_up(self) -> Callable[[str], tuple[list[int], list[int]]]:
        # Training reads every text once an epoch: cutting it again costs a tenth of a step at length 180.
        @lru_cache(maxsize=100_000)
        def look_up(text: str) -> tuple[list[int], list[int]]:
            pieces = tokenize(text, self.rule, lowercase=self.lowercase)
            return [self._number.get(token, UNKNOWN) for token, _ in pieces], [word for _, word in pieces]

        return look_up

    def look_up(self, text: str) -> tuple[list[int], list[int]]:
        """Token numbers of a text, and the word each comes from."""
        return self._look_up(text)

    def forget(self) -> None:
        """Empty the cache of texts that were looked up."""
        self.__dict__.pop("_look_up", None)

    def __len__(self) -> int:
        return len(self.tokens)

    def __getstate__(self) -> dict[str, object]:
        return {"tokens": self.tokens, "rule": self.rule, "lowercase": self.lowercase}  # the cache stays here

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)


def build_vocabulary(
    texts: Iterable[str],
    *,
    min_documents: int = 1,
    rule: str = "words",
    lowercase: bool = True,
    always: Iterable[str] = (),
) -> Vocabulary:
    """Build a vocabulary of all tokens that occur in at least `min_documents` texts, plus those in `always`, sorted.

    >>> build_vocabulary(["good good", "not good"], min_documents=2).tokens[4:]
    ('good',)
    """
    documents: Counter[str] = Counter()
    for text in texts:
        documents.update({token for token, _ in tokenize(text, rule, lowercase=lowercase)})
    kept = sorted({*always, *(token for token, count in documents.items() if count >= min_documents)})
    return Vocabulary((*SPECIAL, *(token for token in kept if token not in SPECIAL)), rule, lowercase)


def texts_of(examples: Iterable[Example]) -> list[str]:
    """All first and second texts of the examples, for a vocabulary over both."""
    return [text for e in examples for text in (e.text, e.text_pair) if text is not None]
