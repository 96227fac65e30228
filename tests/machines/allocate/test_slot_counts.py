"""Which PEs are used when there are fewer tasks than slots."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.errors import mentions, refused
from helpers.paths import EXAMPLES
from helpers.strategies import machines
from hopbytes.errors import FormatError, InfeasibleError, UnsupportedError
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.machines.allocate.slot_counts import even_counts, spread
from hopbytes.machines.base import NODE_NAMES
from hopbytes.machines.kinds.table import Table
from hopbytes.model.allocation import SlotUse


def water_filled(total, capacities):
    """Counts that differ by at most 1 unless a capacity stops one; the first get the rest. One by one."""
    counts = [0] * len(capacities)
    for _ in range(total):
        open_units = [i for i, room in enumerate(capacities) if counts[i] < room]
        counts[min(open_units, key=lambda i: (counts[i], i))] += 1
    return counts


@given(machines(max_cores=90), st.data())
@settings(deadline=None)
def test_every_level_from_nodes_inwards_is_filled_evenly(tree, data):
    where = hb.allocate(tree)
    n = data.draw(st.integers(0, where.k))
    pes = spread(where, n)
    assert pes.dtype == np.int64
    assert len(pes) == n
    assert np.all(np.diff(pes) > 0)
    used = np.zeros(where.k, int)
    used[pes] = 1
    parent = np.zeros(where.k, int)
    for level in range(tree.level_named(NODE_NAMES) or 0, len(tree.levels)):
        unit = tree.ancestors(level)
        for outer in np.unique(parent):
            inside = np.unique(unit[parent == outer])
            counts = [int(used[unit == u].sum()) for u in inside]
            assert counts == water_filled(sum(counts), [int((unit == u).sum()) for u in inside])
        parent = unit


def test_known_answers():
    where = hb.allocate("node:3 package:2 core:[3,1,2,2,1,1]")  # nodes of 4, 4 and 2 cores
    node = where.node_of_pe
    assert np.bincount(node[spread(where, 7)]).tolist() == [3, 2, 2]
    assert np.bincount(node[spread(where, 9)]).tolist() == [4, 3, 2]
    assert spread(where, 3).tolist() == [0, 4, 8]
    assert spread(where, 10).tolist() == list(range(10))
    assert spread(where, 5, SlotUse(pack=True)).tolist() == [0, 1, 2, 3, 4]
    assert spread(where, 0).tolist() == []
    where = hb.allocate("island:2 node:2 core:2")  # islands play no part
    assert np.bincount(where.node_of_pe[spread(where, 2)], minlength=4).tolist() == [1, 1, 0, 0]
    where = hb.allocate("node:2 l3:2 core:4", cores_per_task=2)
    assert where.first_core[spread(where, 4)].tolist() == [0, 4, 8, 12]
    where = hb.allocate("node:4 core:16")
    assert even_counts(where, 65).tolist() == [2] + [1] * 63
    assert np.bincount(where.node_of_pe, weights=even_counts(where, 67)).tolist() == [17, 17, 17, 16]


def test_hard_counts():
    where = hb.allocate("node:2 package:2 l3:2 core:4")
    assert spread(where, 8, SlotUse(tasks_per_node=4)).tolist() == [0, 4, 8, 12, 16, 20, 24, 28]
    assert spread(where, 5, SlotUse(tasks_per_node=4)).tolist() == [0, 4, 8, 12, 16]
    assert spread(where, 16, SlotUse(tasks_per="l3=2")).tolist() == [p for p in range(32) if p % 4 < 2]
    assert spread(where, 3, SlotUse(tasks_per={"l3": 2})).tolist() == [0, 1, 4]
    both = SlotUse(tasks_per="l3=1", tasks_per_node=4)
    assert spread(where, 8, both).tolist() == [0, 4, 8, 12, 16, 20, 24, 28]
    assert spread(where, 4, SlotUse(tasks_per="l3=2", tasks_per_node=8)).tolist() == [0, 4, 8, 12]
    assert spread(where, 32, SlotUse(tasks_per_node=16)).tolist() == list(range(32))
    assert spread(where, 2, SlotUse(tasks_per="core=1")).tolist() == [0, 1]


@pytest.mark.parametrize(("n", "options", "error", "words"), [
    (65, {}, InfeasibleError, "65 tasks on 64 slots, expected at most 64; `oversubscribe=True`"),
    (-1, {}, FormatError, "-1 tasks"),
    (9, {"tasks_per_node": 2}, InfeasibleError, "9 tasks, but 2 per node leaves 8 of 64 slots"),
    (20, {"tasks_per_node": 17}, InfeasibleError, "node 0 can take 16 of the 17 tasks"),
    (8, {"tasks_per_node": 0}, FormatError, "expected a count >= 1"),
    (8, {"tasks_per": "package"}, FormatError, "expected LEVEL=COUNT"),
    (8, {"tasks_per": "package=-1"}, FormatError, "expected LEVEL=COUNT"),
    (8, {"tasks_per": {"package": 0}}, FormatError, "package=0, expected a count >= 1"),
    (8, {"tasks_per": "pakage=1"}, UnsupportedError, "did you mean 'package'?"),
    (
        8, {"tasks_per": "package=2", "tasks_per_node": 2}, InfeasibleError,
        "package 0 can take 1 of the 2",
    ),
])  # fmt: skip
def test_errors(n, options, error, words):
    with refused(error, words):
        spread(hb.allocate("node:4 package:2 core:8"), n, SlotUse(**options))


@given(machines(max_cores=60), st.integers(0, 200))
@settings(deadline=None)
def test_oversubscription_gives_floor_or_ceil_spread_evenly(tree, n):
    where = hb.allocate(tree)
    counts = even_counts(where, n)
    assert counts.dtype == np.int64
    assert counts.sum() == n
    assert set(counts.tolist()) <= {n // where.k, -(-n // where.k)}
    assert np.flatnonzero(counts > n // where.k).tolist() == spread(where, n % where.k).tolist()


def test_where_only_distances_are_known_clusters_take_turns():
    tree = hb.allocate("node:3@10 core:4@1")
    table = hb.allocate(Table(tree.distance.matrix()))
    assert spread(table, 7).tolist() == spread(tree, 7).tolist()


TWO_NODES = "node:2@10 core:4@1"


@pytest.mark.parametrize(("order", "expected"), [
    ("block", [0, 1, 2, 3, 4, 5, 6, 7]),
    ("default:block", [0, 1, 2, 3, 4, 5, 6, 7]),
    ("cyclic", [0, 4, 1, 5, 2, 6, 3, 7]),
    ("bynode", [0, 4, 1, 5, 2, 6, 3, 7]),
    ("default:plane=2", [0, 1, 4, 5, 2, 3, 6, 7]),
    ("plane=3", [0, 1, 2, 4, 5, 6, 3, 7]),  # the last turn of a node may be short
    ("plane=100", [0, 1, 2, 3, 4, 5, 6, 7]),
])  # fmt: skip
def test_orders(order, expected):
    assert launcher_placement(hb.allocate(TWO_NODES), 8, order).pe.tolist() == expected
    assert launcher_placement(hb.allocate(TWO_NODES), 0, order).pe.dtype == np.int32
    uneven = launcher_placement(hb.allocate("node:2@10 core:[1,3]@1"), 4, order)
    assert uneven.pe.tolist() == [0, 1, 2, 3]  # the first node runs out of slots


def test_fewer_tasks_than_slots_use_the_slots_map_would_use():
    where = hb.allocate(TWO_NODES)
    assert sorted(where.node_of_pe[launcher_placement(where, 4, "block").pe]) == [0, 0, 1, 1]
    assert launcher_placement(where, 4, "block", SlotUse(pack=True)).pe.tolist() == [0, 1, 2, 3]
    assert launcher_placement(where, 4, "fill").pe.tolist() == [0, 1, 2, 3]
    assert launcher_placement(where, 4, "fill", SlotUse(spread=True)).pe.tolist() == [0, 1, 4, 5]
    assert launcher_placement(where, 4, "cyclic", SlotUse(tasks_per_node=3)).pe.tolist() == [0, 4, 1, 2]


def test_more_tasks_than_slots_must_be_meant():
    where = hb.allocate("node:2 core:2")
    with pytest.raises(hb.InfeasibleError, match=mentions("5", "4")):
        launcher_placement(where, 5, "block")
    counts = launcher_placement(where, 5, "cyclic", SlotUse(oversubscribe=True)).tasks_per_pe()
    assert sorted(counts) == [1, 1, 1, 2]


@pytest.mark.parametrize("order", ["", "plane", "plane=0", "plane=x", "blok", "default:"])
def test_other_orders_are_refused(order):
    with pytest.raises(hb.UnsupportedError, match=mentions("plane=N")):
        launcher_placement(hb.allocate(TWO_NODES), 8, order)


@pytest.mark.parametrize(("order", "counts", "cost", "between_nodes"), [
    ("fill", [12, 12, 12, 12, 12, 4], 1_759_737_714, 120_361_892),
    ("block", [11, 11, 11, 11, 10, 10], 2_134_792_268, 162_957_414),
    ("cyclic", [11, 11, 11, 11, 10, 10], 4_725_088_222, 463_499_900),
])  # fmt: skip
def test_orders_are_those_that_launchers_were_seen_to_take(order, counts, cost, between_nodes):
    """Open MPI and Hydra with host:12 fill; srun on whole nodes spreads; Hydra without counts deals."""
    graph = hb.read(EXAMPLES / "lammps_lj_64.csv")
    where = hb.allocate("node:6@10 package:2@3 core:6@1")
    found = launcher_placement(where, 64, order)
    assert np.bincount(where.node_of_pe[found.pe]).tolist() == counts
    measured = hb.evaluate(graph, found, baselines=False).mapping
    assert (measured.comm_cost, measured.traffic.inter_node_volume) == (cost, between_nodes)


def test_open_mpi_4_deals_the_ranks_of_a_node_over_its_packages():
    where = hb.allocate("node:2 package:2 core:2")
    assert launcher_placement(where, 6, "socket").pe.tolist() == [0, 2, 1, 3, 4, 5]
    assert launcher_placement(hb.allocate("node:2 core:3"), 4, "socket").pe.tolist() == [0, 1, 2, 3]


def test_counts_that_the_job_asked_for_are_kept():
    where = dataclasses.replace(hb.allocate("node:2 core:4"), tasks_of_nodes=np.array([2, 3]))
    assert launcher_placement(where, 5, "fill").pe.tolist() == [0, 1, 4, 5, 6]
    uneven = dataclasses.replace(hb.allocate("node:3 core:4"), tasks_of_nodes=np.array([1, 2, 3]))
    assert launcher_placement(uneven, 5, "fill").pe.tolist() == [0, 4, 5, 8, 9]  # one task fewer
