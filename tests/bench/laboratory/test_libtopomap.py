"""The three mappers of LibTopoMap: answers by hand, unequal nodes, what they refuse."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.strategies import random_graph
from hopbytes.algorithms.two_level.groups import nodes_of
from hopbytes.errors import UnsupportedError
from hopbytes.solve.map_tasks import map_tasks
from hopbytes_laboratory.libtopomap import host_graph

NAMES = ("libtopomap_greedy", "libtopomap_bisection", "libtopomap_rcm")


def chain(volumes):
    ends = np.arange(len(volumes))
    return hb.CommGraph.from_edges(ends, ends + 1, volumes, n=len(volumes) + 1)


def hop_bytes(graph, mapping):
    return hb.evaluate(graph, mapping, random_seeds=0).to_dict()["hop_bytes"]


def test_the_graph_of_the_network_holds_nodes_routers_and_both_directions():
    where = hb.allocate("fattree:2x2:up=1x2:nodes=3:bw=3x5")
    graph = host_graph(nodes_of(where), "test")
    # Places 0-2, then their adapters, two leaves, two spines; the fourth port of the tree leads nowhere.
    assert (graph.places, graph.count) == (3, 10)
    weights = {}
    for near, far, capacity in zip(graph.sources(), graph.targets, graph.capacity, strict=True):
        weights[int(near), int(far)] = int(capacity)
    assert all(weights[near, far] == weights[far, near] for near, far in weights)
    # Three cables of 3 both ways and three places as wide, each seen from both ends; four cables of 5.
    assert sorted(weights.values()) == [6] * 12 + [10] * 8


def test_greedy_by_hand():
    # Task 2 talks most (9 + 8): node 0 of the ring. Then along 9 to task 3: nearest free nodes are 1 and
    # 5, the smaller number wins. Then along 8 to task 1: node 5, nearest to node 0. Then 0 beside 1: 4.
    graph = chain([7, 8, 9, 6])
    mapping = map_tasks(graph, hb.allocate("torus:6", hosts="nodes:0,1,3-5"), "libtopomap_greedy")
    assert mapping.where.node_of_pe[mapping.pe].tolist() == [4, 5, 0, 1, 3]


def test_greedy_turns_away_from_loaded_links():
    """Of two nodes two hops off the one behind the less loaded link is taken, not the smaller number."""
    # The hub sits at node 0 of the ring, 1 beside it at node 1 (9 on that link), 2 at node 5 (8 on that one).
    # For 3 nodes 2 and 4 are as near in hops; the way to 4 carries less. The silent tasks follow the last.
    graph = hb.CommGraph.from_edges([0, 0, 0], [1, 2, 3], [9, 8, 7], n=6)
    mapping = map_tasks(graph, hb.allocate("torus:6"), "libtopomap_greedy")
    assert mapping.pe.tolist() == [0, 1, 5, 4, 3, 2]


def test_bisection_finds_the_thin_place(tmp_path):
    """Two cliques of hosts behind a thin link, listed alternately; two cliques of tasks likewise."""
    links = tmp_path / "two.links"
    hosts = "".join(f"link h{i} {'s' if i % 2 else 't'} 10\n" for i in range(8))
    links.write_text(f"host h[0-7]\nswitch s t\n{hosts}link s t 1\n")
    where = hb.allocate(f"links:{links}")
    pairs = [(a, b) for a in range(8) for b in range(8) if a != b and (a < 4) == (b < 4)]
    graph = hb.CommGraph.from_edges(*np.array(pairs).T, n=8)
    mapping = map_tasks(graph, where, "libtopomap_bisection")
    sides = mapping.pe % 2
    assert len(set(sides[:4])) == len(set(sides[4:])) == 1
    assert sides[0] != sides[4]


def test_rcm_lays_a_shuffled_path_along_a_line():
    order = np.random.default_rng(1).permutation(12)
    graph = hb.CommGraph.from_edges(order[:-1], order[1:], n=12)
    mapping = map_tasks(graph, hb.allocate("mesh:12"), "libtopomap_rcm")
    assert hop_bytes(graph, mapping) == graph.m


@pytest.mark.parametrize("name", NAMES)
def test_unequal_nodes_get_what_they_hold(name):
    where = hb.allocate("mesh:2x3@5 / core:[4,1,2,1,4,2]@1")
    for seed in range(3):
        graph = random_graph(np.random.default_rng(seed), n=where.k)
        mapping = map_tasks(graph, where, name, seed=seed)
        assert np.array_equal(np.sort(mapping.pe), np.arange(where.k))


@pytest.mark.parametrize("name", NAMES)
def test_guarded_mappers_never_raise_the_highest_congestion(name):
    where = hb.allocate("torus:4x4 / core:2")
    order = np.arange(31)
    graph = hb.CommGraph.from_edges(order, order + 1, n=32)  # in-order placement is as good as any
    both = [map_tasks(graph, where, f"{name}:guarded={word}") for word in ("false", "true")]
    facts = [hb.evaluate(graph, mapping, random_seeds=0).to_dict() for mapping in both]
    assert facts[1]["max_congestion"] <= facts[1]["in_order"]["max_congestion"]
    assert facts[1]["max_congestion"] <= facts[0]["max_congestion"]


@pytest.mark.parametrize("name", NAMES)
def test_tasks_that_do_not_talk_and_single_nodes(name):
    silent = hb.CommGraph.from_edges([], [], n=8)
    for spec in ("torus:4 / core:2", "torus:1 / core:8"):
        mapping = map_tasks(silent, hb.allocate(spec), name)
        assert np.array_equal(np.sort(mapping.pe), np.arange(8))


@pytest.mark.parametrize("name", NAMES)
def test_machines_without_links_are_refused(name, tmp_path):
    graph = hb.CommGraph.from_edges([0], [1], n=2)
    with pytest.raises(UnsupportedError, match="links"):
        map_tasks(graph, hb.allocate("node:2 core:1"), name)
