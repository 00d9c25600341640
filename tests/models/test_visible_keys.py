"""What may carry weight is what the read-out's query sees: no padding, no future, nothing beyond a sliding window."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from transformers import AutoModelForSequenceClassification, MistralConfig, ModernBertConfig

import heatcheck as hc
from heatcheck.checks.identifiability import read_rows
from heatcheck.explainers.counterfactual import searched
from heatcheck.explainers.search import BRIEF
from heatcheck.models import Subject, readable_keys, response, uniform_edits
from heatcheck.models.hf import Transformer
from heatcheck.training.imposed import imposed
from tiny_transformers import EXAMPLES, SIZE, make, tiny, tokenizer

SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "vocab_size": SIZE,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 2,
    "eos_token_id": 3,
}
LOCAL = {"local_attention": 6, "layer_types": ["full_attention", "sliding_attention"]}


def network(family: str) -> Any:
    config = {
        "mistral": lambda: MistralConfig(**SIZES, num_key_value_heads=1, sliding_window=4),
        "modernbert": lambda: ModernBertConfig(**SIZES, **LOCAL, cls_token_id=2, sep_token_id=3),
    }[family]()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return AutoModelForSequenceClassification.from_config(config, dtype=torch.float32).eval()


@cache
def local(family: str) -> Subject:
    """One whose last layer sees a few neighbours only."""
    if family == "wrapped":
        return hc.wrap(network("mistral"), tokenizer(marks=False), mask="attention_mask")
    return Transformer(network(family), tokenizer(marks=family != "mistral"), name=f"tiny-{family}")


@pytest.mark.parametrize("family", ["mistral", "modernbert", "wrapped"])
def test_only_keys_within_the_window_may_carry_weight(family: str) -> None:
    subject = local(family)
    batch = subject.encode(EXAMPLES)
    site = subject.sites[-1]
    with torch.no_grad():
        run = subject.run(batch, want=[site])
    one = torch.arange(len(batch))
    used = run.parts[site][one, :, run.row[:, 0]]
    visible = (used > 0).any(1)
    assert visible.sum(1).tolist() == ([4, 4, 4] if family == "modernbert" else [4, 2, 4])
    assert torch.equal(readable_keys(subject, batch), visible)
    assert torch.equal(response(subject, batch).allowed, visible)
    for kind in ("uniform", "permuted", "random", "first", "last"):
        edited = subject.run(batch, edits=imposed(subject, batch, {"weights": kind}), want=[site]).parts[site]
        given = edited[one, :, run.row[:, 0]]
        assert given.masked_fill(visible[:, None], 0).abs().max() == 0
        assert torch.allclose(given.sum(-1), torch.ones(3, 2))
    even = subject.run(batch, edits=uniform_edits(subject, batch), want=[site]).parts[site][one, 0, run.row[:, 0]]
    assert torch.allclose(even, visible / visible.sum(1, keepdim=True))
    others = searched(subject, EXAMPLES, [0.05], settings=replace(BRIEF, steps=10))[0]
    assert (others.jsd > 0.01).any()
    assert torch.from_numpy(others.weights[:, 0]).masked_fill(visible, 0).abs().max() < 1e-6
    if family != "wrapped":
        assert [row.seen.sum() for row in read_rows(subject, EXAMPLES)] == visible.sum(1).tolist()


@pytest.mark.parametrize("family", ["albert", "bert", "gpt2", "modernbert"])
def test_without_a_window_every_token_may(family: str) -> None:
    subject = tiny(family)
    batch = subject.encode(EXAMPLES)
    assert torch.equal(readable_keys(subject, batch), batch.valid)
    assert torch.equal(response(subject, batch).allowed, batch.valid)


def test_asking_what_may_carry_weight_draws_no_random_numbers() -> None:
    """Or a training under imposed weights would be another one for having asked."""
    subject = make("bert")
    batch = subject.encode(EXAMPLES)
    subject.train()
    state = torch.get_rng_state()
    assert torch.equal(subject.readable(batch), batch.valid)
    assert torch.equal(torch.get_rng_state(), state)
    subject.run(batch)
    assert not torch.equal(torch.get_rng_state(), state)
