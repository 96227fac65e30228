"""Launchers' own placements, worked out by hand."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.launcher import launcher_placement

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
    assert launcher_placement(hb.machine(TWO_NODES), 8, order).pe.tolist() == expected


def test_unequal_nodes_run_out_of_slots_at_different_times():
    where = hb.machine("node:2@10 core:[1,3]@1")
    assert launcher_placement(where, 4, "cyclic").pe.tolist() == [0, 1, 2, 3]


def test_fewer_tasks_than_slots_use_the_slots_map_would_use():
    where = hb.machine(TWO_NODES)
    assert sorted(where.node_of_pe[launcher_placement(where, 4, "block").pe]) == [0, 0, 1, 1]
    assert launcher_placement(where, 4, "block", pack=True).pe.tolist() == [0, 1, 2, 3]
    assert launcher_placement(where, 4, "cyclic", tasks_per_node=3).pe.tolist() == [0, 4, 1, 2]


def test_more_tasks_than_slots_must_be_meant():
    where = hb.machine("node:2 core:2")
    with pytest.raises(hb.InfeasibleError, match="5 tasks for 4 slots"):
        launcher_placement(where, 5, "block")
    counts = launcher_placement(where, 5, "cyclic", oversubscribe=True).tasks_per_pe()
    assert sorted(counts) == [1, 1, 1, 2]


@pytest.mark.parametrize("order", ["", "plane", "plane=0", "plane=x", "blok", "default:"])
def test_other_orders_are_refused(order):
    with pytest.raises(hb.UnsupportedError, match="expected block, cyclic, bynode or plane=N"):
        launcher_placement(hb.machine(TWO_NODES), 8, order)


def test_no_task():
    assert launcher_placement(hb.machine(TWO_NODES), 0, "cyclic").pe.dtype == np.int32
