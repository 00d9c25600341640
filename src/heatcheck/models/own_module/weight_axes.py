"""Converts a user's attention weights to heatcheck's axes, [example head query key], and back."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.errors import BadInput

KNOWN = ("example", "head", "query", "key", "1", "example*head", "head*example")


@dataclass(frozen=True)
class Axes:
    """The axes of weights, in order.

    >>> axes = Axes.parse("example key 1")
    >>> axes.shown(torch.ones(2, 5, 1), 2).shape
    torch.Size([2, 1, 1, 5])
    >>> Axes.parse("example*head query key").shown(torch.ones(6, 5, 5), 2).shape
    torch.Size([2, 3, 5, 5])
    """

    names: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "Axes":
        """Parse axis names separated by spaces."""
        names = tuple(text.split())
        apart = [part for name in names for part in name.split("*") if part != "1"]
        if set(names) - set(KNOWN) or len(set(apart)) < len(apart) or not {"example", "key"} <= set(apart):
            raise BadInput(
                f"the weights cannot have the axes {text!r}. List {', '.join(KNOWN[:4])} and 1 in their order, "
                "such as 'example key' or 'example head query key'. Write example*head if both share one axis."
            )
        return cls(names)

    def __str__(self) -> str:
        return " ".join(self.names)

    @property
    def over(self) -> int:
        """The axis over which weights sum to 1."""
        return self.names.index("key")

    def shown(self, own: Tensor, examples: int) -> Float[Tensor, "example head query key"]:
        """Weights as [example head query key]."""
        if own.ndim != len(self.names):
            raise BadInput(f"the weights have shape {tuple(own.shape)}, which does not fit the axes {self}.")
        apart = own
        names: list[str] = []
        for name in self.names:
            if "*" in name:
                sizes = (examples, -1) if name.startswith("example") else (-1, examples)
                before, after = apart.shape[: len(names)], apart.shape[len(names) + 1 :]
                apart = apart.reshape(*before, *sizes, *after)
                names += name.split("*")
            elif name == "1":
                apart = apart.squeeze(len(names))
            else:
                names.append(name)
        order = [name for name in KNOWN[:4] if name in names]
        moved = apart.permute([names.index(name) for name in order])
        for place, name in enumerate(KNOWN[:4]):
            if name not in order:
                moved = moved.unsqueeze(place)
        return moved

    def hidden(self, used: Float[Tensor, "example head query key"], own: Tensor) -> Tensor:
        """Weights in the module's own shape."""
        names = [part for name in self.names for part in name.split("*") if part != "1"]
        left_out = [place for place, name in enumerate(KNOWN[:4]) if name not in names]
        present = used.squeeze(left_out) if left_out else used
        order = [name for name in KNOWN[:4] if name in names]
        return present.permute([order.index(name) for name in names]).reshape(own.shape)


def axes_of(
    shapes: tuple[torch.Size, torch.Size], over: int, examples: tuple[int, int], tokens: tuple[int, int]
) -> Axes | None:
    """Infer the axes from the shapes in two passes with different numbers of examples and tokens.

    None if the weights do not sum to 1 over the tokens, or if an axis is unknown.

    >>> str(axes_of((torch.Size([2, 4, 5, 5]), torch.Size([3, 4, 7, 7])), 3, (2, 3), (5, 7)))
    'example head query key'
    """
    if len(shapes[0]) != len(shapes[1]):
        return None
    names = []
    for place, size in enumerate(zip(*shapes, strict=True)):
        if place == over % len(shapes[0]):
            name = "key" if size == tokens else "?"
        elif size == examples:
            name = "example"
        elif size == tokens:
            name = "query"
        elif size[0] == size[1]:
            name = "1" if size[0] == 1 else "head"
        elif size[0] * examples[1] == size[1] * examples[0]:
            name = "example*head"
        else:
            name = "?"
        names.append(name)
    try:
        return Axes.parse(" ".join(names))
    except BadInput:
        return None
