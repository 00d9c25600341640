"""Whether a head's weights are the only ones: the twin put into the model, short texts, and tokens told apart."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from heatcheck.checks import CHECKS, Case
from heatcheck.checks.identifiability import IdentifiabilitySettings, identified, read_rows, twins
from heatcheck.data import Example
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import load
from tiny_transformers import EXAMPLES, WORDS, make, tiny

measure = CHECKS["identifiability"].measure
QUICK = IdentifiabilitySettings(texts=2, heads=2, draws=50)


def long_texts(count, words=14, seed=0):
    rng = np.random.default_rng(seed)
    return [Example(f"t{n}", " ".join(rng.choice(WORDS, words)), label=n % 2) for n in range(count)]


LONG = long_texts(4)


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "albert"])
def test_the_twin_put_into_the_model_leaves_the_logits(family):
    """Weights found by linear programs, in every head of the last layer's read-out row, through the whole model."""
    subject = tiny(family)
    site = subject.sites[-1]
    batch = subject.encode(LONG[:2])
    with torch.no_grad():
        run = subject.run(batch, want=[site])
        imposed = run.parts[site].clone()
        for at, row in enumerate(read_rows(subject, LONG[:2])):
            for head, free in enumerate(twins(row, heads=4)):
                assert free.jsd_low > 0.005, "otherwise nothing is tried"
                assert free.jsd_low <= free.jsd_high
                imposed[at, head, run.row[at, 0], row.seen] = torch.from_numpy(free.twin).float()
        again = subject.run(batch, edits={site: imposed})
        shuffled = subject.run(batch, edits={site: imposed.flip(1)})
    torch.testing.assert_close(again.logits, run.logits, atol=1e-5, rtol=1e-5)
    assert (shuffled.logits - run.logits).abs().max() > 1e-3, "it does matter what the weights are"


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_rows_are_what_the_read_out_sees(family):
    subject = tiny(family)
    texts = [*EXAMPLES, *LONG[:1]]
    batch = subject.encode(texts)
    with torch.no_grad():
        run = subject.run(batch, want=[subject.sites[-1]])
    for at, row in enumerate(read_rows(subject, texts)):
        assert row.weights.shape == row.values.shape[:2] == (4, int(batch.valid[at].sum()))
        own = run.parts[subject.sites[-1]][at, :, run.row[at, 0]][:, batch.valid[at]]
        np.testing.assert_allclose(row.weights, own, atol=1e-6)
        for free in twins(row, heads=4):
            assert (free.low <= free.high).all()


def test_local_attention_sees_a_window_only():
    """Of keys that a mask hides none is counted: their weight is not free but nought."""
    subject = make("modernbert")
    subject.network.config.local_attention = 4
    found = read_rows(subject, LONG[:1])[0]
    run = subject.run(subject.encode(LONG[:1]), want=[subject.sites[-1]])
    weights = run.parts[subject.sites[-1]][0, :, 0].detach()
    assert (weights[:, ~torch.from_numpy(found.seen)] == 0).all()
    assert found.weights.shape[1] == int((weights > 0).any(0).sum())


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_dimensions_and_short_texts(family):
    subject = tiny(family)
    case = Case(subject, [*EXAMPLES, *LONG], labels=("0", "1"))
    found = measure(case, QUICK)
    tokens = subject.encode(case.examples).valid.sum(1).tolist()
    free = [max(count - 8 - 1, 0) for count in tokens]  # heads of width 8
    assert found.excluded.keys() == {e.id for e, n in zip(case.examples, free, strict=True) if n == 0}
    assert all("at most 9 tokens" in reason for reason in found.excluded.values())
    assert len(found.examples) + len(found.excluded) == len(case.examples)
    np.testing.assert_array_equal(found.per_example["dimension"], [n for n in free if n])
    np.testing.assert_array_equal(found.per_example["tokens"], [t for t, n in zip(tokens, free, strict=True) if n])
    assert found.find("longer").value == pytest.approx(np.mean([n > 0 for n in free]))
    assert found.find("dimension").n == len(found.examples)
    assert found.find("width").n == 2, "texts whose programs were asked for"
    assert "undefined" not in found.find("width").by
    assert found.facts["head_width"] == 8
    seen = [t for t, n in zip(tokens, free, strict=True) if n][:2]
    assert found.facts["programs"] == sum(2 * (2 * t + 1) for t in seen)
    low, high, most = (found.find(name).value for name in ("jsd_low", "jsd_high", "most"))
    assert 0 < low <= high
    assert low < most
    assert 0 < found.find("width").value < found.find("widest").value <= 1
    assert 0 < found.find("effective_distance").value < 1


def test_where_every_text_is_short_the_rest_is_still_measured():
    case = Case(tiny("bert"), EXAMPLES[:2], labels=("0", "1"), tested=LONG * 2)
    found = measure(case, QUICK)
    assert found.examples == ()
    assert len(found.excluded) == 2
    assert found.find("longer").value == 0
    assert {m.name for m in found.measurements} == {"longer", "identified", "chance"}


def test_tokens_are_told_apart_better_than_by_chance():
    """A probe of the first layers finds the token again; of states without any trace of it, it finds no more than
    chance."""
    subject = tiny("bert")
    fit, tried = long_texts(60, seed=1), long_texts(20, seed=2)
    rates, chance = identified(subject, fit, tried, 0.01)
    assert len(rates) == 3
    first = rates[0]["cosine"].mean()
    assert first > 0.6
    assert chance.mean() == pytest.approx(1 / 14)
    nobody = Blind(subject)
    blind, _ = identified(nobody, fit, tried, 0.01)
    assert abs(blind[0]["cosine"].mean() - 1 / 14) < 0.05
    assert abs(blind[2]["euclidean"].mean() - 1 / 14) < 0.05


class Blind:
    """A transformer whose states hold nothing but noise."""

    def __init__(self, subject):
        self.id, self.sites, self.blocks, self.recipe = subject.id, subject.sites, subject.blocks, None
        self.rows, self.encode, self.subject = subject.rows, subject.encode, subject

    def run(self, batch, *, edits=None, want=()):
        run = self.subject.run(batch, edits=edits or {}, want=want)
        noise = torch.Generator().manual_seed(int(batch.valid.sum()))
        parts = {s: torch.randn(p.shape, generator=noise) if s in self.blocks else p for s, p in run.parts.items()}
        return replace(run, parts=parts)


def test_a_word_twice_is_one_where_inputs_have_no_position():
    """Llama's inputs are words alone: the second 'good' counts as found where the first is nearest."""
    text = [Example("twice", "good good good bad", label=0)]
    _, chance = identified(tiny("llama"), long_texts(10), text, 0.01)
    assert chance[0] == pytest.approx((9 + 1) / 16)
    _, chance = identified(tiny("bert"), long_texts(10), text, 0.01)
    assert chance[0] == pytest.approx(1 / 4)


def test_what_it_refuses():
    subject = load("known:reader@planted_keyword")
    with pytest.raises(NotSupported, match="needs every layer of a transformer"):
        measure(Case(subject, EXAMPLES, labels=("0", "1")), QUICK)
    for wrong, sentence in [
        ({"texts": 0}, "texts must be at least 1"),
        ({"heads": 0}, "heads must be at least 1"),
        ({"probe_texts": 1}, "at least 2"),
        ({"ridge": 0.0}, "above 0"),
    ]:
        with pytest.raises(BadInput, match=sentence):
            IdentifiabilitySettings(**wrong)
