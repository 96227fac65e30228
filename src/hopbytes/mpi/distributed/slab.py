"""The rows of consecutive vertices that one process holds of a graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes._frozen import frozen
from hopbytes.errors import HopbytesError, ScaleError
from hopbytes.model.capacities import sum_of
from hopbytes.mpi.distributed.member import Member
from hopbytes.util.random_numbers import GAMMA, mixed_words


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
                return f"`{name}` is no array of int64"
        m = len(self.targets)
        if len(self.indptr) < 1 or self.indptr[0] != 0 or self.indptr[-1] != m or _descends(self.indptr):
            return f"`indptr` does not ascend from 0 to the number of targets, {m}"
        if self.weights is not None and (len(self.weights) != m or (m and int(self.weights.min()) < 1)):
            return f"`weights`: expected {m} numbers above 0"
        if self.loads is not None and (
            len(self.loads) != self.n or (self.n and int(self.loads.min()) < 0)
        ):
            return f"`loads`: expected {self.n} numbers >= 0"
        return ""


def _descends(indptr: Int64) -> bool:
    return len(indptr) > 1 and int(np.diff(indptr).min()) < 0


@frozen(eq=False)
class Rows:
    """A checked slab in the numbers of its process: own vertices come first, then those of others, *ghosts*.
    """

    member: Member
    begins: Int64  # int64[size+1]: First vertex of every rank, and the number of all vertices
    indptr: Int64  # int64[n+1]
    targets: Int32  # int32[m]: Own vertices are 0..n-1, ghosts n..n+g-1.
    weights: Int64 | None  # int64[m] or None
    loads: Int64  # int64[n]
    ghosts: Int64  # int64[g]: The vertices of other ranks that are neighbours, ascending
    #: int64[size]: Number of ghosts by owner, and of own vertices that are ghosts of others
    ghost_counts: Int64
    told_counts: Int64  # int64[size]
    told: Int32  # int32[...]: Those vertices, by the rank that knows them

    @classmethod
    def of(cls, member: Member, slab: Slab) -> Rows:
        """Number the ghosts and find out who needs which own vertices; collective."""
        counts = np.array(member.all(slab.n), np.int64)
        begins = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
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
            found = slab.n + len(ghosts)
            fault = f"rank {member.rank}: {found} vertices and ghosts, expected fewer than 2^31"
        member.agree(fault)
        ghost_counts = np.diff(np.searchsorted(ghosts, begins)).astype(np.int64)
        told_counts = member.counts(ghost_counts)
        (told,) = member.exchange(ghost_counts, told_counts, ghosts)
        loads = np.ones(end - first, np.int64) if slab.loads is None else slab.loads
        return cls(
            member, begins, slab.indptr, targets.astype(np.int32), slab.weights, loads, ghosts, ghost_counts,
            told_counts, (told - first).astype(np.int32),
        )

    @property
    def n(self) -> int:
        """Number of own vertices."""
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
        """int64[n]: the own vertices."""
        return np.arange(self.first, self.first + self.n, dtype=np.int64)

    def sources(self) -> Int32:
        """int32[m]: the own vertex of every arc."""
        return np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.indptr))

    def arc_weights(self) -> Int64:
        """int64[m]; without weights a view that takes no memory."""
        return np.broadcast_to(np.int64(1), len(self.targets)) if self.weights is None else self.weights

    def with_ghosts(self, values: Int64) -> Int64:
        """Return int64[n+g], own values and those of the ghosts, which their owners tell; collective."""
        (ghosts,) = self.member.exchange(self.told_counts, self.ghost_counts, values[self.told])
        return np.concatenate([values, ghosts])

    def owners(self, ids: Int64) -> Int64:
        """Return the number of ids per owner, int64[size], of ascending ids."""
        return np.diff(np.searchsorted(ids, self.begins)).astype(np.int64)

    def ask(self, ids: Int64, values: Int64) -> Int64:
        """Return the values of any vertices, where `values` are those of the own vertices; collective."""
        wanted, place = np.unique(ids, return_inverse=True)
        mine = self.owners(wanted)
        theirs = self.member.counts(mine)
        (asked,) = self.member.exchange(mine, theirs, wanted)
        (answers,) = self.member.exchange(theirs, mine, values[asked - self.first])
        found: Int64 = answers[place]
        return found


def checked_rows(member: Member, slab: Slab) -> Rows:
    """Check slabs and return the rows of this process; collective.

    O((n + m) / P) per process. Both directions of edges are compared by sums of hashes, which overlook a
    difference with a probability of about 2^-64.
    """
    fault = slab.fault() if isinstance(slab, Slab) else "expected a Slab"
    member.agree(f"rank {member.rank}: {fault}" if fault else None)
    for what, numbers in (("volumes", slab.weights), ("loads", slab.loads)):
        own = (len(slab.targets) if what == "volumes" else slab.n) if numbers is None else sum_of(numbers)
        if (total := member.total(own)) > 2**62:
            least = -(-total // 2**62)
            raise ScaleError(f"the {what} sum to {total}, more than 2^62: divide them by {least} or more")
    rows = Rows.of(member, slab)
    sources, targets = rows.sources().astype(np.int64) + rows.first, slab.targets
    loop = np.flatnonzero(sources == targets)
    member.agree(f"graph: vertex {sources[loop[0]]} is its own neighbour" if len(loop) else None)
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    mark = mixed(mixed(low.view(np.uint64)) ^ high.view(np.uint64)) ^ rows.arc_weights().astype(np.uint64)
    mark = mixed(mark)
    upward = sources < targets
    difference = int(mark[upward].sum(dtype=np.uint64)) - int(mark[~upward].sum(dtype=np.uint64))
    if member.total(difference) % 2**64:
        raise HopbytesError("graph: an edge differs in its two directions, expected both with equal weights")
    return rows


def first_row(n: int, m: int, arcs_before: Callable[[int], int], part: int, size: int) -> int:
    """Return the first vertex of a rank, so that vertices and arcs are divided evenly.

    >>> [first_row(4, 8, lambda vertex: 2 * vertex, part, 2) for part in range(3)]
    [0, 2, 4]
    """
    wanted = (n + m) * part // size
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if middle + arcs_before(middle) < wanted:
            low = middle + 1
        else:
            high = middle
    return n if part == size else low


def mixed(numbers: UInt64) -> UInt64:
    """Return hashes of 64-bit words: the step of the generator SplitMix64."""
    return mixed_words(numbers + np.uint64(GAMMA))
