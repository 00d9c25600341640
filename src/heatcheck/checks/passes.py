"""Estimates how many forward passes each part of an audit needs, for `heatcheck audit --plan`.

A check counts the texts that it reads. Three costs are counted separately: gradients, which need a backward pass too;
an explainer's scores, which checks share; and other weights over the same states, for which a model may have a short
cut.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from heatcheck.checks.case import Case
from heatcheck.explainers.attattr import STEPS as WAY_OF_WEIGHTS
from heatcheck.explainers.integrated_gradients import STEPS
from heatcheck.explainers.sampled import FEWEST_ORDERS, LIME_FEWEST, LIME_PER_WORD, ORDERS, READ
from heatcheck.explainers.search import BRIEF, SHORT
from heatcheck.models import HasLayers, Responds, View, whole_model

FEW = 64  # texts that stand for all when counting or timing
THERE_AND_BACK = 3  # a forward pass and the backward pass through it


def to_explain(case: Case, explainers: Iterable[str]) -> int:
    """Passes for these explainers' scores on all examples, each explainer once."""
    return sum(_scores(case, name) for name in dict.fromkeys(explainers))


def to_try(case: Case, draws: int | float, texts: int | None = None) -> int:
    """Passes for `draws` other sets of weights on each example (or on `texts` texts), with the same states.

    A read-out that is linear in its weights needs none. A transformer sends one token through its last layer; weights
    of an earlier one send all tokens through the layers from there on.
    """
    texts = len(case.examples) if texts is None else texts
    if isinstance(case.subject, View) and not case.subject.is_last:
        layers = len(case.subject.of.sites)
        return round(draws * texts * (layers - case.subject.layer) / layers)
    if isinstance(case.subject, HasLayers):
        return round(draws * texts / (len(whole_model(case.subject).sites) * np.mean(tokens(case))))
    return 0 if isinstance(case.subject, Responds) else round(draws * texts)


def searches(case: Case, searches: int) -> int:
    """Passes for `searches` searches for other weights, if these are not known exactly."""
    how = SHORT if isinstance(case.subject, View) and not case.subject.is_last else BRIEF
    return to_try(case, searches * how.starts * how.steps * THERE_AND_BACK)


def tokens(case: Case) -> Sequence[int]:
    """The number of tokens that the model reads in each of a few examples."""
    found: list[int] = case.subject.encode(case.examples[:FEW]).valid.sum(1).tolist()
    return found


def _scores(case: Case, name: str) -> int:
    lengths = np.array([len(example.words) for example in case.examples])
    if name == "random" or name.startswith("file:"):
        return 0
    if name in ("leave_one_out", "influence_left_out"):
        return int(lengths.sum())
    if name == "lime":
        return int(np.clip(LIME_PER_WORD * lengths, LIME_FEWEST, READ).sum())
    if name == "shapley_sampling":
        return int((lengths * np.clip(READ // np.maximum(lengths, 1), FEWEST_ORDERS, ORDERS)).sum())
    if name == "counterfactual":
        return len(lengths) + searches(case, 1)
    if name == "integrated_gradients":
        return THERE_AND_BACK * STEPS * len(lengths)
    if name in ("atman", "value_zeroing"):  # a pass per token; or through each block once, for every token
        return round(len(lengths) * np.mean(tokens(case)))
    if name == "attattr":  # on average a pass begins half-way
        return THERE_AND_BACK * WAY_OF_WEIGHTS * (len(case.subject.sites) + 1) // 2 * len(lengths)
    if name == "relevance_rollout":
        return 2 * THERE_AND_BACK * len(lengths)
    return (1 if name == "attention" else THERE_AND_BACK) * len(lengths)
