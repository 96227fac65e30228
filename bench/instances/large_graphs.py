"""Writes large graphs for measurements with threads, as ParHIP binaries in the present folder.

    python -m bench.instances.large_graphs del_20 rgg_20 grid_101 rmat_17

- ``del_L``: the Delaunay graph of 2^L random points in the unit square, numbered along a Morton curve.
- ``rgg_L``: the pairs of 2^L such points within 0.55 sqrt(ln n / n).
- ``grid_K``: a box of K^3 vertices with 6 neighbours.
- ``ba_L``: 2^L vertices, each with 9 edges to earlier ones, drawn by their degree (Barabási, Albert).
- ``rmat_L``: 8 * 2^L edges drawn by R-MAT (0.57, 0.19, 0.19, 0.05), vertices with edges numbered at random.

All random numbers have fixed seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.spatial import Delaunay, cKDTree

from bench.instances.graphs import points_along_curve
from hopbytes._arrays import Int64

SEED = 1
Edges = tuple[int, Int64, Int64]  # number of vertices, both ends of every edge


def points(count: int) -> np.ndarray:
    """Return float64[count, 2], random points in the order of a Morton curve."""
    return points_along_curve(count, SEED, side=65535)  # the kept rows are of graphs with this number


def delaunay(power: int) -> Edges:
    """Return the edges of the Delaunay triangulation of 2^power points."""
    corners = Delaunay(points(2**power)).simplices.astype(np.int64)
    pairs = np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]), axis=1)
    code = np.unique(pairs[:, 0] * 2**power + pairs[:, 1])
    return 2**power, code // 2**power, code % 2**power


def geometric(power: int) -> Edges:
    """Return the pairs of 2^power points that are near each other."""
    count = 2**power
    reach = 0.55 * np.sqrt(np.log(count) / count)
    pairs = cKDTree(points(count)).query_pairs(reach, output_type="ndarray")
    return count, pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)


def grid(side: int) -> Edges:
    """Return the edges of a box of side^3 vertices."""
    number = np.arange(side**3).reshape(side, side, side)
    first = np.concatenate([number[1:].ravel(), number[:, 1:].ravel(), number[:, :, 1:].ravel()])
    second = np.concatenate([number[:-1].ravel(), number[:, :-1].ravel(), number[:, :, :-1].ravel()])
    return side**3, first, second


def preferential(power: int) -> Edges:
    """Return the edges of a graph of preferential attachment without parallel ones."""
    random, count, each = np.random.default_rng(SEED), 2**power, 9
    first = np.repeat(np.arange(1, count), each)
    places = (random.random(len(first)) * (2 * np.arange(len(first)) + 1)).astype(np.int64)
    ends = np.zeros(2 * len(first), np.int64)  # of all edges so far
    ends[::2] = first
    for i, place in enumerate(places.tolist()):
        ends[2 * i + 1] = ends[place] if place < 2 * i else first[i] - 1
    second = ends[1::2]
    code = np.unique((np.minimum(first, second) * count + np.maximum(first, second))[first != second])
    return count, code // count, code % count


def rmat(power: int) -> Edges:
    """Return the edges of an R-MAT graph without isolated vertices."""
    random, draws = np.random.default_rng(SEED), 8 * 2**power
    first, second = np.zeros(draws, np.int64), np.zeros(draws, np.int64)
    for _ in range(power):
        drawn = random.random(draws)
        first = 2 * first + (drawn >= 0.76)
        second = 2 * second + (((drawn >= 0.57) & (drawn < 0.76)) | (drawn >= 0.95))
    code = np.unique((np.minimum(first, second) * 2**power + np.maximum(first, second))[first != second])
    first, second = code // 2**power, code % 2**power
    used = np.unique(np.concatenate([first, second]))
    number = np.full(2**power, -1)
    number[used] = np.random.default_rng(SEED + 1).permutation(len(used))
    return len(used), number[first], number[second]


KINDS: dict[str, Callable[[int], Edges]] = {
    "del": delaunay, "rgg": geometric, "grid": grid, "ba": preferential, "rmat": rmat
}


def write(path: Path, edges: Edges) -> None:
    """Write a graph without weights in the layout of ParHIP with 64-bit numbers."""
    n, first, second = edges
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    rows = sparse.coo_matrix((np.ones(len(ends[0]), np.int8), ends), shape=(n, n)).tocsr()
    rows.sort_indices()
    head = np.array([3, n, rows.nnz], "<i8")
    offsets = ((n + 4) * 8 + 8 * rows.indptr.astype(np.int64)).astype("<i8")
    path.write_bytes(head.tobytes() + offsets.tobytes() + rows.indices.astype("<i8").tobytes())


def main() -> None:
    """Write the graphs that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME")
    for name in parser.parse_args().names:
        kind, _, size = name.partition("_")
        write(Path(f"{name}.parhip"), KINDS[kind](int(size)))


if __name__ == "__main__":
    main()
