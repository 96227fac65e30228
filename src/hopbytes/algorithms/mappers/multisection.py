"""Hierarchical multisection: cut the tasks like the machine is cut, from the outermost level inwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.multisection.cut_level import Level
from hopbytes.algorithms.multisection.effort_per_level import unexpected_shares
from hopbytes.algorithms.multisection.executor import run_schedule
from hopbytes.algorithms.multisection.hierarchy_levels import Subproblem, group_seeds, levels_of
from hopbytes.algorithms.multisection.scheduling import SCHEDULES
from hopbytes.algorithms.multisection.warm_start import WarmStart
from hopbytes.engine import PartitionSettings, SearchProblem, SearchSettings, VertexGroups, partition_many
from hopbytes.engine.settings import SEARCH_OPTIONS
from hopbytes.errors import UnsupportedError, unknown_name
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph

if TYPE_CHECKING:
    from hopbytes.algorithms.multisection.external_partitions import ExternalPartitions


@mappers.register("multisection")
@dataclass(frozen=True, slots=True)
class Multisection(Mapper):
    """Partition recursively along the machine's levels; leaves are PEs.

    Parameters
    ----------
    repetitions : int
        Full multilevel runs of the cuts that decide most of the cost, usually the outermost ones. 0:
        one, and only where KaMinPar gave nothing.
    initial_partitions : int
        Partitions of the coarse graph per run there.
    recombinations : int
        Recombinations of the runs there (see ``core/multilevel.hpp``).
    contraction_limit : int
        Vertices of the coarse graph on which tries are made.
    coarse_recombinations : int
        Recombinations of the tries on the coarse graph.
    bisection_repetitions : int
        Tries of every cut in two where sizes are exact, as with one task per slot.
    shared_hierarchies : int
        Ways down from a large graph and back for all runs (:class:`hopbytes.engine.PartitionSettings`): where
        there are more runs, some share one and are made on a graph of 4000 vertices. 0: each has its own.
    rounds, fruitless_moves, seeds, flow_rounds, flow_width, overload_percent : int
        Local search (:class:`hopbytes.engine.SearchSettings`).
    slack : {"outer", "even"}
        Who may use the room that PEs have beyond an even share: the outer cuts, which decide most of the
        cost, all that surely leaves the inner ones enough; or every level the same factor. Where tasks
        may not go everywhere it is even.
    kaminpar_partitions : int
        Partitions of the outermost cut by KaMinPar, which compete with the runs and are recombined
        with them. Needs a bound on loads (never exact counts) and the package; without, the built-in
        partitioner works alone. ``info["work"]`` says how many were used and how many failed.
    kaminpar_inner_partitions : int
        The same for every further cut.
    kaminpar_preset : str
        KaMinPar's setting: fast, default, eco or strong.
    kaminpar_from : int
        Vertices a group needs for KaMinPar to be called.
    partitioner : str
        A partitioner that cuts every group instead: ``"kahip:eco"``, ``"mtkahypar:quality"``,
        ``"kaminpar:strong"`` (:mod:`hopbytes.partitioners.backends`), once unless `kaminpar_partitions` and
        `kaminpar_inner_partitions` say more. With ``repetitions=0`` the built-in one cuts only where it
        fails.
    parallel_partitioner : str
        A second one, for pieces that a schedule gives several threads: what SharedMap calls eco is
        ``repetitions=0,slack=even,schedule=nb_layer,partitioner=kahip:eco`` with
        ``parallel_partitioner=mtkahypar:quality``. The placement then depends on the number of threads.
    schedule : {"level", "naive", "layer", "queue", "nb_layer"}
        Who works on what: all groups of a level in one compiled call, or one of the four schedules of
        the paper (:mod:`hopbytes.algorithms.multisection.scheduling`). The placement is the same.
    trace : str
        With one of the four: a file for one line of JSON per cut, with `start`, `end` (seconds),
        `worker`, `threads`, `path`, `vertices` and `arcs` looked at. Cuts made again are not in it.

    Raises
    ------
    UnsupportedError
        An unknown schedule, partitioner or setting of one, or a partitioner that is not installed.

    Notes
    -----
    After SharedMap (Schulz and Woydt, 2025), with these differences: integer caps that every later
    cut can meet (:func:`hopbytes.model.capacities.child_bounds`), the outer ones as roomy as that allows
    (`slack`);
    levels of equal distance are one cut; seeds
    derive from the place in the hierarchy, so the answer does not depend on threads; every cut
    keeps the best of several runs and recombines them; inner cuts, which decide less of the cost,
    get proportionally fewer runs and tries; where a level then decides far more than expected
    (:mod:`hopbytes.algorithms.multisection.effort_per_level`) all are cut again with what each deserves.
    Where blocks have little
    room, as deep in a hierarchy, cuts start from blocks of equal size. Blocks of exact sizes are made by
    halves (``core/exact.hpp``).

    O(levels x (n + m)) for meshes; all groups of one level are one compiled call.
    """

    option_groups: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "repetitions": ("repetitions", "recombinations", "bisection_repetitions"),
        "coarsening": ("contraction_limit", "shared_hierarchies"),
        "initial partitions": ("initial_partitions", "coarse_recombinations"),
        "refinement": SEARCH_OPTIONS,
        "balance": ("slack",),
        "external partitioners": (
            "partitioner", "parallel_partitioner", "kaminpar_partitions", "kaminpar_inner_partitions",
            "kaminpar_preset", "kaminpar_from",
        ),
        "schedule": ("schedule", "trace"),
    }  # fmt: skip
    repetitions: int = 1
    initial_partitions: int = 4
    recombinations: int = 0
    contraction_limit: int = 1500
    coarse_recombinations: int = 2
    bisection_repetitions: int = 3
    shared_hierarchies: int = 8
    rounds: int = 10
    fruitless_moves: int = 40
    seeds: int = 25
    flow_rounds: int = 0
    flow_width: int = 4
    overload_percent: int = 100
    slack: str = "outer"
    kaminpar_partitions: int = 0
    kaminpar_inner_partitions: int = 0
    kaminpar_preset: str = "strong"
    kaminpar_from: int = 20_000
    partitioner: str = ""
    parallel_partitioner: str = ""
    schedule: str = "level"
    trace: str = ""

    def __post_init__(self) -> None:
        if self.schedule != "level" and self.schedule not in SCHEDULES:
            raise unknown_name("schedule", self.schedule, ["level", *SCHEDULES])
        if self.slack not in ("outer", "even"):
            raise unknown_name("slack", self.slack, ["outer", "even"])
        if self.trace and self.schedule == "level":
            raise UnsupportedError(f"a trace needs a schedule: {', '.join(SCHEDULES)}")
        if self.parallel_partitioner and (self.schedule == "level" or not self.partitioner):
            raise UnsupportedError("parallel_partitioner needs a partitioner for one thread and a schedule")
        if self._outside_tries() is not None:
            from hopbytes.partitioners.backends import check_backend

            for backend in self._backends():
                check_backend(*backend, required=bool(self.partitioner))

    @property
    def deterministic(self) -> bool:
        """Whether the same seed gives the same placement: not with every partitioner from elsewhere."""
        if self._outside_tries() is None:
            return True
        from hopbytes.partitioners.backends import repeats_itself

        return not self.parallel_partitioner and repeats_itself(*self._backends()[0])

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        levels, pe_of_leaf = levels_of(where, bounds, graph.loads, even=self.slack == "even")
        with self._outside(bounds, effort) as outside:
            leaf = self._cut(graph, levels, bounds, effort, outside)
        pe: Int32 = pe_of_leaf[leaf]
        # A cut that is known would only be read off again where nothing is made beside it.
        if effort.used_up or max(self.repetitions, self.recombinations) < 1:
            return pe
        shown = unexpected_shares(levels, graph, pe)
        if shown is levels:
            return pe
        other = effort.whole(lambda: self._beside(graph, shown, pe_of_leaf, bounds, effort, [pe]))
        return pe if other is None else min(pe, other, key=lambda each: bounds.rank(graph, where, each))

    def again(
        self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort, known: Sequence[Int32]
    ) -> Int32:
        """Return int32[n], the PE of every task, where cuts of `known` placements compete with new ones.

        The first of `known` tells how much each level decides. Ended early by the deadline it is the answer.
        """
        levels, pe_of_leaf = levels_of(where, bounds, graph.loads, even=self.slack == "even")
        shown = unexpected_shares(levels, graph, known[0])
        return self._beside(graph, shown, pe_of_leaf, bounds, effort, known)

    def _beside(
        self, graph: CommGraph, levels: list[Level], pe_of_leaf: Int32, bounds: Bounds, effort: Effort,
        known: Sequence[Int32],
    ) -> Int32:
        """Return what :meth:`again` does, where the effort of each level is known."""
        before = effort.work.get("cut_short", 0)
        by_level, warm_start = replace(self, schedule="level", trace=""), WarmStart(levels, known)
        leaf = by_level._cut(graph, levels, bounds, effort, warm_start)
        pe: Int32 = known[0] if effort.work.get("cut_short", 0) != before else pe_of_leaf[leaf]
        return pe

    def _cut(
        self, graph: CommGraph, levels: list[Level], bounds: Bounds, effort: Effort,
        outside: ExternalPartitions | WarmStart | None,
    ) -> Int32:
        """Return the leaf of every task."""
        root = Subproblem.whole(graph, bounds).rescaled_to_63_bits()
        each = 2 if root.csr.indptr is graph.indptr else 1

        def cut(subproblem: Subproblem, last: int, own: Effort) -> Int32:
            return self.descend(subproblem, levels[:last], each, bounds.exact, own, outside)

        if self.schedule == "level":
            return cut(root, len(levels), effort)
        schedule = SCHEDULES[self.schedule](effort.threads)
        stop = None if outside is None else outside.stop
        return run_schedule(root, levels, cut, schedule, effort, self.trace, stop)

    def descend(
        self, subproblem: Subproblem, levels: list[Level], each: int, exact: bool, effort: Effort,
        outside: ExternalPartitions | WarmStart | None = None, group: Int32 | None = None,
    ) -> Int32:
        """Return the group of the last of `levels` that holds each task of a piece.

        `each` is how many arcs an edge stands for; `group` is the group of ``levels[piece.depth]`` that every
        task is in already, unless all are in that of the piece.
        """
        csr, cost = subproblem.csr, 0
        low, high = subproblem.group, subproblem.group + 1  # groups are counted from the first one inside
        if group is None:
            group = np.zeros(subproblem.n, np.int32)
        else:
            low, high = 0, levels[subproblem.depth].groups
        for depth in range(subproblem.depth, len(levels)):
            if isinstance(outside, WarmStart) and effort.out_of_time:  # there is a placement already
                effort.count(cut_short=1)
                break
            level, count = levels[depth], high - low
            first, beyond = int(level.start[low]), int(level.start[high])
            start = level.start[low : high + 1] - first
            prices = level.linear_cost(subproblem.linear_cost, group + np.int32(low), each)
            problem = SearchProblem(csr, subproblem.loads, linear_cost=prices)
            groups = VertexGroups(
                group, start, level.caps(group_sums(group, subproblem.loads, count), low, exact=exact),
                group_seeds(effort.seed, depth, level.groups)[low:high],
            )
            others = None if outside is None else outside.candidates(problem, groups, depth, effort)
            child, cut = partition_many(
                problem, groups, self._settings(level.share, effort), candidates=others,
                control=effort.run_control(
                    effort.watch(f"level {depth + 1} of {len(levels)}, J {cost:,}", count)
                ),
            )
            cost += each * level.distance * int(cut.sum())
            effort.count(cuts=count)
            group = (start[group] + child).astype(np.int32)
            low, high = first, beyond
        found: Int32 = group + np.int32(low)
        return found

    def _settings(self, share: float, spent: Effort) -> PartitionSettings:
        if spent.used_up:  # a placement is owed, but nothing beyond
            return PartitionSettings(
                repetitions=min(
                    1, self.repetitions
                ), recombinations=0, initial_partitions=1, coarse_recombinations=0
            )

        # The root of the share: several cheap inner cuts are worth more tries than their share says,
        # measured on meshes, circuits and social graphs alike.
        def part(effort: int) -> int:
            return round(effort * float(share**0.5))

        # What pays everywhere, and what only where much is decided.
        search = SearchSettings(self.rounds, self.fruitless_moves, self.seeds)
        if share > 0.1:
            search = replace(
                search, flow_rounds=self.flow_rounds, flow_width=self.flow_width,
                overload_percent=self.overload_percent,
            )
        return PartitionSettings(
            repetitions=max(min(1, self.repetitions), part(self.repetitions)), recombinations=part(
                self.recombinations
            ),
            initial_partitions=max(
                1, part(self.initial_partitions)
            ), contraction_limit=self.contraction_limit,
            coarse_recombinations=part(self.coarse_recombinations), bisection_repetitions=max(
                1, part(self.bisection_repetitions)
            ),
            shared_hierarchies=self.shared_hierarchies, search=search,
        )

    def _outside(self, bounds: Bounds, effort: Effort) -> AbstractContextManager[ExternalPartitions | None]:
        """Return whom else to ask for partitions, None for nobody; a partitioner needs a bound on loads."""
        tries = self._outside_tries()
        if tries is None:
            return nullcontext()
        for name, _ in self._backends():
            effort.count(**{f"{name}_used": 0, f"{name}_failed": 0})
        if bounds.exact:
            return nullcontext()
        # Imported only where it is wanted: worker processes need modules that take time to load.
        from hopbytes.algorithms.multisection.external_partitions import ExternalPartitions

        return ExternalPartitions(self._backends(), *tries, self._smallest())

    def _outside_tries(self) -> tuple[int, int] | None:
        """Tries of the outermost and of every other cut; None when nobody is asked."""
        tries = self.kaminpar_partitions, self.kaminpar_inner_partitions
        if self.partitioner:
            return max(1, tries[0]), max(1, tries[1])
        return tries if max(tries) > 0 else None

    def _backends(self) -> list[tuple[str, str]]:
        """Name and setting of the partitioner for one thread, then of that for several if it is another."""
        if not self.partitioner:
            return [("kaminpar", self.kaminpar_preset)]
        named = [each.partition(":") for each in (self.partitioner, self.parallel_partitioner) if each]
        return [(name, setting) for name, _, setting in named]

    def _smallest(self) -> int:
        return 0 if self.partitioner else self.kaminpar_from
