"""A model and its temperature twin, whose output layer is some times as large, get the same card."""

from copy import deepcopy

import numpy as np
import pytest
import torch

from heatcheck.auditing import make_card, plan_audit
from heatcheck.checks import CHECKS
from heatcheck.data.planted import planted
from heatcheck.errors import NotSupported
from subjects import classifier
from tiny_transformers import WORDS, make

TEXTS = planted("planted_contrast", seed=5, fillers=(6, 9), sizes=(40, 5, 8))
OF_AUDIT = ("necessity", "erasure", "permutation", "counterfactual", "guide", "gauge")
QUICK = {
    "card.texts": 8,
    "necessity.shuffles": 2,
    "counterfactual.epsilons": (0.05,),
    "counterfactual.shuffles": 1,
    "permutation.repeats": 20,
    **{f"{check}.draws": 50 for check in OF_AUDIT},
}


def card_of(subject, data, examples=8):
    plan = plan_audit(subject, data, checks=OF_AUDIT, examples=examples, settings=QUICK)
    results, refused = {}, {}
    for check, settings in plan.checks.items():
        try:
            results[check] = CHECKS[check].measure(plan.case, settings)
        except NotSupported as error:
            refused[check] = str(error)
    return make_card(results, plan.case.logit_scale, plan.card, refused)


def numbers(card):
    """Every number of the card by its name."""
    return {
        (line.name, m.name, str(sorted(m.by.items())), end): getattr(m, end)
        for line in card.every_line
        for m in line.evidence
        for end in ("value", "low", "high", "n")
    }


def assert_same(one, other):
    assert [line.state for line in one.every_line] == [line.state for line in other.every_line]
    mine, theirs = numbers(one), numbers(other)
    assert mine.keys() == theirs.keys()
    off = {
        name: (mine[name], theirs[name])
        for name in mine
        if not np.isclose(mine[name], theirs[name], rtol=0, atol=1e-6, equal_nan=True)
    }
    assert not off


def enlarge(output, factor):
    with torch.no_grad():
        output.weight.mul_(factor)
        output.bias.mul_(factor)


def hotter(subject, factor):
    """The output layer, weights and bias, times the factor."""
    twin = deepcopy(subject)
    enlarge(twin.output, factor)
    return twin


@pytest.mark.parametrize(("encoder", "factor"), [("lstm", 40), ("cnn", 3), ("average", 10)])
def test_a_classifier_and_its_twin(encoder, factor):
    """Times 40 its probabilities are exactly 0 and 1. Untrained models say next to nothing, which
    float32 would drown: so in float64."""
    subject = hotter(classifier(TEXTS["test"].examples, TEXTS.labels, encoder=encoder).double(), 32)
    card = card_of(subject, TEXTS)
    assert len(numbers(card)) > 80
    assert 0.1 < card.logit_scale < 3
    assert_same(card, card_of(hotter(subject, factor), TEXTS))


def test_a_transformer_and_its_twin():
    draw = np.random.default_rng(1)
    texts = [" ".join(draw.choice(WORDS, size=draw.integers(5, 8))) for _ in range(8)]

    def card(factor):
        subject = make("bert")
        subject.double()
        enlarge(subject.network.classifier, 128 * factor)
        return card_of(subject, (texts, [subject.labels[n % 2] for n in range(8)]), examples=8)

    own = card(1)
    assert len(numbers(own)) > 60
    assert_same(own, card(40))
