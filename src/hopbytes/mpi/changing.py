"""Ranks and tasks of a running MPI program that move while their pattern changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Dictionary
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.mpi.processes import Comm, Sends, Spot, checked_sends, from_rank_0, located, this_spot
from hopbytes.solve.changing import BatchReport
from hopbytes.solve.remapper import Remapper

Edges = Iterable[tuple[int, int, int]]


class RankMove(NamedTuple):
    """How the work of ranks moves to the processes that have these ranks now."""

    changed: bool  # whether any process has another rank; the same on all of them
    dest: int  # rank in the new communicator to which this process gives the work that it did
    source: int  # rank in the new communicator from which it gets the work of its new rank


class ChangingRanks:
    """A communicator, `comm`, whose ranks are reordered as what they send changes; collective.

    The arguments are those of :func:`hopbytes.mpi.reorder`, whose errors are raised here, too, and those of
    :class:`hopbytes.Remapper`, such as `migration_price` and `most_moves`, on rank 0. The order at the
    beginning is that of `comm`: `hopbytes.mpi.reorder` makes a good one. Each update is one gather and one
    scatter of what changed, and a ``Split`` if a process gets another rank.

    ::

        ranks = ChangingRanks(MPI.COMM_WORLD, {left: 8 * rows, right: 8 * rows}, migration_price=state_bytes)
        move = ranks.update({other: 10**6})
        if move.changed:
            state = ranks.comm.sendrecv(state, dest=move.dest, source=move.source)
    """

    def __init__(
        self, comm: Comm, sends: Sends, machine: Allocation | str | None = None, **options: Any
    ) -> None:
        #: The communicator in its current order.
        self.comm = comm
        self._remapper: Remapper | None = None
        self._process_of_pe: list[int] = []
        self._first = comm  # numbers of processes are ranks of this communicator

        def begin(gathered: list[Any]) -> list[None]:
            _raise_first([fault for *_, fault in gathered])
            where, process = located(machine, [spot for spot, *_ in gathered])
            self._process_of_pe = process.tolist()
            arcs = [(rank, to, size) for rank, (_, own, _) in enumerate(gathered) for to, size in own.items()]
            table = np.array(arcs, np.int64).reshape(-1, 3)
            graph = CommGraph.from_edges(table[:, 0], table[:, 1], table[:, 2], n=len(gathered))
            pe = np.empty(len(gathered), np.int32)
            pe[process] = np.arange(len(gathered), dtype=np.int32)
            self._remapper = Remapper(graph, where, pe, one_per_pe=True, **options)
            return [None] * len(gathered)

        checked, fault = checked_sends(sends, comm.Get_rank(), comm.Get_size())
        from_rank_0(comm, (this_spot(), checked, fault), begin, "changing ranks")

    def update(self, volumes: Dictionary[int, int]) -> RankMove:
        """Take over changed volumes, and replace `comm` if another order costs less; collective.

        `volumes` are the bytes, by rank, that the rank of this process and another one exchange from now on,
        both directions together. It is enough that one of the two processes gives them. After a
        HopbytesError, which is raised on all processes, nothing has changed.
        """
        rank = self.comm.Get_rank()
        checked, fault = checked_sends(dict(volumes), rank, self.comm.Get_size())
        ended = {int(other): 0 for other in volumes if other not in checked} if not fault else {}
        changed, new, source = from_rank_0(
            self._first, (rank, checked | ended, fault), self._reordered, "changing ranks"
        )
        if changed:
            self.comm = self._first.Split(0, new)
        return RankMove(changed, rank, source)

    def _reordered(self, gathered: list[Any]) -> list[tuple[bool, int, int]]:
        """Return for every process of the first communicator: did any rank change, its own, the source."""
        _raise_first([fault for *_, fault in gathered])
        remapper = self._remapper
        assert remapper is not None
        remapper.apply(edges=[(rank, to, size) for rank, own, _ in gathered for to, size in own.items()])
        new = [0] * len(gathered)
        for rank, pe in enumerate(remapper.pe.tolist()):
            new[self._process_of_pe[pe]] = rank
        process_of_old = {rank: process for process, (rank, _, _) in enumerate(gathered)}
        changed = any(rank != after for (rank, _, _), after in zip(gathered, new, strict=True))
        return [(changed, after, new[process_of_old[after]]) for after in new]


def _raise_first(faults: Iterable[str]) -> None:
    for fault in filter(None, faults):
        raise HopbytesError(fault)


@frozen
class Migrations:
    """What one process has to send and to receive after a batch."""

    #: tasks whose data go to, and come from, each other rank, in the same order on both sides
    send: dict[int, list[int]] = field(default_factory=dict)
    receive: dict[int, list[int]] = field(default_factory=dict)
    #: the report of the batch, on rank 0 only; tasks and PEs have the numbers of :class:`hopbytes.Remapper`
    report: BatchReport | None = None


class ChangingTasks:
    """Tasks distributed over the processes of a communicator, kept near each other; collective.

    Tasks have any integers as names, such as the number of a cell. Every process gives what it knows: the
    tasks that it holds with their loads, and edges, triples (task, task, volume) of any tasks, where the
    volume is the bytes of both directions. An edge that several processes give is one edge. `machine` is that
    of :func:`hopbytes.mpi.reorder`, and `options`, on rank 0, are those of :class:`hopbytes.Remapper`, such
    as `migration_price` and `most_moves`.

    HopbytesError is raised on all processes: two processes hold one task, an edge has a task that no process
    holds, a number is negative, or the machine does not match the processes. Rank 0 holds the pattern. The
    communication is one gather and one scatter, in proportion to the pattern at the beginning and to the
    batch later. At the beginning tasks may exceed the bound on loads; the first update moves them.

    ::

        tasks = ChangingTasks(MPI.COMM_WORLD, {cell: 1 for cell in mine}, edges, migration_price=cell_bytes)
        moves = tasks.update(loads={cell: 4}, edges=[(cell, other, 4096)])
        for rank, cells in moves.send.items():
            comm.send([data.pop(cell) for cell in cells], rank)
    """

    def __init__(
        self, comm: Comm, tasks: Dictionary[int, int], edges: Edges, machine: Allocation | str | None = None,
        **options: Any,
    ) -> None:
        self.comm = comm
        self._book: _Book | None = None

        def begin(gathered: list[Any]) -> list[None]:
            self._book = _Book(gathered, machine, options)
            return [None] * len(gathered)

        from_rank_0(comm, (this_spot(), dict(tasks), list(edges)), begin, "changing tasks")

    def update(
        self, *, edges: Edges = (), loads: Dictionary[int, int] | None = None,
        arrived: Dictionary[int, int] | None = None, vanished: Iterable[int] = (),
    ) -> Migrations:
        """Take over what changed on all processes and return what this process has to move; collective.

        The arguments are those of :meth:`hopbytes.Remapper.apply`, as far as this process knows; it holds the
        data of tasks that `arrived`. Of edges that several processes give, that of the highest rank counts.
        After a HopbytesError, which is raised on all processes, nothing has changed.
        """
        mine = (list(edges), dict(loads or {}), dict(arrived or {}), list(vanished))

        def work(gathered: list[Any]) -> list[Migrations]:
            assert self._book is not None
            return self._book.update(gathered)

        moves: Migrations = from_rank_0(self.comm, mine, work, "changing tasks")
        return moves


class _Book:
    """What rank 0 knows: the names of tasks, the process on each PE, and the Remapper."""

    def __init__(
        self, gathered: Sequence[tuple[Spot, dict[int, int], list[tuple[int, int, int]]]],
        machine: Allocation | str | None, options: dict[str, Any],
    ) -> None:
        where, process = located(machine, [spot for spot, _, _ in gathered])
        self.rank_of_pe = process.tolist()
        pe_of_rank = {rank: pe for pe, rank in enumerate(self.rank_of_pe)}
        self.number: dict[int, int] = {}
        self.name: list[int] = []
        self.free: list[int] = []  # numbers of vanished tasks
        pe, loads = [], []
        for rank, (_, tasks, _) in enumerate(gathered):
            for task, load in tasks.items():
                if task in self.number:
                    raise FormatError("tasks", None, f"task {task} is held by two processes, expected one")
                self.number[task] = len(self.name)
                self.name.append(task)
                pe.append(pe_of_rank[rank])
                loads.append(load)
        pairs: dict[tuple[int, int], int] = {}
        for _, _, edges in gathered:
            for u, v, volume in edges:
                a, b = self.known(u), self.known(v)
                pairs[min(a, b), max(a, b)] = volume
        ends = np.array(list(pairs), np.int64).reshape(-1, 2)
        graph = CommGraph.from_edges(
            ends[:, 0], ends[:, 1], np.array(list(pairs.values()), np.int64), n=len(pe),
            loads=np.array(loads, np.int64),
        )
        self.remapper = Remapper(graph, where, np.array(pe, np.int32), one_per_pe=False, **options)
        # Construction keeps the bounds, too; what it moved is reported with the first update.
        self.moved = {
            task: self.rank_of_pe[before]
            for task, before, now in zip(self.name, pe, self.remapper.pe.tolist(), strict=True)
            if before != now
        }

    def known(self, task: int) -> int:
        if task not in self.number:
            raise FormatError("edges", None, f"task {task}, which no process holds")
        return self.number[task]

    def update(self, gathered: Sequence[Any]) -> list[Migrations]:
        """Return the migrations of every process; if an error is raised, nothing has changed."""
        vanished = [task for *_, gone in gathered for task in gone]
        arrived = {task: load for _, _, came, _ in gathered for task, load in came.items()}
        origin = {task: rank for rank, (_, _, came, _) in enumerate(gathered) for task in came}
        if len(origin) < sum(len(came) for _, _, came, _ in gathered):
            raise FormatError("arrived", None, "a task arrives on two processes, expected one")
        taken = [task for task in arrived if task in self.number]
        if taken:
            raise FormatError("arrived", None, f"task {taken[0]}, which is present already")
        # Numbers of vanished tasks are used again, the last ones first.
        again = self.free[max(len(self.free) - len(arrived), 0) :]
        fresh = range(len(self.name), len(self.name) + len(arrived) - len(again))
        numbers = dict(zip(arrived, [*again, *fresh], strict=True))
        gone = [self.known(task) for task in vanished]

        def number(task: int) -> int:
            return numbers[task] if task in numbers else self.known(task)

        report = self.remapper.apply(
            edges=[(number(u), number(v), volume) for edges, *_ in gathered for u, v, volume in edges],
            loads={number(task): load for _, loads, _, _ in gathered for task, load in loads.items()},
            arrived={numbers[task]: load for task, load in arrived.items()}, vanished=gone,
        )
        del self.free[len(self.free) - len(again) :]
        for task in vanished:
            self.free.append(self.number.pop(task))
            self.moved.pop(task, None)
        self.number |= numbers
        self.name += [0] * len(fresh)
        for task, new in numbers.items():
            self.name[new] = task
        return self._migrations(report, origin, len(gathered))

    def _migrations(self, report: BatchReport, origin: dict[int, int], size: int) -> list[Migrations]:
        """Return what every process sends and receives."""
        before = self.moved | origin
        for number, source in zip(report.tasks.tolist(), report.sources.tolist(), strict=True):
            if source >= 0:
                before.setdefault(self.name[number], self.rank_of_pe[source])
        self.moved = {}
        send: list[dict[int, list[int]]] = [defaultdict(list) for _ in range(size)]
        receive: list[dict[int, list[int]]] = [defaultdict(list) for _ in range(size)]
        for task, source in before.items():
            target = self.rank_of_pe[int(self.remapper.pe[self.number[task]])]
            if target != source:
                send[source][target].append(task)
                receive[target][source].append(task)
        return [
            Migrations(dict(send[rank]), dict(receive[rank]), report if rank == 0 else None)
            for rank in range(size)
        ]
