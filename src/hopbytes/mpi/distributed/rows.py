"""A graph whose rows lie on several processes, and the collective calls of one of them."""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from hopbytes._arrays import Array, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.comm_cost import arcs_distance_sum
from hopbytes.errors import HopbytesError
from hopbytes.kernels.records import Csr
from hopbytes.machines.tree import Tree
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import sum_of
from hopbytes.mpi.processes import Comm
from hopbytes.util.integers import check_limit
from hopbytes.util.random_numbers import hashes_of

Result = TypeVar("Result")


class Member:
    """A communicator that counts what this process sends to others, by phase; all methods are collective."""

    def __init__(self, comm: Comm) -> None:
        self.comm = comm
        self.rank, self.size = int(comm.Get_rank()), int(comm.Get_size())
        self.sent: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self._phase = "start"
        self._cpu = {"start": time.process_time(), "calls": 0.0}

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count what is sent inside the block under a name."""
        before, began = self._phase, time.perf_counter()
        self._phase = name
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began
            self._phase = before

    def split(self, color: int) -> Member:
        """Return the member of the group of all with the same color; its counts are those of this one."""
        group = Member(self._call(self.comm.Split, color, self.rank))
        group.sent, group.seconds, group._phase, group._cpu = self.sent, self.seconds, self._phase, self._cpu
        return group

    @property
    def computing(self) -> float:
        """Processor seconds so far outside collective calls."""
        return time.process_time() - self._cpu["start"] - self._cpu["calls"]

    def all(self, value: Any) -> list[Any]:
        """Return the values of all members, by rank."""
        if self.size == 1:
            return [value]
        data = pickle.dumps(value)
        self._book((self.size - 1) * len(data))
        return [pickle.loads(own) for own in self._call(self.comm.allgather, data)]

    def total(self, number: int) -> int:
        """Return the exact sum of an integer over all members."""
        return sum(self.all(int(number)))

    def summed(self, array: Int64) -> Int64:
        """Return the sums of the entries of an int64 array (MPI_Allreduce); they have to fit into 63 bits."""
        return self._reduced(self.comm.Allreduce, array)

    def before(self, array: Int64) -> Int64:
        """Return the sums of the entries over the members of lower rank (MPI_Exscan)."""
        sums = self._reduced(self.comm.Exscan, array)
        return sums if self.rank else np.zeros_like(array)  # MPI leaves the result of rank 0 undefined

    def _reduced(self, call: Callable[..., Any], array: Int64) -> Int64:
        sums = np.zeros_like(array)
        self._book(array.nbytes if self.size > 1 else 0)
        self._call(call, np.ascontiguousarray(array), sums)
        return sums

    def counts(self, mine: Int64) -> Int64:
        """Send entry i of int64[size] to member i; return what each member sent (MPI_Alltoall)."""
        theirs = np.empty(self.size, np.int64)
        self._book(8 * (self.size - 1))
        self._call(self.comm.Alltoall, np.ascontiguousarray(mine, np.int64), theirs)
        return theirs

    def exchange(self, mine: Int64, theirs: Int64, *columns: Int64) -> list[Int64]:
        """Send the first ``mine[0]`` entries of every column to member 0, the next to member 1, and so on."""
        received = []
        own = int(mine[self.rank])
        for column in columns:
            arrived = np.empty(int(theirs.sum()), np.int64)
            self._book(8 * (len(column) - own))
            sending = np.ascontiguousarray(column, np.int64)
            self._call(self.comm.Alltoallv, [sending, mine], [arrived, theirs])
            received.append(arrived)
        return received

    def agree(self, fault: BaseException | str | None) -> None:
        """Raise the first fault of any member on all of them."""
        faults = [text for text in self.all(sentence(fault) if fault else None) if text]
        if faults:
            raise HopbytesError(faults[0])

    def agreed(self, work: Callable[[], Result]) -> Result:
        """Return what `work` returns; an error that it raises on any member is raised on all of them."""
        try:
            result = work()
        except (HopbytesError, OSError, MemoryError) as error:
            self.agree(error)
            raise
        self.agree(None)
        return result

    def same(self, what: str, value: Any) -> None:
        """Raise HopbytesError on all members unless they have the same value."""
        mark = hashlib.sha256(repr(value).encode()).hexdigest()
        values = self.all((mark, repr(value)[:60]))
        for rank, (other, text) in enumerate(values):
            if other != values[0][0]:
                both = f"rank 0 has {values[0][1]}, rank {rank} has {text}"
                raise HopbytesError(f"the {what} differs between ranks: {both}; expected the same on all")

    def _call(self, call: Callable[..., Any], *arguments: Any) -> Any:
        began = time.process_time()
        try:
            return call(*arguments)
        finally:
            self._cpu["calls"] += time.process_time() - began

    def _book(self, sent: int) -> None:
        self.sent[self._phase] = self.sent.get(self._phase, 0) + sent


def sentence(error: BaseException | str) -> str:
    """Return an error as one line for all processes."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


@frozen(eq=False)
class Slab:
    """Rows of consecutive vertices of a symmetric graph without arcs of a vertex to itself.

    The slabs of ranks 0, 1, … follow each other: that of rank 0 begins with vertex 0.

    Parameters
    ----------
    indptr : int64[n+1]
        Row pointers, from 0; n may be 0.
    targets : int64[m]
        Neighbours, numbered in the whole graph.
    weights : int64[m] or None
        Volume of every arc, > 0; None means 1 each.
    loads : int64[n] or None
        None means 1 each.

    Examples
    --------
    The second half of a path of four vertices:

    >>> Slab(np.array([0, 2, 3]), np.array([1, 3, 2])).n
    2
    """

    indptr: Int64
    targets: Int64
    weights: Int64 | None = None
    loads: Int64 | None = None

    @property
    def n(self) -> int:
        """Number of vertices of this slab."""
        return len(self.indptr) - 1

    def fault(self) -> str:
        """Return what is wrong with the arrays by themselves, or ""."""
        for name, array in (("indptr", self.indptr), ("targets", self.targets), ("weights", self.weights),
                            ("loads", self.loads)):  # fmt: skip
            if array is not None and (not isinstance(array, np.ndarray) or array.dtype != np.int64):
                return f"`{name}` is not an array of int64"
        m = len(self.targets)
        descends = bool(np.any(np.diff(self.indptr) < 0))
        if len(self.indptr) < 1 or self.indptr[0] != 0 or self.indptr[-1] != m or descends:
            return f"`indptr` does not ascend from 0 to the number of targets, {m}"
        if self.weights is not None and (len(self.weights) != m or (m and int(self.weights.min()) < 1)):
            return f"`weights`: expected {m} numbers above 0"
        if self.loads is not None and (len(self.loads) != self.n or (self.n and int(self.loads.min()) < 0)):
            return f"`loads`: expected {self.n} numbers >= 0"
        return ""


def row_pointers(counts: Array | Sequence[int]) -> Int64:
    """Return int64[n+1], where the rows of these lengths begin and the last one ends."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def agree_on_slab(member: Member, slab: Slab) -> None:
    """Raise HopbytesError on all processes if the slab of any of them is malformed; collective."""
    fault = slab.fault() if isinstance(slab, Slab) else "expected a Slab"
    member.agree(f"rank {member.rank}: {fault}" if fault else None)


@frozen(eq=False)
class DistributedMapping:
    """The part of a mapping that a process holds."""

    pe: Int32  # int32[n]: The PE of every task of this process
    first: int  # the first of these tasks
    total: int  # number of tasks of all processes
    where: Allocation | Tree  # a tree has one PE per core, and no process has a list of them
    #: The same on all processes: "comm_cost", "imbalance", "bound_asked", "bound_kept", "balance" ("met" or
    #: "relaxed"), "strategy" (the better one), "strategies" (J of each), and "history" (vertices and costs of
    #: the levels of each strategy, costs of the first solutions of all ranks). By rank: "sent" (bytes by
    #: phase), "seconds" (by phase), "computing" (processor seconds outside collective calls), "peak_bytes"
    #: (of the process) and "held" (vertices, ghosts and arcs).
    info: dict[str, Any]

    @property
    def k(self) -> int:
        """Number of PEs."""
        return self.where.n_cores if isinstance(self.where, Tree) else self.where.k

    @property
    def comm_cost(self) -> int:
        """J, computed from scratch over all processes."""
        return int(self.info["comm_cost"])


@frozen(eq=False)
class Rows:
    """A checked slab in the numbers of its process: own vertices first, then those of others, *ghosts*."""

    member: Member
    begins: Int64  # int64[size+1]: First vertex of every rank, and the number of all vertices
    indptr: Int64  # int64[n+1]
    targets: Int32  # int32[m]: Own vertices are 0..n-1, ghosts n..n+g-1.
    weights: Int64 | None  # int64[m] or None
    loads: Int64  # int64[n]
    ghosts: Int64  # int64[g]: The vertices of other ranks that are neighbours, ascending
    ghost_counts: Int64  # int64[size]: Number of ghosts by owner
    shared_counts: Int64  # int64[size]: Number of own vertices that are ghosts of each rank
    shared: Int32  # int32[...]: Those vertices, by the rank

    @classmethod
    def of(cls, member: Member, slab: Slab) -> Rows:
        """Number the ghosts and find out who needs which own vertices; collective."""
        begins = row_pointers(member.all(slab.n))
        first, end, total = int(begins[member.rank]), int(begins[member.rank + 1]), int(begins[-1])
        fault = ""
        if len(slab.targets) and not 0 <= int(slab.targets.min()) <= int(slab.targets.max()) < total:
            fault = f"rank {member.rank}: a neighbour outside 0..{total - 1}"
        member.agree(fault)
        targets = slab.targets - first
        outside = np.flatnonzero((targets < 0) | (targets >= slab.n))
        ghosts, number = np.unique(slab.targets[outside], return_inverse=True)
        targets[outside] = slab.n + number
        if slab.n + len(ghosts) >= 2**31:
            count = slab.n + len(ghosts)
            fault = f"rank {member.rank}: {count} vertices and ghosts, expected fewer than 2^31"
        member.agree(fault)
        ghost_counts = np.diff(np.searchsorted(ghosts, begins)).astype(np.int64)
        shared_counts = member.counts(ghost_counts)
        (shared,) = member.exchange(ghost_counts, shared_counts, ghosts)
        loads = np.ones(end - first, np.int64) if slab.loads is None else slab.loads
        return cls(
            member, begins, slab.indptr, targets.astype(np.int32), slab.weights, loads, ghosts, ghost_counts,
            shared_counts, (shared - first).astype(np.int32),
        )

    @property
    def n(self) -> int:
        return len(self.indptr) - 1

    @property
    def first(self) -> int:
        """The first own vertex."""
        return int(self.begins[self.member.rank])

    @property
    def total(self) -> int:
        """Number of vertices of all ranks."""
        return int(self.begins[-1])

    @property
    def ids(self) -> Int64:
        return np.arange(self.first, self.first + self.n, dtype=np.int64)

    def sources(self) -> Int32:
        """int32[m]: the own vertex of every arc."""
        return np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.indptr))

    def arc_weights(self) -> Int64:
        """int64[m]; without weights a view that takes no memory."""
        return np.broadcast_to(np.int64(1), len(self.targets)) if self.weights is None else self.weights

    def with_ghosts(self, values: Int64) -> Int64:
        """Return int64[n+g], own values and those of the ghosts, from their owners; collective."""
        (ghosts,) = self.member.exchange(self.shared_counts, self.ghost_counts, values[self.shared])
        return np.concatenate([values, ghosts])

    def owners(self, ids: Int64) -> Int64:
        """Return the number of ids per owner, int64[size], of ascending ids."""
        return np.diff(np.searchsorted(ids, self.begins)).astype(np.int64)

    def ask(self, ids: Int64, values: Int64) -> Int64:
        """Return the values of any vertices, where `values` are those of the own vertices; collective."""
        wanted, position = np.unique(ids, return_inverse=True)
        mine = self.owners(wanted)
        theirs = self.member.counts(mine)
        (asked,) = self.member.exchange(mine, theirs, wanted)
        (answers,) = self.member.exchange(theirs, mine, values[asked - self.first])
        all_values: Int64 = answers[position]
        return all_values


def checked_rows(member: Member, slab: Slab) -> Rows:
    """Check slabs and return the rows of this process; collective.

    O((n + m) / P) per process. Both directions of edges are compared by sums of hashes, which overlook a
    difference with a probability of about 2^-64.
    """
    agree_on_slab(member, slab)
    for what, numbers in (("volumes", slab.weights), ("loads", slab.loads)):
        own = (len(slab.targets) if what == "volumes" else slab.n) if numbers is None else sum_of(numbers)
        total = member.total(own)
        check_limit(f"the {what} sum to {total}", total, 2**62)
    rows = Rows.of(member, slab)
    sources, targets = rows.sources().astype(np.int64) + rows.first, slab.targets
    loop = np.flatnonzero(sources == targets)
    member.agree(f"graph: vertex {sources[loop[0]]} is its own neighbour" if len(loop) else None)
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    pair = hashes_of(hashes_of(low.view(np.uint64)) ^ high.view(np.uint64))
    mark = hashes_of(pair ^ rows.arc_weights().astype(np.uint64))
    upward = sources < targets
    difference = int(mark[upward].sum(dtype=np.uint64)) - int(mark[~upward].sum(dtype=np.uint64))
    if member.total(difference) % 2**64:
        raise HopbytesError("graph: an edge differs in its two directions, expected both with equal weights")
    return rows


def cost_over_ranks(rows: Rows, where: Allocation, pe: Int32, around: Int32 | None = None) -> int:
    """Return J; `around` has the PEs of own vertices and ghosts, if they are known; collective, O(m / P)."""
    # The sum fits into 63 bits where `check_sums_over_ranks` found no fault.
    if around is None:
        around = rows.with_ghosts(pe.astype(np.int64)).astype(np.int32)
    arcs = Csr(rows.indptr, rows.targets, rows.weights)
    return rows.member.total(arcs_distance_sum(arcs, where, around))


def first_row(n: int, m: int, arcs_before: Callable[[int], int], part: int, size: int) -> int:
    """Return the first vertex of a rank, so that vertices and arcs are divided evenly."""
    wanted = (n + m) * part // size
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if middle + arcs_before(middle) < wanted:
            low = middle + 1
        else:
            high = middle
    return n if part == size else low
