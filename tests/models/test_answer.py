"""Logits alone, by one token after the last attention: those of a whole pass, in every family."""

import pytest
import torch

from heatcheck.explainers.word_removal import mask
from heatcheck.training import predict
from tiny_transformers import CONFIGS, EXAMPLES, make, tiny


@pytest.mark.parametrize("family", sorted(CONFIGS))
def test_the_answers_of_a_whole_pass(family):
    subject = tiny(family)
    assert subject._one_row_suffices
    texts = [*EXAMPLES, *(mask(example, {0, 1}) for example in EXAMPLES)]
    with torch.inference_mode():
        batch = subject.encode(texts)
        whole = subject.run(batch).logits
        torch.testing.assert_close(subject.answer(batch), whole, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(subject.run(batch).logits, whole, rtol=0, atol=0)  # nothing is left behind
    assert predict(subject, texts) == pytest.approx(whole.double().log_softmax(-1).numpy(), abs=1e-5)


def test_the_last_block_goes_on_with_one_token_of_each_text():
    subject, sizes = make("bert"), []
    subject.network.bert.encoder.layer[-1].intermediate.register_forward_hook(
        lambda _, given, __: sizes.append(given[0].shape[1])
    )
    assert subject._one_row_suffices
    sizes.clear()
    subject.answer(subject.encode(EXAMPLES))
    assert sizes == [1]


def test_a_network_that_reads_other_tokens_afterwards_is_run_as_a_whole():
    subject = make("bert")
    subject.network.bert.encoder.layer[-1].output.register_forward_hook(lambda _, __, found: found.roll(1, 1))
    batch = subject.encode(EXAMPLES)
    assert not subject._one_row_suffices
    assert torch.equal(subject.answer(batch), subject.run(batch).logits)
