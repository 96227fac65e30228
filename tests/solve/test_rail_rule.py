"""Training jobs on GPUs with rails: tensor groups inside domains, data parallel rings on one rail."""

from __future__ import annotations

import numpy as np
import pytest

import hopbytes as hb
from helpers.machines import allocated
from hopbytes.algorithms.base import Effort
from hopbytes.cost.metrics.parallelism import parallelism
from hopbytes.patterns.ml import rank_orders, training_of
from hopbytes.solve.method import plain
from hopbytes.solve.rails import Judged, RailRule, _hosts_exchanged, busiest_link, worth_it

#: Grid, machine, hosts: a replica of the model fills whole domains, and tensor groups divide a domain.
DIVISIBLE = [
    ("tp=2,pp=4,dp=8", "rails:8x8", ""),
    ("tp=4,pp=2,dp=8,ep=8", "rails:8x8", ""),
    ("tp=4,pp=4,dp=4,ep=4", "rails:8x8:pod=4:spines=4", ""),
    ("tp=8,pp=2,dp=4", "rails:10x8:pod=4", "scattered:nodes=8:seed=1"),
    ("tp=4,pp=8,dp=4,ep=4", "rails:20x8:pod=8", "scattered:nodes=16:seed=1"),
    ("tp=4,pp=4,dp=4,cp=2", "rails:16x8", ""),
    ("tp=4,pp=6,dp=3", "rails:18x4:domain=6", ""),
    ("tp=2,pp=4,dp=8,order=pp-dp-cp-ep-tp", "rails:8x8", ""),
]


def sides(grid, machine, hosts):
    where = allocated(machine, hosts)
    return hb.read(f"ml:{grid},hidden=1024,layers=24,seq=1024,micro=4"), where


@pytest.mark.parametrize(("grid", "machine", "hosts"), DIVISIBLE)
def test_tensor_groups_are_inside_domains_and_data_rings_on_their_rail(grid, machine, hosts):
    graph, where = sides(grid, machine, hosts)
    mapping = hb.map_tasks(graph, where)
    kinds = {each.kind: each for each in parallelism(graph, mapping)}
    assert kinds["tensor"].inside == kinds["tensor"].volume
    if "cp" not in grid.partition("order")[0]:
        assert kinds["data"].inside + kinds["data"].on_rail == kinds["data"].volume
    orders = [np.asarray(rank, np.int32) for rank in rank_orders(training_of(graph)).values()]
    rule = RailRule.of(graph, where)
    kept = [pe for pe, good in zip(orders, rule.kept([*orders, mapping.pe]), strict=False) if good]
    assert busiest_link(graph, where, mapping.pe) <= 1.01 * min(busiest_link(graph, where, pe) for pe in kept)


def test_a_lower_load_does_not_take_tensor_groups_apart():
    """All messages are counted as simultaneous: a torn group would lower the load of its NVLink links."""
    graph, where = sides("tp=2,pp=1,dp=8", "rails:8x2", "")
    apart = rank_orders(training_of(graph))["cp-ep-dp-tp-pp"].astype(np.int32)
    inside = np.arange(16, dtype=np.int32)
    rule = RailRule.of(graph, where)
    assert rule.misplaced(inside) == (0, 0)
    assert rule.misplaced(apart)[0] > 0
    assert rule.kept([apart, inside]) == [False, True]
    assert rule.kept([apart]) == [True]
    assert worth_it(graph, where, inside, [apart])[0] is None
    number, why = worth_it(graph, where, apart, [inside])
    assert number == 0
    assert "leave their domain or rail" in why[0]


def test_without_kinds_the_load_must_fall_by_more_than_the_cost_rises():
    """Two pairs of GPUs share a link to the spines; ranks in order lower its load and J."""
    where = hb.allocate("rails:4x1:pod=2:spines=1")
    found = np.array([0, 2, 1, 3], np.int32)
    pairs = hb.CommGraph.from_edges([0, 2, 0, 1], [1, 3, 3, 2], [8, 8, 1, 1])
    lower = np.array([0, 1, 2, 3], np.int32)
    assert RailRule.of(pairs, where) is None
    assert busiest_link(pairs, where, lower) < busiest_link(pairs, where, found)
    assert worth_it(pairs, where, found, [lower])[0] == 0
    assert Judged(lower, cost=100, load=10).worth(Judged(found, cost=95, load=11))
    assert not Judged(lower, cost=100, load=10).worth(Judged(found, cost=50, load=11))


def test_hosts_are_exchanged_whole():
    """Rings over hosts 0, 2 and 1, 3 cross the spines until the hosts of a ring share a pod."""
    where = hb.allocate("rails:4x2:pod=2:spines=1")
    source, target = [0, 4, 1, 5, 2, 6, 3, 7], [4, 0, 5, 1, 6, 2, 7, 3]
    graph = hb.CommGraph.from_edges(source, target, [9] * 8)
    pe = np.arange(8, dtype=np.int32)
    moved = _hosts_exchanged(graph, where, pe, plain("multisection", "swap"), Effort())
    assert (moved % 2).tolist() == (pe % 2).tolist()
    assert len(set(moved.tolist())) == 8
    assert busiest_link(graph, where, moved) < busiest_link(graph, where, pe)


def test_only_training_jobs_have_the_rule():
    where = hb.allocate("rails:2x2")
    assert RailRule.of(hb.read("alltoall:4"), where) is None
    assert not RailRule.of(hb.read("ml:tp=1,pp=1,dp=4,layers=2"), where).whole


@pytest.mark.parametrize(("grid", "machine", "hosts"), DIVISIBLE[:4])
def test_a_limited_search_does_not_take_tensor_groups_apart(grid, machine, hosts):
    graph, where = sides(grid, machine, hosts)
    mapping = hb.map_tasks(graph, where, limits=hb.Limits(work=1_000))
    assert RailRule.of(graph, where).misplaced(mapping.pe) == (0, 0)
