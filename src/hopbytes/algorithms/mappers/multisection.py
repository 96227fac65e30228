"""Hierarchical multisection: tasks are partitioned along the machine, from the outermost level inwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, ClassVar, Protocol

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Allowed, Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.multisection.hierarchy import (
    Level,
    Subproblem,
    levels_of,
    renumbered,
    unexpected_shares,
)
from hopbytes.engine.partition import partition_many
from hopbytes.engine.problem import (
    SEARCH_OPTIONS,
    PartitionSettings,
    SearchProblem,
    SearchSettings,
    VertexGroups,
)
from hopbytes.errors import UnsupportedError, unknown_name
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.random_numbers import derived_seeds
from hopbytes.util.registry import Registry

#: What offers partitions by other programs under the name ``external``: the laboratory of the source tree.
partitioners: Registry[Any] = Registry("source of partitions", (), entry_points="hopbytes.partitioners")


@mappers.register("multisection")
@frozen
class Multisection(Mapper):
    """Partition the tasks recursively along the levels of the machine down to single PEs.

    The method is that of SharedMap (Schulz and Woydt, 2025) with these differences. Maximum block weights are
    integers that every later cut can meet (:func:`hopbytes.model.capacities.child_bounds`), those of outer
    cuts as large as this allows (`slack`). Levels of equal distance are one cut. Seeds derive from the
    position in the hierarchy, so the result does not depend on the number of threads. Every cut keeps the
    best of several runs and recombines them. Inner cuts, which determine less of the cost, get
    proportionally fewer runs and repetitions. If a level then determines far more of the cost than estimated
    (:mod:`hopbytes.algorithms.multisection.hierarchy`), all cuts are repeated with the effort that
    fits the measured shares. If blocks have little room, as deep in a hierarchy, cuts start from blocks of
    equal size. Where few vertices have far more neighbours than the others, blocks of decreasing degree
    compete with the first run (``core/partition/initial/by_degree.hpp``). Blocks of exact sizes are computed
    by recursive bisection (``core/partition/exact_partitioner.hpp``).
    """

    allowed: ClassVar[Allowed] = {"slack": ("outer", "even")}
    option_groups: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "repetitions": ("repetitions", "recombinations", "bisection_repetitions"),
        "coarsening": ("contraction_limit", "shared_hierarchies"),
        "initial partitions": ("initial_partitions", "region_growings", "coarse_recombinations"),
        "relaxation": ("relaxation_rounds",),
        "annealing": ("annealing_sweeps",),
        "refinement": SEARCH_OPTIONS,
        "balance": ("slack",),
        "external partitioners": (
            "partitioner", "parallel_partitioner", "kaminpar_partitions", "kaminpar_inner_partitions",
            "kaminpar_preset", "kaminpar_from",
        ),
        "schedule": ("schedule", "trace"),
    }  # fmt: skip
    #: Number of full multilevel runs for the cuts that determine most of the cost, usually the outermost
    #: ones. With 0 there is one run, and only if an external partitioner such as KaMinPar has failed.
    repetitions: int = 1
    initial_partitions: int = 4  #: number of initial partitions of the coarsest graph per run of these cuts
    #: number of recombinations of the runs of these cuts (see ``core/partition/partitioner.hpp``).
    recombinations: int = 0
    contraction_limit: int = 1500  #: number of vertices at which coarsening stops
    #: number of bisections by region growing per bisection of an initial partition; the best one is kept
    region_growings: int = 4
    coarse_recombinations: int = 2  #: number of recombinations of initial partitions on the coarsest graph
    #: repetitions of every bisection if block sizes are exact, as with one task per slot
    bisection_repetitions: int = 3
    #: Number of coarsening hierarchies of a large graph for all runs
    #: (:class:`hopbytes.engine.problem.PartitionSettings`). If there are more runs, some of them share a
    #: hierarchy and are computed on its graph with 4000 vertices. With 0 every run has its own. On graphs of
    #: more than 2^24 arcs and ten arcs per vertex all runs share one.
    shared_hierarchies: int = 8
    #: Rounds of relaxation of the shapes of blocks (``core/partition/relaxation/relax.hpp``) in cuts into 16
    #: or more blocks, which then make a third of the runs. 0 turns it off.
    relaxation_rounds: int = 0
    #: Sweeps of simulated annealing over the boundaries of 16 or more blocks
    #: (``core/partition/refinement/annealing.hpp``). 0 turns it off.
    annealing_sweeps: int = 0
    rounds: int = 10  #: local search (:class:`hopbytes.engine.problem.SearchSettings`).
    fruitless_moves: int = 40
    seeds: int = 25
    flow_rounds: int = 0
    flow_width: int = 4
    overload_percent: int = 100
    #: Levels that may use the room of PEs beyond an even share. With ``outer`` the outer cuts, which
    #: determine most of the cost, may use all of it that inner cuts are certain not to need. With ``even``
    #: every level gets the same factor. If some tasks are restricted to certain PEs, it is always even.
    slack: str = "outer"
    #: Number of partitions by KaMinPar for the outermost cut. They compete with the runs and are recombined
    #: with them. This needs the package kaminpar and a bound on loads (not exact counts); otherwise the
    #: built-in partitioner works alone. ``info["work"]`` counts the partitions that were used and those that
    #: failed.
    kaminpar_partitions: int = 0
    kaminpar_inner_partitions: int = 0  #: number of partitions by KaMinPar for every further cut
    kaminpar_preset: str = "strong"  #: preset of KaMinPar: fast, default, eco or strong
    kaminpar_from: int = 20_000  #: minimum number of vertices of a group for which KaMinPar is called
    #: External partitioner for every group in place of KaMinPar: ``"kahip:eco"``, ``"mtkahypar:quality"``,
    #: ``"kaminpar:strong"`` (docs/partitioners.md). It is called once per cut unless `kaminpar_partitions`
    #: and `kaminpar_inner_partitions` demand more. With ``repetitions=0`` the built-in partitioner runs only
    #: if the external one fails.
    partitioner: str = ""
    #: External partitioner for subproblems to which a schedule assigns several threads. The configuration eco
    #: of SharedMap is ``repetitions=0,slack=even,schedule=nb_layer,partitioner=kahip:eco`` with
    #: ``parallel_partitioner=mtkahypar:quality``. The mapping then depends on the number of threads.
    parallel_partitioner: str = ""
    #: Order of the work: ``level`` divides all groups of a level in one compiled call; the others are the
    #: four schedules of SharedMap (:mod:`hopbytes.algorithms.multisection.scheduling`). All of them give the
    #: same mapping.
    schedule: str = "level"
    #: File for one line of JSON per cut, with `start`, `end` (seconds), `worker`, `threads`, `path`,
    #: `vertices` and `arcs` (scanned edges). It needs one of the four schedules. Cuts that are repeated with
    #: other effort are not listed.
    trace: str = ""

    def __post_init__(self) -> None:
        Mapper.__post_init__(self)
        if self.schedule != "level" or self.trace:  # schedules are imported only where one is named
            from hopbytes.algorithms.multisection.scheduling import SCHEDULES

            if self.schedule not in ("level", *SCHEDULES):
                raise unknown_name("schedule", self.schedule, ["level", *SCHEDULES])
            if self.schedule == "level":
                raise UnsupportedError(f"a trace needs a schedule: {', '.join(SCHEDULES)}")
        if self.parallel_partitioner and (self.schedule == "level" or not self.partitioner):
            raise UnsupportedError("parallel_partitioner needs a partitioner for one thread and a schedule")
        self._external()

    @property
    def deterministic(self) -> bool:
        external = self._external()
        return external is None or bool(external.deterministic)

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        levels, pe_of_leaf = levels_of(where, bounds, graph.loads, even=self.slack == "even")
        external = self._external()
        with nullcontext() if external is None else external.started(bounds, effort) as outside:
            leaf = self._cut(graph, levels, bounds, effort, outside)
        pe = taken(pe_of_leaf, leaf)
        # Without further runs, a repetition would only return the known cuts.
        if effort.used_up or max(self.repetitions, self.recombinations) < 1:
            return pe
        shown = unexpected_shares(levels, graph, pe, effort.threads)
        if shown is levels:
            return pe
        other = effort.whole(lambda: self._beside(graph, shown, pe_of_leaf, bounds, effort, [pe]))
        if other is None:
            return pe
        return min(pe, other, key=lambda mapping: bounds.rank(graph, where, mapping, effort.threads))

    def again(
        self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort, known: Sequence[Int32]
    ) -> Int32:
        """Return int32[n], the PE of every task, where cuts of `known` mappings compete with new ones.

        The share of the cost of each level is measured in the first of `known`, which is also the result if
        the deadline ends the call early.
        """
        levels, pe_of_leaf = levels_of(where, bounds, graph.loads, even=self.slack == "even")
        shown = unexpected_shares(levels, graph, known[0], effort.threads)
        return self._beside(graph, shown, pe_of_leaf, bounds, effort, known)

    def _beside(
        self, graph: CommGraph, levels: list[Level], pe_of_leaf: Int32, bounds: Bounds, effort: Effort,
        known: Sequence[Int32],
    ) -> Int32:
        """Return the result of :meth:`again` for levels whose effort is known."""
        before, by_level = effort.work.get("cut_short", 0), replace(self, schedule="level", trace="")
        leaf = by_level._cut(graph, levels, bounds, effort, WarmStart(levels, known))
        return known[0] if effort.work.get("cut_short", 0) != before else taken(pe_of_leaf, leaf)

    def _cut(
        self, graph: CommGraph, levels: list[Level], bounds: Bounds, effort: Effort,
        outside: Candidates | None,
    ) -> Int32:
        """Return the leaf of every task."""
        root = Subproblem.whole(graph, bounds, effort.threads).rescaled_to_63_bits(effort.threads)
        each = 2 if root.csr.indptr is graph.indptr else 1
        root = renumbered(root)
        if isinstance(outside, WarmStart) and root.members is not None:
            outside = outside.renumbered(root.members)

        def cut(subproblem: Subproblem, last: int, own: Effort) -> Int32:
            return descend(subproblem, levels[:last], each, bounds.exact, own, self.settings, outside)

        if self.schedule == "level":
            found = cut(root, len(levels), effort)
            if root.members is None:
                return found
            leaf = np.empty(root.n, np.int32)
            leaf[root.members] = found
            return leaf
        from hopbytes.algorithms.multisection.scheduling import SCHEDULES, run_schedule

        schedule = SCHEDULES[self.schedule](effort.threads)
        stop = None if outside is None else outside.stop
        return run_schedule(root, levels, cut, schedule, effort, self.trace, stop)

    def settings(self, share: float, spent: Effort) -> PartitionSettings:
        """Return the effort for cuts of a level that determines `share` of the cost."""
        if spent.used_up:  # a mapping must be returned, but with the least effort
            return PartitionSettings(
                repetitions=min(1, self.repetitions), recombinations=0, initial_partitions=1,
                coarse_recombinations=0,
            )

        # The effort grows with the square root of the share: measurements on meshes, circuits and social
        # graphs showed that several cheap inner cuts deserve more repetitions than their share suggests.
        def part(effort: int) -> int:
            return round(effort * float(share**0.5))

        # Flows and temporary overload are worth their time only for levels with a large share of the cost.
        least = {"flow_rounds": 0, "overload_percent": 0} if share <= 0.1 else {}
        search = replace(SearchSettings.of(self), **least)
        return PartitionSettings(
            repetitions=max(min(1, self.repetitions), part(self.repetitions)),
            recombinations=part(self.recombinations),
            initial_partitions=max(1, part(self.initial_partitions)),
            contraction_limit=self.contraction_limit,
            region_growings=self.region_growings,
            coarse_recombinations=part(self.coarse_recombinations),
            bisection_repetitions=max(1, part(self.bisection_repetitions)),
            shared_hierarchies=self.shared_hierarchies,
            relaxation_rounds=part(self.relaxation_rounds),
            annealing_sweeps=part(self.annealing_sweeps),
            search=search,
        )

    def _external(self) -> Any:
        """Return what asks external partitioners as the options say, None if no option asks for one."""
        if not self.partitioner and max(self.kaminpar_partitions, self.kaminpar_inner_partitions) <= 0:
            return None
        if "external" not in partitioners:
            raise UnsupportedError(
                "external partitioners are in the laboratory of the source tree: pip install ./bench, "
                "or omit the options 'partitioner' and 'kaminpar_partitions' to use the built-in partitioner"
            )
        return partitioners["external"](self)


class WarmStart:
    """The cuts of earlier mappings for the groups of tasks that multisection divides.

    At the outermost level every mapping provides a cut. At inner levels it provides a cut for every group
    that consists of the same tasks as one of its own groups. Multisection adopts or improves such a cut, so
    it never returns a worse one.
    """

    def __init__(self, levels: list[Level], mappings: Sequence[Int32]) -> None:
        self._levels, self._mappings = levels, mappings

    def renumbered(self, members: Int32) -> WarmStart:
        """Return the same cuts for tasks in the order `members`."""
        return WarmStart(self._levels, [pe[members] for pe in self._mappings])

    def stop(self) -> None:
        """Do nothing, because candidates are available at once."""

    def candidates(
        self, problem: SearchProblem, groups: VertexGroups, depth: int, effort: Effort
    ) -> Int32 | None:
        """Return int32[c, n], the child of each task in its group, negative if there is no such cut."""
        group = groups.group
        rows = [self._row(group, pe, depth) for pe in self._mappings]
        return np.array([row for row in rows if row.max(initial=-1) >= 0], np.int32).reshape(-1, len(group))

    def _row(self, group: Int32, pe: Int32, depth: int) -> Int32:
        level, count = self._levels[depth], self._levels[depth].groups
        inside = np.zeros_like(pe) if depth == 0 else self._levels[depth - 1].child_of_pe[pe]
        lowest, highest = np.full(count, count), np.full(count, -1)
        np.minimum.at(lowest, group, inside)
        np.maximum.at(highest, group, inside)
        alike = lowest == highest
        counterpart = np.where(alike, lowest, 0)
        children = np.diff(level.start)
        alike &= group_sums(group, None, count) == group_sums(inside, None, count)[counterpart]
        alike &= children == children[counterpart]
        child = level.child_of_pe[pe] - level.start[inside]
        row: Int32 = np.where(alike[group], child, -1).astype(np.int32)
        return row


#: The effort for cuts of a level, by its share of the cost and by what was spent.
Settings = Callable[[float, Effort], PartitionSettings]


class Candidates(Protocol):
    """What offers cuts that compete with those of the engine: earlier mappings or external partitioners."""

    def candidates(
        self, problem: SearchProblem, groups: VertexGroups, depth: int, effort: Effort
    ) -> Int32 | None:
        """Return int32[c, n], the child of each task in its group, negative if there is no such cut."""

    def stop(self) -> None:
        """Let all threads that wait for candidates continue without them."""


def descend(
    subproblem: Subproblem, levels: list[Level], each: int, exact: bool, effort: Effort,
    settings: Settings, outside: Candidates | None,
) -> Int32:
    """Return the group of the last of `levels` that holds each task of a subproblem."""
    csr, cost = subproblem.csr, 0
    low, high = subproblem.group, subproblem.group + 1  # groups are counted from the first one inside
    group = np.zeros(subproblem.n, np.int32)
    for depth in range(subproblem.depth, len(levels)):
        if isinstance(outside, WarmStart) and effort.out_of_time:  # a known mapping is the result
            effort.count(cut_short=1)
            break
        level, count = levels[depth], high - low
        first, beyond = int(level.start[low]), int(level.start[high])
        start = level.start[low : high + 1] - first
        prices = level.linear_cost(subproblem.linear_cost, group, low, each)
        loads = group_sums(group, subproblem.loads, count, effort.threads)
        problem = SearchProblem(csr, subproblem.loads, linear_cost=prices)
        groups = VertexGroups(
            group, start, level.caps(loads, low, exact=exact),
            derived_seeds((effort.seed % 2**64, depth), level.groups)[low:high],  # by position only
        )
        others = None if outside is None else outside.candidates(problem, groups, depth, effort)
        child, cut = partition_many(
            problem, groups, settings(level.share, effort), candidates=others,
            control=effort.run_control(
                effort.watch(f"level {depth + 1} of {len(levels)}, J {cost:,}", count)
            ),
        )
        cost += each * level.distance * int(cut.sum())
        effort.count(cuts=count)
        group = child if count == 1 else taken(start.astype(np.int32), group) + child
        low, high = first, beyond
    return group if low == 0 else group + np.int32(low)


def taken(values: Int32, places: Int32) -> Int32:
    """Return int32[n], ``values[places]`` for places that exist; the places themselves if values count up."""
    if np.array_equal(values, np.arange(len(values))):
        return places
    found: Int32 = values.take(places, mode="clip")  # which saves a copy
    return found


#: The effort of the preset ``fast``.
FAST = Multisection(
    repetitions=2, initial_partitions=3, recombinations=1, region_growings=2, flow_rounds=4,
    relaxation_rounds=6
)
