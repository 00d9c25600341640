"""Kobayashi et al. 2020 and 2021, "Attention is Not Only a Weight" and "Incorporating Residual and Normalization Layers
into Analysis": what weights write, and how much of a token comes from others."""

from collections.abc import Iterator
from functools import partial

from heatcheck.results import CheckResult, Key, key
from heatcheck.studies.of_transformers import QUICK, TASKS, Settings, run_study
from heatcheck.studies.study import Study

PAPER = "Kobayashi et al. 2020, Attention is Not Only a Weight (arXiv 2004.10102); 2021 (arXiv 2109.07152)"
NOTES = (
    "The published mixing ratios are of BERT-base on 992 Wikipedia segments with 12% of the tokens masked. Ours are of "
    "another, fine-tuned model on reviews: not comparable as numbers. What can be compared is their order, and how "
    "much smaller a token's mixing is once its residual and the norm are counted.",
    "A ratio is of each token, a mean over the tokens of a text (padding apart), then over texts, layers and seeds.",
)


def numbers(found: CheckResult) -> Iterator[tuple[Key, float]]:
    """Mixing ratios, and the shares of special tokens, by layer and over all of them."""
    for m in found.measurements:
        yield key(m.name, variant=m.by["variant"], layer=m.by["layer"]), m.value


run = partial(
    run_study,
    "kobayashi2020",
    1,
    "mixing",
    numbers,
    title="Attention is not only a weight, again",
    paper=PAPER,
    notes=NOTES,
)
kobayashi2020 = Study(
    "kobayashi2020",
    PAPER,
    "how much of a token comes from others, by weights and by what is written; special tokens by both",
    TASKS,
    run,
    Settings,
    QUICK,
)
