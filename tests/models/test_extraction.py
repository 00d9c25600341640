"""Extraction: which words are chosen, and that a model reads nothing else."""

import numpy as np
import pytest
import torch

from heatcheck.data import Example, build_vocabulary, texts_of
from heatcheck.errors import BadInput, NotSupported, UnknownName
from heatcheck.explainers import explain_one
from heatcheck.models import Chooser, ClassifierSettings, Erases, Extraction, Site, extracting, make_classifier
from heatcheck.models.classifiers.saliency import word_saliency
from heatcheck.models.contract.extraction import BY_MODEL
from heatcheck.models.contract.parts import readable_keys

TEXTS = (
    "a film that is not so bad after all , isn't it",
    "dull",
    "the plot is thin but the acting is very good indeed",
    "good good bad",
    "the plot , the plot , the plot .",
)


def marked(text, places):
    return {"rationale": tuple(place in places for place in range(len(text.split(" "))))}


EXAMPLES = tuple(Example(f"e{n}", text, label=n % 2, marks=marked(text, {0, 3})) for n, text in enumerate(TEXTS))


def classifier(seed=0, labels=("no", "yes"), **settings):
    vocabulary = build_vocabulary(texts_of(EXAMPLES))
    torch.manual_seed(seed)
    small = ClassifierSettings(embedding=8, hidden=8, embedding_scale=1.0, **settings)
    return make_classifier(vocabulary, labels, small).eval()


SUPPORT = classifier(1)


def extracted(reader=None, **facts):
    extraction = Extraction(**{"parent": "p" if facts.get("by", "attention") in BY_MODEL else None, **facts})
    reader = reader or classifier()
    return extracting(reader, Chooser(extraction, reader.vocabulary.rule, SUPPORT))


def places_read(subject, examples=EXAMPLES):
    batch = subject.encode(examples)
    read = subject.readable(batch)
    return [sorted(set(word[some].tolist())) for word, some in zip(batch.word, read, strict=True)]


@pytest.mark.parametrize("how", ["top_k", "window"])
def test_the_words_of_the_highest_sum_are_chosen(how):
    """By brute force over all windows, and over all sets through their sum; k is the share rounded up."""
    chosen = places_read(extracted(share=0.3, how=how))
    for example, scores, places in zip(EXAMPLES, word_saliency(SUPPORT, EXAMPLES, "attention"), chosen, strict=True):
        words = len(example.words)
        size = -(-3 * words // 10)
        assert len(places) == size
        if how == "window":
            sums = [scores[start : start + size].sum() for start in range(words - size + 1)]
            assert places == list(range(places[0], places[0] + size))
        else:
            sums = [np.sort(scores[:words])[-size:].sum()]
        assert scores[places].sum() == pytest.approx(max(sums))


def test_the_share_is_rounded_up_where_a_product_is_a_little_too_large():
    assert [Extraction("random", 0.2).size(words) for words in (1, 5, 6)] == [1, 1, 2]
    assert 0.28 * 25 > 7
    assert Extraction("random", 0.28).size(25) == 7


def test_what_has_no_token_is_no_word():
    """Neither between two spaces nor after the end of a text, however equal all scores are."""
    texts = [Example(f"t{n}", text, label=0) for n in range(20) for text in ("a  b  c", "a b c d e f")]
    for how in ("top_k", "window"):
        chosen = Extraction("attention", 0.5, how, parent="p").choose(
            texts, "words", lambda some: np.zeros((len(some), 6))
        )
        assert {len(places) for places in chosen[::2]} == {2}, "half of three"
        assert {place for places in chosen[::2] for place in places} == {0, 2, 4}
        assert {len(places) for places in chosen[1::2]} == {3}


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("by", ["attention", "gradient", "gradient_through", "leave_one_out"])
def test_a_saliency_is_the_explainer_of_that_name(by, labels):
    """Up to a factor per text; also where gradients are switched off around it. Of two labels either ranks alike."""
    support = classifier(1, labels=("no", "yes", "perhaps")[:labels])
    with torch.inference_mode():
        found = word_saliency(support, EXAMPLES, by)
    scores = explain_one(support, EXAMPLES, by, seed=0)
    for row in range(len(EXAMPLES)):
        own, theirs = found[row][scores.valid[row]], scores.sizes()[row][scores.valid[row]]
        if len(own):
            assert own.sum() > 0
            np.testing.assert_allclose(own / own.sum(), theirs / theirs.sum(), rtol=1e-4, atol=1e-6)


def test_no_dropout_while_words_are_chosen():
    """Also while the model that reads them is trained."""
    support, reader = classifier(1, dropout=0.5), classifier()
    extracting(reader, Chooser(Extraction(parent="p"), reader.vocabulary.rule, support)).train()
    for by in ("attention", "gradient_through"):
        assert (word_saliency(support, EXAMPLES, by) == word_saliency(SUPPORT, EXAMPLES, by)).all()


def test_equal_words_are_chosen_at_random_and_by_the_example_alone():
    extraction = Extraction("attention", 0.25, parent="p")
    many = [Example(f"m{n}", "a b c d", label=0) for n in range(200)]
    chosen = extraction.choose(many, "words", lambda some: np.ones((len(some), 4)))
    assert {places for (places,) in chosen} == {0, 1, 2, 3}
    assert extraction.choose(many[::-1], "words", lambda some: np.ones((len(some), 4))) == chosen[::-1]
    rounded = 1 + 1e-13 * np.arange(4)
    assert extraction.choose(many, "words", lambda some: np.tile(rounded, (len(some), 1))) == chosen


def test_random_words_depend_on_seed_and_example():
    many = [Example(f"m{n}", " ".join("abcdefghij"), label=0) for n in range(50)]
    one, other = (Extraction("random", 0.3, seed=seed).choose(many, "words") for seed in (0, 1))
    assert one != other
    assert len(set(one)) > 20
    assert one == Extraction("random", 0.3, seed=0).choose(many, "words")


def test_a_random_window_stands_anywhere():
    """At an end of a text as often as in its middle."""
    many = [Example(f"m{n}", "a b c d e", label=0) for n in range(2000)]
    starts = [places[0] for places in Extraction("random", 0.4, "window").choose(many, "words")]
    assert np.bincount(starts) / len(many) == pytest.approx(0.25, abs=0.025)


def test_nothing_else_reaches_the_model():
    """With other words in place of all that people did not mark, every logit is the same, bit for bit."""
    subject = extracted(by="human")
    others = [
        one.but(text=" ".join(w if m else "plot" for w, m in zip(one.words, one.marks["rationale"], strict=True)))
        for one in EXAMPLES
    ]
    own, changed = (subject.run(subject.encode(texts)).logits for texts in (EXAMPLES, others))
    assert torch.equal(own, changed)
    assert not torch.equal(own, classifier().run(classifier().encode(EXAMPLES)).logits)
    moved = [one.but(text="plot " + one.text.partition(" ")[2]) for one in EXAMPLES[:1]]
    assert not torch.equal(own[:1], subject.run(subject.encode(moved)).logits)


@pytest.mark.parametrize("encoder", ["average", "cnn", "lstm"])
@pytest.mark.parametrize("reads", ["chosen", "rest", "pattern"])
def test_the_heatmap_covers_the_text_and_is_0_where_nothing_is_read(encoder, reads):
    subject = extracted(classifier(encoder=encoder), share=0.4, reads=reads)
    batch = subject.encode(EXAMPLES)
    weights = subject.run(batch, want=subject.sites).parts[Site("attention")][:, 0, 0]
    read = readable_keys(subject, batch)
    assert torch.allclose(weights.sum(1), torch.ones(len(EXAMPLES)))
    assert bool((weights[~read] == 0).all())
    assert bool((weights[read] > 0).all())
    for row, example in enumerate(EXAMPLES):
        assert set(batch.word[row].tolist()) - {-1} == set(range(len(example.words)))
        size = -(-2 * len(example.words) // 5)
        words = {"chosen": size, "rest": max(1, len(example.words) - size), "pattern": len(example.words)}
        assert len(set(batch.word[row][read[row]].tolist())) == words[reads]
    relevance = subject.response(batch).relevance
    assert bool((relevance[:, 0][batch.scored & ~read] == 0).all())
    scores = explain_one(subject, EXAMPLES, "attention", seed=0)
    assert scores.valid.sum(1).tolist() == [len(example.words) for example in EXAMPLES]


def test_a_text_reads_the_same_alone_and_among_others():
    subject = extracted(share=0.3)
    together = subject.run(subject.encode(EXAMPLES)).logits
    for row, example in enumerate(EXAMPLES):
        alone = subject.run(subject.encode([example])).logits[0]
        assert torch.allclose(alone, together[row], atol=1e-6)


def test_a_removed_word_is_a_new_text_to_extract_from():
    subject = extracted(share=0.2)
    assert isinstance(SUPPORT, Erases)
    assert not isinstance(subject, Erases)


def test_a_pattern_has_no_word_of_the_text():
    found = Extraction("random", reads="pattern").extract(EXAMPLES[3], (1,), "words")
    assert (found.example.text, found.places, found.unread) == ("left kept left", (0, 1, 2), ())


def test_the_rest_of_a_text_of_one_word_is_a_masked_word():
    found = Extraction("random", reads="rest").extract(EXAMPLES[1], (0,), "words")
    assert (found.example.text, found.places) == ("<unk>", (0,))


def test_a_masked_word_stays_masked():
    masked = EXAMPLES[3].but(masked=(1,), marks={})
    assert Extraction("random").extract(masked, (0, 1), "words").example.text == "good <unk>"


def test_no_text_is_lost_silently():
    empty = EXAMPLES[0].but(marks=marked(TEXTS[0], set()))
    with pytest.raises(BadInput, match="e0 has an empty rationale"):
        extracted(by="human").encode([empty])
    with pytest.raises(NotSupported, match="e0 has no marks"):
        extracted(by="human").encode([EXAMPLES[0].but(marks={})])


@pytest.mark.parametrize(
    ("facts", "error", "said"),
    [
        ({"by": "atention"}, UnknownName, "did you mean 'attention'"),
        ({"by": "random", "how": "best"}, UnknownName, "form of a rationale"),
        ({"by": "random", "reads": "all"}, UnknownName, "part that"),
        ({"by": "random", "share": 0.0}, BadInput, "above 0 and at most 1, not 0.0"),
        ({"by": "attention"}, BadInput, "needs a model that chooses"),
        ({"by": "random", "parent": "p"}, BadInput, "needs no model"),
    ],
)
def test_wrong_settings_are_sentences(facts, error, said):
    with pytest.raises(error, match=said):
        Extraction(**facts)
