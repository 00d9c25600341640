"""Each answer of the page against another way through the library."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

import heatcheck as hc
from heatcheck.data import Example
from heatcheck.errors import BadInput, NotSupported
from heatcheck.explainers import EXPLAINERS, explain_one, stand_ins
from heatcheck.models import Recipe, load, readable_keys, response, token_weights, uniform_edits
from heatcheck.models.hf import Prompted
from heatcheck.serve import shown_text
from heatcheck.serve.schema import (
    MAX_WORDS,
    SLOW_WORDS,
    Asked,
    AskedAdversary,
    AskedExplanation,
    AskedHead,
    AskedWeights,
)
from heatcheck.serve.shown_models import offer
from subjects import HIERARCHICAL, SINGLE, SUBJECTS, WRITERS, classifier
from tiny_language_models import PROMPT, tokenizer
from tiny_language_models import network as language_model
from tiny_transformers import make, tiny


def sharp(examples=SINGLE, labels=("no", "yes"), **settings):
    """Weights that start small leave attention uniform and answers undecided."""
    subject = classifier(examples, labels, **settings)
    with torch.no_grad():
        for parameter in subject.parameters():
            parameter.mul_(4.0)
    return subject


LSTM, DOT, THREE = sharp(), sharp(attention="dot"), sharp(labels=("a", "b", "c"), encoder="average")
PAIR, HAN, BERT = SUBJECTS["pair merge"][0], HIERARCHICAL["han gru"][0], tiny("bert")
READER = load("known:reader@planted_contrast")
# A word without a token, words of two and three tokens, and words that were never seen.
ODD = "the plot  is a bit thin, isn't it? very zzz good"
FILM = "the film was not very good"
PLOT = "the plot is a bit thin but very good"


def asked(request=Asked, /, text=ODD, **others):
    return request(model="m", text=text, **others)


def encoded(subject, text, pair=None):
    return subject.encode([Example("text", text, pair)])


def p_of(logits):
    return logits.double().softmax(-1).flatten().tolist()


def close(values, others, tolerance=1e-6):
    """Equal up to rounding, and None in the same places."""
    values, others = list(values), list(others)
    assert [v is None for v in values] == [v is None for v in others]
    assert [v or 0.0 for v in values] == pytest.approx([v or 0.0 for v in others], abs=tolerance)
    return True


def attention_of(subject, text, pair=None):
    return [value for _, value in hc.explain(subject, text, by="attention", text_pair=pair)["attention"]]


@pytest.mark.parametrize(
    ("subject", "text", "pair"),
    [
        (LSTM, ODD, None),
        (THREE, ODD, None),
        (READER, "but dull  film zzz", None),
        (BERT, FILM, None),
        (BERT, FILM, "a dull movie"),
        (tiny("gpt2"), FILM, None),
        (PAIR, "not so bad", "a film"),
        (HAN, "Not so bad. The plot is thin ? Good.", None),
    ],
    ids=lambda given: getattr(given, "id", None),
)
def test_looking_is_the_forward_pass_and_the_attention_explainer(subject, text, pair):
    found = shown_text.look(subject, asked(text=text, text_pair=pair))
    run = subject.run(encoded(subject, text, pair), want=subject.sites)
    assert found.probabilities == pytest.approx(p_of(run.logits), abs=1e-6)
    assert sum(found.probabilities) == pytest.approx(1)
    assert found.words == (text if pair is None or subject is PAIR else f"{text} {pair}").split(" ")
    assert list(found.labels) == list(subject.labels)
    assert close(found.weights, attention_of(subject, text, pair), 1e-12)
    assert sum(w or 0 for w in found.weights) + found.rest == pytest.approx(1, abs=1e-6)
    assert (found.rest > 1e-6) == (subject is BERT)  # [CLS] and [SEP]


def test_words_without_tokens_and_unknown_words_are_told():
    found = shown_text.look(LSTM, asked())
    assert [found.words[place] for place in found.unknown] == ["thin,", "isn't", "it?", "zzz"]
    assert [n for n, weight in enumerate(found.weights) if weight is None] == [2]


@pytest.mark.parametrize("name", ["attention", "gradient", "leave_one_out", "lime", "random"])
def test_explaining_is_what_the_library_explains(name):
    found = shown_text.explain(LSTM, asked(AskedExplanation, by=[name]))
    assert found.missing == {}
    assert found.scores == {name: [value for _, value in hc.explain(LSTM, ODD, by=name)[name]]}


def test_what_cannot_be_explained_says_why_and_disturbs_no_other():
    found = shown_text.explain(LSTM, asked(AskedExplanation, by=["rollout", "attention", "attention"]))
    assert list(found.scores) == ["attention"]
    with pytest.raises(NotSupported) as why:
        explain_one(LSTM, [Example("text", ODD)], "rollout")
    assert found.missing == {"rollout": str(why.value)}


def test_explainers_that_read_a_text_often_refuse_a_long_one():
    long = " ".join(["good"] * (SLOW_WORDS + 1))
    found = shown_text.explain(LSTM, asked(AskedExplanation, text=long, by=["leave_one_out", "gradient"]))
    assert list(found.scores) == ["gradient"]
    assert str(SLOW_WORDS) in found.missing["leave_one_out"]
    one_less = shown_text.explain(LSTM, asked(AskedExplanation, text=long, by=["leave_one_out"], erased=[0]))
    assert list(one_less.scores) == ["leave_one_out"]


@pytest.mark.parametrize("name", ["/etc/passwd", "file:/etc/passwd", "file:mine.jsonl", "", "Attention"])
def test_only_explainers_by_name(name):
    with pytest.raises(BadInput, match="no explainer "):
        shown_text.explain(LSTM, asked(AskedExplanation, by=["attention", name]))


# Other weights ------------------------------------------------------------------------------------------------------


def by_hand(subject, text, site, head, weights):
    """The probabilities with these token weights in the row of the read-out."""
    batch = encoded(subject, text)
    run = subject.run(batch, want=[site])
    edited = run.parts[site].clone()
    edited[0, slice(None) if head is None else head, int(run.row[0, 0])] = torch.as_tensor(weights).to(edited)
    return p_of(subject.run(batch, edits={site: edited}).logits)


def tokens_of(subject, text):
    """The word of each token, and the weights of its heads."""
    batch = encoded(subject, text)
    run = subject.run(batch, want=subject.sites[-1:])
    own = run.parts[subject.sites[-1]][0, :, int(run.row[0, 0])]
    return batch.word[0].numpy(), own.double().detach().numpy(), readable_keys(subject, batch)[0].numpy()


def test_given_weights_of_single_tokens_are_those_that_are_put_in():
    text, weights = "not so bad film", [0.1, 0.0, 0.3, 0.4]
    used = np.array([0.0, *weights, 0.0]) / 0.8  # start and end marks carry none
    found = shown_text.impose(LSTM, asked(AskedWeights, text=text, kind="given", weights=weights))
    assert close(found.weights, used[1:-1], 1e-12)
    assert found.rest == 0
    logits = response(LSTM, encoded(LSTM, text)).logits(torch.tensor(used, dtype=torch.float32)[None, None, None, None])
    assert found.probabilities == pytest.approx(p_of(logits), abs=1e-6)
    assert found.probabilities == pytest.approx(by_hand(LSTM, text, LSTM.sites[-1], None, used), abs=1e-9)
    plain = shown_text.look(LSTM, asked(text=text))
    assert found.change == pytest.approx(abs(found.probabilities[0] - plain.probabilities[0]), abs=1e-12)
    assert found.change > 1e-4
    own, middle = np.array(plain.weights), (np.array(plain.weights) + used[1:-1]) / 2
    kl = [sum(a * np.log(a / m) for a, m in zip(p, middle, strict=True) if a > 0) for p in (own, used[1:-1])]
    assert found.jsd_nats == pytest.approx(sum(kl) / 2, abs=1e-6)


def test_the_weight_of_a_word_is_shared_among_its_tokens_as_it_was():
    words = ODD.split(" ")
    weights = [None if not word else 0.05 + 0.1 * (n % 3) for n, word in enumerate(words)]
    found = shown_text.impose(DOT, asked(AskedWeights, kind="given", weights=weights))
    word, own, _ = tokens_of(DOT, ODD)
    total = sum(w or 0 for w in weights)
    of_word = np.array([own[0][word == n].sum() for n in range(len(words))])
    hand = [(weights[n] or 0) / total * a / of_word[n] if n >= 0 else 0.0 for n, a in zip(word, own[0], strict=True)]
    assert np.bincount(word[word >= 0]).max() == 2  # there is something to share
    assert close(found.weights, [w if w is None else w / total for w in weights], 1e-9)
    assert found.probabilities == pytest.approx(by_hand(DOT, ODD, DOT.sites[-1], None, hand), abs=1e-6)


@pytest.mark.parametrize(("subject", "text"), [(LSTM, ODD), (THREE, ODD), (READER, "but dull film"), (BERT, FILM)])
def test_uniform_weights_are_the_librarys(subject, text):
    batch = encoded(subject, text)
    found = shown_text.impose(subject, asked(AskedWeights, text=text, kind="uniform"))
    expected = p_of(subject.run(batch, edits=uniform_edits(subject, batch)).logits)
    assert found.probabilities == pytest.approx(expected, abs=1e-6)
    assert found.probabilities != pytest.approx(shown_text.look(subject, asked(text=text)).probabilities, abs=1e-4)
    many = int(readable_keys(subject, batch).sum())
    word = batch.word[0].tolist()
    assert close(found.weights, [word.count(n) / many or None for n in range(len(text.split(" ")))])
    assert found.rest == pytest.approx(1 - sum(n >= 0 for n in word) / many, abs=1e-9)


@pytest.mark.parametrize("subject", [LSTM, BERT], ids=["lstm", "bert"])
def test_permuted_weights_are_the_same_in_other_places(subject):
    found = [
        shown_text.impose(subject, asked(AskedWeights, text=FILM, kind="permuted", seed=seed)) for seed in (0, 0, 1)
    ]
    assert found[0] == found[1] != found[2]
    assert found[0].weights != found[2].weights
    word, own, readable = tokens_of(subject, FILM)
    places, words = np.flatnonzero(readable), np.flatnonzero(word >= 0)
    came_from = [places[np.abs(own.mean(0)[places] - weight).argmin()] for weight in found[0].weights]
    others = [place for place in places if place not in words]  # [CLS] and [SEP]: only their sum is shown
    left = [place for place in places if place not in came_from]
    assert len(left) == len(others)
    ways = []
    for order in itertools.permutations(left):
        hand = np.zeros_like(own)
        hand[:, words], hand[:, others] = own[:, came_from], own[:, order]
        ways.append(by_hand(subject, FILM, subject.sites[-1], None, hand))
    assert any(found[0].probabilities == pytest.approx(way, abs=1e-6) for way in ways)


@pytest.mark.parametrize(("layer", "head"), [(0, 2), (1, None), (2, 0), (None, None), (None, 3)])
def test_a_head_of_a_layer_is_the_one_that_is_moved(layer, head):
    site = BERT.sites[2 if layer is None else layer]
    uniform = np.full(8, 1 / 8)
    found = shown_text.impose(BERT, asked(AskedWeights, text=FILM, kind="uniform", layer=layer, head=head))
    assert found.probabilities == pytest.approx(by_hand(BERT, FILM, site, head, uniform), abs=1e-6)
    weights = [0.3, 0.1, 0.0, 0.2, 0.1, 0.1]
    found = shown_text.impose(
        BERT, asked(AskedWeights, text=FILM, kind="given", weights=weights, rest=0.2, layer=layer, head=head)
    )
    assert sum(found.weights) + found.rest == pytest.approx(1, abs=1e-6)
    if head is not None:  # the given ones exactly
        assert close(found.weights, weights)
        assert found.rest == pytest.approx(0.2)
        run = BERT.run(encoded(BERT, FILM), want=[site])
        own = run.parts[site][0, head, 0].double().detach().numpy()
        marks = own[[0, -1]] / own[[0, -1]].sum() * 0.2
        hand = [marks[0], *weights, marks[1]]
        assert found.probabilities == pytest.approx(by_hand(BERT, FILM, site, head, hand), abs=1e-6)


def test_all_heads_given_their_own_weights_change_nothing():
    plain = shown_text.look(BERT, asked(text=FILM))
    found = shown_text.impose(
        BERT, asked(AskedWeights, text=FILM, kind="given", weights=plain.weights, rest=plain.rest)
    )
    assert found.probabilities == pytest.approx(plain.probabilities, abs=1e-6)
    assert found.jsd_nats == pytest.approx(0, abs=1e-9)
    assert found.change == pytest.approx(0, abs=1e-6)


@given(
    weights=st.lists(st.floats(0, 1), min_size=6, max_size=6),
    rest=st.floats(0, 1),
    head=st.integers(0, 3),
    layer=st.integers(0, 2),
)
@settings(max_examples=20, derandomize=True)
def test_one_head_takes_exactly_the_given_weights(weights, rest, head, layer):
    request = asked(AskedWeights, text=FILM, kind="given", weights=weights, rest=rest, layer=layer, head=head)
    total = sum(weights) + rest
    if total <= 1e-12:
        with pytest.raises(BadInput, match="all weights are 0"):
            shown_text.impose(BERT, request)
        return
    found = shown_text.impose(BERT, request)
    assert close(found.weights, [w / total for w in weights], 1e-9)
    assert found.rest == pytest.approx(rest / total, abs=1e-9)
    assert sum(found.probabilities) == pytest.approx(1)
    assert -1e-9 <= found.jsd_nats <= np.log(2) + 1e-6
    assert 0 <= found.change <= 1


@given(weights=st.lists(st.floats(0.01, 1), min_size=4, max_size=4), erased=st.sets(st.integers(0, 3), max_size=2))
@settings(max_examples=15, derandomize=True)
def test_moving_weights_is_the_same_in_a_padded_batch(weights, erased):
    words = ["not", "so", "bad", "film"]
    request = asked(AskedWeights, text=" ".join(words), kind="given", weights=weights, erased=sorted(erased))
    found = shown_text.impose(LSTM, request)
    kept = [n for n in range(4) if n not in erased]
    assert [n for n, w in enumerate(found.weights) if w is not None] == kept
    batch = LSTM.encode(
        [Example("a", " ".join(words[n] for n in kept)), Example("b", "the plot is a bit thin but good")]
    )
    used = torch.zeros(2, 1, 1, 1, batch.valid.shape[1])
    used[0, 0, 0, 0, 1 : 1 + len(kept)] = torch.tensor([weights[n] for n in kept]) / sum(weights[n] for n in kept)
    used[1] = response(LSTM, batch).attention[1]
    assert found.probabilities == pytest.approx(p_of(response(LSTM, batch).logits(used)[0]), abs=1e-6)


# An adversary -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subject", "text", "method"),
    [
        (LSTM, PLOT, "exact"),
        (LSTM, ODD, "exact"),
        (READER, "but dull film", "exact"),
        (THREE, FILM, "bracket"),
        (BERT, FILM, "search"),
    ],
)
@pytest.mark.parametrize("epsilon", [0.01, 0.2])
def test_an_adversary_is_the_librarys_and_keeps_the_answer(subject, text, method, epsilon):
    found = shown_text.adversary(subject, asked(AskedAdversary, text=text, epsilon=epsilon))
    other = stand_ins(subject, [Example("text", text)], epsilon=epsilon)
    assert found.method == other.method == method
    assert found.jsd_nats == other.jsd[0, 0]
    assert 0 <= found.change <= epsilon + 1e-9
    assert found.jsd_nats <= (found.upper_nats or np.inf) + 1e-9 <= np.inf
    assert found.jsd_nats <= found.most_nats + 1e-6
    assert (found.upper_nats is None) == (method == "search")
    if method == "search":  # heads have weights of their own, and only their mean is shown
        assert sum(found.weights) + found.rest == pytest.approx(1, abs=1e-5)
        return
    if text == ODD:  # where a word is several tokens, they are weighed apart, and only their sum is shown
        return
    # Put in by hand, they do what is said of them.
    weights = [None if w is None else min(max(w, 0.0), 1.0) for w in found.weights]
    put_in = shown_text.impose(subject, asked(AskedWeights, text=text, kind="given", weights=weights))
    assert put_in.jsd_nats == pytest.approx(found.jsd_nats, abs=1e-5)
    assert put_in.change == pytest.approx(found.change, abs=1e-5)
    assert put_in.change <= epsilon + 1e-5


@pytest.mark.parametrize("text", ["not so bad", "good film dull"])
def test_no_weights_on_a_fine_grid_are_farther_than_the_adversary(text):
    found = shown_text.adversary(LSTM, asked(AskedAdversary, text=text, epsilon=0.02))
    fine = 40
    grid = np.array([(a, b, fine - a - b) for a in range(fine + 1) for b in range(fine + 1 - a)]) / fine
    batch = encoded(LSTM, text)
    weights = torch.zeros(1, len(grid), 1, 1, 5)
    weights[0, :, 0, 0, 1:4] = torch.from_numpy(grid)
    p = response(LSTM, batch).logits(weights)[0, :, 0].softmax(-1)
    plain = shown_text.look(LSTM, asked(text=text))
    inside = (p[:, 0] - plain.probabilities[0]).abs().numpy() <= 0.02
    assert inside.any()
    assert not inside.all()
    own = np.array(plain.weights)
    middle = (own + grid) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        jsd = sum(
            np.nansum(np.where(q > 0, q * np.log(q / middle), 0), -1) for q in (grid, np.tile(own, (len(grid), 1)))
        )
    assert jsd[inside].max() / 2 <= found.jsd_nats + 1e-6
    assert found.most_nats == pytest.approx(jsd.max() / 2, abs=1e-6)


# Without some words -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("subject", [LSTM, BERT], ids=["lstm", "bert"])
def test_erased_words_are_as_if_never_written(subject):
    words = ["the", "film", "was", "not", "very", "good"]
    gone = [1, 3]
    left = [n for n in range(6) if n not in gone]
    shorter = " ".join(words[n] for n in left)

    def in_place(values):
        return [dict(zip(left, values, strict=True)).get(n) for n in range(6)]

    pairs = [
        (shown_text.look, Asked, {}, {}),
        (shown_text.impose, AskedWeights, {"kind": "uniform"}, {}),
        (shown_text.impose, AskedWeights, {"kind": "permuted", "seed": 3}, {}),
        (shown_text.impose, AskedWeights, {"kind": "given", "weights": [0.1] * 6}, {"weights": [0.1] * 4}),
        (shown_text.adversary, AskedAdversary, {}, {}),
    ]
    for ask, kind, settings_, of_shorter in pairs:
        one = ask(subject, asked(kind, text=" ".join(words), erased=gone, **settings_))
        other = ask(subject, asked(kind, text=shorter, **{**settings_, **of_shorter}))
        assert one.weights == in_place(other.weights)
        for name in {"probabilities", "rest", "change", "jsd_nats", "most_nats"} & set(kind.model_fields | vars(one)):
            assert getattr(one, name) == getattr(other, name)
    by = {"by": ["attention", "gradient", "leave_one_out"]}
    one = shown_text.explain(subject, asked(AskedExplanation, text=" ".join(words), erased=gone, **by))
    other = shown_text.explain(subject, asked(AskedExplanation, text=shorter, **by))
    assert one.scores == {name: in_place(values) for name, values in other.scores.items()}


# Layers and heads ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pieces():
    """A BERT for which a word can be several tokens."""
    subject = make("bert", seed=1)
    subject.tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return subject


def test_layers_are_the_row_of_the_read_out_by_word(pieces):
    text = "the film, not(very)good movie"
    found = shown_text.layers(pieces, asked(text=text))
    batch = encoded(pieces, text)
    run = pieces.run(batch, want=pieces.sites)
    word = batch.word[0].tolist()
    assert max(word.count(n) for n in range(4)) == 5
    assert np.shape(found.rows) == (3, 4, 4)
    for layer, head in itertools.product(range(3), range(4)):
        row = run.parts[pieces.sites[layer]][0, head, 0].tolist()
        sums = [sum(w for w, of in zip(row, word, strict=True) if of == n) for n in range(4)]
        assert close(found.rows[layer][head], sums)
        assert found.rest[layer][head] == pytest.approx(row[0] + row[-1], abs=1e-6)


@pytest.mark.parametrize("head", [None, 2])
def test_one_head_is_who_looks_at_whom(pieces, head):
    text, erased = "the film, not(very)good dull movie", [3]
    found = shown_text.head(pieces, asked(AskedHead, text=text, erased=erased, layer=1, head=head))
    batch = encoded(pieces, "the film, not(very)good movie")
    part = pieces.run(batch, want=pieces.sites).parts[pieces.sites[1]][0]
    part = part.mean(0) if head is None else part[head]
    words = [[t for t, of in enumerate(batch.word[0].tolist()) if of == n] for n in range(4)]
    left = [0, 1, 2, 4]
    assert found.matrix[3] == [None] * 5
    for query, key in itertools.product(range(4), range(4)):
        expected = part[words[query]][:, words[key]].sum(1).mean().item()
        assert found.matrix[left[query]][left[key]] == pytest.approx(expected, abs=1e-6)
    assert all(row[3] is None for row in found.matrix)
    assert found.first == pytest.approx(part[:, 0].mean().item(), abs=1e-6)
    for offset in (-2, -1, 0, 1, 2):
        assert found.offsets[str(offset)] == pytest.approx(part.diagonal(offset).mean().item(), abs=1e-6)

    def flat(own):
        own = own.clone()
        own[0, slice(None) if head is None else head] = 1 / own.shape[-1]
        return own

    changed = pieces.run(batch, edits={pieces.sites[1]: flat}).logits[0, 0].softmax(-1)
    own = pieces.run(batch).logits[0, 0].softmax(-1)
    assert found.flat == pytest.approx(changed.tolist(), abs=1e-6)
    assert found.change == pytest.approx((changed - own).abs().sum().item() / 2, abs=1e-6)


def test_a_decoder_s_head_sees_no_token_after():
    found = shown_text.head(tiny("gpt2"), asked(AskedHead, text="the film was dull", layer=0, head=0))
    assert found.offsets["1"] is None
    assert found.offsets["-1"] is not None


# What cannot be asked -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("work", "request_", "sentence"),
    [
        (shown_text.look, asked(text=" \t "), "the text is empty"),
        (
            shown_text.look,
            asked(text="a " * MAX_WORDS),
            f"has {MAX_WORDS + 1} words; the page takes at most {MAX_WORDS}",
        ),
        (shown_text.look, asked(text="a film", erased=[2]), "no word 2: the text has 2 words"),
        (shown_text.look, asked(text="a film", erased=[1, 0]), "every word of the text is erased"),
        (shown_text.look, asked(text="a  film", erased=[0, 2]), "every word of the text is erased"),
        (shown_text.look, asked(text="a film", text_pair="what ?"), r"reads one text per example"),
        (shown_text.impose, asked(AskedWeights, kind="given"), "needs 12 weights, one per word, not none"),
        (shown_text.impose, asked(AskedWeights, kind="given", weights=[1.0]), "needs 12 weights, one per word, not 1"),
        (shown_text.impose, asked(AskedWeights, kind="given", text="a film", weights=[0, None]), "are 0"),
        # All there is lies on a word that is erased, or has no token, or on marks that carry no weight here.
        (shown_text.impose, asked(AskedWeights, kind="given", text="a film", weights=[0, 1], erased=[1]), "are 0"),
        (shown_text.impose, asked(AskedWeights, kind="given", text="a  film", weights=[0, 1, 0], rest=1), "are 0"),
        (shown_text.impose, asked(AskedWeights, kind="uniform", layer=0), "is not a transformer"),
        (shown_text.impose, asked(AskedWeights, kind="uniform", head=1), "no head 1: the model has 1 heads"),
        (shown_text.layers, asked(), "is not one"),
        (shown_text.head, asked(AskedHead, layer=0), "is not one"),
    ],
)
def test_one_sentence_for_each_mistake(work, request_, sentence):
    with pytest.raises((BadInput, NotSupported), match=sentence):
        work(LSTM, request_)


@pytest.mark.parametrize(
    ("work", "request_", "sentence"),
    [
        (shown_text.impose, asked(AskedWeights, text=FILM, kind="uniform", layer=3), "no layer 3: the model has 3"),
        (shown_text.impose, asked(AskedWeights, text=FILM, kind="uniform", head=4), "no head 4: the model has 4"),
        (shown_text.head, asked(AskedHead, text=FILM, layer=3), "no layer 3"),
        (shown_text.head, asked(AskedHead, text=FILM, layer=0, head=4), "no head 4"),
        (shown_text.head, asked(AskedHead, text="good " * SLOW_WORDS + "good", layer=0), "at most 120 words"),
    ],
)
def test_one_sentence_for_each_mistake_with_layers(work, request_, sentence):
    with pytest.raises(BadInput, match=sentence):
        work(BERT, request_)


def test_a_model_of_sentences_shows_words_and_moves_none():
    text = "Not so bad. The plot is thin ? Good."
    found = shown_text.look(HAN, asked(text=text))
    run = HAN.run(encoded(HAN, text), want=HAN.sites)
    of_tokens = token_weights(HAN, run)[0].tolist()
    assert sum(w or 0 for w in found.weights) == pytest.approx(sum(of_tokens), abs=1e-6)
    for work, kind, more in [
        (shown_text.impose, AskedWeights, {"kind": "uniform"}),
        (shown_text.adversary, AskedAdversary, {}),
    ]:
        with pytest.raises(NotSupported, match="attends to sentences"):
            work(HAN, asked(kind, text=text, **more))


def test_a_text_that_is_cut_off_has_words_without_weight():
    long = "good " * 100 + "film"
    found = shown_text.look(BERT, asked(text=long))
    shown = [weight is not None for weight in found.weights]
    assert shown == [True] * 62 + [False] * 39  # 64 places, two of them for [CLS] and [SEP]
    assert sum(w or 0 for w in found.weights) + found.rest == pytest.approx(1, abs=1e-5)


# What is offered ----------------------------------------------------------------------------------------------------


def test_what_is_offered_can_be_asked_and_what_is_not_says_why():
    for subject, pair, layers, heads, movable in [
        (LSTM, "no", 0, 0, True),
        (PAIR, "needed", 0, 0, True),
        (HAN, "no", 0, 0, False),
        (BERT, "possible", 3, 4, True),
    ]:
        facts = offer("m", subject)
        assert (facts.pair, facts.layers, facts.heads, facts.movable == "") == (pair, layers, heads, movable)
        assert [one.name for one in facts.explainers] == list(EXPLAINERS)
        by = [one.name for one in facts.explainers if not one.why_not][:8]
        text_pair = "a film" if pair == "needed" else None
        found = shown_text.explain(subject, asked(AskedExplanation, text="not so good", text_pair=text_pair, by=by))
        assert set(found.scores) == set(by)


def test_a_known_model_offers_texts_of_its_task():
    facts = offer("m", READER)
    assert facts.samples
    for sample in facts.samples:
        found = shown_text.look(READER, asked(text=sample.text, text_pair=sample.text_pair))
        assert found.labels[int(np.argmax(found.probabilities))] == sample.label


def test_models_without_a_heatmap_or_with_several_decisions_are_refused():
    with pytest.raises(BadInput, match="makes 3 decisions"):
        offer("m", SUBJECTS["label-wise"][0])
    with pytest.raises(BadInput, match="m is a sequence-to-sequence model"):
        offer("m", WRITERS["luong"][0])
    imposed = SUBJECTS["cnn"][0]
    recipe = Recipe(task="t@1", model={}, training={}, seed=0, loss={}, impose={"weights": "uniform"})
    before = imposed.recipe
    try:
        imposed.recipe = replace(recipe)
        with pytest.raises(BadInput, match="imposed weights"):
            offer("m", imposed)
    finally:
        imposed.recipe = before


def test_a_language_model_s_prompt_is_shown_and_keeps_its_weight():
    lm = Prompted(
        language_model(),
        tokenizer(),
        name="hf:tiny",
        prompt=PROMPT,
        labels={"negative": " dull bad", "positive": " so good"},
    )
    facts = offer("lm", lm)
    assert facts.asked["prompt"] == r"Review: {text}\nIt is"
    assert facts.asked["first token"] == "the tokenizer adds '<s>'"
    assert offer("lstm", LSTM).asked == {}
    text, site = "a dull film", lm.sites[-1]
    batch = encoded(lm, text)
    with torch.no_grad():
        plain = lm.run(batch, want=[site]).parts[site][0]
        moved = shown_text.impose(lm, asked(AskedWeights, text=text, kind="uniform"))
        rows = lm.answer_rows(batch)[0].tolist()
        edited = plain.clone()
        for row in rows:
            there = batch.scored[0]
            edited[:, row, there] = (plain[:, row, there].sum(-1) / there.sum())[:, None]
        expected = lm.run(batch, edits={site: edited[None]}).logits
    assert len(rows) == 5
    assert moved.probabilities == pytest.approx(p_of(expected), abs=1e-5)
    own = attention_of(lm, text)
    for kind in ("uniform", "permuted"):
        weights = shown_text.impose(lm, asked(AskedWeights, text=text, kind=kind)).weights
        assert sum(weights) == pytest.approx(sum(own), abs=1e-6), "the prompt keeps its weight"
    other = shown_text.adversary(lm, asked(AskedAdversary, text=text))
    assert sum(other.weights) == pytest.approx(sum(own), abs=1e-6)
    assert sum(other.weights) + other.rest == pytest.approx(1, abs=1e-6)
