"""Hierarchical multisection: cut the tasks like the machine is cut, from the outermost level inwards."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hopbytes.allocation import Allocation
from hopbytes.balance import child_caps
from hopbytes.engine import PartitionSettings, SearchSettings, partition_many
from hopbytes.graph import CommGraph
from hopbytes.mappers.base import Bounds, Effort, Int32, Int64, Mapper, mappers
from hopbytes.unary import Unary

if TYPE_CHECKING:
    from hopbytes.candidates import CandidateSettings
    from hopbytes.workers import WorkerPool

#: What is to be cut: the first arguments of :func:`hopbytes.engine.partition_many`.
_Problem = tuple[Int64, Int32, Int64 | None, Int64 | None, Int32, Int64, Int64, NDArray[np.uint64]]


@mappers.register("multisection")
@dataclass(frozen=True, slots=True)
class Multisection(Mapper):
    """Partition recursively along the machine's levels; leaves are PEs.

    Parameters
    ----------
    runs : int
        Full multilevel runs of the cuts that decide most of the cost, usually the outermost ones. 0:
        one, and only where KaMinPar gave nothing.
    tries : int
        Partitions of the coarse graph per run there.
    combines : int
        Recombinations of the runs there (see ``core/multilevel.hpp``).
    middle : int
        Vertices of the coarse graph on which tries are made.
    middle_combines : int
        Recombinations of the tries on the coarse graph.
    rounds, patience, seeds, flow_rounds, flow_width, venture_percent : int
        Local search (:class:`hopbytes.engine.SearchSettings`).
    kaminpar_tries : int
        Partitions of the outermost cut by KaMinPar, which compete with the runs and are recombined
        with them. Needs a bound on loads (never exact counts) and the package; without, the built-in
        partitioner works alone. ``info["work"]`` says how many were used and how many failed.
    kaminpar_inner_tries : int
        The same for every further cut.
    kaminpar_preset : str
        KaMinPar's setting: fast, default, eco or strong.
    kaminpar_from : int
        Vertices a group needs for KaMinPar to be called.

    Raises
    ------
    UnsupportedError
        An unknown KaMinPar preset (if tries are wanted).

    Notes
    -----
    After SharedMap (Schulz and Woydt, 2025), with these differences: integer caps that every later
    cut can meet (:func:`hopbytes.balance.child_caps`); levels of equal distance are one cut; seeds
    derive from the place in the hierarchy, so the answer does not depend on threads; every cut
    keeps the best of several runs and recombines them; inner cuts, which decide less of the cost,
    get proportionally fewer runs and tries (:func:`shares_of_cost`).

    O(levels x (n + m)) for meshes; all groups of one level are one compiled call.
    """

    runs: int = 1
    tries: int = 4
    combines: int = 0
    middle: int = 1500
    middle_combines: int = 2
    rounds: int = 10
    patience: int = 40
    seeds: int = 25
    flow_rounds: int = 0
    flow_width: int = 4
    venture_percent: int = 10
    kaminpar_tries: int = 0
    kaminpar_inner_tries: int = 0
    kaminpar_preset: str = "strong"
    kaminpar_from: int = 20_000

    def __post_init__(self) -> None:
        if self._asks_kaminpar():
            self._candidate_settings(0)

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        with self._pool(bounds, effort) as pool:
            return self._map(graph, where, bounds, effort, pool)

    def _map(
        self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort, pool: WorkerPool | None
    ) -> Int32:
        csr = graph.symmetric_positive()
        loads = None if bounds.exact else graph.loads
        leaf_caps = bounds.count if bounds.exact and bounds.count is not None else bounds.load
        groupings = where.groups()
        seams = seam_distances(where, groupings)
        shares = shares_of_cost(seams, groupings)
        cost, each = 0, 2 if csr.indptr is graph.indptr else 1
        group, parents = np.zeros(graph.n, np.int32), np.zeros(where.k, np.int32)
        for depth, grouping in enumerate(groupings):
            tree = _Level(parents, grouping, leaf_caps, where.capacity)
            total = _sums(group, loads, tree.groups)
            caps = tree.caps(total, len(groupings) - depth, exact=bounds.exact)
            inner = seams[depth + 1] if depth + 1 < len(seams) else 0
            unary = tree.unary(bounds.unary, group, each * max(1, seams[depth] - inner))
            watch = _watch(effort, f"level {depth + 1} of {len(groupings)}, J {cost:,}", tree.groups)
            problem = (
                csr.indptr, csr.targets, csr.weights, loads, group, tree.start, caps,
                _seeds(effort.seed, depth, tree.groups),
            )
            others = None if pool is None else self._ask_kaminpar(problem, depth, effort, pool)
            child, cut = partition_many(
                *problem, self._settings(shares[depth], effort), candidates=others,
                threads=effort.threads, deadline=effort.deadline, watch=watch, spend=effort.spend,
                unary=unary,
            )
            cost += each * seams[depth] * int(cut.sum())
            group = tree.children[tree.start[group] + child].astype(np.int32)
            _count(effort, cuts=tree.groups)
            parents = grouping
        pe_of_leaf = np.empty(where.k, np.int32)
        pe_of_leaf[parents] = np.arange(where.k, dtype=np.int32)
        return pe_of_leaf[group]

    def _settings(self, share: float, spent: Effort) -> PartitionSettings:
        if spent.used_up:  # a placement is owed, but nothing beyond
            return PartitionSettings(runs=min(1, self.runs), combines=0, tries=1, middle_combines=0)

        # The root of the share: several cheap inner cuts are worth more tries than their share says,
        # measured on meshes, circuits and social graphs alike.
        def part(effort: int) -> int:
            return round(effort * float(share**0.5))

        # What pays everywhere, and what only where much is decided.
        search = SearchSettings(self.rounds, self.patience, self.seeds)
        if share > 0.1:
            search = replace(
                search, flow_rounds=self.flow_rounds, flow_width=self.flow_width,
                venture_percent=self.venture_percent,
            )
        return PartitionSettings(
            runs=max(min(1, self.runs), part(self.runs)), combines=part(self.combines),
            tries=max(1, part(self.tries)), middle=self.middle,
            middle_combines=part(self.middle_combines), search=search,
        )

    # ------------------------------------------------------------- KaMinPar
    # Imported only where it is wanted: worker processes need modules that take time to load.

    def _asks_kaminpar(self) -> bool:
        return max(self.kaminpar_tries, self.kaminpar_inner_tries) > 0

    def _pool(self, bounds: Bounds, effort: Effort) -> AbstractContextManager[WorkerPool | None]:
        """Return where to run KaMinPar (no process starts before there is work), None for nowhere."""
        if not self._asks_kaminpar():
            return nullcontext()
        _count(effort, kaminpar_used=0, kaminpar_failed=0)
        if bounds.exact:
            return nullcontext()
        from hopbytes.workers import WorkerPool

        return WorkerPool(effort.threads)

    def _ask_kaminpar(
        self, problem: _Problem, depth: int, effort: Effort, pool: WorkerPool
    ) -> Int32 | None:
        """Return partitions from elsewhere for all groups of one level."""
        from hopbytes.candidates import candidates

        # Half of the time that is left, so that the built-in partitioner has its share.
        now = time.monotonic()
        deadline = None if effort.deadline is None else now + (effort.deadline - now) / 2
        found = candidates(*problem, self._candidate_settings(depth), pool, deadline)
        _count(effort, kaminpar_used=found.used, kaminpar_failed=found.failed)
        return found.rows

    def _candidate_settings(self, depth: int) -> CandidateSettings:
        from hopbytes.candidates import CandidateSettings

        tries = self.kaminpar_tries if depth == 0 else self.kaminpar_inner_tries
        return CandidateSettings(tries, self.kaminpar_preset, self.kaminpar_from)


def seam_distances(where: Allocation, groupings: list[Int32]) -> list[int]:
    """Distance across each cut, read off the first group that is cut."""
    distances = []
    for depth, grouping in enumerate(groupings):
        inside = np.flatnonzero(groupings[depth - 1] == 0) if depth else np.arange(where.k)
        apart = inside[grouping[inside] != grouping[inside[0]]]
        distances.append(where.distance.between(int(inside[0]), int(apart[-1])) if len(apart) else 0)
    return distances


def shares_of_cost(seams: list[int], groupings: list[Int32]) -> list[float]:
    """How much of the cost each cut is likely to decide, relative to the one that decides most.

    A cut at depth i into g groups in all decides the difference between its distance and the next
    inner one, times the volume between groups, which on meshes grows about like the square root of g.
    """
    weights = [
        max(0, outer - inner) * float(np.sqrt(int(grouping.max()) + 1))
        for outer, inner, grouping in zip(seams, [*seams[1:], 0], groupings, strict=True)
    ]
    most = max(weights)
    return [weight / most if most > 0 else 1.0 for weight in weights]


def _watch(effort: Effort, stage: str, total: int) -> Callable[[int], None] | None:
    """Report the groups of one level that are cut, and the cost of what has been cut before."""
    report = effort.progress
    if report is None:
        return None
    report(stage, 0, total)
    return lambda done: report(stage, done, total)


class _Level:
    """One level of cuts: which groups of PEs each group falls into, and what they may hold."""

    def __init__(self, parents: Int32, grouping: Int32, leaf_caps: Int64, capacity: Int64 | None) -> None:
        self.groups = int(parents.max()) + 1
        count = int(grouping.max()) + 1
        parent_of = np.empty(count, np.int64)
        parent_of[grouping] = parents
        self.children = np.argsort(parent_of, kind="stable")
        sizes = np.bincount(parent_of, minlength=self.groups)
        self.start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.shares = _sums(grouping, capacity, count)[self.children]
        self._grouping, self._parent_of = grouping, parent_of
        self.leaf_caps = _sums(grouping, leaf_caps, count)[self.children]

    def caps(self, loads: Int64, levels_left: int, *, exact: bool) -> Int64:
        """Cap of every child, in the order of `children`."""
        if exact:
            return self.leaf_caps
        caps = np.empty(len(self.children), np.int64)
        for i in range(self.groups):
            part = slice(int(self.start[i]), int(self.start[i + 1]))
            caps[part] = child_caps(int(loads[i]), self.shares[part], self.leaf_caps[part], levels_left)
        return caps


    def unary(self, unary: Unary | None, group: Int32, unit: int) -> Unary | None:
        """Costs of tasks in each child of their group, in units of weight: `unit` is what a cut one costs."""
        if unary is None:
            return None
        place = np.empty(len(self.children), np.int64)
        place[self.children] = np.arange(len(self.children)) - np.repeat(self.start[:-1], np.diff(self.start))
        return unary.grouped(group, self._grouping, self._parent_of, place).scaled(1, unit)


def _count(effort: Effort, **counts: int) -> None:
    for name, count in counts.items():
        effort.work[name] = effort.work.get(name, 0) + count


def _sums(group: Int32, values: Int64 | None, count: int) -> Int64:
    """int64[count]: exact sum of `values` per group, None for 1 each (bincount weighs in doubles)."""
    if values is None:
        return np.bincount(group, minlength=count).astype(np.int64)
    sums = np.zeros(count, np.int64)
    np.add.at(sums, group, values)
    return sums


def _seeds(seed: int, depth: int, groups: int) -> NDArray[np.uint64]:
    """One seed per group, from its place in the hierarchy alone."""
    state = np.random.SeedSequence((seed % 2**64, depth))
    return state.generate_state(groups, np.uint64).astype(np.uint64)
