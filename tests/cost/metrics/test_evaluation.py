"""An evaluation: the numbers are those of its parts, blocks of partitions are those of their definition."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from hopbytes.cost.metrics import mapping_metrics as blocks
from hopbytes.cost.metrics.mapping_metrics import measure_blocks

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


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("piece", [1, 7, 1 << 22])
def test_definitions(monkeypatch, seed, piece):
    monkeypatch.setattr(blocks, "ARCS_PER_PIECE", piece)
    rng = np.random.default_rng(seed)
    n, k = 40, 5
    src, dst = rng.integers(0, n, (2, 90))
    graph = hb.CommGraph.from_edges(src, dst, n=n, undirected=bool(seed % 2))
    pe = rng.integers(0, k - 1, n).astype(np.int32)  # the last PE is empty
    copies, touch = 0, {p: set() for p in range(k)}
    for task in range(n):
        ends = {int(pe[other]) for other in graph.targets[graph.indptr[task] : graph.indptr[task + 1]]}
        ends -= {int(pe[task])}
        copies += len(ends)
        for end in ends:
            touch[int(pe[task])].add(end)
            touch[end].add(int(pe[task]))
    sizes = [len(touch[p]) for p in range(k)]
    found = measure_blocks(graph, k, pe)
    assert (found.comm_volume, found.max_neighbours) == (copies, max(sizes))
    assert found.mean_neighbours == sum(sizes) / len(set(pe.tolist()))


def test_totalv_of_metis():
    """gpmetis 5.1.0 -objtype=vol makes these three blocks of a 6 x 6 grid: communication volume 18."""
    blocks = "0 1 1 1 1 1 0 0 1 1 1 1 0 0 0 1 1 1 0 0 0 2 2 2 0 0 2 2 2 2 0 2 2 2 2 2"
    mapping = hb.Mapping([int(block) for block in blocks.split()], hb.allocate("core:3"))
    evaluation = hb.evaluate(hb.read("stencil:6x6"), mapping)
    assert evaluation.mapping.blocks is not None
    assert evaluation.to_dict()["comm_volume"] == 18
    assert "18" in next(line for line in str(evaluation).splitlines() if "totalv" in line)


def test_one_task_each_is_no_partition():
    evaluation = hb.evaluate(hb.read("stencil:2x2"), hb.Mapping([0, 1, 2, 3], hb.allocate("core:4")))
    assert evaluation.mapping.blocks is None
    assert "totalv" not in str(evaluation)
