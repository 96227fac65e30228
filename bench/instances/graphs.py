"""Inputs of the benchmark: graphs, generated or read, and their files in ``bench/data`` (ignored by git)."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import DATA, ROOT, read_toml
from hopbytes._arrays import Int64

#: Seed of the generated graphs and of the renumberings, unless a fresh one is asked for.
DEFAULT_SEED = 20517



@dataclass(frozen=True)
class Arrays:
    """A graph as plain arrays: both directions of every edge stored, rows sorted, None = all ones."""

    indptr: Int64
    targets: Int64
    volumes: Int64 | None = None
    loads: Int64 | None = None

    @property
    def n(self) -> int:
        """Number of tasks."""
        return len(self.indptr) - 1

    def task_loads(self) -> Int64:
        """int64[n]: load of every task."""
        return np.ones(self.n, np.int64) if self.loads is None else self.loads

    def digest(self) -> str:
        """Hash of the graph itself, whatever file it came from: sha256 over little-endian int64 arrays."""
        total = hashlib.sha256()
        for name in ("indptr", "targets", "volumes", "loads"):
            array = getattr(self, name)
            total.update(f"{name}:{-1 if array is None else len(array)};".encode())
            if array is not None:
                total.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        return total.hexdigest()


@dataclass(frozen=True)
class Instance:
    """One input: its name, family and how to make it.

    Parameters
    ----------
    name : str
    family : str
        ``2-D``, ``3-D``, ``irregular`` or ``MPI``: results are also averaged within these.
    make : callable
        seed -> Arrays.
    """

    name: str
    family: str
    make: Callable[[int], Arrays]


@dataclass(frozen=True)
class Prepared:
    """An instance on disk: METIS file for the tools, arrays for the judge."""

    name: str
    family: str
    path: Path
    arrays_path: Path
    digest: str
    n: int
    m: int
    seed: int

    def arrays(self) -> Arrays:
        """Read the arrays back."""
        with np.load(self.arrays_path) as stored:
            return Arrays(**{name: stored[name] for name in stored.files})


# -------------------------------------------------------------------- generators


def from_edges(n: int, near: Int64, far: Int64, volumes: Int64 | None = None) -> Arrays:
    """Undirected graph from edges given once, in any order; loops are dropped.

    Parallel edges add up; without volumes they are one, in whichever direction they are given.
    """
    from scipy.sparse import coo_array

    near, far = np.asarray(near, np.int64).ravel(), np.asarray(far, np.int64).ravel()
    volume = np.ones(len(near), np.int64) if volumes is None else np.asarray(volumes, np.int64).ravel()
    keep = near != far
    half = coo_array((volume[keep], (near[keep], far[keep])), shape=(n, n)).tocsr()
    whole = (half + half.T).tocsr()
    whole.sort_indices()
    unit = volumes is None or bool((whole.data == 1).all())
    indptr, targets = whole.indptr.astype(np.int64), whole.indices.astype(np.int64)
    return Arrays(indptr, targets, None if unit else whole.data)


def points_along_curve(count: int, seed: int, side: int = 65536) -> NDArray[np.float64]:
    """Random points of the unit square, numbered along a Z-order curve (as application data are: local).

    The curve goes through a grid of ``side`` by ``side`` cells, at most 65536.
    """
    points = np.random.default_rng(seed).random((count, 2))
    cells = (points * side).astype(np.uint64)
    key = np.zeros(count, np.uint64)
    for bit in range(16):
        for axis in range(2):
            key |= ((cells[:, axis] >> np.uint64(bit)) & np.uint64(1)) << np.uint64(2 * bit + axis)
    return points[np.argsort(key, kind="stable")]


def delaunay(log_n: int, seed: int) -> Arrays:
    """Delaunay triangulation of 2**log_n random points."""
    from scipy.spatial import Delaunay

    corners = Delaunay(points_along_curve(1 << log_n, seed)).simplices.astype(np.int64)
    return from_edges(1 << log_n, corners.ravel(), np.roll(corners, -1, axis=1).ravel())


def random_geometric(log_n: int, seed: int) -> Arrays:
    """2**log_n random points, an edge when closer than 0.55 sqrt(ln n / n) (the usual radius)."""
    from scipy.spatial import cKDTree

    n = 1 << log_n
    pairs = cKDTree(points_along_curve(n, seed)).query_pairs(
        0.55 * np.sqrt(np.log(n) / n), output_type="ndarray"
    )
    return from_edges(n, pairs[:, 0], pairs[:, 1])


def grid(*sides: int) -> Arrays:
    """Box of cells, each next to its neighbours along the axes (7 points in 3-D)."""
    cells = np.arange(int(np.prod(sides))).reshape(sides)
    near, far = [], []
    for axis, side in enumerate(sides):
        near.append(np.take(cells, range(side - 1), axis).ravel())
        far.append(np.take(cells, range(1, side), axis).ravel())
    return from_edges(cells.size, np.concatenate(near), np.concatenate(far))


def renumbered(graph: Arrays, seed: int) -> Arrays:
    """Return the same graph under a random numbering of its vertices."""
    new = np.random.default_rng(seed).permutation(graph.n)  # new[old] = number in the result
    sources = new[np.repeat(np.arange(graph.n), np.diff(graph.indptr))]
    targets = new[graph.targets]
    order = np.lexsort((targets, sources))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=graph.n))]).astype(np.int64)
    loads = None
    if graph.loads is not None:
        loads = np.empty_like(graph.loads)
        loads[new] = graph.loads
    return Arrays(indptr, targets[order], None if graph.volumes is None else graph.volumes[order], loads)


# -------------------------------------------------------------------- METIS files


def read_metis(path: Path) -> Arrays:
    """Read a METIS graph (also ``.xz``); no vertex sizes, one load per vertex."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt") as file:
        lines = [line for line in file.read().split("\n") if not line.startswith("%")]
    head = [int(field) for field in lines[0].split()]
    flags = f"{head[2]:03d}" if len(head) > 2 else "000"
    if flags[0] != "0" or len(head) > 3:
        raise ValueError(f"{path}: vertex sizes and several loads are not part of the benchmark")
    n, rows = head[0], lines[1 : head[0] + 1]
    counts = np.fromiter((len(row.split()) for row in rows), np.int64, n)
    numbers = np.array(" ".join(rows).split(), dtype=np.int64)
    loads = None
    if flags[1] == "1":
        first = np.cumsum(counts) - counts
        loads = numbers[first]
        numbers, counts = np.delete(numbers, first), counts - 1
    volumes = None
    if flags[2] == "1":
        numbers, volumes, counts = numbers[::2], numbers[1::2].copy(), counts // 2
    if len(numbers) != 2 * head[1]:
        raise ValueError(f"{path}: {len(numbers)} neighbours, expected {2 * head[1]}")
    targets, sources = numbers - 1, np.repeat(np.arange(n), counts)
    order = np.lexsort((targets, sources))
    return Arrays(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), targets[order],
        None if volumes is None else volumes[order], loads,
    )


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Name a file of our own that takes the place of `path` at the end: whole, whoever else writes it."""
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=path.parent) as folder:
        partial = Path(folder) / path.name
        yield partial
        os.replace(partial, path)


def write_metis(graph: Arrays, path: Path) -> None:
    """Write a METIS graph; the file appears whole or not at all."""
    flags = f"{int(graph.loads is not None)}{int(graph.volumes is not None)}"
    with replacing(path) as partial, open(partial, "w") as file:
        file.write(f"{graph.n} {len(graph.targets) // 2}" + (f" {flags}" if flags != "00" else "") + "\n")
        numbers = graph.targets + 1
        if graph.volumes is not None:
            numbers = np.column_stack([numbers, graph.volumes]).ravel()
        starts = graph.indptr * (1 if graph.volumes is None else 2)
        for block in range(0, graph.n, 1 << 16):
            last = min(graph.n, block + (1 << 16))
            words = list(map(str, numbers[starts[block] : starts[last]].tolist()))
            bounds = (starts[block : last + 1] - starts[block]).tolist()
            for task in range(block, last):
                row = words[bounds[task - block] : bounds[task - block + 1]]
                if graph.loads is not None:
                    row = [str(int(graph.loads[task])), *row]
                file.write(" ".join(row) + "\n")


# -------------------------------------------------------------------- suites

#: Family of the graphs in the developers' folder, from their descriptions.
FAMILIES = {
    **dict.fromkeys(
        ("4elt", "delaunay_n15", "delaunay_n16", "fe_4elt2", "naca4412_turb", "rgg_n_2_15_s0", "t60k"), "2-D"
    ),
    **dict.fromkeys(
        ("brack2", "chtPinArray3d", "copter2", "crankshaft_n", "cs4", "cti", "fe_pwt", "fe_sphere",
         "linkrods_d", "pump_n", "wing"), "3-D"
    ),
}


#: Where ``bench.instances.fetch`` stores published graphs.
STORED = DATA / "graphs"


@cache
def sources() -> dict[str, dict[str, Any]]:
    """Return what is known of every published graph, by its name: source, licence, checksum."""
    return read_toml(Path(__file__).with_name("sources.toml"))


def graph_file(name: str) -> Path | None:
    """Return the file of a published graph, the developers' or a fetched one; None where there is none."""
    paths = (folder / f"{name}.graph.xz" for folder in (shared_folder(), STORED) if folder is not None)
    return next((path for path in paths if path.exists()), None)


def shared_folder() -> Path | None:
    """Folder with the developers' graphs, None when there is none (``HOPBYTES_SHARED`` or ``../shared``)."""
    root = Path(os.environ.get("HOPBYTES_SHARED", ROOT.parent / "shared"))
    return root / "graphs" if (root / "graphs").is_dir() else None


def prepare(instance: Instance, seed: int = DEFAULT_SEED, folder: Path = DATA) -> Prepared:
    """Return the instance on disk, making it when it is not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    name = instance.name if seed == DEFAULT_SEED else f"{instance.name}-s{seed}"
    path, arrays_path, facts_path = (folder / f"{name}{end}" for end in (".graph", ".npz", ".json"))
    if not facts_path.exists():  # written last, so its presence means the others are whole
        graph = instance.make(seed)
        write_metis(graph, path)
        present = {key: array for key, array in vars(graph).items() if array is not None}
        with replacing(arrays_path) as partial:
            np.savez(partial, **present)
        facts = {"digest": graph.digest(), "n": graph.n, "m": len(graph.targets) // 2, "seed": seed}
        with replacing(facts_path) as partial:
            partial.write_text(json.dumps(facts))
    facts = json.loads(facts_path.read_text())
    return Prepared(name, instance.family, path, arrays_path, **facts)
