"""Logits without each word: those of plain re-encoding, for every encoder, attention and decoder."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from guide import FILES
from heatcheck.data import Example
from heatcheck.errors import BadInput
from heatcheck.explainers.word_removal import delete
from heatcheck.models import ENCODERS, Classifier, Erases
from heatcheck.models.classifiers import bilstm
from heatcheck.models.classifiers import encoder as encoders
from heatcheck.models.classifiers.kernels import kernels, tanh_dot
from heatcheck.models.classifiers.partial_softmax import Partial, TextSums
from heatcheck.models.contract.without_each import Changed, Same
from heatcheck.training import predict
from subjects import HIERARCHICAL, PAIRS, SETS, SINGLE, SUBJECTS, TEXTS, THREE, classifier

FILE = {}
exec(FILES["src/heatcheck/models/classifiers/rnn.py"], FILE)  # CONTRIBUTING's encoder
MANY = tuple(f"label {n}" for n in range(40))  # more than a state has coordinates
KINDS = {
    **{name: subject for name, (subject, _) in SUBJECTS.items() if isinstance(subject, Classifier)},
    "cnn dot": classifier(SINGLE, encoder="cnn", attention="dot"),
    "average dot": classifier(SINGLE, encoder="average", attention="dot"),
    "pair lstm dot": classifier(PAIRS, ("a", "b", "c"), segments=2, attention="dot"),
    "pair lstm linear": classifier(PAIRS, ("a", "b", "c"), segments=2),
    "pair lstm dot merge": classifier(PAIRS, ("a", "b", "c"), segments=2, attention="dot", decoder="merge"),
    "pair cnn merge": classifier(PAIRS, ("a", "b", "c"), segments=2, encoder="cnn", decoder="merge"),
    "cnn label-wise": classifier(SETS, ("a", "b", "c"), encoder="cnn", label_wise=True),
    "average label-wise dot": classifier(SETS, ("a", "b", "c"), encoder="average", attention="dot", label_wise=True),
    "pair gru": classifier(PAIRS, ("a", "b", "c"), segments=2, encoder="gru", decoder="merge"),
    "pair conv": classifier(PAIRS, ("a", "b", "c"), segments=2, encoder="conv"),
    "pair none dot": classifier(PAIRS, ("a", "b", "c"), segments=2, encoder="none", attention="dot"),
    "label-wise linear": classifier(SETS, ("a", "b", "c"), label_wise=True, attention="linear"),
    "conv label-wise": classifier(SETS, ("a", "b", "c"), encoder="conv", label_wise=True),
    "many labels": classifier(THREE, MANY, encoder="cnn"),
}
with pytest.MonkeyPatch.context() as patch:
    patch.setitem(ENCODERS, "rnn", FILE["BiRNN"])
    KINDS["the guide's"] = classifier(SINGLE, encoder="rnn")  # knows of nothing that a gap leaves unchanged

# One token a word, several, none (a no-break space; nothing between two spaces), and one that no vocabulary has.
WORDS = ["good", "bad", "a", "film", "isn't", "plot,", "very-good!", "unheard", "\N{NO-BREAK SPACE}", ""]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).filter(lambda words: set(words) - set(WORDS[-2:]))


def examples_of(subject, drawn):
    pairs = TEXTS if subject.settings.segments == 2 else [None]
    options = {"options": (0, 2)} if len(subject.labels) == 3 and not subject.settings.label_wise else {}
    return [
        Example(f"e{n}", " ".join(words), pairs[n % len(pairs)], **(options if n % 2 else {}))
        for n, words in enumerate(drawn)
    ]


def plainly(subject, examples):
    """(example, word) to probabilities, every text deleted from and encoded again."""
    gaps = [(row, -1) for row in range(len(examples))]
    for row, found in enumerate(subject.encode(examples).word.tolist()):
        words = sorted({word for word in found if word >= 0})
        gaps += [(row, word) for word in words if len(words) > 1]
    texts = [examples[row] if word < 0 else delete(examples[row], {word}) for row, word in gaps]
    return dict(zip(gaps, np.exp(predict(subject, texts)), strict=True))


def shortly(subject, examples, **how):
    """The same by the short cut; each word of each text exactly once."""
    found = {}
    for part in subject.without_each(subject.encode(examples), **how):
        for row, word, logits in zip(part.example.tolist(), part.word.tolist(), part.logits, strict=True):
            assert (row, word) not in found
            found[row, word] = logits.double().softmax(-1).numpy()
    return found


def furthest(found, expected):
    assert found.keys() == expected.keys()
    return max(np.abs(found[gap] - expected[gap]).max() for gap in expected)


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(drawn=st.lists(texts, min_size=1, max_size=5))
def test_equal_to_encoding_again(name, drawn):
    """Lengths, padding and batches as they come; words of several tokens, of none, repeated, unknown; lone words."""
    subject = KINDS[name]
    examples = examples_of(subject, drawn)
    assert furthest(shortly(subject, examples), plainly(subject, examples)) < 1e-6


@pytest.mark.parametrize("name", KINDS)
def test_words_matter(name):
    """Or the comparison above would compare nothing with nothing."""
    subject = KINDS[name]
    found = shortly(subject, examples_of(subject, [["good", "bad", "film", "isn't", "a"]]))
    assert np.std([p[0, 0] for p in found.values()]) > 1e-4


@pytest.mark.parametrize("name", KINDS)
def test_a_lone_word_is_never_left_out(name):
    subject = KINDS[name]
    examples = examples_of(subject, [["dull"], ["isn't"], ["", "good"], ["good", "bad"]])
    assert shortly(subject, examples).keys() == {(0, -1), (1, -1), (2, -1), (3, -1), (3, 0), (3, 1)}


@pytest.mark.parametrize("name", ["lstm", "cnn", "conv", "average", "pair merge", "the guide's"])
def test_long_texts_in_several_groups(name, monkeypatch):
    """Groups of texts, and gaps a few at a time, end anywhere."""
    subject = KINDS[name]
    rng = np.random.default_rng(0)
    examples = examples_of(subject, [list(rng.choice(WORDS[:8], size=n)) for n in (70, 3, 41, 1, 40, 2)])
    expected = plainly(subject, examples)
    for tokens in (1, 100, 1000):
        monkeypatch.setattr(type(subject.encoder), "tokens_at_once", tokens)
        monkeypatch.setattr(encoders, "CACHED", 100 * tokens)
        monkeypatch.setattr("heatcheck.models.classifiers.cnn.GAPS_AT_ONCE", 1 + tokens // 10)
        assert furthest(shortly(subject, examples), expected) < 1e-6


@pytest.mark.parametrize("name", ["lstm", "cnn", "average", "label-wise"])
def test_alone_as_in_a_batch(name):
    subject = KINDS[name]
    together = shortly(subject, SINGLE)
    for row, example in enumerate(SINGLE):
        for (_, word), p in shortly(subject, [example]).items():
            assert np.abs(p - together[row, word]).max() < 1e-7


@pytest.mark.parametrize(
    ("encoder", "attention"),
    [*product(["lstm", "cnn", "average"], ["tanh", "dot"]), ("conv", "linear"), ("gru", "tanh"), ("lstm", "linear")],
)
@pytest.mark.parametrize("sharpness", [30.0, 3e3, 3e6])
def test_saturated_attention(encoder, attention, sharpness):
    """A token with all of the weight can be left out; what had none of it (e^-1000000 of it) then has all."""
    subject = classifier(SINGLE, encoder=encoder, attention=attention).double()  # in float32 the scores are the noise
    with torch.no_grad():
        subject.attention.score.weight *= sharpness
    rng = np.random.default_rng(0)
    examples = examples_of(subject, [list(rng.choice(WORDS[:8], size=n)) for n in (30, 12, 2)])
    found = shortly(subject, examples)
    assert furthest(found, plainly(subject, examples)) < 1e-6
    if sharpness > 1e6:
        weights = subject.run(subject.encode(examples), want=subject.sites).parts[subject.sites[-1]]
        assert (weights.amax(-1) > 0.999).any()


@pytest.mark.parametrize("attention", ["tanh", "dot"])
def test_saturated_attention_in_single_precision(attention):
    subject = classifier(SINGLE, attention=attention)
    with torch.no_grad():
        subject.attention.score.weight *= 3e6
    found = shortly(subject, SINGLE)
    assert all(np.isfinite(p).all() for p in found.values())
    assert np.median([np.abs(found[gap] - p).max() for gap, p in plainly(subject, SINGLE).items()]) < 1e-6


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    scores=st.lists(st.floats(-1e6, 1e6) | st.floats(-1, 1), min_size=2, max_size=9),
    cut=st.tuples(st.integers(0, 8), st.integers(0, 8)),
    masked=st.sets(st.integers(0, 8)),
)
def test_sums_before_and_behind_are_a_softmax_over_the_rest(scores, cut, masked):
    n = len(scores)
    start, stop = sorted(min(place, n) for place in cut)
    scored = torch.tensor([[place not in masked for place in range(n)]])
    kept = scored[0] & torch.tensor([place < start or place >= stop for place in range(n)])
    if not kept.any():
        return
    row = torch.tensor([[scores]], dtype=torch.float64)
    values = torch.arange(1.0, 2 * n + 1, dtype=torch.float64).reshape(1, 1, n, 2)
    sums = TextSums(row, values, scored)
    example = torch.tensor([0])
    both = sums.first(example, torch.tensor([start])).joined(sums.last(example, torch.tensor([stop])))
    expected = row[0, 0, kept].softmax(0) @ values[0, 0, kept]
    assert torch.allclose(both.mean()[0, 0], expected, rtol=1e-12)
    running = Partial.of_nothing(1, 1, 2, torch.device("cpu"))
    for place in kept.nonzero()[:, 0].tolist():
        running.absorb(example, Partial.of_tokens(row[..., place : place + 1], values[:, :, place : place + 1]))
    assert torch.allclose(running.mean()[0, 0], expected, rtol=1e-12)


def test_the_fast_tanh():
    """Within its stated bound everywhere, odd, and finite at infinity."""
    x = torch.cat([torch.linspace(-12, 12, 1_000_003), torch.logspace(-30, 30, 10_001), torch.tensor([torch.inf])])
    found = tanh_dot(x[:, None, None], torch.ones(1, 1))[:, 0, 0]
    assert (found - x.double().tanh()).abs().max() < 1e-7
    assert torch.equal(tanh_dot(-x[:, None, None], torch.ones(1, 1))[:, 0, 0], -found)
    assert tanh_dot(torch.tensor([[[torch.nan]]]), torch.ones(1, 1)).isnan().all()


LONG = [list(np.random.default_rng(n).choice(WORDS[:8], size=80 + n)) for n in range(3)]


def pieces_of(subject, examples, monkeypatch, **how):
    """What the encoder hands out, kept."""
    kept = []
    own = subject.encoder.without_each

    def watched(*args, **kwargs):
        whole, pieces = own(*args, **kwargs)

        def watch():
            for piece in pieces:
                kept.append(piece)
                yield piece

        return whole, watch()

    with monkeypatch.context() as patch:
        patch.setattr(subject.encoder, "without_each", watched)
        return shortly(subject, examples, **how), kept


def test_no_tolerance_is_exact(monkeypatch):
    subject = KINDS["lstm"]
    examples = examples_of(subject, LONG)
    exact, pieces = pieces_of(subject, examples, monkeypatch)
    assert not any(isinstance(piece, Same) for piece in pieces)
    assert furthest(exact, plainly(subject, examples)) < 1e-6
    again = shortly(subject, examples, tolerance=0.0)
    assert all((again[gap] == exact[gap]).all() for gap in exact)


@pytest.mark.parametrize("name", ["lstm", "pair merge", "label-wise dot"])
def test_a_tolerance_saves_states_and_costs_little(name, monkeypatch):
    subject = KINDS[name]
    examples = examples_of(subject, LONG)
    exact, all_pieces = pieces_of(subject, examples, monkeypatch)
    error, work = [], []
    for tolerance in (1e-6, 1e-4, 1e-2):
        found, pieces = pieces_of(subject, examples, monkeypatch, tolerance=tolerance)
        assert any(isinstance(piece, Same) for piece in pieces)
        error.append(furthest(found, exact))
        work.append(sum(len(piece.gap) for piece in pieces if isinstance(piece, Changed)))
    assert error[0] < 1e-6
    assert error[1] < 1e-4
    assert error[2] < 1e-2
    assert sum(len(piece.gap) for piece in all_pieces) > 1.5 * work[0] > 2 * work[2]


@pytest.mark.parametrize("part", [0, 1])
def test_every_coordinate_must_have_rejoined(part):
    states = np.random.default_rng(0).normal(size=(2, 3, 5)).astype(np.float32)  # cells and hidden of three rows
    whole, back = states[:, :1].copy(), np.zeros(3, bool)
    states[:] = whole
    states[part, 1, 4] += 0.9e-3
    states[part, 2, 4] -= 1.1e-3
    kernels().rejoined(*states, *whole, np.zeros(1, int), np.zeros(3, int), 1e-3, back)
    assert back.tolist() == [True, True, False]


@pytest.mark.parametrize("name", ["cnn", "conv", "average", "none linear", "gru", "the guide's"])
def test_encoders_that_carry_nothing_along_ignore_a_tolerance(name):
    subject = KINDS[name]
    exact, found = shortly(subject, SINGLE), shortly(subject, SINGLE, tolerance=0.1)
    assert all((found[gap] == exact[gap]).all() for gap in exact)


@pytest.mark.parametrize("tolerance", [-1e-3, float("nan"), float("inf")])
def test_a_tolerance_is_at_least_nothing(tolerance):
    with pytest.raises(BadInput, match="tolerance"):
        list(KINDS["lstm"].without_each(KINDS["lstm"].encode(SINGLE), tolerance=tolerance))


def test_half_of_all_states_are_computed(monkeypatch):
    """Behind a gap those from one direction, before it those from the other."""
    subject = KINDS["lstm"]
    (example,) = examples_of(subject, LONG[:1])
    words = len(set(subject.encode([example]).word[0].tolist()) - {-1})
    tokens = int(subject.encode([example]).scored.sum())
    _, pieces = pieces_of(subject, [example], monkeypatch)
    assert sum(piece.readings.shape[0] * piece.readings.shape[1] for piece in pieces) == (words - 1) * tokens


@pytest.mark.parametrize(("name", "tokens"), [("lstm", 1), ("cnn", 6), ("conv", 4), ("average", 0), ("none linear", 0)])
def test_memory_grows_with_gaps_not_with_gaps_times_tokens(name, tokens, monkeypatch):
    subject = KINDS[name]
    _, pieces = pieces_of(subject, examples_of(subject, LONG), monkeypatch)
    assert max((piece.readings.shape[1] for piece in pieces if isinstance(piece, Changed)), default=0) == tokens


def test_shortened_texts_are_encoded_a_few_at_a_time(monkeypatch):
    subject = KINDS["the guide's"]
    read, forward = [], subject.encoder.forward
    monkeypatch.setattr(subject.encoder, "forward", lambda *args: read.append(args[0].numel()) or forward(*args))
    monkeypatch.setattr(encoders, "CACHED", 10_000)
    examples = examples_of(subject, LONG)
    expected = plainly(subject, examples)
    read.clear()
    assert furthest(shortly(subject, examples), expected) < 1e-6
    assert max(read) < 10_000
    assert len(read) > 3


def test_without_numba_texts_are_encoded_again(monkeypatch):
    monkeypatch.setattr(bilstm, "kernels", lambda: None)
    subject = KINDS["lstm"]
    _, pieces = pieces_of(subject, SINGLE, monkeypatch)
    assert all(piece.present is not None for piece in pieces)
    assert furthest(shortly(subject, SINGLE), plainly(subject, SINGLE)) < 1e-6


def test_who_erases():
    assert all(isinstance(subject, Erases) for subject in KINDS.values())
    assert not any(isinstance(subject, Erases) for subject, _ in HIERARCHICAL.values()), (
        "deleting a stop joins sentences"
    )
    assert not isinstance(SUBJECTS["seq2seq"][0], Erases)
    assert not isinstance(SUBJECTS["reader@planted_contrast"][0], Erases)


def test_parameters_keep_their_gradients():
    """What is handed out belongs to no graph, and nothing is switched off for good."""
    subject = KINDS["lstm"]
    (part, *_) = subject.without_each(subject.encode(SINGLE))
    assert not part.logits.requires_grad
    assert all(parameter.requires_grad for parameter in subject.parameters())
    assert subject.run(subject.encode(SINGLE)).logits.requires_grad
