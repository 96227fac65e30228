"""Copies of vertices and neighbours of blocks, compared with their definitions and with METIS."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.cost.metrics import mapping_metrics as blocks
from hopbytes.cost.metrics.mapping_metrics import measure_blocks


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
