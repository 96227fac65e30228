"""Batches of changes to a pattern and its PEs, and the report on what one did to the mapping."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Dictionary
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from hopbytes._arrays import Array, Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.util.checks import listed
from hopbytes.util.integers import refuse_masked

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
        refuse_masked("edges", edges)
        triples = listed("edges", edges, "triples of two tasks and a volume")
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
    others = (("vanished", vanished), ("lost", lost), ("restored", restored))
    return Batch(
        u, v, volumes, np.concatenate([loaded, came]), np.concatenate([values, weight]),
        _distinct("arrived", came), *(_distinct(name, _listed(name, each)) for name, each in others),
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
    values = numbers if isinstance(numbers, np.ndarray) else listed(name, numbers, "numbers")
    array = _integers(name, values) if len(values) else np.empty(0, np.int64)
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
    refuse_masked(name, values)
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
