"""LSTMs in one direction, and with states at right angles to the mean before them: against torch's own cells."""

import torch
from torch import nn

from heatcheck.models import ENCODERS
from heatcheck.models.classifiers.orthogonal import LEAST_SQUARE, OrthogonalLayer

VALID = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])


def texts():
    return torch.randn(2, 7, 5, generator=torch.Generator().manual_seed(1))


def made(kind):
    torch.manual_seed(0)
    return ENCODERS[kind](5, 6)


def by_cells(layer, text):
    """One text step by step, by torch's cell."""
    cell = nn.LSTMCell(5, 6)
    cell.load_state_dict({name.removesuffix("_l0"): of for name, of in layer.state_dict().items()})
    state, memory, before = torch.zeros(1, 6), torch.zeros(1, 6), []
    for word in text:
        state, memory = cell(word[None], (state, memory))
        if before:
            mean = torch.stack(before).mean(0)
            state = state - (state * mean).sum() / ((mean * mean).sum() + LEAST_SQUARE) * mean
        before.append(state)
    return torch.cat(before)


@torch.no_grad()
def test_states_are_those_of_the_formula():
    encoder = made("orthogonal_lstm_ahead")
    found = encoder(texts(), VALID)
    torch.testing.assert_close(found[0], by_cells(encoder.ahead, texts()[0]), atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(found[1, :4], by_cells(encoder.ahead, texts()[1, :4]), atol=1e-6, rtol=1e-5)
    assert (found[1, 4:] == 0).all()
    for place in range(1, 7):
        mean = found[0, :place].mean(0)
        cosine = nn.functional.cosine_similarity(found[0, place], mean, dim=0)
        assert abs(cosine) < 1e-2
    plain = made("lstm_ahead")(texts(), VALID)[0]
    assert nn.functional.cosine_similarity(plain[3], plain[:3].mean(0), dim=0).abs() > 0.1, "or nothing was projected"


@torch.no_grad()
def test_both_directions_are_two_layers():
    encoder = made("orthogonal_lstm")
    found = encoder(texts(), VALID)
    assert isinstance(encoder.ahead, OrthogonalLayer)
    torch.testing.assert_close(found[1, :4, :6], by_cells(encoder.ahead, texts()[1, :4]), atol=1e-6, rtol=1e-5)
    turned = by_cells(encoder.behind, texts()[1, :4].flip(0)).flip(0)
    torch.testing.assert_close(found[1, :4, 6:], turned, atol=1e-6, rtol=1e-5)


@torch.no_grad()
def test_one_direction_knows_nothing_of_what_follows():
    for kind in ("lstm_ahead", "orthogonal_lstm_ahead"):
        encoder, changed = made(kind), texts()
        changed[:, 5:] += 1
        one, other = encoder(texts(), VALID), encoder(changed, VALID)
        assert torch.equal(one[0, :5], other[0, :5])
        assert not torch.equal(one[0, 5:], other[0, 5:])
        assert torch.equal(encoder.summary(one, VALID)[1], one[1, 3])


def test_first_weights_are_those_of_the_untreated_encoder():
    for treated, untreated in (("orthogonal_lstm", "lstm"), ("orthogonal_lstm_ahead", "lstm_ahead")):
        own = made(untreated).state_dict()
        assert all(torch.equal(of, own[name]) for name, of in made(treated).state_dict().items())
