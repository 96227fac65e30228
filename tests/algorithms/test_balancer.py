"""Repair: caps hold whenever loads make that possible, nothing is lost, and the reported change is true."""


import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.strategies import graphs, machines
from hopbytes import CommGraph
from hopbytes.algorithms.balancer import fill_empty, meet_bounds
from hopbytes.machines.base import Level
from hopbytes.machines.distances import TableDistance, TreeDistance
from hopbytes.machines.kinds.table import Table
from hopbytes.machines.tree import Tree
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.solve.problem import Constraints


def four_cores():
    return Allocation.whole(Tree((Level("node", 10), Level("core", 1)), (2, 2)))


def pair_cost(graph, where, pe):
    """Sum over pairs, each once, of symmetric weight x distance: the plain definition."""
    indptr, targets, weights = graph.symmetric()
    distance = where.distance.matrix()
    total = 0
    for u in range(graph.n):
        for e in range(indptr[u], indptr[u + 1]):
            if targets[e] > u:
                total += (1 if weights is None else int(weights[e])) * int(distance[pe[u], pe[targets[e]]])
    return total


@st.composite
def placements(draw, max_tasks=40):
    """A graph with loads of one, an allocation, and any placement, often crowded on few PEs."""
    graph = draw(graphs(max_tasks=max_tasks))
    where = Allocation.whole(draw(machines(max_cores=30)))
    used = draw(st.integers(1, where.k))
    pe = np.array(draw(st.lists(st.integers(0, used - 1), min_size=graph.n, max_size=graph.n)), np.int32)
    return graph, where, pe


@given(placements(), st.integers(0, 3))
@settings(deadline=None)
def test_unit_tasks_always_end_within_caps_that_can_hold_them(case, slack):
    graph, where, pe = case
    caps = np.full(where.k, -(-graph.n // where.k) + slack, np.int64)
    before = pe.copy()
    done = meet_bounds(graph, where, pe, None, caps)
    assert np.all(np.bincount(done.pe, minlength=where.k) <= caps)
    assert np.array_equal(pe, before), "the input is the caller's"
    assert done.change == pair_cost(graph, where, done.pe) - pair_cost(graph, where, pe)
    assert np.count_nonzero(done.pe != pe) <= done.moves
    crowded = np.bincount(pe, minlength=where.k) > caps
    assert np.all(crowded[pe[done.pe != pe]]), "only tasks of overfull PEs move"


@given(placements(), st.data())
@settings(deadline=None)
def test_exact_counts_are_met_exactly(case, data):
    graph, where, pe = case
    shuffled = data.draw(st.permutations(range(where.k)))
    counts = np.full(where.k, graph.n // where.k, np.int64)
    counts[list(shuffled)[: graph.n % where.k]] += 1
    done = meet_bounds(graph, where, pe, None, counts)
    assert np.array_equal(np.bincount(done.pe, minlength=where.k), counts)


@given(placements())
@settings(deadline=None)
def test_no_pe_stays_empty_when_there_are_tasks_enough(case):
    graph, where, pe = case
    done = fill_empty(graph, where, pe)
    assert len(np.unique(done.pe)) == max(min(graph.n, where.k), len(np.unique(pe)))
    assert done.moves == len(np.unique(done.pe)) - len(np.unique(pe))
    assert done.change == pair_cost(graph, where, done.pe) - pair_cost(graph, where, pe)


def test_an_empty_pe_gets_a_task_that_it_can_hold():
    """Task 0 has the least loss, but is too heavy for the small PE, so the lightest task takes its place."""
    graph = CommGraph.from_edges([1, 2], [2, 3], [9, 9], n=4, loads=np.array([7, 5, 2, 3]))
    pe = np.array([0, 0, 1, 1], np.int32)
    where = Allocation.whole(Tree((Level("core", 1),), (3,)))
    caps = np.array([20, 20, 2])
    assert fill_empty(graph, where, pe).pe.tolist() == [2, 0, 1, 1]
    assert fill_empty(graph, where, pe, None, caps).pe.tolist() == [0, 0, 2, 1]
    assert fill_empty(graph, where, pe, None, caps - 1).pe.tolist() == [2, 0, 1, 1]


@given(placements(), st.data())
@settings(deadline=None)
def test_weighted_tasks_end_within_a_heaviest_task_of_the_even_share(case, data):
    """The bound of longest-first list scheduling, whatever the start; tasks without load stay."""
    graph, where, pe = case
    loads = np.array(data.draw(st.lists(st.integers(0, 20), min_size=graph.n, max_size=graph.n)), np.int64)
    even = max(1, -(-int(loads.sum()) // where.k))
    done = meet_bounds(graph, where, pe, loads, np.full(where.k, even, np.int64))
    held = group_sums(done.pe, loads, where.k)
    assert int(held.max()) <= even + max(0, int(loads.max(initial=0)) - 1)
    assert np.array_equal(done.pe[loads == 0], pe[loads == 0])
    if done.change is not None:
        assert done.change == pair_cost(graph, where, done.pe) - pair_cost(graph, where, pe)


def test_trees_and_tables_of_the_same_distances_agree():
    """Both forms look for the nearest PE with room and break ties by its number."""
    tree = Tree((Level("node", 10), Level("package", 3), Level("core", 1)), (3, (1, 2, 3), 2))
    where = Allocation.whole(tree)
    table = Allocation.whole(tree)
    table._cache["distance"] = TableDistance(where.distance.matrix())
    assert isinstance(where.distance, TreeDistance)
    rng = np.random.default_rng(8914)
    ends = rng.integers(0, 60, (2, 200))
    graph = CommGraph.from_edges(ends[0], ends[1], rng.integers(1, 9, 200), n=60)
    pe = rng.integers(0, 3, 60).astype(np.int32)
    caps = np.full(where.k, 6, np.int64)
    assert np.array_equal(
        meet_bounds(graph, where, pe, None, caps).pe, meet_bounds(graph, table, pe, None, caps).pe
    )
    assert np.array_equal(fill_empty(graph, where, pe).pe, fill_empty(graph, table, pe).pe)


def test_distances_that_differ_by_direction_count_as_their_mean():
    """Both directions of a pair talk, so turning all distances round must not change anything."""
    rng = np.random.default_rng(77)
    table = rng.integers(1, 30, (6, 6))
    np.fill_diagonal(table, 0)
    graph = CommGraph.from_edges(rng.integers(0, 40, 90), rng.integers(0, 40, 90), n=40)
    pe, caps = np.zeros(40, np.int32), np.full(6, 7, np.int64)
    there, back = (
        meet_bounds(graph, Allocation.whole(Table(each)), pe, None, caps) for each in (table, table.T.copy())
    )
    assert np.array_equal(there.pe, back.pe)


def test_the_cheapest_task_leaves_and_goes_next_door():
    """PE 0 holds three tasks; task 2 talks least, and PE 1 is in the same node."""
    graph = CommGraph.from_edges([0, 0], [1, 2], [9, 1], n=3)
    done = meet_bounds(graph, four_cores(), np.zeros(3, np.int32), None, np.array([2, 2, 2, 2]))
    assert done.pe.tolist() == [0, 0, 1]
    assert (done.moves, done.change) == (1, 1)


def test_a_task_goes_to_where_its_partners_are_rather_than_next_door():
    graph = CommGraph.from_edges([2], [3], [5], n=4)
    done = meet_bounds(graph, four_cores(), np.array([0, 0, 0, 3], np.int32), None, np.array([2, 2, 2, 2]))
    assert done.pe.tolist() == [0, 0, 3, 3]
    assert done.change == -50


def test_heavy_tasks_are_exchanged_for_light_ones_when_no_move_helps():
    """6+5 | 4+4 under caps of 10: no single move fits, exchanging 6 for 4 (or 5 for 4) does."""
    graph = CommGraph.from_edges([0], [1], n=4)
    where = Allocation.whole(Tree((Level("core", 1),), (2,)))
    loads = np.array([6, 5, 4, 4])
    done = meet_bounds(graph, where, np.array([0, 0, 1, 1], np.int32), loads, np.array([10, 10]))
    assert sorted(group_sums(done.pe, loads, 2).tolist()) in ([9, 10], [9, 10][::-1])
    assert done.swaps == 1


def test_loads_and_volumes_of_sixty_bits_do_not_overflow():
    loads = np.array([2**60, 2**60, 2**60, 1], np.int64)
    graph = CommGraph.from_edges([0, 1, 2], [1, 2, 3], [2**59, 2**59, 2**59])
    where = Allocation.whole(Tree((Level("node", 2), Level("core", 1)), (2, 2)))
    done = meet_bounds(graph, where, np.zeros(4, np.int32), loads, np.full(4, 2**60, np.int64))
    assert int(group_sums(done.pe, loads, 4).max()) == 2**60
    assert done.change is None  # rounded numbers chose the moves


def test_whoever_followed_a_neighbour_out_goes_before_others():
    # 0 goes to PE 1 at once (its partner 5 is there); then 1 gains by following it, while 3 would lose.
    graph = CommGraph.from_edges([0, 0, 3], [5, 1, 4], [5, 3, 1], n=6)
    where = Allocation.whole(Tree((Level("core", 1),), (2,)))
    pe = np.array([0, 0, 0, 0, 0, 1], np.int32)
    done = meet_bounds(graph, where, pe, None, np.array([3, 6]))
    assert done.pe.tolist() == [1, 1, 0, 0, 0, 1]
    assert done.change == -5


@pytest.mark.parametrize("form", ["tree", "table"])
def test_volumes_near_the_limit_are_repaired_on_rounded_numbers(form):
    """The sum of volume x distance is just below 2^63: a change, a difference of such sums, would not fit."""
    star = np.arange(1, 9)
    graph = CommGraph.from_edges(np.zeros(8, int), star, np.full(8, 2**58))
    levels = Tree((Level("node", 3), Level("core", 1)), (2, 2))
    where = Allocation.whole(levels if form == "tree" else Table(Allocation.whole(levels).distance.matrix()))
    done = meet_bounds(graph, where, np.zeros(9, np.int32), None, np.array([3, 2, 2, 2]))
    assert sorted(np.bincount(done.pe, minlength=4).tolist()) == [2, 2, 2, 3]
    assert done.change is None


def test_many_tasks_leave_forbidden_places():
    """Each gains 2^60 by leaving: nine of them more than 63 bits hold."""
    fixed = {task: 1 + task % 3 for task in range(12)}
    graph = CommGraph.from_edges([0], [1], [5], n=16)
    linear_cost = Constraints(fixed=fixed).checked(16, four_cores()).linear_cost(16, 4)
    done = meet_bounds(graph, four_cores(), np.zeros(16, np.int32), None, np.full(4, 4), linear_cost)
    assert done.pe[:12].tolist() == [fixed[task] for task in range(12)]
    assert (done.moves, done.change) == (12, None)


@pytest.mark.parametrize("seed", range(6))
def test_small_weighted_cases_against_all_placements(seed):
    """From all tasks on one PE, repair comes within a third of the best of all 3^7 placements."""
    rng = np.random.default_rng(seed)
    loads = rng.integers(1, 10, 7)
    where = Allocation.whole(Tree((Level("core", 1),), (3,)))
    best = min(
        int(group_sums(np.array(pe, np.int32), loads, 3).max())
        for pe in itertools.product(range(3), repeat=7)
    )
    graph = CommGraph.from_edges([], [], n=7)
    done = meet_bounds(graph, where, np.zeros(7, np.int32), loads, np.full(3, best, np.int64))
    assert int(group_sums(done.pe, loads, 3).max()) <= best * 4 // 3
