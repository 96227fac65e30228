"""Müller-Merbach's construction and GreedyAllC: answers by hand and by definition."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.machines import nodes
from hopbytes.machines.kinds.table import Table
from hopbytes.solve.map_tasks import map_tasks

BOTH = ("greedy_all_c", "mueller_merbach")


def test_mueller_merbach_by_hand():
    # Volumes: task 2 talks most (9 + 5), then task 0 (9 with task 2), then 1 and 3 (5 with 2; 1 with 0).
    graph = hb.CommGraph.from_edges([2, 2, 0], [0, 1, 3], [9, 5, 1], n=4)
    where = nodes(2, 2)
    for name in ("mueller_merbach", "greedy_all_c"):
        mapping = map_tasks(graph, where, name)
        assert mapping.pe.tolist() == [1, 2, 0, 3]


@pytest.mark.parametrize("seed", range(6))
def test_mueller_merbach_is_what_the_definition_gives(seed):
    """Dense matrices, every sum anew: distances and volumes so diverse that no choice is a tie."""
    rng = np.random.default_rng(seed)
    n = 18
    distance = np.triu(rng.choice(10**6, (n, n), replace=False) + 1, 1)
    distance += distance.T
    volume = np.triu((rng.choice(10**6, (n, n), replace=False) + 1) * rng.integers(0, 2, (n, n)), 1)
    volume += volume.T
    pe = {int(volume.sum(0).argmax()): int(distance.sum(0).argmin())}
    while len(pe) < n:
        talk = {task: sum(volume[task, done] for done in pe) for task in range(n) if task not in pe}
        task = max(talk, key=lambda each: talk[each])
        far = {p: sum(distance[p, q] for q in pe.values()) for p in range(n) if p not in pe.values()}
        pe[task] = min(far, key=lambda each: far[each])
    near, beyond = np.nonzero(volume)
    graph = hb.CommGraph.from_edges(near, beyond, volume[near, beyond], n=n)
    where = hb.Allocation.whole(Table(distance))
    assert map_tasks(graph, where, "mueller_merbach").pe.tolist() == [pe[task] for task in range(n)]


def test_greedy_all_c_by_hand():
    # Task 0 with 1 (9); 0 with 2 (8) and 2 with 3 (7): the node of 0 and 1 is full when 2 comes, which
    # opens the second node; 4 talks to 5 (1) and nobody else. Three nodes of two.
    graph = hb.CommGraph.from_edges([0, 0, 2, 4], [1, 2, 3, 5], [9, 8, 7, 1], n=6)
    linked = map_tasks(graph, nodes(3, 2), "greedy_all_c")
    assert linked.info["comm_cost"] == 9 * 1 + 8 * 10 + 7 * 1 + 1 * 1


def test_greedy_all_c_looks_whom_the_next_task_talks_to():
    """On a row of five PEs; on trees both are the same, see below."""
    # 0 is in the middle, 2 (9) beside it. Then 1 (8) goes to the other side of 0; Müller-Merbach takes the
    # outermost PE, because it is as near to both used ones.
    graph = hb.CommGraph.from_edges([4, 3, 2, 1, 1], [0, 0, 0, 0, 4], [5, 7, 9, 8, 6], n=5)
    linked, unlinked = (map_tasks(graph, hb.allocate("mesh:5"), name) for name in BOTH)
    assert linked.pe.tolist() == [2, 3, 1, 0, 4]
    assert linked.comm_cost == 9 * 1 + 8 * 1 + (5 * 2 + 6 * 1) + 7 * 2
    assert unlinked.pe.tolist() == [2, 0, 1, 4, 3]
    assert unlinked.comm_cost == 9 * 1 + 8 * 2 + (5 * 1 + 6 * 3) + 7 * 2


@pytest.mark.parametrize("machine", ["core:24@1", "node:4@10 core:8@1", "node:3@100 package:2@10 core:4@1"])
@pytest.mark.parametrize("idle", [0, 3])
def test_both_constructions_are_one_on_trees_whose_units_are_alike(machine, idle):
    """The nearest free PE is also the cheapest there, as the docstring says."""
    where = hb.allocate(machine)
    rng = np.random.default_rng(where.k + idle)
    n = where.k - idle
    ends = rng.integers(0, n, (2, 4 * n))
    graph = hb.CommGraph.from_edges(*ends, rng.integers(1, 50, 4 * n), n=n)
    placed = [hb.map_tasks(graph, where, name).pe for name in BOTH]
    assert np.array_equal(*placed)
