"""TreeMatch: it groups tasks for the innermost units, then groups these groups level by level."""

from __future__ import annotations

from math import comb, prod
from operator import itemgetter
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.balancer import meet_bounds
from hopbytes.algorithms.base import Allowed, Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.mappers.level_by_level import TopDown
from hopbytes.algorithms.shared.quotient_graph import quotient_csr, with_isolated
from hopbytes.algorithms.shared.sequential_assignment import room_for
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.engine.partition import partition_many
from hopbytes.engine.problem import PartitionSettings, SearchProblem, VertexGroups
from hopbytes.kernels import checked_sum, group_objects
from hopbytes.kernels.records import Csr
from hopbytes.machines.allocate.slot_counts import spread
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


def shapes(arities: list[int], leaves: int, most: int) -> list[list[int]]:
    """Return the subtrees of the tree `arities` with at least `leaves` leaves, beginning with the whole tree.
    """
    if most <= 1:
        return [arities]
    found = [shape for shape in _least(arities, leaves) if _minimal(shape, leaves) and shape != arities]
    found.sort(key=lambda shape: (prod(shape), [-count for count in shape]))
    return [arities, *found[: most - 1]]


def _least(arities: list[int], leaves: int) -> list[list[int]]:
    """Return, for all numbers of inner children, the least sufficient numbers of outermost children."""
    if not arities:
        return [[]] if leaves <= 1 else []
    if len(arities) == 1:
        return [[max(1, leaves)]] if leaves <= arities[0] else []
    *outer, inner = arities
    return [
        [*shape, count]
        for count in range(1, inner + 1)
        for shape in _least(outer, -(-leaves // count))
    ]


def _minimal(shape: list[int], leaves: int) -> bool:
    """Return whether every level needs all of its children."""
    whole = prod(shape)
    return all(whole // count * (count - 1) < leaves for count in shape if count > 1)


def in_whole_tree(leaf: Int64, shape: list[int], arities: list[int]) -> Int64:
    """Return int64[n], the leaves of the whole tree that correspond to leaves of one of the :func:`shapes`.
    """
    place, below, rest = np.zeros_like(leaf), 1, leaf
    for used, there in zip(reversed(shape), reversed(arities), strict=True):
        place = place + rest % used * below
        rest, below = rest // used, below * there
    return place


#: If groups are too many to list, a balanced partition is also tried with at most so many objects.
PARTITIONED_UP_TO = 512
#: Limit of mean degree times groups for this partition. Beyond it a partition takes seconds, and in all
#: measured cases it was not better.
PARTITIONED_UP_TO_DEGREE = 8000
UNEVEN = (
    "treematch needs units of equal size, the same number of tasks (at most 64) on every PE unless "
    "virtual=true, and no constraints: `top_down` ran instead"
)
#: With more tasks per PE the mapper partitions top-down, because grouping is made for small groups.
MOST_PER_PE = 64


@mappers.register("treematch")
@frozen
class TreeMatch(Mapper):
    """Group tasks by the arity of the innermost level with little volume between groups, then the groups.

    Jeannot and Mercier, "Near-optimal mapping of MPI processes on hierarchical NUMA architectures"
    (Euro-Par 2010), without any refinement. At each level objects without communication are added up to the
    next multiple of the arity. With fewer tasks than PEs the algorithm thereby selects the PEs itself, unless
    the caller prescribes the number of tasks per PE. Several tasks per PE form one more level. Tasks with
    loads are first grouped by a balanced partition, a group per PE (counter ``grouping_loads``), since groups
    of equal numbers may not be equally heavy. Several threads evaluate the listed groups, with the same
    answer.

    If the tree is irregular (unequal children, excluded cores, unequal capacities, constraints, PEs
    with different numbers of tasks or more than 64), the tasks are partitioned by ``top_down`` instead, as in
    the program of the authors if only some leaves may be used; a notice says so, and the counter
    ``uneven_tree`` is then 1. Counters ``grouping_...`` count the levels by the heuristic
    that found their groups.

    The weighted degree of a group is the sum of the values of the groups in conflict with it, divided by
    its own value, as in Kako et al. (2005), whom the paper cites. With the mean of these values, which the
    text of the paper states, the third heuristic does not find the pairs of the paper's example. Further
    differences from the paper are the order of ties (members in lexicographic order), ten starts for the
    first heuristic instead of one, the credit, which follows the program of the authors, and the exact
    solution of small levels (at most 12 objects). O(m log n) per level if groups grow.
    """

    chooses_slots: ClassVar[bool] = True
    #: A list of more groups takes too much memory.
    allowed: ClassVar[Allowed] = {
        "list_up_to": range(1_000_001), "credit": range(1001)
    }
    #: If a level has at most so many possible groups, all of them are listed, and three heuristics search for
    #: independent sets among them: smallest values first, largest values last, largest weighted degree first.
    #: With up to 12 objects the optimal grouping is computed. If there are more possible groups, groups grow
    #: along heavy edges. With up to 512 objects in a sparse graph they are compared with a perfectly balanced
    #: partition, and the grouping with less volume between groups is used.
    list_up_to: int = 30_000
    #: thousandths by which the grouping of consecutive objects may be worse than another and is still used
    credit: int = 1
    #: number of initial partitions of the coarsest graph, per level or per cut of an irregular tree
    initial_partitions: int = 4
    #: Number of subtrees of the machine that are tried if there are fewer tasks than PEs (fewer cores of
    #: every cache, fewer caches of every package, ...); the mapping with the lowest J is used. With 1 only
    #: the whole tree is tried, as in the paper, which fills the innermost units and adds objects only up to
    #: the next multiple of the arity.
    shapes: int = 1
    #: If PEs get different numbers of tasks (13 tasks on 8 PEs), add tasks without communication up to the
    #: largest of these numbers, as the authors do, then move tasks at little cost until every PE has its
    #: number (counter ``filled_up``). By default ``top_down`` partitions, which had at most the same J in all
    #: 20 measured cases.
    virtual: bool = False

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        if graph.n == 0 or where.k == 1:
            return np.zeros(graph.n, np.int32)
        groupings = where.groups()
        arities, per_pe = _arities(groupings), self._tasks_per_pe(graph, where, bounds)
        if arities is not None and _alike_with_loads(graph, bounds):
            effort.count(grouping_loads=1)
            group, _ = partition_many(
                SearchProblem(graph.symmetric_positive(), graph.loads),
                VertexGroups.whole(graph.n, bounds.load, effort.seed),
                PartitionSettings(initial_partitions=self.initial_partitions), control=effort.run_control(),
            )
            csr = quotient_csr(graph.symmetric_positive(), group, where.k)
            return np.argsort(groupings[-1]).astype(np.int32)[self._leaves(csr, arities, effort)[group]]
        if arities is None or per_pe is None:
            effort.count(uneven_tree=1)
            effort.notices.append(UNEVEN)
            return self._outside_in(graph, where, bounds, effort)
        pe_of_leaf = np.argsort(groupings[-1]).astype(np.int32)
        csr, cost, found = graph.symmetric_positive(), CommCost(), []
        for shape in shapes(arities, -(-graph.n // per_pe), self.shapes):
            leaf = self._leaves(csr, [*shape, per_pe] if per_pe > 1 else shape, effort) // per_pe
            pe = pe_of_leaf[in_whole_tree(leaf, shape, arities)]
            if bounds.exact and bounds.count is not None and int(bounds.count.min()) < per_pe:
                # Virtual tasks may have been grouped with one another, which leaves a PE too empty.
                repaired = meet_bounds(graph, where, pe, None, bounds.count)
                effort.count(filled_up=repaired.moves)
                pe = repaired.pe
            found.append((cost.value(graph, where, pe) if self.shapes > 1 else 0, pe))
            if effort.used_up:
                break
        return min(found, key=itemgetter(0))[1]

    def _tasks_per_pe(self, graph: CommGraph, where: Allocation, bounds: Bounds) -> int | None:
        """Return the largest number of tasks per PE, 1 if there are fewer tasks; None if it does not fit."""
        if bounds.linear_cost is not None or (graph.loads is not None and not bounds.exact):
            return None
        if graph.n < where.k and not bounds.exact:
            return 1
        room = room_for(graph, bounds)
        most = int(room.max())
        filled = (self.virtual and bounds.exact) or most == int(room.min())
        return most if filled and most <= MOST_PER_PE else None

    def _leaves(self, csr: Csr, arities: list[int], effort: Effort) -> Int64:
        """Return int64[n], the leaf of every task, counted from the left of the tree."""
        groups: list[tuple[Int32, int]] = []  # of every level, innermost first: group of each object, size
        n = len(csr.indptr) - 1
        for arity in reversed(arities):
            objects = len(csr.indptr) - 1
            csr = with_isolated(csr, objects + -objects % arity)
            group, which = self._grouped(csr, arity, effort)
            effort.count(**{f"grouping_{which}": 1})
            effort.spend(len(csr.targets) + len(group))
            groups.append((group, arity))
            csr = quotient_csr(csr, group, len(group) // arity)
        position = np.zeros(1, np.int64)
        for group, arity in reversed(groups):  # children of a group are ordered by their numbers
            order = np.argsort(group, kind="stable")
            inner = np.empty(len(group), np.int64)
            inner[order] = position[group[order]] * arity + np.arange(len(group)) % arity
            position = inner
        return position[:n]

    def _grouped(self, csr: Csr, arity: int, effort: Effort) -> tuple[Int32, str]:
        """Return the group of each object and the name of the heuristic that found it."""
        group, which = group_objects(
            csr, arity, list_up_to=self.list_up_to, credit=self.credit, threads=effort.threads
        )
        objects = len(group)
        listed = arity >= objects or comb(objects, arity) <= self.list_up_to
        dense = len(csr.targets) // objects * (objects // arity) > PARTITIONED_UP_TO_DEGREE
        if listed or dense or objects > PARTITIONED_UP_TO or effort.used_up:
            return group, which
        found, _ = partition_many(
            SearchProblem(csr),
            VertexGroups.whole(objects, np.full(objects // arity, arity, np.int64), effort.seed),
            PartitionSettings(initial_partitions=self.initial_partitions), control=effort.run_control(),
        )
        credit = self.credit if which == "packed" else 0
        if 1000 * _leaving(csr, found) >= (1000 - credit) * _leaving(csr, group):
            return group, which
        if int(np.bincount(found).max()) > arity:  # partitions need not meet exact sizes
            return group, which
        _, first, inverse = np.unique(found, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first)).astype(np.int32)[inverse], "partition"  # by smallest member

    def _outside_in(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        mapper = TopDown(initial_partitions=self.initial_partitions)
        if bounds.exact or graph.n >= where.k:
            return mapper.map(graph, where, bounds, effort)
        pes, one_each = spread(where, graph.n), np.ones(graph.n, np.int64)
        used = mapper.map(graph, where.select(pes), Bounds(one_each, one_each, exact=True), effort)
        return pes[used].astype(np.int32)


def _alike_with_loads(graph: CommGraph, bounds: Bounds) -> bool:
    """Return whether tasks have loads that count and all PEs may hold equally much."""
    plain = bounds.linear_cost is None and not bounds.exact and graph.loads is not None
    return plain and int(bounds.load.min()) == int(bounds.load.max())


def _leaving(csr: Csr, group: Int32) -> int:
    """Return the weight between groups in both directions."""
    crossing = np.repeat(group, np.diff(csr.indptr)) != group[csr.targets]
    return int(crossing.sum()) if csr.weights is None else checked_sum(csr.weights[crossing])


def _arities(groupings: list[Int32]) -> list[int] | None:
    """Return the children per unit of every level, outermost first; None if units of a level differ."""
    arities, above = [], 1
    for grouping in groupings:
        sizes = np.bincount(grouping)
        if int(sizes.min()) != int(sizes.max()):
            return None
        arities.append(len(sizes) // above)
        above = len(sizes)
    return arities
