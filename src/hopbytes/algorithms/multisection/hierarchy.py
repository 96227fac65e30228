"""One level of multisection: the division of groups of PEs into smaller groups, and their maximum loads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds
from hopbytes.engine.control import rescale_linear_cost, rescale_to_63_bits
from hopbytes.kernels.linear_cost import FORBIDDEN, LinearCost
from hopbytes.kernels.records import Csr
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import child_bounds, group_sums, sure_loads
from hopbytes.model.comm_graph import CommGraph


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
    #: (:mod:`hopbytes.algorithms.multisection.hierarchy`).
    share: float

    @property
    def groups(self) -> int:
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


#: A level counts as unexpected if its share of the cost exceeds the estimate by this factor
UNEXPECTED = 4.0
#: and is at least this fraction of the largest share of a level.
LEAST_SHARE = 0.25


def shares_of_cost(cuts: Sequence[int], counts: Sequence[int], innermost: int = 0) -> list[float]:
    """Estimate the share of the cost that each level of cuts determines, before any cut is made.

    The share of a cut is the difference between its distance and the next inner one, times the volume
    between groups, which is assumed to grow like the square root of their number as on two-dimensional
    meshes. This estimate is not from the literature: SharedMap (Schulz and Woydt, 2025) spends equal effort
    on every level. O(levels).
    """
    volumes = [float(np.sqrt(count)) for count in counts]
    return _relative(cuts, [*cuts[1:], innermost], volumes) or [1.0] * len(cuts)


def unexpected_shares(
    levels: list[Level], graph: CommGraph, pe: Int32, threads: int = 1
) -> list[Level]:
    """Return the levels with the shares measured in a mapping, if one of them is unexpected.

    If few edges carry nearly all volume, the outer cuts avoid these edges and cost next to nothing, while
    the inner cuts, whose estimated share and effort were small, determine the cost. If no share is
    unexpected, the estimates are kept, because they are equally good and the same for every mapping. The
    rule is not from the literature. O(n + m + k levels).
    """
    parted = _volume_by_level(levels, graph, pe, threads)
    if parted is None:
        return levels
    # Volume between the groups of a level was separated at this level or further out. A share of 0, as that
    # of the last cut into single tasks, is exact and not an estimate.
    between = [
        volume if level.share > 0 else 0.0
        for level, volume in zip(levels, np.cumsum(parted, dtype=np.float64).tolist(), strict=True)
    ]
    shares = _relative([level.distance for level in levels], [level.inside for level in levels], between)
    expected = [max(UNEXPECTED * level.share, LEAST_SHARE) for level in levels]
    if shares is None or all(share <= most for share, most in zip(shares, expected, strict=True)):
        return levels
    return [replace(level, share=share) for level, share in zip(levels, shares, strict=True)]


def _relative(outer: Sequence[int], inner: Sequence[int], volumes: Sequence[float]) -> list[float] | None:
    """Return the share of each level relative to the largest one, None if all shares are 0."""
    weights = [max(0, a - b) * volume for a, b, volume in zip(outer, inner, volumes, strict=True)]
    most = max(weights, default=0.0)
    return [weight / most for weight in weights] if most > 0 else None


def _volume_by_level(
    levels: list[Level], graph: CommGraph, pe: Int32, threads: int
) -> list[int] | None:
    """Return the volume that each level separates, outermost first; None if labels need more than 64 bits.

    The arcs of the graph count as they are: their sum fits into 64 bits, while that of the symmetric graph,
    which is up to twice as large, may not. The label of a PE is its path from the root with one bit field per
    level, as in :class:`hopbytes.machines.distances.TreeDistance`. O(n + m + k levels).
    """
    labels, level_of_bit, bits = np.zeros(len(levels[0].child_of_pe), np.uint64), np.zeros(65, np.uint8), 0
    for number, level in enumerate(reversed(levels), start=1):
        place = level.child_of_pe - level.start[level.parent[level.child_of_pe]]
        width = int(place.max()).bit_length()
        if bits + width > 64:
            return None
        labels |= place.astype(np.uint64) << np.uint64(bits)
        level_of_bit[bits + 1 : bits + width + 1] = number
        bits += width
    arcs = graph.arcs(graph.volumes)
    volumes = kernels.comm_cost_by_level(arcs, pe, labels, level_of_bit, len(levels), threads)
    parted: list[int] = volumes.tolist()
    return parted[:0:-1]


def levels_of(
    where: Allocation, bounds: Bounds, loads: Int64 | None, *, even: bool = True
) -> tuple[list[Level], Int32]:
    """Return the levels from the outermost on, and int32[k], the PE of each group of the last one.

    Unless `even` is set, outer cuts may use all slack that inner cuts are certain not to need. Nothing is
    certain if some tasks are restricted to certain PEs, so `even` is assumed then.
    """
    groupings = where.groups()
    cuts = cut_distances(where, groupings)
    leaf_bounds = bounds.count if bounds.exact and bounds.count is not None else bounds.load
    held = fixed_loads(bounds.linear_cost, loads, where.k)
    single = bounds.exact and int(leaf_bounds.max(initial=0)) <= 1
    counts = [int(grouping.max()) + 1 for grouping in groupings]
    shares = shares_of_cost(cuts, counts, cuts[-1] if single and cuts else 0)
    heaviest = 1 if loads is None else int(loads.max(initial=1))
    even = even or (bounds.linear_cost is not None and bool(bounds.linear_cost.restricted().any()))
    levels, parents = [], np.zeros(where.k, np.int32)
    for depth, (grouping, count, share) in enumerate(zip(groupings, counts, shares, strict=True)):
        child_of_pe, parent = numbered_by_parent(grouping, parents)
        start = np.searchsorted(parent, np.arange(int(parents.max()) + 2)).astype(np.int64)
        below, held_below = group_sums(child_of_pe, leaf_bounds, count), group_sums(child_of_pe, held, count)
        sure = sure_loads(group_sums(child_of_pe, None, count), below, heaviest)
        levels.append(
            Level(
                start, child_of_pe, parent, group_sums(child_of_pe, where.capacity, count), below,
                held_below, np.zeros_like(sure) if even else sure,
                len(groupings) - depth, cuts[depth], [*cuts, 0][depth + 1], share,
            )
        )  # fmt: skip
        parents = child_of_pe
    pe_of_leaf = np.empty(where.k, np.int32)
    pe_of_leaf[parents] = np.arange(where.k, dtype=np.int32)
    return levels, pe_of_leaf


def numbered_by_parent(grouping: Int32, parents: Int32) -> tuple[Int32, Int64]:
    """Return the child of every PE, numbered by parent (groupings promise that within a parent only), and the
    parent of every child.
    """
    parent = np.empty(int(grouping.max()) + 1, np.int64)
    parent[grouping] = parents
    number = np.empty(len(parent), np.int32)
    number[np.argsort(parent, kind="stable")] = np.arange(len(parent), dtype=np.int32)
    return number[grouping], np.sort(parent)


def fixed_loads(linear_cost: LinearCost | None, loads: Int64 | None, k: int) -> Int64:
    """Return int64[k], the load of the tasks that are fixed to each PE."""
    if linear_cost is None:
        return np.zeros(k, np.int64)
    alone = (linear_cost.rest >= FORBIDDEN) & (np.diff(linear_cost.indptr) == 1)
    return group_sums(
        linear_cost.pes[linear_cost.indptr[:-1][alone]], None if loads is None else loads[alone], k
    )


@frozen(eq=False)
class Subproblem:
    """The tasks of one group of PEs and the communication between them."""

    depth: int  # the level that divides the subproblem next, and the number of its group of PEs there
    group: int
    path: tuple[int, ...]  # the child to which the group belongs at every outer level
    members: Int32 | None  # int32[s] or None: Task numbers; None for all tasks in their order
    csr: Csr  # symmetric graph of the members, numbered by position
    loads: Int64 | None  # int64[s] or None: Loads of the members; None if all are 1
    linear_cost: LinearCost | None  # linear assignment costs of the members

    @classmethod
    def whole(cls, graph: CommGraph, bounds: Bounds, threads: int = 1) -> Subproblem:
        """Return the subproblem of all tasks, before the first cut; `threads` make the symmetric graph."""
        loads = None if bounds.exact else graph.loads
        return cls(0, 0, (), None, graph.symmetric_positive(threads), loads, bounds.linear_cost)

    @property
    def n(self) -> int:
        return len(self.csr.indptr) - 1

    @property
    def size(self) -> int:
        return self.n + len(self.csr.targets)

    def rescaled_to_63_bits(self, threads: int = 1) -> Subproblem:
        """Rescale weights that could overflow, so that all parts of the subproblem have the same scale."""
        weights, arcs = self.csr.weights, len(self.csr.targets)
        seen, _ = rescale_to_63_bits(weights, arcs, threads=threads)
        linear_cost = rescale_linear_cost(self.linear_cost, weights, arcs, None)
        return self if seen is weights else replace(
            self, csr=self.csr._replace(weights=seen), linear_cost=linear_cost
        )

    def parts(self, group: Int32, first: int) -> Iterator[Subproblem]:
        """Yield the subproblem of each group of the next level, given the group of every member; O(size)."""
        order = np.argsort(group, kind="stable").astype(np.int32)
        numbers, counts = np.unique(group, return_counts=True)
        place = np.full(self.n, -1, np.int32)
        for number, own in zip(numbers.tolist(), np.split(order, np.cumsum(counts)[:-1]), strict=True):
            path = (*self.path, number - first)
            yield replace(self.restricted(own, place), depth=self.depth + 1, group=number, path=path)
            place[own] = -1

    def restricted(self, chosen: Int32, place: Int32) -> Subproblem:
        """Return the subproblem of some members, numbered in the order in which they are given.

        `place` must be -1 for all other members; it gets the new number of every chosen one. O(size).
        """
        place[chosen] = np.arange(len(chosen), dtype=np.int32)
        return replace(
            self, members=chosen if self.members is None else self.members[chosen],
            csr=kernels.induced_csr(self.csr, chosen, place),
            loads=None if self.loads is None else self.loads[chosen],
            linear_cost=None if self.linear_cost is None else self.linear_cost.take(chosen),
        )  # fmt: skip


def cut_distances(where: Allocation, groupings: list[Int32]) -> list[int]:
    """Return the distance across each cut, taken from the first group that is divided."""
    distances = []
    for depth, grouping in enumerate(groupings):
        inside = np.flatnonzero(groupings[depth - 1] == 0) if depth else np.arange(where.k)
        apart = inside[grouping[inside] != grouping[inside[0]]]
        distances.append(where.distance.between(int(inside[0]), int(apart[-1])) if len(apart) else 0)
    return distances


#: Smaller graphs fit in the caches of today's processors.
LARGE = 2**17
#: Arcs that are sampled, and the mean difference of the numbers at their ends, as a share of all numbers,
#: above which numbers say nothing about neighbourhood: it is 1/3 in random order, and below 0.01 in meshes
#: as their generators write them.
SAMPLE, SCATTERED = 10_000, 0.05


def renumbered(subproblem: Subproblem) -> Subproblem:
    """Return a large subproblem of scattered numbers with new ones, others as they are."""
    csr = subproblem.csr
    if subproblem.n < LARGE or not is_scattered(csr):
        return subproblem
    order = kernels.reverse_cuthill_mckee(csr)
    return subproblem.restricted(order, np.empty(subproblem.n, np.int32))


def is_scattered(csr: Csr) -> bool:
    """Return whether the ends of arcs have distant numbers; O(:data:`SAMPLE` log n)."""
    arcs = len(csr.targets)
    if arcs == 0:
        return False
    sample = np.arange(SAMPLE, dtype=np.int64) * arcs // SAMPLE
    source = np.searchsorted(csr.indptr, sample, side="right") - 1
    apart = np.abs(source - csr.targets[sample])
    return int(apart.sum()) > SCATTERED * SAMPLE * (len(csr.indptr) - 1)
