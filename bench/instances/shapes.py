"""Generated graphs beyond those of graphs.py: halos, random and recursive-matrix graphs."""

from __future__ import annotations

import numpy as np

from bench.instances.graphs import Arrays, from_edges


def halo(*sides: int) -> Arrays:
    """27-point halo exchange of a box of cells: faces, edges and corners carry 400, 20 and 1."""
    cells = np.indices(sides).reshape(len(sides), -1)
    near, far, volumes = [], [], []
    for step in np.ndindex(*(3,) * len(sides)):
        shift = np.array(step) - 1
        if not (shift != 0).any() or tuple(shift) < (0,) * len(sides):
            continue  # each pair once
        there = cells + shift[:, None]
        inside = ((there >= 0) & (there < np.array(sides)[:, None])).all(axis=0)
        near.append(np.flatnonzero(inside))
        far.append(np.ravel_multi_index(tuple(there[:, inside]), sides))
        volumes.append(np.full(int(inside.sum()), 400 // 20 ** (np.abs(shift).sum() - 1), np.int64))
    return from_edges(cells.shape[1], *(np.concatenate(each) for each in (near, far, volumes)))


def random_graph(n: int, edges: int, seed: int) -> Arrays:
    """Edges between random ends."""
    ends = np.random.default_rng(seed).integers(0, n, (2, edges))
    return from_edges(n, ends[0], ends[1])


def recursive_matrix(log_n: int, per_vertex: int, seed: int) -> Arrays:
    """R-MAT (Chakrabarti, Zhan and Faloutsos, 2004), quadrants by 0.57, 0.19, 0.19, 0.05."""
    rng = np.random.default_rng(seed)
    ends = np.zeros((2, per_vertex << log_n), np.int64)
    for _ in range(log_n):
        quadrant = np.searchsorted([0.57, 0.76, 0.95], rng.random(ends.shape[1]), side="right")
        ends = 2 * ends + np.stack([quadrant // 2, quadrant % 2])
    return from_edges(1 << log_n, ends[0], ends[1])
