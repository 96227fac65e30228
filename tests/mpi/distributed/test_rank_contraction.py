"""Clusters and contraction over processes, which are threads here, against the definition in plain Python."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.slabs import part_of, whole
from helpers.together import together
from hopbytes.mpi.distributed.coarsening import (
    clusters_over_ranks,
    contract_over_ranks,
    gathered,
    of_coarse,
    summed_pairs,
)
from hopbytes.mpi.distributed.rows import Member, Slab, checked_rows
from reference.parallel_reference import contract


def shuffled(n, seed, loads=None):
    """A ring with chords, whose neighbours are far from each other in the numbers."""
    rng = np.random.default_rng(seed)
    name = rng.permutation(n)
    tail = np.concatenate([name, name])
    head = np.concatenate([np.roll(name, 1), np.roll(name, 7)])
    volume = rng.integers(1, 9, 2 * n)
    return hb.CommGraph.from_edges(
        np.append(tail, head), np.append(head, tail), np.append(volume, volume), n=n, loads=loads
    )


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("case", ["grid", "shuffled", "loads", "blocks"])
def test_contraction_is_that_of_its_clusters(size, case):
    rng = np.random.default_rng(size)
    graph = hb.read("stencil:30x20:bytes=3") if case in ("grid", "blocks") else shuffled(
        600, 3, rng.integers(1, 4, 600) if case == "loads" else None
    )
    block = (np.arange(600) // 20 >= 15).astype(np.int32) if case == "blocks" else None

    def work(comm):
        rows = checked_rows(Member(comm), part_of(graph, comm.Get_rank(), size))
        own = None if block is None else block[rows.first : rows.first + rows.n]
        leader = clusters_over_ranks(rows, 8, 200, 7, own)
        found = contract_over_ranks(rows, leader)
        coarse = found.rows
        names = np.concatenate([coarse.ids, coarse.ghosts])
        slab = Slab(coarse.indptr, names[coarse.targets], coarse.weights, coarse.loads)
        kept = None if own is None else of_coarse(found, own)
        return leader, found.coarse, slab, gathered(coarse), kept

    parts = together(size, work)
    leader, coarse = (np.concatenate([part[which] for part in parts]) for which in (0, 1))
    small = whole([part[2] for part in parts])
    count = len(np.unique(leader))
    assert small.n == count < 320
    assert np.array_equal(leader[leader], leader)  # a leader is in its own cluster
    assert len(np.unique(leader * count + coarse)) == count  # one coarse vertex per cluster
    loads = graph.task_loads()
    assert np.bincount(coarse, weights=loads).max() <= 8
    rows, sums = contract((graph.indptr, graph.targets, graph.volumes), loads, coarse.astype(np.int32), count)
    assert small.loads.tolist() == sums
    for vertex in range(count):
        arcs = slice(small.indptr[vertex], small.indptr[vertex + 1])
        row = zip(small.targets[arcs].tolist(), small.volumes[arcs].tolist(), strict=True)
        assert dict(row) == rows[vertex]
    assert all(part[3].targets.tolist() == small.targets.tolist() for part in parts)
    if block is not None:
        assert np.array_equal(np.concatenate([part[4] for part in parts])[coarse], block)


def test_pairs_are_summed():
    first, second, weight = (np.array(each) for each in ([2, 1, 2, 1], [0, 5, 0, 4], [1, 2, 3, 4]))
    found = summed_pairs(first, second, weight)
    assert [each.tolist() for each in found] == [[1, 1, 2], [4, 5, 0], [4, 2, 4]]
    assert [len(each) for each in summed_pairs(first[:0], second[:0], weight[:0])] == [0, 0, 0]
