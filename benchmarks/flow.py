"""Attention flow from one token to all: networkx, sink by sink, against the bound and the compiled solver.

The published code builds one graph and runs networkx's Edmonds-Karp for each pair of tokens; networkx's own default is
several times faster and is what ours is measured against. Weights are random rows, sharp enough to look like heads; a
decoder's see only what came before, and there the bound is mostly not the flow.
"""

import time
from statistics import median
from typing import Any

import numpy as np

from heatcheck.stats.max_flow import max_flows

LAYERS, TOKENS = 12, 32
QUICK_LAYERS, QUICK_TOKENS = 3, 8
TARGET = 100
HEADS, SHARP = 12, 3.0
ALLOWED = 1e-6  # between networkx's floats and our whole numbers


def random_capacities(layers: int, tokens: int, *, causal: bool) -> np.ndarray:
    """(A + I) / 2 for weights averaged over heads; bottom layer first."""
    generator = np.random.default_rng(0)
    scores = SHARP * generator.normal(size=(layers, HEADS, tokens, tokens))
    if causal:
        scores = np.where(np.tril(np.ones((tokens, tokens), dtype=bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights.mean(1) + np.eye(tokens)) / 2


def plain(capacity: np.ndarray, source: int) -> np.ndarray:
    """What everybody writes; the graph is built once."""
    import networkx as nx

    layers, tokens, _ = capacity.shape
    graph = nx.DiGraph()
    graph.add_nodes_from((0, sink) for sink in range(tokens))
    for layer, above, below in zip(*np.nonzero(capacity), strict=True):
        graph.add_edge((layer + 1, above), (layer, below), capacity=float(capacity[layer, above, below]))
    return np.array([nx.maximum_flow_value(graph, (layers, source), (0, sink)) for sink in range(tokens)])


def measure(quick: bool = False) -> list[dict[str, Any]]:
    """A row for a model that sees both ways, and one for a decoder; `equal` says that all flows agree."""
    layers, tokens = (QUICK_LAYERS, QUICK_TOKENS) if quick else (LAYERS, TOKENS)
    rows = []
    for name, causal in (("both ways", False), ("decoder", True)):
        capacity = random_capacities(layers, tokens, causal=causal)
        source = tokens - 1 if causal else 0
        start = time.process_time()
        theirs = plain(capacity, source)
        plain_s = time.process_time() - start
        times = []
        for _ in range(1 if quick else 5):
            start = time.process_time()
            ours = max_flows(capacity, source)
            times.append(time.process_time() - start)
        furthest = float(np.abs(ours - theirs).max())
        rows.append(
            {
                "name": f"attention flow, {name}",
                "size": f"{layers} layers x {tokens}",
                "plain_s": plain_s,
                "library_s": median(times),
                "ratio": plain_s / max(median(times), 1e-9),
                "equal": furthest <= ALLOWED,
                "furthest": furthest,
                "target": TARGET,
                "threads": 1,
            }
        )
    return rows


if __name__ == "__main__":
    for row in measure():
        print(row)
