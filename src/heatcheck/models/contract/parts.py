"""Models whose last attention is over parts of a text, such as sentences, with another over the tokens of each part.

Checks on weights ask here which keys of the read-out may carry weight, and how much weight ends up on each token.
"""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models.contract.edits import uniform
from heatcheck.models.contract.subject import Edit, Edits, Run, Site, Subject
from heatcheck.models.contract.weights import uniform_weights


@runtime_checkable
class AttendsToParts(Subject, Protocol):
    """A model whose attention sites form a chain from tokens to the read-out: queries of one are keys of the next."""

    part: str  # what the keys of the read-out are, in the singular

    def allowed(self, site: Site, batch: Batch) -> Bool[Tensor, "example query key"]:
        """Where weight may lie at one of its attention sites."""
        ...


@runtime_checkable
class ReadsMore(Subject, Protocol):
    """A model whose read-out attends to other tokens than those with a score.

    It may attend to [CLS], [SEP] and the second text too; or only to the words that it extracted.
    """

    def readable(self, batch: Batch) -> Bool[Tensor, "example key"]: ...


@runtime_checkable
class HasLayers(Subject, Protocol):
    """A transformer: one attention site per layer, each inside a block whose output is one state per token."""

    @property
    def blocks(self) -> tuple[Site, ...]:
        """The output of the block around each attention site."""
        ...

    def rows(self, batch: Batch) -> Int[Tensor, " example"]:
        """The query of the last layer that the answer is read from."""
        ...


@runtime_checkable
class ReadsSomeValues(HasLayers, Protocol):
    """A transformer whose rows may read different parts of the values (Longformer)."""

    def values_read(self, values: Float[Tensor, "example head key feature"]) -> Float[Tensor, "example head key size"]:
        """The part that the row of the answer reads."""
        ...


@runtime_checkable
class HasPlaces(HasLayers, Protocol):
    """A transformer that says where its blocks' parts are, for families whose blocks heatcheck knows."""

    def place(self, what: str, layer: int | None = None) -> Site: ...


@runtime_checkable
class ReadsRows(HasLayers, Protocol):
    """A transformer whose answer is read from several queries, such as an answer of several tokens."""

    def answer_rows(self, batch: Batch) -> Int[Tensor, "example asked"]: ...


def rows_behind(subject: HasLayers, batch: Batch) -> Int[Tensor, "example asked"]:
    """The queries of the last layer that the answer is read from; the heatmap is the mean of their weights."""
    return subject.answer_rows(batch) if isinstance(subject, ReadsRows) else subject.rows(batch)[:, None]


def readable_keys(subject: Subject, batch: Batch) -> Bool[Tensor, "example key"]:
    """The keys of the read-out site that may carry weight: the scored tokens, or the parts of each text."""
    if isinstance(subject, ReadsMore):
        return subject.readable(batch)
    if isinstance(subject, AttendsToParts):
        return subject.allowed(subject.sites[-1], batch)[:, 0]
    return batch.scored


def name_of_keys(subject: Subject) -> str:
    """The name of what the read-out attends to, in the singular: a word, or a part of the text.

    >>> from heatcheck.models import load
    >>> name_of_keys(load("known:reader@planted_keyword"))
    'word'
    """
    return subject.part if isinstance(subject, AttendsToParts) else "word"


def require_words(subject: Subject, what: str) -> None:
    """Raise NotSupported if the read-out attends to something other than words; `what` needs words."""
    if isinstance(subject, AttendsToParts):
        raise NotSupported(f"{what} needs weights over words, but {subject.id} attends to {subject.part}s.")


def require_one_decision(subject: Subject, what: str) -> None:
    """Raise BadInput if the model says yes or no to each label; `what` needs one choice between labels."""
    if getattr(subject, "several", False):
        raise BadInput(
            f"{subject.id} says yes or no to each of its {len(getattr(subject, 'labels', ()))} labels "
            f"(problem_type is multi_label_classification), but {what} needs one choice between labels. Ask about "
            "one label at a time; docs/transformers.md shows how."
        )
    if getattr(getattr(subject, "settings", None), "label_wise", False):
        raise BadInput(f"{subject.id} says yes or no to each label, but {what} needs one choice between labels.")


def has_layers(subject: Subject) -> bool:
    return isinstance(subject, HasLayers) and not getattr(subject, "not_layered", "")


def values_read(
    subject: Subject, values: Float[Tensor, "example head key feature"]
) -> Float[Tensor, "example head key size"]:
    """What the row that the answer is read from reads of the last layer's values."""
    return subject.values_read(values) if isinstance(subject, ReadsSomeValues) else values


def require_layers(subject: Subject, what: str) -> HasLayers:
    """The model as a transformer; raises NotSupported if it is not one."""
    if not isinstance(subject, HasLayers):
        raise NotSupported(f"{what} needs every layer of a transformer, and {subject.id} is not one.")
    if reason := getattr(subject, "not_layered", ""):
        raise NotSupported(f"{what} needs layers with one row that the answer is read from, but {reason}.")
    return subject


@runtime_checkable
class StacksAttention(Subject, Protocol):
    """A user's own module, which may or may not be a stack of encoder layers."""

    @property
    def not_stacked(self) -> str:
        """Why its sites are not the self-attention of every layer of one stack with residuals; "" if they are."""
        ...


def require_stack(subject: Subject, what: str) -> Subject:
    """Raise NotSupported unless the sites are the self-attention of every layer, each with a residual around it."""
    if isinstance(subject, HasLayers) and not getattr(subject, "not_stacked", ""):
        return subject
    if not isinstance(subject, StacksAttention):
        raise NotSupported(f"{what} needs every layer of a transformer, and {subject.id} is not one.")
    if subject.not_stacked:
        raise NotSupported(f"{what} needs one stack of layers: {subject.not_stacked.rstrip('.')}.")
    return subject


def heat_sites(subject: Subject) -> tuple[Site, ...]:
    """The sites whose weights make the heatmap over tokens."""
    return subject.sites if isinstance(subject, AttendsToParts) else subject.sites[-1:]


def token_weights(subject: Subject, run: Run) -> Float[Tensor, "example token"]:
    """The heatmap of the first decision, averaged over heads, from a run that wanted the `heat_sites`.

    A token's weight is its own weight within its part, times the weight of the part.
    """
    *within, last = (run.parts[site] for site in heat_sites(subject))
    heat = run.behind(last).mean(1)
    for weights in reversed(within):
        heat = torch.einsum("eq,eqk->ek", heat, weights.mean(1))
    return heat


def uniform_edits(subject: Subject, batch: Batch) -> Edits:
    """Edits that impose uniform weights at every site of the heatmap, over the keys that may carry weight."""

    def impose(weights: Float[Tensor, "example 1 query key"]) -> Edit:
        return lambda own: weights.to(own.dtype).expand_as(own)

    if getattr(subject, "sinks", False):  # what goes to something that is no token stays there
        even = uniform_weights(readable_keys(subject, batch))
        return {subject.sites[-1]: lambda own: even.to(own.dtype) * own.sum(-1, keepdim=True)}
    if not isinstance(subject, AttendsToParts):
        return {subject.sites[-1]: impose(uniform_weights(readable_keys(subject, batch)))}
    found = {}
    for site in subject.sites:
        allowed = subject.allowed(site, batch)
        found[site] = impose((allowed / allowed.sum(-1, keepdim=True).clamp(min=1))[:, None])
    return found


def uniform_everywhere(subject: Subject, batch: Batch) -> Edits:
    """Edits that impose uniform weights at every attention site, so that none of the model's own attention is left.

    >>> from heatcheck.data import load_task
    >>> from heatcheck.models import load
    >>> subject = load("known:two_layers@planted_lookup")
    >>> edits = uniform_everywhere(subject, subject.encode(load_task("planted_lookup")["test"].examples[:2]))
    >>> [str(site) for site in edits]
    ['attention:first', 'attention']
    """
    if isinstance(subject, AttendsToParts) or len(subject.sites) == 1:
        return uniform_edits(subject, batch)
    if getattr(subject, "sinks", False):  # what goes to something that is no token stays there
        return dict.fromkeys(subject.sites, _uniform_beside_sinks)
    return dict.fromkeys(subject.sites, uniform)


def _uniform_beside_sinks(own: Float[Tensor, "example head query key"]) -> Float[Tensor, "example head query key"]:
    return uniform(own) * own.sum(-1, keepdim=True)
