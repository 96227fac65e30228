"""The judge of the benchmark against costs worked out by hand and by double loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.evaluate import evaluate, load_bounds
from bench.instances.graphs import Arrays, from_edges


def path_graph(volumes: list[int]) -> Arrays:
    """Tasks in a row, both directions stored."""
    n = len(volumes) + 1
    graph = from_edges(n, np.arange(n - 1), np.arange(1, n))
    sources = np.repeat(np.arange(n), np.diff(graph.indptr))
    return Arrays(graph.indptr, graph.targets, np.array(volumes)[np.minimum(sources, graph.targets)])


def test_levels_are_innermost_first():
    """Paper 001, figure 1: in 4:2:3 with 1:10:100, PE 0 is at 1 from 3, at 10 from 5, at 100 from 13."""
    for other, distance, level in ((3, 1, 1), (5, 10, 2), (13, 100, 3), (0, 0, 0)):
        result = evaluate(path_graph([5]), np.array([0, other]), (4, 2, 3), (1, 10, 100), 0.0)
        assert result["comm_cost"] == 2 * 5 * distance  # an undirected edge counts in each direction
        assert result["level_volumes"][level] == 10


def test_an_edge_inside_a_pe_is_not_cut():
    result = evaluate(path_graph([5, 7]), np.array([0, 0, 1]), (2,), (3,), 1.0)
    assert (result["edge_cut"], result["comm_cost"], result["used_pes"], result["empty_pes"]) == (7, 42, 2, 0)


@settings(deadline=None)
@given(st.data())
def test_cost_is_the_double_sum(data):
    hierarchy = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    depth = len(hierarchy)
    distance = np.cumsum(data.draw(st.lists(st.integers(0, 9), min_size=depth, max_size=depth)))
    n, k = data.draw(st.integers(1, 12)), int(np.prod(hierarchy))
    pe = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)))
    pairs = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30))
    graph = from_edges(n, np.array([a for a, _ in pairs], int), np.array([b for _, b in pairs], int))

    def apart(x: int, y: int) -> int:
        cost = 0
        for arity, price in zip(hierarchy, distance.tolist(), strict=True):
            if x == y:
                break
            cost, x, y = price, x // arity, y // arity
        return cost

    edges = {(min(a, b), max(a, b)) for a, b in pairs if a != b}
    expected = sum(2 * apart(int(pe[a]), int(pe[b])) for a, b in edges)
    assert evaluate(graph, pe, hierarchy, distance.tolist(), 0.03)["comm_cost"] == expected


def test_bound_is_exact_where_floating_point_is_not():
    # 1.1 * 800 / 8 is 110 exactly; 1.15 * 100 is 114.99999999999999 in floating point.
    assert load_bounds(np.ones(800, np.int64), 8, 0.1) == (110, 110)
    assert load_bounds(np.ones(100, np.int64), 1, 0.15) == (115, 115)
    assert load_bounds(np.ones(15606, np.int64), 192, 0.03) == (83, 84)  # 83.72


@pytest.mark.parametrize(
    ("loads", "k", "bound"),
    [([3, 3, 3], 2, 5), ([1] * 65, 64, 2), ([8, 1, 1], 4, 8), ([0, 0], 3, 0)],
    ids=["ceil of the ideal", "one more than PEs", "heaviest", "nothing"],
)
def test_bound_without_slack(loads, k, bound):
    assert load_bounds(np.array(loads), k, 0.0) == (bound, bound)


def test_over_bound_is_seen():
    graph = path_graph([1, 1, 1])
    assert not evaluate(graph, np.array([0, 0, 1, 1]), (2,), (1,), 0.0)["over_bound"]
    result = evaluate(graph, np.array([0, 0, 0, 1]), (2,), (1,), 0.0)
    assert result["over_bound"]
    assert result["imbalance_reached"] == 0.5


def test_every_tool_is_judged_by_the_bound_of_the_papers():
    graph = path_graph([1] * 9)  # ten tasks on four PEs at 30 %: 3.25, three rounded down and four rounded up
    full = evaluate(graph, np.array([0, 0, 0, 0, 1, 1, 2, 2, 3, 3]), (4,), (1,), 0.3)
    assert (full["load_bound"], full["over_bound"], full["over_rounded_down"]) == (3, False, True)
    fuller = evaluate(graph, np.array([0, 0, 0, 0, 0, 1, 2, 2, 3, 3]), (4,), (1,), 0.3)
    assert (fuller["over_bound"], fuller["over_rounded_down"]) == (True, True)


@pytest.mark.parametrize("pe", [[0, 1], [0, 1, 2], [0, -1, 1]], ids=["too few", "too high", "negative"])
def test_unusable_placements_are_refused(pe):
    with pytest.raises(ValueError, match=r"expected|outside"):
        evaluate(path_graph([1, 1]), np.array(pe), (2,), (1,), 0.0)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_package_and_the_judge_agree(seed):
    """Two programs that share no code: the metrics of the package and those of the judge."""
    from hopbytes.kernels import comm_cost_by_level
    from hopbytes.machines.spec import parse_machine
    from hopbytes.model.comm_graph import CommGraph

    rng = np.random.default_rng(seed)
    hierarchy, distance = [3, 2, 4], [1, 10, 100]
    n = int(rng.integers(1, 200))
    graph = from_edges(n, rng.integers(0, n, 3 * n), rng.integers(0, n, 3 * n))
    pe = rng.integers(0, 24, n)
    where = parse_machine("level3:4@100 level2:2@10 level1:3@1").distance()
    ours = CommGraph(graph.indptr, graph.targets.astype(np.int32), undirected=True)
    volumes = comm_cost_by_level(
        ours.arcs(None), pe.astype(np.int32), where.labels, where.level_of_bit, 3
    )
    result = evaluate(graph, pe, hierarchy, distance, 0.03)
    assert result["level_volumes"] == volumes.tolist()
    assert result["comm_cost"] == int(volumes @ where.costs)
