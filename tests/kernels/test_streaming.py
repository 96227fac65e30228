"""Kernels for graphs in blocks agree with their definitions, and keep what they promise."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes import _core
from hopbytes.algorithms.streaming import node_sums, penalties, tree_of
from hopbytes.kernels.streaming import Block, MappingState, SketchArrays
from hopbytes.model.capacities import group_sums
from reference import stream_reference

MACHINES = (
    "node:2@10 core:[1,3]@1", "core:5@3", "island:2@100 node:2@10 core:2@1", "core:1@1", "torus:3x2@5",
)


def random_graph(rng, n, degree, *, weighted):
    """Symmetric rows with a hub and a vertex without neighbours."""
    count = n * degree // 2
    a, b = rng.integers(0, n, count), rng.integers(0, n, count)
    a[: n // 2] = 0
    keep = (a != b) & (a != n - 1) & (b != n - 1)
    w = rng.integers(1, 9, count) if weighted else np.ones(count, np.int64)
    a, b, w = a[keep], b[keep], w[keep]
    return hb.CommGraph.from_edges(
        np.concatenate([a, b]), np.concatenate([b, a]), np.concatenate([w, w]), n=n, undirected=True
    )


def blocks_of(graph, rows, loads=None):
    for first in range(0, graph.n, rows):
        last = min(first + rows, graph.n)
        begin, end = graph.indptr[first], graph.indptr[last]
        yield Block(
            first, graph.indptr[first : last + 1] - begin, graph.targets[begin:end],
            graph.volumes[begin:end], None if loads is None else loads[first:last],
        )


def copied(record):
    return type(record)(*(each.copy() for each in record))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("seed", range(6))
def test_placing_and_moving_equal_their_definitions(machine, seed):
    rng, where = np.random.default_rng(seed), hb.allocate(machine)
    n = int(rng.integers(2, 60))
    graph = random_graph(rng, n, 6, weighted=True)
    loads = None if seed % 3 == 0 else rng.integers(0 if seed % 3 == 1 else 1, 5, n)
    total = n if loads is None else int(loads.sum())
    tree = tree_of(where, np.full(where.k, total // where.k + 2), np.full(where.k, n // where.k + 1))
    own, twin = MappingState.start(n, tree), MappingState.start(n, tree)
    penalty = penalties(tree, total, float(graph.m) / 2)
    for step in range(3):
        for block in blocks_of(graph, 7, loads):
            if step < 2:
                _core.stream_assign(block, tree, own, penalty)
                stream_reference.stream_assign(block, tree, twin, penalty)
            else:
                _core.stream_refine(block, tree, own)
                stream_reference.stream_refine(block, tree, twin)
            for one, other in zip(own, twin, strict=True):
                assert np.array_equal(one, other)
    counted = group_sums(own.pe, loads, where.k)
    assert np.array_equal(own.load[: tree.nodes], node_sums(tree, counted))
    assert np.array_equal(own.tasks, np.bincount(own.pe, minlength=where.k))
    assert np.array_equal(own.empty, node_sums(tree, (own.tasks == 0).astype(np.int64)))


@pytest.mark.parametrize("seed", range(8))
def test_a_sketch_equals_its_definition_and_loses_no_weight(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 80))
    graph = random_graph(rng, n, 8, weighted=seed % 2 == 0)
    loads = None if seed % 4 < 2 else rng.integers(0, 4, n)
    weight = np.ones(n, np.int64) if loads is None else loads.copy()
    size = 1024 if seed < 6 else 64
    own = SketchArrays(
        np.arange(n, dtype=np.int32), weight, np.zeros(size, np.uint64), np.zeros(size, np.int64),
        np.zeros(1, np.int64),
    )
    twin, full = copied(own), False
    for block in blocks_of(graph, 11, loads):
        row = _core.stream_cluster(block, own, 6, 0)
        assert row == stream_reference.stream_cluster(block, twin, 6, 0)
        for one, other in zip(own, twin, strict=True):
            assert np.array_equal(one, other)
        full = row < block.rows
        if full:
            break
    assert np.array_equal(group_sums(own.cluster, loads, n), own.weight)
    assert full == (size == 64)
    if not full:
        apart = own.cluster[graph.sources()] != own.cluster[graph.targets]
        assert int(own.value.sum()) * 2 == int(graph.volumes[apart].sum())
        assert np.count_nonzero(own.key) == own.pairs[0]
        several = np.bincount(own.cluster, minlength=n) > 1
        assert own.weight[several].max(initial=0) <= 6


@pytest.mark.parametrize("seed", range(5))
def test_fingerprints_equal_their_definition_and_see_a_missing_direction(seed):
    rng = np.random.default_rng(seed)
    n = 30
    graph = random_graph(rng, n, 5, weighted=True)
    loads = rng.integers(0, 9, n)
    sums, twin = np.zeros(4, np.uint64), np.zeros(4, np.uint64)
    for block in blocks_of(graph, 7, loads):
        assert _core.stream_check(block, n, sums) == -1
        assert stream_reference.stream_check(block, n, twin) == -1
    assert np.array_equal(sums, twin)
    assert sums[1] == 0
    volumes = graph.volumes.copy()
    volumes[rng.integers(graph.m)] += 1
    uneven = Block(0, graph.indptr, graph.targets, volumes, loads)
    other = np.zeros(4, np.uint64)
    _core.stream_check(uneven, n, other)
    assert other[1] != 0
    assert other[0] != sums[0]


def test_a_target_that_does_not_exist_is_reported_by_its_arc():
    block = Block(0, np.array([0, 2, 3]), np.array([1, 2, 0], np.int32))
    for implementation in (_core, stream_reference):
        assert implementation.stream_check(block, 2, np.zeros(4, np.uint64)) == 1


def test_arrays_that_do_not_fit_are_refused():
    block = Block(0, np.array([0, 2]), np.array([1], np.int32))
    with pytest.raises(ValueError, match="fit"):
        _core.stream_check(block, 2, np.zeros(4, np.uint64))
