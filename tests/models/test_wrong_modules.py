"""Modules and tokenizers that do something else than they should: one sentence, their own exception behind it."""

from inspect import unwrap

import pytest
import torch
from torch import nn

import heatcheck as hc
from heatcheck.data import Example
from heatcheck.errors import BadInput, HeatcheckError, NotSupported
from heatcheck.explainers import explain_one

EXAMPLES = (Example("a", "x yy zzz"), Example("b", "yy x"))


def lengths(text):
    """A tokenizer: the id of a word is its length."""
    return [len(word) for word in text.split(" ")]


class Tiny(nn.Module):
    """The smallest classifier with attention; what its answer goes through at the end can be set."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.score, self.out = nn.Embedding(9, 4), nn.Linear(4, 1), nn.Linear(4, 2)
        self.last = lambda logits: logits
        self.embedded = lambda states: states

    def forward(self, ids):
        states = self.embedded(self.embed(ids))
        weights = self.score(states).softmax(1)
        return self.last(self.out((weights * states).sum(1)))


def wrapped(**changes):
    """Tiny, wrapped before it is changed."""
    module = Tiny()
    subject = hc.wrap(module, changes.pop("tokenizer", lengths), labels=["bad", "good"])
    vars(module).update(changes)
    return subject


def raising(*_):
    raise KeyError("of their own")


def test_what_a_module_raises_is_behind_one_sentence():
    subject = wrapped(last=raising)
    batch = subject.encode(EXAMPLES[1:])
    with pytest.raises(BadInput, match=r"Tiny failed on a batch of 1 texts of 2 tokens \(KeyError: 'of their") as said:
        subject.run(batch)
    assert isinstance(said.value.__cause__, KeyError)


@pytest.mark.parametrize(
    "last",
    [lambda logits: logits[:1], lambda logits: logits.repeat(1, 3)],
    ids=["batch", "labels"],
)
def test_logits_of_another_shape(last):
    subject = wrapped(last=last)
    with pytest.raises(HeatcheckError, match=r"Tiny returned logits of shape .* for 2 texts and 2 labels"):
        subject.run(subject.encode((EXAMPLES[0], Example("c", "a b c"))))


@pytest.mark.parametrize(
    ("tokenizer", "sentence"),
    [
        (raising, r"example a: the tokenizer failed on its text \(KeyError: 'of their own'\)"),
        (lambda _: None, r"example a: the tokenizer failed on its text \(TypeError"),
        (lambda _: [object()] * 3, r"example a: the tokenizer failed on its text"),
        (lambda _: [10**20] * 3, r"example a: the tokenizer failed on its text \(OverflowError"),
        (lambda _: [1, 2, 9], r"example a: the tokenizer gives the id 9, but the embedding of Tiny has 9 rows"),
        (
            lambda _: [1, -1, 3],
            r"example a: the tokenizer gives the id -1, but the embedding of Tiny has 9 rows",
        ),
    ],
    ids=["raises", "gives none", "gives objects", "too large for 64 bits", "too large", "negative"],
)
def test_tokenizers_that_give_no_ids(tokenizer, sentence):
    with pytest.raises(BadInput, match=sentence):
        hc.wrap(Tiny(), tokenizer).encode(EXAMPLES[:1])


def test_no_module_or_no_tokenizer():
    wrap = unwrap(hc.wrap)  # without the types that tests check at each call
    for module in (None, 3, "tiny", lambda ids: ids):
        with pytest.raises(BadInput, match="wrap takes a torch module"):
            wrap(module, lengths)
    with pytest.raises(BadInput, match="the tokenizer must be"):
        wrap(Tiny(), None)
    for labels in (3, ["same", "same"], [["a"], "b"]):
        with pytest.raises(BadInput, match="labels"):
            wrap(Tiny(), lengths, labels=labels)
    for named in ("attention", "embedding", "mask", "name", "output", "padding", "row", "sample"):
        with pytest.raises(BadInput, match=f"{named} must be"):
            wrap(Tiny(), lengths, **{named: 1.5})


def test_a_module_that_mixes_texts():
    """Its weights are each text's own, and its answer is not."""
    module = Tiny()
    module.last = lambda logits: logits - logits.mean(0)
    with pytest.raises(BadInput, match="gives a text another answer alone than in a batch"):
        hc.wrap(module, lengths)


def test_answers_without_a_gradient():
    module = Tiny()
    module.last = lambda logits: logits.detach()
    for row in (None, 0):
        with pytest.raises(NotSupported, match="Tiny has no gradients: its answer is cut off"):
            hc.wrap(module, lengths, row=row)


def test_gradients_that_are_written_over():
    def in_place(states):
        kept = states.sigmoid()
        kept.mul_(2)
        return kept

    subject = wrapped(embedded=in_place)
    with pytest.raises(NotSupported, match=r"cannot take the gradient of Tiny \(one of the variables needed") as said:
        explain_one(subject, EXAMPLES, "gradient")
    assert isinstance(said.value.__cause__, RuntimeError)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_half_precision_is_refused(kind):
    with pytest.raises(NotSupported, match=rf"Tiny computes in {str(kind).removeprefix('torch.')}.*module\.float\(\)"):
        hc.wrap(Tiny().to(kind), lengths)
    assert hc.wrap(Tiny().to(kind).float(), lengths).labels == ("0", "1")
    assert hc.wrap(Tiny().double(), lengths).labels == ("0", "1")
