"""The graph of the blocks of a partition."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.kernels import csr_from_arcs
from hopbytes.kernels.records import Csr
from hopbytes.model.comm_graph import CommGraph


def quotient_csr(csr: Csr, block: Int32, blocks: int) -> Csr:
    """Return the graph of the weights between blocks, without the weights inside blocks. O(n + m)."""
    sources, targets = np.repeat(block, np.diff(csr.indptr)), block[csr.targets]
    between = sources != targets
    weights = np.ones(len(targets), np.int64) if csr.weights is None else csr.weights
    indptr, columns, volumes, _ = csr_from_arcs(
        blocks, sources[between], targets[between], weights[between], None
    )
    return Csr(indptr, columns, volumes)


def with_isolated(csr: Csr, n: int) -> Csr:
    """Append isolated vertices, so that the returned graph has n vertices."""
    missing = n - (len(csr.indptr) - 1)
    if not missing:
        return csr
    indptr = np.concatenate([csr.indptr, np.full(missing, csr.indptr[-1])]).astype(np.int64)
    return Csr(indptr, csr.targets, csr.weights)


def quotient_graph(graph: CommGraph, block: Int32, blocks: int) -> CommGraph:
    """Return the quotient graph as a pattern: the volumes that blocks send to each other. O(n + m)."""
    return CommGraph(*quotient_csr(graph.arcs(graph.volumes), block, blocks), undirected=graph.undirected)
