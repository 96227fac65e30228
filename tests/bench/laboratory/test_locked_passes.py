"""Passes in which every task moves once: they are their definition, and end in time."""

from itertools import combinations

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.algorithms.shared.quotient_graph import with_isolated
from hopbytes_laboratory.mpipp import LockedPasses


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "k"), [(7, 8), (8, 8), (5, 8)])
def test_passes_are_their_definition(seed, n, k):
    """Every exchange by J of the whole placement; the least of all again and again, nobody twice."""
    rng = np.random.default_rng(seed)
    half = np.triu(rng.integers(0, 9, (n, n)), 1)
    graph = hb.CommGraph.from_dense(half + half.T)
    where = hb.allocate("node:2@10 package:2@4 core:2@1")
    table = where.distance.matrix()
    search = LockedPasses(with_isolated(graph.symmetric_positive(), k), table, n)
    start = rng.permutation(k).astype(np.int32)

    def cost(place):
        return int(((half + half.T) * table[np.ix_(place[:n], place[:n])]).sum())

    place, free, costs, places = start.copy(), set(range(k)), [cost(start)], [start.copy()]
    while any(task < n for task in free) and len(free) > 1:
        options = []
        for a, b in combinations(sorted(free), 2):
            if a < n:
                other = place.copy()
                other[[a, b]] = other[[b, a]]
                options.append((cost(other), a, b))
        least, a, b = min(options)
        place[[a, b]] = place[[b, a]]
        free -= {a, b}
        costs.append(least)
        places.append(place.copy())
    kept = costs.index(min(costs))
    found, saved, made = search.once(start)
    assert (saved, made) == (costs[0] - costs[kept], kept)
    assert found.tolist() == places[kept].tolist()
