"""Communication between leaders, with counts of messages and bytes."""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

import numpy as np

from hopbytes._arrays import Array, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, Refiner, mappers, refiners
from hopbytes.algorithms.mappers.ptram import HybridGreedy
from hopbytes.algorithms.refiners.refine_ptram import HottestLink
from hopbytes.algorithms.two_level.groups import Grouped
from hopbytes.algorithms.two_level.routing import Routed
from hopbytes.engine.places import Groups
from hopbytes.engine.routed_search import HybridTerms
from hopbytes.errors import InfeasibleError
from hopbytes.machines.network.network import Network
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.mpi.ptram.search import OwnRoutes, Part, led_greedy, led_refine
from hopbytes.solve.map_tasks import map_tasks
from hopbytes.util.options import describe

Numbers: TypeAlias = Array
Comm: TypeAlias = Any  # mpi4py.MPI.Intracomm; mpi4py has to be optional


class Wire:
    """A communicator that counts what this process sends to others."""

    def __init__(self, comm: Comm) -> None:
        self._comm = comm
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.collectives = self.messages = self.bytes = 0

    def broadcast(self, value: Any, size: int = 0) -> Any:
        """Return the value of rank 0 on all leaders; `size` is its size in bytes, for the count."""
        self._book(self.size - 1 if self.rank == 0 else 0, size)
        return self._comm.bcast(value, root=0)

    def gathered(self, value: Any, size: int = 0) -> list[Any]:
        """Return the values of all leaders, by rank."""
        self._book(self.size - 1, size)
        found: list[Any] = self._comm.allgather(value)
        return found

    def offers(self, mine: Numbers) -> Numbers:
        """Return an array [size, n] with the n numbers of every leader (MPI_Allgather)."""
        self._book(self.size - 1, mine.nbytes)
        found = np.empty((self.size, len(mine)), mine.dtype)
        self._comm.Allgather(mine, found)
        return found

    def from_winner(self, mine: Int64 | None, count: int, winner: int) -> Int64:
        """Return int64[count], the numbers of the leader `winner` (MPI_Bcast)."""
        found = np.empty(count, np.int64) if mine is None else mine
        self._book(self.size - 1 if self.rank == winner else 0, found.nbytes)
        self._comm.Bcast(found, root=winner)
        return found

    def exchanged(self, parts: list[Int64]) -> list[Int64]:
        """Send ``parts[i]`` to leader i and return what each leader sent to this one (MPI_Alltoall)."""
        self._book(0, 0)
        for rank, part in enumerate(parts):
            if rank != self.rank and len(part):
                self.messages += 1
                self.bytes += part.nbytes
        found: list[Int64] = self._comm.alltoall(parts)
        return found

    def _book(self, receivers: int, size: int) -> None:
        self.collectives += 1
        self.messages += receivers
        self.bytes += receivers * size


class StrandedError(RuntimeError):
    """A search failed on this leader while others wait for it, so the program must call ``MPI_Abort``."""


@frozen(eq=False)
class Job:
    """One search: the greedy mapping if `terms` is given, otherwise the refinement."""

    traffic: Groups
    endpoints: Int32
    shift: int
    terms: HybridTerms | None = None
    start: Int32 | None = None
    nearest: int = 0
    rounds: int = 0
    by_share: bool = False
    paper_rule: bool = True
    nearby: bool = False

    @property
    def nbytes(self) -> int:
        """The size of the arrays in bytes."""
        arrays = (*self.traffic.csr, *self.traffic[1:], self.endpoints, self.start)
        return sum(array.nbytes for array in arrays if array is not None)


class Leaders:
    """One of the processes that map together; methods are collective unless their description differs.

    Rank 0 calls `greedy`, `refine` and finally `close`, while the other ranks are in `serve`.
    """

    def __init__(self, comm: Comm, network: Network) -> None:
        self.wire = Wire(comm)
        self._network = network
        self._prices, _ = network.prices()
        self._own: OwnRoutes | None = None
        self._known: tuple[bytes, int] | None = None

    def greedy(self, problem: Routed, terms: HybridTerms, *, by_share: bool) -> tuple[Int32, int]:
        """Return int32[G], the place of every group, and all leaders' evaluations. Rank 0 calls it."""
        routing = problem.routing
        place, _, evaluations = self._start(
            Job(problem.traffic, routing.endpoints, routing.shift, terms, by_share=by_share)
        )
        return place, evaluations

    def refine(
        self, problem: Routed, start: Int32, *, nearest: int, rounds: int, paper_rule: bool, nearby: bool
    ) -> tuple[Int32, int, int]:
        """Return int32[G], the place of every group; improving rounds; evaluations. Rank 0 calls it."""
        routing = problem.routing
        return self._start(
            Job(
                problem.traffic, routing.endpoints, routing.shift, None, start, nearest, rounds,
                paper_rule=paper_rule, nearby=nearby,
            )
        )

    def serve(self) -> int:
        """Perform the jobs of rank 0 until it closes; return its exit code. All other ranks call it."""
        while isinstance(job := self.wire.broadcast(None), Job):
            self._search(job)
        return int(job)

    def close(self, code: int) -> None:
        """Tell the other leaders that there are no more jobs. Rank 0 calls it."""
        self.wire.broadcast(code)

    def check(self, places: int) -> None:
        """Refuse more leaders than nodes (InfeasibleError)."""
        if self.wire.size > places:
            found = f"{self.wire.size} leaders for {places} nodes"
            raise InfeasibleError(f"{found}, expected one per node at most")

    def report(self) -> list[dict[str, int]]:
        """Return the numbers of nodes, routes and sent messages of every leader."""
        own = self._own
        mine = {
            "rank": self.wire.rank,
            "nodes": 0 if own is None else len(own.places),
            "routes": 0 if own is None else len(own),
            "route_bytes": 0 if own is None else own.nbytes,
            "collectives": self.wire.collectives,
            "messages": self.wire.messages,
            "bytes": self.wire.bytes,
        }
        return self.wire.gathered(mine)

    def _start(self, job: Job) -> tuple[Int32, int, int]:
        self.check(len(job.endpoints))
        self.wire.broadcast(job, job.nbytes)
        return self._search(job)

    def _search(self, job: Job) -> tuple[Int32, int, int]:
        try:
            part, rounds = self._part(job), 0
            if job.terms is not None:
                place, evaluations = led_greedy(part, job.terms, by_share=job.by_share)
            else:
                assert job.start is not None
                place, rounds, evaluations = led_refine(
                    part, job.start, nearest=job.nearest, rounds=job.rounds, paper_rule=job.paper_rule,
                    nearby=job.nearby,
                )
            return place, rounds, sum(self.wire.gathered(evaluations, 8))
        except Exception as error:
            raise StrandedError(f"leader {self.wire.rank}: {str(error) or type(error).__name__}") from error

    def _part(self, job: Job) -> Part:
        """Compute the routes of this leader's nodes, unless they are known from the last job."""
        places, size, rank = len(job.endpoints), self.wire.size, self.wire.rank
        firsts: Any = np.arange(size + 1) * places // size
        known = job.endpoints.tobytes(), job.shift
        if self._own is None or known != self._known:
            self._own = OwnRoutes(
                self._network, job.endpoints, int(firsts[rank]), int(firsts[rank + 1]), job.shift
            )
            self._known = known
        return Part(job.traffic, self._own, self._prices, self.wire, firsts[:-1])


class LedGreedy(Mapper):
    """The mapper `plain`, whose groups are placed by `leaders`."""

    needs_routes: ClassVar[bool] = True

    def __init__(self, plain: HybridGreedy, leaders: Leaders) -> None:
        self._plain, self._leaders = plain, leaders

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        return self._plain.carried_out(graph, where, bounds, effort, self._place)

    def _place(self, grouped: Grouped, problem: Routed, terms: HybridTerms, effort: Effort) -> Int32:
        if problem.routing.ports > 1:  # leaders support one adapter per node only, so rank 0 searches alone
            return self._plain.place(grouped, problem, terms, effort)
        place, evaluations = self._leaders.greedy(problem, terms, by_share=not self._plain.raw)
        effort.count(places_evaluated=evaluations)
        return place


class LedRefinement(Refiner):
    """The refiner `plain`, whose exchanges are found by `leaders`."""

    needs_routes: ClassVar[bool] = True
    objective: ClassVar[str] = HottestLink.objective

    def __init__(self, plain: HottestLink, leaders: Leaders) -> None:
        self._plain, self._leaders = plain, leaders

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a mapping whose maximum congestion is not higher."""
        return self._plain.carried_out(graph, where, pe, bounds, effort, self._search)

    def _search(self, grouped: Grouped, problem: Routed, effort: Effort) -> tuple[Int32, int, int]:
        plain = self._plain
        if problem.routing.ports > 1:
            return plain.search(grouped, problem, effort)
        return self._leaders.refine(
            problem, grouped.start, nearest=plain.nearest, rounds=plain.rounds,
            paper_rule=plain.rule == "paper", nearby=plain.ties == "nearby",
        )


def map_with_leaders(
    leaders: Leaders, graph: CommGraph, where: Allocation, mapper: HybridGreedy, refiner: HottestLink,
    seed: int = 0,
) -> Mapping:
    """Return the mapping of ``map_tasks(graph, where, mapper=mapper, refine=refiner, seed=seed)``.

    The leaders perform the searches. Call this function on rank 0 while the other ranks are in
    :meth:`Leaders.serve`. Rank 0 alone partitions the tasks among nodes, maps them inside nodes and verifies
    the result.
    """
    steps = LedGreedy(mapper, leaders), LedRefinement(refiner, leaders)
    mapping = map_tasks(graph, where, mapper=steps[0], refine=steps[1], seed=seed, threads=1)
    names = {"mapper": describe(mappers, mapper), "refine": [describe(refiners, refiner)]}
    return Mapping(mapping.pe, mapping.where, {**mapping.info, **names})
