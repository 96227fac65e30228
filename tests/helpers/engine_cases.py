"""Graphs for the compiled search engine, and what it claims recounted in plain Python."""

import numpy as np
from hypothesis import strategies as st

from hopbytes.engine.control import RunControl
from hopbytes.engine.partition import RefinementSettings, partition_many, refine_placement
from hopbytes.engine.problem import PartitionSettings, SearchProblem, SearchSettings, VertexGroups
from hopbytes.engine.slots import SwapSettings, swap_refine
from hopbytes.kernels.base import optional
from hopbytes.kernels.records import Csr, Distances
from hopbytes.machines.distances import TreeDistance
from hopbytes.model.comm_graph import CommGraph

FLOWS_ONLY = SearchSettings(rounds=0, flow_rounds=1, flow_width=1000)


def edges(n, pairs, weights=None):
    """Symmetric graph of edges, each given once or more; parallel ones merge, loops vanish."""
    merged = {}
    for place, (i, j) in enumerate(pairs):
        if i != j:
            key = (min(i, j), max(i, j))
            merged[key] = merged.get(key, 0) + (1 if weights is None else int(weights[place]))
    kept = [(i, j, w) for (i, j), w in merged.items() if w > 0]
    arcs = [*kept, *((j, i, w) for i, j, w in kept)]
    sources, targets, weight = np.array(arcs, np.int64).reshape(-1, 3).T
    graph = CommGraph.from_edges(sources, targets, weight, n=n)
    return Csr(graph.indptr, graph.targets, graph.volumes)


def random_csr(rng, n, per_task=3, heaviest=9):
    """About `per_task` random edges per task with weights 1..heaviest."""
    count = per_task * n
    pairs = rng.integers(0, max(n, 1), (count, 2)).tolist() if n else []
    return edges(n, pairs, rng.integers(1, heaviest + 1, count))


@st.composite
def csrs(draw, max_tasks=24, heaviest=2**40):
    """Graphs of 1 to `max_tasks` vertices, often disconnected, weights of any size."""
    n = draw(st.integers(1, max_tasks))
    vertex = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(vertex, vertex), max_size=4 * n))
    weight = st.one_of(st.integers(1, 3), st.integers(1, heaviest))
    return edges(n, pairs, draw(st.lists(weight, min_size=len(pairs), max_size=len(pairs))))


def arcs_of(csr):
    """(i, j, weight) of every edge, once."""
    return [
        (i, int(csr.targets[e]), 1 if csr.weights is None else int(csr.weights[e]))
        for i in range(len(csr.indptr) - 1)
        for e in range(csr.indptr[i], csr.indptr[i + 1])
        if csr.targets[e] > i
    ]


def cut_of(csr, part):
    return sum(w for i, j, w in arcs_of(csr) if part[i] != part[j])


def cost_of(csr, matrix, pe):
    """Weight x distance, every edge once."""
    return sum(w * int(matrix[pe[i], pe[j]]) for i, j, w in arcs_of(csr))


def sums(part, loads, k):
    """Load per block."""
    total = [0] * k
    for v, block in enumerate(part):
        total[block] += 1 if loads is None else int(loads[v])
    return total


def distances(kind, k, rng):
    """(matrix, arguments for the compiled refiners) of k PEs: flat, a binary tree, or a random table."""
    if kind == "table":
        table = rng.integers(0, 30, (k, k))
        table = np.ascontiguousarray(np.triu(table, 1) + np.triu(table, 1).T).astype(np.int64)
        return table, Distances(table=table.reshape(-1))
    costs = np.array([0, 1, 1, 1, 1, 1, 1] if kind == "flat" else [0, 1, 3, 10, 30, 31, 100], np.int64)
    tree = TreeDistance(np.arange(k, dtype=np.uint64), np.minimum(np.arange(65), 6).astype(np.uint8), costs)
    return tree.matrix(), Distances(tree.labels, tree.bit_costs)


def forms(near):
    """Distances as the kernels themselves take them."""
    labels, bit_costs, table = near
    return (
        np.empty(0, np.uint64) if labels is None else labels,
        np.zeros(65, np.int64) if bit_costs is None else bit_costs, optional(table),
    )


def cut_once(csr, caps, settings=None, *, loads=None, linear_cost=None, candidates=None, **control):
    """Partition the whole graph as one group."""
    child, cut = partition_many(
        SearchProblem(csr, loads, linear_cost=linear_cost),
        VertexGroups.whole(csr.n, np.array(caps, np.int64), control.get("seed", 0)),
        PartitionSettings() if settings is None else settings, candidates=candidates,
        control=RunControl(**control),
    )
    return child, int(cut[0])


def refined(csr, pe, caps, near, loads=None, *, seed=0, threads=1, others=None, linear_cost=None, **settings):
    return refine_placement(
        SearchProblem(csr, loads, near, linear_cost), np.array(pe, np.int32), np.array(caps, np.int64),
        RefinementSettings(**settings), others=others, control=RunControl(seed, threads),
    )[0]


def swapped(csr, pe, caps, near, loads=None, *, seed=0, threads=1, linear_cost=None, **settings):
    return swap_refine(
        SearchProblem(csr, loads, near, linear_cost), np.array(pe, np.int32), np.array(caps, np.int64),
        SwapSettings(**settings), control=RunControl(seed, threads),
    )[0]
