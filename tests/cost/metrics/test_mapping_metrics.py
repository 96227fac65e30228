"""Metrics against a brute-force twin on random trees and graphs, hand-made cases, and the limits."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.errors import mentions
from helpers.strategies import graphs, machines
from hopbytes.cost.metrics.baselines import at_random, in_order
from hopbytes.cost.metrics.evaluation import evaluate
from hopbytes.cost.metrics.mapping_metrics import measure
from hopbytes.cost.objectives.comm_cost import check_scale
from hopbytes.errors import FormatError, ScaleError
from hopbytes.machines.base import Level
from hopbytes.machines.tree import Tree
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping


def tree(*levels):
    """Build a machine from (name, count, distance) triples, outermost first."""
    return Allocation.whole(
        Tree(tuple(Level(name, d) for name, _, d in levels), tuple(count for _, count, _ in levels))
    )


@st.composite
def allocations(draw):
    """Whole machines and sparse parts of them."""
    whole = Allocation.whole(draw(machines(max_cores=24)))
    kept = sorted(draw(st.sets(st.integers(0, whole.k - 1), min_size=1, max_size=12)))
    return whole if draw(st.booleans()) else whole.select(np.array(kept, np.int64))


@st.composite
def cases(draw):
    where = draw(allocations())
    n = draw(st.integers(0, 8))
    pe = draw(st.lists(st.integers(0, where.k - 1), min_size=n, max_size=n))
    return draw(graphs(n=n)), where, np.array(pe, np.int32)


def unit_path(where, pe):
    """Units of each level, outermost first, that a PE lies in: the definition everything else follows."""
    core = int(where.first_core[pe])
    return [int(where.machine.ancestors(level)[core]) for level in range(len(where.machine.levels))]


def brute_force(graph, where, pe):
    """Every metric straight from its definition, arc by arc and PE by PE."""
    levels = where.machine.levels
    arcs = []
    for i in range(graph.n):
        for e in range(graph.indptr[i], graph.indptr[i + 1]):
            j = int(graph.targets[e])
            if i == j:
                continue
            a, b = unit_path(where, pe[i]), unit_path(where, pe[j])
            first = next((at for at in range(len(levels)) if a[at] != b[at]), None)
            distance = 0 if first is None else levels[first].distance
            arcs.append((int(graph.arc_volumes()[e]), int(graph.arc_messages()[e]), first, distance))
    cost = sum(v * d for v, _, _, d in arcs)
    volume = sum(v for v, *_ in arcs)
    loads = [sum(int(graph.task_loads()[t]) for t in range(graph.n) if pe[t] == p) for p in range(where.k)]
    tasks = [int(np.sum(pe == p)) for p in range(where.k)]
    return {
        "comm_cost": cost,
        "edge_cut": sum(v for v, _, first, _ in arcs if first is not None),
        "imbalance": (max(loads) * where.k - sum(loads)) / sum(loads) if sum(loads) else 0.0,
        "max_load": max(loads),
        "used_pes": sum(t > 0 for t in tasks),
        "min_tasks_per_pe": min(tasks),
        "max_tasks_per_pe": max(tasks),
        "mean_distance": sum(d for *_, d in arcs) / len(arcs) if arcs else 0.0,
        "weighted_mean_distance": cost / volume if volume else 0.0,
        "levels": [
            {
                "name": level.name,
                "distance": level.distance,
                "volume": sum(v for v, _, first, _ in arcs if first == number),
                "messages": sum(m for _, m, first, _ in arcs if first == number),
                "cut": sum(v for v, _, first, _ in arcs if first is not None and first <= number),
                "cost_share": sum(v * d for v, _, at, d in arcs if at == number) / cost if cost else 0.0,
            }
            for number, level in enumerate(levels)
        ],
    }


@given(cases())
@settings(deadline=None, max_examples=200)
def test_every_metric_equals_its_definition(case):
    graph, where, pe = case
    found = measure(graph, where, pe).to_dict()
    assert found == brute_force(graph, where, pe)
    assert all(type(found[key]) is int for key in ("comm_cost", "edge_cut", "max_load", "used_pes"))


@given(cases(), st.sampled_from(["processes", "partition", None]))
@settings(deadline=None, max_examples=60)
def test_baselines_keep_the_number_of_tasks_per_pe(case, problem):
    graph, where, pe = case
    mapping = Mapping(pe, where, {"problem": problem})
    ordered = in_order(graph, mapping)
    assert np.all(np.diff(ordered) >= 0)
    if problem == "processes" and len(pe) > where.k:
        assert np.array_equal(np.bincount(ordered, minlength=where.k), mapping.tasks_per_pe())
    for seed in range(3):
        shuffled = at_random(mapping, seed)
        assert shuffled.dtype == np.int32
        assert np.array_equal(np.bincount(shuffled, minlength=where.k), mapping.tasks_per_pe())
    assert np.array_equal(at_random(mapping, 1), at_random(mapping, 1))


def test_in_order_blocks_of_a_partition_follow_the_loads():
    """Four PEs, loads 3 1 1 1 3 3: blocks by count would hold 4, 2, 3, 3; by load every PE holds 3."""
    where = tree(("node", 2, 10), ("core", 2, 1))
    graph = CommGraph.from_edges([0], [1], n=6, loads=[3, 1, 1, 1, 3, 3])
    pe = np.array([0, 0, 1, 1, 2, 3], np.int32)
    assert in_order(graph, Mapping(pe, where, {"problem": "partition"})).tolist() == [0, 1, 1, 1, 2, 3]
    assert in_order(graph, Mapping(pe, where, {"problem": "processes"})).tolist() == [0, 0, 1, 1, 2, 3]


def test_in_order_blocks_follow_the_capacities():
    plain = tree(("core", 3, 1))
    where = Allocation(plain.machine, plain.core_start, plain.cores, capacity=np.array([1, 3, 2]))
    for loads in (None, [5] * 12):
        graph = CommGraph.from_edges([0], [1], n=12, loads=loads)
        found = in_order(graph, Mapping(np.arange(12) % 3, where))
        assert np.bincount(found).tolist() == [2, 6, 4]


def test_a_partition_with_one_task_per_pe_has_the_baseline_of_processes():
    where = tree(("node", 2, 10), ("core", 2, 1))
    graph = CommGraph.from_edges([0], [1], n=2, loads=[1, 9])
    mapping = Mapping(np.array([1, 3], np.int32), where, {"problem": "partition", "slots": "spread"})
    assert in_order(graph, mapping).tolist() == [0, 1]


def test_in_order_blocks_survive_the_largest_loads():
    where = tree(("core", 3, 1))
    graph = CommGraph.from_edges([0], [1], n=3, loads=[2**61, 2**61, 2**61])
    pe = np.zeros(3, np.int32)
    assert in_order(graph, Mapping(pe, where, {"problem": "partition"})).tolist() == [0, 1, 2]


def test_the_diagonal_is_reported_and_ignored():
    where = tree(("node", 2, 10))
    graph = CommGraph.from_edges([0, 0], [0, 1], [30, 10])
    found = evaluate(graph, Mapping(np.array([0, 1], np.int32), where))
    assert found.diagonal_share == 0.75
    assert (found.mapping.comm_cost, found.mapping.weighted_mean_distance) == (100, 10.0)
    assert "75.00%" in str(found)


def test_capacities_make_the_fair_share_unequal():
    whole = tree(("core", 2, 1))
    where = Allocation(whole.machine, whole.core_start, whole.cores, capacity=np.array([1, 3], np.int64))
    graph = CommGraph.from_edges([0], [1], n=4)
    assert measure(graph, where, np.array([0, 1, 1, 1], np.int32)).imbalance == 0.0
    assert measure(graph, where, np.array([0, 0, 1, 1], np.int32)).imbalance == 1.0


def test_a_bound_that_is_met_exactly_is_not_exceeded_by_rounding():
    graph = CommGraph.from_edges([0], [1], n=3, loads=[103, 97, 100])
    assert measure(graph, tree(("core", 3, 1)), np.arange(3, dtype=np.int32)).imbalance == 0.03


def test_sums_close_to_the_limit_are_exact_and_beyond_it_refused():
    where = tree(("node", 2, 2), ("core", 1, 1))
    pe = np.array([0, 1], np.int32)
    largest = CommGraph.from_edges([0], [1], [2**62 - 1])
    assert measure(largest, where, pe).comm_cost == 2**63 - 2
    beyond = CommGraph.from_edges([0], [1], [2**62])
    with pytest.raises(ScaleError, match=r"divide the volumes or the distances by 2 or more"):
        check_scale(beyond, where)
    with pytest.raises(ScaleError):
        evaluate(beyond, Mapping(pe, where))


def test_an_allocation_inside_one_node_is_scaled_by_the_distances_it_has():
    where = tree(("node", 2, 2**40), ("core", 2, 1)).select(np.array([0, 1]))
    check_scale(CommGraph.from_edges([0], [1], [2**40]), where)


def test_a_mapping_of_another_length_is_refused():
    where = tree(("core", 2, 1))
    with pytest.raises(FormatError, match=mentions("3", "2")):
        evaluate(CommGraph.from_edges([0], [1], n=2), Mapping(np.zeros(3, np.int32), where))


def test_json_keys_are_stable_and_random_is_a_mean_with_its_range():
    where = tree(("node", 2, 10), ("core", 4, 1))
    graph = CommGraph.from_edges(range(8), [1, 2, 3, 4, 5, 6, 7, 0], [5] * 8)
    found = evaluate(graph, Mapping(np.arange(8, dtype=np.int32), where), random_seeds=12)
    record = json.loads(json.dumps(found.to_dict()))
    assert list(record) == [
        "comm_cost", "edge_cut", "imbalance", "max_load", "used_pes", "min_tasks_per_pe",
        "max_tasks_per_pe", "mean_distance", "weighted_mean_distance", "max_send_volume",
        "total_send_volume", "max_send_messages", "total_send_messages", "inter_node_volume",
        "inter_node_messages", "intra_node_volume", "intra_node_messages", "max_node_receive_volume",
        "max_node_receive_messages", "levels", "tasks", "pes", "total_volume", "diagonal_share",
        "messages_known", "scale", "tasks_per_unit", "launcher", "in_order", "random",
    ]
    assert record["in_order"]["comm_cost"] == record["comm_cost"] == 2 * 5 * 10 + 6 * 5
    chance = record["random"]
    assert chance["seeds"] == 12
    assert chance["comm_cost"]["min"] < chance["comm_cost"]["mean"] < chance["comm_cost"]["max"]
    assert chance["levels"][0]["name"] == "node"
    assert chance["levels"][0]["volume"]["max"] <= 40
    assert record["tasks_per_unit"] == {"node": {"units": 2, "used": 2, "min": 4, "max": 4}}
    bare = evaluate(graph, Mapping(np.arange(8, dtype=np.int32), where), baselines=False).to_dict()
    assert "in_order" not in bare
    assert "random" not in bare


@given(cases())
@settings(deadline=None, max_examples=60)
def test_level_sums_make_up_the_whole(case):
    graph, where, pe = case
    found = measure(graph, where, pe)
    assert found.comm_cost == sum(level.volume * level.distance for level in found.levels)
    assert found.edge_cut == sum(level.volume for level in found.levels) == found.levels[-1].cut
    inwards = [*where.machine.levels[1:], Level("nothing", 0)]
    steps = [a.distance - b.distance for a, b in zip(where.machine.levels, inwards, strict=True)]
    assert found.comm_cost == sum(level.cut * step for level, step in zip(found.levels, steps, strict=True))
