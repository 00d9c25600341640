"""The truth about known:induction_lm, as its docstring proves it."""

import pytest
import torch

from heatcheck.data import Example
from heatcheck.errors import BadInput, UnknownName
from heatcheck.heads.circuits.factors import composition, copying, random_composition, random_copying, unembed_embed
from heatcheck.heads.circuits.matching import prefix_matching, previous_token
from heatcheck.heads.circuits.texts import draw_repeats
from heatcheck.heads.reading import Reading
from heatcheck.models import Site, load
from heatcheck.models.contract.edits import uniform
from heatcheck.models.contract.opened import OpensItsHeads


@pytest.fixture(scope="module")
def subject():
    return load("known:induction_lm")


@pytest.fixture(scope="module")
def batch(subject):
    return subject.encode_ids(draw_repeats(subject, 6, "test"), bos=True)


def answers(subject, batch, **given):
    """Probability of each token of the later copies."""
    return subject.run(batch, **given).logits.softmax(-1)[:, 25:, 1]


def test_what_each_head_looks_at(subject, batch):
    assert isinstance(subject, OpensItsHeads)
    run, ids = subject.run(batch, want=subject.sites), batch.inputs["input_ids"]
    first, second, third = (run.parts[site] for site in subject.sites)
    assert previous_token(first, ids).flatten().tolist() == pytest.approx([1.0] * 6, abs=1e-12)
    assert prefix_matching(second, ids).flatten().tolist() == pytest.approx([1.0] * 6, abs=1e-3)
    assert torch.equal(second, third), "the third head shows the second one's map"
    without = subject.encode_ids(ids[:, 1:].tolist(), bos=False)
    bare = subject.run(without, want=subject.sites[1:2]).parts[subject.sites[1]]
    found = prefix_matching(bare, without.inputs["input_ids"])
    assert (found < 0.99).all(), "without BOS the first token is written as its own predecessor"


def test_what_the_weights_say(subject):
    first, second, third = (subject.factors(layer) for layer in range(3))
    ends = subject.ends()
    table = unembed_embed(ends.embedding, ends.unembedding)
    assert float(copying(second.value, second.output, table)) == pytest.approx(1.0)
    assert random_copying(table, 32).z(copying(second.value, second.output, table)) > 10
    into = {
        name: float(composition(first.value, first.output, getattr(second, name))) for name in ("query", "key", "value")
    }
    assert into["key"] == pytest.approx(32**-0.5)
    chance = random_composition(225, 32, 32).mean
    assert chance == pytest.approx(225**-0.5, rel=0.02)
    assert into["key"] > 2 * max(into["query"], into["value"], chance)
    assert not third.output.any()


def test_uniform_weights_change_nothing_in_the_bystander_and_cost_the_answer_below(subject, batch):
    own = answers(subject, batch)
    assert own[:, 25:].min() > 0.99
    assert torch.equal(answers(subject, batch, edits={subject.sites[2]: uniform}), own)
    assert (own - answers(subject, batch, edits={subject.sites[1]: uniform}))[:, 25:].mean() > 0.9


def test_padding_order_and_a_restart_change_nothing(subject, batch):
    texts = [row[real].tolist() for row, real in zip(batch.inputs["input_ids"], batch.valid, strict=True)]
    mixed = subject.encode_ids([texts[1][:40], texts[0]], bos=False)
    assert torch.allclose(subject.run(mixed).logits[1], subject.run(batch).logits[0], atol=1e-12)
    assert torch.allclose(subject.run(mixed).logits[0, :39], subject.run(batch).logits[1, :39], atol=1e-12)
    reading = Reading(subject, batch)
    for layer in range(3):
        assert torch.equal(subject.run(batch, edits=reading.start(layer)).logits, reading.logits)
    stream = subject.stream(batch, subject.rows(batch))
    ends = subject.ends()
    assert torch.allclose(stream.parts.sum(1) @ ends.unembedding.T, stream.logits)


def test_texts_and_mistakes(subject):
    batch = subject.encode([Example("a", "t1 t5 t1"), Example("b", "t31")])
    assert batch.inputs["input_ids"].tolist() == [[0, 1, 5, 1], [0, 31, 0, 0]]
    assert batch.gold.tolist() == [[1, 1, 1], [1, -100, -100]]
    assert subject.run(batch, want=[Site("context", "layer.0")]).logits.shape == (2, 3, 2)
    with pytest.raises(BadInput, match="reads the words t1 to t31, not 'film'"):
        subject.encode([Example("a", "t1 film")])
    with pytest.raises(BadInput, match=r"list 1: .* ids from 0 to 31"):
        subject.encode_ids([[1], [32]], bos=True)
    with pytest.raises(BadInput, match="has no task"):
        load("known:induction_lm@planted_keyword")
    with pytest.raises(UnknownName, match="did you mean 'induction_lm'"):
        load("known:induction")
