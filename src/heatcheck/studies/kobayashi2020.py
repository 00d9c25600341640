"""Kobayashi et al. 2020 and 2021, "Attention is Not Only a Weight" and its sequel: how much do tokens take from others?

The sequel is "Incorporating Residual and Normalization Layers into Analysis". The study measures what the weighted
vectors add, and how much of a token comes from other tokens.
"""

from collections.abc import Iterator
from pathlib import Path

from heatcheck.results import CheckResult, Key, key
from heatcheck.studies.of_transformers import study_of

NOTES = (
    "The published mixing ratios are for BERT-base on 992 Wikipedia segments with 12% of the tokens masked. Ours are "
    "for another, fine-tuned model on reviews, so they are not comparable as numbers. Their order can be compared. So "
    "can the drop in a token's mixing once its residual and the norm are counted.",
    "The ratio is computed for each token. The mean is over the tokens of a text (without padding), then over texts, "
    "layers and seeds.",
)


def numbers(found: CheckResult) -> Iterator[tuple[Key, float]]:
    """Mixing ratios, and the shares of special tokens, by layer and over all of them."""
    for m in found.measurements:
        yield key(m.name, variant=m.by["variant"], layer=m.by["layer"]), m.value


kobayashi2020 = study_of(
    "kobayashi2020",
    "mixing",
    numbers,
    title="Attention is not only a weight, reproduced",
    paper="Kobayashi et al. 2020, Attention is Not Only a Weight (arXiv 2004.10102); 2021 (arXiv 2109.07152)",
    about="how much of a token comes from other tokens, by weights and by norms; special tokens by both",
    notes=NOTES,
    table=Path(__file__).with_suffix(".csv"),
)
