"""How an audited model is retrained: by its own recipe or, for a transformer that has none, by a made-up one."""

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
    """The store of the model's retrained models; None for a model whose twins are closed forms."""
    if isinstance(subject, KnowsItsTwins):
        return None
    if (reason := cannot_refit(subject)) is not None:
        raise BadInput(f"{reason.rstrip('.')}: leave out --refit.")
    assert isinstance(subject, Trainable)
    from_hub = subject.recipe is None
    if trained_on is None:
        on = (
            f"was trained on {subject.recipe.task}, which heatcheck does not find"
            if subject.recipe
            else "does not name its training data"
        )
        raise BadInput(f"{subject.id} {on}. Name the training data with --train.")
    if not from_hub:
        return Fits(subject, trained_on, store=store, vectors=vectors, device=device)
    # Retrained models number their labels as the corpus does, and are compared with the model label by label.
    corpus = as_numbered_by(subject.labels, trained_on)
    own = plan_recipe(corpus, model=subject.id)
    return Fits(subject, corpus, store=store, vectors=vectors, device=device, own=own)


def cannot_refit(subject: Subject) -> str | None:
    """Why heatcheck cannot retrain a model; None where it can, or where the model's twins are closed forms."""
    if isinstance(subject, KnowsItsTwins):
        return None
    if isinstance(subject, Trainable) and (subject.recipe is not None or subject.id.startswith(HUB)):
        return None
    return f"{subject.id} has no training recipe, so heatcheck cannot retrain it."


def can_be_treated(subject: Subject) -> bool:
    """Whether `heatcheck treat` can train the model again with treatments of its attention."""
    recipe = subject.recipe
    if recipe is None or recipe.impose is not None or (recipe.loss or {}).get("name") != "likelihood":
        return False
    return "encoder" in recipe.model and not recipe.model.get("hierarchical")


def made_up(fits: Fits | None) -> str | None:
    """What a reader must know about retrained models whose recipe is not the model's own."""
    if fits is None or fits.own is None:
        return None
    return (
        f"{fits.subject.id} has no training recipe. Its retrained models start from its own encoder with a new head; "
        f"heatcheck fine-tunes them on {fits.corpus.name} for {fits.own.training['epochs']} epochs."
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
