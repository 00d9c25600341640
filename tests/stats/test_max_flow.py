"""Maximum flows against networkx on small graphs, bounds, and where a bound is no flow."""

import networkx as nx
import numpy as np
import pytest

from heatcheck.stats.max_flow import flow_bounds, max_flows


def graph_of(layers, tokens, *, seed=0, sharp=1.0, causal=False, residual=True):
    """Rows that sum to 1, from scores at random."""
    scores = sharp * np.random.default_rng(seed).normal(size=(layers, tokens, tokens))
    if causal:
        scores = np.where(np.tril(np.ones((tokens, tokens), dtype=bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights + np.eye(tokens)) / 2 if residual else weights


def by_networkx(capacity, source):
    layers, tokens, _ = capacity.shape
    graph = nx.DiGraph()
    graph.add_nodes_from([(layers, source), *((0, sink) for sink in range(tokens))])
    for layer, above, below in zip(*np.nonzero(capacity), strict=True):
        graph.add_edge((layer + 1, above), (layer, below), capacity=float(capacity[layer, above, below]))
    return np.array([nx.maximum_flow_value(graph, (layers, source), (0, sink)) for sink in range(tokens)])


@pytest.mark.parametrize("layers", [1, 2, 3, 5])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sharp", [0.5, 5.0])
def test_networkx_says_the_same(layers, causal, sharp):
    for residual in (True, False):
        capacity = graph_of(layers, 6, seed=layers, sharp=sharp, causal=causal, residual=residual)
        for source in (0, 3, 5):
            assert np.allclose(max_flows(capacity, source), by_networkx(capacity, source), rtol=0, atol=1e-8)


def test_a_missing_edge_is_no_pipe():
    capacity = graph_of(4, 6, seed=1)
    capacity[np.random.default_rng(0).random(capacity.shape) < 0.7] = 0.0
    found = max_flows(capacity, 2)
    assert np.allclose(found, by_networkx(capacity, 2), atol=1e-8)
    assert (found == 0).any()
    assert (found > 0).any()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("layers", [1, 2, 3, 6])
def test_no_flow_is_larger_than_the_bound_nor_than_one_nor_than_its_column(layers, causal):
    capacity = graph_of(layers, 12, seed=layers, sharp=4.0, causal=causal)
    for source in (0, 11):
        found, bound = max_flows(capacity, source), flow_bounds(capacity, source)
        assert (found <= bound).all()
        assert (bound <= np.minimum(1.0, capacity[0].sum(0)) + 1e-12).all()
        if layers == 1:
            assert np.allclose(found, capacity[0, source])


def test_the_bound_is_the_flow_in_a_deep_graph_that_sees_both_ways_and_not_in_every_graph():
    deep = graph_of(12, 16, sharp=3.0)
    assert np.allclose(max_flows(deep, 0), np.minimum(1.0, deep[0].sum(0)), atol=1e-7)
    assert np.allclose(max_flows(deep, 0), max_flows(deep, 9), atol=1e-7)  # whoever asks
    one_way = graph_of(4, 16, sharp=3.0, causal=True)
    assert (max_flows(one_way, 15) < flow_bounds(one_way, 15) - 0.01).any()


def test_a_chain_is_as_wide_as_its_narrowest_link():
    capacity = np.stack([np.diag([0.9, 0.8]), np.diag([0.4, 0.7]), np.diag([0.6, 0.5])])
    assert np.allclose(max_flows(capacity, 0), [0.4, 0.0])
    assert np.allclose(max_flows(capacity, 1), [0.0, 0.5])
