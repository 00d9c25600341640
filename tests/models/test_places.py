"""Family-neutral places: a block's output is its input and what its two halves add; ids that are given; heads."""

import pytest
import torch

from heatcheck.errors import BadInput, NotSupported, UnknownName
from heatcheck.models import Site
from heatcheck.models.contract.edits import zero
from heatcheck.models.hf import Prompted
from heatcheck.models.hf.blocks import family_of, read_norm, within
from tiny_families import FAMILIES, shared
from tiny_language_models import LABELS, PROMPT, network, tokenizer
from tiny_transformers import EXAMPLES, tiny


@pytest.fixture(scope="module")
def prompted():
    return Prompted(network(), tokenizer(), name="tiny", prompt=PROMPT, labels=LABELS)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # GPT-BigCode's file uses it
@pytest.mark.parametrize("kind", sorted(FAMILIES))
@torch.no_grad()
def test_a_block_adds_what_its_halves_give(kind):
    subject = shared(kind)
    family = family_of(subject)
    batch = subject.encode(EXAMPLES)
    for layer, block in enumerate(subject.blocks):
        halves = [subject.place(name, layer) for name in ("attention_out", "mlp_out")]
        start = Site("input", block.where)
        parts = subject.run(batch, want=[start, block, *halves]).parts
        times = 1.0 if family.times is None else getattr(subject.network.config, family.times)
        attended, thought = (
            times * parts[half].reshape(parts[start].shape) for half in halves
        )  # OPT has all tokens in one row
        if family.normed_first:
            found = parts[start] + attended + thought
        else:
            first, last = (
                read_norm(subject.network.get_submodule(within(subject, layer, norm))) for norm in family.norms[:2]
            )
            found = last(first(parts[start] + attended) + thought)
        assert torch.allclose(found[batch.valid], parts[block][batch.valid], atol=1e-8)
        if family.normed_first:
            shut = subject.run(batch, edits=dict.fromkeys(halves, zero), want=[start, block]).parts
            assert torch.allclose(shut[start], shut[block], atol=1e-12)


@torch.no_grad()
def test_what_comes_after_the_blocks(prompted):
    batch = prompted.encode(EXAMPLES)
    norm, head = prompted.place("final_norm"), prompted.place("unembedding")
    parts = prompted.run(batch, want=[norm, head, Site("input", norm.where), prompted.blocks[-1]]).parts
    assert torch.equal(parts[Site("input", norm.where)], parts[prompted.blocks[-1]])
    assert parts[head].shape[-1] == len(tokenizer())
    with pytest.raises(NotSupported, match="has no norm after its last block"):
        tiny("bert").place("final_norm")
    with pytest.raises(NotSupported, match="has no unembedding"):
        tiny("bert").place("unembedding")


def test_what_is_no_place(prompted):
    with pytest.raises(UnknownName, match="unknown place 'residual'"):
        prompted.place("residual")
    for layer in (None, 3, -1):
        with pytest.raises(BadInput, match="needs the number of a layer, from 0 to 2"):
            prompted.place("mlp_out", layer)


def test_heads_are_counted():
    assert tiny("llama").heads == (4, 4, 4)
    assert tiny("albert").heads == (4, 4, 4)


@torch.no_grad()
def test_ids_as_they_are_given(prompted):
    text = prompted.encode(EXAMPLES)
    given = [row[real].tolist() for row, real in zip(text.inputs["input_ids"], text.valid, strict=True)]
    batch = prompted.encode_ids(given, bos=True)
    assert torch.equal(batch.inputs["input_ids"] * batch.valid, text.inputs["input_ids"] * text.valid)
    assert torch.allclose(prompted.run(batch).logits, prompted.run(text).logits, atol=1e-6)
    bare = [row[1:] for row in given]
    assert torch.equal(prompted.encode_ids(bare, bos=True).word, batch.word)
    assert batch.word[0, :3].tolist() == [-1, 0, 1]
    without = prompted.encode_ids(bare, bos=False)
    assert (without.valid.sum(1) == batch.valid.sum(1) - 1).all()
    assert without.word[0, 0] == 0
    alone = prompted.run(prompted.encode_ids(bare[1:2], bos=False)).logits
    assert torch.allclose(alone[0], prompted.run(without).logits[1], atol=1e-5)


@torch.no_grad()
def test_ids_for_a_classifier():
    bert = tiny("bert")
    text = bert.encode(EXAMPLES)
    given = [row[real].tolist() for row, real in zip(text.inputs["input_ids"], text.valid, strict=True)]
    batch = bert.encode_ids(given, bos=False)
    assert torch.equal(bert.run(batch).logits, bert.run(text).logits)
    with pytest.raises(BadInput, match="has no BOS token: use bos=False"):
        bert.encode_ids(given, bos=True)


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ([], "no token ids to encode"),
        ([[1], []], "list 1 of token ids is empty"),
        ([[1, -2]], "holds -2, which is no token id"),
        ([[1, "a"]], "holds 'a', which is no token id"),
        ([[10**6]], "the network knows"),
        ([[5] * 200], "has 200 tokens, and the model reads 128"),
    ],
)
def test_ids_that_are_refused(prompted, ids, said):
    with pytest.raises(BadInput, match=said):
        prompted.encode_ids(ids, bos=False)
