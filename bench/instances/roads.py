"""Graphs like road and power networks, from several makers: sparse, with small cuts that few searches find.

``suite()`` lists them all; the position in the list decides the half: settings are chosen on the even one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial import Delaunay, cKDTree

from bench.instances.family_graphs import edges_of, road
from bench.instances.graphs import Arrays, Instance, from_edges, read_metis, shared_folder

Points = NDArray[np.float64]
Random = np.random.Generator


def largest_component(graph: Arrays) -> Arrays:
    """The largest connected part, in the given order."""
    near, far, volume = edges_of(graph)
    label = sp.csgraph.connected_components(sp.coo_array((volume, (near, far)), shape=(graph.n,) * 2))[1]
    inside = label == np.bincount(label).argmax()
    new, kept = np.cumsum(inside) - 1, inside[near]
    return from_edges(int(inside.sum()), new[near[kept]], new[far[kept]])


def bent(rng: Random, n: int, near: NDArray[np.int64], far: NDArray[np.int64], most: int) -> Arrays:
    """Put up to `most` vertices on every edge, as the bends of a road."""
    count = rng.integers(0, most + 1, len(near))
    last, ends = near.copy(), n
    rows: list[NDArray[np.int64]] = []
    cols: list[NDArray[np.int64]] = []
    for step in range(most):
        longer = np.flatnonzero(count > step)
        fresh = ends + np.arange(len(longer))
        rows.append(last[longer])
        cols.append(fresh)
        last[longer], ends = fresh, ends + len(longer)
    return from_edges(ends, np.concatenate([*rows, last]), np.concatenate([*cols, far]))


def streets(seed: int, side: int = 110) -> Arrays:
    """A grid of streets: three tenths are missing, many have bends, some end blind."""
    rng = np.random.default_rng(seed)
    cells = np.arange(side * side).reshape(side, side)
    near = np.concatenate([cells[1:].ravel(), cells[:, 1:].ravel()])
    far = np.concatenate([cells[:-1].ravel(), cells[:, :-1].ravel()])
    kept = rng.random(len(near)) < 0.7
    return largest_component(bent(rng, side * side, near[kept], far[kept], 2))


def gabriel(points: Points) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Edges whose circle over the edge as its diameter holds no other point."""
    corners = Delaunay(points).simplices.astype(np.int64)
    near, far, _ = edges_of(from_edges(len(points), corners.ravel(), np.roll(corners, -1, axis=1).ravel()))
    middle = (points[near] + points[far]) / 2
    radius = np.linalg.norm(points[near] - points[far], axis=1) / 2
    alone = cKDTree(points).query(middle, 1)[0] > radius * (1 - 1e-9)
    return near[alone], far[alone]


def thinned(
    rng: Random, points: Points, near: NDArray[np.int64], far: NDArray[np.int64], share: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A minimum spanning tree by length and a share of the other edges, short ones rather."""
    length = np.linalg.norm(points[near] - points[far], axis=1) + 1e-9
    matrix = sp.coo_array((length, (near, far)), shape=(len(points),) * 2)
    tree = sp.csgraph.minimum_spanning_tree(matrix).tocoo()
    more = rng.random(len(near)) < share * np.median(length) / length
    return np.concatenate([tree.row, near[more]]), np.concatenate([tree.col, far[more]])


def country(seed: int, n: int = 16000) -> Arrays:
    """Towns of all sizes: a thinned Gabriel graph of points that lie close in towns and wide between them."""
    rng = np.random.default_rng(seed)
    centre, size = rng.random((150, 2)), rng.pareto(1.1, 150) + 0.2
    home = rng.choice(150, int(n * 0.8), p=size / size.sum())
    inside = centre[home] + rng.normal(0, 0.012, (len(home), 2)) * np.sqrt(size[home, None])
    points = np.concatenate([inside, rng.random((n - len(home), 2))])
    near, far = thinned(rng, points, *gabriel(points), 0.5)
    return bent(rng, n, near, far, 1)


def lanes(seed: int, n: int = 30000) -> Arrays:
    """A thinned Gabriel graph of evenly strewn points without bends."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    near, far = thinned(rng, points, *gabriel(points), 0.35)
    return from_edges(n, near, far)


def feeders(seed: int, n: int = 24000) -> Arrays:
    """A power network: a meshed transmission grid, rings below some nodes, radial feeders below both."""
    rng = np.random.default_rng(seed)
    high = n // 40
    points = rng.random((high, 2))
    near, far = thinned(rng, points, *gabriel(points), 0.6)
    rows, cols, ends = [near], [far], high
    stations = np.arange(high)
    for top in rng.choice(high, high // 3, replace=False):
        ring = ends + np.arange(rng.integers(3, 12))
        rows.append(np.concatenate([[top], ring]))
        cols.append(np.concatenate([ring, [top]]))
        stations, ends = np.concatenate([stations, ring]), ends + len(ring)
    while ends < n:
        length = int(min(n - ends, rng.integers(2, 60)))
        feeder = ends + np.arange(length)
        behind = feeder - np.minimum(np.arange(length), rng.geometric(0.75, length))
        behind[0] = rng.choice(stations)
        rows.append(feeder)
        cols.append(behind)
        ends += length
    return from_edges(ends, np.concatenate(rows), np.concatenate(cols))


def suite() -> list[Instance]:
    """All of them; those of the developers' folder where it is there."""
    made = [
        Instance("streets", "road", streets),
        Instance("country", "road", country),
        Instance("lanes", "road", lanes),
        Instance("feeders", "power", feeders),
        Instance("tree_and_more", "road", lambda seed: road(np.random.default_rng(seed), 20000)),
    ]
    folder = shared_folder()
    for name, kind in (("bremen", "road"), ("ACTIVSg25k", "power"), ("uk", "road")):
        path = Path() if folder is None else folder / f"{name}.graph.xz"
        if folder is not None and path.exists():
            made.append(Instance(name, kind, lambda _, path=path: read_metis(path)))
    return made
