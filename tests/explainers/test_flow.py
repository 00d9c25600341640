"""Flow in a transformer against networkx, and against rollout where they must be the same."""

import networkx as nx
import numpy as np
import pytest

from heatcheck.explainers.flow import flow, shares_of_flow
from heatcheck.explainers.layers import mean_attention
from heatcheck.explainers.rollout import roll_out, rollout, with_residual
from heatcheck.stats.max_flow import max_flows
from tiny_transformers import CONFIGS, EXAMPLES, make

ALL = {family: make(family, sharp=12.0) for family in ("bert", "gpt2", "llama")}


def capacities(subject, example):
    return with_residual(mean_attention(subject, subject.encode([example]))[1])[0].numpy()


def by_networkx(capacity, source):
    layers, tokens, _ = capacity.shape
    graph = nx.DiGraph()
    graph.add_nodes_from([(layers, source), *((0, sink) for sink in range(tokens))])
    for layer, above, below in zip(*np.nonzero(capacity), strict=True):
        graph.add_edge((layer + 1, above), (layer, below), capacity=float(capacity[layer, above, below]))
    return np.array([nx.maximum_flow_value(graph, (layers, source), (0, sink)) for sink in range(tokens)])


@pytest.mark.parametrize("family", ALL)
def test_scores_are_the_read_out_s_maximum_flows_as_shares(family):
    subject = ALL[family]
    found = flow.explain(subject, EXAMPLES, 0)
    for scores, example in zip(found, EXAMPLES, strict=True):
        capacity = capacities(subject, example)
        flows = by_networkx(capacity, 0 if family == "bert" else len(capacity[0]) - 1)
        shares = flows / flows.sum()
        assert np.allclose(scores, shares[1:-1] if family == "bert" else shares, atol=1e-6)


@pytest.mark.parametrize("family", ALL)
def test_no_flow_exceeds_one_or_what_enters_its_word(family):
    for example in EXAMPLES:
        capacity = capacities(ALL[family], example)
        for source in range(len(capacity[0])):
            assert (max_flows(capacity, source) <= np.minimum(1.0, capacity[0].sum(0)) + 1e-9).all()


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_with_one_layer_flow_is_rollout(family, monkeypatch):
    one = CONFIGS[family]()
    one.num_hidden_layers = 1
    monkeypatch.setitem(CONFIGS, family, lambda: one)
    subject = make(family, sharp=12.0)
    assert len(subject.sites) == 1
    for a, b in zip(flow.explain(subject, EXAMPLES, 0), rollout.explain(subject, EXAMPLES, 0), strict=True):
        assert np.allclose(a, b, atol=1e-8)
    for a, b in zip(flow.explain(ALL[family], EXAMPLES, 0), rollout.explain(ALL[family], EXAMPLES, 0), strict=True):
        assert not np.allclose(a, b, atol=1e-3)


def test_rollout_is_one_flow_to_all_words_at_once():
    """So no rollout is larger than the flow to that word alone."""
    subject = ALL["bert"]
    attention = mean_attention(subject, subject.encode([EXAMPLES[2]]))[1]
    capacity, rolled = with_residual(attention)[0].numpy(), roll_out(attention)[0, -1].numpy()
    for source in range(len(rolled)):
        flows = max_flows(capacity, source)
        assert (rolled[source] <= flows + 1e-9).all()
        assert flows.sum() > 1.0
        assert np.allclose(shares_of_flow(capacity, source), flows / flows.sum())
