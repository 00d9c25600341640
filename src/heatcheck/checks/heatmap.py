"""Which heatmap of a model an audit is about: the weights of a layer or head, or an explainer's scores."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from heatcheck.data import Example
from heatcheck.engine import Facts
from heatcheck.errors import BadInput, UnknownName
from heatcheck.explainers import ALSO_CALLED, EXPLAINERS, explain_one, find_explainer
from heatcheck.models import Subject, view_of, whole_model

ATTENTION = "attention"  # the explainer that reads the weights at a model's read-out
KINDS = ("last_layer", "layer:NUMBER", "head:LAYER.HEAD", "file:PATH")


@dataclass(frozen=True)
class Heatmap:
    """One picture of a model. Layers and heads count from 1.

    >>> find_heatmap("head:7.3").shown
    'layer 7, head 3'
    """

    name: str = "last_layer"  # as --heatmap takes it
    shown: str = "last layer, mean over heads"
    explainer: str = ATTENTION  # whose scores the heatmap shows
    layer: int | None = None  # None: the last
    head: int | None = None  # None: all
    file: Path | None = None  # of scores that were computed elsewhere

    @property
    def of_weights(self) -> bool:
        """Whether it shows attention weights, which can be replaced."""
        return self.explainer == ATTENTION

    @property
    def is_last_layer(self) -> bool:
        """Whether it shows the last layer, mean over heads, however it was named."""
        return self.of_weights and self.layer is None

    @property
    def is_default(self) -> bool:
        """Whether it is the heatmap that is audited where none is named."""
        return self.name == "last_layer"

    @property
    def facts(self) -> Facts:
        """For whoever reads an audit: how to ask for it again, its name in words, and whose scores it shows."""
        return {"name": self.name, "shown": self.shown, "explainer": self.explainer}

    def of(self, subject: Subject) -> "Heatmap":
        """The same of this model: a layer that is its last is no layer apart."""
        is_last = self.layer == len(whole_model(subject).sites) > 1 and self.head is None
        return replace(self, layer=None) if is_last else self

    def on(self, subject: Subject, examples: Sequence[Example]) -> Subject:
        """The model as this heatmap reads it; raises BadInput or NotSupported where the model has no such heatmap."""
        subject = whole_model(subject)
        if self.layer is not None:
            return view_of(subject, self.layer, self.head, examples)
        if not self.of_weights and self.file is None:
            explain_one(subject, examples[:2], self.explainer)  # before anything runs; one learns from others
        return subject


LAST_LAYER = Heatmap()


def find_heatmap(name: str) -> Heatmap:
    """A heatmap by the name that --heatmap takes.

    >>> find_heatmap("layer:7").shown, find_heatmap("gradient_rollout").shown
    ('layer 7, mean over heads', 'gradient rollout')
    """
    if name in (LAST_LAYER.name, ATTENTION):
        return LAST_LAYER
    kind, colon, rest = name.partition(":")
    if colon and kind in ("layer", "head"):
        found = re.fullmatch(r"(\d{1,6})" if kind == "layer" else r"(\d{1,6})\.(\d{1,6})", rest)
        if found is None:
            how = "layer:7" if kind == "layer" else "head:7.3 for head 3 of layer 7"
            raise BadInput(f"there is no heatmap {name!r}: write {how}, counted from 1.")
        layer, head = int(found[1]), int(found[2]) if kind == "head" else None
        shown = f"layer {layer}, mean over heads" if head is None else f"layer {layer}, head {head}"
        return Heatmap(name, shown, layer=layer, head=head)
    if kind == "file" and colon:
        find_explainer(name)
        return Heatmap(name, f"scores in {Path(rest).name}", name, file=Path(rest))
    explainer = ALSO_CALLED.get(name, name)
    if explainer not in EXPLAINERS:
        raise UnknownName("heatmap", name, [*KINDS, *(one for one in EXPLAINERS if one != ATTENTION)])
    return Heatmap(explainer, explainer.replace("_", " "), explainer)
