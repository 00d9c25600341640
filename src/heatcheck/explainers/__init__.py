"""Methods that score words: attention and others to compare it with."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heatcheck.data import Example
from heatcheck.engine import Plugged, expect, expect_if_given, expect_names
from heatcheck.errors import BadInput, UnknownName
from heatcheck.explainers.alti import alti
from heatcheck.explainers.atman import atman
from heatcheck.explainers.attattr import attattr
from heatcheck.explainers.attention import attention
from heatcheck.explainers.attention_that_matters import attention_that_matters
from heatcheck.explainers.attnlrp import attnlrp
from heatcheck.explainers.contribution import contribution
from heatcheck.explainers.contribution_weights import contribution_weights
from heatcheck.explainers.counterfactual import (
    EPSILON,
    StandIns,
    best_stand_ins,
    counterfactual,
    of_readout,
    searched,
    stand_ins,
    words_of,
)
from heatcheck.explainers.decompx import decompx
from heatcheck.explainers.effective_attention import effective_attention
from heatcheck.explainers.explanation import Explanation, Prediction
from heatcheck.explainers.flow import flow
from heatcheck.explainers.gim import gim
from heatcheck.explainers.gradient import gradient, gradient_through, gradient_uniform, gradient_x_input
from heatcheck.explainers.gradient_rollout import gradient_rollout
from heatcheck.explainers.influence import influence, influence_left_out
from heatcheck.explainers.integrated_gradients import integrated_gradients
from heatcheck.explainers.leave_one_out import leave_one_out
from heatcheck.explainers.log_odds import log_odds
from heatcheck.explainers.norms import globenc, norm_rollout, norms
from heatcheck.explainers.random import random
from heatcheck.explainers.readout import Readout, of_words, read_out, require_short_cut, responses
from heatcheck.explainers.relevance import relevance
from heatcheck.explainers.relevance_rollout import relevance_rollout
from heatcheck.explainers.rollout import rollout
from heatcheck.explainers.sampled import lime, shapley_sampling
from heatcheck.explainers.scores import Aim, Explainer, Read, Scores, pad_scores
from heatcheck.explainers.scores_from_file import check_ids, from_file
from heatcheck.explainers.target import find_label, find_target
from heatcheck.explainers.value_zeroing import value_zeroing
from heatcheck.explainers.weight_factor import gradient_contains_weight
from heatcheck.explainers.word_removal import REMOVALS
from heatcheck.models import Seq2Seq, Subject, in_units, load, require_one_decision, require_subject, whole_model
from heatcheck.models.contract.lengths import in_one_way, say_cut
from heatcheck.training import pick_device, predict

__all__ = [
    "ALSO_CALLED",
    "EPSILON",
    "EXPLAINERS",
    "MAX_WORDS",
    "REMOVALS",
    "Aim",
    "Explainer",
    "Explanation",
    "Prediction",
    "Read",
    "Readout",
    "Scores",
    "StandIns",
    "best_stand_ins",
    "check_ids",
    "explain",
    "explain_one",
    "find_explainer",
    "find_label",
    "find_target",
    "from_file",
    "gradient_contains_weight",
    "of_readout",
    "of_words",
    "pad_scores",
    "read_out",
    "require_short_cut",
    "responses",
    "searched",
    "stand_ins",
    "words_of",
]

MAX_WORDS = 2000  # leave-one-out reads the text once for each

EXPLAINERS: dict[str, Explainer] = {
    explainer.name: explainer
    for explainer in (
        alti,
        atman,
        attattr,
        attention,
        attention_that_matters,
        attnlrp,
        contribution,
        contribution_weights,
        counterfactual,
        decompx,
        effective_attention,
        flow,
        gim,
        globenc,
        gradient,
        gradient_rollout,
        gradient_through,
        gradient_uniform,
        gradient_x_input,
        influence,
        influence_left_out,
        integrated_gradients,
        leave_one_out,
        lime,
        log_odds,
        norm_rollout,
        norms,
        random,
        relevance,
        relevance_rollout,
        rollout,
        shapley_sampling,
        value_zeroing,
    )
}
EXPLAINERS = Plugged("heatcheck.explainers", Explainer, EXPLAINERS)


# What people call some of them elsewhere.
ALSO_CALLED = {
    "shap": "shapley_sampling",
    "shapley": "shapley_sampling",
    "ig": "integrated_gradients",
    "loo": "leave_one_out",
    "saliency": "gradient",
    "input_x_gradient": "gradient_x_input",
}


def find_explainer(name: str) -> Explainer:
    """Find an explainer by name or by a common other name (`shap`); `file:PATH` reads scores computed elsewhere."""
    name = ALSO_CALLED.get(name, name)
    if name.startswith("file:"):
        return from_file(name.removeprefix("file:"))
    if name not in EXPLAINERS:
        raise UnknownName("explainer", name, [*EXPLAINERS, "file:PATH"])
    return EXPLAINERS[name]


def explain_one(
    subject: Subject,
    examples: Sequence[Example],
    name: str,
    *,
    seed: int = 0,
    scale: float = 1.0,
    label: int | None = None,
    read: Read | None = None,
) -> Scores:
    """Scores over the words of each example, by one explainer.

    Args:
        scale: factor on the logits, for explainers that depend on their size.
        label: the label to explain, for explainers that depend on one; None: the predicted label.
        read: gives the model's answers to changed texts, where some are known already; None: the model reads each.
    """
    explainer = find_explainer(name)
    subject = subject if explainer.of_heatmap else whole_model(subject)
    aim = Aim(scale if explainer.scaled else 1.0, label, read)
    subject = in_one_way(subject, examples)
    if explainer.aimed is None or aim == Aim():
        return pad_scores(explainer, examples, explainer.explain(subject, examples, seed))
    return pad_scores(explainer, examples, explainer.aimed(subject, examples, seed, aim))


def explain(
    subject: Subject | Path | str,
    text: str,
    *,
    by: Sequence[str] | str = ("attention", "gradient", "leave_one_out"),
    text_pair: str | None = None,
    target: str | int | Sequence[Any] | None = None,
    seed: int = 0,
    device: str = "auto",
    units: str = "words",
) -> Explanation:
    """Score each word of one text, by one or more explainers; None for a word without a score.

    A transformer scores the words of both texts, and tokenizer pieces if the script has no spaces. Explainers of a
    probability (leave-one-out, gradients and others) use the model's own probability. An audit uses a standardised one
    (docs/card.md), so that a model and a more confident twin of it are judged alike.

    Args:
        subject: the model, or its folder or name.
        text: the text to explain.
        by: names of explainers, as a list or separated by commas; `heatcheck explainers` lists them.
        text_pair: the second text, for a model that reads two.
        target: the label to explain, by name or number; or one label rather than another, `"good-bad"`. None: the
            predicted label. For a multi-label model it names the decision. Attention and other explainers that do not
            depend on a label ignore it.
        seed: random seed, for explainers that sample.
        device: the device for a model given by name; `auto` uses a GPU if there is one.
        units: `words`, or `tokens` for the pieces of a Hugging Face tokenizer.

    Returns:
        For each explainer, the words of the text with their scores.

    >>> from heatcheck.models import load
    >>> explain(load("known:reader@planted_contrast"), "but dull", by=["attention"])["attention"][1][0]
    'dull'
    """
    expect("a text", text=text, device=device, units=units)
    expect_if_given("a text", text_pair=text_pair)
    expect("a whole number", seed=seed)
    expect_names(by=by)
    if not text.strip():
        raise BadInput("the text is empty: give at least one word.")
    if isinstance(subject, str | Path):
        subject = load(subject, device=str(pick_device(device)))
    require_subject(subject)
    if subject.recipe is not None and subject.recipe.impose is not None:
        raise BadInput(
            f"{subject.id} was trained with imposed weights, so it has no heatmap of its own. Explain a model with "
            "learned attention."
        )
    if isinstance(subject, Seq2Seq):
        raise BadInput(
            f"{subject.id} is a sequence-to-sequence model, but explain scores words for a label. See "
            "docs/sequences.md."
        )
    by = [name.strip() for name in (by.split(",") if isinstance(by, str) else by)]
    by = [ALSO_CALLED.get(name, name) for name in by]
    if target is None:
        require_one_decision(subject, "a heatmap")
    (example,) = in_units(subject, [Example("text", text, text_pair)], units)
    if len(example.words) > MAX_WORDS:
        raise BadInput(
            f"the text has {len(example.words):,} words, but explain takes at most {MAX_WORDS:,}: shorten it."
        )
    aim = find_target(subject, target, example)
    aim.require(by)
    asked = aim.of(example)
    found = {name: explain_one(aim.subject, [asked], name, seed=seed, label=aim.label) for name in by}
    explanation = Explanation(
        {
            name: [
                (word, float(value) if ok else None)
                for word, value, ok in zip(example.words, scores.values[0], scores.valid[0], strict=True)
            ]
            for name, scores in found.items()
        }
    )
    several = getattr(subject, "several", False)
    explanation.prediction = _prediction(aim.subject if several else subject, example)
    if aim.label is not None and not several:
        explanation.target = _prediction(aim.subject, asked, aim.label, aim.name)
    explanation.remark = say_cut(subject, [example])
    return explanation


def _prediction(subject: Subject, example: Example, label: int | None = None, name: str | None = None) -> Prediction:
    """A label (None: the predicted one) with its probability."""
    probabilities = np.exp(predict(subject, [example])[0, 0])
    names = getattr(subject, "labels", [str(number) for number in range(len(probabilities))])
    place = int(probabilities.argmax()) if label is None else label
    return Prediction(name or names[place], float(probabilities[place]))
