"""The precision that a network is loaded in, and what is said where half of it is not enough."""

import torch
from torch import Tensor

from heatcheck.errors import BadInput

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
HALF = (torch.bfloat16, torch.float16)


def precision(name: str | None) -> torch.dtype:
    """A precision by its name.

    >>> precision(None)
    torch.float32
    """
    if name is None:
        return torch.float32
    if name not in PRECISIONS:
        raise BadInput(f"dtype must be one of {', '.join(PRECISIONS)}, not {name!r}.")
    return PRECISIONS[name]


def require_numbers(outputs: Tensor, called: str) -> None:
    """Refuse answers of a network in half precision that are no numbers."""
    if outputs.dtype in HALF and not bool(outputs.isfinite().all()):
        kind = str(outputs.dtype).removeprefix("torch.")
        others = "float32" if outputs.dtype == torch.bfloat16 else "bfloat16 or float32"
        raise BadInput(f"{called} gives NaN or infinity in {kind}, which is too small for its numbers. Use {others}.")
