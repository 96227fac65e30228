"""Launchers' own placements, worked out by hand."""

import dataclasses

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import EXAMPLES
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.model.allocation import SlotUse

TWO_NODES = "node:2@10 core:4@1"


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("block", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("default:block", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("cyclic", [0, 4, 1, 5, 2, 6, 3, 7]),
        ("bynode", [0, 4, 1, 5, 2, 6, 3, 7]),
        ("default:plane=2", [0, 1, 4, 5, 2, 3, 6, 7]),
        ("plane=3", [0, 1, 2, 4, 5, 6, 3, 7]),  # the last turn of a node may be short
        ("plane=100", [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_orders(order, expected):
    assert launcher_placement(hb.allocate(TWO_NODES), 8, order).pe.tolist() == expected


def test_unequal_nodes_run_out_of_slots_at_different_times():
    where = hb.allocate("node:2@10 core:[1,3]@1")
    assert launcher_placement(where, 4, "cyclic").pe.tolist() == [0, 1, 2, 3]


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


@pytest.mark.parametrize(
    ("order", "counts", "cost", "between_nodes"),
    [
        ("fill", [12, 12, 12, 12, 12, 4], 1_759_737_714, 120_361_892),
        ("block", [11, 11, 11, 11, 10, 10], 2_134_792_268, 162_957_414),
        ("cyclic", [11, 11, 11, 11, 10, 10], 4_725_088_222, 463_499_900),
    ],
)
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


def test_no_task():
    assert launcher_placement(hb.allocate(TWO_NODES), 0, "cyclic").pe.dtype == np.int32
