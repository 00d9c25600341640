"""Learned gates: their distribution, their slope, and both ends of the penalty."""

import numpy as np
import pytest
import torch

from heatcheck.errors import BadInput
from heatcheck.heads.gates import (
    GateSettings,
    draw_gates,
    gate_edits,
    learn_gates,
    probability_open,
    probability_whole,
    settled_gates,
)
from heatcheck.models import Site
from heatcheck.models.contract.edits import only_head, zero
from tiny_transformers import EXAMPLES, OTHERS, make, tiny


@pytest.mark.parametrize("log_a", [-2.0, 0.0, 1.5, 3.8])
def test_both_probabilities_are_those_of_many_draws(log_a):
    draws = 200_000
    uniform = torch.rand(1, draws, dtype=torch.double, generator=torch.Generator().manual_seed(0))
    gates = draw_gates(torch.full((1, draws), log_a, dtype=torch.double), uniform)
    at = torch.full((1, 1), log_a, dtype=torch.double)
    for share, expected in [((gates > 0), probability_open(at)), ((gates == 1), probability_whole(at))]:
        p = float(expected)
        assert abs(float(share.double().mean()) - p) < 3 * np.sqrt(p * (1 - p) / draws)
    assert float(probability_open(torch.tensor([[3.8]]))) == pytest.approx(0.99, abs=0.001)
    assert float(probability_open(torch.zeros(1, 1))) == pytest.approx(1 / (1 + np.exp(-0.791)), abs=1e-3)


def test_a_gate_that_is_cut_has_no_slope():
    log_a = torch.tensor([[-6.0, 0.0, 6.0]], requires_grad=True)
    gates = draw_gates(log_a, torch.full((1, 3), 0.5))
    gates.sum().backward()
    assert gates[0, 0] == 0
    assert gates[0, 2] == 1
    assert [slope != 0 for slope in log_a.grad[0].tolist()] == [False, True, False]
    assert settled_gates(torch.tensor([[-2.5, 0.0, 2.5]])).tolist() == [[0.0, pytest.approx(0.5), 1.0]]


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_a_closed_gate_is_a_removed_head(family):
    subject = tiny(family)
    batch = subject.encode(EXAMPLES)
    gates = torch.ones(3, 4)
    gates[1, 2] = 0
    with torch.no_grad():
        found = subject.run(batch, edits=gate_edits(subject, gates)).logits
        expected = subject.run(batch, edits={Site("context", subject.sites[1].where): only_head(2, zero)}).logits
    torch.testing.assert_close(found, expected)


def test_without_a_penalty_all_stay_open_and_with_a_large_one_all_close():
    subject = tiny("bert")
    before = {name: value.clone() for name, value in subject.state_dict().items()}
    some = {"steps": 60, "batch_size": 8, "learning_rate": 0.2}
    free = learn_gates(subject, OTHERS, GateSettings(penalty=0.0, **some))
    assert free.kept == 12
    plain = np.mean([float(subject.run(subject.encode([e])).logits.argmax() == e.label) for e in OTHERS])
    assert abs(free.accuracy(OTHERS).mean() - plain) <= 0.12
    dear = learn_gates(subject, OTHERS, GateSettings(penalty=100.0, **some))
    assert dear.kept == 0
    assert all(torch.equal(value, before[name]) for name, value in subject.state_dict().items())


def test_the_same_seed_learns_the_same_gates_and_weights_learn_in_a_copy():
    subject = make("llama")
    before = {name: value.clone() for name, value in subject.state_dict().items()}
    settings = GateSettings(penalty=0.3, steps=5, batch_size=4, weights=True, weights_rate=1e-2)
    one, again, other = (learn_gates(subject, OTHERS, settings, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.log_a, again.log_a)
    assert (one.log_a != other.log_a).any()
    assert all(torch.equal(value, before[name]) for name, value in subject.state_dict().items())
    learned = one.subject.state_dict()
    assert any(not torch.equal(value, before[name]) for name, value in learned.items())
    batch = subject.encode(EXAMPLES)
    with torch.no_grad():
        assert not torch.allclose(one.subject.run(batch).logits, subject.run(batch).logits)


def test_what_gates_need_is_said():
    with pytest.raises(BadInput, match="Give labelled examples"):
        learn_gates(tiny("bert"), [EXAMPLES[0].but(label=None)], GateSettings())
    with pytest.raises(BadInput, match="penalty must be at least 0"):
        GateSettings(penalty=-1.0)
    with pytest.raises(BadInput, match="steps must be at least 1"):
        GateSettings(steps=0)
