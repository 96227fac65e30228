"""Hops as distances of searches: inside nodes the machine's own distances decide, as far as 63 bits allow."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.cost.objectives.base import objectives
from hopbytes.util.integers import MAX_SUM

MACHINES = [
    "torus:3x3@11 / package:5@10 core:1@1", "dragonfly:3x3x2@1048577 / core:2@1048576",
    "fattree:2x4 / core:5@10",
]


def hops_of(graph, mapping):
    return objectives["hop_bytes"]().value(graph, mapping.where, mapping.pe)


@pytest.mark.parametrize("share", [1, 40])
@pytest.mark.parametrize("machine", MACHINES)
def test_volumes_up_to_the_limit_of_the_machine_are_mapped(machine, share):
    # Hops weigh more than distances inside nodes, so J of the search was 16 times as large and overflowed.
    where = hb.allocate(machine)
    volume = MAX_SUM // int(where.distance.largest) // (2 * where.k * share)
    ring = np.arange(where.k)
    graph = hb.CommGraph.from_edges(ring, np.roll(ring, 1), np.full(where.k, volume))
    searched, inside = objectives["hop_bytes"]().lowered(graph, where)
    assert searched.total_volume * int(inside.distance.largest) <= MAX_SUM
    mapping = hb.map_tasks(graph, where, "fast", objective="hop_bytes")
    found = hops_of(graph, mapping)
    assert 0 < found <= hops_of(graph, hb.map_tasks(graph, where, "identity"))


def test_distances_inside_nodes_decide_where_hops_do_not():
    where = hb.allocate("torus:2x2 / package:2@10 core:2@1")
    graph = hb.CommGraph.from_edges([0, 1, 2], [1, 2, 3], [1, 5, 1])
    mapping = hb.map_tasks(graph, where, objective="hop_bytes")
    assert hops_of(graph, mapping) == 0
    assert hb.evaluate(graph, mapping).comm_cost == 5 * 1 + 2 * 10


def test_messages_beyond_63_bits_are_refused():
    where = hb.allocate("torus:2x2@9")
    graph = hb.CommGraph.from_edges([0, 1], [1, 2], [1, 1], messages=[2**60, 2**60])
    with pytest.raises(hb.ScaleError, match="divide"):
        hb.map_tasks(graph, where, objective="max_messages")
