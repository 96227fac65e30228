"""Units of a machine for searches over groups of tasks; PEs of a unit have equal distances to others."""

from __future__ import annotations

import itertools

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds
from hopbytes.kernels.linear_cost import FORBIDDEN, LinearCost, from_entries
from hopbytes.kernels.records import Distances
from hopbytes.machines.distances import NetworkDistance, TreeDistance, kernel_distances
from hopbytes.model.allocation import Allocation


@frozen(eq=False)
class Units:
    """The units of one level, each a range of PEs."""

    start: Int64  # int64[units+1]: Unit u is the PEs ``start[u]`` to ``start[u+1] - 1``
    #: int64[units]: Equal for units with the same structure and the same maximum loads. The tasks of one such
    #: unit fit into another, PE by PE, with the same distances between them.
    kind: Int64
    near: Distances  # distances between the units

    @property
    def count(self) -> int:
        """Number of units."""
        return len(self.kind)

    def of_pe(self) -> Int32:
        """Return int32[k], the unit of every PE."""
        return np.repeat(np.arange(self.count, dtype=np.int32), np.diff(self.start))

    def linear_cost(self, linear_cost: LinearCost, pe: Int32) -> tuple[LinearCost, Int64]:
        """Return the linear cost of the tasks of each unit in every other unit, and the units that must stay.

        Each task is assumed to be on the PE with the same position. Units stay where they are if they hold
        a task that is restricted to certain PEs.
        """
        own = self.of_pe()
        offset = np.arange(len(own)) - self.start[own]
        closed = linear_cost.rest >= FORBIDDEN
        rest = np.bincount(own[pe], weights=np.where(closed, 0, linear_cost.rest), minlength=self.count)
        tasks = linear_cost.tasks
        fits = (offset[linear_cost.pes] == offset[pe[tasks]]) & ~closed[tasks]
        tasks, pes, costs = tasks[fits], linear_cost.pes[fits], linear_cost.costs[fits]
        holder, place = own[pe[tasks]].astype(np.int64), own[pes].astype(np.int64)
        key, row = np.unique(holder * self.count + place, return_inverse=True)
        more = np.zeros(len(key), np.int64)
        never = costs >= FORBIDDEN
        np.add.at(more, row, np.where(never, 0, costs - linear_cost.rest[tasks]))
        listed = rest.astype(np.int64)[key // self.count] + more
        listed[np.unique(row[never])] = FORBIDDEN
        priced = from_entries(key // self.count, key % self.count, listed, rest.astype(np.int64))
        return priced, np.unique(own[pe[closed]]).astype(np.int64)


def units_of(where: Allocation, bounds: Bounds) -> list[Units]:
    """Return the levels whose units have more than one PE, outermost first; none if distances are a table.

    O(levels x k).
    """
    distance = where.distance
    if isinstance(distance, TreeDistance):
        widths = [w for w in range(1, 64) if distance.bit_costs[w + 1] > distance.bit_costs[w]]
    elif isinstance(distance, NetworkDistance):
        costs = distance.inside_costs
        inside = distance.inside_bits
        widths = [w for w in range(1, inside) if costs[w + 1] > costs[w]] + [inside]
    else:
        return []
    found: list[Units] = []
    for width in widths:
        names = distance.labels >> np.uint64(width)
        first = np.flatnonzero(np.concatenate([[True], names[1:] != names[:-1]]))
        if len(first) == 1 or len(first) == where.k or (found and len(first) == found[-1].count):
            continue
        start = np.append(first, where.k).astype(np.int64)
        found.append(Units(start, _kinds(where, bounds, start, width), _near(where, first, width)))
    return found[::-1]


def _kinds(where: Allocation, bounds: Bounds, start: Int64, width: int) -> Int64:
    inside = where.distance.labels & np.uint64((1 << width) - 1)
    room = bounds.count if bounds.exact and bounds.count is not None else bounds.load
    numbers: dict[bytes, int] = {}
    kinds = []
    for low, high in itertools.pairwise(start):
        name = inside[low:high].tobytes() + room[low:high].tobytes()
        kinds.append(numbers.setdefault(name, len(numbers)))
    return np.array(kinds, np.int64)


def _near(where: Allocation, first: Int64, width: int) -> Distances:
    distance = where.distance
    if isinstance(distance, TreeDistance):
        known = distance.bit_costs
        costs = np.concatenate([[0], known[width + 1 :], np.full(width, known[64])])
        return Distances(distance.labels[first] >> np.uint64(width), costs.astype(np.int64))
    each = Allocation(where.machine, np.arange(len(first) + 1, dtype=np.int64), where.first_core[first])
    return kernel_distances(each)
