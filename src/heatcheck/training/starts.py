"""The first weights of an adversary: drawn anew, or its parent's, perhaps with an attention that looks elsewhere."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from heatcheck.data import Example
from heatcheck.errors import BadInput
from heatcheck.models import Classifier, FlatClassifier, Recipe, Site, Subject, Trainable, load_folder
from heatcheck.models.classifiers.context_free import ContextFree

SPREAD = 3.0  # nats: standard deviation of the scores within a text, so that a few random words have most of the weight
MEASURED = 256  # texts on which it is


def set_start(subject: Trainable, recipe: Recipe, store: Path, examples: Sequence[Example]) -> None:
    """Set an adversary's first weights and what is trained: the whole model, or only its attention.

    Its parent's own attention is a saddle: where the weights are the parent's, the divergence has no gradient. So with
    `start="away"`, and where only the attention is trained, that part is drawn anew.
    """
    start, only_attention = recipe.loss.get("start"), recipe.loss.get("trains") == "attention"
    if start in ("parent", "away"):
        parent = load_folder(store / recipe.loss["parent"], device=str(subject.device))
        if not _of_one_kind(parent, subject):
            raise BadInput(
                f"start={start} needs a model of the same kind and size as its parent, which {subject.id} is not."
            )
        theirs = parent.state_dict()
        if only_attention or start == "away":
            theirs |= {name: own for name, own in subject.state_dict().items() if name.startswith("attention.")}
        subject.load_state_dict(theirs)
    if start == "away":
        _look_elsewhere(subject, examples[:MEASURED])
    if only_attention:
        assert isinstance(subject, Classifier)  # `check_recipe` refuses others
        subject.requires_grad_(False)
        subject.attention.requires_grad_(True)


def can_look_elsewhere(subject: Subject) -> bool:
    """Whether a model's attention has a scorer that can be drawn anew, and its states know their context.

    In a model without context only the words that decide can tell the answer, so that attention goes back to them.
    """
    if not isinstance(subject, FlatClassifier) or isinstance(subject.encoder, ContextFree):
        return False
    return isinstance(getattr(subject.attention, "score", None), nn.Linear)


@torch.no_grad()
def _look_elsewhere(subject: Trainable, examples: Sequence[Example]) -> None:
    """Sharpen a freshly drawn attention, whose weights would else be nearly uniform, as its parent's often are."""
    if not can_look_elsewhere(subject):
        raise BadInput(
            f"start=away needs an encoder that reads context, and an attention with a scorer of its own. {subject.id} "
            "does not have both."
        )
    assert isinstance(subject, FlatClassifier)
    was_training = subject.training
    subject.eval()
    batch = subject.encode(examples)
    scores = subject.run(batch, want=[Site("score")]).parts[Site("score")][:, 0, 0].double()
    subject.train(was_training)
    kept = batch.scored
    count = kept.sum(1, keepdim=True)
    centred = (scores - (scores * kept).sum(1, keepdim=True) / count) * kept
    spread = (centred.square().sum() / kept.sum()).sqrt()
    scorer = subject.attention.score
    assert isinstance(scorer, nn.Linear)
    if spread > 0:  # texts of one word each have no spread, and nowhere else to look
        scorer.weight.mul_(float(SPREAD / spread))


def _of_one_kind(one: Trainable, other: Trainable) -> bool:
    """Whether the parameters of one model fit the other."""
    if isinstance(one, Classifier) and isinstance(other, Classifier):
        return one.vocabulary == other.vocabulary and one.settings.encoder == other.settings.encoder
    shapes = [{name: tensor.shape for name, tensor in of.state_dict().items()} for of in (one, other)]
    return type(one) is type(other) and shapes[0] == shapes[1]
