"""The simulation of the TreeMatch paper: its cases, its rows, and what the table counts."""

import pytest

import hopbytes as hb
from bench.papers import paper002_rivals as rivals
from bench.rivals import ompi_treematch


def test_round_robins():
    where = hb.allocate("synthetic:pack:2 core:2 pu:1(indexes=0,2,1,3)")
    graph = hb.read("alltoall:3")
    assert rivals.by_core(graph, where).pe.tolist() == [0, 2, 1]
    where = hb.allocate("numa:3@5 core:2@1")
    assert rivals.by_node(hb.read("alltoall:5"), where).pe.tolist() == [0, 2, 4, 1, 3]


def test_reordered_ranks_are_read_as_tasks():
    """Process 0 on the core of CPUs 1 and 5 became task 2, and so on."""
    where = hb.allocate("synthetic:core:4 pu:2(indexes=0,4,1,5,2,6,3,7)")
    pe = ompi_treematch.tasks_on_cores([2, 0, 1], [[1, 5], [3], [4]], where)
    assert pe.tolist() == [3, 0, 1]
    with pytest.raises(RuntimeError, match="bound to 2 cores"):
        ompi_treematch.tasks_on_cores([0], [[0, 1]], where)
    with pytest.raises(RuntimeError, match="two ranks on one core"):
        ompi_treematch.tasks_on_cores([0, 1], [[0], [4]], where)
