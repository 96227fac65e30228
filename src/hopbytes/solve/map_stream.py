"""map_stream(): mapping of a graph on disk that is read in blocks and never held as a whole."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.algorithms.balancer import meet_bounds
from hopbytes.algorithms.streaming import (
    CheckedStream,
    Sketch,
    check_sums,
    cluster,
    comm_cost,
    place_online,
    refine,
    state_of,
    tree_of,
)
from hopbytes.errors import HopbytesWarning, InfeasibleError
from hopbytes.formats.streaming import open_graph
from hopbytes.kernels.streaming import MappingState
from hopbytes.model.allocation import Allocation, PlaceLike
from hopbytes.model.capacities import count_bounds, exact_imbalance, group_sums, load_bound, relative_excess
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.solve.map_tasks import map_tasks, warn_of
from hopbytes.text.open_input import MAX_BYTES
from hopbytes.util.checks import check_truths, whole
from hopbytes.util.version import __version__

#: Pairs of clusters in the buffer unless the caller says otherwise.
BUFFER = 1 << 22
PASSES = 2
#: Clusters per PE at least, so that PEs can be filled evenly, and after all contractions of a full buffer.
CLUSTERS_PER_PE, FEWEST_PER_PE = 16, 8
#: Largest cluster in vertices of mean load, and the smallest buffer in pairs per cluster of that load: with a
#: smaller one clusters are larger from the start.
SMALL_CLUSTER, PAIRS_PER_CLUSTER = 16, 16


def map_stream(
    path: str | os.PathLike[str],
    where: PlaceLike,
    *,
    format: str | None = None,
    passes: int = PASSES,
    buffer: int = BUFFER,
    preset: str = "fast",
    imbalance: float | str = 0.03,
    strict_balance: bool = False,
    seed: int = 0,
    threads: int | None = None,
    max_bytes: int = MAX_BYTES,
    progress: Callable[[int, int, int], None] | None = None,
) -> Mapping:
    """Map the vertices of a graph on disk to PEs, as a partition, without ever holding the graph.

    Parameters
    ----------
    path : path
        A METIS or ParHIP graph or an edge list, also compressed; see
        :func:`hopbytes.formats.streaming.open_graph`.
    where : Allocation, or an object that can be converted to one
        The k PEs, as for :func:`hopbytes.map_tasks`.
    format : str, optional
        "metis", "parhip" or "edges"; by default determined from suffix and content.
    passes : int
        Passes through the file that map (>= 1). The first one makes a mapping; each further one moves
        vertices where that lowers J. One more pass computes J of the result from scratch.
    buffer : int
        In the first pass vertices join clusters, of which the PEs are found by `preset`; this is the largest
        number of pairs of clusters that are kept, about 250 bytes each. With 0 the first pass maps every
        vertex at once by scores per level of the machine, which needs a file whose neighbouring vertices are
        near each other.
    preset : str
        Preset of :func:`hopbytes.map_tasks` for the graph of the clusters.
    imbalance, strict_balance, seed, threads
        As for :func:`hopbytes.map_tasks`.
    max_bytes : int
        Largest size of the file after decompression.
    progress : callable, optional
        Called with the number of the pass, the vertices seen in it, and the vertices in total.

    Returns
    -------
    Mapping
        ``info`` has the entries of a partition by :func:`hopbytes.map_tasks`; those under "work" count
        passes, clusters, contractions, dropped pairs and moves.

    Raises
    ------
    FormatError
        The file is malformed, or changes between two passes.
    InfeasibleError
        With `strict_balance`, if loads cannot be met.
    UnsupportedError
        The format cannot be read in blocks, or a value is out of range.
    ScaleError
        If volumes, distances or loads are too large for 64-bit sums.

    Warns
    -----
    HopbytesWarning
        For each of ``info["notices"]``.

    Notes
    -----
    Memory is O(n + k + buffer): 24 bytes per vertex, 16 more with vertex weights, and a block of 2^19 arcs;
    the rows of METIS files add 8 bytes per vertex. Time is O(passes (n c + m l)) for l levels and c PEs per
    unit of a level. The clusters are those of size-constrained label propagation.

    Sources: Faraj and Schulz, "Buffered streaming graph partitioning", JEA 2022, and "Recursive multi-section
    on the fly", CLUSTER 2022; Meyerhenke, Sanders, Schulz, "Partitioning complex networks via
    size-constrained clustering", SEA 2014.

    Examples
    --------
    >>> import hopbytes as hb
    >>> mapping = hb.map_stream("mesh.graph", "node:8@10 core:4@1")   # doctest: +SKIP
    >>> mapping.comm_cost                                             # doctest: +SKIP
    """
    passes, buffer = whole("passes", passes, 1), whole("buffer", buffer, 0)
    check_truths(strict_balance=strict_balance)
    slack, where = exact_imbalance(imbalance), Allocation.of(where)
    began = time.monotonic()
    with open_graph(path, format, max_bytes=max_bytes) as stream:
        run = _Run(CheckedStream(stream, progress), where, slack, {"seed": seed, "threads": threads})
        state = run.first_pass(buffer, preset, imbalance)
        for _ in range(passes - 1):
            run.moves += refine(run.blocks, run.tree, state, run.loads)
        pe = run.within_bounds(state, strict=strict_balance)
        mapped = time.monotonic()
        method = f"stream:passes={passes},buffer={buffer}"
        info = run.report(pe, method, None if run.sketch is None else preset)
        info["seconds"] = {"map": mapped - began, "verify": time.monotonic() - mapped}
        info["notices"] = [*stream.notices, *info["notices"]]
    warn_of(info["notices"], stacklevel=2)
    return Mapping(pe, where, info)


class _Run:
    """The loads and bounds that count, where with at most as many tasks as PEs every PE holds one task."""

    def __init__(
        self, blocks: CheckedStream, where: Allocation, slack: Fraction, options: dict[str, Any]
    ) -> None:
        self.blocks, self.where, self.options = blocks, where, options
        n, loads, one_each = blocks.stream.n, blocks.stream.loads(), np.ones(where.k, np.int64)
        few, capacity = n <= where.k, one_each if where.capacity is None else where.capacity
        self.bound = load_bound(None if few else loads, n, capacity, slack)
        #: loads that bounds take into account, and the largest load of each PE
        self.loads, self.caps = self.bound.loads, one_each if few else self.bound.caps
        zero_load = 0 if self.loads is None else int(np.count_nonzero(self.loads == 0))
        self.zero_load_caps = count_bounds(zero_load, capacity, slack)
        self.tree = tree_of(where, self.caps, self.zero_load_caps)
        self.moves = self.clusters = self.repaired = 0
        self.sketch: Sketch | None = None

    def first_pass(self, buffer: int, preset: str, imbalance: float | str) -> MappingState:
        """Return a first mapping: of clusters in the buffer, or of one vertex after the other."""
        n, k, loads = self.blocks.stream.n, self.where.k, self.loads
        if buffer == 0 or n <= k or n == 0:
            state = place_online(self.blocks, self.tree, loads)
            check_sums(self.blocks.total_weight, self.where)
            return state
        total = n if loads is None else int(loads.sum())
        # As small as the buffer allows, but not so small that clusters save nothing.
        small = max(SMALL_CLUSTER * total // n, PAIRS_PER_CLUSTER * total // buffer)
        heaviest = max(1, min(total // (CLUSTERS_PER_PE * k), small))
        self.sketch = Sketch(n, loads, buffer, heaviest, max(heaviest, total // (FEWEST_PER_PE * k)))
        cluster(self.blocks, self.sketch, loads)
        check_sums(self.blocks.total_weight, self.where)
        graph, cluster_of = self.sketch.graph()
        self.clusters = graph.n
        self.sketch.release()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HopbytesWarning)
            found = map_tasks(graph, self.where, preset, partition=True, imbalance=imbalance, **self.options)
        return state_of(found.pe[cluster_of], self.tree, loads)

    def within_bounds(self, state: MappingState, *, strict: bool) -> Int32:
        """Return PEs that keep the bounds as far as loads allow; what is left over is moved by load alone."""
        pe, loads = state.pe, self.loads
        if self._over(pe):
            none = np.empty(0, np.int32)
            alone = CommGraph.from_edges(none, none, n=len(pe))
            before = pe
            pe = meet_bounds(alone, self.where, pe, loads, self.caps).pe
            if loads is not None and int(loads.min(initial=1)) == 0:
                zero_load = (loads == 0).astype(np.int64)
                pe = meet_bounds(alone, self.where, pe, zero_load, self.zero_load_caps).pe
            self.repaired = int(np.count_nonzero(pe != before))
        if strict and self._over(pe):
            kept, caps, unit = group_sums(pe, loads, self.where.k), self.caps, self.bound.unit
            worst = int(np.argmax(kept - caps))
            what = f"the loads could not be kept within {caps[worst] * unit} per PE"
            raise InfeasibleError(f"{what}: PE {worst} holds {kept[worst] * unit}; allow a larger imbalance")
        return pe

    def _over(self, pe: Int32) -> bool:
        loads, k = self.loads, self.where.k
        over = bool(np.any(group_sums(pe, loads, k) > self.caps))
        if loads is None:
            return over
        zero_load = group_sums(pe, (loads == 0).astype(np.int64), k)
        return over or bool(np.any(zero_load > self.zero_load_caps))

    def report(self, pe: Int32, method: str, preset: str | None) -> dict[str, Any]:
        """Return ``Mapping.info``, in which loads are counted and J is computed from the result."""
        cost, heavy = comm_cost(self.blocks, self.where, pe), self.bound.heavy
        kept = group_sums(pe, self.loads, self.where.k)
        met = bool(np.all(kept <= self.caps))
        notices = [] if met else ["the loads could not be kept within the bound"]
        if heavy:
            what, has = ("task is", "has a PE") if heavy == 1 else ("tasks are", "have a PE each")
            notices.append(f"{heavy} {what} heavier than a fair share and {has}")
        work = {"passes": self.blocks.passes, "moves": self.moves, "repair_moves": self.repaired}
        if self.sketch is not None:
            work |= {"clusters": self.clusters, "contractions": self.sketch.contractions}
            work["dropped_pairs"] = self.sketch.dropped
        return {
            "problem": "partition", "mapper": method, "preset": preset, "refine": [],
            "objective": "comm_cost", "objective_value": cost, "weight": "bytes",
            "seed": self.options["seed"], "threads": self.options["threads"] or 1, "version": __version__,
            "deterministic": True, "work": dict(sorted(work.items())), "comm_cost": cost,
            "imbalance": relative_excess(kept, int(kept.sum()), self.where.capacity),
            "balance": "met" if met else "relaxed",
            "bound_asked": int(self.caps.max()) * self.bound.unit,
            "bound_kept": int(kept.max()) * self.bound.unit,
            "notices": notices, "history": [],
        }
