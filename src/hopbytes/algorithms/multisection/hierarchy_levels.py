"""Levels at which multisection divides the PEs of a machine, and subproblems of the communication graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds
from hopbytes.algorithms.multisection.cut_level import Level
from hopbytes.algorithms.multisection.effort_per_level import shares_of_cost
from hopbytes.engine import rescale_linear_cost, rescale_to_63_bits
from hopbytes.kernels.linear_cost import FORBIDDEN, LinearCost
from hopbytes.kernels.records import Csr
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums, sure_loads
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.random_numbers import derived_seeds


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
    held = _held(bounds.linear_cost, loads, where.k)
    single = bounds.exact and int(leaf_bounds.max(initial=0)) <= 1
    counts = [int(grouping.max()) + 1 for grouping in groupings]
    shares = shares_of_cost(cuts, counts, cuts[-1] if single and cuts else 0)
    heaviest = 1 if loads is None else int(loads.max(initial=1))
    even = even or (bounds.linear_cost is not None and bool(bounds.linear_cost.restricted().any()))
    levels, parents = [], np.zeros(where.k, np.int32)
    for depth, (grouping, count, share) in enumerate(zip(groupings, counts, shares, strict=True)):
        parent = np.empty(count, np.int64)
        parent[grouping] = parents
        # Children must be numbered by parent, but groups() guarantees ascending numbers only within a parent.
        number = np.empty(count, np.int32)
        number[np.argsort(parent, kind="stable")] = np.arange(count, dtype=np.int32)
        child_of_pe, parent = number[grouping], np.sort(parent, kind="stable")
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


def _held(linear_cost: LinearCost | None, loads: Int64 | None, k: int) -> Int64:
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
        """Number of tasks."""
        return len(self.csr.indptr) - 1

    @property
    def size(self) -> int:
        """Number of tasks and arcs."""
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
        """Yield the subproblem of each group of the next level, given the group of every member; O(size).

        `first` is the number of the first of these groups.
        """
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


def group_seeds(seed: int, depth: int, groups: int) -> UInt64:
    """Return one seed per group, which depends only on `seed` and the group's position in the hierarchy."""
    return derived_seeds((seed % 2**64, depth), groups)
