"""An evaluation, one by one, as a table and relative to a baseline: the numbers are those of its parts."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions

PAIRS = hb.CommGraph.from_edges([0, 1], [2, 3], [5, 5])
WHERE = hb.allocate("node:2@10 core:2@1")
NAMES = (
    "comm_cost", "edge_cut", "imbalance", "max_load", "used_pes", "min_tasks_per_pe", "max_tasks_per_pe",
    "mean_distance", "weighted_mean_distance", "comm_seconds", "levels", "traffic", "links",
)


def evaluated(**options):
    return hb.evaluate(PAIRS, hb.Mapping([0, 2, 1, 3], WHERE), **options)


@pytest.mark.parametrize("name", NAMES)
def test_properties_are_those_of_the_mapping(name):
    found = evaluated()
    assert getattr(found, name) == getattr(found.mapping, name)


def test_rows_of_the_table():
    pytest.importorskip("pandas")
    found = evaluated(random_seeds=2)
    frame = found.to_frame()
    assert list(frame.index) == ["mapping", "in_order", "random 0", "random 1"]
    assert frame["comm_cost"].tolist() == [
        each.comm_cost for each in (found.mapping, found.in_order, *found.random)
    ]
    assert frame.loc["mapping", "volume_node"] == 0
    assert frame.loc["in_order", "volume_node"] == 10


def test_relative_to_each_baseline():
    found = evaluated(random_seeds=3)
    by_order = found.relative_to()
    assert by_order["comm_cost"] == pytest.approx(10 / 100 - 1)
    assert by_order["imbalance"] == 0.0  # 0 in both
    assert "volume_core" not in by_order  # 0 in order, 10 here
    mean = np.mean([each.comm_cost for each in found.random])
    assert found.relative_to("random")["comm_cost"] == pytest.approx(10 / mean - 1)


def test_baselines_that_are_not_there():
    with pytest.raises(hb.UnsupportedError, match=mentions("baseline", "in_order")):
        evaluated().relative_to("best")
    for found, name in ((evaluated(), "recorded"), (evaluated(baselines=False), "random")):
        with pytest.raises(hb.UnsupportedError, match=f"'{name}' was not measured"):
            found.relative_to(name)
