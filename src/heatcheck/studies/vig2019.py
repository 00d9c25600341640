"""Vig & Belinkov 2019, "Analyzing the Structure of Attention": distance, variability and entropy of heads, by layer."""

from collections.abc import Iterator
from pathlib import Path

from heatcheck.results import CheckResult, Key
from heatcheck.studies.of_heads import layer_means
from heatcheck.studies.of_transformers import study_of

MEASURES = ("attention_distance", "variability", "entropy_nats", "sink")
NOTES = (
    "The paper reads GPT-2 small, a decoder, on Wikipedia. These tasks fine-tune an encoder, so numbers are not "
    "comparable. The claims are: distance grows with depth, heads differ in how much they depend on the text, and "
    "heads that look near have low entropy. `heatcheck heads hf:GPT2 --json` has the same measures of a decoder.",
    "Distances are without the first and special tokens, as in the paper. In an encoder they are |i − j|.",
    "The paper's share of weight on dependency arcs needs a treebank; `heatcheck heads MODEL --treebank 1000` scores "
    "arcs against four baselines instead.",
)


def numbers(found: CheckResult) -> Iterator[tuple[Key, float]]:
    """Means by layer."""
    yield from layer_means(found, MEASURES)


vig2019 = study_of(
    "vig2019",
    "roles",
    numbers,
    title="The structure of attention, reproduced",
    paper="Vig & Belinkov 2019, Analyzing the Structure of Attention (arXiv 1906.04284)",
    about="distance, variability and entropy of heads, by layer",
    notes=NOTES,
    table=Path(__file__).with_suffix(".csv"),
)
