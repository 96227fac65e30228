"""Mapping under a launcher's constraint: blocks of consecutive ranks."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.errors import mentions
from helpers.strategies import graphs
from hopbytes.algorithms.shared.quotient_graph import graph_among
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.errors import InfeasibleError, UnsupportedError
from hopbytes.formats.base import formats
from hopbytes.solve.consecutive_ranks import best_sizes, map_for, map_in_blocks

WHERE = hb.allocate("switch:2@100 node:2@10 package:2@3 core:2@1", hosts=("a", "b", "c", "d"))


@given(st.data(), st.sampled_from(["hydra", "pals", "hosts", "torchrun", "slurm", "cray"]))
@settings(deadline=None, max_examples=12)
def test_what_is_mapped_for_a_format_can_be_written_in_it(data, form):
    graph = data.draw(graphs(n=16))
    mapping = map_for(graph, WHERE, form, method="fast")
    assert sorted(mapping.pe.tolist()) == list(range(16))
    formats[form].write_mapping(mapping, {})
    assert mapping.info["comm_cost"] == CommCost().value(graph, WHERE, mapping.pe)


def test_blocks_that_talk_end_up_beside_each_other():
    """Blocks 0 and 3, 1 and 2 exchange; two nodes of a switch are 10 apart, others 100."""
    source = np.arange(16)
    partner = {0: 3, 3: 0, 1: 2, 2: 1}
    target = [4 * partner[task // 4] + task % 4 for task in range(16)]
    graph = hb.CommGraph.from_edges(source, target, np.full(16, 5))
    mapping = map_for(graph, WHERE, "hosts")
    assert mapping.info["comm_cost"] == 16 * 5 * 10
    assert [int(mapping.where.node_of_pe[pe]) // 2 for pe in mapping.pe[::4]] in ([0, 1, 1, 0], [1, 0, 0, 1])


def test_ranks_of_a_node_are_mapped_to_its_cores_where_the_format_can_say_it():
    graph = hb.CommGraph.from_edges([0, 2, 1, 3], [2, 0, 3, 1], [9, 9, 9, 9], n=16)
    assert map_for(graph, WHERE, "hydra").info["comm_cost"] == 36
    assert map_for(graph, WHERE, "hosts").info["comm_cost"] == 4 * 9 * 3


@pytest.mark.parametrize(("arcs", "order"), [((0, 2), [0, 0, 0, 1, 1]), ((2, 4), [1, 1, 0, 0, 0])])
def test_unequal_nodes_take_ranks_in_the_better_order(arcs, order):
    where = hb.allocate("node:2@10 core:[3,2]@1", hosts=("a", "b"))
    graph = hb.CommGraph.from_edges([arcs[0]], [arcs[1]], [9], n=5)
    mapping = map_for(graph, where, "hydra")
    assert where.node_of_pe[mapping.pe].tolist() == order
    assert "only consecutive ranks" in mapping.info["notices"][-1]


@given(graphs(n=11), st.permutations([1, 2, 2, 3, 3]))
@settings(deadline=None, max_examples=30)
def test_the_order_of_sizes_keeps_most_volume_inside(graph, sizes):
    def inside(order):
        block = np.repeat(np.arange(len(order)), order)
        volumes = np.ones(graph.m, np.int64) if graph.volumes is None else graph.volumes
        # Loops are no arcs of a pattern's metrics.
        source, target = graph.sources(), graph.targets
        return int(volumes[(block[source] == block[target]) & (source != target)].sum())

    found = best_sizes(graph, sizes)
    assert sorted(found) == sorted(sizes)
    assert inside(found) == max(inside(order) for order in set(permutations(sizes)))


@given(graphs(n=12))
@settings(deadline=None, max_examples=10)
def test_unequal_nodes_are_never_worse_than_in_order(graph):
    """Two switches with nodes of 1, 2 and 3 cores: the sizes chosen alone would tear the switches."""
    where = hb.allocate("switch:2@100 node:3@10 core:[1,2,3,3,2,1]@1", hosts=tuple("abcdef"))
    mapping = map_for(graph, where, "hydra", method="fast")
    assert mapping.info["comm_cost"] <= CommCost().value(graph, where, np.arange(12, dtype=np.int32))
    formats["hydra"].write_mapping(mapping, {})


ORDERS = ("dp-tp-cp-ep-pp", "tp-cp-ep-dp-pp")


def test_a_free_order_is_told_where_it_gains():
    where = hb.allocate("node:2@10 gpu:4@1")
    unlucky, natural = (hb.read(f"ml:tp=4,pp=1,dp=2,layers=2,order={order}") for order in ORDERS)
    said = map_for(unlucky, where, "torchrun", method="fast").info["notices"]
    free = hb.map_tasks(unlucky, where, "fast").comm_cost
    assert any(f"J {free:,}" in notice and "format mesh" in notice for notice in said)
    assert any("rank order tp-cp-ep-dp-pp" in notice and "the default" in notice for notice in said)
    limited = {"limits": hb.Limits(work=9)}
    for graph, options in ((natural, {}), (unlucky, {"weight": "messages"}), (unlucky, limited)):
        said = map_for(graph, where, "torchrun", method="fast", **options).info["notices"]
        assert not any("mesh" in notice or "rank order" in notice for notice in said)


@given(graphs(n=9), st.integers(0, 8), st.integers(1, 9), st.permutations(range(9)))
@settings(deadline=None, max_examples=40)
def test_parts_of_a_pattern_have_what_its_matrix_has(graph, first, count, order):
    whole, some = graph.to_scipy().toarray(), np.array(order[first : first + count])
    assert np.array_equal(graph_among(graph, some).to_scipy().toarray(), whole[np.ix_(some, some)])


def test_blocks_that_do_not_divide_are_named():
    graph = hb.CommGraph.from_edges([0], [1], n=16)
    with pytest.raises(InfeasibleError, match=mentions("3", "4")):
        map_in_blocks(graph, WHERE, 3)
    with pytest.raises(InfeasibleError, match=mentions("3", "16")):
        map_in_blocks(graph, hb.allocate("core:16"), 3)
    with pytest.raises(InfeasibleError, match=mentions("2", "3 on a node")):
        map_in_blocks(hb.CommGraph.from_edges([0], [1], n=6), hb.allocate("node:3 core:[3,2,1]"), 2)
    with pytest.raises(UnsupportedError, match="block=0"):
        map_in_blocks(graph, WHERE, 0)
    with pytest.raises(UnsupportedError, match="slot of their own"):
        map_in_blocks(graph, WHERE.using(oversubscribe=True), 4)
    with pytest.raises(UnsupportedError, match="weight time"):
        map_in_blocks(graph, WHERE, 4, weight="time")
    assert map_in_blocks(hb.CommGraph.from_edges([], [], n=0), WHERE).n == 0
    assert map_in_blocks(graph, WHERE, 4, method="fast").info["preset"] == "fast"
    assert map_in_blocks(graph, WHERE, 4, method="identity").info["preset"] is None
    with pytest.raises(InfeasibleError, match=mentions("17", "16")):
        map_in_blocks(hb.CommGraph.from_edges([0], [1], n=17), WHERE)
    with pytest.raises(UnsupportedError, match="slot of their own"):
        map_in_blocks(graph, WHERE, 4, partition=True)
    with pytest.raises(UnsupportedError, match="holds a pattern"):
        map_for(graph, WHERE, "metis")


@pytest.mark.parametrize("said", [{"fixed": {0: 1}}, {"forbidden": [(0, 1)]}, {"initial": np.arange(16)}])
def test_places_of_single_tasks_are_refused_with_blocks(said):
    graph = hb.CommGraph.from_edges([0, 1], [1, 2], n=16)
    with pytest.raises(UnsupportedError, match="refer to single tasks"):
        map_in_blocks(graph, WHERE, 4, constraints=hb.Constraints(**said))


def test_nodes_that_cannot_be_equal_share_the_tasks_as_evenly_as_they_can():
    """Eight tasks on nodes of 3, 5 and 2 cores: no number of tasks per node divides eight and fits."""
    where, graph = hb.allocate("node:3@20 core:[3,5,2]@1"), hb.read("stencil:8x1:bytes=1")
    for form in ("hosts", "torchrun"):
        mapping = map_for(graph, where, form, method="fast")
        assert np.bincount(where.node_of_pe[mapping.pe]).tolist() == [3, 3, 2]
        assert mapping.comm_cost == CommCost().value(graph, where, mapping.pe)
        assert mapping.info["slots"] == "spread"


def test_small_blocks_are_refused_where_hosts_take_consecutive_ranks_only():
    """Ranks r and r + 4 talk: blocks of one would put them on one host, which a host file cannot say."""
    graph = hb.CommGraph.from_edges(range(8), [(rank + 4) % 8 for rank in range(8)], [9] * 8)
    where = hb.allocate("node:4@10 core:2@1")
    with pytest.raises(InfeasibleError, match=r"blocks of 1 ranks scatter .* for hydra \(omit"):
        map_for(graph, where, "hydra", block=1)
    assert map_for(graph, where, "openmpi", block=1).info["comm_cost"] == 72
    assert map_for(graph, where, "hydra", block=2).n == 8


def test_gain_on_unequal_nodes():
    """Tensor-parallel groups of eight on nodes of 4, 8 and 12: the order of hosts keeps them together."""
    graph = hb.read("ml:tp=8,pp=4,dp=2")
    where = hb.allocate("switch:2@100 node:4@10 core:[4,8,8,12,8,4,8,12]@1", hosts=tuple("abcdefgh"))
    mapping = map_for(graph, where, "hydra")
    in_order = CommCost().value(graph, where, np.arange(64, dtype=np.int32))
    assert mapping.info["comm_cost"] < 0.75 * in_order
