"""The graph of the blocks of a partition, and the graph among some tasks."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.engine.control import RunControl
from hopbytes.engine.parallel import contract_in_parallel
from hopbytes.kernels import block_weights, csr_from_arcs, induced_csr
from hopbytes.kernels.records import Csr
from hopbytes.model.comm_graph import CommGraph

#: From this number of arcs on the arcs between blocks are merged row by row, without arrays of the size of
#: all arcs, which would take several times the memory of the graph.
MANY_ARCS = 2**18


def quotient_csr(csr: Csr, block: Int32, blocks: int, threads: int = 1) -> Csr:
    """Return the graph of the weights between blocks, without the weights inside blocks. O(n + m)."""
    if blocks**2 <= len(csr.targets):
        return block_weights(csr, np.ascontiguousarray(block, np.int32), blocks, threads)
    if len(csr.targets) >= MANY_ARCS:  # parallel arcs are merged first, then rows are sorted
        owner = np.ascontiguousarray(block, np.int32)
        merged = contract_in_parallel(csr, owner, blocks, RunControl(threads=threads))
        sources = np.repeat(np.arange(blocks, dtype=np.int32), np.diff(merged.indptr))
        return Csr(*csr_from_arcs(blocks, sources, merged.targets, merged.weights, None)[:3])
    sources, targets = np.repeat(block, np.diff(csr.indptr)), block[csr.targets]
    between = sources != targets
    weights = np.ones(len(targets), np.int64) if csr.weights is None else csr.weights
    return Csr(*csr_from_arcs(blocks, sources[between], targets[between], weights[between], None)[:3])


def with_isolated(csr: Csr, n: int) -> Csr:
    """Append isolated vertices, so that the returned graph has n vertices."""
    missing = n - (len(csr.indptr) - 1)
    if not missing:
        return csr
    indptr = np.concatenate([csr.indptr, np.full(missing, csr.indptr[-1])]).astype(np.int64)
    return Csr(indptr, csr.targets, csr.weights)


def quotient_graph(graph: CommGraph, block: Int32, blocks: int, threads: int = 1) -> CommGraph:
    """Return the quotient graph as a pattern: the volumes that blocks send to each other. O(n + m)."""
    csr = quotient_csr(graph.arcs(graph.volumes), block, blocks, threads)
    return CommGraph.of_own(*csr, undirected=graph.undirected)


def graph_among(graph: CommGraph, tasks: Int64) -> CommGraph:
    """Return what some tasks send to each other, which are numbered by their position in `tasks`."""
    number = np.full(graph.n, -1, np.int32)
    number[tasks] = np.arange(len(tasks))
    csr = induced_csr(graph.arcs(graph.volumes), tasks.astype(np.int32), number)
    sources = np.repeat(np.arange(csr.n), np.diff(csr.indptr))
    return CommGraph.from_edges(sources, csr.targets, csr.weights, n=csr.n)
