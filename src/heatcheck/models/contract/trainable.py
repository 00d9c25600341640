"""A model with parameters: the methods that training, saving and retraining need."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

from heatcheck.data import Seen
from heatcheck.models.contract.recipe import Recipe
from heatcheck.models.contract.subject import Subject


@runtime_checkable
class Trainable(Subject, Protocol):
    """A torch module that is a model of heatcheck: one of its own classifiers, or a transformer."""

    labels: tuple[str, ...]
    recipe: Recipe | None
    seen: Seen | None  # the texts it was trained on; None where that is not known
    called: str  # what its folder is called; "" where it was not loaded from one
    training: bool

    @property
    def device(self) -> torch.device: ...

    def parameters(self) -> Iterator[nn.Parameter]: ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> Any: ...

    def train(self) -> Any: ...

    def eval(self) -> Any: ...
