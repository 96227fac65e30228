"""The judge: metrics of a placement from first principles, NumPy only.

Every tool's answer is judged here and nowhere else. It shares no code with the package under test
and takes no number from any tool.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from bench.instances.graphs import Arrays
from hopbytes._arrays import Int64

#: Arcs looked at together: bounds the memory of the judge.
CHUNK = 1 << 22


def load_bounds(loads: Int64, k: int, imbalance: float) -> tuple[int, int]:
    """Return the most that a PE may hold: as hopbytes rounds (1 + eps) c(V) / k, down, and as papers do, up.

    KaHIP, SharedMap and HeiStream define a balanced partition by the bound rounded up. Neither is less than
    ceil(c(V) / k) and than the heaviest task.
    """
    total = int(loads.sum())
    # eps as the fraction its decimal text means: 1.03 * total in floating point can fall below an integer.
    soft = (1 + Fraction(str(imbalance))) * total / k
    least = max(-(-total // k), int(loads.max(initial=0)))
    return max(math.floor(soft), least), max(math.ceil(soft), least)


def evaluate(
    graph: Arrays, pe: Int64, hierarchy: Sequence[int], distance: Sequence[int], imbalance: float
) -> dict[str, object]:
    """Judge a placement of tasks on a tree machine.

    Parameters
    ----------
    graph : Arrays
    pe : int[n]
        PE of every task, 0..k-1.
    hierarchy, distance : sequences of int
        Children and distance per level, innermost first; k = product of `hierarchy`.
    imbalance : float
        The eps of the load bound.

    Returns
    -------
    dict
        ``comm_cost`` J = sum over stored arcs (both directions of an edge) of volume x distance,
        ``edge_cut`` over undirected edges, ``level_volumes`` (arcs by the level they cross,
        innermost first, then those inside a PE at the front), ``max_load``, ``load_bound``,
        ``imbalance`` = max_load / ideal - 1, ``used_pes``, ``empty_pes``; ``over_bound``: some PE holds more
        than the bound rounded up, by which all tools are judged; ``over_rounded_down``: more than the bound
        rounded down, which hopbytes keeps.

    Raises
    ------
    ValueError
        Not one PE in 0..k-1 per task.
    """
    k = int(np.prod(np.asarray(hierarchy, dtype=np.int64)))
    if pe.shape != (graph.n,):
        raise ValueError(f"{len(pe)} placements, expected {graph.n}")
    if graph.n and not 0 <= int(pe.min()) <= int(pe.max()) < k:
        raise ValueError(f"PE {int(pe.min())} or {int(pe.max())} outside 0..{k - 1}")
    volumes = level_volumes(graph, pe.astype(np.int64), hierarchy)
    loads = graph.task_loads()
    held = np.zeros(k, np.int64)
    np.add.at(held, pe, loads)
    (bound, rounded_up), total = load_bounds(loads, k, imbalance), int(loads.sum())
    heaviest = int(held.max())
    used = int(np.count_nonzero(np.bincount(pe, minlength=k)))
    return {
        "comm_cost": sum(v * d for v, d in zip(volumes[1:], distance, strict=True)),
        "edge_cut": sum(volumes[1:]) // 2,
        "level_volumes": volumes,
        "max_load": heaviest,
        "load_bound": bound,
        "imbalance_reached": heaviest * k / total - 1 if total else 0.0,
        "over_bound": heaviest > rounded_up,
        "over_rounded_down": heaviest > bound,
        "used_pes": used,
        "empty_pes": k - used,
    }


def level_volumes(graph: Arrays, pe: Int64, hierarchy: Sequence[int]) -> list[int]:
    """Volume of stored arcs by the outermost level at which their ends differ; entry 0: same PE."""
    # groups[i] = size of a subtree of level i: PEs x and y part at level i + 1 when they lie in the same
    # subtree of size groups[i + 1] but not of size groups[i].
    groups = np.cumprod([1, *hierarchy]).tolist()
    totals = [0] * (len(hierarchy) + 1)
    for start in range(0, len(graph.targets), CHUNK):
        part = slice(start, start + CHUNK)
        arcs = np.arange(start, min(start + CHUNK, len(graph.targets)))
        sources = np.searchsorted(graph.indptr, arcs, side="right") - 1
        near, far = pe[sources], pe[graph.targets[part]]
        weights = graph.volumes[part] if graph.volumes is not None else np.ones(len(arcs), np.int64)
        weights = np.where(sources == graph.targets[part], 0, weights)
        level = sum((near // size != far // size).astype(np.int64) for size in groups[:-1])
        for number in range(len(totals)):
            totals[number] += int(weights[level == number].sum())
    return totals
