"""What a treatment adds to the likelihood: a penalty per example, times a strength (training/losses.py)."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.engine import Facts
from heatcheck.models import Run, Site, Subject
from heatcheck.stats import conicity

STATES = Site("state")
Penalty = Callable[[Subject, Run, Batch, Facts], Float[Tensor, " example"]]


def spread_of_states(_: Subject, run: Run, batch: Batch, __: Facts) -> Float[Tensor, " example"]:
    """Conicity of the states that carry weight: the Diversity LSTM of Mohankumar et al. (2020)."""
    return conicity(run.parts[STATES], batch.scored)
