"""A communicator that is made anew when another order of its ranks suits what they send by now."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any, NamedTuple

import numpy as np

from hopbytes.errors import HopbytesError
from hopbytes.machines.selection.allocate import allocate
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.mpi.process_places import machine_of, processes_on, this_spot
from hopbytes.mpi.sends import Sends, checked_sends
from hopbytes.solve.remapper import Remapper


class RankMove(NamedTuple):
    """How the work of ranks moves to the processes that have these ranks now.

    Parameters
    ----------
    changed : bool
        Whether any process has another rank; the same on all of them.
    dest : int
        Rank in the new communicator to which this process gives the work that it did.
    source : int
        Rank in the new communicator from which it gets the work of its new rank.
    """

    changed: bool
    dest: int
    source: int


class ChangingRanks:
    """A communicator whose ranks are reordered as what they send changes; collective.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    sends : mapping of rank → bytes, or sequence of comm.size
        The bytes that the rank of this process sends to each other rank.
    machine : Allocation or str, optional
        The machine on which the processes run, as for :func:`hopbytes.mpi.reorder`.
    options
        Those of :class:`hopbytes.Remapper`, such as `migration_price` and `most_moves`, on rank 0.

    Raises
    ------
    HopbytesError
        Raised on all processes, as by :func:`hopbytes.mpi.reorder`.

    Notes
    -----
    The order at the beginning is that of `comm`: `hopbytes.mpi.reorder` makes a good one. Each update is one
    gather and one scatter of what changed, and a ``Split`` if a process gets another rank.

    Examples
    --------
    ::

        ranks = ChangingRanks(MPI.COMM_WORLD, {left: 8 * rows, right: 8 * rows}, migration_price=state_bytes)
        move = ranks.update({other: 10**6})
        if move.changed:
            state = ranks.comm.sendrecv(state, dest=move.dest, source=move.source)
    """

    def __init__(
        self, comm: Any, sends: Sends, machine: Allocation | str | None = None, **options: Any
    ) -> None:
        from mpi4py import MPI

        #: The communicator in its current order.
        self.comm = comm
        self._remapper: Remapper | None = None
        self._process_of_pe: list[int] = []
        self._first = comm  # numbers of processes are ranks of this communicator
        checked, fault = checked_sends(sends, comm.Get_rank(), comm.Get_size())
        gathered = comm.gather((this_spot(MPI.Get_processor_name()), checked, fault), root=0)
        failure = None
        if gathered is not None:
            try:
                self._begin(gathered, machine, options)
            except Exception as error:  # all processes must receive the error, or they would wait
                failure = _text(error)
        failure = comm.bcast(failure, root=0)
        if failure is not None:
            raise HopbytesError(failure)

    def _begin(self, gathered: list[Any], machine: Allocation | str | None, options: dict[str, Any]) -> None:
        if any(fault for *_, fault in gathered):
            raise HopbytesError(next(fault for *_, fault in gathered if fault))
        if isinstance(machine, str):
            machine = allocate(machine)
        spots = [spot for spot, *_ in gathered]
        where, process = machine_of(spots) if machine is None else processes_on(machine, spots)
        self._process_of_pe = process.tolist()
        arcs = [(rank, to, size) for rank, (_, sends, _) in enumerate(gathered) for to, size in sends.items()]
        table = np.array(arcs, np.int64).reshape(-1, 3)
        graph = CommGraph.from_edges(table[:, 0], table[:, 1], table[:, 2], n=len(spots))
        pe = np.empty(len(spots), np.int32)
        pe[process] = np.arange(len(spots), dtype=np.int32)
        self._remapper = Remapper(graph, where, pe, one_per_pe=True, **options)

    def update(self, volumes: Dictionary[int, int]) -> RankMove:
        """Take over changed volumes, and replace `comm` if another order costs less; collective.

        Parameters
        ----------
        volumes : mapping of rank → bytes
            Bytes that the rank of this process and another one exchange from now on, both directions
            together. It is enough that one of the two tells.

        Returns
        -------
        RankMove

        Raises
        ------
        HopbytesError
            Raised on all processes; nothing has changed then.
        """
        rank, size = self.comm.Get_rank(), self.comm.Get_size()
        checked, fault = checked_sends(dict(volumes), rank, size)
        ended = {int(other): 0 for other in volumes if other not in checked} if not fault else {}
        gathered = self._first.gather((rank, checked | ended, fault), root=0)
        answers: list[Any] | None = None
        if gathered is not None:
            try:
                answers = [(each, None) for each in self._reordered(gathered)]
            except Exception as error:
                answers = [(None, _text(error))] * size
        answer, failure = self._first.scatter(answers, root=0)
        if failure is not None:
            raise HopbytesError(failure)
        changed, new, source = answer
        if changed:
            self.comm = self._first.Split(0, new)
        return RankMove(changed, rank, source)

    def _reordered(self, gathered: list[Any]) -> list[tuple[bool, int, int]]:
        """Return for every process of the first communicator: did any rank change, its own, the source."""
        if any(fault for *_, fault in gathered):
            raise HopbytesError(next(fault for *_, fault in gathered if fault))
        remapper = self._remapper
        assert remapper is not None
        edges = [(rank, to, size) for rank, volumes, _ in gathered for to, size in volumes.items()]
        remapper.apply(edges=edges)
        new = [0] * len(gathered)
        for rank, pe in enumerate(remapper.pe.tolist()):
            new[self._process_of_pe[pe]] = rank
        process_of_old = {rank: process for process, (rank, _, _) in enumerate(gathered)}
        changed = any(rank != after for (rank, _, _), after in zip(gathered, new, strict=True))
        return [(changed, after, new[process_of_old[after]]) for after in new]


def _text(error: Exception) -> str:
    return str(error) if isinstance(error, HopbytesError) else f"changing ranks: {error!r}"
