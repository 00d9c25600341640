"""Brunner et al. 2020, "On Identifiability in Transformers": do other weights give a head's output?

The study also asks whether hidden states still tell the tokens apart.
"""

from collections.abc import Iterator
from pathlib import Path

from heatcheck.results import CheckResult, Key, key
from heatcheck.studies.of_transformers import study_of

TASKS = ("sst", "rotten_tomatoes", "imdb_small")  # the last has texts longer than a head is wide
NOTES = (
    "No published number stands beside ours: we could not re-read the paper's tables and found no code. The paper "
    "claims that weights are not unique where a text is longer than a head is wide. It also claims that hidden states "
    "identify the tokens up to the last layer: better by cosine than by distance, and less with depth.",
    "The paper counts the dimensions of the values' null space, which allows negative weights. Here weights are not "
    "negative and sum to 1. An exact linear program gives the range of each weight. A bracket says how different such "
    "weights can be.",
    "The result depends on the length of a text. A text of at most one token more than the head's width has only one "
    "set of weights, whatever the model.",
)


def numbers(found: CheckResult) -> Iterator[tuple[Key, float]]:
    """Every measurement by its name, layer and metric."""
    for m in found.measurements:
        yield key(m.name, **{axis: m.by[axis] for axis in ("layer", "nearest by") if axis in m.by}), m.value


brunner2020 = study_of(
    "brunner2020",
    "identifiability",
    numbers,
    title="On identifiability in transformers, reproduced",
    paper="Brunner et al. 2020, On Identifiability in Transformers (arXiv 1908.04211)",
    about="other weights with exactly the same output, and tokens identified by their hidden states, layer by layer",
    notes=NOTES,
    table=Path(__file__).with_suffix(".csv"),
    tasks=TASKS,
)
