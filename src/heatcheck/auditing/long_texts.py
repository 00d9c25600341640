"""Leaves out texts that a model cannot read, and says which; says which texts it reads only the beginning of."""

from collections.abc import Sequence

from heatcheck.auditing.unseen import Rows
from heatcheck.data import Example
from heatcheck.models import Subject
from heatcheck.models.contract.lengths import JOINED, TOO_LONG, GoesOn, HasWindow, say_cut, texts_apart, texts_that_fit

NAMED = 5  # of the texts that are left out


def without_long_texts(subject: Subject, rows: Rows) -> Rows:
    """The rows that the subject can read; of a model that cuts long texts, all of them."""
    if not isinstance(subject, HasWindow) or subject.cuts:
        return rows
    found = subject.too_long(rows.examples)
    if not found:
        return rows
    kept = tuple(texts_that_fit(subject, rows.examples))
    said = f"{rows.said} {_left_out(subject, rows.examples, found)}".strip()
    return rows._replace(examples=kept, left_out={**rows.left_out, TOO_LONG: len(found)}, said=said)


def without_joined_texts(subject: Subject, rows: Rows) -> Rows:
    """The rows whose text stays apart from a language model's answers; of any other model, all of them."""
    found = subject.joined(rows.examples) if isinstance(subject, GoesOn) else {}
    if not found:
        return rows
    kept = tuple(texts_apart(subject, rows.examples))
    named = ", ".join(f"{rows.examples[place].id}: {word!r}" for place, word in list(found.items())[:NAMED])
    more = f", and {len(found) - NAMED:,} more" if len(found) > NAMED else ""
    texts = "1 text whose end becomes" if len(found) == 1 else f"{len(found):,} texts whose end becomes"
    said = f"{rows.said} heatcheck left out {texts} one token with an answer ({named}{more}).".strip()
    return rows._replace(examples=kept, left_out={**rows.left_out, JOINED: len(found)}, said=said)


def with_remark(subject: Subject, rows: Rows, audited: Sequence[Example]) -> Rows:
    """The rows, and what is to be said of audited texts that were cut."""
    return rows._replace(said=f"{rows.said} {say_cut(subject, audited)}".strip())


def _left_out(subject: HasWindow, examples: Sequence[Example], found: dict[int, int]) -> str:
    longest = sorted(found, key=lambda place: -found[place])
    named = ", ".join(f"{examples[place].id}: {found[place]:,}" for place in longest[:NAMED])
    more = f", and {len(found) - NAMED:,} more" if len(found) > NAMED else ""
    texts = "1 text" if len(found) == 1 else f"{len(found):,} texts"
    return (
        f"heatcheck left out {texts} with more tokens, prompt included, than the {subject.longest:,} that the model "
        f"reads ({named}{more})."
    )
