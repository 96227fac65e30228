"""Values of J that the literature or an exhaustive search fixes, so that conventions cannot drift."""

from itertools import permutations

import numpy as np
import pytest

from helpers.graphs import TREEMATCH_FIGURE_1
from hopbytes.cost.metrics.mapping_metrics import measure
from hopbytes.machines.base import Level
from hopbytes.machines.tree import Tree
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


def machine(*levels):
    return Allocation.whole(Tree(tuple(Level(n, d) for n, _, d in levels), tuple(c for _, c, _ in levels)))


def cost(graph, where, pe):
    return measure(graph, where, np.array(pe, np.int32)).comm_cost


@pytest.mark.parametrize(
    ("name", "pe", "expected"),
    [
        # Cores of the left half of the figure's tree have even numbers: leaf of core c is c / 2 or 6 + c / 2.
        ("the algorithm's answer, cores 0,2,4,6,1,3,5,7", [0, 1, 2, 3, 6, 7, 8, 9], 18568),
        ("packed, cores 0,2,4,6,8,10,1,3", [0, 1, 2, 3, 4, 5, 6, 7], 20180),
        ("round robin, process i on core i", [0, 6, 1, 7, 2, 8, 3, 9], 37720),
    ],
)
def test_treematch_example(name, pe, expected):
    where = machine(("half", 2, 3), ("third", 3, 2), ("core", 2, 1))
    assert cost(CommGraph.from_dense(TREEMATCH_FIGURE_1), where, pe) == expected, name


def undirected(n, edges):
    a, b, w = zip(*edges, strict=True)
    return CommGraph.from_edges(a + b, b + a, w + w, n=n)


def test_eight_vertex_graph_of_the_sharedmap_readme():
    """H = 2:2, D = 1:10, two vertices per PE; an exhaustive search finds 50 as the least J."""
    edges = [(0, 1), (0, 2), (0, 3), (1, 3), (1, 4), (2, 3), (3, 5), (4, 5), (4, 6), (4, 7), (5, 6)]
    graph = undirected(8, [(a, b, 1) for a, b in edges])
    where = machine(("node", 2, 10), ("core", 2, 1))
    assert cost(graph, where, [0, 1, 0, 1, 3, 2, 2, 3]) == 50
    balanced = set(permutations([0, 0, 1, 1, 2, 2, 3, 3]))
    assert len(balanced) == 2520
    assert min(cost(graph, where, pe) for pe in balanced) == 50


def test_four_weighted_vertices_of_kahip_issue_61():
    """One task per PE costs at least 402; the 300 once printed for it left a PE empty."""
    graph = undirected(4, [(0, 1, 5), (0, 2, 5), (0, 3, 5), (1, 2, 6), (1, 3, 5), (2, 3, 4)])
    where = machine(("node", 2, 10), ("core", 2, 1))
    assert min(cost(graph, where, pe) for pe in permutations(range(4))) == 402
    assert cost(graph, where, [2, 0, 1, 3]) == 402
    assert cost(graph, where, [0, 1, 1, 2]) == 300
    assert measure(graph, where, np.array([0, 1, 1, 2], np.int32)).used_pes == 3


def test_distances_of_the_papers_hierarchy_string():
    """H = 4:2:3, D = 1:10:100, innermost first: blocks 4, 6 and 14 are 1, 10, 100 away from block 1."""
    where = machine(("level3", 3, 100), ("level2", 2, 10), ("level1", 4, 1))
    arc = CommGraph.from_edges([0], [1], [1])
    assert [cost(arc, where, [0, block - 1]) for block in (4, 6, 14)] == [1, 10, 100]
