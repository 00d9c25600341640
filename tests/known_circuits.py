"""The known induction model with an idle head in place of its bystander: one head of three is an induction head."""

import numpy as np

from heatcheck.data import Example
from heatcheck.heads.circuits.survey import Circuits, find_circuits
from heatcheck.models.contract.opened import Factors
from heatcheck.models.known_answers import InductionLM


class WithIdleHead(InductionLM):
    """Its third head looks evenly at all tokens."""

    @property
    def _heads(self):
        first, second, third = super()._heads
        return first, second, Factors(0 * third.query, third.key, third.value, third.output)


def words(count: int, *, start: int = 0) -> list[Example]:
    """Ordinary texts of the known model: nothing stands twice."""
    rows = [np.random.default_rng(start + n).permutation(31)[:12] + 1 for n in range(count)]
    return [Example(f"e{start + n}", " ".join(f"t{one}" for one in row)) for n, row in enumerate(rows)]


def found_circuits(**given: object) -> Circuits:
    """Its circuits, with the cost of removal on repeated tokens and on ordinary texts."""
    return find_circuits(WithIdleHead(), words(4), words(4, start=9), texts=3, draws=8, **given)
