"""A model and its temperature twin, whose output layer is some times as large, get the same card."""

from copy import deepcopy

import numpy as np
import pytest
import torch

from heatcheck.auditing import plan_audit
from heatcheck.auditing.calibration.audit import OF_CARD
from heatcheck.checks import CHECKS
from heatcheck.auditing import make_card
from heatcheck.data.planted import planted
from heatcheck.errors import NotSupported
from subjects import classifier
from tiny_transformers import EXAMPLES, make

FACTORS = (3.0, 10.0, 40.0)
TEXTS = planted("planted_contrast", seed=5, fillers=(6, 9), sizes=(60, 10, 24))
OF_AUDIT = tuple(check for check in OF_CARD if not CHECKS[check].refits)
QUICK = {
    "card.texts": 10,
    "necessity.shuffles": 2,
    "counterfactual.epsilons": (0.05,),
    "counterfactual.shuffles": 1,
    "permutation.repeats": 20,
}


def card_of(subject, data, checks=OF_AUDIT, examples=24):
    draws = {f"{check}.draws": 50 for check in checks}
    chosen = {key: value for key, value in QUICK.items() if key.partition(".")[0] in ("card", *checks)}
    plan = plan_audit(subject, data, checks=checks, examples=examples, settings={**chosen, **draws})
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
        name: (mine[name], theirs[name]) for name in mine if not np.isclose(mine[name], theirs[name], rtol=0, atol=1e-6)
    }
    assert not off


def hotter(subject, factor):
    """The output layer, weights and bias, times the factor."""
    twin = deepcopy(subject)
    output = twin.output if hasattr(twin, "output") else twin.model.classifier
    with torch.no_grad():
        output.weight.mul_(factor)
        output.bias.mul_(factor)
    return twin


@pytest.mark.parametrize("encoder", ["lstm", "cnn", "average"])
def test_a_classifier_and_its_twins(encoder):
    subject = classifier(TEXTS["test"].examples, TEXTS.labels, encoder=encoder)
    card = card_of(subject, TEXTS)
    assert len(numbers(card)) > 50
    for factor in FACTORS:
        assert_same(card, card_of(hotter(subject, factor), TEXTS))
