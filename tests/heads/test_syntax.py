"""Syntactic roles: maps whose scores are known, and a treebank that is counted."""

import gzip
import json

import numpy as np
import pytest
import torch

import tiny_language_models
from heatcheck.data.treebank import Sentence, load_treebank
from heatcheck.errors import BadInput
from heatcheck.heads.looking import Place
from heatcheck.heads.parsed import (
    SHARED,
    Guesses,
    aligned,
    bucket_of,
    by_offset,
    guess,
    pairs_at,
    read_heads,
    twin_guesses,
)
from heatcheck.heads.syntax import gold_of, score_syntax
from heatcheck.heads.untrained import untrained
from heatcheck.models.hf.next_token import NextToken
from made_up_treebank import TEST, TRAIN, arcs, one_left
from tiny_transformers import make, tiny


def of_maps(sentences, maps_of, *, causal=False, padding=0):
    """What heads with these maps guess: `maps_of(sentence)` is [head word word]."""
    width = max(len(sentence.words) for sentence in sentences) + padding
    guesses, sums = [], 0.0
    pairs = torch.zeros(4, 129, dtype=torch.float64)
    for sentence in sentences:
        maps, spare = maps_of(sentence), width - len(sentence.words)
        real = torch.arange(width)[None] < len(sentence.words)
        whole = torch.nn.functional.pad(maps, (0, spare, 0, spare))[None]
        guesses.append(guess(whole, real, causal)[0].numpy())
        here = torch.zeros(len(maps), 4, 129, dtype=torch.float64)
        here[:, bucket_of(len(sentence.words))] = by_offset(whole, real)[0].double()
        sums = sums + here
        pairs[bucket_of(len(sentence.words))] += pairs_at(len(sentence.words), causal)
    places = tuple(Place(1, head + 1) for head in range(len(maps)))
    return Guesses(np.stack(guesses), sums.numpy(), pairs.numpy(), causal, places)


def three_heads(sentence):
    generator = torch.Generator().manual_seed(len(sentence.words))
    noise = torch.rand(len(sentence.words), len(sentence.words), generator=generator).softmax(-1)
    return torch.stack([noise, arcs(sentence), one_left(sentence)])


def scored(maps_of, **options):
    train, test = (of_maps(sentences, maps_of, **options) for sentences in (TRAIN, TEST))
    noise = of_maps(TEST, lambda sentence: three_heads(sentence)[:1])
    return score_syntax((train, gold_of(TRAIN)), (test, gold_of(TEST)), [noise], draws=200)


def test_a_map_of_gold_arcs_scores_1_and_one_that_points_left_has_no_excess_over_its_twin():
    found = scored(three_heads)
    best = [one for one in found.found if one.direction == "from the dependent"]
    assert {one.relation for one in best} == {"all", "obj", "det"}
    for one in best:
        assert one.place == Place(1, 2)
        assert one.score.value == 1.0
        assert max(one.best_offset, one.offset_twin, one.untrained, one.other_tree) < 0.6
        assert one.coverage == 1.0
    assert {role.place for role in found.roles if role.direction == "from the dependent"} == {Place(1, 2)}
    left = scored(lambda sentence: one_left(sentence)[None])
    assert left.roles == ()
    for one in left.found:
        assert one.score.value == pytest.approx(one.offset_twin)


def test_the_transposed_map_is_read_from_the_head():
    found = scored(lambda sentence: three_heads(sentence).transpose(-1, -2))
    assert all(one.score.value == 1.0 for one in found.found if one.direction == "from the head")


def test_permuted_heads_and_padding_change_no_score():
    plain, padded = scored(three_heads), scored(three_heads, padding=4)
    permuted = scored(lambda sentence: three_heads(sentence)[[1, 2, 0]])
    for one, other, third in zip(plain.found, padded.found, permuted.found, strict=True):
        assert one[:3] == other[:3]
        numbers = ([*each.score, *each[4:]] for each in (one, other))
        assert next(numbers) == pytest.approx(next(numbers), nan_ok=True)
        assert tuple(third.score) == pytest.approx(tuple(one.score), nan_ok=True)
    assert {one.place for one in permuted.found if one.direction == "from the dependent"} == {Place(1, 1)}


def test_a_decoder_is_asked_about_what_it_sees():
    found = scored(lambda sentence: three_heads(sentence).tril(), causal=True)
    for one in found.found:
        assert 0 < one.coverage < 1
    ahead, behind = (
        sum(one.arcs for one in found.found if one.direction == way) for way in ("from the dependent", "from the head")
    )
    assert ahead + behind == sum(one.arcs for one in scored(three_heads).found if one.direction == "from the dependent")
    assert all(one.score.value == 1.0 for one in found.found if one.direction == "from the dependent")


def test_a_decoder_s_guess_is_never_a_word_that_it_cannot_see():
    maps = torch.tensor([[[[0.1, 0.8, 0.1], [0.2, 0.1, 0.7], [0.3, 0.2, 0.5]]]])
    found = guess(maps, torch.ones(1, 3, dtype=torch.bool), causal=True)[0, 0]
    assert found[:, 0].tolist() == [-1, 0, 0]  # the first word sees no other
    assert found[:, 1].tolist() == [2, 2, -1]


def test_the_offset_twin_is_the_head_s_own_mean_by_offset():
    generator = torch.Generator().manual_seed(0)
    maps = torch.rand(1, 5, 5, generator=generator)
    sentence = Sentence("a", tuple("abcde"), (1, -1, 1, 1, 1), ("x",) * 5, (True,) * 5)
    learned = of_maps([sentence], lambda _: maps)
    mean = {o: float(maps[0].diagonal(o).mean()) for o in range(-4, 5)}
    wanted = [max((to for to in range(5) if to != at), key=lambda to, at=at: mean[to - at]) for at in range(5)]
    assert twin_guesses(learned, [5], 5)[0, 0, :, 0].tolist() == wanted


def test_a_model_s_guesses_do_not_depend_on_the_batch():
    subject = tiny("bert")
    kept, excluded = aligned(subject, TEST[:6])
    assert len(kept) == 6
    assert excluded == {}
    together = read_heads(subject, kept)
    assert together.heads.shape[1] == 12
    for row, sentence in enumerate(kept):
        alone = read_heads(subject, [sentence]).heads[0]
        assert (alone == together.heads[row][:, : alone.shape[1]]).all()
    total = sum(read_heads(subject, [sentence]).sums for sentence in kept)
    np.testing.assert_allclose(together.sums, total, rtol=1e-4, atol=1e-5)


def test_a_sentence_whose_words_share_a_piece_is_left_out():
    joined = Sentence("joined", ("go", "od", "film"), (2, 2, -1), ("x", "x", "root"), (False, True, False))
    assert aligned(tiny("bert"), [joined, TEST[0]]) == ([TEST[0]], {"joined": SHARED})
    subject = NextToken(tiny_language_models.network(), tiny_language_models.tokenizer(), name="tiny")
    across = Sentence("across", ("x d", "ull"), (1, -1), ("x", "root"), (False, True))  # each ends with a piece
    apart = Sentence("apart", ("x", "dull"), (1, -1), ("x", "root"), (True, True))
    assert aligned(subject, [across, apart]) == ([apart], {"across": SHARED})


def test_an_untrained_twin_is_another_model_and_leaves_this_one_alone():
    subject = make("bert")
    before = {name: value.clone() for name, value in subject.network.state_dict().items()}
    first, again, other = (read_heads(untrained(subject, seed), TEST[:4]) for seed in (0, 0, 1))
    assert (first.heads == again.heads).all()
    assert (first.heads != other.heads).any()
    assert (first.heads != read_heads(subject, TEST[:4]).heads).any()
    assert all(torch.equal(value, before[name]) for name, value in subject.network.state_dict().items())


def test_the_treebank_s_file_is_counted(tmp_path):
    rows = [
        {
            "id": "a",
            "split": "test",
            "tokens": ["Do", "n't"],
            "head": [0, 1],
            "deprel": ["root", "advmod"],
            "space_after": [0, 1],
        },
        {"id": "b", "split": "test", "tokens": ["Go"], "head": [0], "deprel": ["root"], "space_after": [1]},
        {
            "id": "c",
            "split": "dev",
            "tokens": ["Go", "on"],
            "head": [0, 1],
            "deprel": ["root", "prt"],
            "space_after": [1, 1],
        },
    ]
    path = tmp_path / "ud_ewt_devtest.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    found = load_treebank("test", tmp_path)
    assert [sentence.text for sentence in found.sentences] == ["Don't"]
    assert found.dropped == {"it has a single word": 1}
    assert found.sentences[0].head == (-1, 0)
    with pytest.raises(BadInput, match="is missing: copy it"):
        load_treebank("train", tmp_path)
    with pytest.raises(BadInput, match="not 'all'"):
        load_treebank("all", tmp_path)
    rows[0]["head"] = [0, 7]
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    with pytest.raises(BadInput, match="outside its sentence"):
        load_treebank("test", tmp_path)


def test_too_few_arcs_are_said():
    train = of_maps(TRAIN[:2], three_heads)
    with pytest.raises(BadInput, match="Give more sentences"):
        score_syntax((train, gold_of(TRAIN[:2])), (train, gold_of(TRAIN[:2])), [])
