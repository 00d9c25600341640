"""What the local page (`heatcheck serve`) can show of each model, found out once when the page starts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import torch

from heatcheck.data import Corpus, Example, is_task, load_task
from heatcheck.errors import BadInput, HeatcheckError, MissingPackage, NotSupported
from heatcheck.explainers import EXPLAINERS, explain_one
from heatcheck.models import HasLayers, Seq2Seq, Subject, asked_of, require_words
from heatcheck.serve.schema import ModelFacts, Offered, Sample
from heatcheck.serve.shown_text import SLOW, labels_of
from heatcheck.training import own_corpus

SAMPLES = 6
SAMPLE_WORDS = range(4, 41)  # a length that fits on one screen
# Shown if no text of the model's own data is on this machine; few classifiers are trained on such a topic.
NEUTRAL = Sample(text="The weather was mild, and we walked home along the river.", text_pair=None, label=None)
NEUTRAL_QUESTION = "How did we get home?"
PROBE = Example("probe", "a good film .")


def offer(name: str, subject: Subject, training: str = "", folder: Path | str | None = None) -> ModelFacts:
    """The facts of a model, and which explainers work on it; each is tried on a few words.

    Args:
        training: why the page cannot show the model's training; empty if it can.
        folder: the model's folder, if its name is not its folder.
    """
    if subject.recipe is not None and subject.recipe.impose is not None:
        raise BadInput(
            f"{name} was trained with imposed weights, so it has no heatmap of its own: choose another model."
        )
    if isinstance(subject, Seq2Seq):
        raise BadInput(
            f"{name} is a sequence-to-sequence model; the page shows classifiers only: choose another model."
        )
    samples = _samples(subject, Path(folder or name))
    pair = _pair(subject, samples)
    if not samples:
        samples = [NEUTRAL.model_copy(update={"text_pair": NEUTRAL_QUESTION if pair == "needed" else None})]
    probe = Example("probe", PROBE.text, "a film ?" if pair == "needed" else None)
    batch = subject.encode([probe])
    with torch.no_grad():
        run = subject.run(batch, want=subject.sites[-1:])
    if run.logits.shape[1] > 1:
        raise BadInput(f"{name} makes {run.logits.shape[1]} decisions per text; the page shows models that make one.")
    deep = isinstance(subject, HasLayers)
    try:
        require_words(subject, "moving weights by hand")
        movable = ""
    except NotSupported as error:
        movable = str(error)
    return ModelFacts(
        name=name,
        id=subject.id,
        labels=labels_of(subject, run.logits.shape[-1]),
        asked=asked_of(subject),
        pair=pair,
        layers=len(subject.sites) if deep else 0,
        heads=run.parts[subject.sites[-1]].shape[1] if deep else 0,
        movable=movable,
        training=training,
        explainers=[_offered(subject, probe, explainer) for explainer in EXPLAINERS],
        samples=samples,
    )


def _offered(subject: Subject, probe: Example, name: str) -> Offered:
    explainer = EXPLAINERS[name]
    why_not = ""
    try:
        # This also warms up: code that compiles on first use compiles before a user waits for it.
        explain_one(subject, [probe], name)
    except (NotSupported, MissingPackage) as error:
        why_not = str(error)
    return Offered(name=name, about=explainer.about, signed=explainer.signed, slow=name in SLOW, why_not=why_not)


def _pair(subject: Subject, samples: Sequence[Sample]) -> Literal["needed", "possible", "no"]:
    settings = getattr(subject, "settings", None)
    if getattr(settings, "segments", 1) == 2 or any(sample.text_pair for sample in samples):
        return "needed"
    return "possible" if isinstance(subject, HasLayers) and not asked_of(subject) else "no"


def corpus_of(subject: Subject, folder: Path) -> Corpus | None:
    """The task or file the model was trained on, if it is on this machine and unchanged."""
    task = subject.recipe.task if subject.recipe else subject.id.rpartition("@")[2]
    name = task.partition("@")[0]
    try:
        return load_task(name) if is_task(name) else own_corpus(task, folder)
    except HeatcheckError:
        return None


def _samples(subject: Subject, folder: Path) -> list[Sample]:
    """A few test examples to try."""
    corpus = corpus_of(subject, folder)
    if corpus is None:
        return []
    fitting = [e for e in corpus["test"] if len(e.words) in SAMPLE_WORDS]
    return [
        Sample(
            text=e.text,
            text_pair=e.text_pair,
            label=corpus.labels[e.label] if isinstance(e.label, int) else None,
        )
        for e in fitting[:SAMPLES]
    ]
