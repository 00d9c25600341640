"""Prefix matching, previous and duplicate token: brute force, and heads that are perfect by construction."""

import pytest
import torch

from heatcheck.heads.circuits.matching import (
    duplicate_token,
    in_context_score,
    prefix_matching,
    previous_token,
    repeated,
)


def maps(*shape):
    """Causal weights of random heads."""
    tokens = shape[-1]
    scores = torch.randn(*shape, tokens, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return scores.masked_fill(torch.ones(tokens, tokens).triu(1).bool(), -torch.inf).softmax(-1)


def tokens(examples=2, length=5, times=3):
    drawn = [torch.randperm(9, generator=torch.Generator().manual_seed(n))[:length] + 1 for n in range(examples)]
    return torch.stack([torch.cat([torch.zeros(1, dtype=torch.long), one.repeat(times)]) for one in drawn])


def test_they_are_what_their_definitions_say():
    ids, weights = tokens(), maps(2, 3, 16)
    for measure, looks in (
        (prefix_matching, lambda t, i, j: 0 < j <= i and t[j - 1] == t[i]),
        (previous_token, lambda _, i, j: j == i - 1),
        (duplicate_token, lambda t, i, j: j < i and t[j] == t[i]),
    ):
        found = measure(weights, ids)
        for example in range(2):
            t = ids[example].tolist()
            queries = [i for i in range(16) if t[i] in t[:i]]
            assert queries == list(range(6, 16)), "copies from the second on"
            for head in range(3):
                a = weights[example, head]
                mean = sum(a[i, j] for i in queries for j in range(16) if looks(t, i, j)) / len(queries)
                assert found[example, head] == pytest.approx(float(mean), abs=1e-12)


def test_heads_that_do_nothing_else_have_one():
    ids = tokens(1)
    step = torch.arange(16)
    induction, before, duplicate = (torch.zeros(16, 16) for _ in range(3))
    induction[step, (step - 4).clamp(min=0)] = 1
    before[step, (step - 1).clamp(min=0)] = 1
    duplicate[step, (step - 5).clamp(min=0)] = 1
    heads = torch.stack([induction, before, duplicate])[None]
    assert prefix_matching(heads, ids).tolist() == [[1, 0, 0]]
    assert previous_token(heads, ids).tolist() == [[0, 1, 0]]
    assert duplicate_token(heads, ids).tolist() == [[0, 0, 1]]


def test_leading_axes_and_padding_and_head_order_do_not_matter():
    ids, weights = tokens(), maps(4, 2, 3, 16)
    found = prefix_matching(weights, ids)
    assert found.shape == (4, 2, 3)
    for seed in range(4):
        assert torch.equal(found[seed], prefix_matching(weights[seed], ids))
    assert torch.equal(prefix_matching(weights.flip(2), ids), found.flip(2))
    longer = torch.nn.functional.pad(ids, (0, 4))  # padding has an id too
    padded = torch.nn.functional.pad(weights[0], (0, 4, 0, 4))
    real = torch.arange(20) < 16
    assert torch.equal(prefix_matching(padded, longer, repeated(longer) & real), found[0])


def test_nothing_repeats():
    assert prefix_matching(maps(1, 2, 4), torch.tensor([[0, 1, 2, 3]])).isnan().all()


def test_in_context_score():
    losses = torch.linspace(1, 0, 601)[None]
    assert float(in_context_score(losses)) == pytest.approx(-450 / 600)
    assert float(in_context_score(losses, 0, 600)) == pytest.approx(-1)
    assert float(in_context_score(losses[:, :101])) == pytest.approx(-80 / 600)
