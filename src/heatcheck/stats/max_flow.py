"""Exact maximum flow through a layered graph, from one node at the top to each node at the bottom.

The layers of a transformer are such a graph, with an edge as wide as the weight wherever a token attends (Abnar &
Zuidema 2020, attention flow). What fits through the nodes of each level bounds the flow, in a few products of matrices.
With one layer or two the bound is the flow. With more it mostly is, and nothing cheaper than a solver says where:
writing down a flow that fills the bound took longer than Dinic's algorithm, compiled in scipy, on whole numbers.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_flow

UNITS = 2**30  # of capacity in 1: as fine as whole numbers of 32 bits allow where nothing is wider than 1
AT_ONCE = 2**15  # edges of all graphs that the solver is given together; it is slower where they do not fit its cache

Layers = Float[np.ndarray, "layer query key"]


def max_flows(capacity: Layers, source: int) -> Float[np.ndarray, " key"]:
    """The maximum flow from `source` above the top layer to each key below the bottom layer, each on its own.

    Right to 5e-10 for each edge of the narrowest cut, which is how finely capacities are counted.

    Args:
        capacity: the bottom layer first; 0 is no edge, and none is wider than 1.

    >>> max_flows(np.array([[[0.5, 0.5], [0.1, 0.9]], [[0.6, 0.4], [0.3, 0.7]]]), source=0).round(6).tolist()
    [0.6, 0.9]
    """
    bound = flow_bounds(capacity, source)
    if len(capacity) <= 2:
        return bound
    return np.asarray(np.minimum(bound, _solved(capacity, source, bound > 0)))


def flow_bounds(capacity: Layers, source: int) -> Float[np.ndarray, " key"]:
    """What the flow to each key cannot exceed: at most 1 where rows sum to 1, and at most the key's column sum.

    Through a node flows no more than reaches it from the source, and no more than leaves it towards the sink; what
    crosses a level is at most the sum over its nodes. Tightest over all levels.
    """
    edge = (capacity > 0).astype(np.float32)  # products of booleans are slow
    tokens = capacity.shape[1]
    leads_to = [np.eye(tokens, dtype=bool)]  # [node sink], a level each
    for layer in edge[:-1]:
        leads_to.append(layer @ leads_to[-1] > 0)
    reached = np.arange(tokens) == source
    bound = capacity[-1, source] @ leads_to[-1]
    for level in range(len(capacity) - 1, 0, -1):
        comes_in = reached @ capacity[level]
        goes_out = capacity[level - 1] @ leads_to[level - 1]
        bound = np.minimum(bound, np.minimum(comes_in[:, None], goes_out).sum(0, where=leads_to[level]))
        reached = reached @ edge[level] > 0
    return np.asarray(bound)


def _solved(capacity: Layers, source: int, wanted: np.ndarray) -> Float[np.ndarray, " key"]:
    """By scipy's solver. It takes longer to call than to run, so the graphs of several sinks stand side by side."""
    layers, tokens, _ = capacity.shape
    units = np.rint(capacity * UNITS).astype(np.int32)
    units[-1, np.arange(tokens) != source] = 0  # nothing enters the other nodes at the top
    layer, above, below = np.nonzero(units)
    edges = _Edges((layer + 1) * tokens + above, layer * tokens + below, units[layer, above, below])
    found, sinks = np.zeros(tokens), np.flatnonzero(wanted)
    step = max(1, AT_ONCE // len(edges.width))
    for at in range(0, len(sinks), step):
        some = sinks[at : at + step]
        found[some] = _side_by_side(edges, (layers + 1) * tokens, layers * tokens + source, some)
    return found


class _Edges(NamedTuple):
    """The edges of a graph, by their nodes."""

    start: Int[np.ndarray, " item"]
    end: Int[np.ndarray, " item"]
    width: Int[np.ndarray, " item"]


def _side_by_side(edges: _Edges, nodes: int, source: int, sinks: Int[np.ndarray, " key"]) -> Float[np.ndarray, " key"]:
    """The maximum flow to each sink: one copy of the graph per sink, between one common source and one common sink."""
    first = np.arange(len(sinks)) * nodes  # the first node of each copy
    top, bottom = len(sinks) * nodes, len(sinks) * nodes + 1
    entry = first + source
    start = np.concatenate([(first[:, None] + edges.start).ravel(), np.full(len(sinks), top), first + sinks])
    end = np.concatenate([(first[:, None] + edges.end).ravel(), entry, np.full(len(sinks), bottom)])
    open_wide = np.full(2 * len(sinks), np.iinfo(np.int32).max, dtype=np.int32)
    width = np.concatenate([np.tile(edges.width, len(sinks)), open_wide])
    graph = csr_array(coo_array((width, (start, end)), shape=(bottom + 1, bottom + 1)))
    # Not the flow in all, which may be more than whole numbers of 32 bits can say, but what enters each copy.
    flow = maximum_flow(graph, top, bottom).flow
    entered = np.zeros(bottom + 1)
    row = slice(flow.indptr[top], flow.indptr[top + 1])
    entered[flow.indices[row]] = flow.data[row]
    return np.asarray(entered[entry] / UNITS)
