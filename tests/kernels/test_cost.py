"""Costs and sums of a mapping: known answers, the twin, and the same for any number of threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.strategies import random_graph
from hopbytes import _core, kernels
from hopbytes.kernels.records import Csr
from hopbytes.kernels.routes import unit_traffic
from hopbytes.machines.allocate.allocate import allocate
from hopbytes.machines.distances import kernel_distances
from reference import cost_reference as reference
from reference import graph_reference as reference_of_graphs

#: More rows and arcs than a thread takes at once, so that several threads get some.
MANY = 70_000


def ring(n: int, weights: bool = True) -> Csr:
    """Every task sends to the next two, and to itself."""
    targets = (np.arange(n)[:, None] + np.array([0, 1, 2])) % n
    volumes = np.arange(3 * n) % 7
    targets = np.sort(targets, axis=1).astype(np.int32).reshape(-1)
    return Csr(3 * np.arange(n + 1), targets, volumes if weights else None)


def test_arcs_between_pes_count_at_their_outermost_level_and_loops_nowhere():
    where = allocate("node:2@10 core:2@1")
    arcs = Csr(np.array([0, 4, 5]), np.array([0, 1, 2, 3, 0], np.int32), np.array([100, 1, 2, 4, 8]))
    arcs = arcs._replace(indptr=np.array([0, 4, 5, 5, 5]))
    distance = where.distance
    pe = np.array([0, 0, 1, 2], np.int32)
    found = kernels.comm_cost_by_level(arcs, pe, distance.labels, distance.level_of_bit, 2)
    assert found.tolist() == [1 + 8, 2, 4]


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.parametrize("spec", ["island:3@100 node:4@10 core:5@1", "torus:5x4@3 / core:3@1"])
def test_costs_do_not_depend_on_threads(spec, threads, weights):
    where, arcs = allocate(spec), ring(MANY, weights)
    pe = np.random.default_rng(1).integers(0, where.k, MANY).astype(np.int32)
    if "torus" in spec:
        of = kernel_distances(where)
        one = kernels.comm_cost_network(arcs, pe, of.labels, of.table)
        assert kernels.comm_cost_network(arcs, pe, of.labels, of.table, threads) == one
    else:
        of, levels = where.distance, len(where.distance.costs) - 1
        by_level = kernels.comm_cost_by_level(arcs, pe, of.labels, of.level_of_bit, levels)
        found = kernels.comm_cost_by_level(arcs, pe, of.labels, of.level_of_bit, levels, threads)
        assert np.array_equal(found, by_level)
        one = int((by_level * of.costs).sum())
    table = where.distance.matrix().reshape(-1)
    assert kernels.comm_cost_table(arcs, pe, table, threads) == one
    assert kernels.comm_cost_table(arcs, pe, table) == one


@given(st.integers(0, 2**32), st.booleans())
def test_the_twin_agrees(seed, weights):
    rng = np.random.default_rng(seed)
    where, graph = allocate("node:3@10 core:2@1"), random_graph(rng)
    distance, pe = where.distance, rng.integers(0, 6, graph.n).astype(np.int32)
    arcs = graph.arcs(graph.volumes if weights else None)
    arguments = (arcs, pe)
    sums = [np.zeros(3, np.int64), np.zeros(3, np.int64)]
    for module, out in zip((_core, reference), sums, strict=True):
        module.volume_by_level(*arguments, distance.labels, distance.level_of_bit, 2, out)
    assert np.array_equal(*sums)
    between = [(np.zeros(36, np.int64), np.zeros(36, np.uint8)) for _ in sums]
    for module, out in zip((_core, reference_of_graphs), between, strict=True):
        module.block_weights(*arguments, 6, 2, *out)
    assert np.array_equal(between[0], between[1])
    table = distance.matrix().reshape(-1)
    cost = reference.comm_cost_table(*arguments, table, 2)
    assert _core.comm_cost_table(*arguments, table, 2) == cost == int((sums[0] * distance.costs).sum())


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-(2**60), 2**60)), max_size=30), st.booleans())
def test_the_twin_sums_alike(items, counted):
    group = np.array([number for number, _ in items], np.int32)
    values = np.array([] if counted else [value for _, value in items], np.int64)
    with np.errstate(over="ignore"):
        sums = [np.zeros(5, np.int64), np.zeros(5, np.int64)]
        for module, out in zip((_core, reference), sums, strict=True):
            module.group_sums(group, values, 2, out)
    assert np.array_equal(*sums)


@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.parametrize("weights", [False, True])
def test_traffic_of_blocks_does_not_depend_on_threads(weights, threads):
    arcs, blocks = ring(MANY, weights), 12
    block = np.random.default_rng(2).integers(0, blocks, MANY).astype(np.int32)
    one, several = (unit_traffic(arcs, block, blocks, count) for count in (1, threads))
    assert one[:2] == several[:2]
    assert np.array_equal(one.sent, several.sent)
    assert np.array_equal(one.received, several.received)
    table = kernels.block_weights(arcs, block, blocks)
    for alone, shared in zip(table, kernels.block_weights(arcs, block, blocks, threads), strict=True):
        assert np.array_equal(alone, shared)
    assert np.array_equal(np.add.reduceat(table.weights, table.indptr[:-1]), one.sent)
    assert table.weights.sum() == one.between


def test_arcs_between_blocks_are_summed_and_kept_without_weight():
    arcs = Csr(np.array([0, 3, 4, 4]), np.array([0, 1, 2, 0], np.int32), np.array([9, 2, 0, 5]))
    found = kernels.block_weights(arcs, np.array([1, 0, 2], np.int32), 4)
    assert [array.tolist() for array in found] == [[0, 1, 3, 3, 3], [1, 0, 2], [5, 2, 0]]


def test_no_items_and_no_groups():
    assert kernels.group_sums(np.empty(0, np.int32), None, 0).tolist() == []
    assert kernels.group_sums(np.empty(0, np.int32), None, 2, 4).tolist() == [0, 0]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("groups", [1, 7, 20_000])
def test_sums_of_groups_do_not_depend_on_threads(groups, threads):
    rng = np.random.default_rng(groups)
    group, values = rng.integers(0, groups, 10 * MANY).astype(np.int32), rng.integers(0, 2**40, 10 * MANY)
    expected = np.zeros(groups, np.int64)
    np.add.at(expected, group, values)
    assert np.array_equal(kernels.group_sums(group, values, groups, threads), expected)
    counts = kernels.group_sums(group, None, groups, threads)
    assert np.array_equal(counts, np.bincount(group, minlength=groups))
