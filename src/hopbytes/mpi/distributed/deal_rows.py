"""Islands of a distributed graph go to the processes that finish them, and their PEs come back."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.mpi.distributed.slab import Rows, Slab


@frozen(eq=False)
class Dealt:
    """What a process has got of the islands that it works on."""

    #: by island, with vertices numbered within the island; islands are in ascending order
    slabs: dict[int, Slab]
    rows: Rows  # the graph from which they come
    #: int64[...]: The vertices of `slabs`, in the order of islands, as positions in what was received
    order: Int64
    mine: Int64  # int64[size]: Number of vertices that were sent to and received from each rank
    theirs: Int64  # int64[size]
    sent: Int64  # int64[n]: Own vertices in the order in which they were sent

    def back(self, values: Int64) -> Int64:
        """Return int64[n], values of the own vertices of `rows`, given those of all `slabs` in order."""
        received = np.empty(len(self.order), np.int64)
        received[self.order] = values
        (own,) = self.rows.member.exchange(self.theirs, self.mine, received)
        found = np.empty(self.rows.n, np.int64)
        found[self.sent] = own
        return found


def groups_of(sizes: Int64, ranks: int) -> list[list[int]]:
    """Return for every island the ranks that work on it: larger islands get more of them.

    With fewer ranks than islands a rank gets several, the largest first to the rank with least to do.

    >>> groups_of(np.array([5, 9, 4]), 2), groups_of(np.array([30, 10]), 4)
    ([[1], [0], [1]], [[0, 1, 2], [3]])
    """
    if ranks < len(sizes):
        load, found = [0] * ranks, [[0] for _ in sizes]
        for island in sorted(range(len(sizes)), key=lambda each: (-int(sizes[each]), each)):
            rank = min(range(ranks), key=lambda each: (load[each], each))
            load[rank] += int(sizes[island])
            found[island] = [rank]
        return found
    counts = [1] * len(sizes)
    for _ in range(ranks - len(sizes)):
        counts[max(range(len(sizes)), key=lambda each: (int(sizes[each]) / counts[each], -each))] += 1
    ends = np.cumsum(counts).tolist()
    return [list(range(end - count, end)) for end, count in zip(ends, counts, strict=True)]


def deal(rows: Rows, island: Int32, groups: list[list[int]]) -> Dealt:
    """Send the vertices of every island to its ranks, in equal slabs; collective."""
    member, count = rows.member, len(groups)
    own = np.bincount(island, minlength=count).astype(np.int64)
    total, before = member.summed(own), member.before(own)
    order = np.argsort(island, kind="stable")
    position = np.arange(rows.n) - np.repeat(np.cumsum(own) - own, own)
    number = np.empty(rows.n, np.int64)
    number[order] = position + np.repeat(before, own)
    first = np.array([group[0] for group in groups], np.int64)
    size = np.array([len(group) for group in groups], np.int64)
    # Rank j of g gets the vertices from ceil(j N / g) on.
    receiver = first[island] + number * size[island] // np.maximum(total, 1)[island]
    sent = np.lexsort((number, island, receiver))
    mine = np.bincount(receiver, minlength=member.size).astype(np.int64)
    theirs = member.counts(mine)

    everyone, numbers = rows.with_ghosts(island.astype(np.int64)), rows.with_ghosts(number)
    sources = rows.sources()
    arcs = np.flatnonzero(everyone[sources] == everyone[rows.targets])
    place = np.empty(rows.n, np.int64)
    place[sent] = np.arange(rows.n)
    arcs = arcs[np.argsort(place[sources[arcs]], kind="stable")]
    degree = np.bincount(sources[arcs], minlength=rows.n).astype(np.int64)
    arc_counts = np.bincount(receiver[sources[arcs]], minlength=member.size).astype(np.int64)
    island_, number_, degree_, loads_ = member.exchange(
        mine, theirs, everyone[: rows.n][sent], number[sent], degree[sent], rows.loads[sent]
    )
    heads, weights = member.exchange(
        arc_counts, member.counts(arc_counts), numbers[rows.targets[arcs]], rows.arc_weights()[arcs]
    )
    order = np.lexsort((number_, island_))
    slabs = _slabs(island_[order], _rows_in(order, degree_), heads, weights, loads_[order])
    return Dealt(slabs, rows, order, mine, theirs, sent)


def _rows_in(order: Int64, degree: Int64) -> tuple[Int64, Int64]:
    """Return the degrees in another order, and where the entries of these rows were."""
    begin = np.cumsum(degree) - degree
    chosen = degree[order]
    ends = np.cumsum(chosen)
    entries = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(begin[order] - (ends - chosen), chosen)
    return chosen, entries


def _slabs(
    island: Int64, rows: tuple[Int64, Int64], heads: Int64, weights: Int64, loads: Int64
) -> dict[int, Slab]:
    degree, entries = rows
    heads, weights = heads[entries], weights[entries]
    indptr = np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
    found = {}
    for each in np.unique(island).tolist():
        low, high = (int(bound) for bound in np.searchsorted(island, [each, each + 1]))
        begin, end = int(indptr[low]), int(indptr[high])
        found[each] = Slab(
            indptr[low : high + 1] - begin, heads[begin:end], weights[begin:end], loads[low:high]
        )
    return found
