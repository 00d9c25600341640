"""Effective attention: the same head output, nothing on padding, nothing on the future."""

import numpy as np
import pytest
import torch

from heatcheck.explainers.effective_attention import effective_attention, effective_weights
from heatcheck.models import Site
from tiny_transformers import EXAMPLES, make

ALL = {family: make(family, sharp=12.0) for family in ("bert", "gpt2", "llama", "modernbert")}
FEATURES = 8  # of a head


@torch.no_grad()
def taken(subject, batch, site, part):
    wanted = Site(part, site.where)
    return subject.run(batch, want=[wanted]).parts[wanted].double().numpy()


@pytest.mark.parametrize("family", ALL)
def test_heads_give_the_same_and_what_was_short_enough_is_unchanged(family):
    subject = ALL[family]
    batch = subject.encode(EXAMPLES)
    valid = batch.valid.numpy()
    for site in subject.sites:
        weights, values = taken(subject, batch, site, "attention"), taken(subject, batch, site, "value")
        found = effective_weights(subject, batch, site)
        for place, real in enumerate(valid):
            n = real.sum()
            own, ours = weights[place][:, :n, :n], found.weights[place][:, :n, :n]
            assert np.allclose(ours @ values[place][:, :n], own @ values[place][:, :n], atol=1e-5)
            seen = np.arange(1, n + 1) if subject.reads_last else np.full(n, n)
            assert (found.rank[place][:, :n] == np.minimum(seen, FEATURES)).all()
            short = seen <= FEATURES
            assert np.allclose(ours[:, short], own[:, short], atol=1e-5)
            if not short.all():
                assert np.abs(ours[:, ~short] - own[:, ~short]).max() > 1e-3
            assert (found.weights[place][:, n:] == 0).all()
            assert (found.weights[place][:, :, n:] == 0).all()
        if subject.reads_last:
            assert (np.triu(found.weights, 1) == 0).all()


@pytest.mark.parametrize("family", ALL)
def test_scores_are_the_last_layer_s_read_out_row_summed_over_heads(family):
    subject = ALL[family]
    found = effective_attention.explain(subject, EXAMPLES, 0)
    for scores, example in zip(found, EXAMPLES, strict=True):
        batch = subject.encode([example])
        whole = effective_weights(subject, batch, subject.sites[-1])
        row = int(subject.rows(batch)[0])
        assert np.allclose(scores, whole.weights[0].sum(0)[row][batch.word[0].numpy() >= 0], atol=1e-6)


def test_padding_changes_no_effective_weight():
    """As many real tokens as features, within a longer batch: with padding among the values they would change."""
    subject = ALL["bert"]
    short, long = EXAMPLES[1], EXAMPLES[2]
    together = effective_weights(subject, subject.encode([short, long]), subject.sites[-1])
    alone = effective_weights(subject, subject.encode([short]), subject.sites[-1])
    n = alone.weights.shape[-1]
    assert n <= FEATURES < together.weights.shape[-1]
    assert np.allclose(together.weights[0, :, :n, :n], alone.weights[0], atol=1e-6)
    assert (together.rank[0, :, :n] == alone.rank[0]).all()
