"""The graph of the blocks of a partition."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.kernels import csr_from_arcs
from hopbytes.kernels.records import Csr
from hopbytes.model.comm_graph import CommGraph


def quotient_csr(csr: Csr, block: Int32, blocks: int) -> Csr:
    """Return the weight between every two blocks, without that inside blocks. O(n + m)."""
    sources, targets = np.repeat(block, np.diff(csr.indptr)), block[csr.targets]
    between = sources != targets
    weights = np.ones(len(targets), np.int64) if csr.weights is None else csr.weights
    indptr, columns, volumes, _ = csr_from_arcs(
        blocks, sources[between], targets[between], weights[between], None
    )
    return Csr(indptr, columns, volumes)


def with_isolated(csr: Csr, n: int) -> Csr:
    """Return the graph with vertices without edges appended, n vertices in all."""
    missing = n - (len(csr.indptr) - 1)
    if not missing:
        return csr
    indptr = np.concatenate([csr.indptr, np.full(missing, csr.indptr[-1])]).astype(np.int64)
    return Csr(indptr, csr.targets, csr.weights)


def quotient_graph(graph: CommGraph, block: Int32, blocks: int) -> CommGraph:
    """Return the pattern of the blocks: what tasks of one send to tasks of another. O(n + m)."""
    return CommGraph(*quotient_csr(graph.arcs(graph.volumes), block, blocks), undirected=graph.undirected)
