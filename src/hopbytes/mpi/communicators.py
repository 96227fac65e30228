"""Creates communicators whose ranks are reordered to reduce communication cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Dictionary
from typing import Any, TypeAlias

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.machines.selection.allocate import machine as machine_from
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.mpi.processes import (
    Sends,
    Spot,
    checked_neighbours,
    checked_sends,
    machine_of,
    neighbours_sends,
    processes_on,
    this_spot,
)
from hopbytes.solve.map_tasks import map_tasks

Comm: TypeAlias = Any  # mpi4py.MPI.Intracomm; mpi4py has to be optional

PRESET = "eco"


def reorder(
    comm: Comm, sends: Sends, machine: Allocation | str | None = None, *, preset: str = PRESET, seed: int = 0
) -> Comm:
    """Return a communicator with the same processes and ranks reordered for the machine; collective.

    Rank i of the result is expected to send what rank i of `comm` specified: a process that gets another rank
    takes over the work of that rank, as with ``reorder=True`` in MPI. Call this function before data is
    distributed.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    sends : mapping of rank → bytes, or sequence of comm.size
        The bytes that the rank of this process sends to each other rank, as integers.
    machine : Allocation or str, optional
        The machine on which the processes run, needed on rank 0 only. By default it is built from the hosts,
        packages, caches and cores of the CPUs to which the processes are bound.
    preset : str
        See :func:`hopbytes.map_tasks`.
    seed : int

    Returns
    -------
    mpi4py.MPI.Intracomm
        The ranks are those of `comm` if no better mapping is found.

    Raises
    ------
    HopbytesError
        Raised on all processes: a rank does not exist, the number of entries differs from that of ranks, a
        number of bytes is negative or no integer, or the machine does not match the processes.

    Notes
    -----
    Rank 0 computes the mapping; the communication is one gather, one scatter and one ``Split``.

    Examples
    --------
    ::

        from mpi4py import MPI
        from hopbytes.mpi import reorder

        comm = reorder(MPI.COMM_WORLD, {left: 8 * rows, right: 8 * rows})
    """
    new, _ = _new_ranks(comm, sends, machine, preset, seed, None)
    return comm.Split(0, new)


def create_dist_graph_adjacent(
    comm: Comm,
    sources: Sequence[int],
    destinations: Sequence[int],
    sourceweights: Sequence[int] | None = None,
    destweights: Sequence[int] | None = None,
    info: Any = None,
    reorder: bool = True,
    *,
    machine: Allocation | str | None = None,
    preset: str = PRESET,
    seed: int = 0,
) -> Comm:
    """Do what ``comm.Create_dist_graph_adjacent(…, reorder=True)`` is specified to do; collective.

    The arguments are the same; `destweights` are used as bytes (1 each if they are missing or
    ``MPI.UNWEIGHTED``). Rank i of the result has the neighbours that rank i of `comm` specified.

    Raises
    ------
    HopbytesError
        See :func:`reorder`.
    """
    mine, fault = checked_neighbours(sources, destinations, sourceweights, destweights)
    if reorder:
        sends = {} if fault else neighbours_sends(mine)
        new, part = _new_ranks(comm, sends, machine, preset, seed, mine, fault)
        comm, mine = comm.Split(0, new), part
    elif fault:
        raise FormatError("create_dist_graph_adjacent", None, fault)
    more = {} if info is None else {"info": info}
    if mine[2] is not None or mine[3] is not None:
        more |= {"sourceweights": mine[2], "destweights": mine[3]}
    return comm.Create_dist_graph_adjacent(mine[0], mine[1], reorder=False, **more)


def create_cart(
    comm: Comm,
    dims: Sequence[int] | str,
    periods: Sequence[bool] | None = None,
    reorder: bool = True,
    *,
    extents: Sequence[int] | None = None,
    machine: Allocation | str | None = None,
    preset: str = PRESET,
    seed: int = 0,
) -> Comm:
    """Do what ``comm.Create_cart(dims, periods, reorder=True)`` is specified to do; collective.

    Every rank is assumed to send the same number of bytes to each of its neighbours in the grid, or with
    `extents` the cells of the face between them.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    dims : sequence of int, or ``"auto"``
        Ranks per dimension; with ``"auto"`` they are chosen for `extents`.
    periods : sequence of bool, optional
        Which dimensions are rings; by default none.
    reorder : bool
    extents : sequence of int, optional
        Cells of the problem per dimension. For ``dims="auto"`` the grid is chosen whose ranks have the
        smallest surface, see :func:`hopbytes.mpi.communicators.best_dims`.
    machine, preset, seed
        See :func:`reorder`.

    Raises
    ------
    HopbytesError
        See :func:`reorder`; also if the sizes of grid and communicator differ, or ``"auto"`` is given
        without `extents`.
    """
    if isinstance(dims, str):
        if dims != "auto" or extents is None:
            what = f"dims={dims[:20]!r}, expected numbers, or 'auto' with `extents`"
            raise FormatError("create_cart", None, what)
        dims = best_dims(comm.Get_size(), extents, periods)
    periods = [False] * len(dims) if periods is None else list(periods)
    if reorder:
        count = int(np.prod(dims, dtype=np.int64))
        if count != comm.Get_size():
            raise FormatError("create_cart", None, f"a grid of {count} ranks, expected {comm.Get_size()}")
        weights = None if extents is None else face_cells(dims, extents)
        sends = grid_neighbours(comm.Get_rank(), dims, periods, weights)
        new, _ = _new_ranks(comm, sends, machine, preset, seed, None)
        comm = comm.Split(0, new)
    return comm.Create_cart(list(dims), periods, reorder=False)


def grid_neighbours(
    rank: int, dims: Sequence[int], periods: Sequence[bool], weights: Sequence[int] | None = None
) -> dict[int, int]:
    """Return the neighbours of a rank in a grid, the last dimension running fastest.

    Their values are the weights of the dimensions, by default 1 each.

    >>> grid_neighbours(0, (2, 3), (False, True))
    {3: 1, 1: 1, 2: 1}
    """
    place = np.unravel_index(rank, tuple(dims))
    found: dict[int, int] = {}
    for axis, (extent, periodic) in enumerate(zip(dims, periods, strict=True)):
        for step in (1, -1):
            at = [int(number) for number in place]
            at[axis] += step
            if not periodic and not 0 <= at[axis] < extent:
                continue
            at[axis] %= extent
            neighbour = int(np.ravel_multi_index(at, tuple(dims)))
            if neighbour != rank:
                found[neighbour] = 1 if weights is None else weights[axis]
    return found


def new_ranks(
    spots: Sequence[Spot],
    sends: Sequence[Dictionary[int, int]],
    machine: Allocation | str | None = None,
    preset: str = PRESET,
    seed: int = 0,
) -> Int64:
    """Return int64[n], the new rank of every old rank; `reorder` calls this function on rank 0."""
    if isinstance(machine, str):
        machine = machine_from(machine)
    where, process = machine_of(spots) if machine is None else processes_on(machine, spots)
    graph = _pattern(sends)
    identity = np.empty(len(spots), np.int32)
    identity[process] = np.arange(len(spots), dtype=np.int32)
    mapped = map_tasks(graph, where, preset=preset, seed=seed, threads=1, partition=False).pe
    cost = CommCost()
    if cost.value(graph, where, mapped) >= cost.value(graph, where, identity):
        return np.arange(len(spots), dtype=np.int64)
    new = np.empty(len(spots), np.int64)
    new[process[mapped]] = np.arange(len(spots))  # the process on the PE of task i gets rank i
    return new


def _new_ranks(
    comm: Comm, sends: Sends, machine: Any, preset: str, seed: int, part: Any, fault: str = ""
) -> tuple[int, Any]:
    """Return the new rank of this process, and the `part` of the process that had this rank before."""
    from mpi4py import MPI

    size, rank = comm.Get_size(), comm.Get_rank()
    checked, fault = ({}, f"rank {rank}: {fault}") if fault else checked_sends(sends, rank, size)
    spot = this_spot(MPI.Get_processor_name())
    gathered = comm.gather((spot, checked, part, fault), root=0)
    answers: list[Any] | None = None
    if gathered is not None:  # on rank 0
        try:
            faults = [text for *_, text in gathered if text]
            if faults:
                raise FormatError("sends", None, faults[0])
            new = new_ranks([one[0] for one in gathered], [one[1] for one in gathered], machine, preset, seed)
            answers = [(int(rank), gathered[int(rank)][2], None) for rank in new]
        except Exception as error:  # all processes must receive the error, or they would wait in the scatter
            text = str(error) if isinstance(error, HopbytesError) else f"reorder: {error!r}"
            answers = [(0, None, text)] * size
    rank, theirs, failure = comm.scatter(answers, root=0)
    if failure is not None:
        raise HopbytesError(failure)
    return rank, theirs


def _pattern(sends: Sequence[Dictionary[int, int]]) -> CommGraph:
    counts = [len(each) for each in sends]
    source = np.repeat(np.arange(len(sends)), counts)
    target = np.array([rank for each in sends for rank in each], np.int64)
    volume = np.array([bytes_ for each in sends for bytes_ in each.values()], np.int64)
    return CommGraph.from_edges(source, target, volume, n=len(sends))


#: Dimensions for which all grids are compared.
MOST_DIMENSIONS = 6


def best_dims(
    ranks: int, extents: Sequence[int], periods: Sequence[bool] | None = None
) -> tuple[int, ...]:
    """Return the grid of ranks in which a stencil code sends the fewest cells between ranks.

    A cut between two ranks of a dimension is crossed by as many cells as the other extents have together. A
    dimension of d ranks has d - 1 cuts, or d if it is a ring of two ranks or more. All factorisations are
    compared, a few thousand at most for usual numbers of ranks. See mpi-forum/mpi-issues #120.

    >>> best_dims(12, (600, 100)), best_dims(12, (100, 100, 100)), best_dims(8, (10, 10), (True, False))
    ((12, 1), (3, 2, 2), (4, 2))
    """
    sizes = list(extents)
    whole = all(isinstance(size, int) and size >= 1 for size in sizes)
    if not 1 <= len(sizes) <= MOST_DIMENSIONS or not whole:
        what = f"extents {sizes!r:.60}, expected 1 to {MOST_DIMENSIONS} numbers >= 1"
        raise FormatError("create_cart", None, what)
    rings = [False] * len(sizes) if periods is None else list(periods)
    if len(rings) != len(sizes):
        raise FormatError("create_cart", None, f"{len(rings)} periods, expected {len(sizes)}")
    cells = 1
    for size in sizes:
        cells *= size

    def crossing(dims: tuple[int, ...]) -> int:
        """Return the cells that lie at cuts between ranks."""
        total = 0
        for count, size, ring in zip(dims, sizes, rings, strict=True):
            cuts = count if ring and count > 1 else count - 1
            total += cuts * (cells // size)
        return total

    fitting = [
        dims
        for dims in _factorisations(ranks, len(sizes))
        if all(count <= size for count, size in zip(dims, sizes, strict=True))
    ]
    if not fitting:
        raise FormatError("create_cart", None, f"{ranks} ranks for extents {sizes}, expected a cell for each")
    return min(fitting, key=lambda dims: (crossing(dims), [-count for count in dims]))


def face_cells(dims: Sequence[int], extents: Sequence[int]) -> list[int]:
    """Return for each dimension the cells of the face between two ranks, at least 1, rounded down.

    >>> face_cells((4, 2), (100, 60))
    [30, 25]
    """
    if len(dims) != len(extents):
        raise FormatError("create_cart", None, f"{len(extents)} extents, expected {len(dims)}")
    found = []
    for axis in range(len(dims)):
        cells = 1
        for other, (count, size) in enumerate(zip(dims, extents, strict=True)):
            cells *= 1 if other == axis else max(1, size // count)
        found.append(cells)
    return found


def _factorisations(number: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield all tuples of `parts` positive integers whose product is `number`."""
    if parts == 1:
        yield (number,)
        return
    for first in range(1, number + 1):
        if number % first == 0:
            for rest in _factorisations(number // first, parts - 1):
                yield (first, *rest)
