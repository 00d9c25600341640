"""Brunner et al. 2020, "On Identifiability in Transformers": other weights with the same output, and whether states
still tell the tokens apart."""

from collections.abc import Iterator
from functools import partial

from heatcheck.results import CheckResult, Key, key
from heatcheck.studies.of_transformers import QUICK, Settings, run_study
from heatcheck.studies.study import Study

PAPER = "Brunner et al. 2020, On Identifiability in Transformers (arXiv 1908.04211)"
TASKS = ("sst", "rotten_tomatoes", "imdb_small")  # the last has texts longer than a head is wide
NOTES = (
    "No table of the paper could be read again, and no code was found: nothing here stands beside a published number. "
    "Its claims: weights are not unique where a text is longer than a head is wide; tokens can be told apart by their "
    "states up to the last layer, better by cosine than by distance, and less with depth.",
    "The paper counts the null space of the values, which allows negative weights. Here weights are not negative and "
    "sum to 1: the range of each weight is an exact linear program, and how different such weights can be a bracket.",
    "Whether there is anything to find depends on the length: a text of no more tokens than a head's width plus one "
    "has one set of weights, whatever the model.",
)


def numbers(found: CheckResult) -> Iterator[tuple[Key, float]]:
    """Every measurement by its name, layer and metric."""
    for m in found.measurements:
        yield key(m.name, **{axis: m.by[axis] for axis in ("layer", "nearest by") if axis in m.by}), m.value


run = partial(
    run_study,
    "brunner2020",
    1,
    "identifiability",
    numbers,
    title="On identifiability in transformers, again",
    paper=PAPER,
    notes=NOTES,
    known=TASKS,
)
brunner2020 = Study(
    "brunner2020",
    PAPER,
    "other weights with exactly the same output, and tokens told apart by their states, layer by layer",
    TASKS,
    run,
    Settings,
    QUICK,
)
