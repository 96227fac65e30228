"""Slabs of a graph for tests of what is distributed."""

import numpy as np

import hopbytes as hb
from helpers.together import together
from hopbytes.mpi import Slab, map_distributed


def part_of(graph, rank, size):
    """Return the rows of one of `size` processes."""
    begin, end = graph.n * rank // size, graph.n * (rank + 1) // size
    indptr = graph.indptr[begin : end + 1]
    arcs = slice(int(indptr[0]), int(indptr[-1]))
    return Slab(
        indptr - indptr[0], graph.targets[arcs].astype(np.int64),
        None if graph.volumes is None else graph.volumes[arcs].copy(),
        None if graph.loads is None else graph.loads[begin:end].copy(),
    )


def mapped_over(size, graph, on, **options):
    """Map over `size` processes, which agree on the facts; return the PEs of all tasks and the facts."""
    parts = together(
        size, lambda comm: map_distributed(comm, part_of(graph, comm.Get_rank(), size), on, **options)
    )
    assert all(part.info["comm_cost"] == parts[0].info["comm_cost"] for part in parts)
    return np.concatenate([part.pe for part in parts]), parts[0].info


def whole(slabs):
    """Return the graph of all slabs."""
    degrees = np.concatenate([np.diff(slab.indptr) for slab in slabs])
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    sources = np.repeat(np.arange(len(degrees)), degrees)
    targets = np.concatenate([slab.targets for slab in slabs])
    order = np.lexsort((targets, sources))
    weights = loads = None
    if slabs[0].weights is not None:
        weights = np.concatenate([slab.weights for slab in slabs])[order]
    if slabs[0].loads is not None:
        loads = np.concatenate([slab.loads for slab in slabs])
    return hb.CommGraph(indptr, targets[order].astype(np.int32), weights, loads=loads, undirected=True)
