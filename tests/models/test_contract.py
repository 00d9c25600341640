"""The contract carries every kind of subject: interventions do what they say, and nothing depends on the batch."""

import pytest
import torch

from heatcheck.data import Example
from heatcheck.errors import BadInput
from heatcheck.models import Responds, Site, Subject, readable_keys, response, uniform_weights
from subjects import HIERARCHICAL, SUBJECTS, WRITERS

EVERY = {**SUBJECTS, **HIERARCHICAL, **WRITERS}
each_subject = pytest.mark.parametrize("name", EVERY)
ATTENTION = Site("attention")
IGNORE_WEIGHTS = ("bystander", "flat", "leaker", "one_hot", "sink", "two_layers")  # of the heatmap


def close(one, other, tolerance=1e-5):
    return torch.allclose(one.double(), other.double(), atol=tolerance, rtol=tolerance)


def places(subject, part):
    """Where a part passes: once, or once for each attention."""
    return [Site(part)] if part == "embedding" else [Site(part, site.where) for site in subject.sites]


@each_subject
def test_is_a_subject(name):
    subject, examples = EVERY[name]
    assert isinstance(subject, Subject)
    batch = subject.encode(examples)
    run = subject.run(batch, want=[subject.sites[-1]])
    weights = run.parts[subject.sites[-1]]
    assert weights.shape[0] == len(batch)
    keys = readable_keys(subject, batch)
    assert weights.shape[3] == keys.shape[1]
    assert close(weights.sum(-1), torch.ones_like(weights[..., 0]))
    assert (weights[~keys[:, None, None].expand_as(weights)] == 0).all()
    assert run.row.shape == run.logits.shape[:2]
    assert (run.row < weights.shape[2]).all()
    assert batch.gold.shape == run.logits.shape[:2]


@each_subject
@pytest.mark.parametrize("part", ["attention", "embedding", "state", "score", "context"])
def test_its_own_parts_imposed_reproduce_its_logits(name, part):
    subject, examples = EVERY[name]
    batch = subject.encode(examples)
    for site in places(subject, part):
        run = subject.run(batch, want=[site])
        assert torch.equal(subject.run(batch, edits={site: run.parts[site]}).logits, run.logits)
        assert torch.equal(subject.run(batch, edits={site: lambda own: own}).logits, run.logits)


@each_subject
def test_of_a_wanted_part_a_function_s_result_is_kept(name):
    subject, examples = EVERY[name]
    batch = subject.encode(examples)
    for site in (subject.sites[-1], Site("embedding")):
        whole = subject.run(batch, want=[site])
        run = subject.run(batch, want={site: lambda own: own.sum(1)})
        assert torch.equal(run.parts[site], whole.parts[site].sum(1))
        assert torch.equal(run.logits, whole.logits)
        doubled = subject.run(batch, edits={site: lambda own: 2 * own}, want={site: torch.sum})
        assert close(doubled.parts[site], 2 * whole.parts[site].sum(), tolerance=1e-3)


@each_subject
def test_what_is_imposed_takes_the_site_s_precision(name):
    subject, examples = EVERY[name]
    batch = subject.encode(examples)
    site = subject.sites[-1]
    run = subject.run(batch, want=[site])
    assert torch.equal(subject.run(batch, edits={site: run.parts[site].double()}).logits, run.logits)


@each_subject
def test_uniform_weights_move_what_they_should(name):
    subject, examples = EVERY[name]
    batch = subject.encode(examples)
    weights = uniform_weights(readable_keys(subject, batch))
    even = subject.run(batch, edits={subject.sites[-1]: lambda own: weights.expand_as(own)}).logits
    moved = even - subject.run(batch).logits
    if name.startswith(IGNORE_WEIGHTS):
        assert close(moved, torch.zeros_like(moved))
    else:
        assert moved.abs().max() > 1e-4


@each_subject
def test_alone_in_a_batch_or_padded(name):
    subject, examples = EVERY[name]
    together = subject.encode(examples)
    sites = [*subject.sites, *places(subject, "state")]
    whole = subject.run(together, want=sites)
    lengths = together.valid.sum(1)
    assert len(lengths.unique()) > 1, "the test would say nothing if all lengths were equal"
    for place, example in enumerate(examples):
        batch = subject.encode([example])
        alone = subject.run(batch, want=sites)
        n, decisions = int(lengths[place]), alone.logits.shape[1]
        tokens = batch.valid.shape[1]  # n, or more: a model that reads some words alone keeps the others behind these
        assert close(alone.logits[0], whole.logits[place, :decisions])
        for site in sites:  # weights [head query key], states [token feature]: as far as the text alone goes
            own = alone.parts[site][0]
            assert own.shape[-2 if site.part == "state" else -1] in (
                tokens,
                int(readable_keys(subject, batch).sum()),
            )
            assert close(own, whole.parts[site][place][tuple(slice(size) for size in own.shape)])
        assert batch.word[0, :n].tolist() == together.word[place, :n].tolist()
        assert tokens == n or name.startswith("rationale_reader")


@each_subject
def test_the_order_of_a_batch_does_not_matter(name):
    subject, examples = EVERY[name]
    turned = subject.run(subject.encode(examples[::-1])).logits.flip(0)
    assert close(turned, subject.run(subject.encode(examples)).logits)


@each_subject
def test_a_response_is_the_forward_pass(name):
    """Own, uniform and random weights through the short cut equal whole passes with those weights imposed."""
    subject, examples = EVERY[name]
    batch = subject.encode(examples)
    quick, keys = response(subject, batch), readable_keys(subject, batch)
    assert torch.equal(quick.allowed, keys)
    run = subject.run(batch)
    assert close(quick.logits(quick.attention[:, None])[:, 0], run.logits)
    generator = torch.Generator().manual_seed(0)
    other = torch.rand(len(batch), 3, *quick.attention.shape[1:], generator=generator) * keys[:, None, None, None]
    other = other / other.sum(-1, keepdim=True)
    found = quick.logits(other)
    for draw in range(3):
        imposed = subject.run(batch, edits={subject.sites[-1]: other[:, draw].transpose(1, 2)}).logits
        assert close(found[:, draw], imposed)
    assert name.startswith(IGNORE_WEIGHTS) or not close(found[:, 0], found[:, 1], 1e-3)
    if quick.relevance is not None:
        linear = torch.einsum("eqht,eqtl->eql", quick.attention, quick.relevance) + quick.bias
        assert close(linear, run.logits)


@pytest.mark.parametrize("name", ["lstm", "label-wise", "pair merge", "han gru"])
def test_the_short_cut_equals_the_fall_back(name):
    subject, examples = EVERY[name]
    batch, keys = subject.encode(examples), readable_keys(subject, subject.encode(examples))

    class WithoutShortCut:
        id, sites, recipe = "plain", subject.sites, None
        encode = staticmethod(subject.encode)
        run = staticmethod(subject.run)
        part, allowed = getattr(subject, "part", None), getattr(subject, "allowed", None)

    plain = WithoutShortCut()
    assert isinstance(subject, Responds)
    assert not isinstance(plain, Responds)
    quick, slow = response(subject, batch), response(plain, batch)
    assert close(quick.attention, slow.attention)
    assert torch.equal(quick.allowed, slow.allowed)
    other = quick.attention[:, None].flip(-1) * 0.5 + quick.attention[:, None] * 0.5
    other = other * keys[:, None, None, None]
    other = other / other.sum(-1, keepdim=True)
    assert close(quick.logits(other), slow.logits(other))


def test_decisions_that_share_a_row_are_asked_one_at_a_time():
    """A multi-label model with one attention: every decision reads row 0, each with its own weights."""
    label_wise, examples = SUBJECTS["label-wise"]
    batch = label_wise.encode(examples)

    class OneRow:
        id, sites, recipe = "one row", (ATTENTION,), None
        encode = staticmethod(label_wise.encode)

        def run(self, batch, *, edits=None, want=()):
            def spread(own):
                edit = (edits or {}).get(ATTENTION)
                row = own[:, :, :1] if edit is None else edit
                return row.expand_as(own)

            run = label_wise.run(batch, edits={ATTENTION: spread}, want=[ATTENTION])
            parts = {ATTENTION: run.parts[ATTENTION][:, :, :1]} if want else {}
            return type(run)(run.logits, torch.zeros_like(run.row), parts)

    shared = response(OneRow(), batch)
    weights = response(label_wise, batch).attention[:, None]  # a different row for each decision
    assert close(shared.logits(weights)[:, 0], label_wise.run(batch).logits)


@each_subject
def test_a_site_that_never_fires_is_an_error(name):
    subject, examples = EVERY[name]
    batch = subject.encode(examples[:1])
    with pytest.raises(BadInput, match=r"has no site attention:layer.3. Choose one of: embedding"):
        subject.run(batch, want=[Site("attention", "layer.3")])
    with pytest.raises(BadInput, match="has no site value"):
        subject.run(batch, edits={Site("value"): torch.zeros(1)})


@each_subject
def test_an_edit_of_the_wrong_shape_is_an_error(name):
    subject, examples = EVERY[name]
    for site in subject.sites:
        with pytest.raises(BadInput, match=rf"the edit at {site} has shape \(1,\), but the site has"):
            subject.run(subject.encode(examples[:1]), edits={site: torch.zeros(1)})


def test_what_cannot_be_encoded():
    subject, examples = SUBJECTS["lstm"]
    with pytest.raises(BadInput, match="example x: its text has no token"):
        subject.encode([Example("x", " ")])
    with pytest.raises(BadInput, match=r"example x: this model reads one text per example, but this one has two texts"):
        subject.encode([Example("x", "a", "b")])
    assert subject.encode([Example("x", "a")]).gold is None
    assert subject.encode(examples).gold.tolist() == [[0], [1], [0], [1], [0]]


def test_marks_follow_the_words_into_tokens():
    subject, _ = SUBJECTS["lstm"]
    marked = Example("x", "isn't good !", label=0, marks={"rationale": (True, False, True)})
    batch = subject.encode([marked, Example("y", "a much longer text than that one", label=0)])
    assert batch.word[0, :6].tolist() == [-1, 0, 0, 1, 2, -1]
    assert batch.marks["rationale"][0].tolist() == [False, True, True, False, True] + [False] * 4
    assert not batch.marks["rationale"][1].any()
