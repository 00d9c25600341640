"""Hugging Face transformers as models of heatcheck: read and replace their attention at any layer and head."""

from heatcheck.models.hf.load import (
    load_prompted,
    load_transformer,
    make_transformer,
    name_outputs,
    quiet,
    read_pretrained,
    save_network,
)
from heatcheck.models.hf.prompted import Prompted
from heatcheck.models.hf.transformer import Transformer

__all__ = [
    "Prompted",
    "Transformer",
    "load_prompted",
    "load_transformer",
    "make_transformer",
    "name_outputs",
    "quiet",
    "read_pretrained",
    "save_network",
]
