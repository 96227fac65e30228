"""Hops: those of the routes flows take, detours by their mean; as distances of searches, within 63 bits."""

from fractions import Fraction

import numpy as np
import pytest

import hopbytes as hb
from helpers.strategies import random_graph
from hopbytes.cost.metrics.link_metrics import measure_links
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.cost.objectives.on_links import Hybrid
from hopbytes.model.comm_graph import CommGraph
from hopbytes.show.describe import route_facts, route_text
from hopbytes.util.integers import MAX_SUM
from hopbytes.util.options import build

VALIANT = [
    "dragonfly:5x3x2:route=valiant / core:2", "dragonfly:4x2x1:route=valiant",
    "dragonfly:2x3x2:route=valiant",
]


def by_hand(graph, where, pe, weights) -> Fraction:
    """Shares of all paths, flow by flow."""
    network, total = where.machine.network(), Fraction(0)
    ends = where.machine.network_use.endpoint_of_core()[where.first_core][pe].tolist()
    for source, target, weight in zip(graph.sources().tolist(), graph.targets.tolist(), weights, strict=True):
        routes = network.routes([ends[source]], [ends[target]])
        if routes.numerators is None:
            total += weight * len(routes.links)
            continue
        shares = zip(routes.numerators.tolist(), routes.denominators.tolist(), strict=True)
        total += weight * sum(Fraction(*share) for share in shares)
    return total


@pytest.mark.parametrize("spec", VALIANT)
@pytest.mark.parametrize("size", [1, 2**50])
def test_detours_count_by_their_mean_and_exactly(spec, size):
    where = hb.allocate(spec)
    rng = np.random.default_rng(len(spec))
    graph = random_graph(rng, n=where.k)
    graph = CommGraph.from_edges(graph.sources(), graph.targets, graph.arc_volumes() * size, n=where.k)
    pe = rng.permutation(where.k).astype(np.int32)
    found = measure_links(graph, where, pe)
    for goal, value, weights in (
        ("hop_bytes", found.hop_bytes, graph.arc_volumes().tolist()), ("hops", found.hops, [1] * graph.m),
    ):
        expected = by_hand(graph, where, pe, weights)
        assert value == (int(expected) if expected.denominator == 1 else float(expected))
        assert objectives[goal]().value(graph, where, pe) == value


@pytest.mark.parametrize("spec", VALIANT)
def test_a_route_is_as_long_as_its_links_say(spec):
    where = hb.allocate(spec)
    last = where.machine.n_nodes - 1
    facts = route_facts(where, "0", str(last))
    mean = sum(Fraction(*link["share"]) for link in facts["links"])
    assert facts["hops"] == float(mean)
    assert f"{float(mean):g} hops" in route_text(facts)


def test_one_way_links_count_the_way_that_is_taken(tmp_path):
    """Six nodes on a ring of arcs: one link there, five back. The longer one used to count for both."""
    path = tmp_path / "ring.txt"
    path.write_text("".join(f"arc n{i} n{(i + 1) % 6} 1\n" for i in range(6)))
    where = hb.allocate(f"links:{path}")
    graph = CommGraph.from_edges([0, 1], [1, 0], [10, 1])
    pe = np.arange(2, dtype=np.int32)
    assert measure_links(graph, where, pe).hop_bytes == 10 * 1 + 1 * 5
    assert objectives["hop_bytes"]().value(graph, where, pe) == 15
    assert objectives["hops"]().value(graph, where, pe) == 6


def test_terms_that_are_zero_in_order_keep_their_weights():
    """Nothing can be divided by them: here no message leaves its node."""
    silent = CommGraph.from_edges([0], [1], [7], n=4)
    assert build(objectives, "hybrid").resolved(silent, hb.allocate("torus:2 / core:2")) == (1, 1, 1, 1)


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


def test_the_hybrid_metric_weighs_its_four_terms():
    """Three flows on a ring of links of capacity 2: see test_link_metrics.py."""
    graph = CommGraph.from_edges([0, 1, 0], [2, 0, 1], [6, 4, 2], [3, 1, 1])
    metric = Hybrid(raw=True, weights=(1, 10, 100, 1000))
    found = metric.value(graph, hb.allocate("torus:4:bw=2"), np.arange(4, dtype=np.int32))
    assert found == pytest.approx(18 + 10 * 4 + 100 * 3 + 1000 * 2 / 3)
