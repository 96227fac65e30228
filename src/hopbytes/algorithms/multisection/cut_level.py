"""One level of multisection: the division of groups of PEs into smaller groups, and their maximum loads."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.kernels.linear_cost import LinearCost
from hopbytes.model.capacities import child_bounds


@frozen(eq=False)
class Level:
    """One level of cuts: the groups of PEs into which each group is divided, and the load these may hold."""

    #: int64[groups+1]: The children of group g are ``start[g]:start[g+1]``, which are groups of the next
    #: level
    start: Int64
    child_of_pe: Int32  # int32[k]: Child that contains each PE
    parent: Int64  # int64[children]: Group that contains each child
    #: int64[children]: Capacity of each child, the sum of the maximum loads of its PEs, and the load of the
    #: tasks that are fixed to these PEs
    shares: Int64
    leaf_bounds: Int64  # int64[children]
    held: Int64  # int64[children]
    #: int64[children]: Load that every child may hold for certain, whichever tasks this load consists of
    sure: Int64
    left: int  # number of levels from here to the leaves, including this one
    distance: int  # distance across this cut and across the next inner one
    inside: int
    #: estimated share of the cost that these cuts determine
    #: (:mod:`hopbytes.algorithms.multisection.effort_per_level`).
    share: float

    @property
    def groups(self) -> int:
        """Number of groups that are divided at this level."""
        return len(self.start) - 1

    def caps(self, loads: Int64, low: int, *, exact: bool) -> Int64:
        """Return the maximum load of every child of the groups from `low` on, which have these `loads`."""
        high = low + len(loads)
        part = slice(int(self.start[low]), int(self.start[high]))
        if exact:
            return self.leaf_bounds[part]
        caps = np.empty(part.stop - part.start, np.int64)
        for group in range(low, high):
            own = slice(int(self.start[group]), int(self.start[group + 1]))
            caps[own.start - part.start : own.stop - part.start] = child_bounds(
                int(loads[group - low]), self.shares[own], self.leaf_bounds[own], self.left
            )
        return np.maximum(caps, np.maximum(self.held, self.sure)[part])

    def linear_cost(
        self, linear_cost: LinearCost | None, group: Int32, low: int, each: int
    ) -> LinearCost | None:
        """Return the linear cost of tasks in the children of their group, in units of the edge cut.

        The numbers in `group` are counted from `low`.
        """
        if linear_cost is None:
            return None
        place = np.arange(len(self.parent)) - self.start[self.parent]
        unit = each * max(1, self.distance - self.inside)
        group = group + np.int32(low)
        return linear_cost.grouped(group, self.child_of_pe, self.parent, place).scaled(1, unit)
