"""A pattern under change with its mapping: taking over batches, bounds, snapshots, and verification."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt8
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
from hopbytes.errors import HopbytesError, InfeasibleError, ScaleError
from hopbytes.machines.distances import kernel_distances
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import common_divisor, sum_of
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.solve.batch import Batch

#: Limit of J and of the price of all migrations, as for searches, and of the sum of loads.
MOST_COST, MOST_LOAD = 2**58, 2**60


class ChangingPlacement:
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
