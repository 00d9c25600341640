"""The induction circuit of a language model: which heads form it, who feeds them, and what their removal costs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from heatcheck import stats
from heatcheck.data import Example
from heatcheck.engine import stream
from heatcheck.errors import BadInput
from heatcheck.heads.circuits.behaviour import COPYING, DUPLICATE, OTHER, PREFIX, PREVIOUS, SINK, Behaviour, behave
from heatcheck.heads.circuits.direct import DirectEffects, direct_effects
from heatcheck.heads.circuits.removal import WAY, Cost, cost_of
from heatcheck.heads.circuits.texts import LENGTH, TIMES, Ids, as_examples, draw_repeats
from heatcheck.heads.circuits.wiring import NOT_A_TEST, Copying, Link, copying_of_heads, feeds, strongest
from heatcheck.heads.looking import Place
from heatcheck.heads.roles import SINK as A_SINK
from heatcheck.heads.roles import Role
from heatcheck.models.contract.opened import OpensItsHeads

TEXTS, DRAWS = 16, 20  # random texts of each kind, and random sets of heads
ROLES = ("induction", "previous token", "duplicate token")
Told = Callable[[str], None]


@dataclass(frozen=True)
class Circuits:
    """What heads do on repeated random tokens, what their weights say, and what removing induction heads costs."""

    behaviour: Behaviour
    copying: Copying
    links: Sequence[Link]  # into the induction heads
    direct: DirectEffects  # of the token that continues a copy, against another token of the text
    repeated: Cost | None  # None: there are no induction heads, or more than half of the heads are
    ordinary: Cost | None  # None: nor were there ordinary texts
    why_no_removal: str = ""
    why_no_ordinary: str = ""

    @property
    def places(self) -> tuple[Place, ...]:
        return self.behaviour.looked.places

    @property
    def induction(self) -> list[Place]:
        return self.behaviour.with_role("induction")

    @property
    def induction_roles(self) -> dict[Place, Role]:
        """The role of each induction head, with the number that shows it."""
        roles = self.behaviour.roles
        return {place: one for place in self.induction for one in roles[place] if one.role == "induction"}

    @property
    def fed_by(self) -> list[Link]:
        """For each induction head the head that feeds its keys most."""
        return strongest(self.links)

    @property
    def sinks(self) -> int:
        """How many heads put more than 0.3 of their weight on the first token."""
        return int((self.behaviour.looked.mean(SINK) > A_SINK).sum())

    def direct_of(self, place: Place) -> stats.Interval:
        """What a head itself adds to the logit of the token that continues a copy, less another token's."""
        generator = stream(self.behaviour.looked.seed, "circuits", "direct", str(place))
        return stats.bootstrap_interval(self.direct.of(f"head {place}"), generator=generator)

    def facts(self) -> dict[str, Any]:
        """Everything as plain JSON."""
        looked = self.behaviour.looked
        return {
            "texts": len(looked.examples),
            "segment": self.behaviour.length,
            "copies": self.behaviour.copies,
            "roles": {role: [str(place) for place in self.behaviour.with_role(role)] for role in ROLES},
            "sinks": self.sinks,
            "loss_by_copy": [float(self.behaviour.loss_of_copy(n + 1).mean()) for n in range(self.behaviour.copies)],
            "in_context_score": float(self.behaviour.in_context.mean()),
            "fed_by": [
                {"reader": str(one.reader), "writer": str(one.writer), "times_random": one.times_random}
                for one in self.fed_by
            ],
            "removal": {
                name: None if cost is None else cost_facts(cost)
                for name, cost in (("repeated", self.repeated), ("ordinary", self.ordinary))
            },
            "why_no_removal": self.why_no_removal,
            "why_no_ordinary": self.why_no_ordinary,
            "copying_from_weights": {"random": self.copying.random._asdict(), "note": NOT_A_TEST},
            "heads": [self._head(at, place) for at, place in enumerate(looked.places)],
        }

    def _head(self, at: int, place: Place) -> dict[str, Any]:
        looked = self.behaviour.looked
        measured = {}
        for name in (PREFIX, PREVIOUS, DUPLICATE, SINK, COPYING, OTHER):
            values = looked.of(name)
            numbers = (float(values.value[at]), float(values.low[at]), float(values.high[at]))
            measured[name] = (
                None if not np.isfinite(numbers[0]) else dict(zip(("value", "low", "high"), numbers, strict=True))
            )
        return {
            **place._asdict(),
            **measured,
            "copying from weights": {"score": float(self.copying.scores[at]), "z": float(self.copying.z[at])},
            "direct effect": self.direct_of(place)._asdict(),
        }


def cost_facts(cost: Cost) -> dict[str, Any]:
    """A cost as plain JSON."""
    return {
        "way": WAY,
        "loss": float(cost.whole.mean()),
        "induction": cost.of_chosen()._asdict(),
        "random": cost.of_random()._asdict(),
        "difference": cost.difference()._asdict(),
        "random_at_least": cost.random_at_least,
        "draws": len(cost.random),
    }


def find_circuits(
    subject: OpensItsHeads,
    ordinary: Sequence[Example] = (),
    reference: Sequence[Example] = (),
    *,
    texts: int = TEXTS,
    draws: int = DRAWS,
    length: int = LENGTH,
    times: int = TIMES,
    seed: int = 0,
    tell: Told = lambda _step: None,
) -> Circuits:
    """Find the heads that form induction circuits, and remove them.

    Heads are chosen on some random texts, removed on others, and their mean outputs are those of still others.

    Args:
        ordinary: texts on which the removal is tried too.
        reference: other such texts, for the mean outputs there.
        texts: random texts of each kind.
        draws: random sets of as many heads.
        tell: is told what begins.
    """
    if texts < 2 or draws < 2:
        raise BadInput(f"circuits need 2 texts and 2 random sets of heads at least, not {texts} and {draws}.")
    known = {
        what: draw_repeats(subject, texts, what, length=length, times=times, seed=seed)
        for what in ("look", "removal", "reference")
    }
    tell("reading repeated random tokens")
    behaviour = behave(subject, known["look"], length, seed=seed)
    induction, places = behaviour.with_role("induction"), behaviour.looked.places
    tell("reading weights")
    links = feeds(subject, induction, seed=seed)
    copying = copying_of_heads(subject, seed=seed)
    direct = _continued(subject, known["look"], length)
    if not 0 < len(induction) <= len(places) / 2:
        why = "no head is an induction head" if not induction else "more than half of the heads are induction heads"
        return Circuits(behaviour, copying, links, direct, None, None, why, why)
    tell("removing heads on repeated tokens")
    reader, examples = as_examples(subject, [*known["removal"], *known["reference"]], "repeated", length=length)
    repeated = cost_of(reader, induction, places, examples[:texts], examples[texts:], draws=draws, seed=seed)
    if not ordinary or not reference:
        return Circuits(behaviour, copying, links, direct, repeated, None, "", "there were no ordinary texts")
    tell("removing heads on ordinary texts")
    other = cost_of(subject, induction, places, ordinary, reference, draws=draws, seed=seed)
    return Circuits(behaviour, copying, links, direct, repeated, other)


def _continued(subject: OpensItsHeads, texts: Sequence[Ids], length: int) -> DirectEffects:
    """Who writes the token that continues the last copy: against the token that stands half a segment on."""
    batch = subject.encode_ids(texts, bos=False)
    ids = batch.inputs["input_ids"]
    rows = torch.full_like(ids[:, 0], ids.shape[1] - 2)
    return direct_effects(subject, batch, rows, ids[:, -1], ids[:, -1 - length // 2])
