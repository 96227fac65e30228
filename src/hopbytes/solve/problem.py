"""What is asked for, and the problem that mappers and refiners get."""

from __future__ import annotations

from dataclasses import field, replace
from fractions import Fraction
from typing import Any

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.model.allocation import Allocation, SlotUse
from hopbytes.model.comm_graph import CommGraph


@frozen
class Request:
    """The options on numbers of tasks per PE, of :func:`hopbytes.map_tasks` and :func:`hopbytes.allocate`."""

    partition: bool | None = None
    imbalance: float | str | Fraction = 0.03
    strict: bool = False  # a bound that cannot be met is an error
    use: SlotUse = SlotUse()
    #: the mapper selects the PEs if there are fewer tasks than PEs and the caller does not select them
    mapper_chooses: bool = False
    #: int64[n] or None: the PEs to use with one task each, numbered without those that are forbidden to all
    #: tasks; None leaves the choice to `use`
    slots: Int64 | None = None

    @property
    def chooses_slots(self) -> bool:
        """Whether the PEs of fewer tasks are prescribed."""
        return self.use.chosen or self.slots is not None

    def using(self, **use: Any) -> Request:
        """Return the request with other values of `use`."""
        return replace(self, use=replace(self.use, **use))


@frozen(eq=False)
class Problem:
    """A formulated mapping problem."""

    name: str
    #: the pattern for mappers: volumes by the chosen weight, loads in multiples of `load_unit`, those of
    #: heavy tasks reduced to a full PE
    graph: CommGraph
    where: Allocation  # the PEs that may be used, a part of the caller's allocation
    pes: Int64  # int64[where.k]: Numbers of these PEs in the caller's allocation, ascending
    bounds: Bounds
    #: int64[k] or None: Maximum number of zero-load tasks per PE, so that they do not all end up on few PEs;
    #: None if there are no such tasks
    zero_load_bounds: Int64 | None = None
    strict: bool = False  # A bound that cannot be met is an error
    notices: tuple[str, ...] = field(default=())  # sentences for the user
    current: Int32 | None = None  # int32[n] or None: Current PE of every task in `where`, -1 for a PE outside
    load_unit: int = 1  # what 1 stands for in loads and their bounds: the caller's loads are multiples of it

    @property
    def none_empty(self) -> bool:
        """Whether no PE may be empty, as in a partition with enough tasks."""
        return self.name == "partition" and self.graph.n >= self.where.k

    def comm_cost(self, pe: Int32, threads: int = 1) -> int:
        """Return J of a mapping, computed from scratch."""
        return CommCost().value(self.graph, self.where, pe, threads)

    def cost(self, pe: Int32, threads: int = 1) -> int:
        """Return J plus the linear assignment cost, computed from scratch."""
        linear_cost = self.bounds.linear_cost
        cost = self.comm_cost(pe, threads)
        return cost if linear_cost is None else cost + kernels.checked_sum(linear_cost.at(pe))
