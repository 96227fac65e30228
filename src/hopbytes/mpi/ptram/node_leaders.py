"""The leaders: rank 0 broadcasts a search job, all leaders search, and all know the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.two_level.routing import Routed
from hopbytes.engine.places import Groups
from hopbytes.engine.routed_search import HybridTerms
from hopbytes.errors import InfeasibleError
from hopbytes.machines.network.network import Network
from hopbytes.mpi.ptram.distributed_refinement import led_refine
from hopbytes.mpi.ptram.greedy import led_greedy
from hopbytes.mpi.ptram.own_routes import OwnRoutes
from hopbytes.mpi.ptram.part import Part
from hopbytes.mpi.ptram.wire import Comm, Wire


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
