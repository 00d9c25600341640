"""Sun & Lu's model: its written-out gradients against autograd, with dropout and without, plain descent and Adagrad."""

import numpy as np
import pytest
import torch

from heatcheck.studies.sun2020 import model as study
from heatcheck.studies.sun2020.model import Descent, WordScores, texts_of, train, untrained

WIDTH, WORDS = 11, 9  # 11 is filled up to 16
SENTENCES = [[0, 1, 2, 3], [4, 1, 1], [5], [6, 7, 0, 2, 8], [3, 3], [8, 4, 5]]
SIGNS = [1, -1, 1, -1, -1, 1]


@pytest.fixture
def texts():
    return texts_of(SENTENCES, SIGNS)


@pytest.fixture
def interpreted(monkeypatch):
    """The loop as Python runs it, in double precision."""
    monkeypatch.setattr(study, "compiled", lambda loop, **_: loop)


def start(scale=2.0, dtype=np.float64):
    model = untrained(WORDS, WIDTH, scale, np.random.default_rng(4), polar=1.0, dtype=dtype)
    model.vectors *= 8  # so that no gradient is next to nothing
    return model


def tensors(model):
    return [torch.tensor(part.copy(), requires_grad=True) for part in (model.vectors, model.attend, model.polar)]


def answer(parts, sentence, scale, mask=None, context_mask=None):
    """One text by autograd."""
    vectors, attend, polar = parts
    e = vectors[sentence] if mask is None else vectors[sentence] * mask
    weights = torch.softmax(e @ attend / scale, 0)
    context = weights @ e
    return (context if context_mask is None else context * context_mask) @ polar, weights, e


@pytest.mark.usefixtures("interpreted")
def test_gradient_identities(texts):
    """∂l/∂W = −yβh, ∂l/∂V = −(yβ/λ) Σ α_j e_j (s_j − s), ∂l/∂e_i = −yβα_i [(s_i − s) V/λ + W],
    ∂l/∂a_i = −yβα_i (s_i − s).

    By hand, by autograd, and as one step of plain descent takes them, one text at a time.
    """
    scale = 2.0
    for at, (sentence, y) in enumerate(zip(SENTENCES, SIGNS, strict=True)):
        model = start(scale)
        parts = tensors(model)
        scores = (parts[0][sentence] @ parts[1] / scale).detach().requires_grad_()
        s, weights, e = answer(parts, sentence, scale)
        torch.nn.functional.softplus(-y * s).backward()
        said = torch.softmax(scores, 0) @ (parts[0][sentence] @ parts[2]).detach()
        torch.nn.functional.softplus(-y * said).backward()

        alpha, vectors = weights.detach().numpy(), e.detach().numpy()
        each, whole = vectors @ model.polar, s.item()
        beta = 1 - 1 / (1 + np.exp(-y * whole))
        to_polar = -y * beta * alpha @ vectors
        to_attend = -y * beta / scale * (alpha * (each - whole)) @ vectors
        to_each = -y * beta * alpha[:, None] * ((each - whole)[:, None] * model.attend / scale + model.polar)
        to_vectors = np.zeros_like(model.vectors)
        np.add.at(to_vectors, sentence, to_each)
        np.testing.assert_allclose(parts[2].grad, to_polar, atol=1e-12)
        np.testing.assert_allclose(parts[1].grad, to_attend, atol=1e-12)
        np.testing.assert_allclose(parts[0].grad, to_vectors, atol=1e-12)
        np.testing.assert_allclose(scores.grad, -y * beta * alpha * (each - whole), atol=1e-12)
        assert abs(to_vectors).max() > 1e-3

        before = start(scale)
        alone = texts_of([sentence], [y])
        assert before.answers(alone)[0] == pytest.approx(whole)
        np.testing.assert_allclose(before.weights(alone), alpha)
        assert before.answers(texts)[at] == pytest.approx(whole), "a text's neighbours change nothing"
        train(before, alone, Descent(rate=1.0, batch=1, epochs=1, dropout=False), np.random.default_rng(0))
        np.testing.assert_allclose(model.vectors - before.vectors, to_vectors, atol=1e-12)
        np.testing.assert_allclose(model.attend - before.attend, to_attend, atol=1e-12)
        np.testing.assert_allclose(model.polar - before.polar, to_polar, atol=1e-12)


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("dropout", [False, True])
@pytest.mark.usefixtures("interpreted")
def test_several_epochs_are_those_of_torch(texts, dropout, adaptive):
    """Batches of 4 and 2, with the masks that the same random bytes give."""
    how = Descent(rate=0.3, batch=4, epochs=3, adaptive=adaptive, decay=0.1 if adaptive else 0.0, dropout=dropout)
    model = start()
    parts = tensors(model)
    optimiser = (
        torch.optim.Adagrad(parts, lr=how.rate, lr_decay=how.decay) if adaptive else torch.optim.SGD(parts, lr=how.rate)
    )
    told = []
    train(model, texts, how, np.random.default_rng(7), watch=lambda epoch, loss: told.append((epoch, loss)))

    draw = np.random.default_rng(7)
    expected = []
    for epoch in range(1, how.epochs + 1):
        order = draw.permutation(len(SENTENCES))
        masks, context_masks = (
            2.0
            * np.unpackbits(np.frombuffer(draw.bytes(rows * 2), np.uint8).reshape(rows, 2), axis=1, bitorder="little")
            for rows in (len(texts.words), len(SENTENCES))
        )
        seen, losses = 0, []
        for first in range(0, len(order), how.batch):
            batch = []
            for at in range(first, min(first + how.batch, len(order))):
                sentence, y = SENTENCES[order[at]], SIGNS[order[at]]
                mask, context_mask = (
                    (torch.tensor(masks[seen : seen + len(sentence)]), torch.tensor(context_masks[at]))
                    if dropout
                    else (None, None)
                )
                seen += len(sentence)
                batch.append(torch.nn.functional.softplus(-y * answer(parts, sentence, 2.0, mask, context_mask)[0]))
            optimiser.zero_grad()
            torch.stack(batch).mean().backward()
            optimiser.step()
            losses += [loss.item() for loss in batch]
        expected.append((epoch, pytest.approx(np.mean(losses))))
    assert told == expected
    for mine, theirs in zip((model.vectors, model.attend, model.polar), parts, strict=True):
        # Adagrad makes much of a gradient that is next to nothing, rounding and all.
        np.testing.assert_allclose(mine, theirs.detach(), atol=1e-6)
    assert abs(model.vectors - start().vectors).max() > 0.1


def test_compiled_is_the_same(texts, monkeypatch):
    """In single precision, as studies run it, with the sums in any order."""
    how = Descent(rate=0.3, batch=4, epochs=4)
    models = []
    for plain in (False, True):
        if plain:
            monkeypatch.setattr(study, "compiled", lambda loop, **_: loop)
        models.append(start(dtype=np.float32))
        train(models[-1], texts, how, np.random.default_rng(7))
    assert models[0].vectors.dtype == np.float32
    np.testing.assert_allclose(models[0].vectors, models[1].vectors, atol=1e-5)
    np.testing.assert_allclose(models[0].attend, models[1].attend, atol=1e-5)
    np.testing.assert_allclose(models[0].polar, models[1].polar, atol=1e-5)
    assert abs(models[0].vectors - start(dtype=np.float32).vectors).max() > 0.05


def test_one_start_for_every_scale():
    one, other = start(1.0), start(100.0)
    np.testing.assert_array_equal(one.vectors, other.vectors)
    np.testing.assert_allclose(one.attention, 100 * other.attention)
    assert (one.vectors[:, WIDTH:] == 0).all()
    assert (one.attend[WIDTH:] == 0).all()


@pytest.mark.usefixtures("interpreted")
def test_scores_that_would_overflow():
    """At a tiny λ all the weight is on one word; nothing is inf or nan."""
    model = WordScores(np.array([[300.0] * 8, [-300.0] * 8]), np.ones(8), np.full(8, -100.0), 1e-3)
    texts = texts_of([[0, 1], [1]], [1, -1])
    assert model.weights(texts).tolist() == [1.0, 0.0, 1.0]
    assert model.accuracy(texts) == 0.0
    losses = []
    with np.errstate(over="ignore"):
        train(
            model,
            texts,
            Descent(0.1, 2, 1, dropout=False),
            np.random.default_rng(0),
            watch=lambda _, x: losses.append(x),
        )
    assert losses == [pytest.approx(240_000.0)]
    assert np.isfinite(model.vectors).all()
