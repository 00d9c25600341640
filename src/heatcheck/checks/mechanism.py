"""Which heads of a language model form induction circuits, and what does their removal cost?

Elhage et al., Olsson et al.: a previous-token head writes into each token what stood before it; an induction head finds
earlier copies that way and continues them. heatcheck finds both on repeated random tokens and in the weights, and
removes the induction heads beside as many random ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.checks.check import Check, at_least_one
from heatcheck.data import Example
from heatcheck.engine import stream
from heatcheck.errors import BadInput
from heatcheck.heads.circuits.behaviour import COPYING, DUPLICATE, OTHER, PREFIX, PREVIOUS
from heatcheck.heads.circuits.factors import RANDOM_HEADS
from heatcheck.heads.circuits.removal import Cost
from heatcheck.heads.circuits.survey import ROLES, Circuits, find_circuits
from heatcheck.heads.halves import in_halves
from heatcheck.models import whole_model
from heatcheck.models.contract.opened import require_opened
from heatcheck.results import CheckResult, Measurement

# The measures that are reported, by the name of their quantity.
REPORTED = {
    "prefix_matching": PREFIX,
    "previous_token_mass": PREVIOUS,
    "duplicate_token_mass": DUPLICATE,
    "behavioural_copying": COPYING,
}
REFERENCE = "it stands for other texts: removed heads hand on their mean output over it"
UNREAD = "the check read as many examples before it as mechanism.texts allows"
TOO_FEW = "removal on ordinary texts needs two examples to measure and one for the mean outputs"


@dataclass(frozen=True)
class MechanismSettings:
    """How many texts are read, and how many random sets of heads are removed."""

    texts: int = 16  # random texts of each kind, and ordinary ones at most
    sets: int = 20  # random sets of heads
    draws: int = 2000  # of the bootstrap over texts

    def __post_init__(self) -> None:
        at_least_one(self, "mechanism", "draws")
        for name in ("texts", "sets"):
            if getattr(self, name) < 2:
                raise BadInput(f"mechanism.{name} must be at least 2, not {getattr(self, name)}.")


def measure(case: Case, settings: MechanismSettings) -> CheckResult:
    """Measure the circuits on made-up texts, and the cost of removal on these and on the examples."""
    subject = require_opened(whole_model(case.subject), "mechanism")
    measured, reference, excluded = _split(case, settings)
    found = find_circuits(subject, measured, reference, texts=settings.texts, draws=settings.sets, seed=case.seed)
    missing = {"removal": found.why_no_removal, "removal on ordinary texts": found.why_no_ordinary}
    per_example = {}
    if found.ordinary is not None:
        per_example = {
            "loss_added:induction": found.ordinary.chosen,
            "loss_added:random": found.ordinary.random.mean(0),
        }
    return CheckResult(
        check="mechanism",
        subject=case.subject.id,
        holds="re-encoded",
        measurements=tuple(_measurements(case, found, settings)),
        examples=tuple(example.id for example in measured),
        per_example=per_example,
        excluded=excluded,
        settings=asdict(settings),
        seed=case.seed,
        not_run={part: why for part, why in missing.items() if why},
        facts={
            "layers": len(subject.sites),
            "heads": len(found.places),
            "roles": {role: [str(place) for place in found.behaviour.with_role(role)] for role in ROLES},
            "sinks": found.sinks,
            "segment": found.behaviour.length,
            "copies": found.behaviour.copies,
        },
    )


def _split(case: Case, settings: MechanismSettings) -> tuple[list[Example], list[Example], dict[str, str]]:
    """Ordinary texts to measure on, those for mean outputs, and why others are left out."""
    examples = [example.but(label=None) for example in case.examples[: 2 * settings.texts]]
    excluded = {example.id: UNREAD for example in case.examples[2 * settings.texts :]}
    if len(examples) < 3:
        return [], [], {example.id: TOO_FEW for example in case.examples}
    second = in_halves(examples, "mechanism", seed=case.seed)
    reference = [example for example, chosen in zip(examples, ~second, strict=True) if chosen]
    measured = [example for example, chosen in zip(examples, second, strict=True) if chosen]
    return measured, reference, {**{example.id: REFERENCE for example in reference}, **excluded}


def _measurements(case: Case, found: Circuits, settings: MechanismSettings) -> Iterator[Measurement]:
    yield from _of_heads(found, settings)
    yield from _of_weights(found)
    yield from _of_model(case, found, settings)
    for texts, cost in (("repeated", found.repeated), ("ordinary", found.ordinary)):
        if cost is not None:
            yield from _of_cost(texts, cost, len(found.induction))


def _of_heads(found: Circuits, settings: MechanismSettings) -> Iterator[Measurement]:
    looked = found.behaviour.looked
    other = looked.mean(OTHER)
    for name, source in REPORTED.items():
        values = looked.of(source, draws=settings.draws)
        for at, place in enumerate(looked.places):
            if not np.isfinite(values.value[at]):
                continue  # a head that writes nothing raises nothing and lowers nothing
            baseline = f"{values.uniform:.2f}: uniform weights"
            if source == COPYING:
                baseline = f"{other[at]:.2f}: another token of the text"
            numbers = float(values.value[at]), float(values.low[at]), float(values.high[at])
            yield Measurement(name, *numbers, values.n, baseline, {"layer": place.layer, "head": place.head})
    effects = {place: found.direct_of(place) for place in found.places}
    mean = np.mean([one.value for one in effects.values()])
    for place, effect in effects.items():
        by = {"layer": place.layer, "head": place.head}
        yield Measurement("direct_effect", *effect, f"{mean:.3f}: the mean head", by)


def _of_weights(found: Circuits) -> Iterator[Measurement]:
    copying, random = found.copying, found.copying.random
    for place, score, z in zip(copying.places, copying.scores.tolist(), copying.z.tolist(), strict=True):
        baseline = f"{random.mean:.2f} ± {random.deviation:.2f}: {RANDOM_HEADS} random heads; z = {z:.1f}"
        by = {"layer": place.layer, "head": place.head}
        yield Measurement("copying_from_weights", score, score, score, 1, baseline, by)
    for link in found.fed_by:
        named = {"writer": str(link.writer), "reader": str(link.reader)}
        others = [one.times_random for one in found.links if one.reader == link.reader and one.into == "key"]
        baseline = f"1: random heads; the median of {len(others)} earlier heads has {np.median(others):.2f}"
        times = link.times_random
        yield Measurement("composition", times, times, times, 1, baseline, named)


def _of_model(case: Case, found: Circuits, settings: MechanismSettings) -> Iterator[Measurement]:
    behaviour, heads = found.behaviour, len(found.places)

    def mean(name: str, values: np.ndarray, baseline: str, **by: int | str) -> Measurement:
        generator = stream(case.seed, "mechanism", name, *map(str, by.values()))
        interval = stats.bootstrap_interval(values, generator=generator, draws=settings.draws)
        return Measurement(name, *interval, baseline, by)

    first = behaviour.loss_of_copy(1).mean()
    for copy in range(1, behaviour.copies + 1):
        yield mean("loss_of_copy", behaviour.loss_of_copy(copy), f"{first:.2f}: the first copy", copy=copy)
    yield mean("in_context_score", behaviour.in_context, "0: late tokens are as hard as early ones")
    counts = {role: len(behaviour.with_role(role)) for role in ROLES} | {"sink": found.sinks}
    for role, count in counts.items():
        n = len(behaviour.losses)
        yield Measurement("heads_in_circuit", count, count, count, n, f"none: of {heads} heads", {"role": role})


def _of_cost(texts: str, cost: Cost, heads: int) -> Iterator[Measurement]:
    of_chosen, of_random, beyond = cost.of_chosen(), cost.of_random(), cost.difference()
    sets = f"{heads} random heads, {len(cost.random)} sets"
    baseline = f"{of_random.value:.3f}: {sets}"
    yield Measurement("removal_cost", *of_chosen, baseline, {"texts": texts, "heads": "induction"})
    whole = f"{cost.whole.mean():.3f}: the loss with all heads"
    yield Measurement("removal_cost", *of_random, whole, {"texts": texts, "heads": "random"})
    at_least = f"0: {sets}, of which {cost.random_at_least} cost at least as much"
    yield Measurement("removal_cost_beyond_random", *beyond, at_least, {"texts": texts})


def _passes(case: Case, settings: MechanismSettings) -> int:
    """Random texts to look at; whole texts and their mean outputs, twice; and every set of heads, on both kinds."""
    ordinary: Sequence[Example] = case.examples[: 2 * settings.texts]
    return settings.texts * (5 + settings.sets) + len(ordinary) // 2 * (4 + settings.sets)


mechanism = Check(
    name="mechanism",
    question="Which heads form induction circuits, and what does their removal cost?",
    paper="Elhage et al. 2021; Olsson et al. 2022",
    holds="re-encoded",
    baseline="uniform weights; another token; random heads of the same shape; as many random heads removed",
    settings=MechanismSettings,
    measure=measure,
    cost=_passes,
    default=False,
)
