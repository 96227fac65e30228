"""The refiners that exchange pairs of tasks, beside definitions in plain Python."""

import itertools

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.algorithms.refiners.pairs import _near_pairs
from hopbytes.algorithms.shared.sequential_assignment import random_order


def hops_of(graph):
    """Return the number of edges between every two tasks by breadth-first search."""
    near = [set() for _ in range(graph.n)]
    for u, v in zip(graph.sources().tolist(), graph.targets.tolist(), strict=True):
        near[u].add(v)
        near[v].add(u)
    hops = [{u: 0} for u in range(graph.n)]
    for seen in hops:
        layer = set(seen)
        for step in range(1, graph.n):
            layer = {w for v in layer for w in near[v]} - set(seen)
            seen.update(dict.fromkeys(layer, step))
    return hops


def random_graph(rng, n, m):
    ends = rng.integers(0, n, (2, m))
    return hb.CommGraph.from_edges(*ends, rng.integers(1, 50, m), n=n)


@pytest.mark.parametrize("d", [1, 2, 10])
def test_order_pairs_is_the_search_of_the_paper(d):
    """Random order of all pairs, again and again; the end after as many failures as there are pairs."""
    machine = "node:2@100 package:2@10 core:3@1"
    for seed in range(8):
        graph = random_graph(np.random.default_rng(seed), 12, 20)
        start = hb.map_tasks(graph, machine, "random", seed=seed)
        hops, pe = hops_of(graph), start.pe.tolist()
        pairs = [(u, v) for u, v in itertools.combinations(range(12), 2) if 1 <= hops[u].get(v, 99) <= d]
        pairs = [pairs[i] for i in random_order(len(pairs), seed)]
        matrix = start.where.distance.matrix()
        ends = graph.sources().tolist(), graph.targets.tolist()
        arcs = list(zip(*ends, graph.volumes.tolist(), strict=True))

        def cost(pe, arcs=arcs, matrix=matrix):
            return sum(w * int(matrix[pe[u]][pe[v]]) for u, v, w in arcs)

        failed, at = 0, 0
        while failed < len(pairs):
            u, v = pairs[at % len(pairs)]
            other = list(pe)
            other[u], other[v] = pe[v], pe[u]
            failed, at = failed + 1, at + 1
            if cost(other) < cost(pe):
                pe, failed = other, 0
        found = hb.map_tasks(graph, machine, ["random", f"n_cd:d={d},order=pairs"], seed=seed)
        assert found.pe.tolist() == pe


def test_too_many_pairs(monkeypatch):
    monkeypatch.setattr("hopbytes.algorithms.refiners.pairs.MOST_SCANNED", 100)
    with pytest.raises(hb.UnsupportedError, match="order=pairs: more than 100 arcs"):
        hb.map_tasks("stencil:4x4", "core:16", ["random", "n_cd:order=pairs"])


@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_near_pairs_are_those_of_a_breadth_first_search(d):
    for seed in range(10):
        graph = random_graph(np.random.default_rng(seed), 12, 14)
        hops = hops_of(graph)
        expected = [[u, v] for u, v in itertools.combinations(range(12), 2) if 1 <= hops[u].get(v, 99) <= d]
        assert _near_pairs(graph.symmetric_positive(), d).tolist() == expected
