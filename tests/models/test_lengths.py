"""Batches by tokens: what the model itself reads is counted, and no batch is larger than its device likes."""

from dataclasses import replace

import pytest
import torch

from heatcheck.data import Example
from heatcheck.explainers.word_removal import delete, mask
from heatcheck.models.contract.lengths import CountsTokens, with_tokens
from heatcheck.models.hf import transformer
from heatcheck.training import batches_by_length, predict
from tiny_transformers import EXAMPLES, tiny

HARD = [
    *EXAMPLES,
    Example("d", "goodgood verybad film"),  # words of several pieces, or unknown ones
    replace(EXAMPLES[0], id="e", text="the film\nwas  so so"),
    Example("f", "very " * 80 + "good"),  # cut off
]


@pytest.mark.parametrize("family", ["bert", "gpt2", "roberta"])
def test_the_tokens_that_are_read_are_counted(family):
    subject = tiny(family)
    assert isinstance(subject, CountsTokens)
    texts = [*HARD, *(mask(e, {0, 1}) for e in HARD), *(delete(e, {1}) for e in HARD)]
    each = [int(subject.encode([text]).valid.sum()) for text in texts]
    assert subject.lengths(texts) == each
    together = subject.encode(texts)
    assert together.valid.sum(1).tolist() == each
    pair = replace(EXAMPLES[0], text_pair="so dull")
    assert subject.lengths([pair, EXAMPLES[1]]) == [int(subject.encode([e]).valid.sum()) for e in (pair, EXAMPLES[1])]


def test_each_text_once_and_never_too_many_tokens():
    lengths = [7, 2, 30, 2, 5, 7, 1]
    found = list(with_tokens(lengths, 14))
    assert sorted(place for batch in found for place in batch) == list(range(7))
    assert all(len(batch) * max(lengths[place] for place in batch) <= 14 for batch in found if len(batch) > 1)
    assert [2] in found, "a text that is too long is a batch of its own"


def test_answers_do_not_depend_on_the_batches(monkeypatch):
    subject = tiny("bert")
    texts = [*HARD, *(mask(e, {0}) for e in HARD)]
    whole = predict(subject, texts)
    assert len(list(batches_by_length(texts, 2, subject))) == 1, "the size is for models that count no tokens"
    monkeypatch.setattr(transformer, "CACHED", 12)
    assert len(list(batches_by_length(texts, 128, subject))) > 4
    assert predict(subject, texts) == pytest.approx(whole, abs=1e-6)
    monkeypatch.setattr(transformer, "CACHED", 1024)
    assert len(list(batches_by_length(texts, 128, subject, times=64))) > 4, "each text is read so many times"


def test_one_text_with_different_words_hidden_is_cut_into_pieces_once(monkeypatch):
    subject, cut = tiny("bert"), []
    own = subject.tokenizer

    def watched(texts, *given, **named):
        cut.append(texts)
        return own(texts, *given, **named)

    for name in ("pad_token_id", "pad_token_type_id", "mask_token_id"):
        setattr(watched, name, getattr(own, name))
    monkeypatch.setattr(subject, "tokenizer", watched)
    batch = subject.encode([mask(EXAMPLES[0], {place}) for place in range(6)])
    assert [len(texts) for texts in cut] == [1]
    assert batch.masked.sum(1).tolist() == [1] * 6
    assert batch.masked[:, 1:7].float().argmax(1).tolist() == list(range(6))
    assert torch.equal(batch.valid[0], batch.valid[5])
