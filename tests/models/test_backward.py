"""By the rules LINEAR the forward pass is the same bit for bit, and the backward pass is that of a linear network."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from heatcheck.models import Site, differentiate
from heatcheck.models.hf.backward import LINEAR, following
from rearranged import lively
from tiny_transformers import CONFIGS, EXAMPLES


def slopes(subject, batch):
    """Of the first label's logit, at what goes into the first block."""
    start = Site("input", subject.blocks[0].where)
    return differentiate(subject, batch, [start], lambda run: run.logits[:, 0, 0])[start]


@pytest.mark.parametrize("family", CONFIGS)
def test_the_forward_pass_is_the_same_bit_for_bit(family):
    subject = lively(family)
    batch = subject.encode(EXAMPLES)
    before, slope = subject.run(batch).logits, slopes(subject, batch)
    with following(subject, LINEAR):
        assert torch.equal(subject.run(batch).logits, before)
        assert not torch.allclose(slopes(subject, batch), slope, rtol=0.1)
    assert torch.equal(subject.run(batch).logits, before)
    assert torch.equal(slopes(subject, batch), slope)  # outside, nothing has changed


@pytest.mark.parametrize("family", CONFIGS)
def test_without_biases_tokens_make_up_the_logit(family):
    """Σ e · dy/de = y of a network that is homogeneous once its biases are gone; not so of its true gradient."""
    subject = lively(family)
    with torch.no_grad():
        for name, parameter in subject.network.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
    batch = subject.encode(EXAMPLES)
    start = Site("input", subject.blocks[0].where)
    run = subject.run(batch, want=[start])
    logits = run.logits[:, 0, 0]
    states = run.parts[start]
    with following(subject, LINEAR):
        linear = (slopes(subject, batch) * states).sum((1, 2))
    torch.testing.assert_close(linear, logits, rtol=1e-4, atol=1e-5)
    true = (slopes(subject, batch) * states).sum((1, 2))
    assert (true - logits).abs().max() > 10 * (linear - logits).abs().max()


def test_threads_do_not_meet():
    subject = lively("bert")
    batch = subject.encode(EXAMPLES)
    curved = slopes(subject, batch)
    with following(subject, LINEAR):
        straight = slopes(subject, batch)

    def one(linear):
        if not linear:
            return slopes(subject, batch)
        with following(subject, LINEAR):
            return slopes(subject, batch)

    wanted = [n % 2 == 0 for n in range(12)]
    with ThreadPoolExecutor(4) as pool:
        for linear, found in zip(wanted, pool.map(one, wanted), strict=True):
            torch.testing.assert_close(found, straight if linear else curved)


def test_installed_once_and_left_after_an_error():
    subject = lively("roberta")
    batch = subject.encode(EXAMPLES)
    slope = slopes(subject, batch)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), following(subject, LINEAR):
            raise ZeroDivisionError
    norm = subject.network.get_submodule("roberta.encoder.layer.0.output.LayerNorm")
    assert norm.forward.args[0].forward == type(norm).forward.__get__(norm)
    assert torch.equal(slopes(subject, batch), slope)
