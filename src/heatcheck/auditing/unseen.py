"""Chooses the rows of the data to audit: those that the model was not trained on, with a note about the others."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from heatcheck.data import SPLITS, Corpus, Example, Seen, seen_in
from heatcheck.errors import BadInput
from heatcheck.models import KnowsItsTwins, Subject, Trainable

REASONS = {"train": "in its train split", "dev": "in its dev split"}


class Rows(NamedTuple):
    """The rows of a split that can be audited, and what happened to those that the model was trained on."""

    split: str
    examples: tuple[Example, ...]
    left_out: Mapping[str, int]  # reason -> rows of the split that are not in `examples`
    said: str  # about the rows that it was trained on; empty where there is nothing to say


def choose_rows(
    subject: Subject, corpus: Corpus, split: str | None, *, trained_on: Corpus | None, named: bool, name: str
) -> Rows:
    """The rows of a split that the subject was not trained on, by their texts.

    Two kinds of rows stay although it was trained on them, and are counted: those of a split that was asked for by
    name (but test), and those that a corpus repeats in its own test split, so that scores stay comparable.

    Args:
        split: as asked for; None: test, or every row of data without splits.
        trained_on: what the subject was trained on, where it is known.
        named: whether it was named by the user.
        name: what the report calls the subject.
    """
    own = [subject.recipe.task] if subject.recipe is not None else []
    own += [trained_on.reference] if named and trained_on is not None else []
    very_data = corpus.reference in own
    chosen = split or ("test" if corpus.given_split or very_data else "all")
    whole = _rows_of(corpus, chosen)
    seen = _seen_by(subject, trained_on, named=named)
    if seen is None:
        return Rows(chosen, whole, {}, "" if isinstance(subject, KnowsItsTwins) else _not_known(subject, name))
    met = seen.split_of(whole)
    count = sum(one is not None for one in met)
    if split in ("train", "dev", "all") or (very_data and chosen == "test"):
        return Rows(chosen, whole, {}, _why_they_stay(count, len(whole), chosen, name, asked=split is not None))
    unmet = tuple(example for example, one in zip(whole, met, strict=True) if one is None)
    if not unmet:
        raise BadInput(
            f"{name} was trained with all {len(whole):,} rows of {corpus.name}, in its train and dev splits. "
            "Name other rows with --data, or audit these rows anyway with --split all."
        )
    left_out = {REASONS[one]: rows for one, rows in Counter(filter(None, met)).items()}
    ordered = {reason: left_out[reason] for reason in REASONS.values() if reason in left_out}
    return Rows(chosen, unmet, ordered, _left_out(ordered, len(whole), name))


def _rows_of(corpus: Corpus, split: str) -> tuple[Example, ...]:
    names = [name for name in SPLITS if name in corpus.splits] if split == "all" else [split]
    whole = tuple(example for name in names for example in corpus[name])
    if not whole:
        raise BadInput(f"the {split} split of {corpus.name} is empty; name another with --split.")
    return whole


def _seen_by(subject: Subject, trained_on: Corpus | None, *, named: bool) -> Seen | None:
    """What its folder says; of an older folder, its data where that is found; and what the user says."""
    kept = subject.seen if isinstance(subject, Trainable) else None
    if trained_on is None or not (named or (kept is None and subject.recipe is not None)):
        return kept
    found = seen_in(trained_on)
    return found if kept is None else kept.joined(found)


def _left_out(left_out: Mapping[str, int], whole: int, name: str) -> str:
    if not left_out:
        return ""
    counted = " and ".join(f"{rows:,} {reason}" for reason, rows in left_out.items())
    return (
        f"heatcheck left out {sum(left_out.values()):,} of the {whole:,} rows, because {name} was trained with them "
        f"({counted}; compared by their texts)."
    )


def _why_they_stay(count: int, whole: int, split: str, name: str, *, asked: bool) -> str:
    if not count:
        return ""
    why = f"They stay, because --split {split} asks for them" if asked else "They stay: the corpus repeats them in test"
    return f"{name} was trained with {count:,} of the {whole:,} rows. {why}."


def _not_known(subject: Subject, name: str) -> str:
    why = "an older heatcheck made its folder" if subject.recipe is not None else "it was not trained here"
    return (
        f"heatcheck does not know the training data of {name} ({why}), so some of these rows may be in it. Name it "
        "with --train, and heatcheck leaves those rows out."
    )
