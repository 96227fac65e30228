"""Load the graphs of the suites from where they are published, convert them and compare their checksums.

    python -m bench.instances.fetch --suite foundation     # what a suite lacks
    python -m bench.instances.fetch 4elt fe_pwt            # these
    python -m bench.instances.fetch --list                 # name, source, licence and checksum of all

``bench/instances/sources.toml`` names them. They go to ``bench/data/graphs``, which git ignores. A graph
whose checksum differs is not stored. Meshes of CAD models need ``pip install gmsh==4.15.2``.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench import DATA
from bench.instances.graphs import (
    STORED,
    Arrays,
    from_edges,
    graph_file,
    read_metis,
    replacing,
    sources,
    write_metis,
)

Facts = dict[str, Any]
#: Nets with more pins than this become no edges of a circuit's graph.
MOST_PINS = 8
TETRAHEDRON = 4
NODES_OF_FACES = ((0, 1, 2), (0, 1, 3), (1, 2, 3), (0, 2, 3))


def address(url: str) -> str:
    """Return the address of a file; ``debian:PATH`` is one of the mirror that apt uses here."""
    if not url.startswith("debian:"):
        return url
    mirror = os.environ.get("HOPBYTES_DEBIAN_MIRROR", "")
    if not mirror and shutil.which("apt-get"):
        command = ["apt-get", "indextargets", "--format", "$(SITE)"]
        mirror = subprocess.run(command, capture_output=True, text=True).stdout.partition("\n")[0]
    if not mirror:
        raise OSError(f"{url}: no mirror of Debian is known here, expected HOPBYTES_DEBIAN_MIRROR=ADDRESS")
    return f"{mirror.rstrip('/')}/{url.removeprefix('debian:')}"


def download(url: str) -> bytes:
    """Return a published file; an archive is kept in ``bench/data`` because several graphs may need it."""
    kept = DATA / "archives" / hashlib.sha256(url.encode()).hexdigest()[:16]
    if kept.exists():
        return kept.read_bytes()
    with urllib.request.urlopen(address(url), timeout=60) as answer:
        data: bytes = answer.read()
    if ".tar." in url:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with replacing(kept) as partial:
            partial.write_bytes(data)
    return data


def member(archive: bytes, name: str) -> bytes:
    """Return the file of an archive whose path ends with a name."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        for each in opened:
            if each.name.endswith(name) and (file := opened.extractfile(each)) is not None:
                return file.read()
    raise ValueError(f"no {name} in the archive")


def metis(data: bytes, facts: Facts, folder: Path) -> Arrays:
    """Read a METIS graph."""
    path = folder / "given.graph"
    path.write_bytes(data)
    return read_metis(path)


def matrix(data: bytes, facts: Facts, folder: Path) -> Arrays:
    """Read the pattern of a matrix of Matrix Market; vertices are numbered as their rows are."""
    lines = [line for line in data.decode().splitlines() if not line.startswith("%")]
    ends = np.array([line.split()[:2] for line in lines if line.split()], dtype=np.int64)
    numbers, place = np.unique(ends, return_inverse=True)
    return from_edges(len(numbers), *place.reshape(-1, 2).T)


def roads(data: bytes, facts: Facts, folder: Path) -> Arrays:
    """Read a road network of the ninth DIMACS challenge, without crossings that have no road."""
    words = [line.split() for line in data.decode().splitlines()]
    ends = np.array([line[1:3] for line in words if line and line[0] == "a"], dtype=np.int64)
    used, place = np.unique(ends[ends[:, 0] != ends[:, 1]], return_inverse=True)
    return from_edges(len(used), *place.reshape(-1, 2).T)


def nets(data: bytes, facts: Facts, folder: Path) -> Arrays:
    """Read a hypergraph of hMETIS: an edge's volume is the number of small nets that both ends share."""
    lines = [line for line in data.decode().splitlines() if line.strip() and not line.startswith("%")]
    count, cells = map(int, lines[0].split()[:2])
    pairs = []
    for line in lines[1 : count + 1]:
        pins = sorted(set(map(int, line.split())))
        if 2 <= len(pins) <= MOST_PINS:
            pairs += [(a - 1, b - 1) for place, a in enumerate(pins) for b in pins[:place]]
    ends = np.array(pairs, dtype=np.int64)
    return from_edges(cells, *ends.T, volumes=np.ones(len(ends), np.int64))


def traffic(data: bytes, facts: Facts, folder: Path) -> Arrays:
    """Read recorded traffic, lines ``rank , rank = bytes``."""
    found = re.findall(r"^(\d+) , (\d+) = ([\d.eE+]+)\s*$", data.decode(), re.M)
    ends = np.array([pair[:2] for pair in found], dtype=np.int64)
    volumes = np.array([max(1, round(float(pair[2]))) for pair in found], dtype=np.int64)
    return from_edges(int(ends.max()) + 1, *ends.T, volumes=volumes)


def mesh(data: bytes, facts: Facts, folder: Path) -> Arrays:
    """Fill a CAD model with tetrahedra: graph of their nodes, or of tetrahedra that share a face."""
    import gmsh
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    path = folder / Path(facts["member"]).name
    path.write_bytes(data)
    gmsh.initialize(["-noenv"], readConfigFiles=False)
    try:
        option = gmsh.option.setNumber
        for name, value in (
            ("General.Terminal", 0), ("General.NumThreads", 1), ("Mesh.RandomSeed", 1),
            ("Mesh.Algorithm3D", 1), ("Mesh.MeshSizeExtendFromBoundary", 0),
            ("Mesh.MeshSizeFromCurvature", 0), ("Mesh.MeshSizeFromPoints", 0),
        ):  # fmt: skip
            option(name, value)
        gmsh.open(str(path))
        corners = np.array(gmsh.model.getBoundingBox(-1, -1))
        size = facts["size"] * float(np.linalg.norm(corners[3:] - corners[:3]))
        option("Mesh.MeshSizeMax", size)
        option("Mesh.MeshSizeMin", size)
        gmsh.model.mesh.generate(3)
        nodes = gmsh.model.mesh.getElementsByType(TETRAHEDRON)[1].astype(np.int64).reshape(-1, 4)
    finally:
        gmsh.finalize()
    graph = _of_faces(nodes) if facts.get("dual") else _of_nodes(nodes)
    return _renumbered(graph, np.argsort(reverse_cuthill_mckee(_matrix(graph), symmetric_mode=True)))


def _largest_component(graph: Arrays) -> Arrays:
    from scipy.sparse.csgraph import connected_components

    label = connected_components(_matrix(graph))[1]
    inside = label == np.bincount(label).argmax()
    return _renumbered(graph, np.where(inside, np.cumsum(inside) - 1, -1))


def _matrix(graph: Arrays) -> Any:
    from scipy.sparse import csr_array

    ones = np.ones(len(graph.targets), np.int64)
    return csr_array((ones, graph.targets, graph.indptr), shape=(graph.n, graph.n))


def _renumbered(graph: Arrays, new: np.ndarray) -> Arrays:
    """Return the graph of the vertices with a number of 0 or more, under these numbers."""
    sources = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    kept = (sources < graph.targets) & (new[sources] >= 0) & (new[graph.targets] >= 0)
    volumes = None if graph.volumes is None else graph.volumes[kept]
    return from_edges(int(new.max()) + 1, new[sources[kept]], new[graph.targets[kept]], volumes)


def _of_nodes(nodes: np.ndarray) -> Arrays:
    used = np.unique(nodes)
    place = np.searchsorted(used, nodes)
    pairs = np.concatenate([place[:, [a, b]] for a in range(4) for b in range(a)])
    return from_edges(len(used), *pairs.T)


def _of_faces(nodes: np.ndarray) -> Arrays:
    faces = np.sort(np.concatenate([nodes[:, face] for face in NODES_OF_FACES]), axis=1)
    owner = np.tile(np.arange(len(nodes)), len(NODES_OF_FACES))
    order = np.lexsort(faces.T)
    same = (np.diff(faces[order], axis=0) == 0).all(axis=1)
    return from_edges(len(nodes), owner[order][:-1][same], owner[order][1:][same])


READERS: dict[str, Callable[[bytes, Facts, Path], Arrays]] = {
    "metis": metis, "matrix": matrix, "roads": roads, "nets": nets, "traffic": traffic, "mesh": mesh,
}  # fmt: skip


def fetch(name: str) -> str | None:
    """Load, convert, compare and store a graph; return why that was not possible, None where it is there."""
    facts = sources()[name]
    if graph_file(name) is not None:
        return None
    if "url" not in facts:
        return f"to be converted by hand from {facts['source']}"
    try:
        data = download(facts["url"])
        if "member" in facts:
            data = member(data, facts["member"])
        with tempfile.TemporaryDirectory() as folder:
            graph = READERS[facts["reader"]](data, facts, Path(folder))
    except (OSError, ValueError, ImportError) as error:
        return f"{facts['url']}: {type(error).__name__}: {error}"
    if facts.get("component"):
        graph = _largest_component(graph)
    if graph.digest() != facts["digest"]:
        return f"{facts['url']}: checksum {graph.digest()[:16]}, expected {facts['digest'][:16]}"
    STORED.mkdir(parents=True, exist_ok=True)
    write_metis(graph, plain := STORED / f"{name}.graph")
    with replacing(STORED / f"{name}.graph.xz") as partial:
        partial.write_bytes(lzma.compress(plain.read_bytes()))
    plain.unlink()
    return None


def described(name: str) -> str:
    """Return name, source, licence and checksum in one line."""
    facts = sources()[name]
    place = facts.get("url", facts.get("source"))
    inside = f" ({facts['member']})" if "member" in facts else ""
    return f"{name:16} {facts['digest'][:16]}  {place}{inside}  [{facts['licence']}]"


def fetch_all(names: list[str]) -> int:
    """Fetch what is missing, say what happened to each, and return how many are still missing."""
    missing = 0
    for name in names:
        if graph_file(name) is not None:
            continue
        print(described(name), file=sys.stderr, flush=True)
        if problem := fetch(name):
            missing += 1
            print(f"{name} is left out: {problem}", file=sys.stderr, flush=True)
    return missing


def main() -> None:
    """Fetch or list."""
    from bench.instances.suites import SUITES, published

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--suite", choices=sorted(SUITES))
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in sources()]:
        parser.error(f"no source of {unknown[0]!r} is known (known: {', '.join(sources())})")
    names = options.names or (published(options.suite) if options.suite else list(sources()))
    if options.list:
        print(*map(described, names), sep="\n")
    elif left := fetch_all(names):
        raise SystemExit(f"{left} of {len(names)} graphs are missing")


if __name__ == "__main__":
    main()
