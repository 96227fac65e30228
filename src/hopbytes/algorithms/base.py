"""The interfaces of mappers and refiners, and the arguments that they get besides graph and allocation."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.engine.control import RunControl, stop_asked
from hopbytes.errors import UnsupportedError
from hopbytes.kernels.linear_cost import LinearCost
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.options import check_types
from hopbytes.util.registry import Registry

#: Options state work in millions of scanned edges.
MILLION = 10**6

#: Every step of a search without an end of its own counts at least so many scanned edges, since steps that
#: scan few edges take time, too.
LEAST_STEP = 10_000

#: The values that options take: the texts, or the range of integers.
Allowed = Mapping[str, Sequence[object]]

#: Receives the name of a stage, the amount done and the total amount (0: unknown).
Progress = Callable[[str, int, int], None]


@frozen(eq=False)
class Effort:
    """Settings of one run that are not hyperparameters: seed, threads, limits, callbacks and counters.

    Parameters
    ----------
    seed : int
        All random numbers derive from the seed and from the path of a subproblem, never from scheduling.
    threads : int
        Number of parallel workers; the result does not depend on it.
    deadline : float or None
        ``time.monotonic()`` value after which a mapper returns its best mapping as soon as it can.
    progress : callable or None
        Called with (stage, done, total) from the main thread.
    work : dict
        Counters that a mapper increments (repetitions, moves, ...). They are deterministic and reported
        in ``Mapping.info``.
    work_limit : int or None
        Number of scanned edges after which no further search begins. Searches that have begun are
        completed, so the result is the same for any number of threads and on any processor.
    cancel : int32[2] or None
        Control flag and counter for searches in another thread: they return soon after the flag is set
        to 1.
    history : list of (seconds, arcs, J)
        One entry per improvement of the best mapping: seconds since `began`, scanned edges, its J.
    began : float
        ``time.monotonic()`` value when the call began.
    notices : list of str
        What the user should know about how a mapper ran; they join those of the mapping.

    Notes
    -----
    The unit of work is one edge scanned by a compiled search (a visited vertex counts as one edge).
    Searches report it through :meth:`spend`; ``work["arcs"]`` is the sum, which is independent of
    `threads`. A search that a deadline ends early counts in ``work["cut_short"]`` and not in
    ``work["arcs"]``. If the result does not depend on such a search, a run with this sum as its
    `work_limit` reproduces it. ``work["overlapped"]`` is the part of it that threads can do at the same time
    as other work, see :meth:`counted`.
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
    notices: list[str] = field(default_factory=list)

    def note(self, cost: int) -> None:
        """Add a value of J to `history` if it is lower than all earlier ones."""
        if not self.history or cost < self.history[-1][2]:
            self.history.append((time.monotonic() - self.began, self.work.get("arcs", 0), cost))

    def count(self, **amounts: int) -> None:
        """Add amounts to counters in `work`."""
        for name, amount in amounts.items():
            self.work[name] = self.work.get(name, 0) + amount

    def spend(self, arcs: int, whole: bool = True) -> None:
        """Record the work of one search; `whole` is False if a deadline ended it early."""
        self.count(**({"arcs": arcs} if whole else {"cut_short": 1}))

    def step_over(self, before: int) -> bool:
        """Record one step of a search that only a limit ends; False means that the search must stop.

        `before` is ``work["arcs"]`` when the step began. A step counts as at least :data:`LEAST_STEP` edges.
        One that scanned none ends the search, since further steps would never reach a `work_limit`.

        >>> effort = Effort()
        >>> effort.step_over(0), effort.spend(7), effort.step_over(0), effort.work["arcs"]
        (False, None, True, 10000)
        """
        done = self.work.get("arcs", 0) - before
        if 0 < done < LEAST_STEP:
            self.count(arcs=LEAST_STEP - done)
        return done > 0

    def whole(self, work: Callable[[], Int32]) -> Int32 | None:
        """Return the result of `work`, or undo its counters and return None if the deadline ended it early.

        A `work_limit` equal to the counted work therefore reproduces a run that a time limit ended.
        """
        before = dict(self.work)
        found = work()
        if self.work.get("cut_short", 0) == before.get("cut_short", 0):
            return found
        self.work.clear()
        self.work.update(before)
        return None

    def run_control(self, watch: Callable[[int], None] | None = None) -> RunControl:
        """Return the control of a compiled search with this effort; `watch` receives its progress."""
        return RunControl(
            self.seed, self.threads, self.deadline, self.spend, watch, self.cancel,
            lambda arcs: self.count(overlapped=arcs),
        )

    def counted(self) -> dict[str, int]:
        """Return `work` with ``span``, the scanned edges that follow one another with any number of threads.

        >>> effort = Effort()
        >>> effort.spend(7), effort.count(overlapped=3), effort.counted()
        (None, None, {'arcs': 7, 'span': 4})
        """
        counted = dict(sorted(self.work.items()))
        overlapped = counted.pop("overlapped", 0)
        if "arcs" in counted:
            counted["span"] = counted["arcs"] - overlapped
        return dict(sorted(counted.items()))

    def watch(self, stage: str, total: int) -> Callable[[int], None] | None:
        """Report the beginning of a stage to `progress`; return a function that reports how far it is."""
        report = self.progress
        if report is None:
            return None
        report(stage, 0, total)
        return lambda done: report(stage, done, total)

    @property
    def out_of_time(self) -> bool:
        """Whether the deadline has passed or a stop was requested."""
        return stop_asked() or (self.deadline is not None and time.monotonic() >= self.deadline)

    @property
    def used_up(self) -> bool:
        """Whether no further search may begin, because the deadline or the work limit has been reached."""
        spent = self.work.get("arcs", 0)
        return self.out_of_time or (self.work_limit is not None and spent >= self.work_limit)


#: Files that define several mappers or refiners; each of the others is in the file of its name.
_SHARED_FILES = {
    "mappers.orders": ("identity", "random", "rcm", "round_robin", "training_order"),
    "mappers.geometric": ("curve", "multi_jagged"),
    "mappers.greedy": ("mueller_merbach", "greedy_all_c"),
    "mappers.level_by_level": ("top_down", "bottom_up", "dual_recursive_bipartitioning"),
    "refiners.congestion": ("congestion", "routed"),
    "refiners.pairs": ("n_square", "n_p", "n_cd", "chains"),
    "refiners.umpa": ("uwh", "uth", "umc", "ummc"),
    "refiners.units": ("subtrees", "pairwise_repartitioning"),
}
_MODULES = {name: f"hopbytes.algorithms.{file}" for file, names in _SHARED_FILES.items() for name in names}
mappers: Registry[type[Mapper]] = Registry(
    "mapper", "hopbytes.algorithms.mappers", entry_points="hopbytes.mappers", modules=_MODULES
)
refiners: Registry[type[Refiner]] = Registry(
    "refiner", "hopbytes.algorithms.refiners", entry_points="hopbytes.refiners",
    modules=_MODULES | {"ptram": "refine_ptram"},
)  # fmt: skip


@frozen(eq=False, owns=("load", "count"))
class Bounds:
    """The load or the number of tasks that each PE may hold.

    Parameters
    ----------
    load : int64[k]
        Largest sum of task loads per PE.
    count : int64[k] or None
        If ``exact`` is set, the number of tasks that every PE must hold; loads are then ignored.
    exact : bool
        Every PE holds exactly ``count`` tasks, for example one task per slot (or floor/ceil of n/k).
    linear_cost : LinearCost or None
        Costs besides communication: fixed tasks, forbidden PEs, migration. It is None for most problems.
    """

    load: Int64
    count: Int64 | None = None
    exact: bool = False
    linear_cost: LinearCost | None = None

    def room(self, n: int) -> Int64:
        """Return int64[k], the maximum load of each PE in a search; with ``exact`` it is `n` for all PEs.

        Exchanges preserve the number of tasks per PE, so with ``exact`` no load has to be bounded.

        Examples
        --------
        >>> Bounds(np.array([1, 1]), exact=True).room(7)
        array([7, 7])
        """
        return np.full(len(self.load), n, np.int64) if self.exact else self.load

    def rank(self, graph: CommGraph, where: Allocation, pe: Int32, threads: int = 1) -> tuple[int, int]:
        """Return the key by which mappings are compared: lower is better, and the excess load comes first.

        Parameters
        ----------
        graph : CommGraph
        where : Allocation
        pe : int32[n]
            PE of every task, 0..k-1.
        threads : int
            Number of threads for large graphs.

        Returns
        -------
        tuple of int
            The load beyond `load`, summed over PEs (0 with `exact`, since counts are not checked); then
            J, the sum over stored arcs of volume x distance, plus the costs of `linear_cost`.

        Notes
        -----
        O(n + m + k). The result is exact below 2**63, a limit that
        :func:`hopbytes.cost.objectives.comm_cost.check_scale` checks for J.

        Examples
        --------
        >>> from hopbytes.machines.allocate.allocate import allocate
        >>> pair, where = CommGraph.from_edges([0], [1], [5]), allocate("core:2@3")
        >>> bounds = Bounds(np.array([1, 1]))
        >>> bounds.rank(pair, where, np.array([0, 0], np.int32))
        (1, 0)
        >>> bounds.rank(pair, where, np.array([0, 1], np.int32))
        (0, 15)
        """
        over = 0
        if not self.exact:
            over = int(np.maximum(group_sums(pe, graph.loads, where.k, threads) - self.load, 0).sum())
        return over, CommCost().value(graph, where, pe, threads) + (
            0 if self.linear_cost is None else self.linear_cost.total(pe)
        )


class Algorithm:
    """What mappers and refiners have in common: they are frozen dataclasses of their hyperparameters."""

    __slots__ = ()
    #: The algorithm requires a machine with routes between its nodes and raises UnsupportedError otherwise.
    needs_routes: ClassVar[bool] = False
    #: What options take that do not take every value of their type.
    allowed: ClassVar[Allowed] = {}
    #: Groups of options by purpose; they affect only how long lists of options are shown.
    option_groups: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __post_init__(self) -> None:
        if self.allowed:
            check_types(self)
        for option, values in self.allowed.items():
            if (value := getattr(self, option)) not in values:
                some = isinstance(values, range)
                known = f"{values[0]} to {values[-1]}" if some else f"one of {', '.join(map(str, values))}"
                raise UnsupportedError(f"{_name_of(self)}: {option}={value}, expected {known}")


def _name_of(algorithm: Algorithm) -> str:
    registry: Registry[Any] = mappers if isinstance(algorithm, Mapper) else refiners
    return f"{registry.kind} {registry.name_of(type(algorithm)) or type(algorithm).__name__!r}"


class Mapper(Algorithm, ABC):
    """An algorithm that computes a mapping. Subclasses are frozen dataclasses of their hyperparameters."""

    __slots__ = ()
    #: The mapper requires a machine whose nodes have coordinates and raises UnsupportedError otherwise.
    needs_coordinates: ClassVar[bool] = False
    #: With fewer tasks than PEs the mapper selects the PEs itself, with at most one task on each, unless the
    #: caller selects them.
    chooses_slots: ClassVar[bool] = False
    #: The mapper reads a property of every task, so free PEs cannot be filled with tasks without messages.
    knows_tasks: ClassVar[bool] = False
    #: Zero-load tasks are mapped together with the others (:func:`hopbytes.solve.feasible.map_as_average`).
    maps_all_at_once: ClassVar[bool] = False

    @property
    def deterministic(self) -> bool:
        """Whether the same seed gives the same mapping, for any number of threads."""
        return True

    @abstractmethod
    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task; it may violate `bounds`, since the caller repairs it."""


class Refiner(Algorithm, ABC):
    """An algorithm that improves a mapping. Subclasses are frozen dataclasses."""

    __slots__ = ()
    #: The objective that never gets worse; on machines without routes it is always the communication cost.
    objective: ClassVar[str] = "comm_cost"
    #: Other objectives that never get worse either, as long as the options have their defaults.
    keeps: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a mapping that is no worse than `pe` and satisfies `bounds` if `pe` does."""
