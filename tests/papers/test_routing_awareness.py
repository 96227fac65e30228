"""PTRAM's Fig. 2 point: two placements tie on hops and differ in congestion, so routes have to be known."""

import numpy as np

import hopbytes as hb
from hopbytes.algorithms.base import Bounds, Effort, refiners
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.util.options import build

#: Four leaf switches of two nodes with two uplinks each; the uplink is the target's number modulo 2.
WHERE = "fattree:2x4:up=1x2"


def test_routing_aware_refinement_sees_what_hops_cannot():
    """Two flows leave one leaf switch: to nodes 2 and 4 both take uplink 0, to 2 and 5 one uplink each."""
    where = hb.Allocation.whole(hb.allocate(WHERE).machine)
    graph = hb.CommGraph.from_edges([0, 1], [2, 3], [5, 5], n=8)
    ignorant = np.array([0, 1, 2, 4, 3, 5, 6, 7], np.int32)
    aware = np.array([0, 1, 2, 5, 3, 4, 6, 7], np.int32)
    worth = {
        name: [objectives[name]().value(graph, where, pe) for pe in (ignorant, aware)]
        for name in ("hop_bytes", "max_congestion")
    }
    assert worth["hop_bytes"] == [40, 40]
    assert worth["max_congestion"] == [10.0, 5.0]
    ones = np.ones(8, np.int64)
    bounds = Bounds(ones, ones, exact=True)
    for name in ("umc", "ptram", "congestion"):
        found = build(refiners, name).refine(graph, where, ignorant, bounds, Effort())
        assert objectives["max_congestion"]().value(graph, where, found) == 5.0, name
        assert objectives["hop_bytes"]().value(graph, where, found) <= 40


def test_routing_aware_greedy_chooses_the_node_whose_route_is_free():
    """Tasks 0 and 1 share a leaf switch, 2 and 4 another; 1 sends to 3, which may go to node 4 or 5.

    Both are as far. To node 4, an even one, leads the uplink that carries what 0 sends to 2.
    """
    where = hb.Allocation.whole(hb.allocate("fattree:2x3:up=1x2:bw=20x1").machine)
    graph = hb.CommGraph.from_edges([0, 0, 2, 1], [1, 2, 4, 3], [100, 10, 60, 5], n=6)
    found = {}
    for name, mapper in {
        "ignorant": "ptram:weights=1/0/0/0,raw=true", "published": "ptram:raw=true", "normalised": "ptram",
    }.items():  # fmt: skip
        pe = hb.map_tasks(graph, where, mapper, threads=1).pe
        found[name] = [
            objectives[goal]().value(graph, where, pe) for goal in ("hop_bytes", "max_congestion")
        ]
    assert found["ignorant"] == [380, 15.0]
    assert found["published"] == found["normalised"] == [380, 10.0]
