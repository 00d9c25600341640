"""What a task yields: examples, in splits that know their name and fingerprint. Knows no model."""

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
    """One text, or a passage and its question, with what is known about it.

    `marks` are over `words`: a human rationale, impermissible words, … `options` are the labels this example may
    have, such as the entities of its own passage; None = all of the task's. Where the second text is to be written
    from the first, `alignment` links words of the two: pairs of (word of `text`, word of `text_pair`), from 0.

    Words are what stands between spaces of the text, unless `spans` says where they stand: a subject that scores both
    texts, or reads a script without spaces, cuts its examples so. Words that are `masked`, by number, are hidden from
    the subject; the text stays as it was written.

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

    @property
    def words(self) -> tuple[str, ...]:
        """The text cut at each space, or as `spans` say: what marks and scores are counted over."""
        if self.spans is None:
            return tuple(split_words(self.text))
        return tuple(self.texts[which][start:end] for which, start, end in self.spans)

    @property
    def texts(self) -> tuple[str, ...]:
        """The text, and its pair where it has one."""
        return (self.text,) if self.text_pair is None else (self.text, self.text_pair)

    @property
    def places(self) -> tuple[Span, ...]:
        """Where each word stands."""
        return tuple((0, *span) for span in word_spans(self.text)) if self.spans is None else self.spans

    @property
    def masked_text(self) -> str:
        """The text as a subject reads it that knows words only: each masked word is an unknown one.

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
        """As JSON has it, without what is not known.

        >>> Example("a", "not bad", label=1).facts()
        {'id': 'a', 'text': 'not bad', 'label': 1}
        """
        known = {
            name: value for name, value in vars(self).items() if value not in (None, {})
        }  # asdict copies each mark
        return known if self.masked else {name: value for name, value in known.items() if name != "masked"}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "Example":
        """What `facts` gave, read from JSON, which knows no tuples."""
        label, options, alignment = facts.get("label"), facts.get("options"), facts.get("alignment")
        spans = facts.get("spans")
        if not (isinstance(facts["id"], str) and isinstance(facts["text"], str)):
            raise TypeError("an example's id and text are texts")
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
    """Examples with a name. Two splits with the same fingerprint hold the same examples in the same order."""

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
    """A task that has been read: its labels and its splits."""

    name: str
    labels: tuple[str, ...]
    splits: Mapping[str, Split]
    tokens: str = "words"  # how its words become tokens: a name in data.TOKENIZERS
    given_split: bool = True  # False: cut by hash, because the source has none
    dropped: Mapping[str, int] = field(default_factory=dict)  # reason -> how many of the source are not in any split
    source: Source | None = field(default=None, compare=False)  # the user's file it was read from

    def __getitem__(self, split: str) -> Split:
        if split not in self.splits:
            raise BadInput(f"task {self.name} has no split {split!r}; it has {', '.join(self.splits)}.")
        return self.splits[split]

    @property
    def of_sequences(self) -> bool:
        """Whether its second texts are to be written from the first: there are no labels then."""
        return not self.labels

    @property
    def segments(self) -> int:
        """2 for pairs of texts (a passage and a question), else 1."""
        return 2 if any(e.text_pair is not None for split in self.splits.values() for e in split) else 1

    @cached_property
    def reference(self) -> str:
        """`name@fingerprint`: names these very examples, wherever they were read from."""
        parts = [self.labels, self.tokens, [(name, split.fingerprint) for name, split in self.splits.items()]]
        return f"{self.name}@{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]}"


def check_corpus(corpus: Corpus) -> Corpus:
    """The corpus itself, or one sentence about why nothing can be trained and tested on it."""
    for name in ("train", "test"):
        if not len(corpus[name]):
            raise BadInput(f"the {name} split of {corpus.name} is empty.")
    if corpus.of_sequences:
        return corpus
    seen = {example.label for example in corpus["train"]}
    if len(seen) < 2:
        only = ", ".join(corpus.labels[label] for label in seen if isinstance(label, int))
        raise BadInput(
            f"the train split of {corpus.name} has one class only ({only}): a classifier needs at least two labels."
        )
    return corpus
