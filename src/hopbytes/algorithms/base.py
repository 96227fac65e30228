"""The interfaces of mappers and refiners, and the arguments that they get besides graph and allocation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.effort import LEAST_STEP, MILLION, Effort, Progress
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.kernels.linear_cost import LinearCost
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.registry import Registry

__all__ = [
    "LEAST_STEP", "MILLION", "Bounds", "Effort", "Mapper", "Progress", "Refiner", "mappers", "refiners",
]  # fmt: skip

#: Files that define several mappers or refiners; each of the others is in the file of its name.
_SHARED_FILES = {
    "mappers.orders": ("identity", "random", "rcm", "round_robin"),
    "mappers.geometric": ("curve", "multi_jagged"),
    "mappers.greedy": ("mueller_merbach", "greedy_all_c"),
    "mappers.level_by_level": ("top_down", "bottom_up", "dual_recursive_bipartitioning"),
    "refiners.pairs": ("n_square", "n_p", "n_cd"),
    "refiners.umpa": ("uwh", "uth", "umc", "ummc"),
    "refiners.units": ("subtrees", "pairwise_repartitioning"),
}
_MODULES = {name: f"hopbytes.algorithms.{file}" for file, names in _SHARED_FILES.items() for name in names}
mappers: Registry[type[Mapper]] = Registry(
    "mapper", "hopbytes.algorithms.mappers", entry_points="hopbytes.mappers", modules=_MODULES
)
refiners: Registry[type[Refiner]] = Registry(
    "refiner", "hopbytes.algorithms.refiners", ("", "refine_"), entry_points="hopbytes.refiners",
    modules=_MODULES,
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


class Mapper(ABC):
    """An algorithm that computes a mapping. Subclasses are frozen dataclasses of their hyperparameters."""

    __slots__ = ()
    #: The mapper requires a machine with routes between its nodes and raises UnsupportedError otherwise.
    needs_routes: ClassVar[bool] = False
    #: The mapper requires a machine whose nodes have coordinates and raises UnsupportedError otherwise.
    needs_coordinates: ClassVar[bool] = False
    #: With fewer tasks than PEs the mapper selects the PEs itself, with at most one task on each, unless the
    #: caller selects them.
    chooses_slots: ClassVar[bool] = False
    #: The mapper reads a property of every task, so free PEs cannot be filled with tasks without messages.
    knows_tasks: ClassVar[bool] = False
    #: Groups of options by purpose; they affect only how long lists of options are shown.
    option_groups: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @property
    def deterministic(self) -> bool:
        """Whether the same seed gives the same mapping, for any number of threads."""
        return True

    @abstractmethod
    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task; it may violate `bounds`, since the caller repairs it."""


class Refiner(ABC):
    """An algorithm that improves a mapping. Subclasses are frozen dataclasses."""

    __slots__ = ()
    #: The refiner requires a machine with routes between its nodes and raises UnsupportedError otherwise.
    needs_routes: ClassVar[bool] = False
    #: The objective that never gets worse; on machines without routes it is always the communication cost.
    objective: ClassVar[str] = "comm_cost"
    #: Other objectives that never get worse either, as long as the options have their defaults.
    keeps: ClassVar[tuple[str, ...]] = ()
    #: Groups of options by purpose; they affect only how long lists of options are shown.
    option_groups: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @abstractmethod
    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a mapping that is no worse than `pe` and satisfies `bounds` if `pe` does."""
