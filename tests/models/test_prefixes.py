"""Texts that begin alike: read together with the same answers as one by one, and with fewer tokens."""

import itertools

import numpy as np
import pytest
import torch

from heatcheck.data import Example
from heatcheck.explainers.word_removal import REMOVALS
from heatcheck.models.hf.pieces import read_ids
from heatcheck.models.hf.prefixes import LEAST, PASS, common_beginning, in_families
from heatcheck.training import predict
from tiny_transformers import WORDS, tiny

DECODERS = ("gpt2", "llama", "qwen2", "qwen3")
TEXT = Example("a", " ".join((WORDS * 3)[:24]))


def without_each(operator):
    return [REMOVALS[operator](TEXT, {place}) for place in range(24)]


@pytest.mark.parametrize("operator", REMOVALS)
@pytest.mark.parametrize("family", DECODERS)
def test_answers_are_those_of_each_text_alone(family, operator):
    subject = tiny(family)
    texts = [TEXT, *without_each(operator), Example("short", WORDS[0])]
    assert subject._beginnings_suffice
    batches = list(subject.together(texts))
    assert sorted(place for batch in batches for place in batch) == list(range(len(texts)))
    shared = [common_beginning(batch, subject.rows(batch)) for batch in map(subject.encode, _each(texts, batches))]
    assert max(shared) >= LEAST
    with torch.no_grad():
        alone = torch.cat([subject.run(subject.encode([text])).logits for text in texts])
    np.testing.assert_allclose(predict(subject, texts), alone.double().log_softmax(-1).numpy(), atol=2e-6)


def _each(texts, batches):
    return [[texts[place] for place in batch] for batch in batches]


def test_encoders_share_nothing():
    subject = tiny("bert")
    assert not subject._beginnings_suffice
    assert [sorted(batch) for batch in subject.together(without_each("masking"))] == [list(range(24))]


def test_a_beginning_is_read_once(monkeypatch):
    subject, read = tiny("llama"), []
    own = subject.network.forward

    def counted(*given, **named):
        read.append(named["input_ids"].numel())
        return own(*given, **named)

    texts = [Example(str(n), f"{TEXT.text} {word}") for n, word in enumerate(WORDS)]
    plain = sum(map(len, read_ids(subject.cutter, texts)))
    assert subject._beginnings_suffice
    assert subject._one_row_suffices
    monkeypatch.setattr(subject.network, "forward", counted)
    predict(subject, texts)
    assert sum(read) < plain / 4


@pytest.mark.parametrize("seed", range(5))
def test_no_partition_in_this_order_reads_fewer(seed):
    rng = np.random.default_rng(seed)
    texts = [rng.integers(0, 2, size=rng.integers(1, 30)).tolist() for _ in range(3)]
    texts += [texts[0] + rng.integers(0, 2, size=4).tolist() for _ in range(4)]
    order = sorted(range(7), key=texts.__getitem__)

    def cost(batch):
        rows = [texts[place] for place in batch]
        shared = min(len(row) for row in rows) - 1
        shared = next((n for n in range(shared) if len({row[n] for row in rows}) > 1), shared)
        longest, once = max(map(len, rows)), shared if shared >= LEAST else 0
        tokens = once + len(rows) * (longest - once)
        return np.inf if len(rows) > 1 and tokens > 100 else tokens + PASS * (2 if once and len(rows) > 1 else 1)

    def parts(cuts):
        bounds = [0, *(n + 1 for n in range(6) if cuts >> n & 1), 7]
        return [order[a:b] for a, b in itertools.pairwise(bounds)]

    best = min(sum(map(cost, parts(cuts))) for cuts in range(64))
    assert sum(map(cost, in_families(texts, 100))) == best


def test_what_is_shared_ends_before_the_token_of_the_answer():
    subject = tiny("llama")
    batch = subject.encode([TEXT, TEXT])
    assert common_beginning(batch, subject.rows(batch)) == int(batch.valid[0].sum()) - 1
    assert common_beginning(subject.encode([TEXT]), torch.tensor([5])) == 0
