"""Refinement over processes: J never rises, bounds hold exactly, and no PE becomes empty."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.slabs import part_of, whole
from helpers.together import together
from hopbytes.machines.distances import kernel_distances
from hopbytes.mpi.distributed.coarsening import (
    clusters_over_ranks,
    contract_over_ranks,
    gathered,
    of_coarse,
    summed_pairs,
)
from hopbytes.mpi.distributed.refinement import Target, refine_band, refine_over_ranks, repaired, shares
from hopbytes.mpi.distributed.rows import Member, Slab, checked_rows, cost_over_ranks
from reference.parallel_reference import contract

WHERE = hb.allocate("node:3@10 core:2@1")


def rough(graph, seed, loads=None):
    """A mapping in stripes with ragged borders."""
    rng = np.random.default_rng(seed)
    return np.clip(np.arange(graph.n) * 6 // graph.n + rng.integers(-1, 2, graph.n), 0, 5).astype(np.int32)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("way", ["rows", "band"])
def test_a_turn_keeps_bounds_and_lowers_j(size, way):
    loads = np.random.default_rng(5).integers(1, 4, 1200)
    base = hb.read("stencil:40x30:bytes=1")
    graph = hb.CommGraph(base.indptr, base.targets, base.volumes, loads=loads, undirected=True)
    pe = rough(graph, 1)
    caps = np.bincount(pe, weights=loads, minlength=6).astype(np.int64) + 5
    target = Target(kernel_distances(WHERE), caps)

    def work(comm):
        rows = checked_rows(Member(comm), part_of(graph, comm.Get_rank(), size))
        now, costs = pe[rows.first : rows.first + rows.n], []
        for turn in range(4):
            found = refine_band(rows, now, target, WHERE, turn) if way == "band" else None
            now, moved = found or refine_over_ranks(rows, now, target, turn, turn)
            costs.append(cost_over_ranks(rows, WHERE, now))
            assert moved >= 0
        return now, costs

    parts = together(size, work)
    after, costs = np.concatenate([part[0] for part in parts]), parts[0][1]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == hb.evaluate(graph, hb.Mapping(after, WHERE)).comm_cost
    assert costs[-1] < 0.8 * hb.evaluate(graph, hb.Mapping(pe, WHERE)).comm_cost
    held = np.bincount(after, weights=loads, minlength=6)
    assert np.all(held <= caps)
    assert held.min() > 0


@pytest.mark.parametrize("size", [1, 3, 7])
def test_shares_are_the_room_and_repair_meets_bounds(size):
    graph = hb.read("stencil:40x30:bytes=1")
    pe = np.minimum(np.arange(graph.n) // 100, 5).astype(np.int32)  # PE 5 holds far too many
    caps = np.full(6, 210, np.int64)
    target = Target(kernel_distances(WHERE), caps)

    def work(comm):
        rows = checked_rows(Member(comm), part_of(graph, comm.Get_rank(), size))
        own = pe[rows.first : rows.first + rows.n]
        room = shares(rows, np.arange(6, dtype=np.int32), own, target, 1)
        return room, repaired(rows, own, target, WHERE)

    parts = together(size, work)
    assert sum(part[0] for part in parts).tolist() == caps.tolist()
    assert min(part[0].min() for part in parts) >= 0
    assert np.bincount(np.concatenate([part[1] for part in parts])).max() <= 210


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
