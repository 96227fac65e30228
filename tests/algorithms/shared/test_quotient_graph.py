"""Graphs between the blocks of a partition."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.algorithms.shared import quotient_graph as module
from hopbytes.algorithms.shared.quotient_graph import quotient_csr, quotient_graph
from hopbytes.kernels.records import Csr


def test_quotient_keeps_what_crosses_blocks():
    graph = hb.CommGraph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], [5, 7, 11, 13], n=4)
    model = quotient_graph(graph, np.array([0, 0, 1, 1], np.int32), 2)
    assert (model.indptr.tolist(), model.targets.tolist()) == ([0, 1, 2], [1, 0])
    assert model.volumes.tolist() == [7, 11]


@pytest.mark.parametrize("blocks", [40, 100])
@pytest.mark.parametrize("largest", [None, 0, 9, 2**40])
def test_quotient_of_many_arcs_is_that_of_few(
    monkeypatch: pytest.MonkeyPatch, largest: int | None, blocks: int
):
    """Directed arcs, some of a task to itself, some without volume, and an empty block.

    With few blocks there is a table of all pairs; with more, arcs are sorted, or merged row by row if many.
    """
    rng = np.random.default_rng(1)
    n, m = 500, 6000
    key = np.unique(rng.integers(0, n * n, m))
    indptr = np.searchsorted(key // n, np.arange(n + 1)).astype(np.int64)
    weights = None if largest is None else rng.integers(0, largest + 1, len(key))
    csr = Csr(indptr, (key % n).astype(np.int32), weights)
    block = rng.integers(0, blocks - 1, n).astype(np.int32)
    few = quotient_csr(csr, block, blocks)
    monkeypatch.setattr(module, "MANY_ARCS", 0)
    many = quotient_csr(csr, block, blocks)
    sources, targets = block[key // n], block[key % n]
    weight = np.zeros((blocks, blocks), np.int64)
    np.add.at(weight, (sources, targets), 1 if weights is None else weights)
    seen = np.zeros((blocks, blocks), bool)
    seen[sources, targets] = sources != targets
    rows, columns = np.nonzero(seen)
    for found in (few, many):
        assert [array.dtype for array in found] == [np.int64, np.int32, np.int64]
        np.testing.assert_array_equal(np.repeat(np.arange(blocks), np.diff(found.indptr)), rows)
        np.testing.assert_array_equal(found.targets, columns)
        np.testing.assert_array_equal(found.weights, weight[rows, columns])
