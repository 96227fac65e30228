"""Bytes per level, hops, link loads and heavy pairs, against known answers and other definitions."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.show.names import pe_name, without_shared_end, without_shared_start
from hopbytes.show.traffic import (
    heaviest_pairs,
    hop_histogram,
    launcher_mapping,
    level_bytes,
    link_loads,
    load_histogram,
)

MACHINES = ("node:4@10 package:2@3 core:4@1", "torus:4x4 / core:2", "fattree:4x8", "dragonfly:4x4x2")


def recording(n: int = 24, seed: int = 0) -> hb.CommGraph:
    numbers = np.random.default_rng(seed)
    sources, targets = numbers.integers(0, n, (2, 6 * n))
    messages = numbers.integers(1, 9, 6 * n)
    return hb.CommGraph.from_edges(sources, targets, messages * 1000, messages=messages, n=n)


def scattered(graph: hb.CommGraph, spec: str, seed: int = 0, **options: object) -> hb.Mapping:
    where = hb.allocate(spec, **options)
    return hb.Mapping(np.random.default_rng(seed).permutation(where.k)[: graph.n], where)


@pytest.mark.parametrize("seed", range(5))
def test_levels_are_those_of_the_evaluation(seed):
    graph = recording(seed=seed)
    mapping = scattered(graph, MACHINES[0], seed)
    found = level_bytes(graph, {"mine": mapping})
    levels = hb.evaluate(graph, mapping).levels
    assert found.levels == (*(level.name for level in levels), "same PE")
    assert found.volumes[0, :-1].tolist() == [level.volume for level in levels]


def test_tasks_on_one_pe_have_a_bar_of_their_own():
    graph = hb.CommGraph.from_edges([0, 1, 2], [1, 2, 3], [5, 7, 9], n=4)
    found = level_bytes(graph, {"mine": hb.Mapping([0, 0, 1, 2], hb.allocate("node:2 core:2"))})
    assert dict(zip(found.labels, found.volumes[0].tolist(), strict=True)) == {
        "between nodes": 9, "between cores": 7, "inside one PE": 5,
    }  # fmt: skip


@pytest.mark.parametrize("spec", MACHINES[1:])
def test_hops_and_volumes_give_the_hop_bytes(spec):
    graph = recording()
    mapping = scattered(graph, spec)
    found = hop_histogram(graph, {"mine": mapping})
    evaluation = hb.evaluate(graph, mapping)
    assert int(found.hops @ found.volumes[0]) == evaluation.mapping.links.hop_bytes
    to_itself = int(graph.arc_volumes()[graph.sources() == graph.targets].sum())
    assert int(found.volumes.sum()) == graph.total_volume - to_itself


def test_histograms_of_two_mappings_have_the_same_bars():
    graph = hb.CommGraph.from_edges([0], [1], [10], n=2)
    where = hb.allocate("mesh:8")
    found = hop_histogram(graph, {"far": hb.Mapping([0, 7], where), "near": hb.Mapping([2, 3], where)})
    assert found.hops.tolist() == [0, 1, 7]
    assert found.volumes.tolist() == [[0, 0, 10], [0, 10, 0]]


def test_loads_of_links_of_a_line():
    graph = hb.CommGraph.from_edges([0, 3], [2, 2], [10, 4], n=4)
    found = link_loads(graph, hb.Mapping([0, 1, 2, 3], hb.allocate("mesh:4")))
    loaded = {name: int(volume) for name, volume in zip(found.names, found.volumes, strict=True) if volume}
    assert loaded == {"r0 -> r1 (x+)": 10, "r1 -> r2 (x+)": 10, "r3 -> r2 (x-)": 4}
    assert len(found.names) == 6  # no link over the border of a mesh
    assert found.names[found.most_loaded(1)[0]] == "r0 -> r1 (x+)"
    assert len(found.most_loaded(10)) == 3


@pytest.mark.parametrize("spec", MACHINES[1:])
def test_loads_of_links_are_those_of_the_evaluation(spec):
    graph = recording()
    mapping = scattered(graph, spec)
    found, evaluation = link_loads(graph, mapping), hb.evaluate(graph, mapping)
    hottest = [(found.names[i], found.volumes[i]) for i in found.most_loaded().tolist()]
    assert hottest == [(link.name, link.volume) for link in evaluation.hottest]
    assert found.congestion.max() == pytest.approx(evaluation.mapping.links.max_congestion)
    assert int(np.count_nonzero(found.volumes)) == evaluation.mapping.links.used_links


def test_histogram_of_loads_counts_every_link_once():
    graph = recording(16)
    loads = [link_loads(graph, scattered(graph, "torus:4x4", seed)) for seed in (0, 1)]
    found = load_histogram(loads, 7)
    assert found.counts.shape == (2, 7)
    assert (found.counts.sum(axis=1) + found.idle).tolist() == [64, 64]
    assert found.edges[-1] == max(one.congestion.max() for one in loads)


def test_histogram_of_an_idle_network():
    graph = hb.CommGraph.from_edges([0], [1], [0], n=2)
    found = load_histogram([link_loads(graph, hb.Mapping([0, 1], hb.allocate("mesh:2")))])
    assert (int(found.counts.sum()), found.idle.tolist()) == (0, [2])


def test_machines_without_links_are_refused():
    graph = recording()
    mapping = scattered(graph, MACHINES[0])
    for figure in (lambda: link_loads(graph, mapping), lambda: hop_histogram(graph, {"mine": mapping})):
        with pytest.raises(hb.UnsupportedError, match="the machine has no links"):
            figure()


def test_heaviest_pairs_against_all_pairs():
    graph = recording()
    dense = graph.to_scipy().toarray()
    both = [
        (-int(dense[i, j] + dense[j, i]), i, j) for i in range(graph.n) for j in range(i + 1, graph.n)
    ]
    expected = [(i, j, -volume) for volume, i, j in sorted(both)[:10]]
    found = heaviest_pairs(graph, scattered(graph, MACHINES[0]))
    assert [(pair.first, pair.second, pair.volume) for pair in found] == expected


def test_pairs_name_places_levels_and_hops():
    graph = hb.CommGraph.from_edges([0, 0, 3], [1, 2, 2], [9, 8, 7], n=4)
    mapping = hb.Mapping([0, 1, 4, 4], hb.allocate("torus:4 / core:2", hosts="a,b,c,d"))
    found = heaviest_pairs(graph, mapping)
    assert [(pair.first_pe, pair.second_pe, pair.level, pair.hops) for pair in found] == [
        ("a core 0", "a core 1", "core", 0), ("a core 0", "c core 0", "node", 2),
        ("c core 0", "c core 0", "same PE", 0),
    ]  # fmt: skip
    assert pe_name(hb.allocate("torus:4"), 2) == "node 2"


def test_pairs_without_traffic_are_left_out():
    graph = hb.CommGraph.from_edges([0, 1], [1, 1], [0, 5], n=3)
    assert heaviest_pairs(graph, scattered(graph, "core:3")) == ()


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["MF0;p1-s1:MQM/U1", "MF0;p1-s2:MQM/U1"], ["s1", "s2"]),
        (["a.b", "a.b"], ["a.b", "a.b"]),
        (["", "x"], ["", "x"]),
        (["x-1", "x-"], ["x-1", "x-"]),
        (["n1.a.fr", "n2.b.fr"], ["n1.a", "n2.b"]),
        ([], []),
    ],
)
def test_names_lose_what_all_of_them_share(names, short):
    assert without_shared_end(without_shared_start(names)) == short


@pytest.mark.parametrize("spec", MACHINES)
def test_no_traffic_is_lost_among_levels(spec):
    graph = recording()
    mapping = scattered(graph, spec)
    found = level_bytes(graph, {"mine": mapping, "theirs": launcher_mapping(graph, mapping)})
    to_itself = int(graph.arc_volumes()[graph.sources() == graph.targets].sum())
    assert found.volumes.sum(axis=1).tolist() == [graph.total_volume - to_itself] * 2


def test_the_launcher_mapping_is_the_one_evaluate_compares_with():
    graph = recording()
    mapping = scattered(graph, MACHINES[0])
    for order in ("fill", "cyclic"):
        own = hb.evaluate(graph, launcher_mapping(graph, mapping, order))
        assert own.comm_cost == hb.evaluate(graph, mapping, launcher=order).in_order.comm_cost
