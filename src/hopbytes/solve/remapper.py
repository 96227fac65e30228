"""Remapper: a mapping kept up to date while its pattern, its loads and its PEs change."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt8
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds
from hopbytes.algorithms.shared.search_distances import equal_both_ways, search_problem
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.engine.changing import (
    COST,
    SHIFT,
    WORK,
    ArcRows,
    Changes,
    LocalSettings,
    PlacementState,
    Update,
)
from hopbytes.engine.control import RunControl
from hopbytes.engine.partition import RefinementSettings, refine_placement
from hopbytes.errors import FormatError, InfeasibleError, UnsupportedError, internal_error
from hopbytes.kernels.linear_cost import LinearCost, from_entries
from hopbytes.machines.distances import kernel_distances
from hopbytes.model.allocation import Allocation, PlaceLike
from hopbytes.model.capacities import common_divisor, exact_imbalance, sum_of
from hopbytes.model.comm_graph import CommGraph, PatternLike
from hopbytes.model.mapping import Mapping
from hopbytes.solve.changing import Batch, BatchReport, Edges, Numbers, Valued, check_batch, collect_batch
from hopbytes.solve.map_tasks import map_tasks
from hopbytes.solve.problem import Constraints
from hopbytes.util.checks import listed, thread_count, whole
from hopbytes.util.integers import check_limit

#: Scanned edges that the search near the changes may spend on one change.
WORK_PER_CHANGE = 3_000
#: Scanned edges that one change saves for larger repairs.
SAVED_PER_CHANGE = 10_000
#: Limit of J and of the price of all migrations, as for searches, and of the sum of loads.
MOST_COST, MOST_LOAD = 2**58, 2**60


class Remapper:
    """A mapping that follows a changing pattern, at a cost in proportion to what changes.

    Parameters
    ----------
    graph : CommGraph, or what :func:`hopbytes.map_tasks` takes
        The pattern at the beginning.
    where : Allocation, or what :func:`hopbytes.map_tasks` takes
        The k PEs, with all that may come later.
    mapping : Mapping, int[n], or the name of a file with a mapping
        The mapping at the beginning; tasks move if it exceeds the bounds.
    migration_price : int
        Cost of a task that has another PE after a batch than before, in units of J.
    most_moves : int, optional
        Largest number of migrations per batch. Only migrations without an alternative may exceed it.
    imbalance : float or str
        The load of a PE is at most ``(1 + imbalance)`` times the mean over PEs in use, as in
        :func:`hopbytes.map_tasks`.
    one_per_pe : bool, optional
        Every PE holds at most one task and loads do not matter; by default so if the mapping is like that.
    absent : sequence of int
        PEs that are not in use at the beginning.
    work_per_change, saved_per_change : int
        Scanned edges per change that the search near the changes may spend, and that are saved for larger
        repairs; with 0 saved there are none.
    seed, threads : int
        Of larger repairs. The result does not depend on `threads`.

    Raises
    ------
    FormatError
        If the mapping does not fit the pattern, uses absent PEs, or breaks `one_per_pe`.
    UnsupportedError
        If the distances differ by direction.
    ScaleError
        If sums of volume x distance, or of loads, are too large.

    Notes
    -----
    Construction is O(n + m + k); :meth:`apply` takes time in proportion to its batch. See docs/changing.md.
    The search near the changes is localised FM (Sanders and Schulz, 2011) under the distances of the machine
    and the migration price; the bookkeeping between batches follows no paper.

    Examples
    --------
    >>> import hopbytes as hb
    >>> ring = hb.CommGraph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], [5, 5, 5, 5])
    >>> remapper = hb.Remapper(ring, "node:2@10 core:1@1", [0, 0, 1, 1], imbalance="50%")
    >>> report = remapper.apply(edges=[(0, 1, 0), (0, 2, 50)])
    >>> report.migrations, report.comm_cost, remapper.pe.tolist()
    (1, 50, [1, 0, 1, 1])
    """

    def __init__(
        self,
        graph: PatternLike,
        where: PlaceLike,
        mapping: Mapping | Sequence[int] | Int32 | str | os.PathLike[str],
        *,
        migration_price: int = 0,
        most_moves: int | None = None,
        imbalance: float | str = 0.03,
        one_per_pe: bool | None = None,
        absent: Sequence[int] = (),
        work_per_change: int = WORK_PER_CHANGE,
        saved_per_change: int = SAVED_PER_CHANGE,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        graph, self.where = CommGraph.checked(graph), Allocation.of(where)
        if not equal_both_ways(self.where):
            what = "a Remapper needs distances that are equal in both directions and 0 on a PE"
            raise UnsupportedError(what)
        self.migration_price = whole("migration_price", migration_price, 0)
        self.most_moves = None if most_moves is None else whole("most_moves", most_moves, 0)
        self.work_per_change = whole("work_per_change", work_per_change, 0)
        self.seed, self.threads = seed, thread_count(threads)
        if isinstance(mapping, (Mapping, str, os.PathLike)):
            mapping = Mapping.of(mapping).pe
        pe = Mapping(mapping, self.where).pe
        if pe.shape != (graph.n,):
            raise FormatError("mapping", None, f"{pe.size} tasks, expected {graph.n}")
        self.one_per_pe = is_one_per_pe(pe, self.where.k) if one_per_pe is None else one_per_pe
        if self.one_per_pe and not is_one_per_pe(pe, self.where.k):
            raise FormatError("mapping", None, "several tasks on a PE, expected at most one with one_per_pe")
        usable, self._imbalance = usable_pes(pe, absent, self.where.k), exact_imbalance(imbalance)
        # J counts the volume of a pair once per stored arc. With arcs of tasks to themselves, the symmetric
        # graph of an undirected pattern holds sums of both directions, as that of a directed one does.
        self._undirected = graph.undirected and graph.symmetric().indptr is graph.indptr
        self._times = 2 if self._undirected else 1
        csr = graph.symmetric_positive()
        weights = np.ones(len(csr.targets), np.int64) if csr.weights is None else csr.weights
        self._pairs = len(csr.targets) // 2
        self._largest = max(int(self.where.distance.largest), 1)
        self._weight = self._checked_weight(sum_of(weights) // 2 * self._times)
        self._rows = ArcRows.of(csr._replace(weights=weights * self._times))
        loads = np.ones(graph.n, np.int64) if self.one_per_pe else graph.task_loads().astype(np.int64)
        self._total_load = sum_of(loads)
        check_limit(f"loads sum to {self._total_load}", self._total_load, MOST_LOAD)
        #: A divisor of all loads, the greatest at first: bounds are multiples of it, as those of map_tasks.
        self._load_unit = common_divisor(loads)
        #: One more than the largest number that a task ever had, and the number of tasks that are present.
        self._numbers, self._count = graph.n, graph.n
        self._state = PlacementState.of(self._rows, pe, loads, usable, kernel_distances(self.where))
        self._state.counter[COST] = self._cost_from_scratch()
        self._set_bounds(usable)
        self._update(Changes(caps_changed=True), LocalSettings(keep_one=not self.one_per_pe))
        saved = whole("saved_per_change", saved_per_change, 0)
        self._savings = savings_at_first(saved, self._size, one_per_pe=self.one_per_pe)

    def __repr__(self) -> str:
        pes = f"{len(self.in_use):,} of {self.where.k:,} PEs"
        return f"Remapper({self.n:,} tasks → {pes}, J={self.comm_cost:,})"

    def _repr_html_(self) -> str:
        from hopbytes.model.html_table import html_table

        rows: list[tuple[object, object]] = [
            ("tasks", self.n), ("PEs in use", f"{len(self.in_use):,} of {self.where.k:,}"),
            ("J", self.comm_cost), ("largest load of a PE", int(self.pe_loads.max(initial=0))),
            ("cost of a migration", self.migration_price),
        ]
        return html_table("Remapper", rows)

    # ------------------------------------------------------------------------------------ the current state

    @property
    def n(self) -> int:
        """Number of tasks that are present."""
        return self._count

    @property
    def pe(self) -> Int32:
        """int32[...]: the PE of every number of a task, -1 for those that are absent; a read-only view."""
        view = self._state.pe[: self._numbers]
        view.flags.writeable = False
        return view

    @property
    def comm_cost(self) -> int:
        """J of the current mapping of the current pattern."""
        return int(self._state.counter[COST])

    @property
    def pe_loads(self) -> Int64:
        """int64[k]: the load of every PE (a copy)."""
        loads: Int64 = self._state.pe_load.copy()
        return loads

    @property
    def bounds(self) -> Int64:
        """int64[k]: the largest load of every PE, 0 for PEs that are not in use. O(k)."""
        caps: Int64 = np.where(self._state.usable > 0, self._state.cap + self._state.counter[SHIFT], 0)
        return caps

    @property
    def in_use(self) -> Int64:
        """int64[...]: the PEs that may be used, ascending. O(k)."""
        return np.flatnonzero(self._state.usable)

    def snapshot(self) -> tuple[CommGraph, Mapping, Int64]:
        """Return the current pattern, its mapping, and the number of each of its tasks.

        Returns
        -------
        CommGraph
            The tasks that are present, renumbered in ascending order. A directed pattern holds each pair
            once, with the volume of both directions; J is the same.
        Mapping
        int64[n]
            The number that each task has here.

        Notes
        -----
        O(n + m log m).
        """
        tasks = np.flatnonzero(self.pe >= 0)
        csr = self._rows.csr(tasks)
        weights = csr.weights if csr.weights is not None else np.empty(0, np.int64)
        loads = None if self.one_per_pe else self._state.load[tasks]
        if self._undirected:
            graph = CommGraph(csr.indptr, csr.targets, weights // 2, loads=loads, undirected=True)
        else:
            source = np.repeat(np.arange(len(tasks)), np.diff(csr.indptr))
            once = source < csr.targets
            graph = CommGraph.from_edges(
                source[once], csr.targets[once], weights[once], n=len(tasks), loads=loads
            )
        return graph, Mapping(self._state.pe[tasks], self.where, {"comm_cost": self.comm_cost}), tasks

    def verify(self) -> None:
        """Compute everything from scratch and compare it. O(n + m log m).

        Raises
        ------
        HopbytesError
            If J, a load, an edge or a number is wrong, or a task is on a PE that is not in use, which is an
            internal error. After each batch J is checked as well, from what the batch changed.
        """
        state, pe = self._state, self.pe
        present = np.flatnonzero(pe >= 0)
        load = np.zeros(self.where.k, np.int64)
        np.add.at(load, pe[present], state.load[present])
        held = np.bincount(pe[present], minlength=self.where.k)
        u, v, w = self._rows.arcs_of(np.arange(self._numbers))
        order, opposite = np.lexsort((v, u)), np.lexsort((u, v))
        wrong = {
            "J": self._cost_from_scratch() != self.comm_cost,
            "a load": not np.array_equal(load, state.pe_load) or int(load.sum()) != self._total_load,
            "a number of tasks": not np.array_equal(held, state.held) or len(present) != self._count,
            "a task on a PE out of use": bool(np.any(state.usable[pe[present]] == 0)),
            "an edge of an absent task": bool(np.any(pe[u] < 0)),
            "an edge": not (np.array_equal(u[order], v[opposite]) and np.array_equal(w[order], w[opposite])),
            "the number of pairs": len(u) != 2 * self._pairs,
            "the sum of volumes": sum_of(w) != 2 * self._weight,
        }
        for what, found in wrong.items():
            if found:
                raise internal_error(f"{what} of a Remapper does not follow from its arrays")

    # ------------------------------------------------------------------------------------ changes

    def apply(
        self,
        *,
        edges: Edges = (),
        loads: Valued | None = None,
        arrived: Valued | Numbers = (),
        vanished: Numbers = (),
        lost: Numbers = (),
        restored: Numbers = (),
    ) -> BatchReport:
        """Take over one batch of changes and bring the mapping up to date.

        Parameters
        ----------
        edges : triples (task, task, volume), or a tuple of three arrays
            Volume of each pair of tasks from now on, 0 for none; that of both directions together if the
            pattern is directed, that of each direction if it is undirected. Later triples count.
        loads : mapping from task to load, or (tasks, loads), optional
            New loads of tasks.
        arrived : sequence of tasks, or tasks with loads like `loads`
            Tasks that begin; their load is 1 if none is given. Their numbers are free: never used and
            following the largest one so far, or those of tasks that vanished in an earlier batch.
        vanished : sequence of tasks
            Tasks that end, with their edges.
        lost, restored : sequence of PEs
            PEs that may be used no more, and that may be used from now on.

        Returns
        -------
        BatchReport

        Raises
        ------
        FormatError
            If a task or PE does not exist or exists already, or a number is negative.
        InfeasibleError
            If no PE would be left, or with `one_per_pe` more tasks than PEs.
        ScaleError
            If sums could exceed 63 bits. After an error of these kinds nothing has changed.

        Notes
        -----
        Scanned edges are at most in proportion to the size of the batch, apart from larger repairs, whose
        work is paid from what batches saved. If capacities of PEs differ, a change of the sum of loads costs
        O(k).
        """
        batch = collect_batch(edges, {} if loads is None else loads, arrived, vanished, lost, restored)
        state = self._state
        check_batch(batch, state.pe, state.usable > 0, self._numbers)
        self._check_room(batch)
        before = self._scanned
        size = batch.size + int(state.held[batch.lost].sum())
        done = self._update(self._take_over(batch), self._settings(self.work_per_change * size))
        work = self._scanned - before
        for savings in self._savings.values():
            savings.add(size + len(done.moved))
        moved, repair_work, met = self._repair(done)
        tasks = np.array(sorted(moved), np.int32)
        sources = np.array([moved[task] for task in tasks.tolist()], np.int32)
        migrations = int(np.count_nonzero(sources >= 0))
        return BatchReport(
            tasks, sources, state.pe[tasks], migrations, done.forced, self.comm_cost,
            migrations * self.migration_price, work + repair_work, repair_work, "met" if met else "relaxed",
        )  # fmt: skip

    @property
    def _size(self) -> int:
        return self._count + 2 * self._pairs

    @property
    def _scanned(self) -> int:
        return self._rows.scanned + int(self._state.counter[WORK])

    def _take_over(self, batch: Batch) -> Changes:
        """Change the rows, the bounds and the numbers in use; return what the mapping has to follow."""
        numbers = max([self._numbers, *(batch.arrived + 1).tolist()])
        self._rows.grow(numbers)
        self._state.grow(numbers)
        self._numbers = numbers
        drop_u, drop_v, _ = self._rows.arcs_of(batch.vanished)
        u = np.concatenate([drop_u, batch.u.astype(np.int32)])
        v = np.concatenate([drop_v, batch.v.astype(np.int32)])
        now = np.concatenate([np.zeros(len(drop_u), np.int64), batch.volumes * self._times])
        old = self._rows.set_pairs(u, v, now)
        self._weight += int(now.sum()) - int(old.sum())
        self._pairs += int(np.count_nonzero(now)) - int(np.count_nonzero(old))
        self._count += len(batch.arrived) - len(batch.vanished)
        loaded, values = batch.loaded.astype(np.int32), batch.loads
        if self.one_per_pe:
            loaded, values = batch.arrived.astype(np.int32), np.ones(len(batch.arrived), np.int64)
        state = self._state
        gone = int(state.load[batch.vanished].sum())
        last = dict(zip(loaded.tolist(), values.tolist(), strict=True))  # the last of several loads counts
        tasks, loads = np.array(list(last), np.int32), np.array(list(last.values()), np.int64)
        self._total_load += int(loads.sum()) - int(state.load[tasks].sum()) - gone
        self._load_unit = math.gcd(self._load_unit, common_divisor(loads))
        usable = state.usable.copy() if len(batch.lost) + len(batch.restored) else state.usable
        usable[batch.lost], usable[batch.restored] = 0, 1
        caps_changed = self._set_bounds(usable)
        return Changes(
            u, v, old, now, batch.vanished.astype(np.int32), tasks, loads, batch.arrived.astype(np.int32),
            batch.lost.astype(np.int32), batch.restored.astype(np.int32), caps_changed=caps_changed,
        )

    def _update(self, changes: Changes, settings: LocalSettings) -> Update:
        """Bring the mapping up to date; raise HopbytesError if J or loads do not follow from them."""
        done = self._state.update(self._rows, changes, settings)
        if not done.agrees:
            raise internal_error("J or loads do not follow from what a batch changed")
        return done

    def _check_room(self, batch: Batch) -> None:
        """Raise an error if the batch leaves no PE, too many tasks, or sums that are too large."""
        left = int(np.count_nonzero(self._state.usable)) - len(batch.lost) + len(batch.restored)
        if left < 1:
            raise InfeasibleError("the batch takes away the last PE, expected at least one in use")
        tasks = self._count + len(batch.arrived) - len(batch.vanished)
        if self.one_per_pe and tasks > left:
            raise InfeasibleError(f"{tasks} tasks and {left} PEs in use after the batch, expected one each")
        self._checked_weight(self._weight + sum_of(batch.volumes) * self._times)
        if not self.one_per_pe:
            total = self._total_load + sum_of(batch.loads)
            check_limit(f"loads sum to {total}", total, MOST_LOAD)
        price = self.migration_price
        check_limit(f"{tasks} tasks at a migration price of {price}", price * tasks, MOST_COST, "it")

    def _set_bounds(self, usable: UInt8) -> bool:
        """Set the largest load of every PE; return whether the array of them changed."""
        state = self._state
        if self.one_per_pe:
            state.counter[SHIFT] = 1
            return False
        capacity = self.where.capacity
        if capacity is None:
            state.counter[SHIFT] = self._cap(1, int(np.count_nonzero(usable)))
            return False
        whole_capacity = int(capacity[usable > 0].sum())
        known = {size: self._cap(size, whole_capacity) for size in set(capacity.tolist())}
        caps = np.array([known[size] for size in capacity.tolist()], np.int64)
        changed = not np.array_equal(caps, state.cap)
        state.cap[:] = caps
        return changed

    def _cap(self, size: int, of: int) -> int:
        unit = max(self._load_unit, 1)
        total = self._total_load // unit
        roomy = Fraction(1 + self._imbalance) * total * size / of
        return min(max(int(roomy), -(-total * size // of)), max(total, 1)) * unit

    def _checked_weight(self, weight: int) -> int:
        what = f"volume {weight} x largest distance {self._largest}"
        check_limit(what, weight * self._largest, MOST_COST, "the volumes or the distances")
        return weight

    def _cost_from_scratch(self) -> int:
        graph, mapping, _ = self.snapshot()
        return CommCost().value(graph, self.where, mapping.pe)

    def _settings(self, work: int) -> LocalSettings:
        return LocalSettings(
            price=self.migration_price, work=work, keep_one=not self.one_per_pe,
            most_displaced=2**62 if self.most_moves is None else self.most_moves,
        )

    def _repair(self, done: Update) -> tuple[dict[int, int], int, bool]:
        """Make the repairs that savings pay for; return the PEs before, their work, if bounds are met."""
        moved = dict(zip(done.moved.tolist(), done.source.tolist(), strict=True))
        work, met = 0, done.met
        for search, savings in self._savings.items():
            if not met or not savings.suffices(self._size):
                continue
            problem, tasks = self._repair_problem(moved)
            found, spent = repaired(problem, savings, search)
            savings.pay(spent, self._size)
            work += spent
            pe = self.in_use[found].astype(np.int32)
            better = np.flatnonzero(pe != self.pe[tasks])
            sent = Changes(sent=tasks[better].astype(np.int32), sent_to=pe[better])
            again = self._update(sent, self._settings(0))
            met = again.met
            for task, source in zip(again.moved.tolist(), again.source.tolist(), strict=True):
                if moved.setdefault(task, source) == self.pe[task]:
                    del moved[task]
        return moved, work, met

    def _repair_problem(self, moved: dict[int, int]) -> tuple[RepairProblem, Int64]:
        """Return the problem of a larger repair, in which `moved` are the PEs before, and its tasks."""
        graph, _, tasks = self.snapshot()
        pes, home = self.in_use, self.pe.copy()
        home[list(moved)] = list(moved.values())
        number = np.full(self.where.k + 1, -1, np.int32)  # the last entry serves index -1
        number[pes] = np.arange(len(pes), dtype=np.int32)
        home = home[tasks]
        evicted = int(np.count_nonzero((home >= 0) & (number[home] < 0)))
        problem = RepairProblem(
            graph, self.where if len(pes) == self.where.k else self.where.select(pes),
            number[self.pe[tasks]], number[home], Bounds(self.bounds[pes]), self.migration_price,
            None if self.most_moves is None else max(self.most_moves - evicted, 0), self._imbalance,
            one_per_pe=self.one_per_pe, seed=self.seed, threads=self.threads,
        )  # fmt: skip
        return problem, tasks


def is_one_per_pe(pe: Int32, k: int) -> bool:
    """Tell whether every PE holds at most one task."""
    return len(pe) == 0 or int(np.bincount(pe, minlength=k).max()) <= 1


def usable_pes(pe: Int32, absent: Sequence[int], k: int) -> UInt8:
    """Return uint8[k], the PEs that are in use at the beginning."""
    numbers = listed("absent", absent, "numbers of PEs")
    array = np.array([whole("absent", number, 0) for number in numbers], np.int64)
    if len(array) and not 0 <= int(array.min()) <= int(array.max()) < k:
        wrong = int(array[(array < 0) | (array >= k)][0])
        raise FormatError("absent", None, f"PE {wrong}, expected one of 0..{k - 1}")
    usable = np.ones(k, np.uint8)
    usable[array] = 0
    if not usable.any():
        raise InfeasibleError("every PE is absent, expected at least one in use")
    if len(pe) and not usable[pe].all():
        task = int(np.flatnonzero(usable[pe] == 0)[0])
        raise FormatError("mapping", None, f"task {task} is on PE {pe[task]}, which is absent")
    return usable


#: Estimated scanned edges of a first repair per arc and task: V-cycles, and a mapping from scratch.
V_CYCLES, FROM_SCRATCH = 12, 100
#: A repair that exceeds the bound on migrations is repeated with a price this many times higher.
HIGHER, TRIES = 3, 3
#: Largest number of batches over which the migrations of a repair are spread.
LONGEST_USE = 10


@dataclass(slots=True)
class Savings:
    """Scanned edges that batches have saved for repairs of one kind."""

    per_change: int  # what one change saves
    rate: float  # scanned edges of the latest repair per arc and task
    saved: int = 0  # what is there
    price: int = 0  # price of a migration with which the next repair begins, if migrations are bounded
    batches: int = 0  # batches since the latest repair

    def add(self, changes: int) -> None:
        self.saved += self.per_change * changes
        self.batches += 1

    @property
    def use(self) -> int:
        """Number of batches for which J of a repair counts: those since the repair before, at most 10."""
        return max(1, min(self.batches, LONGEST_USE))

    def suffices(self, size: int) -> bool:
        """Whether a repair of a pattern with that many arcs and tasks is paid for."""
        return self.per_change > 0 and 0 < self.rate * size <= self.saved

    def pay(self, work: int, size: int) -> None:
        """Take the work of a repair away; what remains is at most the price of another one."""
        self.rate = work / size
        self.saved = min(max(self.saved - work, 0), work)
        self.batches = 0


@frozen(eq=False)
class RepairProblem:
    """The present tasks in ascending order, on the PEs in use."""

    graph: CommGraph
    where: Allocation
    pe: Int32  # int32[n]: Current PEs, which keep the bounds
    home: Int32  # int32[n]: PEs before the batch, -1 for tasks that arrived or had to leave a lost PE
    bounds: Bounds
    price: int
    most_moves: int | None
    imbalance: Fraction
    one_per_pe: bool
    seed: int
    threads: int
    work: list[int] = field(default_factory=list)

    def migrations(self, pe: Int32) -> int:
        """Return the number of tasks that are not where they were."""
        return int(np.count_nonzero((self.home >= 0) & (pe != self.home)))

    def cost(self, pe: Int32, batches: int) -> int:
        """Return J of some batches plus migration, computed from scratch."""
        return batches * CommCost().value(self.graph, self.where, pe) + self.price * self.migrations(pe)


def repaired(
    problem: RepairProblem, savings: Savings, search: Callable[[RepairProblem, int], Int32]
) -> tuple[Int32, int]:
    """Return a mapping that costs no more and keeps the bound on migrations, and the scanned edges.

    A repair is of use until the next one, so its migrations are weighed against J of as many batches as have
    passed since the one before.
    Searches cannot bound the number of migrations, so a price takes its place: it is raised until the bound
    is kept, and the next repair begins with it.
    """
    bounded = problem.most_moves is not None
    price = max(-(-problem.price // savings.use), savings.price if bounded else 0)
    before = problem.migrations(problem.pe)
    best = problem.pe
    for _ in range(TRIES):
        pe = search(problem, price)
        if problem.most_moves is None or problem.migrations(pe) <= max(problem.most_moves, before):
            best = min((best, pe), key=lambda each: problem.cost(each, savings.use))
            price //= 2
            break
        typical = max(1, problem.graph.total_volume // max(1, 4 * problem.graph.n))
        price = HIGHER * max(price, typical)
    savings.price = price
    return best, sum(problem.work)


def by_v_cycles(problem: RepairProblem, price: int) -> Int32:
    """Search by V-cycles from the current mapping."""
    bounds = Bounds(problem.bounds.load, linear_cost=_linear_cost(problem, price))
    control = RunControl(
        seed=problem.seed, threads=problem.threads, spend=lambda arcs, _: problem.work.append(arcs)
    )
    pe, _ = refine_placement(
        search_problem(problem.graph, problem.where, bounds), problem.pe, bounds.load,
        RefinementSettings(cycles=2), control=control,
    )
    return pe


def from_scratch(problem: RepairProblem, price: int) -> Int32:
    """Map from scratch with the same price: by the preset eco, or by fast for one task per PE.

    For few tasks eco spends thousands of scanned edges on each arc, for which batches would save for long.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = map_tasks(
            problem.graph, problem.where, "fast" if problem.one_per_pe else "eco",
            partition=not problem.one_per_pe,
            imbalance=f"{float(100 * problem.imbalance)}%", seed=problem.seed, threads=problem.threads,
            constraints=Constraints(
                initial=np.where(problem.home >= 0, problem.home, problem.pe), migration_price=price
            ),
        )
    problem.work.append(int(found.info["work"]["arcs"]))
    if found.info["balance"] != "met":
        return problem.pe
    return found.pe


def savings_at_first(
    saved_per_change: int, size: int, *, one_per_pe: bool
) -> dict[Callable[[RepairProblem, int], Int32], Savings]:
    """Return the savings for every kind of repair; construction pays for the first repair of each kind."""
    # V-cycles get a fifth; one task per PE is mapped from scratch only.
    kinds: dict[Callable[[RepairProblem, int], Int32], Savings]
    kinds = {from_scratch: Savings(saved_per_change - saved_per_change // 5, FROM_SCRATCH)}
    if not one_per_pe:
        kinds[by_v_cycles] = Savings(saved_per_change // 5, V_CYCLES)
    for savings in kinds.values():
        savings.saved = int(savings.rate * size)
    return kinds


def _linear_cost(problem: RepairProblem, price: int) -> LinearCost | None:
    """Return the price of every migration."""
    if not price:
        return None
    listed = np.flatnonzero(problem.home >= 0)
    rest = np.where(problem.home >= 0, price, 0).astype(np.int64)
    return from_entries(listed, problem.home[listed].astype(np.int64), np.zeros(len(listed), np.int64), rest)
