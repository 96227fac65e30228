"""The process of every vertex of a distributed graph: what partitioners of mesh codes ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.errors import HopbytesError, UnsupportedError
from hopbytes.machines.selection.allocate import allocate
from hopbytes.model.allocation import Allocation
from hopbytes.mpi.distributed.map_over_ranks import map_distributed
from hopbytes.mpi.distributed.member import Comm, Member
from hopbytes.mpi.distributed.slab import Slab
from hopbytes.mpi.process_places import Spot, machine_of, processes_on, this_spot

#: A process with more than this many times the mean number of vertices gives some away before the mapping.
MOST = 2


def parts_of_processes(
    comm: Comm, slab: Slab, *, parts: int | None = None, machine: Allocation | str | None = None,
    **options: Any,
) -> Int32:
    """Return the part of every own vertex, where part i is for rank i; collective.

    The graph is cut between the nodes first and then inside them, so that most of what processes exchange
    stays inside nodes.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    slab : Slab
        The rows of this process; processes without rows are allowed, and arcs of a vertex to itself too.
    parts : int, optional
        Number of parts; by default that of the processes.
    machine : Allocation or str, optional
        Where the processes run. A machine whose hosts have names is matched with the hosts and CPUs of the
        processes; otherwise rank i runs on its PE i, of which there is one per part. By default a machine is
        built from what the processes report about themselves, and `parts` has to be their number.
    options
        Those of :func:`hopbytes.mpi.map_distributed`: `preset`, `imbalance`, `seed`, `road`.

    Returns
    -------
    int32[n]

    Raises
    ------
    HopbytesError
        Raised on all processes: the machine does not match the processes or parts, or see
        :func:`hopbytes.mpi.map_distributed`.

    Notes
    -----
    Rows are dealt out evenly first if a process holds more than twice the mean, as after reading a mesh on
    rank 0. O((n + m) / P) besides :func:`hopbytes.mpi.map_distributed`.

    Examples
    --------
    ::

        from mpi4py import MPI
        from hopbytes.mpi import Slab, parts_of_processes

        rank_of_cell = parts_of_processes(MPI.COMM_WORLD, Slab(indptr, targets))
    """
    member = Member(comm)
    parts = member.size if parts is None else parts
    member.same("number of parts", parts)
    where, rank_of_pe, fault = None, None, None
    try:
        where, rank_of_pe = _places(member, parts, machine)
    except (HopbytesError, OSError) as error:
        fault = error
    member.agree(fault)
    assert where is not None
    assert rank_of_pe is not None
    fault_found = slab.fault() if isinstance(slab, Slab) else "expected a Slab"
    member.agree(f"rank {member.rank}: {fault_found}" if fault_found else None)
    slab, back = _evened(member, _without_loops(member, slab))
    pe = map_distributed(comm, slab, where, **options).pe
    return back(rank_of_pe[pe]).astype(np.int32)


def _places(member: Member, parts: int, machine: Allocation | str | None) -> tuple[Allocation, Int64]:
    """Return a machine with a PE per part, and int64[parts], the part of each PE."""
    # All processes take part in this exchange before anything can fail on one of them.
    spots = member.all(_own_spot())
    if isinstance(machine, str):
        machine = allocate(machine)
    if machine is None:
        if parts != member.size:
            what = f"{parts} parts for {member.size} processes"
            raise UnsupportedError(f"{what}: name a `machine` with {parts} PEs, of which PE i gets part i")
        return machine_of(spots)
    if machine.hosts and parts == member.size:
        return processes_on(machine, spots)
    if machine.k != parts:
        raise HopbytesError(f"machine: {machine.k} PEs, expected one for each of the {parts} parts")
    return machine, np.arange(parts, dtype=np.int64)


def _own_spot() -> Spot:
    from mpi4py import MPI

    return this_spot(MPI.Get_processor_name())


def _without_loops(member: Member, slab: Slab) -> Slab:
    """Return the slab without arcs of a vertex to itself, as matrices have on their diagonal."""
    first = sum(member.all(slab.n)[: member.rank])
    rows = np.repeat(np.arange(first, first + slab.n, dtype=np.int64), np.diff(slab.indptr))
    keep = slab.targets != rows
    if bool(np.all(keep)):
        return slab
    degrees = np.bincount(rows[keep] - first, minlength=slab.n)
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    weights = None if slab.weights is None else slab.weights[keep]
    return replace(slab, indptr=indptr, targets=slab.targets[keep], weights=weights)


def _evened(member: Member, slab: Slab) -> tuple[Slab, Callable[[Int64], Int64]]:
    """Return rows of about equal number per process, and the function that brings values of rows back."""
    counts = member.all(slab.n)
    begins = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
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
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    even = Slab(indptr, received[0], received[1] if weighted else None, own_loads)
    return even, lambda values: member.exchange(theirs, mine, values)[0]
