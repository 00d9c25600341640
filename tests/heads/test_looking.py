"""Where heads look: closed forms on made-up maps, and invariances on tiny transformers."""

import math

import numpy as np
import pytest
import torch

from heatcheck.data import Example
from heatcheck.errors import BadInput, NotSupported
from heatcheck.heads.looking import look, on_grid
from heatcheck.heads.measures import measure, names, of_words
from heatcheck.heads.roles import pattern_class, patterns_of, roles_of
from heatcheck.heads.scene import Scene, Stage, is_causal, word_form
from heatcheck.heads.similarity import divergences, on_plane
from heatcheck.models import load
from tiny_transformers import EXAMPLES, tiny

TOKENS = 12


def scene(tokens=TOKENS, *, causal=False, special=(), punctuation=(), segment=None, padding=0):
    """Each token is a word; those further left are rarer."""
    size = tokens + padding
    valid = torch.arange(size) < tokens
    seen = valid[None, :, None] & valid[None, None, :]
    seen = seen.tril() if causal else seen
    words = torch.diag_embed(valid.float())[None]
    rarest = torch.zeros_like(seen)
    rarest[0, :tokens, 0] = True
    return Scene(
        seen=seen,
        queries=valid[None] & (seen.sum(-1) > 1),
        special=torch.isin(torch.arange(size), torch.tensor(special, dtype=torch.long))[None],
        punctuation=torch.isin(torch.arange(size), torch.tensor(punctuation, dtype=torch.long))[None],
        segment=None if segment is None else torch.tensor(segment)[None],
        reader=torch.zeros(1, dtype=torch.long),
        words=words,
        rarest=rarest,
        candidates=seen,
    )


def value(maps, of, name):
    above, below = measure(maps, of)[0, 0, names().index(name)].tolist()
    return above / below if below else math.nan


def pointing(offset, tokens=TOKENS):
    """A map whose rows look at one offset; at the edge, at themselves."""
    place = torch.arange(tokens)
    to = place + offset
    to = torch.where((to >= 0) & (to < tokens), to, place)
    return torch.nn.functional.one_hot(to, tokens).float()[None, None]


def test_a_map_that_points_one_left_is_positional():
    maps = pointing(-1)
    assert value(maps, scene(), "mass at -1") == value(maps, scene(), "top at -1") == 1.0
    assert value(maps, scene(), "mass at +1") == value(maps, scene(), "top at -2") == 0.0
    assert value(maps, scene(), "diagonal") == 1.0
    assert value(maps, scene(), "distance") == pytest.approx(10 / 10)  # row 0 and row 1 look at the sink


def test_uniform_weights_give_the_closed_forms_that_are_the_baselines():
    of = scene(special=(0, 11), punctuation=(3,))
    assert value(of.even, of, "sink") == pytest.approx(1 / 12)
    assert value(of.even, of, "special") == pytest.approx(2 / 12)
    assert value(of.even, of, "punctuation") == pytest.approx(1 / 12)
    assert value(of.even, of, "entropy") == pytest.approx(math.log(12), abs=1e-5)
    assert value(of.even, of, "top at +2") == pytest.approx(1 / 12)  # keys that share the first place share it
    assert value(of.even, of, "rare word") == pytest.approx(1 / 12)
    assert value(of.even, of, "column") == pytest.approx(1 / 12)
    causal = scene(causal=True)
    queries = range(2, 13)  # query 0 sees itself alone and does not count
    assert value(causal.even, causal, "sink") == pytest.approx(np.mean([1 / n for n in queries]))
    assert value(causal.even, causal, "entropy") == pytest.approx(np.mean(np.log(queries)), abs=1e-5)
    assert math.isnan(value(causal.even, causal, "mass at +1"))


def test_a_sink_takes_no_part_in_distance_and_confidence():
    maps = torch.zeros(1, 1, TOKENS, TOKENS)
    maps[..., 0] = 0.9
    maps += 0.1 * pointing(-2)
    assert value(maps, scene(), "sink") > 0.9
    inside = value(maps, scene(), "distance")
    assert inside == pytest.approx(9 * 2 / 10)  # rows 3 to 11 look two back, row 1 at itself, rows 0 and 2 at the sink
    assert value(maps, scene(), "confidence") == pytest.approx(0.1 * 10 / 12)


def test_padding_changes_no_measure():
    generator = torch.Generator().manual_seed(0)
    maps = torch.rand(1, 2, TOKENS, TOKENS, generator=generator).softmax(-1)
    padded = torch.nn.functional.pad(maps, (0, 3, 0, 3), value=0.7)  # what a padded row says is anybody's guess
    padded[..., TOKENS:] = 0.0
    plain, more = (measure(one, of) for one, of in ((maps, scene()), (padded, scene(padding=3))))
    torch.testing.assert_close(plain, more)


def test_permuted_heads_permute_the_measures():
    maps = torch.rand(1, 3, TOKENS, TOKENS, generator=torch.Generator().manual_seed(1)).softmax(-1)
    order = [2, 0, 1]
    torch.testing.assert_close(measure(maps[:, order], scene()), measure(maps, scene())[:, order])
    assert not torch.allclose(measure(maps[:, order], scene()), measure(maps, scene()))


def test_words_sum_over_key_pieces_and_average_over_query_pieces():
    maps = torch.tensor([[[[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.6, 0.2, 0.2]]]])
    words = torch.tensor([[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]])  # the first word has two pieces
    found = of_words(maps, words)
    torch.testing.assert_close(found, torch.tensor([[[[0.8, 0.2], [0.8, 0.2]]]]))
    torch.testing.assert_close(found.sum(-1), torch.ones(1, 1, 2))


def test_the_pattern_classes_of_made_up_maps():
    column = torch.zeros(1, 1, 24, 24)
    column[..., 4] = 1.0
    blocks = torch.block_diag(torch.full((12, 12), 1 / 12), torch.full((12, 12), 1 / 12))[None, None]
    of = scene(24, segment=[0] * 12 + [1] * 12)
    maps = {
        "vertical": column,
        "diagonal": pointing(1, 24),
        "vertical + diagonal": (column + pointing(-1, 24)) / 2,
        "block": blocks,
        "mixed": of.even,
    }
    for wanted, one in maps.items():
        excess = value(one, of, "within segment") - value(of.even, of, "within segment")
        assert pattern_class(value(one, of, "column"), value(one, of, "diagonal"), excess) == wanted


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_batches_do_not_matter(family):
    subject = tiny(family)
    together = look(subject, EXAMPLES)
    assert together.causal == (family == "gpt2") == is_causal(subject, EXAMPLES)
    for row, example in enumerate(EXAMPLES):
        alone = look(subject, [example], frequencies={"the": 3, "film": 2, "was": 2, "very": 2})
        again = look(subject, EXAMPLES, frequencies={"the": 3, "film": 2, "was": 2, "very": 2})
        np.testing.assert_allclose(alone.sums[0, :, :-1], again.sums[row, :, :-1], rtol=1e-4, atol=1e-5)
    assert [str(place) for place in together.places[3:5]] == ["1.4", "2.1"]
    grid = on_grid(together.places, together.mean("sink"))
    assert grid.shape == (3, 4)
    assert grid[1, 0] == together.mean("sink")[4]


def test_the_tap_and_the_whole_maps_agree():
    subject = tiny("bert")
    found = look(subject, EXAMPLES)
    batch = subject.encode(EXAMPLES)
    maps = subject.run(batch, want=subject.sites).parts[subject.sites[1]].detach().double().numpy()
    length = batch.valid.sum(1).tolist()
    sinks = [maps[row, 2, :tokens, 0].sum() for row, tokens in enumerate(length)]
    assert found.mean("sink")[4 + 2] == pytest.approx(sum(sinks) / sum(length), rel=1e-5)
    ends = [maps[row, 2, :tokens, [0, tokens - 1]].sum() for row, tokens in enumerate(length)]
    assert found.mean("special")[4 + 2] == pytest.approx(sum(ends) / sum(length), rel=1e-5)


def test_a_decoder_s_first_query_does_not_count_and_no_query_sees_what_follows():
    subject = tiny("gpt2")
    found = look(subject, EXAMPLES)
    batch = subject.encode(EXAMPLES)
    maps = subject.run(batch, want=subject.sites).parts[subject.sites[0]].detach().double().numpy()
    length = batch.valid.sum(1).tolist()
    sinks = [maps[row, 1, 1:tokens, 0].sum() for row, tokens in enumerate(length)]
    assert found.mean("sink")[1] == pytest.approx(sum(sinks) / (sum(length) - 3), rel=1e-5)
    entropies = [math.log(seen) for tokens in length for seen in range(2, tokens + 1)]
    assert found.of("entropy").uniform == pytest.approx(np.mean(entropies), abs=1e-4)
    assert not found.defined("mass at +1")


def test_variability_is_0_for_equal_texts_and_not_for_different_ones():
    words = "the film was not very good but so dull fine"
    same = look(tiny("bert"), [Example("a", words), Example("b", words)])
    assert np.abs(same.mean("variability")).max() < 1e-6
    other = look(tiny("bert"), [Example("a", words), Example("b", " ".join(reversed(words.split())))])
    assert other.mean("variability").min() > 0.01


def test_rare_words_are_those_that_the_corpus_has_least():
    subject = tiny("bert")
    batch = subject.encode(EXAMPLES[:1])
    stage = Stage(subject, EXAMPLES, {"the": 9, "film": 8, "was": 7, "not": 6, "very": 1, "good": 3})
    of = stage.set_up(batch, EXAMPLES[:1])
    assert of.rarest[0, 0].tolist() == [False, False, False, False, True, False]
    assert word_form("«Film»!") == "film"


def test_roles_need_the_interval_above_the_threshold():
    found = look(tiny("bert"), EXAMPLES)
    shown = np.array(found.sums)
    column = found.measures.index("top at -1")
    shown[:, 5, column] = [[95, 100], [96, 100], [97, 100]]
    shown[:, 6, column] = [[80, 100], [99, 100], [99, 100]]
    changed = type(found)(found.places, found.examples, found.measures, shown, found.uniform, found.causal, 0)
    roles = roles_of(changed)
    assert "previous token" in [role.role for role in roles[found.places[5]]]
    assert "previous token" not in [role.role for role in roles[found.places[6]]]
    assert set(patterns_of(changed)) == set(found.places)


def test_heads_that_are_alike_are_near():
    found = divergences(tiny("bert"), EXAMPLES)
    assert found.shape == (12, 12)
    np.testing.assert_allclose(found, found.T, atol=1e-6)
    assert np.abs(np.diag(found)).max() < 1e-6
    assert 0 < found[0, 1] < math.log(2)
    points = on_plane(np.array([[0, 4, 9], [4, 0, 1], [9, 1, 0]]) / 10)  # on a line: 0, 2, 3
    apart = np.linalg.norm(points[:, None] - points, axis=-1) ** 2
    np.testing.assert_allclose(apart, np.array([[0, 4, 9], [4, 0, 1], [9, 1, 0]]) / 10, atol=1e-9)


def test_what_has_no_layers_is_refused():
    with pytest.raises(NotSupported, match="is not one"):
        look(load("known:reader@planted_keyword"), EXAMPLES)
    with pytest.raises(BadInput, match="give at least one"):
        look(tiny("bert"), [])
