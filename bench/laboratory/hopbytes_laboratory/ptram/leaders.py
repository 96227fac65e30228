"""PTRAM by several leaders: rank 0 broadcasts a search, all leaders carry it out, and all know the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import field_names, frozen
from hopbytes.algorithms.base import Effort, Mapper, Refiner, mappers, refiners
from hopbytes.algorithms.mappers.ptram import HybridGreedy
from hopbytes.algorithms.refiners.refine_ptram import RULES, HottestLink
from hopbytes.algorithms.two_level.groups import Grouped
from hopbytes.algorithms.two_level.routing import Routed
from hopbytes.engine.routed_search import Groups, HybridTerms
from hopbytes.errors import InfeasibleError
from hopbytes.machines.network import Network
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.mpi.processes import Comm
from hopbytes.solve.map_tasks import map_tasks
from hopbytes.util.options import describe
from hopbytes_laboratory.ptram.search import GroupedWire, OwnRoutes, Part, Wire, led_greedy, led_refine


class StrandedError(RuntimeError):
    """A search failed on this leader while others wait for it, so the program must call ``MPI_Abort``."""


@frozen(eq=False)
class Job:
    """One search: the greedy mapping if `terms` is given, otherwise the refinement of `start`."""

    traffic: Groups
    endpoints: Int32
    shift: int
    options: dict[str, Any]  # of :func:`led_greedy` or :func:`led_refine`
    terms: HybridTerms | None = None
    start: Int32 | None = None

    @property
    def nbytes(self) -> int:
        """The size of the arrays in bytes."""
        arrays = (*self.traffic.csr, *self.traffic[1:], self.endpoints, self.start)
        return sum(array.nbytes for array in arrays if array is not None)


class Leaders:
    """One of the processes that map together; methods are collective unless their description differs.

    Rank 0 calls `search` and finally `close`, while the other ranks are in `serve`. With `members` leaders
    form groups of so many, and only the first leader of a group exchanges data with other groups. A leader
    sums loads in so many `threads`. Neither changes the result.
    """

    def __init__(self, comm: Comm, network: Network, members: int = 0, threads: int = 1) -> None:
        self.wire = GroupedWire(comm, members) if members else Wire(comm)
        self._threads, self._evaluations = threads, 0
        self._network = network
        self._prices, _ = network.prices()
        self._own: OwnRoutes | None = None
        self._known: tuple[bytes, int] | None = None

    def search(
        self, problem: Routed, terms: HybridTerms | None = None, start: Int32 | None = None, **options: Any
    ) -> tuple[Int32, int, int]:
        """Return int32[G], the site of every group; improving rounds; evaluations. Rank 0 calls it."""
        routing = problem.routing
        job = Job(problem.traffic, routing.endpoints, routing.shift, options, terms, start)
        self.check(len(job.endpoints))
        self.wire.broadcast(job, job.nbytes)
        return self._search(job)

    def serve(self) -> int:
        """Perform the jobs of rank 0 until it closes; return its exit code. All other ranks call it."""
        while isinstance(job := self.wire.broadcast(None), Job):
            self._search(job)
        return int(job)

    def close(self, code: int) -> None:
        """Tell the other leaders that there are no more jobs. Rank 0 calls it."""
        self.wire.broadcast(code)

    def check(self, sites: int) -> None:
        """Refuse more leaders than nodes (InfeasibleError)."""
        if self.wire.size > sites:
            what = f"{self.wire.size} leaders for {sites} nodes"
            raise InfeasibleError(f"{what}, expected one per node at most")

    def report(self) -> list[dict[str, int]]:
        """Return the numbers of nodes, routes, evaluated candidates and sent messages of every leader."""
        own = self._own
        return self.wire.gathered({
            "rank": self.wire.rank,
            "nodes": 0 if own is None else len(own.sites),
            "routes": 0 if own is None else len(own),
            "route_bytes": 0 if own is None else own.nbytes,
            "evaluations": self._evaluations,
            "collectives": self.wire.collectives,
            "messages": self.wire.messages,
            "bytes": self.wire.bytes,
        })

    def _search(self, job: Job) -> tuple[Int32, int, int]:
        try:
            part, rounds = self._part(job), 0
            if job.terms is not None:
                site_of, evaluations = led_greedy(part, job.terms, **job.options)
            else:
                assert job.start is not None
                site_of, rounds, evaluations = led_refine(part, job.start, **job.options)
            self._evaluations += evaluations
            return site_of, rounds, sum(self.wire.gathered(evaluations, 8))
        except Exception as error:
            raise StrandedError(f"leader {self.wire.rank}: {str(error) or type(error).__name__}") from error

    def _part(self, job: Job) -> Part:
        """Compute the routes of this leader's nodes, unless they are known from the last job."""
        sites, size, rank = len(job.endpoints), self.wire.size, self.wire.rank
        firsts: Any = np.arange(size + 1) * sites // size
        known = job.endpoints.tobytes(), job.shift
        if self._own is None or known != self._known:
            self._own = OwnRoutes(
                self._network, job.endpoints, int(firsts[rank]), int(firsts[rank + 1]), job.shift,
                self._threads,
            )
            self._known = known
        return Part(job.traffic, self._own, self._prices, self.wire, firsts[:-1])


@frozen(eq=False)
class LedGreedy(HybridGreedy):
    """The mapper ``ptram``, whose groups are placed by `leaders`."""

    leaders: Any = None

    def place(self, grouped: Grouped, problem: Routed, terms: HybridTerms, effort: Effort) -> Int32:
        if problem.routing.ports > 1:  # leaders support one adapter per node only, so rank 0 searches alone
            return HybridGreedy.place(self, grouped, problem, terms, effort)
        site_of, _, evaluations = self.leaders.search(problem, terms, by_share=not self.raw)
        effort.count(places_evaluated=evaluations)
        found: Int32 = site_of
        return found


@frozen(eq=False)
class LedRefinement(HottestLink):
    """The refiner ``ptram``, whose exchanges are found by `leaders`."""

    leaders: Any = None

    def search(self, grouped: Grouped, problem: Routed, effort: Effort) -> tuple[Int32, int, int]:
        if problem.routing.ports > 1:
            return HottestLink.search(self, grouped, problem, effort)
        found: tuple[Int32, int, int] = self.leaders.search(
            problem, start=grouped.start, nearest=self.nearest, rounds=self.rounds,
            rule=RULES.index(self.rule), nearby=self.ties == "nearby",
        )
        return found


def _led(kind: Any, plain: Mapper | Refiner, leaders: Leaders) -> Any:
    return kind(*(getattr(plain, name) for name in field_names(plain)), leaders)


def map_with_leaders(
    leaders: Leaders, graph: CommGraph, where: Allocation, mapper: HybridGreedy, refiner: HottestLink,
    seed: int = 0,
) -> Mapping:
    """Return the mapping of ``map_tasks(graph, where, [mapper, refiner], seed=seed)``.

    The leaders perform the searches. Call this function on rank 0 while the other ranks are in
    :meth:`Leaders.serve`. Rank 0 alone partitions the tasks among nodes, maps them inside nodes and verifies
    the result.
    """
    steps = _led(LedGreedy, mapper, leaders), _led(LedRefinement, refiner, leaders)
    mapping = map_tasks(graph, where, list(steps), seed=seed, threads=1)
    names = {"mapper": describe(mappers, mapper), "refine": [describe(refiners, refiner)]}
    return Mapping(mapping.pe, mapping.where, {**mapping.info, **names})
