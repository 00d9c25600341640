"""The truth about each known-answer subject, as its docstring proves it."""

import pytest
import torch

from heatcheck.data import Example, load_task
from heatcheck.errors import BadInput, UnknownName
from heatcheck.models import KNOWN_ANSWERS, Site, response
from heatcheck.models.known_answers import Dial, GaugeTwin, Leaker, MajorityReader, Reader, Shifted, TwoLayers
from heatcheck.training import evaluate

ATTENTION = Site("attention")
CELLS = [(name, task) for name, kind in KNOWN_ANSWERS.items() for task in kind.tasks]


def make(name, task, **nuisance):
    return KNOWN_ANSWERS[name](task, **({"share": 0.4} if name == "dial" else {}), **nuisance)


def without(examples, subject):
    """Each text without its most attended word."""
    batch = subject.encode(examples)
    weights = subject.run(batch, want=[ATTENTION]).parts[ATTENTION][:, 0, 0]
    places = batch.word.gather(1, weights.argmax(1, keepdim=True))[:, 0].tolist()
    return [
        Example(e.id, " ".join(w for n, w in enumerate(e.words) if n != place), e.text_pair, e.label)
        for e, place in zip(examples, places, strict=True)
    ]


@pytest.mark.parametrize(("name", "task"), CELLS)
@pytest.mark.parametrize("nuisance", [{}, {"sharpness": 7.0, "scale": 8.0, "jitter": 0.3, "filler": 0.05, "seed": 1}])
def test_all_are_right(name, task, nuisance):
    assert evaluate(make(name, task, **nuisance), load_task(task)["test"]).accuracy == 1.0


@pytest.mark.parametrize(("name", "task"), CELLS)
def test_weight_is_where_it_is_said_to_be(name, task):
    subject = make(name, task)
    batch = subject.encode(load_task(task)["test"].examples)
    weights = subject.run(batch, want=[ATTENTION]).parts[ATTENTION][:, 0, 0]
    on_rationale = (weights * batch.marks["rationale"]).sum(1)
    if name in ("reader", "rationale_reader", "bystander_right", "dial", "majority_reader", "two_layers"):
        assert on_rationale.min() >= 0.95
    else:
        assert on_rationale.max() < (0.12 if name == "flat" else 0.05)


@pytest.mark.parametrize(
    ("name", "task", "alike"),
    [("flat", "planted_first", 0), ("one_hot", "planted_first", 1), ("sink", "planted_second", 1)],
)
def test_controls_for_ties_leave_the_deciding_word_first_among_equals(name, task, alike):
    """Whatever the nuisance: all words but the attended one weigh exactly the same, and it stands first of them."""
    subject = make(name, task, jitter=0.5, filler=0.05)
    for example in load_task(task)["test"].examples[:20]:
        batch = subject.encode([example])
        weights = subject.run(batch, want=[ATTENTION]).parts[ATTENTION][0, 0, 0][batch.scored[0]]
        equal = (weights == weights.min()).nonzero()[:, 0].tolist()
        assert len(equal) == len(example.words) - alike
        assert example.marks["rationale"][equal[0]]


@pytest.mark.parametrize(("name", "task"), CELLS)
def test_the_attention_free_twin(name, task):
    """Only readers of contrast and lookup need their weights: the bag is right 11/16, a guess 1/6."""
    accuracy = evaluate(make(name, task).attention_free(), load_task(task)["test"]).accuracy
    expected = {("reader", "planted_contrast"): 11 / 16, ("reader", "planted_lookup"): 1 / 6}
    expected[("two_layers", "planted_lookup")] = 1 / 6
    # It reads two facts, one of them the right one; equal weights then guess between them.
    expected[("rationale_reader", "planted_lookup")] = 1 / 2 + 1 / 2 * 1 / 6
    expected = expected.get((name, task), 1.0)
    assert accuracy == pytest.approx(expected, abs=0.05)


def test_removing_the_attended_word():
    """It undoes the reader's answer and not the shifted one's: that separates state from token."""
    examples = load_task("planted_keyword")["test"].examples
    reader, shifted = Reader("planted_keyword"), Shifted("planted_keyword")
    assert evaluate(reader, without(examples, reader)).accuracy < 0.6
    assert evaluate(shifted, without(examples, shifted)).accuracy == 1.0


def test_the_gauge_twin_decides_as_the_reader_with_the_opposite_heatmap():
    examples = load_task("planted_keyword")["test"].examples
    reader, twin = Reader("planted_keyword"), GaugeTwin("planted_keyword")
    batch = reader.encode(examples)
    one, other = reader.run(batch, want=[ATTENTION]), twin.run(batch, want=[ATTENTION])
    assert torch.equal(one.logits.argmax(-1), other.logits.argmax(-1))
    weight = one.parts[ATTENTION].masked_fill(~batch.scored[:, None, None], 2)
    twin_weight = other.parts[ATTENTION].masked_fill(~batch.scored[:, None, None], 2)
    assert torch.equal(weight.masked_fill(weight == 2, -1).argmax(-1), twin_weight.argmin(-1))
    # Their contributions α·r agree up to the instance's normaliser.
    contribution = [
        r.attention[:, 0, 0] * r.relevance[:, 0, :, 1] for r in (response(reader, batch), response(twin, batch))
    ]
    shares = [c / c.abs().sum(1, keepdim=True) for c in contribution]
    assert torch.allclose(*shares, atol=1e-5)


def test_the_gauge_twin_keeps_every_decision_where_fillers_murmur():
    """Exactly: the numerators Σ e^a vote of the two are one constant apart, on every text."""
    examples = load_task("planted_keyword")["test"].examples
    drawn = {"sharpness": 7.0, "scale": 1.5, "jitter": 0.4, "filler": 0.05, "seed": 3}
    reader, twin = Reader("planted_keyword", **drawn), GaugeTwin("planted_keyword", **drawn)
    batch = reader.encode(examples)
    one, other = response(reader, batch), response(twin, batch)
    assert (one.relevance[:, 0, :, 1].abs() > 0).sum() > 5 * len(examples), "the fillers say something"
    contribution = [r.attention[:, 0, 0].double() * r.relevance[:, 0, :, 1].double() for r in (one, other)]
    shares = [c / c.sum(1, keepdim=True) for c in contribution]
    assert torch.allclose(*shares, atol=1e-5)
    assert torch.equal(reader.run(batch).logits.argmax(-1), twin.run(batch).logits.argmax(-1))


@pytest.mark.parametrize("task", Reader.tasks)
def test_what_fillers_murmur(task):
    """Small votes of the reader's fillers, no more than a share of a vote; none where none was asked for."""
    examples = load_task(task)["test"].examples[:200]
    plain, murmuring = Reader(task), Reader(task, filler=0.05, seed=4)
    batch = plain.encode(examples)
    said, murmured = (response(subject, batch).relevance[:, 0] for subject in (plain, murmuring))
    apart = (murmured - said).abs()
    assert 0 < apart.max() <= 0.05 * plain.scale
    assert not apart[batch.marks["rationale"]].any(), "the deciding word says what it said"
    assert not torch.equal(murmured, response(murmuring.again(5), batch).relevance[:, 0])


@pytest.mark.parametrize("name", ["bystander_right", "bystander_wrong"])
def test_a_bystander_is_constant_in_its_weights_whatever_fillers_say(name):
    """And its fillers count a little: that is what distinguishes it from a lookup of the deciding word."""
    examples = load_task("planted_contrast")["test"].examples[:200]
    subject = make(name, "planted_contrast", filler=0.05, seed=2)
    batch = subject.encode(examples)
    relevance = response(subject, batch).relevance[:, 0]
    for row, scored in zip(relevance, batch.scored, strict=True):
        assert torch.allclose(row[scored], row[scored][:1])
    silent = make(name, "planted_contrast")
    moved = (subject.run(batch).logits - silent.run(batch).logits).abs()
    assert 0 < moved.max() <= 0.05 * subject.scale


def test_of_two_layers_the_first_does_the_work():
    """Uniform weights in the second change nothing, in the first everything."""
    examples = load_task("planted_lookup")["test"].examples[:300]
    subject = TwoLayers("planted_lookup", filler=0.05)
    batch = subject.encode(examples)
    whole = subject.run(batch, want=subject.sites)
    even = (batch.scored / batch.scored.sum(1, keepdim=True))[:, None, None]
    imposed = {site: even.to(own.dtype).expand_as(own) for site, own in whole.parts.items()}
    first, second = ({site: imposed[site]} for site in subject.sites)
    assert torch.allclose(subject.run(batch, edits=second).logits, whole.logits, atol=1e-5)
    gold = torch.tensor([example.label for example in examples])
    for edits in (first, imposed):
        right = (subject.run(batch, edits=edits).logits[:, 0].argmax(-1) == gold).float().mean()
        assert right == pytest.approx(1 / 6, abs=0.06)


def test_a_majority_reader_attends_to_each_cue_alike():
    examples = load_task("planted_majority")["test"].examples[:200]
    subject = MajorityReader("planted_majority", jitter=0.5, filler=0.05, sharpness=9.0)
    batch = subject.encode(examples)
    weights = subject.run(batch, want=[ATTENTION]).parts[ATTENTION][:, 0, 0]
    cues = weights[batch.marks["rationale"]].view(len(examples), 7)
    assert (cues.max(1).values / cues.min(1).values).max() < 1.06
    assert cues.std() > 0, "and yet no two are exactly alike"


def test_the_leaker_codes_the_label():
    subject = Leaker("planted_contrast")
    examples = load_task("planted_contrast")["test"].examples
    batch = subject.encode(examples)
    top = subject.run(batch, want=[ATTENTION]).parts[ATTENTION][:, 0, 0].argmax(1)
    words = [e.words[int(batch.word[n, top[n]])] for n, e in enumerate(examples)]
    assert words == [{0: ".", 1: ","}[e.label] for e in examples]


def test_the_dial_is_the_share():
    """Silencing cue A (its vote, states otherwise fixed) costs a share m of the logit."""
    examples = load_task("planted_twins")["test"].examples
    for share in (0.0, 0.25, 0.5, 1.0):
        subject = Dial(share=share, sharpness=20.0, jitter=0.0)
        batch = subject.encode(examples)
        whole = subject.run(batch).logits[:, 0, 1]
        silent = subject.run(batch, edits={Site("embedding"): _without_feature(0)}).logits[:, 0, 1]
        assert torch.allclose(1 - silent / whole, torch.full_like(whole, share), atol=1e-4)


def _without_feature(number):
    def edit(features):
        kept = torch.ones(features.shape[-1])
        kept[number] = 0
        return features * kept

    return edit


def test_a_saturated_reader_has_finite_answers():
    subject = Reader("planted_keyword", scale=500.0)
    batch = subject.encode(load_task("planted_keyword")["test"].examples)
    probability = subject.run(batch).logits.softmax(-1).float()
    assert probability.isfinite().all()
    assert ((probability == 0) | (probability == 1)).all()


def test_words_nobody_planted():
    subject = Reader("planted_contrast")
    run = subject.run(subject.encode([Example("x", "one")]), want=[ATTENTION])
    assert run.logits.tolist() == [[[0.0, 0.0]]]
    assert run.parts[ATTENTION].sum() == 1


def test_what_is_refused():
    with pytest.raises(UnknownName, match=r"unknown task for the leaker 'planted_keyword' .*; known: planted_contrast"):
        Leaker("planted_keyword")
    with pytest.raises(BadInput, match="share must lie between 0 and 1"):
        Dial(share=1.5)
