"""Transformers trained side by side are what each would be alone: against one model that attends word by word."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from heatcheck.studies.olsson2022.stacked import Shape, Stack, first_weights, predictable, smear
from heatcheck.studies.olsson2022.texts import (
    LONGEST,
    SHORTEST,
    SUCCESSORS,
    by_frequency,
    draw,
    draw_texts,
    random_repeated,
    successors,
)
from heatcheck.studies.side_by_side import Trainer

CPU = torch.device("cpu")
SMALL = Shape(size=8, heads=2, tokens=18, words=30)
SHAPES = [
    SMALL,
    replace(SMALL, layers=1, smeared=True),
    replace(SMALL, smeared=True, spared=True),
]
SEEDS = (3, 7)


class Alone(nn.Module):
    """One model, text by text; the weights of each query one head at a time."""

    def __init__(self, seed, shape):
        super().__init__()
        self.shape = shape
        self.weights = nn.ParameterDict(first_weights(seed, shape))

    def forward(self, text):
        w, maps = self.weights, []
        states = w["embedding"][text] + w["position"][: len(text)]
        for layer in range(self.shape.layers):
            read = nn.functional.layer_norm(states, (self.shape.size,))
            written, of_layer = torch.zeros_like(states), []
            for head in range(self.shape.heads):
                queries, keys, values = (read @ w[f"{part}_{layer}"][head] for part in ("query", "key", "value"))
                if self.shape.smeared:
                    own = torch.sigmoid(w[f"smear_{layer}"][head])
                    keys = torch.stack([own * keys[at] + (1 - own) * keys[max(at - 1, 0)] for at in range(len(text))])
                rows = []
                for at in range(len(text)):
                    scores = torch.stack([queries[at] @ keys[to] for to in range(at + 1)])
                    rows.append((scores / (self.shape.size / self.shape.heads) ** 0.5).softmax(0))
                contexts = [sum(row[to] * values[to] for to in range(len(row))) for row in rows]
                written = written + torch.stack(contexts) @ w[f"output_{layer}"][head]
                of_layer.append(torch.stack([nn.functional.pad(row, (0, len(text) - len(row))) for row in rows]))
            states = states + written
            maps.append(torch.stack(of_layer))
        return nn.functional.layer_norm(states, (self.shape.size,)) @ w["unembedding"], maps

    def loss(self, texts):
        found = []
        for text in texts:
            logs = self(text)[0].log_softmax(-1)
            before = set()
            for at, pair in enumerate(pairwise(text.tolist())):
                if not (self.shape.spared and pair in before):
                    found.append(-logs[at, pair[1]])
                before.add(pair)
        return torch.stack(found).mean()


def some_texts(shape, number=0, many=2):
    return draw_texts(SEEDS, "test", number, many=many, tokens=shape.tokens, words=shape.words, device=CPU)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_stack_answers_and_learns_as_each_of_its_models_would_alone(shape):
    stack = Stack(SEEDS, shape)
    trainer = Trainer(stack, torch.optim.AdamW, 1e-3, device=CPU)
    alone = [Alone(seed, shape) for seed in SEEDS]
    adams = [torch.optim.AdamW(one.parameters(), lr=1e-3) for one in alone]
    for number in range(2):
        texts = some_texts(shape, number)
        seen = stack(texts)
        for n, one in enumerate(alone):
            logits, maps = one(texts[n, 0])
            assert torch.allclose(seen.logits[n, 0], logits, atol=1e-5)
            for layer, weights in zip(maps, seen.weights, strict=True):
                assert torch.allclose(weights[n, 0], layer, atol=1e-5)
        losses = trainer.step(texts)
        for n, (one, adam) in enumerate(zip(alone, adams, strict=True)):
            adam.zero_grad()
            loss = one.loss(texts[n])
            loss.backward()
            assert losses[n].item() == pytest.approx(loss.item(), abs=1e-5)
            for name, weight in one.weights.items():
                assert torch.allclose(stack.weights[name].grad[n], weight.grad, atol=1e-5), name
            adam.step()
    for n, one in enumerate(alone):
        assert all(torch.allclose(stack.weights[name][n], of, atol=1e-4) for name, of in one.weights.items())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_recorded_step_is_the_step():
    plain, recorded = (
        Trainer(Stack(SEEDS, SMALL), torch.optim.AdamW, 1e-3, device=torch.device("cuda"), record=how)
        for how in (False, True)
    )
    for number in range(3):
        texts = some_texts(SMALL, number).cuda()
        assert torch.allclose(plain.step(texts), recorded.step(texts), atol=1e-5)


def test_kinds_of_a_seed_share_their_first_weights():
    both = first_weights(4, SMALL), first_weights(4, replace(SMALL, layers=1, smeared=True))
    assert all(torch.equal(of, both[0][name]) for name, of in both[1].items() if not name.startswith("smear"))
    assert not torch.equal(both[0]["embedding"], first_weights(5, SMALL)["embedding"])


def test_smeared_keys_are_a_mix_with_the_key_before():
    keys = torch.arange(6.0).view(1, 1, 1, 3, 2)
    assert smear(keys, torch.tensor([[0.75]]))[0, 0, 0].tolist() == [[0, 1], [1.5, 2.5], [3.5, 4.5]]


def test_readers_have_the_centring_of_the_norm():
    """What a head reads of a state is what it reads of the centred state."""
    stack = Stack(SEEDS, SMALL)
    states = torch.randn(5, SMALL.size)
    centred = states - states.mean(1, keepdim=True)
    for factor, name in zip(stack.factors(1)[:3], ("query", "key", "value"), strict=True):
        assert torch.allclose(states @ factor[0, 1], centred @ stack.weights[f"{name}_1"][0, 1], atol=1e-5)


def test_predictable_tokens_are_counted_by_hand():
    texts = torch.from_numpy(np.random.default_rng(0).integers(4, size=(3, 2, 12)))
    found = predictable(texts, 4)
    for text, of_text in zip(texts.flatten(0, 1).tolist(), found.flatten(0, 1).tolist(), strict=True):
        pairs = list(pairwise(text))
        assert of_text == [pair in pairs[:at] for at, pair in enumerate(pairs)]


def test_texts_are_chains_in_which_segments_come_again():
    """Every text has a long segment twice; where nothing was copied, half of the words are successors."""
    tokens, words = 128, 512
    texts = draw_texts((0, 1), "test", 0, many=60, tokens=tokens, words=words, device=CPU)
    assert texts.shape == (2, 60, tokens)
    assert (texts[..., 0] == 0).all()
    assert texts[..., 1:].min() >= 1
    assert texts.max() < words
    for text in texts[0, :10].tolist():
        assert any(
            text[at : at + SHORTEST] == text[to : to + SHORTEST]
            for at in range(1, tokens)
            for to in range(at + SHORTEST, tokens - SHORTEST + 1)
        )
    language = successors(0, words)
    followed = [following in language[word] for text in texts[0].tolist() for word, following in pairwise(text[1:])]
    others = [following in language[word] for text in texts[1].tolist() for word, following in pairwise(text[1:])]
    assert 0.5 < np.mean(followed) < 0.65  # half, and some by chance
    assert np.mean(others) < 0.2, "another seed has another language"


def test_texts_do_not_depend_on_which_seeds_are_drawn_together():
    size = {"many": 3, "tokens": 40, "words": 64, "device": CPU}
    both = draw_texts((5, 2), "train", 4, **size)
    assert torch.equal(both[1:], draw_texts((2,), "train", 4, **size))
    assert not torch.equal(both[1:], draw_texts((2,), "train", 5, **size))
    assert not torch.equal(both[1:], draw_texts((2,), "held out", 4, **size))


def test_copies_lie_behind_their_first_and_inside_the_text():
    for tokens in (17, 40, 128):
        drawn = draw(np.random.default_rng(0), 500, tokens, 64)
        length, first, second = drawn.spans.transpose(1, 0, 2)
        assert (first >= 1).all()
        assert (first + length <= second).all()
        assert (second + length <= tokens).all()
        assert length[0].min() >= SHORTEST
        assert length.max() <= LONGEST
        assert 0.4 < (length[1] == 0).mean() < 0.6
        assert 0.45 < (drawn.choice < SUCCESSORS).mean() < 0.55


def test_words_follow_zipfs_law():
    counts = np.bincount(by_frequency(512), minlength=512)
    assert counts[0] == 0
    assert counts[1:].min() > 0
    assert counts[1] / counts[10] == pytest.approx(10, rel=0.01)


def test_random_words_are_neither_common_nor_rare():
    rows = random_repeated(0, "scored", many=16, period=25, copies=4, words=512)
    assert rows.shape == (16, 101)
    assert (rows[:, 1:26] == rows[:, 76:]).all()
    assert all(len(set(row)) == 26 for row in rows.tolist())
    assert rows[:, 1:].min() > 20
    assert rows.max() < 512 - 20
