"""Tabu search on dense quadratic assignment (``core/assignment/tabu.hpp``) with a typed signature."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes._frozen import frozen
from hopbytes.engine.control import DEFAULT_CONTROL, MOST, SMALL, RunControl, interruptible
from hopbytes.kernels import checked_sum
from hopbytes.kernels.base import compiled


@frozen
class TabuSettings:
    """The length and the parameters of a tabu search."""

    iterations: int  # number of exchanges of each search, including those of perturbations
    #: number of consecutive exchanges without a new best that ends a search; 0: never, 1: a descent
    fruitless: int = 0
    #: number of exchanges without a new best since the last perturbation that triggers the next one; 0: no
    #: perturbations
    fruitless_before_perturbation: int = 0
    #: number of random exchanges of a perturbation; it grows while searches end at the same cost
    least_perturbation: int = 3
    most_perturbation: int = 3
    #: tabu tenure, in per cent of n: for so many exchanges a task does not return to a place that it left
    tenure_low: int = 90
    tenure_high: int = 110
    #: A pair that was not exchanged for so many exchanges is exchanged (long-term memory); 0: never
    aspiration: int = 0


@frozen(eq=False)
class DenseProblem:
    """A dense quadratic assignment problem in the form that compiled code takes; see :meth:`build`."""

    flow: Int64
    distance: Int64
    linear_cost: Int64
    symmetric: bool

    @property
    def n(self) -> int:
        """Number of tasks and of places."""
        return len(self.flow)

    @classmethod
    def build(cls, flow: Int64, distance: Int64, linear_cost: Int64 | None = None) -> DenseProblem:
        """Convert a problem to the form in which a search is fastest.

        If one matrix is symmetric, the other is replaced by the sum of both its directions, and pairs count
        once; if neither is, both directions are kept. Products of diagonals are added to the linear
        assignment costs. If sums could exceed 61 bits, all numbers lose low bits, so results must be compared
        with exact numbers.
        """
        n = len(flow)
        total, furthest = checked_sum(np.ascontiguousarray(flow).reshape(-1)), int(distance.max(initial=0))
        dearest = 0 if linear_cost is None else int(linear_cost.max(initial=0))
        shift = max(0, (8 * total * furthest + 8 * dearest).bit_length() - MOST.bit_length())
        if shift:
            less = min(shift, max(0, furthest.bit_length() - 20))
            distance, flow = distance >> less, flow >> (shift - less)
            linear_cost = None if linear_cost is None else linear_cost >> shift
        loops = np.diag(flow)[:, None] * np.diag(distance)[None, :]
        if linear_cost is not None:
            loops = loops + linear_cost
        flow, distance = flow.astype(np.int64), distance.astype(np.int64)
        np.fill_diagonal(flow, 0)
        np.fill_diagonal(distance, 0)
        flow_turns, distance_turns = np.array_equal(flow, flow.T), np.array_equal(distance, distance.T)
        if distance_turns:
            flow = flow + flow.T
        elif flow_turns:
            distance = distance + distance.T
        return cls(
            np.ascontiguousarray(flow), np.ascontiguousarray(distance),
            np.ascontiguousarray(loops) if loops.any() else np.empty((0, n), np.int64),
            symmetric=bool(flow_turns or distance_turns),
        )

    def cost(self, place: Int32) -> int:
        """Return the cost of a permutation, computed from scratch; O(n^2)."""
        # Clipping changes no place; it avoids a buffer, which took most of the time.
        apart = self.distance[place].take(place, axis=1, mode="clip")
        total = int(np.vdot(self.flow, apart)) // (2 if self.symmetric else 1)
        return total + (int(self.linear_cost[np.arange(self.n), place].sum()) if len(self.linear_cost) else 0)


def tabu_many(
    problem: DenseProblem,
    place: Int32,
    seeds: UInt64,
    settings: TabuSettings,
    *,
    control: RunControl = DEFAULT_CONTROL,
) -> tuple[Int32, Int64, Int64]:
    """Search from several permutations, independently of each other."""
    flag, counted_work = control.flag(), np.zeros(1, np.int64)
    result = np.ascontiguousarray(place, np.int32).copy()
    change, done = np.zeros(len(seeds), np.int64), np.zeros(len(seeds), np.int64)
    interruptible(
        lambda: compiled.tabu_many(
            problem.flow.reshape(-1), problem.distance.reshape(-1), problem.linear_cost.reshape(-1),
            problem.symmetric, seeds, asdict(settings), control.threads, flag,
            counted_work, result.reshape(-1), change, done,
        ),
        flag, control, _size(problem.n, len(seeds), settings.iterations), counted_work,
    )
    return result, change, done


def _size(n: int, searches: int, iterations: int) -> int:
    """Return the size of a call in the units of :data:`SMALL`: below it, calls take a few milliseconds."""
    return min(SMALL, searches * (n + iterations) * n**2 // 1000)
