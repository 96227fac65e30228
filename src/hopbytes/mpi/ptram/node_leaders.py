"""The leaders as a whole: rank 0 says what is to be searched, all search, all know the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.algorithms.two_level import Routed
from hopbytes.engine.routed_search import HybridTerms, Traffic
from hopbytes.errors import InfeasibleError
from hopbytes.machines.network.network import Network
from hopbytes.mpi.ptram.distributed_refinement import led_refine
from hopbytes.mpi.ptram.greedy import led_greedy
from hopbytes.mpi.ptram.own_routes import OwnRoutes
from hopbytes.mpi.ptram.part import Part
from hopbytes.mpi.ptram.wire import Comm, Wire


class StrandedError(RuntimeError):
    """A search broke off on this leader while others wait for it: only ``MPI_Abort`` frees them."""


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One search: the greedy (`terms`, `by_share`) or the refinement (the rest)."""

    traffic: Traffic
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
        """Bytes of the arrays in it."""
        arrays = (*self.traffic, self.endpoints, self.start)
        return sum(array.nbytes for array in arrays if array is not None)


class Leaders:
    """One process among those that map together; collective unless said otherwise.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        Each of its processes is a leader of about as many nodes.
    network : Network
        The same on all. Each keeps the routes of its own nodes.

    Notes
    -----
    Rank 0 calls `greedy`, `refine` and at last `close`; the others are in `serve` meanwhile.
    """

    def __init__(self, comm: Comm, network: Network) -> None:
        self.wire = Wire(comm)
        self._network = network
        self._prices, _ = network.prices()
        self._own: OwnRoutes | None = None
        self._known: tuple[bytes, int] | None = None

    def greedy(self, problem: Routed, terms: HybridTerms, *, by_share: bool) -> tuple[Int32, int]:
        """int32[G]: place of every group; candidates evaluated by all. On rank 0.

        Raises
        ------
        InfeasibleError
            More leaders than nodes.
        StrandedError
            The search broke off.
        """
        routing = problem.routing
        place, _, evaluations = self._start(
            Job(problem.traffic, routing.endpoints, routing.shift, terms, by_share=by_share)
        )
        return place, evaluations

    def refine(
        self, problem: Routed, start: Int32, *, nearest: int, rounds: int, paper_rule: bool, nearby: bool
    ) -> tuple[Int32, int, int]:
        """int32[G]: place of every group; rounds won; exchanges evaluated by all. On rank 0.

        Raises
        ------
        InfeasibleError, StrandedError
            As for `greedy`.
        """
        routing = problem.routing
        return self._start(
            Job(
                problem.traffic, routing.endpoints, routing.shift, None, start, nearest, rounds,
                paper_rule=paper_rule, nearby=nearby,
            )
        )

    def serve(self) -> int:
        """Search whenever rank 0 says so; return the exit code it ends with. On all others."""
        while isinstance(job := self.wire.told(None), Job):
            self._search(job)
        return int(job)

    def close(self, code: int) -> None:
        """Let the others know that there is nothing more to do. On rank 0."""
        self.wire.told(code)

    def check(self, places: int) -> None:
        """Refuse more leaders than nodes (InfeasibleError)."""
        if self.wire.size > places:
            found = f"{self.wire.size} leaders for {places} nodes"
            raise InfeasibleError(f"{found}, expected one per node at most")

    def report(self) -> list[dict[str, int]]:
        """Return what every leader holds and has sent to others so far."""
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
        self.wire.told(job, job.nbytes)
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
        """Load the routes of this leader's nodes, unless they are the ones it has."""
        places, size, rank = len(job.endpoints), self.wire.size, self.wire.rank
        firsts: Any = np.arange(size + 1) * places // size
        known = job.endpoints.tobytes(), job.shift
        if self._own is None or known != self._known:
            self._own = OwnRoutes(
                self._network, job.endpoints, int(firsts[rank]), int(firsts[rank + 1]), job.shift
            )
            self._known = known
        return Part(job.traffic, self._own, self._prices, self.wire, firsts[:-1])
