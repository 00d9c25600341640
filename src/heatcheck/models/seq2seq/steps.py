"""Reads and replaces inner quantities, such as weights, in a decoder that runs step by step."""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.errors import BadInput
from heatcheck.models.contract.subject import Edits, Run, Site, Tap, Want


@runtime_checkable
class KnowsItsStep(Protocol):
    """An edit, as a function of a site's value, that differs from step to step."""

    def __call__(self, own: Tensor) -> Tensor: ...

    def at_step(self, own: Tensor, step: int) -> Tensor: ...


class SteppedTap(Tap):
    """A tap at sites that fire in every step. A tensor given as an edit covers all steps; so does a wanted part.

    The steps of a part are its last but one axis: weights [example head query key], contexts [example query feature].

    >>> tap = SteppedTap({Site("context"): torch.tensor([[[1.0], [2.0]]])}, [Site("context")], steps=2)
    >>> [float(tap.at_step(Site("context"), torch.zeros(1, 1, 1), step)) for step in range(2)]
    [1.0, 2.0]
    """

    def __init__(self, edits: Edits, want: Want, steps: int) -> None:
        super().__init__(edits, want)
        self.steps = steps
        self.rows: dict[Site, list[Tensor]] = {}

    def at_step(self, site: Site, produced: Tensor, step: int) -> Tensor:
        """What goes on from a site at one step."""
        if step == 0:
            self.passed.append(site)
        value = self._edited(site, produced, step)
        if site in self.want:
            self.rows.setdefault(site, []).append(value)
        return value

    def _edited(self, site: Site, produced: Tensor, step: int) -> Tensor:
        edit = self.edits.get(site)
        if edit is None:
            return produced
        if isinstance(edit, Tensor):
            whole = (*produced.shape[:-2], self.steps, produced.shape[-1])
            if tuple(edit.shape) != whole:
                raise BadInput(f"the edit at {site} has shape {tuple(edit.shape)}, but the site has shape {whole}.")
            return edit[..., step : step + 1, :].to(produced)
        value = edit.at_step(produced, step) if isinstance(edit, KnowsItsStep) else edit(produced)
        if value.shape != produced.shape:
            raise BadInput(
                f"the edit at {site} has shape {tuple(value.shape)}, but a step of the site has shape "
                f"{tuple(produced.shape)}."
            )
        return value

    def run(self, logits: Float[Tensor, "example decision label"], row: Int[Tensor, "example decision"]) -> Run:
        """The finished pass, each part with all its steps."""
        self.parts |= {site: self.reduced(site, torch.cat(rows, dim=-2)) for site, rows in self.rows.items()}
        return super().run(logits, row)
