"""Passes in which every task moves once: they are their definition, and end in time."""

from itertools import combinations

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.algorithms.shared.quotient_graph import with_isolated
from hopbytes.errors import ScaleError
from hopbytes_laboratory.mpipp import LockedPasses, best_swap


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


def test_passes_leave_no_exchange_and_can_go_through_losses():
    where, ahead = hb.allocate("node:4@10 package:2@5 core:4@1"), 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        half = np.triu(rng.integers(0, 100, (32, 32)) * (rng.random((32, 32)) < 0.1), 1)
        graph = hb.CommGraph.from_dense(half + half.T)
        single, passes = (
            hb.map_tasks(graph, where, f"mpipp:passes={word}", seed=seed) for word in ("no", "yes")
        )
        ahead += passes.info["comm_cost"] < single.info["comm_cost"]
        csr = graph.symmetric_positive()
        assert best_swap(csr, where.distance.matrix(), passes.pe.copy(), 1)[1] == 0
    assert ahead > 0


def test_passes_keep_what_they_have_when_time_is_up():
    graph, where = hb.read("stencil:6x6"), hb.allocate("node:6@10 core:6@1")
    search = LockedPasses(graph.symmetric_positive(), where.distance.matrix(), 36)
    start = np.random.default_rng(0).permutation(36).astype(np.int32)
    whole, answers = search.once(start), iter([False, False, False])
    found, saved, made = search.once(start, lambda: next(answers, True))
    assert made == 3 < whole[2]
    assert 0 < saved < whole[1]
    assert np.count_nonzero(found != start) in range(4, 7)


def test_a_work_limit_ends_a_pass_between_two_exchanges():
    graph = hb.CommGraph.from_edges(np.arange(63), np.arange(1, 64), n=64)
    free, limited = (
        hb.map_tasks(
            graph, hb.allocate("node:8@9 core:8@1"), "mpipp:passes=yes", limits=hb.Limits(work=limit)
        )
        for limit in (None, 64**2 * 6)
    )
    assert limited.info["work"]["arcs"] == 64**2 * 6
    assert limited.info["work"]["exchanges"] <= 5
    assert free.info["work"]["arcs"] % (64**2 * 33) == 0  # whole passes


def test_passes_refuse_what_does_not_fit():
    graph = hb.CommGraph.from_edges([0, 1], [1, 0], [2**58, 2**58])
    with pytest.raises(ScaleError, match="2\\^60"):
        hb.map_tasks(graph, hb.allocate("core:2@9"), "mpipp:passes=yes")
