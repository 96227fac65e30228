"""At most one task per PE of a tree whose units are alike: PEs are counted, and no process has a list."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import isqrt, prod

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.machines.spec import parse_machine
from hopbytes.machines.tree import Tree
from hopbytes.model.allocation import Allocation, PlaceLike
from hopbytes.mpi.distributed.coarsening import History, best_of_ranks
from hopbytes.mpi.distributed.islands import FEWEST, Task, cut_over_ranks, mapped_apart
from hopbytes.mpi.distributed.rows import Rows, cost_over_ranks
from hopbytes.util.random_numbers import derived_seeds

#: A level with more units per unit is cut into ranges of units first, so that a coarse graph stays small.
WIDE = 32


def regular_tree(where: PlaceLike) -> Tree | None:
    """Return the tree of which every core is a PE and all units of a level are alike, or None."""
    if isinstance(where, Allocation):
        whole = where.k == where.machine.n_cores and where.capacity is None and len(where.cores) == where.k
        if where.use.chosen or where.tasks_of_nodes is not None or not whole:
            return None
    tree = parse_machine(where) if isinstance(where, str) else getattr(where, "machine", where)
    if not isinstance(tree, Tree) or tree.regular is None:
        return None
    slots = any(level.capacity or level.name in ("gpu", "pu") for level in tree.tiers)
    return None if slots else tree


@frozen
class Units:
    """What remains of a tree inside one unit, or inside a range of consecutive units."""

    tree: Tree | None  # None is a single PE
    preset: str
    seed: int

    @property
    def k(self) -> int:
        return 1 if self.tree is None else self.tree.n_cores

    def parts(self) -> list[tuple[int, Units]]:
        """Return the outermost units, or ranges of them if they are many, each with its first PE."""
        assert self.tree is not None
        counts, tiers = self.tree.regular or [1], self.tree.tiers
        count, inner = counts[0], counts[1:]
        inside, ranges = prod(inner), isqrt(count) if count > WIDE else count
        begins = [count * number // ranges for number in range(ranges + 1)]
        seeds = derived_seeds((self.seed, 4), ranges) >> np.uint64(1)
        found = []
        for number, (begin, end) in enumerate(pairwise(begins)):
            one = end - begin == 1
            left = (tiers[1:], tuple(inner)) if one else (tiers, (end - begin, *inner))
            tree = Tree(*left) if left[0] else None
            found.append((begin * inside, replace(self, tree=tree, seed=int(seeds[number]))))
        return found


def map_one_each(rows: Rows, units: Units, history: History) -> Int64:
    """Return int64[n], the PEs of own vertices, of which there are at most as many as PEs; collective.

    The outermost units get exactly as many vertices as they have PEs, the last of them what is left; then
    every unit is mapped by processes of its own, and by the preset where it lies on one process. Cuts inside
    a unit change no distance to vertices outside of it, so that the units do not wait for each other.
    O((n + m) / P) memory, besides a coarse graph of bounded size, where no unit is larger than n / P.
    """
    member = rows.member
    if units.tree is None or rows.total <= 1:
        return np.zeros(rows.n, np.int64)
    parts = units.parts()
    if rows.total <= parts[0][1].k:  # nothing outside of the first unit can be nearer
        return map_one_each(rows, parts[0][1], history)
    if member.size == 1 or rows.total <= FEWEST:
        where = Allocation.whole(units.tree)
        task = Task(where, np.ones(where.k, np.int64), 1, units.preset, units.seed)
        with member.phase("finish"):
            return best_of_ranks(rows, task.solve, task.seed, History()).astype(np.int64)
    sizes = np.array([min(part.k, rows.total - first) for first, part in parts], np.int64)
    parts, sizes = parts[: int(np.sum(sizes > 0))], sizes[sizes > 0]
    unit = np.zeros(rows.n, np.int32)
    if len(parts) > 1:
        with member.phase("cut"):
            unit = cut_over_ranks(rows, sizes, units.seed, history)

    def inside(number: int, own: Rows) -> Int64:
        first, part = parts[number]
        return first + map_one_each(own, part, History())

    return mapped_apart(rows, unit, sizes, inside)


def cost_of_one_each(rows: Rows, tree: Tree, pe: Int64) -> tuple[int, str]:
    """Return J, and what is wrong with a mapping of one task per PE or ""; collective, O(m / P) memory."""
    member, k = rows.member, tree.n_cores
    owned, ascending = -(-k // member.size), np.sort(pe)
    outside = len(pe) > 0 and not 0 <= int(ascending[0]) <= int(ascending[-1]) < k
    member.agree(f"rank {member.rank}: a PE outside 0..{k - 1}" if outside else None)
    mine = np.bincount(ascending // owned, minlength=member.size).astype(np.int64)
    (held,) = member.exchange(mine, member.counts(mine), ascending)
    counted, times = np.unique(held, return_counts=True)
    twice = counted[times > 1]
    faults = member.all(f"{times.max()} tasks are on PE {twice[0]}, expected one" if len(twice) else "")
    around = rows.with_ghosts(pe)
    used, number = np.unique(around, return_inverse=True)
    if not len(used):
        used = np.zeros(1, np.int64)
    where = Allocation(tree, np.arange(len(used) + 1, dtype=np.int64), used)
    arcs = number.astype(np.int32)
    return cost_over_ranks(rows, where, arcs[: rows.n], arcs), next(filter(None, faults), "")
