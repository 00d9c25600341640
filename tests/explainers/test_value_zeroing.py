"""Value zeroing against whole passes with one value set to zero, layer by layer."""

import numpy as np
import pytest
import torch

from heatcheck.errors import NotSupported
from heatcheck.explainers import explain_one
from heatcheck.explainers.value_zeroing import cosine_distance, mixing
from heatcheck.models import Site, load
from tiny_transformers import EXAMPLES, make

ALL = {family: make(family, sharp=6.0) for family in ("bert", "gpt2", "llama", "albert")}


@pytest.mark.parametrize("family", ALL)
@torch.no_grad()
def test_whole_passes_with_one_value_of_one_layer_emptied(family):
    subject = ALL[family]
    found = list(mixing(subject, subject.encode(EXAMPLES)))
    scores = explain_one(subject, EXAMPLES, "value_zeroing").values
    for place, example in enumerate(EXAMPLES):
        batch = subject.encode([example])
        tokens = batch.valid.shape[1]
        own = subject.run(batch, want=subject.blocks)
        rolled = torch.eye(tokens, dtype=torch.float64)
        for number, (site, block) in enumerate(zip(subject.sites, subject.blocks, strict=True)):
            expected = torch.zeros(tokens, tokens, dtype=torch.float64)
            for token in range(tokens):

                def silence(values, token=token):
                    emptied = values.clone()
                    emptied[:, :, token] = 0
                    return emptied

                edits = {Site("value", site.where): silence}
                moved = subject.run(batch, edits=edits, want=[block]).parts[block]
                alike = torch.nn.functional.cosine_similarity(moved[0].double(), own.parts[block][0].double(), dim=-1)
                expected[:, token] = 1 - alike
            expected = expected / expected.sum(-1, keepdim=True)
            assert torch.allclose(found[number][place, :tokens, :tokens], expected, rtol=1e-3, atol=1e-6)
            rolled = expected @ rolled
        row = rolled[own.row[0, 0]][batch.word[0] >= 0].numpy()
        assert np.allclose(scores[place, : len(row)], row, rtol=1e-3, atol=1e-6)
        assert row.std() > 1e-3


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_rows_sum_to_one_and_nothing_comes_from_later_tokens_or_padding(family):
    subject = ALL[family]
    batch = subject.encode(EXAMPLES)
    for layer in mixing(subject, batch):
        assert torch.allclose(layer.sum(-1), batch.valid.double())
        assert not layer.masked_select(~batch.valid[:, None]).any()
        assert bool(layer.triu(1).any()) == (family == "bert")


def test_states_that_hardly_differ():
    state = torch.tensor([1.0, 0.0])
    moved = torch.tensor([1.0, 1e-6])
    assert float(cosine_distance(state, moved)) == pytest.approx(5e-13, rel=1e-3)


def test_it_needs_every_layer():
    with pytest.raises(NotSupported, match="needs every layer of a transformer"):
        explain_one(load("known:reader@planted_keyword"), EXAMPLES, "value_zeroing")
