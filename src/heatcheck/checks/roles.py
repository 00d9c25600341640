"""What does each head of a transformer look at?

Clark et al., Voita et al., Vig & Belinkov, Kovaleva et al.: a head can look at the token before, at the first token, at
special tokens, punctuation or rare words; its weights can be broad or sharp, near or far. Every number stands beside
the same number for uniform weights. No map is kept.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from heatcheck.checks.case import Case
from heatcheck.checks.check import Check, at_least_one
from heatcheck.heads.looking import Looked, look
from heatcheck.heads.roles import SINK, patterns_of, roles_of, sink_rate
from heatcheck.heads.scene import count_words
from heatcheck.results import CheckResult, Measurement

# The measures that are reported, by the name of their quantity.
REPORTED = {
    "previous_token": "top at -1",
    "next_token": "top at +1",
    "sink": "sink",
    "special_tokens": "special",
    "punctuation_mass": "punctuation",
    "rare_word": "rare word",
    "entropy_nats": "entropy",
    "confidence": "confidence",
    "attention_distance": "distance",
    "variability": "variability",
    "column_mass": "column",
    "diagonal_mass": "diagonal",
}


@dataclass(frozen=True)
class RolesSettings:
    """The bootstrap only."""

    draws: int = 1000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        at_least_one(self, "roles", "draws")


def measure(case: Case, settings: RolesSettings) -> CheckResult:
    """Measure where each head looks, and name its roles."""
    words = None if case.trained_on is None else count_words(case.trained_on["train"])
    found = look(case.subject, case.examples, frequencies=words, seed=case.seed)
    roles, patterns = roles_of(found), patterns_of(found)
    return CheckResult(
        check="roles",
        subject=case.subject.id,
        holds="states",
        measurements=tuple(_measurements(found, settings)),
        examples=found.examples,
        per_example=dict(_values(found)),
        excluded={},
        settings=asdict(settings),
        seed=case.seed,
        facts={
            "layers": max(place.layer for place in found.places),
            "heads": len(found.places),
            "causal": found.causal,
            "frequencies": "the examples" if words is None else "the training data",
            "roles": {str(place): [str(role) for role in named] for place, named in roles.items() if named},
            "patterns": {str(place): name for place, name in patterns.items()},
        },
    )


def _measurements(found: Looked, settings: RolesSettings) -> Iterator[Measurement]:
    for name, source in REPORTED.items():
        if not found.defined(source):
            continue
        values = found.of(source, draws=settings.draws)
        baseline = f"{values.uniform:.2f}: uniform weights"
        if name == "variability":
            baseline = "0: the same weights in every text"
        for at, place in enumerate(found.places):
            if np.isfinite(values.value[at]):
                numbers = float(values.value[at]), float(values.low[at]), float(values.high[at])
                yield Measurement(name, *numbers, values.n, baseline, {"layer": place.layer, "head": place.head})
    rate = sink_rate(found)
    low, high = found.share_above("sink", SINK, draws=settings.draws)
    yield Measurement("sink_rate", rate, low, high, len(found.examples), "0: uniform weights have no sink", {})


def _values(found: Looked) -> Iterator[tuple[str, np.ndarray]]:
    for name, source in REPORTED.items():
        of_heads = found.of_examples(source)
        for place, values in zip(found.places, of_heads.T, strict=True):
            yield f"{name}:{place}", values


roles = Check(
    name="roles",
    question="What does each head look at?",
    paper="Clark et al. 2019; Voita et al. 2019; Vig & Belinkov 2019; Kovaleva et al. 2019; Gu et al. 2024 for sinks",
    holds="states",
    baseline="the same numbers for uniform weights on the same texts",
    settings=RolesSettings,
    measure=measure,
    cost=lambda case, _: len(case.examples),
    default=False,
)
