"""Several phases on one mapping: exact sums, and exhaustive searches for the least sum and maximum."""

import itertools

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.model.phases import Phases

MACHINE = "node:2@10 package:2@3 core:2@1"


def phase(seed, n=6, most=99, **more):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n, (2, 2 * n))
    return hb.CommGraph.from_edges(
        *ends, rng.integers(0, most, 2 * n), rng.integers(1, 5, 2 * n), n=n, meta={"name": f"p{seed}"}, **more
    )


def cost(graph, matrix, pe):
    return sum(
        w * int(matrix[pe[u]][pe[v]]) for u, v, w in
        zip(graph.sources().tolist(), graph.targets.tolist(), graph.arc_volumes().tolist(), strict=True)
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("goal", ["sum", "max"])
def test_small_cases_reach_the_exhaustive_optimum(goal, seed):
    graphs = [phase(3 * seed + i, undirected=i == 2 and seed % 2 == 1) for i in range(2 + seed % 2)]
    weights = [3, 1, 2][: len(graphs)]
    where = hb.allocate("node:2@10 package:3@3 core:1@1")
    matrix = where.distance.matrix()
    fold = {"sum": sum, "max": max}[goal]
    least = min(
        fold(w * cost(graph, matrix, pe) for w, graph in zip(weights, graphs, strict=True))
        for pe in itertools.permutations(range(6))
    )
    found = hb.map_phases(graphs, where, weights=weights, goal=goal)
    costs = [cost(graph, matrix, found.pe) for graph in graphs]
    assert [entry["comm_cost"] for entry in found.info["phases"]] == costs
    assert [entry["in_order"] for entry in found.info["phases"]] == [
        cost(graph, matrix, range(6)) for graph in graphs
    ]
    assert fold(w * c for w, c in zip(weights, costs, strict=True)) == least
    assert found.info["comm_cost"] == sum(w * c for w, c in zip(weights, costs, strict=True))
    if goal == "max":
        assert found.info["largest_phase"] == least


def test_the_least_maximum_is_better_for_the_dearest_phase_than_the_least_sum():
    graphs = [phase(seed, 24, 999) for seed in (1, 2, 3)]
    where = hb.allocate("node:4@100 package:2@10 core:3@1")
    worst = {}
    for goal in ("sum", "max"):
        found = hb.map_phases(graphs, where, weights=[2, 1, 1], goal=goal, seed=1)
        worst[goal] = max(p["weight"] * p["comm_cost"] for p in found.info["phases"])
        again = hb.map_phases(graphs, where, weights=[2, 1, 1], goal=goal, seed=1, threads=1)
        assert again.pe.tolist() == found.pe.tolist()
    assert worst["max"] < worst["sum"]
    # No exchange of two tasks lowers the maximum.
    matrix, pe = where.distance.matrix(), found.pe.tolist()
    for u, v in itertools.combinations(range(24), 2):
        other = list(pe)
        other[u], other[v] = pe[v], pe[u]
        assert max(w * cost(g, matrix, other) for w, g in zip([2, 1, 1], graphs, strict=True)) >= worst["max"]


def test_the_combination_is_exact():
    graphs = [phase(1), phase(2, undirected=True), hb.CommGraph.from_edges([0, 5], [5, 1], [0.25, 1.5], n=6)]
    phases = Phases.of(graphs, ["0.1", 2, 3])
    assert (phases.weights, phases.factor) == ((1, 20, 30), 10)
    whole = phases.combined()
    assert whole.scale == 100 if graphs[2].scale == 100 else whole.scale == graphs[2].scale
    expected = np.zeros((6, 6), np.int64)
    for graph, weight in zip(graphs, phases.weights, strict=True):
        expected += weight * (whole.scale // graph.scale) * graph.to_scipy().toarray()
    assert np.array_equal(whole.to_scipy().toarray(), expected)
    assert whole.messages is None
    counted = Phases.of(graphs[:2], [1, 2]).combined()
    messages = graphs[0].to_scipy("messages").toarray() + 2 * graphs[1].to_scipy("messages").toarray()
    assert np.array_equal(counted.to_scipy("messages").toarray(), messages)


@pytest.mark.parametrize("weights", [["x", 1], [-1, 1], [np.nan, 1], ["1e999", 1], [True, 1], [0, 0], [1]])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(hb.UnsupportedError, match="phase weight"):
        hb.map_phases([phase(1), phase(2)], MACHINE, weights=weights)


def test_phases_that_do_not_fit_are_refused():
    with pytest.raises(hb.UnsupportedError, match="p2 has 7 tasks, but p1 has 6"):
        hb.map_phases([phase(1), phase(2, 7)], MACHINE)
    with pytest.raises(hb.WrongTypeError, match="expected a list of patterns"):
        hb.map_phases(phase(1), MACHINE)
    with pytest.raises(hb.UnsupportedError, match="at least one pattern"):
        hb.map_phases([], MACHINE)
    with pytest.raises(hb.UnsupportedError, match="goal"):
        hb.map_phases([phase(1)], MACHINE, goal="mean")
    with pytest.raises(hb.UnsupportedError, match="goal max"):
        hb.map_phases([phase(1)], MACHINE, goal="max", weight="messages")


def test_weighted_sums_beyond_63_bits_name_the_factor():
    large = hb.CommGraph.from_edges([0], [1], [2**40], n=6)
    with pytest.raises(hb.ScaleError, match="divide the phase weights by 2 or more"):
        hb.map_phases([large, large], MACHINE, weights=[2**23, 1])
    for columns, loads in (([[1], [2**40]], None), ([[1]], [2**40, *[0] * 5])):  # messages, then loads
        many = hb.CommGraph.from_edges([0], [1], *columns, n=6, loads=loads)
        with pytest.raises(hb.ScaleError, match="divide the phase weights by 2 or more"):
            hb.map_phases([many, many], MACHINE, weights=[2**23, 1])
    with pytest.raises(hb.ScaleError, match="divide the phase weights by 3 or more"):
        hb.map_phases([large, large], MACHINE, weights=[2**18, 1], goal="max")
