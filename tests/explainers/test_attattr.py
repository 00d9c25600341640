"""AttAttr against its own promise (a layer's attributions sum to a difference of probabilities) and whole passes."""

import numpy as np
import pytest
import torch

from heatcheck.errors import NotSupported
from heatcheck.explainers import explain_one
from heatcheck.explainers.attattr import attattr, attributions
from heatcheck.explainers.scores import Aim
from heatcheck.models import load
from tiny_transformers import EXAMPLES, make

ALL = {family: make(family, sharp=6.0) for family in ("bert", "gpt2", "llama", "albert")}


@pytest.mark.parametrize("family", ALL)
def test_a_layer_s_attributions_sum_to_what_its_weights_are_worth(family):
    subject = ALL[family]
    batch = subject.encode(EXAMPLES)
    with torch.no_grad():
        whole = subject.run(batch).logits[:, 0].double().softmax(-1)
        label = whole.argmax(-1)[:, None]
        gone = [subject.run(batch, edits={site: torch.zeros_like}).logits[:, 0] for site in subject.sites]
    worth = [(whole - without.double().softmax(-1)).gather(1, label)[:, 0] for without in gone]
    assert max(float(one.abs().max()) for one in worth) > 0.01
    off = []
    for steps in (16, 64):
        found = list(attributions(subject, batch, steps=steps))
        off.append(max(float((a.double().sum((1, 2, 3)) - b).abs().max()) for a, b in zip(found, worth, strict=True)))
    assert off[0] < 8e-3
    assert off[1] < 5e-4
    assert off[1] < off[0] / 6, "the error falls with the square of the steps"


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_whole_passes_one_text_and_one_step_at_a_time(family):
    subject = ALL[family]
    for example, scores in zip(EXAMPLES, attattr.explain(subject, EXAMPLES, 0), strict=True):
        batch = subject.encode([example])
        run = subject.run(batch, want=subject.sites)
        label = int(run.logits[0, 0].argmax())
        total = torch.zeros(batch.valid.shape[1])
        for site in subject.sites:
            own = run.parts[site].detach()
            for step in range(16):
                weights = ((step + 0.5) / 16 * own).requires_grad_()
                chance = subject.run(batch, edits={site: weights}).logits[0, 0].softmax(-1)[label]
                total += (own * torch.autograd.grad(chance, weights)[0])[0].sum((0, 1)) / 16
        of_words = (total / len(subject.sites))[batch.word[0] >= 0]
        assert np.allclose(scores, of_words.numpy(), rtol=1e-3, atol=1e-6)


def test_what_speaks_for_one_label_speaks_against_the_other():
    subject = ALL["bert"]
    first, second = (explain_one(subject, EXAMPLES, "attattr", label=label).values for label in (0, 1))
    assert np.allclose(first, -second, atol=1e-7)
    assert np.abs(first).max() > 1e-4
    plain = attattr.aimed(subject, EXAMPLES, 0, Aim(scale=1.0))
    doubled = attattr.aimed(subject, EXAMPLES, 0, Aim(scale=2.0))
    assert not np.allclose(plain[0], doubled[0], rtol=1e-2)


def test_it_needs_every_layer():
    with pytest.raises(NotSupported, match="needs every layer of a transformer"):
        explain_one(load("known:reader@planted_keyword"), EXAMPLES, "attattr")
