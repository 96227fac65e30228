"""The process of every vertex of a distributed graph, for mesh codes, PETSc (petsc4py) and dolfinx."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.errors import HopbytesError, UnsupportedError
from hopbytes.machines.allocate.allocate import allocate
from hopbytes.model.allocation import Allocation
from hopbytes.mpi.distributed.mapping import map_distributed
from hopbytes.mpi.distributed.rows import Member, Rows, Slab, agree_on_slab, row_pointers
from hopbytes.mpi.processes import Comm, Spot, located, this_spot

#: A process with more than this many times the mean number of vertices gives some away before the mapping.
MOST = 2


def parts_of_processes(
    comm: Comm, slab: Slab, *, parts: int | None = None, machine: Allocation | str | None = None,
    **options: Any,
) -> Int32:
    """Return int32[n], the part of every own vertex, where part i is for rank i; collective.

    The graph is cut between the nodes first and then inside them, so that most of what processes exchange
    stays inside nodes. `slab` has the rows of this process, possibly none; arcs of a vertex to itself are
    allowed. There are as many `parts` as processes unless another number is given. Rows are dealt out evenly
    first if a process holds more than twice the mean, as after reading a mesh on rank 0. O((n + m) / P)
    besides :func:`hopbytes.mpi.map_distributed`, whose `options` are `preset`, `imbalance`, `seed`,
    `strategy`.

    `machine`, an Allocation or its text, is where the processes run. One whose hosts have names is matched
    with the hosts and CPUs of the processes; otherwise rank i runs on its PE i, of which there is one per
    part. By default a machine is built from what the processes report about themselves, and `parts` has to be
    their number. HopbytesError is raised on all processes, also if the machine does not match processes or
    parts.

    ::

        from mpi4py import MPI
        from hopbytes.mpi import Slab, parts_of_processes

        rank_of_cell = parts_of_processes(MPI.COMM_WORLD, Slab(indptr, targets))
    """
    member = Member(comm)
    parts = member.size if parts is None else parts
    member.same("number of parts", parts)
    # All processes take part in this exchange before anything can fail on one of them.
    spots = member.all(this_spot())
    where, rank_of_pe = member.agreed(lambda: _pes_of_parts(spots, parts, machine))
    agree_on_slab(member, slab)
    slab, back = _evened(member, _without_loops(member, slab))
    pe = map_distributed(comm, slab, where, **options).pe
    return back(rank_of_pe[pe]).astype(np.int32)


def _pes_of_parts(
    spots: list[Spot], parts: int, machine: Allocation | str | None
) -> tuple[Allocation, Int64]:
    """Return a machine with a PE per part, and int64[parts], the part of each PE."""
    if isinstance(machine, str):
        machine = allocate(machine)
    if machine is None and parts != len(spots):
        what = f"{parts} parts for {len(spots)} processes"
        raise UnsupportedError(f"{what}: name a `machine` with {parts} PEs, of which PE i gets part i")
    if machine is None or (machine.hosts and parts == len(spots)):
        return located(machine, spots)
    if machine.k != parts:
        raise HopbytesError(f"machine: {machine.k} PEs, expected one for each of the {parts} parts")
    return machine, np.arange(parts, dtype=np.int64)


def _without_loops(member: Member, slab: Slab) -> Slab:
    """Return the slab without arcs of a vertex to itself, as matrices have on their diagonal."""
    first = sum(member.all(slab.n)[: member.rank])
    rows = np.repeat(np.arange(first, first + slab.n, dtype=np.int64), np.diff(slab.indptr))
    keep = slab.targets != rows
    if bool(np.all(keep)):
        return slab
    degrees = np.bincount(rows[keep] - first, minlength=slab.n)
    indptr = row_pointers(degrees)
    weights = None if slab.weights is None else slab.weights[keep]
    return replace(slab, indptr=indptr, targets=slab.targets[keep], weights=weights)


def _evened(member: Member, slab: Slab) -> tuple[Slab, Callable[[Int64], Int64]]:
    """Return rows of about equal number per process, and the function that brings values of rows back."""
    counts = member.all(slab.n)
    begins = row_pointers(counts)
    total = int(begins[-1])
    if max(counts) * member.size <= MOST * total or total < member.size:
        return slab, lambda values: values
    bounds = np.array([total * rank // member.size for rank in range(member.size + 1)], np.int64)
    first = begins[member.rank]
    cuts = np.clip(bounds, first, first + slab.n) - first
    mine, arcs = np.diff(cuts), np.diff(slab.indptr[cuts])
    theirs, arcs_of_others = member.counts(mine), member.counts(arcs)
    loads = np.ones(slab.n, np.int64) if slab.loads is None else slab.loads
    degrees, own_loads = member.exchange(mine, theirs, np.diff(slab.indptr), loads)
    weighted = any(member.all(slab.weights is not None))
    columns = [slab.targets]
    if weighted:
        columns.append(np.ones(len(slab.targets), np.int64) if slab.weights is None else slab.weights)
    received = member.exchange(arcs, arcs_of_others, *columns)
    indptr = row_pointers(degrees)
    even = Slab(indptr, received[0], received[1] if weighted else None, own_loads)
    return even, lambda values: member.exchange(theirs, mine, values)[0]


def petsc_partition(
    matrix: Any, *, loads: Int64 | None = None, edge_weights: bool = False, parts: int | None = None,
    machine: Allocation | str | None = None, **options: Any,
) -> Any:
    """Return the new process of every row of an adjacency matrix, like ``MatPartitioning.apply``; collective.

    PETSc's ``MatPartitioning`` has no type that calls Python, so this function takes its place. The nonzero
    pattern of the matrix (petsc4py.PETSc.Mat) is the graph, which has to be symmetric; the diagonal does not
    count. `loads`, int64[own rows], is the work per row, by default 1 each. With `edge_weights` the rounded
    absolute values of the matrix are the bytes, at least 1, instead of 1 each. The other arguments, and
    errors, are those of :func:`parts_of_processes`. The result, a petsc4py.PETSc.IS, has one entry per own
    row, in the order of the rows, which ``IS.partitioningToNumbering`` and ``IS.buildTwoSided`` take.

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
    part = parts_of_processes(matrix.comm.tompi4py(), slab, parts=parts, machine=machine, **options)
    return PETSc.IS().createGeneral(part.astype(PETSc.IntType), comm=matrix.comm)


def set_plex_partition(
    plex: Any, *, loads: Int64 | None = None, machine: Allocation | str | None = None, **options: Any
) -> Int32:
    """Give a DMPlex a shell partitioner that ``plex.distribute()`` follows; collective.

    The mesh has its faces (interpolated) and no overlap, on one process or distributed before. `loads`,
    int64[own cells], is the work per cell, by default 1 each; the other arguments, and errors, are those of
    :func:`parts_of_processes`. Returns int32[own cells], the process that gets each cell.

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
    counts = member.all(count)
    first, total = sum(counts[: member.rank]), max(1, sum(counts))
    start, (low, high) = plex.getHeightStratum(0)[0], plex.getHeightStratum(1)
    supports = [plex.getSupport(face) for face in range(low, high)]
    sizes = np.array([len(cells) for cells in supports], np.int64)
    flat = np.concatenate([np.empty(0, np.int64), *supports]).astype(np.int64) - start + first
    begins = np.cumsum(sizes) - sizes
    inner = begins[sizes == 2]
    first_cell, second_cell = flat[inner], flat[inner + 1]
    face = np.array(plex.createPointNumbering().getIndices(), np.int64)[low:high]
    face = np.where(face < 0, -face - 1, face)[sizes == 1]
    near, far = _across_processes(member, face, flat[begins[sizes == 1]])
    tails = np.concatenate([first_cell, second_cell, near])
    heads = np.concatenate([second_cell, first_cell, far])
    tails, heads = np.divmod(np.unique(tails * total + heads), total)  # cells that share two faces, once
    indptr = row_pointers(np.bincount(tails - first, minlength=count))
    return Slab(indptr, heads, None, None if loads is None else np.array(loads, np.int64))


def _across_processes(member: Member, face: Int64, cell: Int64) -> tuple[Int64, Int64]:
    """Return own cells and the cells of other processes behind faces with one own cell; collective."""
    meeting = face % member.size  # the process where the two cells of a face meet
    order = np.argsort(meeting, kind="stable")
    mine = np.bincount(meeting, minlength=member.size).astype(np.int64)
    theirs = member.counts(mine)
    faces, cells = member.exchange(mine, theirs, face[order], cell[order])
    by_face = np.argsort(faces, kind="stable")
    pair = np.flatnonzero(np.diff(faces[by_face]) == 0)
    answer = np.full(len(faces), -1, np.int64)
    answer[by_face[pair]], answer[by_face[pair + 1]] = cells[by_face[pair + 1]], cells[by_face[pair]]
    (behind,) = member.exchange(theirs, mine, answer)
    inner = behind >= 0  # faces on the surface of the mesh have no other cell
    return cell[order][inner], behind[inner]


def dolfinx_partitioner(machine: Allocation | str | None = None, **options: Any) -> Callable[..., Any]:
    """Return a graph partitioner for ``dolfinx.mesh.create_cell_partitioner``.

    The arguments are those of :func:`parts_of_processes`: where the processes run (by default they are
    asked), `preset`, `imbalance`, `seed`. The function, ``(comm, nparts, graph, ghosting)``, returns the
    ranks of every row of the graph as an adjacency list. The first one owns the cell. With `ghosting` ranks
    that own neighbours of it follow. Errors of the mapping leave it as exceptions on all processes.

    ::

        from dolfinx import cpp, mesh
        from hopbytes.mpi import dolfinx_partitioner

        cells = cpp.mesh.create_cell_partitioner(dolfinx_partitioner())  # newer: (…, mesh.GhostMode.none)
        domain = mesh.create_unit_cube(MPI.COMM_WORLD, 40, 40, 40, partitioner=cells)
    """

    def partition(comm: Comm, nparts: int, graph: Any, ghosting: bool) -> Any:
        from dolfinx import cpp

        # dolfinx's own memory may end with the call
        slab = Slab(np.array(graph.offsets, np.int64), np.array(graph.array, np.int64))
        part = parts_of_processes(comm, slab, parts=int(nparts), machine=machine, **options)
        ranks, begins = _owner_and_ghosts(Member(comm), slab, part, bool(ghosting))
        return cpp.graph.AdjacencyList_int32(np.ascontiguousarray(ranks), begins)

    return partition


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
