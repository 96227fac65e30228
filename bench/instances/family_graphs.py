"""Graphs of many families, random sizes and weights, on many machines: cases of families.py.

A case (family, size, weights, numbering, machine, distances, bound, seed of the tools) follows from a seed
and a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import Delaunay, cKDTree

from bench.instances import graphs
from bench.instances.graphs import Arrays, from_edges
from bench.instances.shapes import recursive_matrix

Random = np.random.Generator
MACHINES = ("4:8:2", "4:8:6", "16:4", "2:2:2:2:2:2:2", "7:5:3", "64", "3:100", "4:16:32")
DISTANCES = ("1:10:100:1000", "1:2:3:4", "1:100:101:102", "5:5:6:7")
BOUNDS = (0.0, 0.005, 0.03, 0.03, 0.1)


def edges_of(graph: Arrays) -> tuple[Any, Any, Any]:
    """Every edge once: ends and volume."""
    rows = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    once = rows < graph.targets
    volume = np.ones(len(rows), np.int64) if graph.volumes is None else graph.volumes
    return rows[once], graph.targets[once], volume[once]


def box(rng: Random, n: int, axes: int, ring: bool) -> Arrays:
    """Grid or torus with random sides; every axis with a volume of its own one time in three."""
    shape = np.exp(rng.normal(0, 0.7, axes))
    sides = np.maximum(2, (shape * (n / shape.prod()) ** (1 / axes)).round().astype(int))
    cells = np.arange(sides.prod()).reshape(sides)
    near = [cells if ring else np.take(cells, range(side - 1), axis) for axis, side in enumerate(sides)]
    far = [
        np.roll(cells, -1, axis) if ring else np.take(cells, range(1, side), axis)
        for axis, side in enumerate(sides)
    ]
    by_axis = [1, 10, 100, 1000] if rng.random() < 1 / 3 else [1] * 4
    volumes = [np.full(each.size, by_axis[axis]) for axis, each in enumerate(near)]
    flat = [np.concatenate([each.ravel() for each in part]) for part in (near, far, volumes)]
    return from_edges(cells.size, *flat)


def hypercube(rng: Random, n: int) -> Arrays:
    bits = int(np.log2(n))
    cells = np.arange(1 << bits)
    across = np.concatenate([cells ^ (1 << bit) for bit in range(bits)])
    return from_edges(len(cells), np.tile(cells, bits), across)


def rmat(rng: Random, n: int) -> Arrays:
    return recursive_matrix(int(np.log2(n)), int(rng.integers(3, 13)), int(rng.integers(1 << 30)))


def barabasi_albert(rng: Random, n: int) -> Arrays:
    each = int(rng.integers(1, 8))
    ends = list(range(each))
    near, far = [], []
    for task in range(each, n):
        met = [ends[i] for i in rng.integers(0, len(ends), each)]
        near += [task] * each
        far += met
        ends += met + [task] * each
    return from_edges(n, near, far)


def block_model(rng: Random, n: int) -> Arrays:
    """Communities of very unequal size; a few edges in a hundred leave them."""
    share = rng.pareto(1.2, int(rng.integers(5, 80))) + 0.05
    home = np.sort(rng.choice(len(share), n, p=share / share.sum()))
    first, size = np.searchsorted(home, np.arange(len(share))), np.bincount(home, minlength=len(share))
    near = rng.integers(0, n, int(n * rng.uniform(3, 10)))
    far = first[home[near]] + (rng.random(len(near)) * size[home[near]]).astype(np.int64)
    leaves = rng.random(len(near)) < rng.uniform(0.02, 0.3)
    return from_edges(n, near, np.where(leaves, rng.integers(0, n, len(near)), far))


def regular(rng: Random, n: int) -> Arrays:
    rounds = [rng.permutation(n // 2 * 2).reshape(-1, 2) for _ in range(int(rng.integers(3, 9)))]
    pairs = np.concatenate(rounds)
    return from_edges(n // 2 * 2, pairs[:, 0], pairs[:, 1])


def tree(rng: Random, n: int) -> Arrays:
    task = np.arange(1, n)
    kind = rng.integers(3)
    anywhere, regular = rng.random(n - 1) * task, (task - 1) // rng.integers(2, 6)
    parent = (anywhere, regular, np.maximum(0, task - rng.integers(1, 30, n - 1)))
    return from_edges(n, task, parent[kind].astype(np.int64))


def comb(rng: Random, n: int) -> Arrays:
    """A path with teeth of random length (1 to 50: caterpillars as well)."""
    longest = int(rng.integers(1, 51))
    task = np.arange(1, n)
    root = rng.random(n - 1) < 1 / longest
    spine = np.concatenate([[0], task[root]])
    last = spine[np.searchsorted(spine, task) - 1]
    return from_edges(n, task, np.where(root, last, task - 1))


def path(rng: Random, n: int) -> Arrays:
    task = np.arange(n)
    return from_edges(n, task, (task + 1) % n if rng.random() < 0.5 else np.minimum(task + 1, n - 1))


def star_of_cliques(rng: Random, n: int) -> Arrays:
    near, far, task = [], [], 1
    while task < n:
        size = int(rng.integers(3, 60))
        members = np.arange(task, min(n, task + size))
        a, b = np.triu_indices(len(members), 1)
        near += [members[a], [0]]
        far += [members[b], members[:1]]
        task += size
    return from_edges(n, np.concatenate(near), np.concatenate(far))


def bipartite(rng: Random, n: int) -> Arrays:
    left = int(n * rng.uniform(0.05, 0.5))
    count = int(n * rng.uniform(2, 6))
    near = rng.integers(0, left, count)
    beside = near / left * (n - left) + rng.normal(0, rng.choice([20, 1e9]), count)
    far = left + beside.astype(np.int64) % (n - left)
    return from_edges(n, near, far)


def geometric(rng: Random, n: int, axes: int, nearest: int) -> Arrays:
    """Every point beside its nearest ones."""
    points = rng.random((n, axes))
    found = cKDTree(points).query(points, nearest + 1)[1][:, 1:]
    return from_edges(n, np.repeat(np.arange(n), nearest), found)


def road(rng: Random, n: int) -> Arrays:
    """A spanning tree of a triangulation and few edges more, many of them cut by further vertices."""
    corners = Delaunay(rng.random((n // 2, 2))).simplices
    near, far, _ = edges_of(from_edges(n // 2, corners, np.roll(corners, -1, axis=1)))
    weight = rng.random(len(near)) + 0.01
    keep = sp.csgraph.minimum_spanning_tree(sp.coo_array((weight, (near, far)), shape=(n // 2,) * 2)).tocoo()
    more = rng.random(len(near)) < 0.1
    near, far = np.concatenate([keep.row, near[more]]), np.concatenate([keep.col, far[more]])
    middle = n // 2 + np.arange(len(near))
    return from_edges(n // 2 + len(near), np.concatenate([near, middle]), np.concatenate([middle, far]))


def circuit(rng: Random, n: int) -> Arrays:
    """Rent's rule: lengths of wires along a hierarchy fall as a power; a few nets have many pins."""
    near = rng.integers(0, n, int(n * rng.uniform(1.5, 3)))
    length = np.minimum(n, rng.pareto(rng.uniform(0.5, 1.0), len(near)) + 1)
    far = (near + length * rng.choice([-1, 1], len(near))).astype(np.int64) % n
    hubs = rng.integers(0, n, 10)
    pins = rng.integers(0, n, (10, n // 40))
    near, far = np.concatenate([near, np.repeat(hubs, n // 40)]), np.concatenate([far, pins.ravel()])
    return from_edges(n, near, far)


def arrow(rng: Random, n: int) -> Arrays:
    """Banded or block-diagonal matrix with some dense rows."""
    task, width = np.arange(n), int(rng.integers(2, 20))
    if rng.random() < 0.5:
        pairs = [(task[:-step], task[step:]) for step in range(1, width)]
    else:
        pairs = [(task, np.minimum(n - 1, task // width * width + step)) for step in range(width)]
    dense = rng.integers(0, n, int(rng.integers(1, 6)))
    pairs += [(np.full(n, row), task) for row in dense]
    return from_edges(n, np.concatenate([a for a, _ in pairs]), np.concatenate([b for _, b in pairs]))


def multigrid(rng: Random, n: int) -> Arrays:
    """Grids of halving sides, every cell beside its parent; coarser ones talk in smaller messages."""
    side, first = int((n * 0.75) ** 0.5), 0
    near, far, volumes, volume = [], [], [], 64
    while side > 1:
        cells = first + np.arange(side * side).reshape(side, side)
        half = np.minimum(np.arange(side) // 2, side // 2 - 1)
        for a, b in ((cells[1:], cells[:-1]), (cells[:, 1:], cells[:, :-1])):
            near.append(a.ravel())
            far.append(b.ravel())
        if side > 3:
            parents = first + side * side + half[:, None] * (side // 2) + half
            near.append(cells.ravel())
            far.append(parents.ravel())
        volumes.append(np.full(sum(map(len, near)) - sum(map(len, volumes)), volume))
        first, side, volume = first + side * side, side // 2 if side > 3 else 0, max(1, volume // 2)
    return from_edges(first, np.concatenate(near), np.concatenate(far), np.concatenate(volumes))


def union(rng: Random, n: int) -> Arrays:
    """Parts of other families that share no edge, and some tasks without any."""
    parts = rng.choice(list(BASIC), int(rng.integers(2, 7)))
    near, far, volumes, first = [], [], [], 0
    for share, name in zip(rng.dirichlet(np.full(len(parts), 0.7)), parts, strict=True):
        part = BASIC[name](rng, max(64, int(share * n)))
        a, b, volume = edges_of(part)
        near.append(a + first)
        far.append(b + first)
        volumes.append(volume)
        first += part.n
    alone = int(rng.integers(0, n // 10))
    return from_edges(first + alone, *(np.concatenate(each) for each in (near, far, volumes)))


Maker = Callable[[Random, int], Arrays]
BASIC: dict[str, Maker] = {
    "grid2": lambda rng, n: box(rng, n, 2, False), "grid3": lambda rng, n: box(rng, n, 3, False),
    "grid4": lambda rng, n: box(rng, n, 4, False), "torus2": lambda rng, n: box(rng, n, 2, True),
    "torus3": lambda rng, n: box(rng, n, 3, True), "hypercube": hypercube, "rmat": rmat,
    "barabasi_albert": barabasi_albert, "block_model": block_model, "regular": regular, "tree": tree,
    "comb": comb, "path": path, "star_of_cliques": star_of_cliques, "bipartite": bipartite, "road": road,
    "circuit": circuit, "arrow": arrow, "multigrid": multigrid,
    "knn2": lambda rng, n: geometric(rng, n, 2, 6), "knn10": lambda rng, n: geometric(rng, n, 10, 8),
}
FAMILIES: dict[str, Maker] = {**BASIC, "union": union}


def weighted(graph: Arrays, rng: Random, decades: float | None = None) -> tuple[Arrays, str]:
    """Give it, one time in three each, volumes over up to nine decades and loads of a power law.

    With `decades` every graph has volumes of that many.
    """
    label = ""
    if rng.random() < 1 / 3 or decades is not None:
        near, far, volume = edges_of(graph)
        decades = int(rng.choice([2, 4, 9])) if decades is None else decades
        volume = volume * (10 ** rng.uniform(0, decades, len(near))).astype(np.int64)
        graph, label = from_edges(graph.n, near, far, volume), f"+volumes{decades:g}"
    if rng.random() < 1 / 3:
        loads = np.minimum(100, rng.pareto(1.3, graph.n) + 1).astype(np.int64)
        graph, label = Arrays(graph.indptr, graph.targets, graph.volumes, loads), label + "+loads"
    return graph, label


def case_of(
    seed: int, number: int, tasks: tuple[int, int] = (2000, 60000), decades: float | None = None
) -> tuple[dict[str, Any], Arrays]:
    """Draw a case: everything follows from the arguments.

    Parameters
    ----------
    seed, number : int
        The number decides the family.
    tasks : (int, int)
        Between what their number is drawn, about.
    decades : float or None
        Volumes of every graph are drawn as ``10**uniform(0, decades)``; None: see :func:`weighted`.
    """
    rng = np.random.default_rng([seed, number])
    family = list(FAMILIES)[number % len(FAMILIES)]
    n = int(np.exp(rng.uniform(*np.log(tasks))))
    graph, label = weighted(FAMILIES[family](rng, n), rng, decades)
    fitting = [each for each in MACHINES if 2 * np.prod([int(x) for x in each.split(":")]) <= graph.n]
    machine = str(rng.choice(fitting))
    depth = machine.count(":") + 1
    if depth <= 4:
        ladder = [int(x) for x in str(rng.choice(DISTANCES)).split(":")][:depth]
    else:
        ladder = list(range(1, depth + 1))
    bound = float(rng.choice(BOUNDS)) if graph.loads is None else float(rng.choice([0.03, 0.1]))
    if rng.random() < 0.3:
        graph, label = graphs.renumbered(graph, int(rng.integers(1 << 30))), label + "+renumbered"
    facts = {
        "seed": seed, "case": number, "family": family, "label": label, "n": graph.n,
        "arcs": len(graph.targets), "hierarchy": machine, "distance": ":".join(map(str, ladder)),
        "imbalance": bound, "tool_seed": int(rng.integers(1000)), "hash": graph.digest()[:12],
    }
    return facts, graph
