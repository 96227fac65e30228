"""Training jobs on GPUs with rails: no slower than orders that need no mapping, groups stay together."""

from __future__ import annotations

import numpy as np
import pytest

import hopbytes as hb
from helpers.fabric_text import two_level_fabric
from helpers.machines import allocated
from hopbytes.algorithms.base import Effort
from hopbytes.cost.metrics.parallelism import parallelism
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.patterns.ml import rank_orders, training_of
from hopbytes.solve import rails
from hopbytes.solve.consecutive_ranks import map_for
from hopbytes.solve.map_tasks import weighs_links
from hopbytes.solve.method import plain
from hopbytes.solve.rails import NOISE, Judged, RailRule, _hosts_exchanged, busiest_link, worth_it

#: On the first two the mapping with the lowest J needs 2.2 and 3.1 times as long as ranks in order.
JOBS = [
    ("rails:16x4:domain=6:pod=6", "", "tp=8,pp=2,dp=2,cp=2"),
    ("rails:8x8:route=pxn", "", "tp=8,pp=2,dp=2,cp=2"),
    ("rails:16x4:domain=6:pod=6", "", "tp=4,pp=2,dp=8,ep=8"),
    ("rails:20x4:domain=6", "scattered:nodes=16:seed=1", "tp=8,pp=2,dp=2,cp=2"),
    ("rails:20x4:domain=6", "scattered:nodes=16:seed=1", "tp=2,pp=4,dp=8,ep=4"),
    ("rails:24x4:domain=6", "", "tp=8,pp=2,dp=2,cp=2"),
    ("rails:10x8:spines=2", "scattered:nodes=8:seed=2", "tp=2,pp=2,dp=16,ep=16"),
]


def sides(machine, hosts, grid, sizes="layers=8,seq=1024,micro=2"):
    where = allocated(machine, hosts)
    return hb.read(f"ml:{grid},hidden=1024,{sizes}"), where


def seconds(graph, where, pe):
    return hb.simulate(graph, hb.Mapping(np.asarray(pe, np.int32), where), grade="bound").seconds


@pytest.mark.parametrize(("machine", "hosts", "grid"), JOBS)
def test_no_order_of_ranks_that_keeps_tensor_groups_together_is_predicted_to_be_faster(machine, hosts, grid):
    graph, where = sides(machine, hosts, grid)
    given = hb.map_tasks(graph, where, "fast").pe
    orders = [np.arange(graph.n), *rank_orders(training_of(graph)).values()]
    kept = RailRule.of(graph, where).kept([given, *orders])
    assert kept[0]
    usual = [seconds(graph, where, each) for each, good in zip(orders, kept[1:], strict=True) if good]
    assert seconds(graph, where, given) <= (1 + 2 * NOISE) * min(usual, default=np.inf)
    in_blocks = map_for(graph, where, "torchrun", method="fast")
    assert seconds(graph, where, in_blocks.pe) <= (1 + 2 * NOISE) * seconds(graph, where, orders[0])


def test_a_mapping_with_less_congestion_is_named_and_explained():
    graph, where = sides("rails:8x8", "", "tp=2,pp=4,dp=8")
    given = hb.map_tasks(graph, where)
    lowest = hb.map_tasks(graph, where, objective="comm_cost")
    assert given.info["objective"] == "max_congestion"
    busiest = [objectives["max_congestion"]().value(graph, where, each.pe) for each in (given, lowest)]
    assert given.info["objective_value"] == busiest[0]
    assert f"carries {busiest[0] / busiest[1]:.2f} of" in given.info["notices"][0]
    assert given.info["comm_cost"] > lowest.info["comm_cost"]
    assert given.info["refine"][-1].startswith("routed:")
    again = hb.map_tasks(graph, where, objective="auto")
    assert again.pe.tolist() == given.pe.tolist()


def test_the_lowest_cost_is_given_where_links_carry_no_more():
    graph, where = sides("rails:8x8", "", "tp=8,pp=2,dp=4")
    given = hb.map_tasks(graph, where)
    lowest = hb.map_tasks(graph, where, objective="comm_cost")
    assert given.pe.tolist() == lowest.pe.tolist()
    assert given.info["objective"] == "comm_cost"
    assert given.info["notices"] == []


def test_with_a_limit_only_links_are_weighed():
    graph, where = sides(*JOBS[0])
    given = hb.map_tasks(graph, where, limits=hb.Limits(work=100_000))
    named = hb.map_tasks(graph, where, objective="max_congestion", limits=hb.Limits(work=100_000))
    assert given.pe.tolist() == named.pe.tolist()
    assert "time or work is limited" in given.info["notices"][0]


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "comm_cost"}, {"weight": "messages"}, {"method": "identity"},
        {"method": ["eco", "swap"]}, {"constraints": hb.Constraints(initial=list(range(64)))},
        {"partition": True},
    ],
)
def test_whoever_names_an_objective_or_an_algorithm_gets_that(options):
    graph, where = sides(*JOBS[0])
    assert not weighs_links(graph, where, **options)
    assert hb.map_tasks(graph, where, **options).info["objective"] == "comm_cost"


def test_other_machines_are_not_concerned(tmp_path):
    graph = hb.read("stencil:4x2")
    assert weighs_links(graph, hb.allocate("rails:4x2 / gpu:2 core:2"))
    for machine in ("node:4 gpu:2", "torus:2x2 / gpu:2", "node:4 core:2", "fattree:2x2 / core:2"):
        assert not weighs_links(graph, hb.allocate(machine)), machine
    for count, expected in ((2, True), (1, False)):
        folder = two_level_fabric(rails=count).write(tmp_path / str(count))
        where = hb.allocate(f"ib:{folder}:rails=gpu / gpu:2", hosts="nodes:0-3")
        assert weighs_links(graph, where) is expected
        assert not weighs_links(graph, hb.allocate(f"ib:{folder} / core:2", hosts="nodes:0-3"))


@pytest.mark.parametrize("machine", ["rails:2x2", "rails:2x2:domain=2"])
def test_gpus_of_a_host_share_the_links_of_nvlink(machine):
    """Cables of 12.5 GB/s are assumed, and the links of NVLink have nine times the capacity of adapters."""
    volume = 9 * 12_500_000_000
    graph = hb.CommGraph.from_edges([0, 0], [1, 2], [volume, volume], n=3)
    found = hb.simulate(graph, hb.Mapping([0, 1, 2], hb.allocate(machine)), grade="bound")
    # To GPU 2, of the other host, there is an adapter of its own, or the same link to the NVLink switch.
    assert found.parts["link"] == pytest.approx(2 if "domain" in machine else 9)
    assert found.parts["copy"] == 0
    assert (found.bytes_between_nodes, found.bytes_inside_nodes) == (volume, volume)
    inside = hb.simulate(graph, hb.Mapping([0, 1, 1], hb.allocate(machine), {}), grade="bound")
    assert inside.bytes_between_nodes == 0
    assert inside.parts["link"] == pytest.approx(2)


def test_a_rank_order_that_is_as_good_is_the_answer():
    """Tasks are numbered apart, tensor parallel ones last; Megatron-LM's default order has the lowest J."""
    graph, where = hb.read("ml:tp=2,pp=2,dp=2,layers=2,order=pp-dp-cp-ep-tp"), hb.allocate("rails:4x2")
    orders = rank_orders(training_of(graph))
    assert hb.map_tasks(graph, where).pe.tolist() == orders["tp-cp-ep-dp-pp"].tolist()


def test_too_many_ranks_are_counted_against_gpus():
    with pytest.raises(hb.HopbytesError, match=r"8 GPUs \(4 nodes x 2\)"):
        hb.map_tasks("alltoall:9", "rails:4x2", partition=False)


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


LARGE = "layers=24,seq=1024,micro=4"


@pytest.mark.parametrize(("grid", "machine", "hosts"), DIVISIBLE)
def test_tensor_groups_are_inside_domains_and_data_rings_on_their_rail(grid, machine, hosts):
    graph, where = sides(machine, hosts, grid, LARGE)
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
    graph, where = sides("rails:8x2", "", "tp=2,pp=1,dp=8", LARGE)
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


@pytest.mark.parametrize(
    ("first", "others", "usual", "number"),
    [
        ((100, 100), [(104, 94)], [(90, 100)], 0),  # 6 % less load for 4 % more cost
        ((100, 100), [(104, 96)], [(90, 100)], None),  # 4 % less is not enough
        ((100, 100), [(104, 96)], [(90, 98)], 0),  # but an order of ranks has 2 % less as well
        ((100, 100), [(104, 96)], [(90, 99.5)], None),
        ((100, 100), [(120, 90)], [(110, 100)], None),  # cost rises by more than load falls
        ((100, 100), [(120, 90)], [(120, 100)], 0),  # as an order of ranks does
        ((100, 100), [(100, 100)], [(90, 80)], None),  # no less load
        ((100, 100), [(110, 80), (105, 80.5), (101, 90)], [], 1),  # the cheapest within 1 % of the least load
        ((100, 100), [], [(90, 80)], None),
    ],
)
def test_which_mapping_with_less_load_is_worth_its_cost(first, others, usual, number, monkeypatch):
    values = [first, *others, *usual]
    monkeypatch.setattr(rails.RailRule, "of", lambda graph, where: None)
    monkeypatch.setattr(rails, "usual_orders", lambda graph: range(1 + len(others), len(values)))
    monkeypatch.setattr(rails.Judged, "of", lambda graph, where, each: Judged(each, *values[each]))
    found, why = worth_it(None, None, 0, range(1, 1 + len(others)))
    assert found == number
    assert bool(why) == (number is not None)
    if number is not None:
        assert f"carries {others[number][1] / first[1]:.2f} of" in why[0]


def test_only_training_jobs_have_the_rule():
    where = hb.allocate("rails:2x2")
    assert RailRule.of(hb.read("alltoall:4"), where) is None
    assert not RailRule.of(hb.read("ml:tp=1,pp=1,dp=4,layers=2"), where).whole


def test_places_of_a_replica_are_numbered_as_the_text_says():
    where = hb.allocate("node:3 gpu:[3,2,3]")
    assert rails._in_turns(where.node_of_pe).tolist() == [0, 1, 2, 4, 3, 5, 6, 7]
    assert rails._by_domain(where, np.arange(8), 2).tolist() == [0, 1, 3, 4, 5, 6, 2, 7]
    assert rails._by_domain(where, np.array([1, 2, 4, 6]), 2).tolist() == [1, 2, 4, 6]
    straight = hb.allocate("node:3 gpu:2")
    shapes = [shape.tolist() for shape in rails._shapes(straight, np.arange(6), (2, 3))]
    assert shapes == [[0, 1, 2, 3, 4, 5], [0, 1, 3, 2, 4, 5], [0, 2, 4, 1, 3, 5], [0, 3, 4, 1, 2, 5]]
    assert len(list(rails._shapes(straight, np.arange(6), (1, 6)))) == 2


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


@pytest.mark.parametrize(("grid", "machine", "hosts"), DIVISIBLE[:4])
def test_a_limited_search_does_not_take_tensor_groups_apart(grid, machine, hosts):
    graph, where = sides(machine, hosts, grid, LARGE)
    mapping = hb.map_tasks(graph, where, limits=hb.Limits(work=1_000))
    assert RailRule.of(graph, where).misplaced(mapping.pe) == (0, 0)
