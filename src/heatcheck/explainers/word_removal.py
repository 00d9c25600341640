"""Removes words from an example, by deleting or by masking them; results name the way that was used."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from heatcheck.data import Example
from heatcheck.data.tokens import spaces_alone


def delete(example: Example, places: Collection[int]) -> Example:
    """The text without these words. Each takes one neighbouring space along; a line break or a tab stays.

    >>> delete(Example("a", "not so bad"), {1}).text
    'not bad'
    >>> delete(Example("a", "Good?\\nNot so"), {1}).text
    'Good?\\nso'
    """
    if example.spans is None and spaces_alone(example.text):
        return _delete_between_spaces(example, places)
    stand = example.places
    texts, moved = [], []
    for which, text in enumerate(example.texts):
        words = [(start, end, place not in places) for place, (of, start, end) in enumerate(stand) if of == which]
        left, spans = _without(text, words)
        texts.append(left)
        moved += [(which, *span) for span in spans]
    kept = [place for place in range(len(stand)) if place not in places]
    return replace(
        example,
        text=texts[0],
        text_pair=example.text_pair if len(texts) == 1 else texts[1],
        marks={},
        spans=None if example.spans is None else tuple(moved),
        masked=tuple(number for number, place in enumerate(kept) if place in example.masked),
    )


def _delete_between_spaces(example: Example, places: Collection[int]) -> Example:
    """The same, where nothing but spaces stands between words: checks do this a hundred thousand times an audit."""
    words = example.text.split(" ")
    kept = [place for place in range(len(words)) if place not in places]
    masked = tuple(number for number, place in enumerate(kept) if place in example.masked) if example.masked else ()
    return example.but(text=" ".join([words[place] for place in kept]), marks={}, masked=masked)


def _without(text: str, words: Sequence[tuple[int, int, bool]]) -> tuple[str, list[tuple[int, int]]]:
    """What is left of a text of words (first character, first one after, whether it stays), and where words stand."""
    if not words:
        return text, []
    left, spans = text[: words[0][0]], list[tuple[int, int]]()
    between: list[str] = []  # what stood beside the words that went, since the last that stays
    last = words[0][0]
    for start, end, stays in words:
        between.append(text[last:start])
        last = end
        if stays:
            left += max(between, key=_weight) if spans else ""
            spans.append((len(left), len(left) + end - start))
            left += text[start:end]
            between = []
    return left + text[last:], spans


def _weight(between: str) -> tuple[bool, int]:
    """Which of two things that stood between words is to stay: a line break rather than a space or nothing."""
    return bool(between.strip(" ")), len(between)


def mask(example: Example, places: Collection[int]) -> Example:
    """The same text with these words hidden: the model reads a mask, or an unknown word, instead of each.

    >>> masked = mask(Example("a", "not so bad"), {1})
    >>> masked.text, masked.masked_text
    ('not so bad', 'not <unk> bad')
    """
    return example.but(masked=tuple(sorted({*example.masked, *places})), marks={})


REMOVALS: dict[str, Callable[[Example, Collection[int]], Example]] = {"deletion": delete, "masking": mask}
