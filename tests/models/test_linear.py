"""Linear layers through oneDNN: the same numbers up to rounding, one kernel for all passes, gradients included."""

import copy

import pytest
import torch
from transformers import AutoModelForSequenceClassification, BertConfig, GPT2Config
from transformers.models.bert.modeling_bert import BertSelfOutput
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

from heatcheck.errors import NotSupported
from heatcheck.explainers import explain_one
from heatcheck.models import Site, differentiate
from heatcheck.models.hf import Transformer, linear
from tiny_transformers import EXAMPLES, SIZE, tokenizer

pytestmark = pytest.mark.skipif(not linear._is_quicker(), reason="this processor has no AVX-512, or torch no oneDNN")
WIDE = {
    "bert": BertConfig(
        hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256, vocab_size=SIZE
    ),
    "gpt2": GPT2Config(vocab_size=SIZE, n_embd=128, n_layer=2, n_head=4, n_positions=64, pad_token_id=0),
}


def wide(family):
    torch.manual_seed(0)
    network = AutoModelForSequenceClassification.from_config(copy.deepcopy(WIDE[family]))
    return Transformer(network, tokenizer(marks=family == "bert"), name=family)


@pytest.fixture(params=sorted(WIDE))
def subject(request):
    return wide(request.param)


def test_the_same_answers_and_gradients(subject, monkeypatch):
    batch, site = subject.encode(EXAMPLES), Site("embedding")

    def found(of):
        slope = differentiate(of, batch, [site], lambda run: run.logits[:, 0, 0])[site]
        with torch.no_grad():
            return of.run(batch).logits, slope

    calls = []
    plain = linear._product
    monkeypatch.setattr(linear, "_product", lambda *given: calls.append(1) or plain(*given))
    quick = found(subject)
    assert len(calls) >= 3 * 4 * 2, "there, back, and there without a way back; four large products in each layer"
    monkeypatch.setattr(linear, "_is_quicker", lambda: False)
    for one, other in zip(quick, found(wide(subject.name)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    assert quick[1].abs().max() > 1e-3


def test_a_text_has_the_same_answer_whatever_the_batch(subject):
    """One kernel for every number of rows: a text alone and among others differ by rounding only."""
    with torch.no_grad():
        together = subject.run(subject.encode(EXAMPLES)).logits
        alone = torch.cat([subject.run(subject.encode([one])).logits for one in EXAMPLES])
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-6)


def test_parameters_learn_in_training_mode_alone(subject):
    batch = subject.encode(EXAMPLES)
    with pytest.raises(NotSupported, match="call train"):
        subject.run(batch).logits.sum().backward()
    subject.train()
    subject.run(batch).logits.sum().backward()
    large = [module for module in subject.modules() if getattr(module, "forward", None).__class__.__name__ == "partial"]
    weights = [module.weight for module in large if isinstance(getattr(module, "weight", None), torch.Tensor)]
    assert weights
    assert all(weight.grad is not None for weight in weights if weight.numel() >= linear.LARGE)


def test_outside_a_pass_nothing_changes(subject, monkeypatch):
    def refuse(*_):
        raise AssertionError("the network by itself is what transformers made")

    monkeypatch.setattr(linear, "_product", refuse)
    subject.network(**subject.encode(EXAMPLES).inputs)


def test_a_word_that_nothing_reads_has_no_effect_at_all(subject):
    """One kernel for the whole text and for each removal: no noise that a ranking could see."""
    with torch.no_grad():
        for module in subject.network.modules():
            if isinstance(module, BertSelfOutput):
                module.dense.weight.zero_()
            if isinstance(module, GPT2Attention):
                module.c_proj.weight.zero_()
    words = slice(None) if subject.name == "bert" else slice(1, -1)  # a decoder reads the last, and counts positions
    if subject.name == "gpt2":
        subject.network.transformer.wpe.weight.data.zero_()
    found = explain_one(subject, EXAMPLES, "leave_one_out")
    for row, example in enumerate(EXAMPLES):
        assert (found.values[row, : len(example.words)][words] == 0).all()
