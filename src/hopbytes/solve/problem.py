"""What is asked for, and the problem that mappers and refiners get."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Dictionary
from dataclasses import field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hopbytes import kernels
from hopbytes._arrays import Array, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.errors import FormatError, InfeasibleError, UnsupportedError, unknown_name
from hopbytes.kernels.linear_cost import FORBIDDEN, LinearCost, from_entries
from hopbytes.model.allocation import Allocation, SlotUse
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.util.checks import whole
from hopbytes.util.integers import check_limit, refuse_masked

#: Limit of the sum of migration prices, so that it and twice the communication cost fit in 63 bits.
MOST_PRICE = 2**58


@frozen(eq=False)
class Constraints:
    """Where single tasks must be, must not be or are now, and whether loads may exceed their bound.

    Parameters
    ----------
    fixed : mapping from task to PE, or int[n] with -1 for free tasks, optional
        PEs of fixed tasks.
    forbidden : pairs of a task and a PE, optional
        PEs that tasks must not use. A PE that is forbidden to all tasks is excluded.
    initial : Mapping or int[n], optional
        The current mapping. It is refined, and a new mapping is relabelled to agree with it as far as
        possible; the better of the two is returned.
    migration_price : int
        Cost of each task that leaves its PE of `initial`, in units of the communication cost.
    strict : bool
        Raise an error instead of relaxing the bound if weighted tasks cannot meet it.
    bound : {"floor", "ceil"}
        Rounding of the bound on the load of a PE: the integer part of ``(1 + imbalance) c / k``, at least the
        mean rounded up, or L_max = ``ceil((1 + imbalance) c / k)``, the bound of SharedMap and KaHIP.

    Examples
    --------
    >>> import hopbytes as hb
    >>> hb.map_tasks("stencil:2x2", "core:4", constraints=hb.Constraints(fixed={0: 3})).pe[0]
    np.int32(3)
    """

    fixed: Dictionary[int, int] | Sequence[int] | Array | None = None
    forbidden: Iterable[tuple[int, int]] | None = None
    initial: Mapping | Array | None = None
    migration_price: int = 0
    strict: bool = False
    bound: str = "floor"

    @property
    def of_tasks(self) -> bool:
        """Whether single tasks are constrained."""
        return self.fixed is not None or self.forbidden is not None or self.initial is not None

    def checked(self, n: int, where: Allocation) -> TaskConstraints:
        """Return the constraints on n tasks as arrays; raise an error if they are wrong."""
        price, k = whole("migration_price", self.migration_price, 0), where.k
        if self.bound not in ("floor", "ceil"):
            raise unknown_name("bound", self.bound, ("floor", "ceil"))
        if price and self.initial is None:
            raise UnsupportedError("a migration price needs an initial mapping to migrate from")
        check_limit(f"{n} tasks at a migration price of {price}", price * n, MOST_PRICE, "it and the volumes")
        return TaskConstraints(
            None if self.fixed is None else _fixed(n, k, self.fixed),
            None if self.forbidden is None else _pairs(n, k, self.forbidden),
            None if self.initial is None else _initial(n, where, self.initial),
            price,
        )


@frozen(eq=False)
class TaskConstraints:
    """The checked constraints on single tasks."""

    fixed: Int32 | None = None  # int32[n] or None: PE of every fixed task, -1 for the others
    #: (int64[e], int64[e]) or None: Pairs of a task and a PE that is forbidden to it
    forbidden: tuple[Int64, Int64] | None = None
    initial: Int32 | None = None  # int32[n] or None: Current PE of every task
    price: int = 0  # cost of a task that is not on its PE of `initial`

    def __bool__(self) -> bool:
        return not (self.fixed is None and self.forbidden is None and self.initial is None)

    def usable(self, n: int, k: int) -> Int64:
        """Return int64[...], the PEs that are not forbidden to all tasks, ascending."""
        if self.forbidden is None or n == 0:
            return np.arange(k, dtype=np.int64)
        tasks, pes = self.forbidden
        pairs = np.unique(pes * n + tasks)
        return np.flatnonzero(np.bincount(pairs // n, minlength=k) < n)

    def linear_cost(self, n: int, k: int) -> LinearCost | None:
        """Return the linear assignment cost of the constraints; None if there are none."""
        fixed = np.full(n, -1, np.int32) if self.fixed is None else self.fixed
        held, price = fixed >= 0, 0 if self.initial is None else self.price
        if not price and self.forbidden is None and not held.any():
            return None
        # A task is listed where it is fixed or else where it is now, if it pays for leaving that PE.
        now = fixed if self.initial is None else np.where(held, fixed, self.initial)
        moved = price if self.initial is None else np.where(now == self.initial, 0, price)
        rest = np.where(held, FORBIDDEN, price).astype(np.int64)
        listed = np.flatnonzero(held) if not price else np.arange(n)
        tasks, pes = [listed], [now[listed].astype(np.int64)]
        costs = [np.broadcast_to(moved, n)[listed].astype(np.int64)]
        if self.forbidden is not None:
            barred_tasks, barred_pes = self.forbidden
            clash = np.flatnonzero(fixed[barred_tasks] == barred_pes)
            if len(clash):
                task, pe = barred_tasks[clash[0]], barred_pes[clash[0]]
                raise InfeasibleError(f"task {task} is fixed to PE {pe}, which is forbidden to it")
            free = ~held[barred_tasks]
            tasks.append(barred_tasks[free])
            pes.append(barred_pes[free])
            costs.append(np.full(len(tasks[-1]), FORBIDDEN, np.int64))
        found = _dearest(np.concatenate(tasks), np.concatenate(pes), np.concatenate(costs), rest, k)
        barred = np.bincount(found.tasks[found.costs >= FORBIDDEN], minlength=n)
        nowhere = np.flatnonzero(barred >= k)
        if len(nowhere):
            raise InfeasibleError(f"every one of the {k} PEs is forbidden to task {nowhere[0]}")
        return found if len(found.pes) or np.any(rest) else None


def _dearest(tasks: Int64, pes: Int64, costs: Int64, rest: Int64, k: int) -> LinearCost:
    """Sort the entries and keep the most expensive one for every pair of a task and a PE."""
    key = tasks * k + pes
    order = np.lexsort((-costs, key))
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    kept = order[first]
    return from_entries(tasks[kept], pes[kept], costs[kept], rest)


def _fixed(n: int, k: int, fixed: Dictionary[int, int] | Sequence[int] | Array) -> Int32:
    if isinstance(fixed, Dictionary):
        pairs = _pairs(n, k, fixed.items(), "fixed")
        held = np.full(n, -1, np.int32)
        held[pairs[0]] = pairs[1]
        return held
    array = _integers("fixed", fixed)
    if array.shape != (n,):
        raise FormatError("fixed", None, f"{array.size} PEs for {n} tasks, expected one each (-1 for free)")
    _in_range("fixed", array, -1, k)
    return array.astype(np.int32)


def _pairs(n: int, k: int, pairs: Iterable[tuple[int, int]], what: str = "forbidden") -> tuple[Int64, Int64]:
    if not isinstance(pairs, Iterable):
        raise FormatError(what, None, f"{pairs!r}, expected pairs of a task and a PE")
    listed = np.atleast_1d(pairs) if isinstance(pairs, np.ndarray) else list(pairs)
    array = _integers(what, listed) if len(listed) else np.empty((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise FormatError(what, None, "expected pairs of a task and a PE")
    tasks, pes = array[:, 0].astype(np.int64), array[:, 1].astype(np.int64)
    wrong = np.flatnonzero((tasks < 0) | (tasks >= n))
    if len(wrong):
        raise FormatError(what, None, f"task {tasks[wrong[0]]}, expected one of 0..{n - 1}")
    _in_range(what, pes, 0, k)
    return tasks, pes


def _initial(n: int, where: Allocation, initial: Mapping | Array) -> Int32:
    pe = initial.pe if isinstance(initial, Mapping) else _integers("initial", initial)
    if pe.shape != (n,):
        raise FormatError("initial", None, f"a mapping of {pe.size} tasks, expected {n}")
    _in_range("initial", pe, 0, where.k)
    return pe.astype(np.int32)


def _integers(what: str, values: ArrayLike) -> Array:
    refuse_masked(what, values)
    try:
        array = np.array(values)  # a copy, which nothing changes after it was checked
    except ValueError:
        raise FormatError(what, None, "lists of unequal length, expected integers") from None
    if not array.size:  # of a type that NumPy chose
        return array.astype(np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise FormatError(what, None, f"numbers of type {array.dtype}, expected integers")
    return array


def _in_range(what: str, pes: Array, lowest: int, k: int) -> None:
    wrong = np.flatnonzero((pes < lowest) | (pes >= k))
    if len(wrong):
        where = f" for task {wrong[0]}" if what != "forbidden" else ""
        raise FormatError(what, None, f"PE {pes[wrong[0]]}{where}, expected one of 0..{k - 1}")


@frozen
class Request:
    """The options on numbers of tasks per PE, of :func:`hopbytes.map_tasks` and :func:`hopbytes.allocate`."""

    partition: bool | None = None
    imbalance: float | str | Fraction = 0.03
    strict: bool = False  # a bound that cannot be met is an error
    bound: str = "floor"  # "ceil": L_max of SharedMap and KaHIP
    use: SlotUse = SlotUse()
    #: the mapper selects the PEs if there are fewer tasks than PEs and the caller does not select them
    mapper_chooses: bool = False
    #: int64[n] or None: the PEs to use with one task each, numbered without those that are forbidden to all
    #: tasks; None leaves the choice to `use`
    slots: Int64 | None = None

    @property
    def chooses_slots(self) -> bool:
        """Whether the PEs of fewer tasks are prescribed."""
        return self.use.chosen or self.slots is not None

    def using(self, **use: Any) -> Request:
        return replace(self, use=replace(self.use, **use))


@frozen(eq=False)
class Problem:
    """A formulated mapping problem."""

    name: str
    #: the pattern for mappers: volumes by the chosen weight, loads in multiples of `load_unit`, those of
    #: heavy tasks reduced to a full PE
    graph: CommGraph
    where: Allocation  # the PEs that may be used, a part of the caller's allocation
    pes: Int64  # int64[where.k]: Numbers of these PEs in the caller's allocation, ascending
    bounds: Bounds
    #: int64[k] or None: Maximum number of zero-load tasks per PE, so that they do not all end up on few PEs;
    #: None if there are no such tasks
    zero_load_bounds: Int64 | None = None
    strict: bool = False  # A bound that cannot be met is an error
    notices: tuple[str, ...] = field(default=())  # sentences for the user
    current: Int32 | None = None  # int32[n] or None: Current PE of every task in `where`, -1 for a PE outside
    load_unit: int = 1  # what 1 stands for in loads and their bounds: the caller's loads are multiples of it

    @property
    def none_empty(self) -> bool:
        """Whether no PE may be empty, as in a partition with enough tasks."""
        return self.name == "partition" and self.graph.n >= self.where.k

    def comm_cost(self, pe: Int32, threads: int = 1) -> int:
        return CommCost().value(self.graph, self.where, pe, threads)

    def cost(self, pe: Int32, threads: int = 1) -> int:
        """Return J plus the linear assignment cost, computed from scratch."""
        linear_cost = self.bounds.linear_cost
        cost = self.comm_cost(pe, threads)
        return cost if linear_cost is None else cost + kernels.checked_sum(linear_cost.at(pe))
