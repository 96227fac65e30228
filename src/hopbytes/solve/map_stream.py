"""map_stream(): mapping of a graph on disk that is read in blocks and never held as a whole."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
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
from hopbytes.kernels.streaming import MappingState, TreeOfPes
from hopbytes.model.allocation import Allocation, PlaceLike
from hopbytes.model.capacities import count_bounds, exact_imbalance, group_sums, load_bound, sum_of
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
        blocks = CheckedStream(stream, progress)
        bounds = _Bounds.of(stream.loads(), stream.n, where, slack)
        run = _Run(blocks, where, bounds, {"method": preset, "seed": seed, "threads": threads})
        state = run.first_pass(buffer, imbalance)
        for _ in range(passes - 1):
            run.moves += refine(blocks, bounds.tree, state, bounds.loads)
        pe = run.within_bounds(state, strict=strict_balance)
        mapped = time.monotonic()
        cost = comm_cost(blocks, where, pe)
        info = run.report(pe, cost, {"passes": passes, "buffer": buffer, "preset": preset}, slack)
        info["seconds"] = {"map": mapped - began, "verify": time.monotonic() - mapped}
        info["notices"] = [*stream.notices, *info["notices"]]
    warn_of(info["notices"], stacklevel=2)
    return Mapping(pe, where, info)


@frozen(eq=False)
class _Bounds:
    """Loads that bounds take into account, and the largest load and number of tasks without load per PE."""

    loads: Int64 | None
    load_caps: Int64
    zero_load_caps: Int64
    tree: TreeOfPes
    heavy: int
    unit: int

    @classmethod
    def of(cls, loads: Int64 | None, n: int, where: Allocation, slack: Any) -> _Bounds:
        """Return the bounds; with at most as many tasks as PEs every PE holds one."""
        capacity = np.ones(where.k, np.int64) if where.capacity is None else where.capacity
        found = load_bound(None if n <= where.k else loads, n, capacity, slack)
        caps = np.ones(where.k, np.int64) if n <= where.k else found.caps
        zero_load = 0 if found.loads is None else int(np.count_nonzero(found.loads == 0))
        zero_load_caps = count_bounds(zero_load, capacity, slack)
        tree = tree_of(where, caps, zero_load_caps)
        return cls(found.loads, caps, zero_load_caps, tree, found.heavy, found.unit)


@dataclass(slots=True)
class _Run:
    blocks: CheckedStream
    where: Allocation
    bounds: _Bounds
    options: dict[str, Any]
    moves: int = 0
    clusters: int = 0
    sketch: Sketch | None = None
    repaired: int = 0

    def first_pass(self, buffer: int, imbalance: float | str) -> MappingState:
        """Return a first mapping: of clusters in the buffer, or of one vertex after the other."""
        n, k, loads = self.blocks.stream.n, self.where.k, self.bounds.loads
        if buffer == 0 or n <= k or n == 0:
            state = place_online(self.blocks, self.bounds.tree, loads)
            check_sums(self.blocks.total_weight, self.where)
            return state
        total = n if loads is None else sum_of(loads)
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
            found = map_tasks(graph, self.where, partition=True, imbalance=imbalance, **self.options)
        return state_of(found.pe[cluster_of], self.bounds.tree, loads)

    def within_bounds(self, state: MappingState, *, strict: bool) -> Int32:
        """Return PEs that keep the bounds as far as loads allow; what is left over is moved by load alone."""
        pe, loads, k = state.pe, self.bounds.loads, self.where.k
        if self._over(pe):
            none = np.empty(0, np.int32)
            alone = CommGraph.from_edges(none, none, n=len(pe))
            before = pe
            pe = meet_bounds(alone, self.where, pe, loads, self.bounds.load_caps).pe
            if loads is not None and int(loads.min(initial=1)) == 0:
                zero_load = (loads == 0).astype(np.int64)
                pe = meet_bounds(alone, self.where, pe, zero_load, self.bounds.zero_load_caps).pe
            self.repaired = int(np.count_nonzero(pe != before))
        if strict and self._over(pe):
            kept, caps, unit = group_sums(pe, loads, k), self.bounds.load_caps, self.bounds.unit
            worst = int(np.argmax(kept - caps))
            what = f"the loads could not be kept within {caps[worst] * unit} per PE"
            raise InfeasibleError(f"{what}: PE {worst} holds {kept[worst] * unit}; allow a larger imbalance")
        return pe

    def _over(self, pe: Int32) -> bool:
        loads, k = self.bounds.loads, self.where.k
        over = bool(np.any(group_sums(pe, loads, k) > self.bounds.load_caps))
        if loads is None:
            return over
        zero_load = group_sums(pe, (loads == 0).astype(np.int64), k)
        return over or bool(np.any(zero_load > self.bounds.zero_load_caps))

    def report(self, pe: Int32, cost: int, method: dict[str, Any], slack: Any) -> dict[str, Any]:
        """Return ``Mapping.info``, in which loads are counted from the result."""
        bounds, k = self.bounds, self.where.k
        kept = group_sums(pe, bounds.loads, k)
        met = bool(np.all(kept <= bounds.load_caps))
        notices = [] if met else ["the loads could not be kept within the bound"]
        if bounds.heavy:
            what = "task is heavier" if bounds.heavy == 1 else "tasks are heavier"
            has = "has a PE" if bounds.heavy == 1 else "have a PE each"
            notices.append(f"{bounds.heavy} {what} than a fair share and {has}")
        work = {"passes": self.blocks.passes, "moves": self.moves, "repair_moves": self.repaired}
        if self.sketch is not None:
            work |= {"clusters": self.clusters, "contractions": self.sketch.contractions}
            work["dropped_pairs"] = self.sketch.dropped
        named = ",".join(f"{key}={value}" for key, value in method.items() if key != "preset")
        mean = kept.sum() / k
        return {
            "problem": "partition", "mapper": f"stream:{named}", "preset": None if self.sketch is None else
            method["preset"], "refine": [], "objective": "comm_cost", "objective_value": cost,
            "weight": "bytes", "seed": self.options["seed"], "threads": self.options["threads"] or 1,
            "version": __version__, "deterministic": True, "work": dict(sorted(work.items())),
            "comm_cost": cost, "imbalance": float(kept.max() / mean - 1) if mean else 0.0,
            "balance": "met" if met else "relaxed",
            "bound_asked": int(bounds.load_caps.max()) * bounds.unit,
            "bound_kept": int(kept.max()) * bounds.unit,
            "notices": notices, "history": [],
        }


