"""The integrated mapper: coarsen once, cut ever deeper and refine the cost on the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopbytes.allocation import Allocation
from hopbytes.balance import child_caps, group_sums
from hopbytes.engine import SearchSettings, refine_placement
from hopbytes.engine.coarse import coarsen_once
from hopbytes.graph import CommGraph
from hopbytes.machines.lowering import kernel_distances
from hopbytes.mappers.base import Bounds, Effort, Int32, Mapper, mappers
from hopbytes.mappers.multisection import Multisection
from hopbytes.mappers.quotient import quotient_csr
from hopbytes.mappers.sections import Level, Piece, levels_of


@mappers.register("integrated")
@dataclass(frozen=True, slots=True)
class Integrated(Mapper):
    """Coarsen the whole graph once; cut it where it is coarse; refine the communication cost on the way back.

    Parameters
    ----------
    runs, tries, combines : int
        How hard to work on each cut, see the mapper ``multisection``.
    per_block : int
        A graph of the coarsening is cut into as many groups of PEs as have this many vertices each.
    fewest : int
        Vertices of the coarsest graph, about, where fewer would do.
    rounds, patience, seeds, flow_rounds, flow_width, venture_percent : int
        Local search in cuts and under distances (:class:`hopbytes.engine.SearchSettings`).

    Notes
    -----
    On the way back from the coarsest graph each graph is refined under the distances between the groups of
    PEs it is cut into, then cut further along the machine if it has vertices enough, then refined again;
    caps are such that later cuts can meet theirs. With few vertices per block all cuts are made on the
    coarsest graph, as in integrated multilevel mapping (Faraj et al., 2020); with more, cuts follow as the
    graph grows, as in deep multilevel partitioning (Gottesbüren et al., 2021), here under the machine's
    distances; with very many it is multisection. Clusters are heavier than tasks, so graphs in between may
    be over a cap for a while. Groups are taken to be as far from each other as their first PEs.

    With exact counts (one task per slot) it is ``multisection``. O(levels x (n + m)) for meshes.
    """

    runs: int = 1
    tries: int = 4
    combines: int = 0
    per_block: int = 1000
    fewest: int = 3000
    rounds: int = 10
    patience: int = 40
    seeds: int = 25
    flow_rounds: int = 1
    flow_width: int = 4
    venture_percent: int = 0

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        search = SearchSettings(
            self.rounds, self.patience, self.seeds, self.flow_rounds, self.flow_width, self.venture_percent
        )
        cutter = Multisection(
            self.runs, self.tries, self.combines, rounds=self.rounds, patience=self.patience,
            seeds=self.seeds, flow_rounds=self.flow_rounds, flow_width=self.flow_width,
            venture_percent=self.venture_percent,
        )
        if bounds.exact or where.k < 2 or graph.n == 0:
            return cutter.map(graph, where, bounds, effort)
        levels, pe_of_leaf = levels_of(where, bounds, graph.loads, even=False)
        whole = Piece.whole(graph, bounds)
        each = 2 if whole.csr.indptr is graph.indptr else 1
        pieces, maps = self._coarsened(whole, levels, effort)
        depth, group = 0, np.zeros(pieces[-1].n, np.int32)
        for number in range(len(pieces) - 1, -1, -1):
            piece = pieces[number]
            if number < len(maps):
                group = group[maps[number]]
                group = _refined(piece, levels[depth - 1], group, where, each, search, effort)
            deep = self._depth(piece.n, levels) if number else len(levels)
            if deep > depth:
                piece = Piece(depth, 0, (), None, piece.csr, piece.loads, piece.unary)
                group = cutter.descend(piece, levels[:deep], each, False, effort, None, group)
                group = _refined(piece, levels[deep - 1], group, where, each, search, effort)
                depth = deep
        pe: Int32 = pe_of_leaf[group]
        return pe

    def _depth(self, n: int, levels: list[Level]) -> int:
        """Return how many levels of cuts n vertices are enough for."""
        return max(1, sum(n >= self.per_block * len(level.parent) for level in levels))

    def _coarsened(
        self, whole: Piece, levels: list[Level], effort: Effort
    ) -> tuple[list[Piece], list[Int32]]:
        """Return the graph on all levels, the finest first, and the maps between them."""
        maps = coarsen_once(
            *whole.csr, whole.loads, levels[0].leaf_caps, per_block=self.per_block, fewest=self.fewest,
            seed=effort.seed, spend=effort.spend, unary=whole.unary,
        )
        pieces = [whole]
        for cluster in maps:
            fine, count = pieces[-1], int(cluster.max()) + 1
            csr = quotient_csr(fine.csr, cluster, count)
            unary = None if fine.unary is None else fine.unary.contracted(cluster, count)
            loads = group_sums(cluster, fine.loads, count)
            pieces.append(Piece(0, 0, (), None, csr, loads, unary))
        return pieces, maps


def _refined(
    piece: Piece, level: Level, group: Int32, where: Allocation, each: int, search: SearchSettings,
    effort: Effort,
) -> Int32:
    """Lower the cost of a placement on groups of PEs, which are as far from each other as their first PEs."""
    groups = len(level.parent)
    first = np.full(groups, where.k, np.int64)
    np.minimum.at(first, level.child_of_pe, np.arange(where.k))
    order = np.argsort(first)  # allocations are in machine order
    rank = np.empty(groups, np.int32)
    rank[order] = np.arange(groups, dtype=np.int32)
    unary = None
    if piece.unary is not None:
        nothing, all_groups = np.zeros(piece.n, np.int32), np.arange(groups)
        unary = piece.unary.grouped(nothing, rank[level.child_of_pe], np.zeros(groups, np.int64), all_groups)
        unary = unary.scaled(1, each)
    total = int(group_sums(group * 0, piece.loads, 1)[0])
    caps = child_caps(total, level.shares, level.leaf_caps, level.left)
    better, moves = refine_placement(
        *piece.csr, piece.loads, rank[group], np.maximum(caps, np.maximum(level.held, level.sure))[order],
        **kernel_distances(where.select(first[order])), seed=effort.seed, search=search,
        threads=effort.threads, deadline=effort.deadline, spend=effort.spend, unary=unary,
    )
    effort.count(moves=moves)
    found: Int32 = order.astype(np.int32)[better]
    return found
