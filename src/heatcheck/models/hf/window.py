"""Texts that are longer than what a model reads at once."""

from collections.abc import Sequence

from heatcheck.data import Example
from heatcheck.models.hf.pieces import NO_FRAME, Cutter

BATCH = 256  # texts
MARKS = 8  # tokens that a tokenizer adds around a text, at most


def too_long(cutter: Cutter, examples: Sequence[Example]) -> dict[int, int]:
    """The places of texts with more tokens than the model reads, and how many each has with all that is around it."""
    before, after, special = cutter.frame
    room = cutter.longest - (0 if cutter.frame == NO_FRAME else len(cutter.tokenizer(before + after)["input_ids"]))
    # A token is a byte of the text at least, and a tokenizer adds a few around it: most texts need no counting.
    unsure = [
        place
        for place, example in enumerate(examples)
        if sum(len(text.encode()) for text in example.texts) > room - MARKS
    ]
    found: dict[int, int] = {}
    for paired in (False, True):
        alike = [place for place in unsure if (examples[place].text_pair is not None) == paired]
        for start in range(0, len(alike), BATCH):
            places = alike[start : start + BATCH]
            texts = [f"{before}{examples[place].text}{after}" for place in places]
            pairs = [examples[place].text_pair for place in places] if paired else None
            ids = cutter.tokenizer(texts, pairs, add_special_tokens=special, verbose=False)["input_ids"]
            found |= {place: len(one) for place, one in zip(places, ids, strict=True) if len(one) > cutter.longest}
    return found
