"""Sets of heads that are removed together, and curves over their size."""

import numpy as np
import pytest
import torch

from heatcheck.errors import BadInput
from heatcheck.heads.pruning import Curves, greedy_order, least_first, plain_orders, prune
from heatcheck.heads.reference import read_reference
from heatcheck.heads.removal import Answers, remove_each
from heatcheck.heads.sets import remove_sets
from heatcheck.heads.ways import WAYS
from heatcheck.models import Site
from heatcheck.models.contract.edits import uniform, zero
from tiny_transformers import EXAMPLES, OTHERS, tiny

HEADS = np.argwhere(np.ones((3, 4), bool))


@pytest.mark.parametrize("family", ["albert", "llama"])
def test_a_set_of_one_head_is_that_head(family):
    subject = tiny(family)
    reference = read_reference(subject, OTHERS)
    found = remove_each(subject, EXAMPLES, reference)
    sets = np.zeros((3, 3, 4), dtype=bool)
    sets[1, 2, 3] = sets[2, 0, 1] = True
    for way in WAYS:
        together = remove_sets(subject, EXAMPLES, sets, reference, way)
        np.testing.assert_allclose(together.loss[0], found.whole.loss, atol=1e-6)
        np.testing.assert_allclose(together.loss[1], found.without[way].loss[2, 3], atol=1e-5)
        np.testing.assert_allclose(together.loss[2], found.without[way].loss[0, 1], atol=1e-5)


@pytest.mark.parametrize(("way", "part", "edit"), [("zero", "context", zero), ("uniform", "attention", uniform)])
def test_all_heads_at_once_are_every_layer_edited(way, part, edit):
    subject = tiny("bert")
    batch = subject.encode(EXAMPLES)
    with torch.no_grad():
        logits = subject.run(batch, edits={Site(part, site.where): edit for site in subject.sites}).logits
    expected = torch.nn.functional.cross_entropy(logits[:, 0], batch.gold[:, 0], reduction="none")
    reference = read_reference(subject, OTHERS)
    found = remove_sets(subject, EXAMPLES, np.ones((1, 3, 4), bool), reference, way)
    np.testing.assert_allclose(found.loss[0], expected.numpy(), atol=1e-5)


def test_curves_begin_whole_and_end_empty_in_every_order():
    subject = tiny("gpt2")
    reference = read_reference(subject, OTHERS)
    effects = remove_each(subject, EXAMPLES, reference, ["zero"]).effect("zero")
    best = least_first(effects.mean(-1))
    orders = {"effects": best, "reversed": best[::-1].copy(), **plain_orders(HEADS)}
    found = prune(subject, EXAMPLES, reference, orders, random=3, shares=(0.0, 0.25, 1.0))
    ends = [*(of.loss[-1] for of in found.of.values()), *found.random.loss[:, -1]]
    np.testing.assert_allclose(np.stack(ends), ends[0][None].repeat(7, 0), atol=1e-5)
    np.testing.assert_allclose(found.of["reversed"].loss[0], found.of["effects"].loss[0], atol=1e-6)
    assert found.random.loss.shape == (3, 3, 3)
    with pytest.raises(BadInput, match="does not name every head once"):
        prune(subject, EXAMPLES, reference, {"all": HEADS, "half": HEADS[:6]})


def test_a_greedy_order_begins_with_the_head_that_costs_least_and_names_each_once():
    subject = tiny("bert")
    reference = read_reference(subject, OTHERS)
    found = greedy_order(subject, EXAMPLES, reference, HEADS, shares=(0.0, 1 / 12, 0.5, 1.0))
    assert sorted(map(tuple, found.tolist())) == [tuple(head) for head in HEADS.tolist()]
    effects = remove_each(subject, EXAMPLES, reference, ["zero"]).effect("zero").mean(-1)
    assert found[0].tolist() == least_first(effects)[0].tolist()


@pytest.mark.parametrize(("n", "free"), [(400, 0.25), (200, 0.0)])
def test_the_numbers_of_a_curve(n, free):
    """4 heads: the first costs nothing, the second 1 answer in 200, the third half of them, the last all."""
    some = n // 200
    right = np.array([[1.0] * n, [1.0] * n, [0.0] * some + [1.0] * (n - some), [1.0, 0.0] * (n // 2), [0.0] * n])
    loss = np.array([0.0, 0.1, 0.2, 0.6, 3.0])[:, None].repeat(n, 1)
    own = Answers(loss, right, right)
    random = Answers(*(values[None].repeat(2, 0) for values in (loss, 0 * right, right)))
    curves = Curves((0.0, 0.25, 0.5, 0.75, 1.0), {"own": own}, random)
    generator = np.random.default_rng(0)
    assert curves.free_share("own", generator=generator) == free, "1 in 200 may be two points; 0 in 200 may be 1.5"
    area = curves.area("own", generator=generator)
    assert area.value == pytest.approx(0.699)
    assert area.low < 0.699 < area.high
    order = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    single = np.full((2, 2, n), 0.1)
    found = curves.interaction("own", order, single, 0.75, generator=generator)
    assert found.value == pytest.approx(2.0), "0.6 together, 0.3 one by one"
    with pytest.raises(BadInput, match="share must be one of"):
        curves.interaction("own", order, single, 0.3, generator=generator)
