"""How an audited subject is fitted again: by its own recipe or, for a transformer that has none, by a made-up one."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from heatcheck.data import Corpus, Example, Split
from heatcheck.errors import BadInput
from heatcheck.models import KnowsItsTwins, Subject, Trainable
from heatcheck.training import Fits, plan_recipe

HUB = "hf:"


def fits_for(
    subject: Subject, trained_on: Corpus | None, *, store: Path, vectors: Path | str | None, device: str
) -> Fits | None:
    """Where the subject's other fits are; None for one whose fits are closed forms."""
    if isinstance(subject, KnowsItsTwins):
        return None
    if (reason := cannot_refit(subject)) is not None:
        raise BadInput(f"{reason.rstrip('.')}: leave out --refit.")
    assert isinstance(subject, Trainable)
    from_hub = subject.recipe is None
    if trained_on is None:
        on = f"was trained on {subject.recipe.task}, which is not here" if subject.recipe else "does not say its texts"
        raise BadInput(f"{subject.id} {on}: name those texts with --train.")
    if not from_hub:
        return Fits(subject, trained_on, store=store, vectors=vectors, device=device)
    # Other fits number their labels as the corpus does, and are compared with the subject label by label.
    corpus = as_numbered_by(subject.labels, trained_on)
    own = plan_recipe(corpus, model=subject.id)
    return Fits(subject, corpus, store=store, vectors=vectors, device=device, own=own)


def cannot_refit(subject: Subject) -> str | None:
    """Why nobody can train such a model again; None where heatcheck can, or where its fits are closed forms."""
    if isinstance(subject, KnowsItsTwins):
        return None
    if isinstance(subject, Trainable) and (subject.recipe is not None or subject.id.startswith(HUB)):
        return None
    return f"{subject.id} has no training recipe, so heatcheck cannot retrain it."


def made_up(fits: Fits | None) -> str | None:
    """What a reader must know of other fits that no recipe of the subject's own says how to make."""
    if fits is None or fits.own is None:
        return None
    return (
        f"{fits.subject.id} does not say how it was trained: its other fits start from its own encoder, with a new "
        f"head, and are fine-tuned on {fits.corpus.name} for {fits.own.training['epochs']} epochs."
    )


def as_numbered_by(labels: Sequence[str], corpus: Corpus) -> Corpus:
    """The same corpus with these labels, each example's own by name."""
    foreign = [name for name in corpus.labels if name not in labels]
    if foreign:
        raise BadInput(f"{corpus.name} has the label {foreign[0]!r}, which is not among {', '.join(labels)}.")
    number = [list(labels).index(name) for name in corpus.labels]
    splits = {name: Split(name, tuple(numbered(split.examples, number))) for name, split in corpus.splits.items()}
    return replace(corpus, labels=tuple(labels), splits=splits)


def numbered(examples: Sequence[Example], number: Sequence[int]) -> list[Example]:
    """Labels and options under other numbers; a text with several labels keeps what it has."""
    return [
        replace(
            e,
            label=number[e.label] if isinstance(e.label, int) else e.label,
            options=None if e.options is None else tuple(number[option] for option in e.options),
        )
        for e in examples
    ]
