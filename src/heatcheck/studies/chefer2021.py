"""Chefer, Gur & Wolf 2021, two papers on explaining transformers: which method finds the words that matter?

They are "Transformer Interpretability Beyond Attention Visualization" and "Generic Attention-model Explainability".
Words are removed in the order of every explainer, most and least relevant first.
"""

from collections.abc import Iterator
from pathlib import Path

from heatcheck.results import CheckResult, Key, key
from heatcheck.studies.of_transformers import study_of

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # as Modarressi et al. 2023
KEPT = ("aopc", "aopc_least", "area", "above_random", "rank")
NOTES = (
    "The paper's perturbation tables are for ViT on ImageNet and cannot be reproduced here. Its text experiment "
    "(rationales of movie reviews) was published as a figure only. This study asks the paper's question. Does "
    "gradient-weighted rollout find the words that the answer depends on better than raw weights and plain rollout?",
    "Both forms are included. Gradient-weighted rollout is the ICCV paper's (gradient × attention), relevance rollout "
    "the CVPR paper's (gradient × relevance). Both cover all layers, as the formula says. For BERT, the released code "
    "of the CVPR paper covers the last layer only.",
    "Two numbers beside ours are from Modarressi et al. 2023 (Table 1: BERT-base on SST-2, words replaced by [MASK]). "
    "They are from another model, so they are not comparable as numbers.",
    "Rankings with a sign know more than an attention heatmap shows, so they are compared separately. "
    "Gradient-weighted rollout and relevance rollout rank by size too, but they are class-specific: they keep only the "
    "positive parts for the predicted class.",
)


def numbers(found: CheckResult) -> Iterator[tuple[Key, float]]:
    """Areas and AOPC of each ranking, by how heatcheck removes the words."""
    for m in found.measurements:
        if m.name in KEPT:
            axes = ("ranking", "operator", *(("among",) if m.name == "rank" else ()))
            yield key(m.name, **{axis: m.by[axis] for axis in axes}), m.value


chefer2021 = study_of(
    "chefer2021",
    "perturbation",
    numbers,
    title="Beyond attention visualisation, reproduced",
    paper="Chefer, Gur & Wolf 2021, Transformer Interpretability Beyond Attention Visualization (arXiv 2012.09838)",
    about="words removed in the order of every explainer, most and least relevant first, in one table",
    notes=NOTES,
    table=Path(__file__).with_suffix(".csv"),
    of_check={"shares": list(SHARES), "operators": ["masking"]},  # explainers: none named, so all that can run
    version=2,
)
