"""What is asked for, and the problem that mappers and refiners get."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from dataclasses import field
from fractions import Fraction

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@frozen
class Request:
    """The options on numbers of tasks per PE; see :func:`hopbytes.solve.map_tasks.map_tasks`.

    With `mapper_chooses` the mapper selects the PEs if there are fewer tasks than PEs and the caller does not
    select them. `slots` is int64[n], the PEs to use with one task each, numbered without those that are
    forbidden to all tasks; None leaves the choice to the other fields.
    """

    partition: bool | None = None
    oversubscribe: bool = False
    pack: bool = False
    tasks_per_node: int | None = None
    per: str | Dictionary[str, int] | None = None
    imbalance: float | str | Fraction = 0.03
    strict_balance: bool = False
    mapper_chooses: bool = False
    spread: bool = False
    equal_nodes: bool = False
    slots: Int64 | None = None

    @property
    def chooses_slots(self) -> bool:
        """Whether the caller selects the PEs."""
        return self.pack or self.spread or self.counted or self.slots is not None

    @property
    def counted(self) -> bool:
        """Whether the caller prescribes the number of tasks per unit of a level."""
        return self.tasks_per_node is not None or self.per is not None


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
