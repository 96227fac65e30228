"""Contraction of clusters over all processes, and the coarsest graph on each of them."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.kernels import csr_from_arcs
from hopbytes.model.comm_graph import CommGraph
from hopbytes.mpi.distributed.rank_clusters import summed_pairs
from hopbytes.mpi.distributed.slab import Rows, Slab


@frozen(eq=False)
class Contracted:
    """A coarse graph, and the coarse vertex of every own vertex of the finer one, int64[n]."""

    rows: Rows
    coarse: Int64


def contract_over_ranks(rows: Rows, leader: Int64) -> Contracted:
    """Contract clusters; the coarse vertex lies on the rank of the leader; collective.

    Loads are summed, parallel arcs merged, and arcs within clusters vanish. Vertices are numbered by rank and
    leader. O((n + m) / P log) work per rank, and an arc per pair of clusters is sent at most.
    """
    member = rows.member
    leads = leader == rows.ids
    count = int(np.count_nonzero(leads))
    ends = np.cumsum(np.array(member.all(count), np.int64))
    begins = np.concatenate([[0], ends]).astype(np.int64)
    number = np.cumsum(leads) - 1 + begins[member.rank]
    coarse = rows.ask(leader, number)
    everyone = rows.with_ghosts(coarse)
    seen, place = np.unique(everyone, return_inverse=True)
    small = place.astype(np.int32)
    sources, targets = np.repeat(small[: rows.n], np.diff(rows.indptr)), small[rows.targets]
    keep = sources != targets
    weights = np.ascontiguousarray(rows.arc_weights()[keep])
    indptr, columns, sums, _ = csr_from_arcs(len(seen), sources[keep], targets[keep], weights, None)
    assert sums is not None
    tails = seen[np.repeat(np.arange(len(seen)), np.diff(indptr))]
    heads = seen[columns]
    mine = np.diff(np.searchsorted(tails, begins)).astype(np.int64)
    tails, heads, sums = member.exchange(mine, member.counts(mine), tails, heads, sums)
    tails, heads, sums = summed_pairs(tails, heads, sums)
    first = int(begins[member.rank])
    degree = np.bincount(tails - first, minlength=count)
    pointers = np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
    slab = Slab(pointers, heads, sums, _summed_loads(rows, coarse, begins, count))
    return Contracted(Rows.of(member, slab), coarse)


def of_coarse(found: Contracted, block: Int32) -> Int32:
    """Return the block of every coarse vertex, which all its vertices share; collective."""
    member, rows = found.rows.member, found.rows
    coarse, place = np.unique(found.coarse, return_index=True)
    mine = rows.owners(coarse)
    number, blocks = member.exchange(mine, member.counts(mine), coarse, block[place].astype(np.int64))
    result = np.empty(rows.n, np.int32)
    result[number - rows.first] = blocks
    return result


def _summed_loads(rows: Rows, coarse: Int64, begins: Int64, count: int) -> Int64:
    clusters, place = np.unique(coarse, return_inverse=True)
    part = np.zeros(len(clusters), np.int64)
    np.add.at(part, place, rows.loads)
    mine = np.diff(np.searchsorted(clusters, begins)).astype(np.int64)
    number, part = rows.member.exchange(mine, rows.member.counts(mine), clusters, part)
    loads = np.zeros(count, np.int64)
    np.add.at(loads, number - begins[rows.member.rank], part)
    return loads


def gathered(rows: Rows) -> CommGraph:
    """Return the whole graph, on every rank; collective."""
    names = np.concatenate([rows.ids, rows.ghosts])
    weights = None if rows.weights is None else rows.weights
    parts = rows.member.all((np.diff(rows.indptr), names[rows.targets].astype(np.int32), weights, rows.loads))
    degrees, targets, weighted, loads = zip(*parts, strict=True)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(degrees))]).astype(np.int64)
    sources = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    volumes = None if any(each is None for each in weighted) else np.concatenate(weighted)
    indptr, columns, volumes, _ = csr_from_arcs(
        len(indptr) - 1, sources, np.concatenate(targets), volumes, None
    )
    return CommGraph.of_own(
        indptr, columns, volumes, loads=np.concatenate(loads), undirected=True, meta={"name": "graph"}
    )
