"""Exact maximum flow through a layered graph, from one node at the top to each node at the bottom.

The layers of a transformer are such a graph, with an edge as wide as the weight wherever a token attends (Abnar &
Zuidema 2020, attention flow). What fits through the nodes of each level bounds the flow, in a few products of matrices.
With one layer or two the bound is the flow. With more it mostly is, and nothing cheaper than a solver says where:
writing down a flow that fills the bound took longer than Dinic's algorithm, compiled in scipy, on whole numbers.
"""

import numpy as np
from jaxtyping import Float
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_flow

UNITS = 2**30  # of capacity in 1: as fine as whole numbers of 32 bits allow where nothing is wider than 1

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
    """By scipy's solver: one graph, and a run of the solver for each wanted sink."""
    layers, tokens, _ = capacity.shape
    units = np.rint(capacity * UNITS).astype(np.int32)
    units[-1, np.arange(tokens) != source] = 0  # nothing enters the other nodes at the top
    layer, above, below = np.nonzero(units)
    edges = (layer + 1) * tokens + above, layer * tokens + below
    nodes = (layers + 1) * tokens
    graph = csr_array(coo_array((units[layer, above, below], edges), shape=(nodes, nodes)))
    found = np.zeros(tokens)
    for sink in np.flatnonzero(wanted).tolist():
        found[sink] = maximum_flow(graph, layers * tokens + source, sink).flow_value / UNITS
    return found
