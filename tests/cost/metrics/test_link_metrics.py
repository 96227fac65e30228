"""Metrics of links and nodes: known answers, identities between them, agreement with single routes."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.strategies import graphs
from hopbytes.cost.metrics.link_metrics import dilation_of, hottest_links, measure_links
from hopbytes.cost.metrics.mapping_metrics import measure_traffic
from hopbytes.machines.allocate.allocate import allocate
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping

SPECS = [
    "torus:4x3:nodes=2 / core:2", "mesh:3x3:bw=2x3 / core:2", "fattree:2x3:up=1x2:bw=3x2 / core:2",
    "dragonfly:3x2x2 / core:2", "hyperx:3x3 / core:2", "fattree:3x2:route=spread:up=1x3 / core:2",
    "dragonfly:4x2x1:route=valiant / core:2", "torus:4x3:route=spread / core:2",
]


def test_four_tasks_on_a_ring():
    """0 → 2 goes half way round in positive direction (links 0+, 1+), 1 → 0 back over 1-."""
    where = allocate("torus:4:bw=2")
    graph = CommGraph.from_edges([0, 1, 0], [2, 0, 1], [6, 4, 2], [3, 1, 1])
    found = measure_links(graph, where, np.arange(4, dtype=np.int32))
    assert found is not None
    assert (found.hops, found.hop_bytes) == (2 * 3 + 1 + 1, 2 * 6 + 4 + 2)
    assert (found.max_messages, found.max_congestion) == (4, (6 + 2) / 2)
    assert found.used_links == 3
    assert found.avg_messages == 8 / 3
    assert found.avg_congestion == (4 + 3 + 2) / 3
    assert found.var_congestion == pytest.approx((1 + 0 + 1) / 3)
    assert found.hybrid_raw == pytest.approx(18 + 4 + 3 + 2 / 3)
    assert [(one.hops, one.flows, one.messages, one.volume) for one in dilation_of(
        graph, where, np.arange(4, dtype=np.int32)
    )] == [(1, 2, 2, 6), (2, 1, 3, 6)]


def test_hottest_links_and_what_crosses_them():
    where = allocate("torus:4:bw=2")
    graph = CommGraph.from_edges([0, 1, 0], [2, 0, 1], [6, 4, 2])
    links = hottest_links(graph, where, np.arange(4, dtype=np.int32))
    assert [link.name for link in links] == ["r0 -> r1 (x+)", "r1 -> r2 (x+)", "r1 -> r0 (x-)"]
    first = links[0]
    assert (first.congestion, first.volume, first.messages, first.capacity, first.flows) == (4, 8, 2, 2, 2)
    assert first.largest == ((0, 2, 6), (0, 1, 2))


def test_traffic_of_nodes_and_pes():
    where = hb.allocate("node:2@10 core:2@1")
    graph = CommGraph.from_edges([0, 0, 2, 3, 1], [1, 2, 0, 0, 1], [5, 7, 1, 2, 100], [2, 3, 4, 5, 6])
    found = measure_traffic(graph, where, np.arange(4, dtype=np.int32))
    assert (found.inter_node_volume, found.inter_node_messages) == (7 + 1 + 2, 3 + 4 + 5)
    assert (found.intra_node_volume, found.intra_node_messages) == (5, 2)
    assert (found.max_node_receive_volume, found.max_node_receive_messages) == (7, 9)
    assert (found.max_send_volume, found.max_send_messages) == (12, 5)
    assert (found.total_send_volume, found.total_send_messages) == (15, 14)


@pytest.mark.parametrize("spec", SPECS)
@settings(max_examples=12, deadline=None)
@given(graph=graphs(n=12), seed=st.integers(0, 2**20))
def test_sums_over_links_are_sums_over_flows(spec, graph, seed):
    """TH and WH counted flow by flow equal the loads counted link by link."""
    where = allocate(spec)
    pe = np.random.default_rng(seed).integers(0, where.k, graph.n).astype(np.int32)
    network = where.machine.network()
    found = measure_links(graph, where, pe)
    assert found is not None
    sources = graph.sources()
    near, far = where.node_of_pe[pe[sources]], where.node_of_pe[pe[graph.targets]]
    volume: dict[int, Fraction] = {}
    messages: dict[int, Fraction] = {}
    routes = network.routes(near, far)
    for arc in range(graph.m):
        for place in range(int(routes.indptr[arc]), int(routes.indptr[arc + 1])):
            share = Fraction(1)
            if routes.numerators is not None:
                share = Fraction(int(routes.numerators[place]), int(routes.denominators[place]))
            link = int(routes.links[place])
            volume[link] = volume.get(link, Fraction(0)) + share * int(graph.arc_volumes()[arc])
            messages[link] = messages.get(link, Fraction(0)) + share * int(graph.arc_messages()[arc])
    congestion = {link: amount / int(network.capacity[link]) for link, amount in volume.items()}
    used = [value for value in congestion.values() if value]
    exact = not network.form.split
    close = (lambda one, other: one == other) if exact else (
        lambda one, other: float(one) == pytest.approx(float(other), rel=1e-3, abs=1.01)
    )
    assert close(found.hops, sum(messages.values()))
    assert close(found.hop_bytes, sum(volume.values()))
    assert close(found.max_messages, max(messages.values(), default=0))
    assert close(found.max_congestion, float(max(congestion.values(), default=0)))
    assert close(found.avg_congestion, float(Fraction(sum(used), len(used))) if used else 0.0)
    if exact:
        assert found.used_links == sum(1 for value in messages.values() if value)
        dilation = dilation_of(graph, where, pe)
        assert sum(one.hops * one.volume for one in dilation) == found.hop_bytes
        assert sum(one.hops * one.messages for one in dilation) == found.hops


def test_evaluate_reports_all_of_it_for_programs_and_people():
    where = hb.allocate("torus:4x4@10 / core:2@1")
    tasks = np.arange(where.k)
    graph = CommGraph.from_edges(tasks, (tasks + 5) % where.k, np.full(where.k, 3))
    shuffled = np.random.default_rng(1).permutation(where.k).astype(np.int32)
    result = hb.evaluate(graph, Mapping(shuffled, where))
    facts = result.to_dict()
    for name in (
        "hops", "hop_bytes", "max_messages", "max_congestion", "avg_messages", "avg_congestion",
        "var_congestion", "hybrid", "hybrid_raw", "inter_node_volume", "max_node_receive_messages",
        "max_send_volume", "total_send_messages",
    ):
        assert name in facts
        assert name in facts["in_order"]
        assert set(facts["random"][name]) == {"mean", "min", "max"}
    assert facts["in_order"]["hybrid"] == pytest.approx(4)
    assert len(facts["hottest_links"]) == 10
    assert facts["dilation"][0]["hops"] >= 1
    text = str(result)
    for word in ("highest congestion (MC)", "busiest link 1: r", "volume between nodes", "hops: "):
        assert word in text


def test_machines_without_links_say_nothing_about_them():
    where = hb.allocate("node:2 core:2")
    graph = CommGraph.from_edges([0, 1], [2, 3], [5, 5])
    result = hb.evaluate(graph, Mapping(np.arange(4, dtype=np.int32), where))
    assert "hops" not in result.to_dict()
    assert "dilation" not in result.to_dict()
    assert "highest congestion" not in str(result)


def test_several_paths_over_unequal_links_keep_as_many_bits_as_there_is_room_for():
    where = allocate("fattree:2x2:route=spread:bw=1000x999")
    graph = CommGraph.from_edges([0, 0], [2, 3], [2**41, 1])
    found = measure_links(graph, where, np.arange(4, dtype=np.int32))
    assert found is not None
    assert found.max_congestion == pytest.approx(2**41 / 1000, rel=1e-6)
    assert found.hop_bytes == 4 * (2**41 + 1)


def test_large_volumes_on_links_of_odd_capacities_are_exact():
    """The product of volume and a common multiple of the capacities has no 63 bits to fit in."""
    where = allocate("torus:3x3:bw=1000003x999983")
    graph = CommGraph.from_edges([0, 0], [4, 1], [2**60, 5])
    found = measure_links(graph, where, np.arange(9, dtype=np.int32))
    assert found is not None
    congestion = [Fraction(2**60, 1000003), Fraction(2**60 + 5, 999983)]  # 0 to 1 is the second dimension
    if found.used_links == 2:
        assert found.max_congestion == float(max(congestion))
        assert found.avg_congestion == float(sum(congestion) / 2)
        assert found.var_congestion == float(((congestion[0] - congestion[1]) / 2) ** 2)
    assert hottest_links(graph, where, np.arange(9, dtype=np.int32))[0].congestion == found.max_congestion
