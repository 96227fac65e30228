"""Müller-Merbach's construction and GreedyAllC: answers by hand and by definition."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.machines import nodes
from hopbytes.machines.common.table import Table
from hopbytes.solve.map_tasks import map_tasks


def test_mueller_merbach_by_hand():
    # Volumes: task 2 talks most (9 + 5), then task 0 (9 with task 2), then 1 and 3 (5 with 2; 1 with 0).
    graph = hb.CommGraph.from_edges([2, 2, 0], [0, 1, 3], [9, 5, 1], n=4)
    where = nodes(2, 2)
    for name in ("mueller_merbach", "greedy_all_c"):
        mapping = map_tasks(graph, where, mapper=name)
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
    assert map_tasks(graph, where, mapper="mueller_merbach").pe.tolist() == [pe[task] for task in range(n)]


def test_greedy_all_c_joins_what_mueller_merbach_tears_apart():
    """Two pairs and a task between: only the linked choice looks whom the next task talks to."""
    # Task 0 with 1 (9); 0 with 2 (8) and 2 with 3 (7): the node of 0 and 1 is full when 2 comes, which
    # opens the second node; 4 talks to 5 (1) and nobody else. Three nodes of two.
    graph = hb.CommGraph.from_edges([0, 0, 2, 4], [1, 2, 3, 5], [9, 8, 7, 1], n=6)
    linked = map_tasks(graph, nodes(3, 2), mapper="greedy_all_c")
    assert linked.info["comm_cost"] == 9 * 1 + 8 * 10 + 7 * 1 + 1 * 1
