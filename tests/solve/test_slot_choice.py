"""Which slots fewer processes than slots use: the default never costs more than what launchers do."""

import dataclasses

import numpy as np
import pytest

import hopbytes as hb
from helpers.strategies import random_graph
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.solve import slots
from hopbytes.solve.presets import presets
from hopbytes.solve.problem import Constraints, Request
from hopbytes.solve.slots import Task, slot_choices, window

MACHINES = (
    "node:6@10 package:2@3 core:6@1", "node:3@100 core:[5,9,2]@1", "torus:4x4x2@10:nodes=1 / core:3@1",
    "fattree:4x4 / core:3@1", "core:40@1",
)
LINKS = ("hop_bytes", "max_congestion")


def costs(graph, where, objective):
    value = objectives[objective]().value
    return [value(graph, where, launcher_placement(where, graph.n, order).pe) for order in ("fill", "block")]


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["fast", "eco"])
@pytest.mark.parametrize("spec", MACHINES)
def test_a_preset_never_costs_more_than_the_launchers_own_orders(spec, preset):
    rng = np.random.default_rng(7)
    where = hb.allocate(spec)
    names = ("comm_cost", *LINKS) if where.machine.network() is not None else ("comm_cost",)
    for n in (2, where.k // 2, where.k - 1, where.k):
        graph = random_graph(rng, n=n)
        for objective in names:
            mapping = hb.map_tasks(graph, where, preset, objective=objective, seed=1)
            assert mapping.info["objective_value"] <= min(costs(graph, where, objective))
            assert mapping.tasks_per_pe().max() == 1


@pytest.mark.parametrize("spec", MACHINES)
def test_a_partition_into_fewer_tasks_than_pes_chooses_slots_as_processes_do(spec):
    """It had one choice only, tasks spread over all nodes, with up to ten times the cost."""
    where = hb.allocate(spec)
    for n in (2, where.k // 2, where.k - 1):
        graph = random_graph(np.random.default_rng(n), n=n)
        processes = hb.map_tasks(graph, where, "fast", partition=False, seed=1)
        partition = hb.map_tasks(graph, where, "fast", partition=True, seed=1)
        assert np.array_equal(partition.pe, processes.pe)
        assert partition.info["problem"] == "partition"
        assert partition.info["alternatives"] == processes.info["alternatives"]


def test_a_partition_keeps_prescribed_slots():
    graph = random_graph(np.random.default_rng(1), n=20)
    mapping = hb.map_tasks(graph, hb.allocate("node:8@10 core:5@1", spread=True), "fast", partition=True)
    assert sorted(np.bincount(mapping.pe // 5)) == [2] * 4 + [3] * 4
    assert "alternatives" not in mapping.info


def test_a_cube_on_a_larger_torus_finds_a_cube_of_nodes():
    """64 tasks as 4x4x4 on 512 nodes: every message takes one hop, as the grid fits into the machine."""
    graph = hb.read("stencil:4x4x4:bytes=1")
    mapping = hb.map_tasks(graph, hb.allocate("torus:8x8x8 / core:1"), "fast")
    assert mapping.info["comm_cost"] == 10 * graph.total_volume  # 10 per hop
    assert mapping.info["slots"] == "free"


def test_groups_that_fill_nodes_are_not_torn_by_spreading():
    """28 groups of 8 on 32 nodes of 8: spread over all nodes, seven a node, no group would be whole."""
    graph = hb.read("ml:tp=8,pp=4,dp=7")
    where = hb.allocate("node:32@10 gpu:8@1")
    mapping = hb.map_tasks(graph, where, "fast")
    spread = hb.map_tasks(graph, hb.allocate(where, spread=True), "fast")
    assert 2 * mapping.info["comm_cost"] < spread.info["comm_cost"]
    assert mapping.info["alternatives"]["spread"] == spread.info["comm_cost"]
    assert np.bincount(where.node_of_pe[spread.pe]).tolist() == [7] * 32


def test_what_the_user_or_the_job_says_is_kept():
    rng = np.random.default_rng(3)
    where, graph = hb.allocate("node:4 core:4"), random_graph(rng, n=8)

    def per_node(where=where, **said):
        mapping = hb.map_tasks(graph, hb.allocate(where, **said), "fast")
        return np.bincount(where.node_of_pe[mapping.pe], minlength=4).tolist(), mapping.info["slots"]

    assert per_node(pack=True) == ([4, 4, 0, 0], "filled")
    assert per_node(spread=True) == ([2, 2, 2, 2], "spread")
    assert per_node(tasks_per_node=3) == ([3, 3, 2, 0], "asked")
    job = dataclasses.replace(where, tasks_of_nodes=np.array([1, 3, 3, 1]))
    assert per_node(job) == ([1, 3, 3, 1], "job")
    assert per_node(job, spread=True) == ([2, 2, 2, 2], "spread")
    beside = hb.map_tasks(graph, job, "fast").info["alternatives"]
    assert beside["filled"] == hb.map_tasks(graph, hb.allocate(job, pack=True), "fast").info["comm_cost"]
    limited = hb.map_tasks(graph, job, "fast", limits=hb.Limits(work=10**9)).info
    assert limited["slots"] == "job"
    assert "alternatives" not in limited
    with pytest.raises(hb.UnsupportedError, match="pack and spread"):
        hb.map_tasks(graph, hb.allocate(where, pack=True, spread=True))


def test_fixed_places_leave_filled_and_spread_to_choose_from():
    rng = np.random.default_rng(5)
    where, graph = hb.allocate("node:4@10 core:4@1"), random_graph(rng, n=8)
    mapping = hb.map_tasks(
        graph, where, "fast", constraints=hb.Constraints(fixed={0: 15}, forbidden=[(1, 0)])
    )
    assert mapping.pe[0] == 15
    assert mapping.pe[1] != 0
    assert set(mapping.info["alternatives"]) == {"filled", "spread"}


@pytest.mark.parametrize(
    ("n", "use", "initial", "silent", "expected"),
    [
        (4, {}, None, True, [("filled", None), ("free", 4), ("free", 18), ("spread", None)]),
        (20, {}, None, True, [("filled", None), ("free", 24)]),
        (23, {}, None, True, [("filled", None), ("free", 24)]),
        (4, {}, None, False, [("filled", None), ("spread", None)]),
        (24, {}, None, True, [("all", None)]), (30, {}, None, True, [("all", None)]),
        (0, {}, None, True, [("spread", None)]),
        (4, {"pack": True}, None, True, [("filled", None)]),
        (4, {"spread": True}, None, True, [("spread", None)]),
        (4, {"tasks_per_node": 2}, None, True, [("asked", None)]),
        (8, {}, None, True, [("job", None)]), (8, {"spread": True}, None, True, [("spread", None)]),
        (4, {"equal_nodes": True}, None, True, [("filled", None), ("spread", None)]),
        (4, {}, [23, 22, 1, 0], True, [("asked", 20)]), (4, {}, [23, 22, 1, 0], False, [("asked", None)]),
        (4, {}, [5, 5, 1, 0], True, [("asked", None)]),
        (4, {"pack": True}, [3, 2, 1, 0], True, [("asked", None)]),
    ],
)
def test_every_policy_that_is_tried(n, use, initial, silent, expected):
    """24 PEs on four nodes, of which a job wants eight; beside a free choice is the number of its PEs."""
    where = hb.allocate("node:4@10 core:6@1", **use)
    where = dataclasses.replace(where, tasks_of_nodes=np.array([3, 2, 2, 1]))
    constraints = Constraints(initial=None if initial is None else np.array(initial)).checked(n, where)
    graph = hb.CommGraph.from_edges([], [], n=n)
    task = Task(graph, where, Request(use=where.use), constraints, "comm_cost", None)
    found = [(each.name, each.window) for each in slots.policies(task, silent=silent)]
    if initial is not None and silent and len(found) > 1:
        assert set(initial) <= set(found[1][1].tolist())
        assert found[1][0] == "free"
        found = found[:1] if expected[0][1] is None else [(found[0][0], found[1][1])]
    assert [(name, None if pes is None else len(pes)) for name, pes in found] == expected


def test_a_window_is_compact_and_large_enough():
    where = hb.allocate("torus:8x8 / core:1")
    for wanted in (1, 3, 16, 17, 63, 64):
        pes = window(where, wanted)
        assert wanted <= len(pes) < 2 * wanted + 1 or len(pes) == 64
        assert np.array_equal(pes, np.unique(pes))
    rows, columns = np.divmod(window(where, 16), 8)
    assert (np.ptp(rows) + 1) * (np.ptp(columns) + 1) == 16
    assert window(hb.allocate("node:4 core:3"), 4).tolist() == [0, 1, 2, 3, 4, 5]


def test_all_of_eco_runs_on_the_choice_of_slots_that_is_best_after_fast():
    graph, where = hb.read("stencil:7x7x5"), hb.allocate("node:10@10 package:2@3 core:15@1")
    fast, eco, three = (
        hb.map_tasks(graph, where, preset).info["alternatives"]
        for preset in ("fast", "eco", dataclasses.replace(presets["eco"](), slot_choices=4))
    )
    best = min(fast, key=fast.get)
    assert {name: eco[name] for name in eco if name != best} == {n: fast[n] for n in fast if n != best}
    assert three[best] <= eco[best] <= fast[best]
    assert three != eco


def test_a_work_limit_ends_the_trying():
    graph = random_graph(np.random.default_rng(11), n=50)
    where = hb.allocate("node:10@10 core:10@1")
    first = hb.map_tasks(graph, where, "strong", limits=hb.Limits(work=0))
    assert set(first.info["alternatives"]) == {"filled", "spread"}  # in order everywhere, mapped on one
    assert first.info["work"]["arcs"] < hb.map_tasks(graph, where, "strong").info["work"]["arcs"]


@pytest.mark.parametrize("spec", ["node:8@100 core:4@1", "torus:4x4x4 / core:1"])
def test_a_present_placement_may_move_to_free_slots(spec):
    """Sixteen tasks in four rings, scattered over the machine: kept to their slots, rings stay torn."""
    rng = np.random.default_rng(2)
    where = hb.allocate(spec)
    tasks = np.arange(16)
    ring = hb.CommGraph.from_edges(tasks, tasks // 4 * 4 + (tasks + 1) % 4, np.full(16, 100))
    now = np.sort(rng.choice(where.k, 16, replace=False)).astype(np.int32)
    stay = hb.map_tasks(ring, where, "fast", constraints=hb.Constraints(initial=now, migration_price=1))
    free = hb.map_tasks(ring, where, "fast", constraints=hb.Constraints(initial=now))
    assert free.info["comm_cost"] < stay.info["comm_cost"]
    assert free.info["slots"] == "free"
    assert set(stay.pe) == set(now)
    assert free.info["migrations"] == np.count_nonzero(free.pe != now)
    refined = hb.map_tasks(ring, where, ["identity", "swap"], constraints=hb.Constraints(initial=now))
    assert refined.info["comm_cost"] <= hb.evaluate(ring, hb.Mapping(now, where)).mapping.comm_cost


@pytest.mark.parametrize("preset", ["fast", "eco"])
@pytest.mark.parametrize(("closed", "cut"), [(False, 999), (True, 1000)])
def test_partitions_cost_no_more_than_blocks_of_consecutive_tasks(preset, closed, cut):
    # 1000 blocks of a path have 999 borders, but searches leave some tasks apart from their blocks.
    ends = np.arange(1600 if closed else 1599)
    graph = hb.CommGraph.from_edges(ends, (ends + 1) % 1600, n=1600)
    for seed in (1, 2):
        assert hb.map_tasks(graph, "core:1000", preset, partition=True, seed=seed).comm_cost == cut


def closed(where, n, pes):
    return [(task, pe) for task in range(n) for pe in pes]


@pytest.mark.parametrize(("n", "pes"), [(8, [15]), (8, [0]), (12, [0, 5]), (4, range(4, 16)), (6, [1])])
def test_nodes_are_equal_beside_pes_that_are_forbidden_to_all(n, pes):
    where = hb.allocate("node:4@10 core:4@1")
    mapping = hb.map_tasks(
        hb.read(f"stencil:{n}x1"), hb.allocate(where, equal_nodes=True), "fast",
        constraints=hb.Constraints(forbidden=closed(where, n, pes))
    )
    counts = np.bincount(where.node_of_pe[mapping.pe])
    assert len(set(counts[counts > 0].tolist())) == 1
    assert not set(mapping.pe.tolist()) & set(pes)
    assert not mapping.info["notices"]


def test_nodes_are_equal_around_fixed_tasks():
    where = hb.allocate("node:4@10 core:4@1")
    for place in (15, 6):
        mapping = hb.map_tasks(
            hb.read("stencil:8x1"), hb.allocate(where, equal_nodes=True), "fast",
            constraints=hb.Constraints(fixed={0: place})
        )
        counts = np.bincount(where.node_of_pe[mapping.pe])
        assert mapping.pe[0] == place
        assert len(set(counts[counts > 0].tolist())) == 1


@pytest.mark.parametrize(("n", "closed_pes"), [(7, []), (15, [3])])
def test_unequal_nodes_are_said_where_equal_ones_were_asked_for(n, closed_pes):
    where = hb.allocate("node:4@10 core:4@1")
    mapping = hb.map_tasks(
        hb.read(f"stencil:{n}x1"), hb.allocate(where, equal_nodes=True), "fast",
        constraints=hb.Constraints(forbidden=closed(where, n, closed_pes) or None)
    )
    counts = np.bincount(where.node_of_pe[mapping.pe])
    assert f"{counts[counts > 0].min()} to {counts.max()} tasks" in mapping.info["notices"][0]


def test_large_patterns_that_leave_few_slots_free_never_cost_more_than_in_order():
    where = hb.allocate("node:65@10 core:64@1")
    graph = hb.CommGraph.from_edges(np.arange(4127), np.arange(1, 4128), undirected=True)
    found = hb.map_tasks(graph, where, "fast", partition=False, limits=hb.Limits(work=0))
    in_order = objectives["comm_cost"]().value(graph, where, np.arange(4128, dtype=np.int32))
    assert found.info["comm_cost"] <= in_order
    assert set(found.info["alternatives"]) == {"free", "filled"}  # the last one in order only


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (60, {"filled": {"tasks_per_node": 12}, "spread": {"tasks_per_node": 10}}),
        (64, {}),
        (7, {"filled": {"tasks_per_node": 7}}),
        (72, {}),
    ],
)
def test_equal_nodes(n, expected):
    where = hb.allocate("node:6 core:12")
    assert slot_choices(where, n, equal_nodes=True) == expected
    either = {} if n == 72 else {"filled": {"pack": True}, "spread": {"spread": True}}
    assert slot_choices(where, n, equal_nodes=False) == either
    assert slot_choices(where, 0, equal_nodes=False) == {}
    job = dataclasses.replace(where, tasks_of_nodes=np.full(6, 10))
    assert (slot_choices(job, n, equal_nodes=False) == {}) == (n in (60, 72))


@pytest.mark.parametrize("seed", range(12))
def test_as_many_equal_nodes_with_the_slots_that_are_needed(seed):
    rng = np.random.default_rng(seed)
    where = hb.allocate("node:5 core:[4,3,4,2,4]")
    each, used = int(rng.integers(1, 3)), int(rng.integers(1, 5))
    start = np.concatenate([np.flatnonzero(where.node_of_pe == node)[:each] for node in range(used)])
    needed = rng.choice(17, int(rng.integers(0, min(each, used) + 1)), replace=False)
    counts = np.bincount(where.node_of_pe[needed], minlength=5)
    found = slots._around(where, start, needed)
    assert len(set(found.tolist())) == len(start)
    assert set(np.bincount(where.node_of_pe[found]).tolist()) <= {0, each}
    if counts.max() <= each and np.count_nonzero(counts) <= used:
        assert set(needed.tolist()) <= set(found.tolist())
    if not len(needed):
        assert found.tolist() == start.tolist()


def test_launchers_that_want_equal_nodes_get_them():
    rng = np.random.default_rng(5)
    where = hb.allocate("node:6@10 core:12@1")
    for n in (60, 48, 20):
        mapping = hb.map_tasks(random_graph(rng, n=n), hb.allocate(where, equal_nodes=True), "fast")
        counts = np.bincount(where.node_of_pe[mapping.pe])
        assert len(set(counts[counts > 0])) == 1


@pytest.mark.parametrize("preset", ["fast", "eco"])
def test_same_seed_same_answer_for_any_number_of_threads(preset):
    graph = random_graph(np.random.default_rng(11), n=50)
    where = hb.allocate("torus:5x5:nodes=2@10 / core:2@1")
    once, twice = (hb.map_tasks(graph, where, preset, seed=4, threads=t) for t in (1, 2))
    assert once.pe.tolist() == twice.pe.tolist()
    assert once.info["alternatives"] == twice.info["alternatives"]


def test_blocks_of_consecutive_tasks_that_exceed_a_bound_do_not_count():
    loads = np.ones(12, np.int64)
    loads[:3] = 8
    ends = np.arange(11)
    graph = hb.CommGraph.from_edges(ends, ends + 1, n=12, loads=loads)
    found = hb.map_tasks(graph, "core:3", partition=True, imbalance=0.1)
    assert found.info["balance"] == "met"
