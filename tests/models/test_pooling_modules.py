"""`heatcheck.wrap` on modules that pool over all rows, and on stacks of encoder layers: each beside a sum by hand."""

import numpy as np
import pytest
import torch
from torch import nn

import heatcheck as hc
from heatcheck.data import Example
from heatcheck.data.vocabulary import build_vocabulary
from heatcheck.errors import BadInput, NotSupported
from heatcheck.explainers import explain_one
from heatcheck.models import differentiate, response, token_weights

TEXTS = ("the film was not very good", "bad movie", "a great film so fine")
EXAMPLES = [Example(f"t{n}", text) for n, text in enumerate(TEXTS)]
VOCABULARY = build_vocabulary(TEXTS)
SIZE = len(VOCABULARY)


class Encoder(nn.Module):
    """Decided from the mean over its tokens, or from the first."""

    def __init__(self, pools=True):
        super().__init__()
        torch.manual_seed(0)
        self.pools = pools
        self.embed = nn.Embedding(SIZE, 8, padding_idx=0)
        layer = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(8, 2)
        with torch.no_grad():
            for part in self.encoder.layers:
                part.self_attn.in_proj_weight.mul_(4)  # so that no row is even

    def forward(self, ids, padding=None):
        x = self.encoder(self.embed(ids), src_key_padding_mask=padding)
        read = torch.ones_like(ids, dtype=torch.bool) if padding is None else ~padding
        return self.out((x * read[..., None]).sum(1) / read.sum(1, keepdim=True) if self.pools else x[:, 0])


def by_hand(module, text, imposed=None):
    """The weights of each layer [head query key] and the states of one text; `imposed` [head key] in every last row."""
    x = module.embed(torch.tensor([[VOCABULARY.tokens.index(word) for word in text.split(" ")]]))
    found = []
    for layer in module.encoder.layers:
        attention = layer.self_attn
        _, weights = attention(x, x, x, average_attn_weights=False)
        if imposed is not None and layer is module.encoder.layers[-1]:
            weights = imposed[None, :, None].expand_as(weights)
        value = nn.functional.linear(x, attention.in_proj_weight[16:], attention.in_proj_bias[16:])
        mixed = weights @ value.unflatten(2, (2, 4)).transpose(1, 2)
        x = layer.norm1(x + attention.out_proj(mixed.transpose(1, 2).flatten(2)))
        x = layer.norm2(x + layer.linear2(torch.relu(layer.linear1(x))))
        found.append(weights[0])
    return found, x


def rolled_out(weights):
    """(A₂ + I)/2 · (A₁ + I)/2, heads averaged."""
    below, above = ((of.mean(0) + torch.eye(of.shape[-1])) / 2 for of in weights)
    return above @ below


@pytest.fixture(scope="module", params=["apart", "masked"])
def subject(request):
    return hc.wrap(Encoder(), VOCABULARY, row="mean", mask="padding" if request.param == "masked" else None)


@torch.no_grad()
def test_the_heatmap_is_the_mean_of_the_rows(subject):
    batch = subject.encode(EXAMPLES)
    heat = token_weights(subject, subject.run(batch, want=subject.sites[-1:]))
    scores, rolled = (explain_one(subject, EXAMPLES, name) for name in ("attention", "rollout"))
    for row, text in enumerate(TEXTS):
        weights, _ = by_hand(subject.module, text)
        expected = weights[-1].mean(0).mean(0)
        n = len(expected)
        torch.testing.assert_close(heat[row, :n], expected)
        np.testing.assert_allclose(scores.values[row, :n], expected, atol=1e-6)
        np.testing.assert_allclose(rolled.values[row, :n], rolled_out(weights).mean(0), atol=1e-6)
    assert repr(subject).count("row: mean") == 1


@torch.no_grad()
def test_other_weights_are_put_into_every_row(subject):
    batch = subject.encode(EXAMPLES)
    found = response(subject, batch)
    assert torch.equal(found.allowed, batch.valid)
    weights = torch.rand(len(TEXTS), 1, 1, 2, batch.valid.shape[1]) * batch.valid[:, None, None, None]
    logits = found.logits(weights)
    for row, text in enumerate(TEXTS):
        _, states = by_hand(subject.module, text, weights[row, 0, 0, :, : len(text.split(" "))])
        torch.testing.assert_close(logits[row, 0, 0], subject.module.out(states.mean(1))[0], atol=1e-5, rtol=1e-5)


def test_a_linear_answer_is_believed_only_where_the_mean_gives_it():
    class Gated(nn.Module):
        """One head; each row counts by its own first feature, unless all count alike."""

        def __init__(self, gated):
            super().__init__()
            torch.manual_seed(0)
            self.gated, self.embed, self.out = gated, nn.Embedding(SIZE, 8), nn.Linear(8, 2)

        def forward(self, ids):
            x = self.embed(ids)
            mixed = (x @ x.mT).softmax(-1) @ x
            return self.out((x[..., :1] * mixed if self.gated else mixed).mean(1))

    for gated in (False, True):
        subject = hc.wrap(Gated(gated), VOCABULARY, row="mean")
        found = response(subject, subject.encode(EXAMPLES[:1]))
        assert (found.relevance is None) == gated


@pytest.mark.parametrize("mask", [None, "padding"])
def test_rollout_of_a_wrapped_encoder(mask):
    subject = hc.wrap(Encoder(pools=False), VOCABULARY, mask=mask)
    found = explain_one(subject, EXAMPLES, "rollout")
    assert not found.missing
    for row, text in enumerate(TEXTS):
        weights, _ = by_hand(subject.module, text)
        n = len(text.split(" "))
        np.testing.assert_allclose(found.values[row, :n], rolled_out(weights)[0].detach(), atol=1e-6)
        np.testing.assert_allclose(explain_one(subject, EXAMPLES, "flow").values[row, :n].sum(), 1)
    batch = subject.encode(EXAMPLES[:1])
    slopes = differentiate(subject, batch, subject.sites, lambda run: run.logits[:, 0].amax(-1))
    relevance = torch.eye(batch.valid.shape[1])
    for site, weights in zip(subject.sites, by_hand(subject.module, TEXTS[0])[0], strict=True):
        relevance = relevance + (slopes[site][0] * weights).clamp(min=0).mean(0) @ relevance
    weighted = explain_one(subject, EXAMPLES, "gradient_rollout").values[0]
    expected = (relevance - torch.eye(len(relevance)))[0].detach()
    np.testing.assert_allclose(weighted, expected, atol=1e-6)
    assert weighted.max() > 1e-4


def test_rollout_is_refused_where_a_layer_is_not_looked_at():
    subject = hc.wrap(Encoder(pools=False), VOCABULARY, attention="encoder.layers.1.self_attn")
    with pytest.raises(NotSupported, match=r"are not all layers of one nn\.TransformerEncoder"):
        explain_one(subject, EXAMPLES, "rollout")


class WithLengths(nn.Module):
    def __init__(self, masks=True):
        super().__init__()
        self.masks, self.embed = masks, nn.Embedding(SIZE, 8)
        self.score, self.out = nn.Linear(8, 1), nn.Linear(8, 2)

    def forward(self, ids, lengths):
        x = self.embed(ids)
        beyond = torch.arange(ids.shape[1]) >= lengths[:, None]
        scores = self.score(x)[..., 0] + 0 * lengths[:, None]
        weights = scores.masked_fill(beyond & self.masks, -torch.inf).softmax(1)
        return self.out((weights[..., None] * x).sum(1))


class OwnMark(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out, self.mark = nn.Embedding(SIZE, 8), nn.Linear(8, 2), nn.Parameter(torch.ones(1, 1, 8))

    def forward(self, ids):
        x = torch.cat([self.mark.expand(len(ids), -1, -1), self.embed(ids)], 1)
        return self.out(((x[:, :1] @ x.mT).softmax(-1) @ x)[:, 0])


def test_errors_say_the_fix():
    with pytest.raises(BadInput, match=r"WithLengths also needs 'lengths'. Say mask='lengths' if that is"):
        hc.wrap(WithLengths(), VOCABULARY)
    assert hc.wrap(WithLengths(), VOCABULARY, mask="lengths").settings.mask[0] == "lengths"  # the fix is one
    with pytest.raises(BadInput, match=r"set the scores of padding to -inf before the softmax\.$"):  # not: leave it out
        hc.wrap(WithLengths(masks=False), VOCABULARY, mask="lengths")
    said = r"OwnMark attends to 6 keys but gets 5 token ids .*let the tokenizer add it as the pair \(id, -1\)"
    for attention in (None, ""):
        with pytest.raises(NotSupported, match=said):
            hc.wrap(OwnMark(), VOCABULARY, attention=attention)
