"""Clark et al. 2019, "What Does BERT Look At?": where heads look, by layer.

The paper's syntactic scores and its probe need a treebank: `heatcheck heads MODEL --treebank 1000`.
"""

from collections.abc import Iterator
from pathlib import Path

from heatcheck.results import CheckResult, Key
from heatcheck.studies.of_heads import heads_above, layer_means
from heatcheck.studies.of_transformers import study_of

MEASURES = ("special_tokens", "previous_token", "next_token", "punctuation_mass", "entropy_nats")
THRESHOLDS = {"special_tokens": 0.6, "previous_token": 0.5, "next_token": 0.5}
NOTES = (
    "The paper reads BERT-base on 992 segments of Wikipedia, each with two texts. Ours is another model on single "
    "texts, so numbers are not comparable. The claims are: much weight goes to special tokens, a few heads look at the "
    "token before or after, and lower layers have broader heads.",
    "Previous and next token count queries whose largest weight is there; the paper has the mean weight there.",
    "The paper's syntactic scores are on the Penn Treebank, which is not free. docs/studies/clark2019.md has ours on "
    "Universal Dependencies, whose relations differ, with baselines that the paper does not have.",
)


def numbers(found: CheckResult) -> Iterator[tuple[Key, float]]:
    """Means by layer, and shares of heads above the paper's thresholds."""
    yield from layer_means(found, MEASURES)
    yield from heads_above(found, THRESHOLDS)


clark2019 = study_of(
    "clark2019",
    "roles",
    numbers,
    title="What does BERT look at, reproduced",
    paper="Clark et al. 2019, What Does BERT Look At? (arXiv 1906.04341)",
    about="weight on special tokens, neighbours and punctuation, and entropy, by layer",
    notes=NOTES,
    table=Path(__file__).with_suffix(".csv"),
)
