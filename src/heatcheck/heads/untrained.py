"""A model's untrained twin: the same architecture with fresh random weights, the baseline of every role."""

import copy
from typing import Any

import torch

from heatcheck.errors import NotSupported
from heatcheck.models import HasLayers, Subject, require_layers


def untrained(subject: Subject, seed: int) -> HasLayers:
    """A copy of the model whose weights are drawn anew, as its family starts a training.

    The model itself does not change.
    """
    deep = require_layers(subject, "an untrained twin")
    network: Any = getattr(deep, "network", None)
    if network is None:
        raise NotSupported(f"{deep.id} is no Hugging Face model, so heatcheck cannot draw its weights anew.")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fresh = type(network)(copy.deepcopy(network.config))
    twin = copy.deepcopy(deep)
    weights = {name: value.to(network.dtype) for name, value in fresh.state_dict().items()}
    twin.network.load_state_dict(weights)  # type: ignore[attr-defined]  # it has one, as above
    return twin
