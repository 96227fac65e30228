"""Creates communicators whose ranks are reordered to reduce communication cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Dictionary
from operator import index
from typing import Any, TypeAlias

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.errors import FormatError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.mpi.processes import Comm, Sends, Spot, checked_sends, from_rank_0, located, this_spot
from hopbytes.solve.map_tasks import map_tasks
from hopbytes.solve.method import MethodLike

METHOD: MethodLike = "eco"
#: Dimensions for which all grids are compared.
MOST_DIMENSIONS = 6
#: Sources, destinations, and their weights or None.
Neighbours: TypeAlias = tuple[list[int], list[int], list[int] | None, list[int] | None]


def reorder(
    comm: Comm, sends: Sends, machine: Allocation | str | None = None, *, method: MethodLike = METHOD,
    seed: int = 0,
) -> Comm:
    """Return a communicator with the same processes and ranks reordered for the machine; collective.

    `sends` are the bytes, as integers, that the rank of this process sends to each other rank: a mapping from
    rank to bytes, or a sequence of comm.size. Rank i of the result is expected to send what rank i of `comm`
    specified: a process that gets another rank takes over the work of that rank, as with ``reorder=True`` in
    MPI. Call this function before data is distributed. The ranks are those of `comm` if no better mapping is
    found.

    `machine`, an Allocation or its text, is where the processes run, needed on rank 0 only. By default it is
    built from the hosts, packages, caches and cores of the CPUs to which the processes are bound. `method`
    (``"treematch"``, ``["ptram", "ptram"]``, a preset …) and `seed` are those of
    :func:`hopbytes.map_tasks`. Rank 0 computes the mapping; the communication is one
    gather, one scatter and one ``Split``. HopbytesError is raised on all processes: a rank does not exist,
    the number of entries differs from that of ranks, a number of bytes is negative or not an integer, or the
    machine does not match the processes.

    ::

        from mpi4py import MPI
        from hopbytes.mpi import reorder

        comm = reorder(MPI.COMM_WORLD, {left: 8 * rows, right: 8 * rows})
    """
    return _reordered(comm, sends, machine, method, seed)[0]


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
    method: MethodLike = METHOD,
    seed: int = 0,
) -> Comm:
    """Do what ``comm.Create_dist_graph_adjacent(…, reorder=True)`` is specified to do; collective.

    The arguments are the same; `destweights` are used as bytes (1 each if they are missing or
    ``MPI.UNWEIGHTED``). Rank i of the result has the neighbours that rank i of `comm` specified. The others,
    and errors, are those of :func:`reorder`.
    """
    mine, fault = checked_neighbours(sources, destinations, sourceweights, destweights)
    if reorder:
        sends = {} if fault else neighbours_sends(mine)
        comm, mine = _reordered(comm, sends, machine, method, seed, mine, fault)
    elif fault:
        raise FormatError("create_dist_graph_adjacent", None, fault)
    more = {} if info is None else {"info": info}
    if mine[2] is not None or mine[3] is not None:
        more |= {"sourceweights": mine[2], "destweights": mine[3]}
    return comm.Create_dist_graph_adjacent(mine[0], mine[1], reorder=False, **more)


def create_dist_graph(
    comm: Comm,
    sources: Sequence[int],
    degrees: Sequence[int],
    destinations: Sequence[int],
    weights: Sequence[int] | None = None,
    info: Any = None,
    reorder: bool = True,
    *,
    machine: Allocation | str | None = None,
    method: MethodLike = METHOD,
    seed: int = 0,
) -> Comm:
    """Do what ``comm.Create_dist_graph(…, reorder=True)`` is specified to do; collective.

    The arguments are the same: every process may give arcs of any ranks, and `weights` are used as bytes (1
    each if they are missing or ``MPI.UNWEIGHTED``). The ranks in them are those of the result. The others,
    and errors, are those of :func:`reorder`.
    """
    rows, fault = checked_rows(comm.Get_size(), sources, degrees, destinations, weights)
    if reorder:
        sends: dict[int, int] = {}
        for part in comm.alltoall(rows):  # arcs come to the rank that they begin at
            for to, size in part:
                sends[to] = sends.get(to, 0) + size
        comm, _ = _reordered(comm, sends, machine, method, seed, None, fault)
    elif fault:
        raise FormatError("create_dist_graph", None, fault)
    more = {key: value for key, value in (("weights", weights), ("info", info)) if value is not None}
    return comm.Create_dist_graph(sources, degrees, destinations, reorder=False, **more)


def checked_rows(
    size: int, sources: Sequence[int], degrees: Sequence[int], destinations: Sequence[int], weights: Any
) -> tuple[list[list[tuple[int, int]]], str]:
    """Return the (destination, bytes) of the arcs of each rank, and the first fault in them, or ""."""
    rows: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    try:
        ends = [[index(number) for number in numbers] for numbers in (sources, degrees, destinations)]
    except TypeError:
        return rows, "neighbours that are not ranks, expected sequences of whole numbers"
    if len(ends[0]) != len(ends[1]) or min(ends[1], default=0) < 0:
        return rows, f"{len(ends[0])} sources with {len(ends[1])} degrees, expected a number >= 0 for each"
    if sum(ends[1]) != len(ends[2]):
        return rows, f"{len(ends[2])} destinations, expected {sum(ends[1])}, the sum of degrees"
    wrong = [rank for rank in ends[0] if not 0 <= rank < size]
    if wrong:
        return rows, f"arcs from rank {wrong[0]}, expected 0..{size - 1}"
    checked, fault = _weights("weights", weights, len(ends[2]))
    if fault:
        return rows, fault
    bytes_of = [1] * len(ends[2]) if checked is None else checked
    starts = [rank for rank, degree in zip(ends[0], ends[1], strict=True) for _ in range(degree)]
    for source, to, amount in zip(starts, ends[2], bytes_of, strict=True):
        rows[source].append((to, amount))
    return rows, ""


def create_cart(
    comm: Comm,
    dims: Sequence[int] | str,
    periods: Sequence[bool] | None = None,
    reorder: bool = True,
    *,
    extents: Sequence[int] | None = None,
    machine: Allocation | str | None = None,
    method: MethodLike = METHOD,
    seed: int = 0,
) -> Comm:
    """Do what ``comm.Create_cart(dims, periods, reorder=True)`` is specified to do; collective.

    Every rank is assumed to send the same number of bytes to each of its neighbours in the grid, or with
    `extents`, the cells of the problem per dimension, the cells of the face between them. `dims` are the
    ranks per dimension; for ``"auto"`` the grid is chosen whose ranks have the smallest surface, see
    :func:`best_dims`. `periods` tells which dimensions are rings, by default none. The other arguments, and
    errors, are those of :func:`reorder`; the sizes of grid and communicator have to agree.
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
        comm, _ = _reordered(comm, sends, machine, method, seed)
    return comm.Create_cart(list(dims), periods, reorder=False)


def grid_neighbours(
    rank: int, dims: Sequence[int], periods: Sequence[bool], weights: Sequence[int] | None = None
) -> dict[int, int]:
    """Return the neighbours of a rank in a grid, last dimension fastest, and the weights of dimensions."""
    coordinates = [int(number) for number in np.unravel_index(rank, tuple(dims))]
    neighbours: dict[int, int] = {}
    for axis, (extent, periodic) in enumerate(zip(dims, periods, strict=True)):
        for step in (1, -1):
            at = coordinates.copy()
            at[axis] += step
            if not periodic and not 0 <= at[axis] < extent:
                continue
            at[axis] %= extent
            neighbour = int(np.ravel_multi_index(at, tuple(dims)))
            if neighbour != rank:
                neighbours[neighbour] = 1 if weights is None else weights[axis]
    return neighbours


def new_ranks(
    spots: Sequence[Spot],
    sends: Sequence[Dictionary[int, int]],
    machine: Allocation | str | None = None,
    method: MethodLike = METHOD,
    seed: int = 0,
) -> Int64:
    """Return int64[n], the new rank of every old rank; `reorder` calls this function on rank 0."""
    where, process = located(machine, spots)
    arcs = [(rank, to, size) for rank, own in enumerate(sends) for to, size in own.items()]
    table = np.array(arcs, np.int64).reshape(-1, 3)
    graph = CommGraph.from_edges(table[:, 0], table[:, 1], table[:, 2], n=len(sends))
    mapped = map_tasks(graph, where, method, seed=seed, threads=1, partition=False).pe
    cost = CommCost()
    launched = np.argsort(process).astype(np.int32)  # the PE of each process
    if cost.value(graph, where, mapped) >= cost.value(graph, where, launched):
        return np.arange(len(spots), dtype=np.int64)
    return np.argsort(process[mapped])  # the process on the PE of task i gets rank i


def _reordered(
    comm: Comm, sends: Sends, machine: Any, method: MethodLike, seed: int, part: Any = None, fault: str = ""
) -> tuple[Comm, Any]:
    """Return the reordered communicator, and the `part` of the process that had its own new rank before."""
    size, rank = comm.Get_size(), comm.Get_rank()
    checked, fault = ({}, f"rank {rank}: {fault}") if fault else checked_sends(sends, rank, size)

    def work(gathered: list[Any]) -> list[tuple[int, Any]]:
        for *_, text in gathered:
            if text:
                raise FormatError("sends", None, text)
        spots, volumes, parts, _ = zip(*gathered, strict=True)
        return [(new, parts[new]) for new in new_ranks(spots, volumes, machine, method, seed).tolist()]

    new, part = from_rank_0(comm, (this_spot(), checked, part, fault), work, "reorder")
    return comm.Split(0, new), part


def neighbours_sends(mine: Neighbours) -> dict[int, int]:
    """Return the bytes that a rank sends to each neighbour in a graph: 1 each if there are no weights."""
    weights = [1] * len(mine[1]) if mine[3] is None else mine[3]
    sends: dict[int, int] = {}
    for rank, weight in zip(mine[1], weights, strict=True):
        sends[rank] = sends.get(rank, 0) + weight
    return sends


def checked_neighbours(
    sources: Sequence[int], destinations: Sequence[int], source_weights: Any, destination_weights: Any
) -> tuple[Neighbours, str]:
    """Return the neighbours that a rank specified, and a description of the first fault in them, or ""."""
    try:
        ends = [[index(rank) for rank in ranks] for ranks in (sources, destinations)]
    except TypeError:
        return ([], [], None, None), "neighbours that are not ranks, expected sequences of whole numbers"
    weights = []
    for name, given, count in (
        ("sourceweights", source_weights, len(ends[0])), ("destweights", destination_weights, len(ends[1]))
    ):  # fmt: skip
        checked, fault = _weights(name, given, count)
        if fault:
            return ([], [], None, None), fault
        weights.append(checked)
    return (ends[0], ends[1], weights[0], weights[1]), ""


def _weights(name: str, given: Any, count: int) -> tuple[list[int] | None, str]:
    if given is None:
        return None, ""
    if isinstance(given, int):
        # This import initializes MPI, which a program with such constants has done.
        from mpi4py import MPI

        if given == MPI.UNWEIGHTED:
            return None, ""
        if given == MPI.WEIGHTS_EMPTY:
            fault = f"{name}: WEIGHTS_EMPTY for {count} neighbours, expected {count} numbers"
            return [], fault if count else ""
    try:
        listed = [index(weight) for weight in given]
    except TypeError:
        return [], f"{name}: {str(given)[:40]}, expected whole numbers, one for each neighbour"
    if len(listed) != count:
        return [], f"{name}: {len(listed)} numbers, expected {count}, one for each neighbour"
    return listed, ""


def best_dims(ranks: int, extents: Sequence[int], periods: Sequence[bool] | None = None) -> tuple[int, ...]:
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
    cells = math.prod(sizes)

    def crossing(dims: tuple[int, ...]) -> int:
        return sum(
            (count if ring and count > 1 else count - 1) * (cells // size)
            for count, size, ring in zip(dims, sizes, rings, strict=True)
        )

    fitting = [
        dims
        for dims in _factorisations(ranks, len(sizes))
        if all(count <= size for count, size in zip(dims, sizes, strict=True))
    ]
    if not fitting:
        raise FormatError("create_cart", None, f"{ranks} ranks for extents {sizes}, expected a cell for each")
    return min(fitting, key=lambda dims: (crossing(dims), [-count for count in dims]))


def face_cells(dims: Sequence[int], extents: Sequence[int]) -> list[int]:
    """Return for each dimension the cells of the face between two ranks, at least 1, rounded down."""
    if len(dims) != len(extents):
        raise FormatError("create_cart", None, f"{len(extents)} extents, expected {len(dims)}")
    sides = [max(1, size // count) for count, size in zip(dims, extents, strict=True)]
    return [math.prod(sides) // side for side in sides]


def _factorisations(number: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield all tuples of `parts` positive integers whose product is `number`."""
    if parts == 1:
        yield (number,)
        return
    for first in range(1, number + 1):
        if number % first == 0:
            for rest in _factorisations(number // first, parts - 1):
                yield (first, *rest)
