"""Examples, splits and corpora: the data of a task, independent of any model."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from heatcheck.data.reading import Source
from heatcheck.data.tokens import MASKED, spaces_alone, split_words, word_spans
from heatcheck.errors import BadInput

SplitName = Literal["train", "dev", "test"]
Span: TypeAlias = tuple[int, int, int]  # 0 for the text or 1 for its pair, first character, first one after
SPLITS: tuple[SplitName, ...] = ("train", "dev", "test")


@dataclass(frozen=True)
class Example:
    """One example: a text, or a passage and a question, with its label and its marked words.

    `marks` flag `words`: a human rationale, impermissible words, … `options` are the labels this example may have, such
    as the entities of its own passage; None allows every label of the task. In a sequence-to-sequence task `alignment`
    links the words of the two texts, as pairs (word of `text`, word of `text_pair`) counted from 0.

    A space separates words, unless `spans` gives the position of each word. A model that scores both texts, or that
    reads a script without spaces, sets `spans`. The model cannot see the words numbered in `masked`; the text itself
    does not change.

    >>> Example("a", "not bad", label=1, marks={"rationale": (True, True)}).words
    ('not', 'bad')
    """

    id: str
    text: str
    text_pair: str | None = None
    label: int | tuple[int, ...] | None = None
    marks: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    options: tuple[int, ...] | None = None
    alignment: tuple[tuple[int, int], ...] | None = None
    spans: tuple[Span, ...] | None = None
    masked: tuple[int, ...] = ()  # ascending

    def but(self, **changed: Any) -> "Example":
        """The same with some fields changed, as by `dataclasses.replace`: checks do this a hundred thousand times.

        >>> Example("a", "not so bad").but(text="bad").text
        'bad'
        """
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__)
        found.__dict__.update(changed)
        return found

    @property
    def words(self) -> tuple[str, ...]:
        """The words that marks and scores refer to: the text split at each space, or at `spans`."""
        if self.spans is None:
            return tuple(split_words(self.text))
        return tuple(self.texts[which][start:end] for which, start, end in self.spans)

    @property
    def texts(self) -> tuple[str, ...]:
        """The text, and the second text if there is one."""
        return (self.text,) if self.text_pair is None else (self.text, self.text_pair)

    @property
    def places(self) -> tuple[Span, ...]:
        """The position of each word."""
        return tuple((0, *span) for span in word_spans(self.text)) if self.spans is None else self.spans

    @property
    def masked_text(self) -> str:
        """The text with each masked word replaced by the unknown word.

        >>> Example("a", "not so bad", masked=(1,)).masked_text
        'not <unk> bad'
        """
        if not self.masked:
            return self.text
        if self.spans is None and spaces_alone(self.text):  # as most are, and checks mask words all the time
            words = self.text.split(" ")
            for number in self.masked:
                words[number] = MASKED
            return " ".join(words)
        places, text = self.places, self.text
        for which, start, end in (places[number] for number in reversed(self.masked)):
            text = text[:start] + MASKED + text[end:] if which == 0 else text
        return text

    def facts(self) -> dict[str, Any]:
        """The example as plain JSON, without empty fields.

        >>> Example("a", "not bad", label=1).facts()
        {'id': 'a', 'text': 'not bad', 'label': 1}
        """
        known = {
            name: value for name, value in vars(self).items() if value not in (None, {})
        }  # asdict copies each mark
        return known if self.masked else {name: value for name, value in known.items() if name != "masked"}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "Example":
        """Restore an example from its `facts`, after a round trip through JSON."""
        label, options, alignment = facts.get("label"), facts.get("options"), facts.get("alignment")
        spans = facts.get("spans")
        if not (isinstance(facts["id"], str) and isinstance(facts["text"], str)):
            raise TypeError("an example's id and text must be strings")
        return cls(
            facts["id"],
            facts["text"],
            facts.get("text_pair"),
            tuple(label) if isinstance(label, list) else label,
            {name: tuple(marked) for name, marked in facts.get("marks", {}).items()},
            None if options is None else tuple(options),
            None if alignment is None else tuple((source, target) for source, target in alignment),
            None if spans is None else tuple((which, start, end) for which, start, end in spans),
            tuple(facts.get("masked", ())),
        )


@dataclass(frozen=True)
class Split:
    """A named list of examples. Splits with the same examples in the same order have the same fingerprint."""

    name: str
    examples: tuple[Example, ...]

    @cached_property
    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for example in self.examples:
            marks = sorted((name, list(marked)) for name, marked in example.marks.items())
            fields: list[object] = [example.id, example.text, example.text_pair, example.label, marks]
            if example.options is not None:  # what has none keeps the fingerprint it always had
                fields.append(list(example.options))
            if example.alignment is not None:
                fields.append({"alignment": example.alignment})
            if example.spans is not None or example.masked:
                fields.append({"spans": example.spans, "masked": example.masked})
            digest.update(json.dumps(fields).encode() + b"\n")
        return digest.hexdigest()[:12]

    def __len__(self) -> int:
        return len(self.examples)

    def __iter__(self) -> Iterator[Example]:
        return iter(self.examples)


@dataclass(frozen=True)
class Corpus:
    """The data of a task: its labels, and its examples in splits."""

    name: str
    labels: tuple[str, ...]
    splits: Mapping[str, Split]
    tokens: str = "words"  # how its words become tokens: a name in data.TOKENIZERS
    given_split: bool = True  # False: cut by hash, because the source has none
    dropped: Mapping[str, int] = field(default_factory=dict)  # reason -> how many of the source are not in any split
    source: Source | None = field(default=None, compare=False)  # the user's file it was read from

    def __getitem__(self, split: str) -> Split:
        if split not in self.splits:
            raise BadInput(f"{self.name} has no split {split!r}. Its splits: {', '.join(self.splits)}.")
        return self.splits[split]

    @property
    def of_sequences(self) -> bool:
        """Whether the task is sequence-to-sequence: generate the second text from the first, without labels."""
        return not self.labels

    @property
    def segments(self) -> int:
        """2 for pairs of texts, such as a passage and a question; otherwise 1."""
        return 2 if any(e.text_pair is not None for split in self.splits.values() for e in split) else 1

    @cached_property
    def reference(self) -> str:
        """`name@fingerprint`: identifies exactly these examples, wherever they were read from."""
        parts = [self.labels, self.tokens, [(name, split.fingerprint) for name, split in self.splits.items()]]
        return f"{self.name}@{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]}"


def check_corpus(corpus: Corpus) -> Corpus:
    """Return the corpus; raise BadInput if no classifier can be trained and tested on it."""
    for name in ("train", "test"):
        if not len(corpus[name]):
            raise BadInput(f"the {name} split of {corpus.name} is empty. It needs at least one example.")
    if corpus.of_sequences:
        return corpus
    seen = {example.label for example in corpus["train"]}
    if len(seen) < 2:
        only = ", ".join(corpus.labels[label] for label in seen if isinstance(label, int))
        raise BadInput(f"the train split of {corpus.name} has only one class ({only}). Add examples of a second class.")
    return corpus
