"""A partitioner for dolfinx: cells are cut between the nodes first, then inside them. Needs dolfinx."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.model.allocation import Allocation
from hopbytes.mpi.distributed.member import Comm, Member
from hopbytes.mpi.distributed.slab import Rows, Slab
from hopbytes.mpi.process_parts import parts_of_processes


def dolfinx_partitioner(machine: Allocation | str | None = None, **options: Any) -> Callable[..., Any]:
    """Return a graph partitioner for ``dolfinx.mesh.create_cell_partitioner``.

    Parameters
    ----------
    machine, options
        As for :func:`parts_of_processes`: where the processes run (by default they are asked), `preset`,
        `imbalance`, `seed`.

    Returns
    -------
    callable
        ``(comm, nparts, graph, ghosting)``, which returns the ranks of every row of the graph as an adjacency
        list. The first one owns the cell. With `ghosting` ranks that own neighbours of it follow.

    Raises
    ------
    ImportError
        If the function is called without dolfinx.

    Notes
    -----
    Errors of the mapping leave the call-back as exceptions on all processes.

    Examples
    --------
    ::

        from dolfinx import cpp, mesh
        from hopbytes.mpi import dolfinx_partitioner

        cells = cpp.mesh.create_cell_partitioner(dolfinx_partitioner())  # newer: (…, mesh.GhostMode.none)
        domain = mesh.create_unit_cube(MPI.COMM_WORLD, 40, 40, 40, partitioner=cells)
    """

    def partition(comm: Comm, nparts: int, graph: Any, ghosting: bool) -> Any:
        slab = Slab(_as_int64(graph.offsets), _as_int64(graph.array))
        part = parts_of_processes(comm, slab, parts=int(nparts), machine=machine, **options)
        return _adjacency_list(*_owner_and_ghosts(Member(comm), slab, part, bool(ghosting)))

    return partition


def _as_int64(numbers: Any) -> Int64:
    return np.array(numbers, np.int64)  # dolfinx's own memory may end with the call


def _owner_and_ghosts(member: Member, slab: Slab, part: Int32, ghosting: bool) -> tuple[Int32, Int32]:
    """Return the ranks of every row, its own part first, and where each row begins."""
    n = slab.n
    if not ghosting:
        return part, np.arange(n + 1, dtype=np.int32)
    rows = Rows.of(member, slab)
    around = rows.with_ghosts(part.astype(np.int64))
    source, other = rows.sources(), around[rows.targets]
    apart = other != around[source]
    pairs = np.unique(np.stack([source[apart].astype(np.int64), other[apart]]), axis=1)
    row = np.concatenate([np.arange(n), pairs[0]])
    order = np.argsort(row, kind="stable")  # the own part comes first of its row
    ranks = np.concatenate([part, pairs[1].astype(np.int32)])[order]
    begins = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
    return ranks, begins.astype(np.int32)


def _adjacency_list(ranks: Int32, begins: Int32) -> Any:
    from dolfinx import cpp

    found = cpp.graph.AdjacencyList_int32(np.ascontiguousarray(ranks), begins)
    return found
