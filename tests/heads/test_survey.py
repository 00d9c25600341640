"""A survey of all heads: effects with intervals, beside where each head looks."""

import numpy as np
import pytest

from heatcheck.data import Example
from heatcheck.errors import BadInput
from heatcheck.heads.looking import Place
from heatcheck.heads.survey import choose_texts, effects_of, survey
from tiny_transformers import EXAMPLES, tiny

OTHERS = (Example("x", "a film"), Example("y", "the movie was so very fine"))


def test_every_head_has_an_effect_a_sink_and_a_pattern():
    found = survey(tiny("bert"), EXAMPLES, OTHERS)
    facts = found.facts()
    assert len(facts["heads"]) == 12
    assert facts["reference_texts"] == 2
    first = facts["heads"][5]
    assert (first["layer"], first["head"]) == (2, 2)
    assert first["sink"] == pytest.approx(first["measures"]["sink"]["value"])
    assert first["effect"]["low"] <= first["effect"]["value"] <= first["effect"]["high"]
    assert facts["uniform"]["sink"] < 1


def test_heads_that_matter_are_those_whose_removal_surely_adds_to_the_loss():
    generator = np.random.default_rng(0)
    losses = generator.normal(0, 0.01, size=(2, 3, 40))
    losses[1, 2] += 0.5
    losses[0, 1] += 0.2
    losses[0, 0] -= 0.5  # the model is better without this one
    places = [Place(layer, head) for layer in (1, 2) for head in (1, 2, 3)]
    found = effects_of(places, losses)
    assert [place for place in places if found[place].matters] == [Place(1, 2), Place(2, 3)]
    assert found[Place(2, 3)].low < 0.5 < found[Place(2, 3)].high
    permuted = effects_of(places[::-1], losses)
    assert permuted[Place(2, 3)].value == found[Place(2, 3)].value
    single = effects_of(places, losses[..., :1])
    assert not any(one.matters for one in single.values())


def test_texts_are_never_in_both_parts():
    texts = [Example(str(n), "a film") for n in range(10)]
    chosen, rest = choose_texts(texts, 4, others=3)
    assert (len(chosen), len(rest)) == (4, 3)
    assert not {one.id for one in chosen} & {one.id for one in rest}
    everything = choose_texts(texts, 64)
    assert sum(map(len, everything)) == 10
    assert all(everything)
    with pytest.raises(BadInput, match="two texts at least"):
        choose_texts(texts[:1], 4)
    with pytest.raises(BadInput, match="at least 1"):
        choose_texts(texts, 0)
