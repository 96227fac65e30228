"""A pattern under change with its mapping: batches of changes, bounds, snapshots, and verification."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Dictionary
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from hopbytes._arrays import Array, Bool, Int32, Int64, UInt8
from hopbytes._frozen import frozen
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
from hopbytes.errors import FormatError, HopbytesError, InfeasibleError, ScaleError
from hopbytes.machines.distances import kernel_distances
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import common_divisor, sum_of
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping

#: A set of numbers, as callers give it.
Numbers: TypeAlias = Sequence[int] | Array
#: Numbers with a value each: a mapping, or two sequences.
Valued: TypeAlias = Dictionary[int, int] | tuple[ArrayLike, ArrayLike]
#: Pairs of tasks with a volume each: triples, or three sequences in a tuple of arrays.
Edges: TypeAlias = Iterable[tuple[int, int, int]] | tuple[Array, Array, Array]

_MOST_NUMBER = 2**31 - 1


@frozen(eq=False)
class Batch:
    """A batch whose numbers are integers in range of their types; see :meth:`hopbytes.Remapper.apply`."""

    u: Int64  # int64[b]
    v: Int64  # int64[b]
    volumes: Int64  # int64[b]
    loaded: Int64  # int64[...]: Tasks with a new load; tasks that arrive are among them
    loads: Int64  # int64[...]
    arrived: Int64  # int64[...]
    vanished: Int64  # int64[...]
    lost: Int64  # int64[...]
    restored: Int64  # int64[...]

    @property
    def size(self) -> int:
        """Number of changes."""
        return len(self.u) + len(self.loaded) + len(self.vanished) + len(self.lost) + len(self.restored)


@frozen(eq=False)
class BatchReport:
    """What one batch did to the mapping.

    Parameters
    ----------
    tasks, sources, targets : int32[moves]
        Tasks with another PE than before, ascending, that PE (-1 for a task that arrived), and the new one.
    migrations : int
        Number of tasks that left a PE; arrivals do not count.
    forced : int
        Migrations without an alternative: off lost PEs, and to end an overload.
    comm_cost : int
        J after the batch.
    migration_cost : int
        Migrations times their price.
    work : int
        Scanned edges, with those of a larger repair.
    repair_work : int
        Scanned edges of a larger repair, 0 if there was none.
    balance : {"met", "relaxed"}
        Whether every PE keeps its bound. A task heavier than a PE's bound has a PE of its own.
    """

    tasks: Int32
    sources: Int32
    targets: Int32
    migrations: int
    forced: int
    comm_cost: int
    migration_cost: int
    work: int
    repair_work: int
    balance: str

    def __repr__(self) -> str:
        return (
            f"BatchReport({self.migrations} migrations, J={self.comm_cost}, {self.work} scanned edges, "
            f"balance {self.balance})"
        )


def collect_batch(
    edges: Edges, loads: Valued, arrived: Valued | Numbers, vanished: Numbers, lost: Numbers,
    restored: Numbers,
) -> Batch:
    """Convert the arguments of a batch to arrays."""
    if isinstance(edges, tuple) and len(edges) == 3 and all(isinstance(each, np.ndarray) for each in edges):
        columns = [_integers("edges", each) for each in edges]
    else:
        triples: list[Any] = list(edges)
        table = _integers("edges", triples) if triples else np.empty((0, 3), np.int64)
        if table.ndim != 2 or table.shape[1] != 3:
            raise _fault("edges: expected triples of two tasks and a volume")
        columns = list(table.T)
    if len({each.shape for each in columns}) > 1 or columns[0].ndim != 1:
        raise _fault("edges: columns of unequal length, expected three of the same")
    u, v, volumes = (np.ascontiguousarray(each) for each in columns)
    same = np.flatnonzero(u == v)
    if len(same):
        raise _fault(f"edges: task {u[same[0]]} with itself, expected two different tasks")
    _not_negative("edges: volume", volumes)
    loaded, values = _valued("loads", loads)
    with_loads = isinstance(arrived, tuple) and len(arrived) == 2 and np.ndim(arrived[0]) == 1
    plain = not with_loads and not isinstance(arrived, Dictionary)
    came, weight = (_listed("arrived", arrived), None) if plain else _valued("arrived", arrived)
    weight = np.ones(len(came), np.int64) if weight is None else weight
    listed = (("vanished", vanished), ("lost", lost), ("restored", restored))
    return Batch(
        u, v, volumes, np.concatenate([loaded, came]), np.concatenate([values, weight]),
        _distinct("arrived", came), *(_distinct(name, _listed(name, each)) for name, each in listed),
    )  # fmt: skip


def check_batch(batch: Batch, pe: Int32, usable: Bool, numbers: int) -> None:
    """Check a batch against what it changes."""
    def present(tasks: Int64) -> Bool:
        inside = (tasks >= 0) & (tasks < numbers)
        return inside & (pe[np.where(inside, tasks, 0)] >= 0) if len(pe) else inside

    _first_wrong("vanished: task", batch.vanished, present(batch.vanished), "expected one that is present")
    _first_wrong("arrived: task", batch.arrived, ~present(batch.arrived), "which is present already")
    limit = min(numbers + len(batch.arrived), _MOST_NUMBER)
    _first_wrong("arrived: task", batch.arrived, batch.arrived < limit, f"expected a number below {limit}")
    for name, tasks in (("edges: task", batch.u), ("edges: task", batch.v), ("loads: task", batch.loaded)):
        known = (present(tasks) & ~np.isin(tasks, batch.vanished)) | np.isin(tasks, batch.arrived)
        _first_wrong(name, tasks, known, "which is not present after the batch")
    k = len(usable)
    for name, pes, state in (("lost", batch.lost, True), ("restored", batch.restored, False)):
        _first_wrong(f"{name}: PE", pes, (pes >= 0) & (pes < k), f"expected one of 0..{k - 1}")
        what = "not in use" if state else "in use already"
        _first_wrong(f"{name}: PE", pes, usable[pes] == state, f"which is {what}")


def _first_wrong(what: str, numbers: Int64, good: Bool, expected: str) -> None:
    wrong = np.flatnonzero(~good)
    if len(wrong):
        raise _fault(f"{what} {numbers[wrong[0]]}, {expected}")


def _listed(name: str, numbers: Any) -> Int64:
    listed = numbers if isinstance(numbers, np.ndarray) else list(numbers)
    array = _integers(name, listed) if len(listed) else np.empty(0, np.int64)
    if array.ndim != 1:
        raise _fault(f"{name}: expected a sequence of numbers")
    _not_negative(f"{name}: number", array)
    return array


def _valued(name: str, given: Any) -> tuple[Int64, Int64]:
    if isinstance(given, Dictionary):
        given = (list(given), list(given.values()))
    if not isinstance(given, tuple) or len(given) != 2:
        raise _fault(f"{name}: expected a mapping from task to load, or tasks and loads")
    tasks, values = _listed(name, given[0]), _listed(name, given[1])
    if len(tasks) != len(values):
        raise _fault(f"{name}: {len(values)} loads for {len(tasks)} tasks, expected one each")
    return tasks, values


def _distinct(name: str, numbers: Int64) -> Int64:
    ordered = np.sort(numbers)
    twice = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(twice):
        raise _fault(f"{name}: {ordered[twice[0]]} occurs twice")
    return numbers


def _not_negative(what: str, numbers: Int64) -> None:
    if len(numbers) and int(numbers.min()) < 0:
        raise _fault(f"{what} {int(numbers.min())}, expected an integer >= 0")


def _integers(name: str, values: ArrayLike) -> Int64:
    try:
        array = np.asarray(values)
    except ValueError:
        raise _fault(f"{name}: sequences of unequal length, expected integers") from None
    if not np.issubdtype(array.dtype, np.integer):
        raise _fault(f"{name}: numbers of type {array.dtype}, expected integers")
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 2**63:
        raise _fault(f"{name}: {int(array.max())}, expected an integer below 2^63")
    return array.astype(np.int64)


def _fault(what: str) -> FormatError:
    return FormatError("batch", None, what)


#: Limit of J and of the price of all migrations, as for searches, and of the sum of loads.
MOST_COST, MOST_LOAD = 2**58, 2**60


class ChangingMapping:
    """The pattern, the loads, the PEs and the mapping that a :class:`hopbytes.Remapper` changes."""

    def __init__(
        self, graph: CommGraph, where: Allocation, pe: Int32, usable: UInt8, imbalance: Fraction, *,
        one_per_pe: bool,
    ) -> None:
        self.where, self.imbalance, self.one_per_pe = where, imbalance, one_per_pe
        # J counts the volume of a pair once per stored arc. With arcs of tasks to themselves, the symmetric
        # graph of an undirected pattern holds sums of both directions, as that of a directed one does.
        self._undirected = graph.undirected and graph.symmetric().indptr is graph.indptr
        self._times = 2 if self._undirected else 1
        csr = graph.symmetric_positive()
        weights = np.ones(len(csr.targets), np.int64) if csr.weights is None else csr.weights
        self._pairs = len(csr.targets) // 2
        self._largest = max(int(where.distance.largest), 1)
        self._weight = self._checked_weight(0, sum_of(weights) // 2 * self._times)
        self.rows = ArcRows.of(csr._replace(weights=weights * self._times))
        loads = np.ones(graph.n, np.int64) if one_per_pe else graph.task_loads().astype(np.int64)
        self._total_load = self._checked_load(sum_of(loads))
        #: A divisor of all loads, the greatest at first: bounds are multiples of it, as those of map_tasks.
        self._load_unit = common_divisor(loads)
        #: One more than the largest number that a task ever had, and the number of tasks that are present.
        self.numbers, self.count = graph.n, graph.n
        self.state = PlacementState.of(self.rows, pe, loads, usable, kernel_distances(where))
        self.state.counter[COST] = self._cost_from_scratch()
        self._set_bounds(usable)
        self.update(Changes(caps_changed=True), LocalSettings(keep_one=not one_per_pe))

    @property
    def size(self) -> int:
        """Number of tasks and stored arcs."""
        return self.count + 2 * self._pairs

    @property
    def pe(self) -> Int32:
        """int32[numbers]: PE of every task, -1 for absent ones."""
        return self.state.pe[: self.numbers]

    @property
    def comm_cost(self) -> int:
        """J."""
        return int(self.state.counter[COST])

    @property
    def scanned(self) -> int:
        """Scanned edges so far."""
        return self.rows.scanned + int(self.state.counter[WORK])

    @property
    def bounds(self) -> Int64:
        """int64[k]: largest load of every PE, 0 for PEs that are not in use."""
        caps: Int64 = np.where(self.state.usable > 0, self.state.cap + self.state.counter[SHIFT], 0)
        return caps

    @property
    def in_use(self) -> Int64:
        """int64[...]: PEs that may be used, ascending."""
        return np.flatnonzero(self.state.usable)

    def snapshot(self) -> tuple[CommGraph, Mapping, Int64]:
        """Return the present tasks in ascending order as a pattern, their mapping, and their numbers."""
        tasks = np.flatnonzero(self.pe >= 0)
        csr = self.rows.csr(tasks)
        weights = csr.weights if csr.weights is not None else np.empty(0, np.int64)
        loads = None if self.one_per_pe else self.state.load[tasks]
        if self._undirected:
            graph = CommGraph(csr.indptr, csr.targets, weights // 2, loads=loads, undirected=True)
        else:
            source = np.repeat(np.arange(len(tasks)), np.diff(csr.indptr))
            once = source < csr.targets
            graph = CommGraph.from_edges(
                source[once], csr.targets[once], weights[once], n=len(tasks), loads=loads
            )
        return graph, Mapping(self.state.pe[tasks], self.where, {"comm_cost": self.comm_cost}), tasks

    def take_over(self, batch: Batch) -> Changes:
        """Change the rows, the bounds and the numbers in use; return what the mapping has to follow."""
        numbers = max([self.numbers, *(batch.arrived + 1).tolist()])
        self.rows.grow(numbers)
        self.state.grow(numbers)
        self.numbers = numbers
        drop_u, drop_v, _ = self.rows.arcs_of(batch.vanished)
        u = np.concatenate([drop_u, batch.u.astype(np.int32)])
        v = np.concatenate([drop_v, batch.v.astype(np.int32)])
        now = np.concatenate([np.zeros(len(drop_u), np.int64), batch.volumes * self._times])
        old = self.rows.set_pairs(u, v, now)
        self._weight += int(now.sum()) - int(old.sum())
        self._pairs += int(np.count_nonzero(now)) - int(np.count_nonzero(old))
        self.count += len(batch.arrived) - len(batch.vanished)
        loaded, values = batch.loaded.astype(np.int32), batch.loads
        if self.one_per_pe:
            loaded, values = batch.arrived.astype(np.int32), np.ones(len(batch.arrived), np.int64)
        state = self.state
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

    def update(self, changes: Changes, settings: LocalSettings) -> Update:
        """Bring the mapping up to date; raise HopbytesError if J or loads do not follow from them."""
        done = self.state.update(self.rows, changes, settings)
        if not done.agrees:
            raise _our_fault("J or loads do not follow from what a batch changed")
        return done

    def verify(self) -> None:
        """Compute everything from scratch and compare it; raise HopbytesError if something is wrong."""
        state, pe = self.state, self.pe
        present = np.flatnonzero(pe >= 0)
        load = np.zeros(self.where.k, np.int64)
        np.add.at(load, pe[present], state.load[present])
        held = np.bincount(pe[present], minlength=self.where.k)
        u, v, w = self.rows.arcs_of(np.arange(self.numbers))
        order, opposite = np.lexsort((v, u)), np.lexsort((u, v))
        wrong = {
            "J": self._cost_from_scratch() != self.comm_cost,
            "a load": not np.array_equal(load, state.pe_load) or int(load.sum()) != self._total_load,
            "a number of tasks": not np.array_equal(held, state.held) or len(present) != self.count,
            "a task on a PE out of use": bool(np.any(state.usable[pe[present]] == 0)),
            "an edge of an absent task": bool(np.any(pe[u] < 0)),
            "an edge": not (np.array_equal(u[order], v[opposite]) and np.array_equal(w[order], w[opposite])),
        }
        for what, found in wrong.items():
            if found:
                raise _our_fault(f"{what} of a Remapper does not follow from its arrays")

    def check_room(self, batch: Batch, price: int) -> None:
        """Raise an error if the batch leaves no PE, too many tasks, or sums that are too large."""
        left = int(np.count_nonzero(self.state.usable)) - len(batch.lost) + len(batch.restored)
        if left < 1:
            raise InfeasibleError("the batch takes away the last PE, expected at least one in use")
        tasks = self.count + len(batch.arrived) - len(batch.vanished)
        if self.one_per_pe and tasks > left:
            raise InfeasibleError(f"{tasks} tasks and {left} PEs in use after the batch, expected one each")
        self._checked_weight(self._weight, sum_of(batch.volumes) * self._times)
        if not self.one_per_pe:
            self._checked_load(self._total_load + sum_of(batch.loads))
        if price * tasks > MOST_COST:
            raise ScaleError(f"{tasks} tasks at a migration price of {price} cost more than 2^58")

    def _set_bounds(self, usable: UInt8) -> bool:
        """Set the largest load of every PE; return whether the array of them changed."""
        state = self.state
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
        roomy = Fraction(1 + self.imbalance) * total * size / of
        return min(max(int(roomy), -(-total * size // of)), max(total, 1)) * unit

    def _checked_weight(self, weight: int, more: int) -> int:
        if (weight + more) * self._largest > MOST_COST:
            factor = -(-(weight + more) * self._largest // MOST_COST)
            raise ScaleError(
                f"volume {weight + more} x largest distance {self._largest} is more than 2^58: "
                f"divide the volumes or the distances by {factor} or more"
            )
        return weight + more

    @staticmethod
    def _checked_load(total: int) -> int:
        if total > MOST_LOAD:
            factor = -(-total // MOST_LOAD)
            raise ScaleError(f"loads sum to {total}, more than 2^60: divide them by {factor} or more")
        return total

    def _cost_from_scratch(self) -> int:
        graph, mapping, _ = self.snapshot()
        return CommCost().value(graph, self.where, mapping.pe)



def _our_fault(what: str) -> HopbytesError:
    return HopbytesError(f"internal error: {what}; please report this")
