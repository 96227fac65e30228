"""Partitions for PETSc: of an adjacency matrix, and of a DMPlex by a shell partitioner. Needs petsc4py."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.errors import UnsupportedError
from hopbytes.model.allocation import Allocation
from hopbytes.mpi.distributed.member import Member
from hopbytes.mpi.distributed.slab import Slab
from hopbytes.mpi.process_parts import parts_of_processes


def petsc_partition(
    matrix: Any, *, loads: Int64 | None = None, edge_weights: bool = False, parts: int | None = None,
    machine: Allocation | str | None = None, **options: Any,
) -> Any:
    """Return the new process of every row of an adjacency matrix, like ``MatPartitioning.apply``; collective.

    Parameters
    ----------
    matrix : petsc4py.PETSc.Mat
        Its nonzero pattern is the graph, which has to be symmetric; the diagonal does not count.
    loads : int64[own rows], optional
        Work per row; by default 1 each.
    edge_weights : bool
        Take the rounded absolute values of the matrix as bytes, at least 1, instead of 1 each.
    parts, machine, options
        As for :func:`parts_of_processes`.

    Returns
    -------
    petsc4py.PETSc.IS
        One entry per own row, in the order of the rows, which ``IS.partitioningToNumbering`` and
        ``IS.buildTwoSided`` take.

    Raises
    ------
    HopbytesError
        Raised on all processes: the pattern is not symmetric, or see :func:`parts_of_processes`.

    Notes
    -----
    PETSc's ``MatPartitioning`` has no type that calls Python, so this function takes its place.

    Examples
    --------
    ::

        new = petsc_partition(matrix)              # for ``partitioner.apply(new)``
        rows = new.buildTwoSided()                 # the rows that this process gets
        mine = matrix.createSubMatrix(rows, rows)
    """
    from petsc4py import PETSc

    indptr, columns, values = matrix.getValuesCSR()
    weights = None
    if edge_weights:
        weights = np.maximum(np.rint(np.abs(values)), 1).astype(np.int64)
    slab = Slab(
        indptr.astype(np.int64), columns.astype(np.int64), weights,
        None if loads is None else np.array(loads, np.int64),
    )
    found = parts_of_processes(matrix.comm.tompi4py(), slab, parts=parts, machine=machine, **options)
    return PETSc.IS().createGeneral(found.astype(PETSc.IntType), comm=matrix.comm)


def set_plex_partition(
    plex: Any, *, loads: Int64 | None = None, machine: Allocation | str | None = None, **options: Any
) -> Int32:
    """Give a DMPlex a shell partitioner that ``plex.distribute()`` follows; collective.

    Parameters
    ----------
    plex : petsc4py.PETSc.DMPlex
        A mesh with its faces (interpolated) and without overlap, on one process or distributed before.
    loads : int64[own cells], optional
        Work per cell; by default 1 each.
    machine, options
        As for :func:`parts_of_processes`.

    Returns
    -------
    int32[own cells]
        The process that gets each cell.

    Raises
    ------
    HopbytesError
        Raised on all processes: the mesh lacks faces or has an overlap, or see :func:`parts_of_processes`.

    Examples
    --------
    ::

        plex = PETSc.DMPlex().createFromFile("mesh.msh", interpolate=True)
        set_plex_partition(plex)
        plex.distribute()
    """
    comm = plex.comm.tompi4py()
    member = Member(comm)
    fault = ""
    if plex.getDepth() != plex.getDimension() and plex.getChart()[1]:
        fault = "plex: no faces, expected an interpolated mesh (plex.interpolate())"
    cells = np.array(plex.getCellNumbering().getIndices(), np.int64)
    if len(cells) and int(cells.min()) < 0:
        fault = fault or "plex: cells of other processes, expected a mesh without overlap"
    member.agree(UnsupportedError(fault) if fault else None)
    slab = _cells_across_faces(member, plex, len(cells), loads)
    part = parts_of_processes(comm, slab, machine=machine, **options)
    sizes = np.bincount(part, minlength=member.size)
    order = np.argsort(part, kind="stable") + plex.getHeightStratum(0)[0]
    partitioner = plex.getPartitioner()
    partitioner.setType(partitioner.Type.SHELL)
    partitioner.setShellPartition(member.size, sizes.astype(np.int32), order.astype(np.int32))
    return part


def _cells_across_faces(member: Member, plex: Any, count: int, loads: Int64 | None) -> Slab:
    """Return the graph of the own cells, in which cells that share a face are neighbours; collective."""
    first = sum(member.all(count)[: member.rank])
    start, (low, high) = plex.getHeightStratum(0)[0], plex.getHeightStratum(1)
    supports = [plex.getSupport(face) for face in range(low, high)]
    sizes = np.array([len(each) for each in supports], np.int64)
    flat = np.concatenate([np.empty(0, np.int64), *supports]).astype(np.int64) - start + first
    begins = np.cumsum(sizes) - sizes
    inner = begins[sizes == 2]
    one, other = flat[inner], flat[inner + 1]
    face = np.array(plex.createPointNumbering().getIndices(), np.int64)[low:high]
    face = np.where(face < 0, -face - 1, face)[sizes == 1]
    near, far = _across_processes(member, face, flat[begins[sizes == 1]])
    tails, heads = np.concatenate([one, other, near]), np.concatenate([other, one, far])
    order = np.lexsort((heads, tails))
    tails, heads = tails[order], heads[order]
    new = np.ones(len(tails), np.bool_)  # two cells that share two faces are neighbours once
    new[1:] = (np.diff(tails) != 0) | (np.diff(heads) != 0)
    degrees = np.bincount(tails[new] - first, minlength=count)
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    return Slab(indptr, heads[new], None, None if loads is None else np.array(loads, np.int64))


def _across_processes(member: Member, face: Int64, cell: Int64) -> tuple[Int64, Int64]:
    """Return own cells and the cells of other processes behind faces with one own cell; collective."""
    place = face % member.size  # the process where the two cells of a face meet
    order = np.argsort(place, kind="stable")
    mine = np.bincount(place, minlength=member.size).astype(np.int64)
    theirs = member.counts(mine)
    faces, cells = member.exchange(mine, theirs, face[order], cell[order])
    by_face = np.argsort(faces, kind="stable")
    pair = np.flatnonzero(np.diff(faces[by_face]) == 0)
    answer = np.full(len(faces), -1, np.int64)
    answer[by_face[pair]], answer[by_face[pair + 1]] = cells[by_face[pair + 1]], cells[by_face[pair]]
    (behind,) = member.exchange(theirs, mine, answer)
    found = behind >= 0  # faces on the surface of the mesh have no other cell
    return cell[order][found], behind[found]
