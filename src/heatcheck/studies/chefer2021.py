"""Chefer, Gur & Wolf 2021, "Transformer Interpretability Beyond Attention Visualization" and "Generic Attention-model
Explainability": words removed in the order of every explainer, most and least relevant first."""

from collections.abc import Iterator
from functools import partial

from heatcheck.results import CheckResult, Key, key
from heatcheck.studies.of_transformers import QUICK, TASKS, Settings, run_study
from heatcheck.studies.study import Study

PAPER = "Chefer, Gur & Wolf 2021, Transformer Interpretability Beyond Attention Visualization (arXiv 2012.09838)"
EXPLAINERS = (
    "attention",
    "effective_attention",
    "rollout",
    "flow",
    "gradient_rollout",
    "norms",
    "norm_rollout",
    "globenc",
    "alti",
    "decompx",
    "contribution_weights",
    "gradient",
    "gradient_x_input",
    "integrated_gradients",
    "leave_one_out",
    "shapley_sampling",
    "lime",
)
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # as Modarressi et al. 2023
KEPT = ("aopc", "aopc_least", "area", "above_random", "rank")
NOTES = (
    "The paper's perturbation tables are of ViT on ImageNet and cannot be done again here; its text experiment "
    "(rationales of movie reviews) was published as a figure only. What is done again is its question: does "
    "gradient-weighted rollout find what the answer hangs on better than raw weights and plain rollout?",
    "Only the form of the ICCV paper is here (gradient × attention, all layers). The released code of the CVPR paper "
    "starts at layer 11 for BERT, so that its “rollout” is of one layer while the plain one is of all.",
    "Beside ours stand two numbers of Modarressi et al. 2023 (Table 1: BERT-base on SST-2, [MASK] in place of words), "
    "of another model: not comparable as numbers.",
    "Rankings that know the sign are told more than a heatmap shows: they are a league of their own.",
)


def numbers(found: CheckResult) -> Iterator[tuple[Key, float]]:
    """Areas and AOPC of each ranking, by how words are removed."""
    for m in found.measurements:
        if m.name in KEPT:
            axes = ("ranking", "operator", *(("among",) if m.name == "rank" else ()))
            yield key(m.name, **{axis: m.by[axis] for axis in axes}), m.value


run = partial(
    run_study,
    "chefer2021",
    1,
    "perturbation",
    numbers,
    title="Beyond attention visualisation, again",
    paper=PAPER,
    notes=NOTES,
    of_check={"explainers": list(EXPLAINERS), "shares": list(SHARES), "operators": ["masking"]},
)
chefer2021 = Study(
    "chefer2021",
    PAPER,
    "every explainer's words removed, most and least relevant first, in one table",
    TASKS,
    run,
    Settings,
    QUICK,
)
