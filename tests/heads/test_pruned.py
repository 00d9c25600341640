"""Orders of removal as an experiment, one head per layer, and learned gates beside sets of as many heads."""

import numpy as np
import pytest

from heatcheck.errors import BadInput
from heatcheck.heads import frontier, pruned
from heatcheck.heads.frontier import as_many, learn_frontier
from heatcheck.heads.gates import GateSettings
from heatcheck.heads.pruned import Singles, find_orders, leave_one, remove_singly, try_orders
from heatcheck.heads.pruning import Curves, least_first
from heatcheck.heads.removal import Answers
from heatcheck.heads.sets import remove_sets
from tiny_transformers import EXAMPLES, OTHERS, tiny


@pytest.fixture(scope="module")
def subject():
    return tiny("bert")


@pytest.fixture(scope="module")
def singles(subject):
    return remove_singly(subject, OTHERS)


@pytest.fixture(scope="module")
def orders(subject, singles):
    return find_orders(subject, OTHERS, singles)


def without(*heads):
    gone = np.zeros((3, 4), dtype=bool)
    gone[tuple(np.array(heads).T)] = True
    return gone


def test_single_removals_are_counted_by_direction(subject, singles):
    one = remove_sets(subject, OTHERS, np.stack([without((1, 2)), np.zeros((3, 4), bool)]), None)
    np.testing.assert_allclose(singles.right[1, 2], one.right[0] - one.right[1])
    np.testing.assert_allclose(singles.loss[1, 2], one.loss[0] - one.loss[1], atol=1e-6)
    sure = np.array([1.0, 1.1, 0.9, 1.0])
    open_, absent = np.array([1.0, -1.0, 2.0, -2.0]), np.full(4, np.nan)
    loss, right = np.stack([[sure, sure, -sure, absent]]), np.stack([[-sure, open_, -sure, absent]])
    found = Singles(loss, right, loss, np.ones(4)).counts()
    counted = {"loss worse": 2, "loss better": 1, "accuracy worse": 2, "accuracy better": 0}
    assert found == {"heads": 3, **counted}


def test_orders_are_those_of_the_examples_they_are_found_on(subject, singles, orders):
    assert orders["loss added"].tolist() == least_first(singles.loss.mean(-1)).tolist()
    assert orders["loss added, reversed"].tolist() == orders["loss added"][::-1].tolist()
    assert orders["answers moved"].tolist() == least_first(singles.moved.mean(-1)).tolist()
    assert "greedy" not in orders
    assert len(find_orders(subject, OTHERS[:3], singles, greedy=1)["greedy"]) == 12


def test_curves_begin_with_all_heads_and_end_with_none(subject, singles, orders):
    orders = {"bottom up": orders["bottom up"]}
    found = try_orders(subject, OTHERS, orders, singles, random=3, shares=(0.0, 0.5, 1.0))
    none = remove_sets(subject, OTHERS, np.ones((1, 3, 4), bool), None)
    whole = float(singles.whole.mean())
    lines = [found["bottom up"]["accuracy"], found["random"]["accuracy"], *found["random"]["band"]]
    assert all(line[0] == pytest.approx(whole) and line[2] == pytest.approx(none.right.mean()) for line in lines)
    assert found["random"]["orders"] == 3
    half = remove_sets(subject, OTHERS, without(*orders["bottom up"][:6].tolist())[None], None)
    assert found["bottom up"]["accuracy"][1] == pytest.approx(half.right.mean())


def test_the_band_holds_most_random_orders(subject, singles, orders, monkeypatch):
    right = np.tile(np.linspace(0, 1, 41)[:, None, None], (1, 2, len(OTHERS)))  # [draw share example]
    random, own = (Answers(values, values, values) for values in (right, right[20]))
    curves = Curves((0.0, 0.5), {"own": own}, random)
    monkeypatch.setattr(pruned, "prune", lambda *_, **__: curves)
    found = try_orders(subject, OTHERS, {"own": orders["bottom up"]}, singles, shares=(0.0, 0.5))["random"]
    assert found["band"] == [pytest.approx([0.025, 0.025]), pytest.approx([0.975, 0.975])]
    assert found["accuracy"] == pytest.approx([0.5, 0.5])


def test_the_head_that_is_left_is_the_best_alone_and_is_tried_on_other_examples(subject):
    found = leave_one(subject, OTHERS, EXAMPLES)
    for layer in range(3):
        sets = np.stack([without(*((layer, other) for other in range(4) if other != head)) for head in range(4)])
        assert found.heads[layer] == remove_sets(subject, OTHERS, sets, None).loss.mean(-1).argmin()
        right = remove_sets(subject, EXAMPLES, sets[found.heads[layer]][None], None).right
        assert found.by_layer[layer].value == pytest.approx(right.mean())
    everywhere = without(*((layer, h) for layer in range(3) for h in range(4) if h != found.heads[layer]))
    right = remove_sets(subject, EXAMPLES, everywhere[None], None).right
    assert found.everywhere.value == pytest.approx(right.mean())
    with pytest.raises(BadInput, match="example b has no label"):
        leave_one(subject, OTHERS, [EXAMPLES[0], EXAMPLES[1].but(label=None)])


def test_every_penalty_and_seed_has_a_point(subject):
    told = []
    short = GateSettings(steps=2, batch_size=4)
    points = learn_frontier(
        subject, OTHERS, EXAMPLES, penalties=(0.0, 50.0), seeds=2, settings=short, progress=told.append
    )
    places = [(point.weights, point.penalty, point.seed) for point in points]
    assert places == [(w, p, s) for w in (False, True) for p in (0.0, 50.0) for s in (0, 1)]
    assert told == points
    facts = points[0].facts()
    assert (facts["kept"], len(facts["heads"])) == (12, 12), "without a penalty two steps close no gate"


def test_as_many_heads_are_the_last_of_an_order(subject, singles, monkeypatch):
    order = least_first(singles.loss.mean(-1))
    worth = np.zeros((3, 4))
    worth[tuple(order.T)] = 2.0 ** np.arange(12)  # what is left says which heads these are

    def told(_subject, _examples, sets, _reference):
        left = (~sets * worth).sum((1, 2))[:, None]
        return Answers(left, left, left)

    monkeypatch.setattr(frontier, "remove_sets", told)
    found = as_many(subject, EXAMPLES, [5, 0, 12, 5], {"own": order}, random=2)
    assert found["own"] == [2.0**12 - 2.0**7, 0.0, 2.0**12 - 1, 2.0**12 - 2.0**7]
    assert found["random"][1:3] == [0.0, 2.0**12 - 1]
    assert 0 < found["random"][0] < found["own"][0], "these are the heads that are worth most"
