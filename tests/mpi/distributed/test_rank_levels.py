"""Refinement over processes: J never rises, bounds hold exactly, and no PE becomes empty."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.slabs import part_of
from helpers.together import together
from hopbytes.machines.distances import kernel_distances
from hopbytes.mpi.distributed.refinement import Target, refine_band, refine_over_ranks, repaired, shares
from hopbytes.mpi.distributed.rows import Member, checked_rows, cost_over_ranks

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
