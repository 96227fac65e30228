"""What a mapper and a refiner are, and what they are told besides graph and machine."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._util.registry import Registry
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.engine.control import RunControl, stop_asked
from hopbytes.kernels.linear_cost import LinearCost
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph

#: Options give work in millions of scanned edges.
MILLION = 10**6

#: Arcs that a step of an endless search counts at least: where there is little to look at it takes time, too.
LEAST_STEP = 10_000

#: Told what is being done, how much of it is done, and of how much (0: nobody knows).
Progress = Callable[[str, int, int], None]

mappers: Registry[type[Mapper]] = Registry(
    "mapper", ("hopbytes.algorithms.mappers", "hopbytes.algorithms.papers"), entry_points="hopbytes.mappers"
)
refiners: Registry[type[Refiner]] = Registry(
    "refiner", ("hopbytes.algorithms.refiners", "hopbytes.algorithms.papers"), ("", "refine_"),
    aliases={"resplit": "pairwise_repartitioning"},  # its name in 0.1.0
    entry_points="hopbytes.refiners",
)


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """What each PE may hold.

    Parameters
    ----------
    load : int64[k]
        Largest sum of task loads per PE.
    count : int64[k] or None
        With ``exact`` the number of tasks every PE must hold; loads then play no part.
    exact : bool
        One task per slot (or floor/ceil of n/k): counts are met exactly.
    linear_cost : LinearCost or None
        Costs beyond communication: fixed and forbidden places, migration. None for most problems.
    """

    load: Int64
    count: Int64 | None = None
    exact: bool = False
    linear_cost: LinearCost | None = None

    def room(self, n: int) -> Int64:
        """int64[k]: what each PE may hold in a search; with ``exact`` all `n`, because exchanges keep counts.

        Examples
        --------
        >>> Bounds(np.array([1, 1]), exact=True).room(7)
        array([7, 7])
        """
        return np.full(len(self.load), n, np.int64) if self.exact else self.load

    def rank(self, graph: CommGraph, where: Allocation, pe: Int32) -> tuple[int, int]:
        """Return what to compare placements by: less is better, and keeping the bounds comes first.

        Parameters
        ----------
        graph : CommGraph
        where : Allocation
        pe : int32[n]
            PE of every task, 0..k-1.

        Returns
        -------
        tuple of int
            Load beyond `load`, summed over PEs (0 with `exact`, where counts are not looked at); then J,
            the sum over stored arcs of volume x distance, and the costs of `linear_cost`.

        Notes
        -----
        O(n + m + k), exact below 2**63, which :func:`hopbytes.cost.metrics.scale.check_scale` asks for J.

        Examples
        --------
        >>> from hopbytes.machines.selection.allocate import machine
        >>> pair, where = CommGraph.from_edges([0], [1], [5]), machine("core:2@3")
        >>> bounds = Bounds(np.array([1, 1]))
        >>> bounds.rank(pair, where, np.array([0, 0], np.int32))
        (1, 0)
        >>> bounds.rank(pair, where, np.array([0, 1], np.int32))
        (0, 15)
        """
        over = 0
        if not self.exact:
            over = int(np.maximum(group_sums(pe, graph.loads, where.k) - self.load, 0).sum())
        return over, CommCost().value(graph, where, pe) + (
            0 if self.linear_cost is None else self.linear_cost.total(pe)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Effort:
    """How to run: seed, threads, when to stop, whom to tell.

    Parameters
    ----------
    seed : int
        All randomness derives from it and from the path of a subproblem, never from scheduling.
    threads : int
        Workers side by side; the answer does not depend on it.
    deadline : float or None
        ``time.monotonic()`` value after which a mapper returns its best as soon as it can.
    progress : callable or None
        Called with (stage, done, total) from the main thread.
    work : dict
        Counters a mapper adds up (tries, moves, ...); deterministic, reported in ``Mapping.info``.
    work_limit : int or None
        Scanned edges after which no further attempt begins. What has begun comes to its end, so the
        answer is the same for any number of threads and on any processor.
    cancel : int32[2] or None
        Control words for searches of another thread: they come home soon after the first becomes 1.
    history : list of (seconds, arcs, J)
        When the best placement so far was found: seconds since `began`, scanned edges, its J.
    began : float
        ``time.monotonic()`` value when the call began.

    Notes
    -----
    The unit of work is one arc looked at by a compiled search (a vertex that is visited counts as one
    arc). Searches report it through :meth:`spend`; ``work["arcs"]`` is the sum, for any `threads`.
    A search that a deadline ends early counts in ``work["cut_short"]`` and not in ``work["arcs"]``: an
    answer that owes nothing to such a search is repeated by a `work_limit` of that sum.
    """

    seed: int = 0
    threads: int = 1
    deadline: float | None = None
    progress: Progress | None = None
    work: dict[str, int] = field(default_factory=dict)
    work_limit: int | None = None
    cancel: Int32 | None = None
    history: list[tuple[float, int, int]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def note(self, cost: int) -> None:
        """Add a J to `history` if it is lower than all before."""
        if not self.history or cost < self.history[-1][2]:
            self.history.append((time.monotonic() - self.began, self.work.get("arcs", 0), cost))

    def count(self, **amounts: int) -> None:
        """Add to counters of `work`."""
        for name, amount in amounts.items():
            self.work[name] = self.work.get(name, 0) + amount

    def spend(self, arcs: int, whole: bool = True) -> None:
        """Book the work of one search; `whole` says that no deadline ended it early."""
        self.count(**({"arcs": arcs} if whole else {"cut_short": 1}))

    def step_over(self, before: int) -> bool:
        """Book a step of a search that only a limit ends; False if it looked at nothing, so is the last.

        Parameters
        ----------
        before : int
            ``work["arcs"]`` when the step began.

        Returns
        -------
        bool
            False when no arc was looked at: then no further step would ever use up a `work_limit`.

        Notes
        -----
        A step counts :data:`LEAST_STEP` arcs at least. O(1).

        Examples
        --------
        >>> effort = Effort()
        >>> effort.step_over(0), effort.spend(7), effort.step_over(0), effort.work["arcs"]
        (False, None, True, 10000)
        """
        done = self.work.get("arcs", 0) - before
        if 0 < done < LEAST_STEP:
            self.count(arcs=LEAST_STEP - done)
        return done > 0

    def whole(self, work: Callable[[], Int32]) -> Int32 | None:
        """Return what `work` finds unless the deadline ended it early; then it is as if it had never begun.

        Parameters
        ----------
        work : callable
            Returns int32[n] and counts in this effort.

        Returns
        -------
        int32[n] or None
            None when ``work["cut_short"]`` grew meanwhile; the counters are then what they were before.

        Notes
        -----
        So a `work_limit` of what has been counted repeats a run that a time limit ended. Counters are
        copied, O(1) beside the work.

        Examples
        --------
        >>> effort = Effort()
        >>> def half() -> Int32:
        ...     effort.spend(7)
        ...     effort.spend(0, whole=False)
        ...     return np.zeros(3, np.int32)
        >>> effort.whole(half) is None, effort.work
        (True, {})
        """
        before = dict(self.work)
        found = work()
        if self.work.get("cut_short", 0) == before.get("cut_short", 0):
            return found
        self.work.clear()
        self.work.update(before)
        return None

    def run_control(self, watch: Callable[[int], None] | None = None) -> RunControl:
        """Return what compiled searches need of this effort; `watch` is told how far one has come."""
        return RunControl(self.seed, self.threads, self.deadline, self.spend, watch, self.cancel)

    def watch(self, stage: str, total: int) -> Callable[[int], None] | None:
        """Tell `progress` that a stage begins; return whom to tell how much of `total` is done, if anybody.

        Parameters
        ----------
        stage : str
            What is being done.
        total : int
            Of how much.

        Returns
        -------
        callable or None
            Takes how much is done; None where nobody listens.
        """
        report = self.progress
        if report is None:
            return None
        report(stage, 0, total)
        return lambda done: report(stage, done, total)

    @property
    def out_of_time(self) -> bool:
        """Whether the deadline has passed, or somebody asked to stop."""
        return stop_asked() or (self.deadline is not None and time.monotonic() >= self.deadline)

    @property
    def used_up(self) -> bool:
        """Whether nothing further may begin: the deadline has passed or the work is done."""
        spent = self.work.get("arcs", 0)
        return self.out_of_time or (self.work_limit is not None and spent >= self.work_limit)


class Mapper(ABC):
    """An algorithm that places tasks. Subclasses are frozen dataclasses; fields are hyperparameters."""

    __slots__ = ()
    #: Works only on machines that know the routes between their nodes; elsewhere an UnsupportedError.
    needs_routes: ClassVar[bool] = False
    #: Works only on machines whose nodes have coordinates; elsewhere an UnsupportedError.
    needs_coordinates: ClassVar[bool] = False
    #: With fewer tasks than PEs it picks the PEs itself, at most one task on each, unless the caller does.
    chooses_slots: ClassVar[bool] = False
    #: It reads a fact about every task, so that silent tasks cannot stand for free PEs.
    knows_tasks: ClassVar[bool] = False
    #: Options that belong together, by what they are for; only how long lists are shown depends on it.
    option_groups: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @property
    def deterministic(self) -> bool:
        """Whether the same seed gives the same placement, for any number of threads."""
        return True

    @abstractmethod
    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task. Need not meet `bounds`: the caller repairs and verifies."""


class Refiner(ABC):
    """An algorithm that improves a placement. Subclasses are frozen dataclasses."""

    __slots__ = ()
    #: Works only on machines that know the routes between their nodes; elsewhere an UnsupportedError.
    needs_routes: ClassVar[bool] = False
    #: What never gets worse; on machines without routes always the communication cost.
    objective: ClassVar[str] = "comm_cost"
    #: Other objectives that never get worse either, with the options as they are by default.
    keeps: ClassVar[tuple[str, ...]] = ()
    #: Options that belong together, by what they are for; only how long lists are shown depends on it.
    option_groups: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @abstractmethod
    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a placement no worse than `pe` that keeps `bounds` if `pe` did."""
