"""The theory of Snell et al. 2021 in its smallest case: two words, one label each, by its closed form.

Vocabulary {0, 1}; {0, 0} is negative and {0, 1} positive. b is what each word says, p the weight on word 1 where it is.
s₀ = b₀ and s₁ = (1 − p) b₀ + p b₁, and the loss is s₀ − s₁ = p (b₀ − b₁). (Their blog prints the other sign; its
algebra is this one.) The flow down its gradient is b₀' = −p, b₁' = p, p' = b₁ − b₀.
"""

import numpy as np
import pytest
import torch

from heatcheck.models import Site
from subjects import SUBJECTS

ROOT = np.sqrt(2.0)


def loss(b0, b1, p):
    negative, positive = b0, (1 - p) * b0 + p * b1
    return negative - positive


def slopes(state):
    """Down the gradient, by autograd: nothing of the closed form is in it."""
    b0, b1, p = (torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in state)
    return -np.array([float(slope) for slope in torch.autograd.grad(loss(b0, b1, p), (b0, b1, p))])


def flow(state, until, steps=200):
    """Runge and Kutta's fourth order."""
    h, state = until / steps, np.array(state, dtype=float)
    path = [state]
    for _ in range(steps):
        one = slopes(state)
        two = slopes(state + h / 2 * one)
        three = slopes(state + h / 2 * two)
        four = slopes(state + h * three)
        state = state + h / 6 * (one + 2 * two + 2 * three + four)
        path.append(state)
    return np.linspace(0, until, steps + 1), np.array(path)


def test_the_flow_is_its_closed_form():
    times, path = flow((0.3, 0.3, 0.5), until=2.0)
    np.testing.assert_allclose(path[:, 2], 0.5 * np.cosh(ROOT * times), rtol=1e-6)
    np.testing.assert_allclose(path[:, 1] - path[:, 0], ROOT / 2 * np.sinh(ROOT * times), atol=1e-6)


def test_relevance_is_learned_before_attention():
    """At the start the weight stands still, and moves only once the words have come to differ."""
    b0, b1, p = slopes((0.3, 0.3, 0.5))
    assert (b0, b1, p) == (-0.5, 0.5, 0.0)
    _, path = flow((0.3, 0.3, 0.5), until=0.1)
    assert path[-1, 1] - path[-1, 0] > 10 * (path[-1, 2] - 0.5) > 0, "first order in time against second"


def test_words_that_mean_the_wrong_thing_repel_attention_first():
    _, path = flow((10.0, -10.0, 0.5), until=0.02)
    assert path[-1, 2] < 0.2


@pytest.mark.parametrize("size", [1.0, 10.0, 1000.0])
def test_a_low_loss_does_not_mean_attending_to_the_keyword(size):
    """b₀ = −K, b₁ = 3K: at p = ½ the loss is −2K, as low as one likes, and no weight has moved."""
    assert loss(-size, 3 * size, 0.5) == -2 * size


@pytest.mark.parametrize("name", ["lstm", "cnn", "average", "lstm dot", "average three labels"])
def test_scores_are_pulled_by_relevance_over_its_mean(name):
    """d logit_k / d score_t = α_t (r_tk − Σ_s α_s r_sk), in every classifier with a linear read-out."""
    subject, examples = SUBJECTS[name]
    batch = subject.encode(examples)
    run = subject.run(batch, want=[Site("score"), Site("attention")])
    (pull,) = torch.autograd.grad(run.logits[:, 0, -1].sum(), run.parts[Site("score")])
    said = subject.response(batch).relevance[:, 0, :, -1]
    weights = run.parts[Site("attention")][:, 0, 0]
    expected = weights * (said - (weights * said).sum(1, keepdim=True))
    torch.testing.assert_close(pull[:, 0, 0], expected.detach(), atol=1e-6, rtol=1e-4)
