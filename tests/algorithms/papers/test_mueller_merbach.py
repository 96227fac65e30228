"""Müller-Merbach's construction and GreedyAllC: answers by hand and by definition."""


import hopbytes as hb
from helpers.machines import nodes
from hopbytes.solve.map_tasks import map_tasks

BOTH = ("greedy_all_c", "mueller_merbach")


def test_mueller_merbach_by_hand():
    # Volumes: task 2 talks most (9 + 5), then task 0 (9 with task 2), then 1 and 3 (5 with 2; 1 with 0).
    graph = hb.CommGraph.from_edges([2, 2, 0], [0, 1, 3], [9, 5, 1], n=4)
    where = nodes(2, 2)
    for name in ("mueller_merbach", "greedy_all_c"):
        mapping = map_tasks(graph, where, name)
        assert mapping.pe.tolist() == [1, 2, 0, 3]


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
