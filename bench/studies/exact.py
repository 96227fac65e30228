"""The built-in partitioner with exact block sizes beside KaFFPa (``kahip``, mode eco, no imbalance).

``python -m bench.studies.exact`` cuts 200 pieces of 1000 vertices out of the developers' graphs (half are
balls around random vertices, half are blocks of a partition), each into 4 blocks of 250, and prints the
geometric mean of cut against cut and the CPU time per piece. Ours are one call for all pieces; KaFFPa is
called once a piece, in turn with the same clock, and copies its lists each time: below a millisecond its time
is no more than a hint. Cuts are recounted here.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.instances.graphs import FAMILIES, Arrays, read_metis, shared_folder
from bench.rivals.needed import need
from hopbytes._arrays import Int32, Int64
from hopbytes.engine.partition import partition_many
from hopbytes.engine.problem import PartitionSettings, SearchProblem, VertexGroups
from hopbytes.kernels.records import Csr


@dataclass(frozen=True)
class Piece:
    """A subgraph, where it came from and how it was cut out."""

    source: str
    kind: str
    graph: Arrays


def ball(graph: Arrays, size: int, rng: np.random.Generator) -> Int64 | None:
    """Return the `size` vertices first reached from a random one; None where its component is smaller."""
    start = int(rng.integers(graph.n))
    seen = {start}
    order = [start]
    for vertex in order:
        for other in graph.targets[graph.indptr[vertex] : graph.indptr[vertex + 1]].tolist():
            if other not in seen:
                seen.add(other)
                order.append(other)
        if len(order) >= size:
            return np.array(order[:size])
    return None


def induced(graph: Arrays, vertices: Int64) -> Arrays:
    """Return the subgraph of some vertices, in ascending order of their numbers; loads are left out."""
    vertices = np.sort(vertices)
    local = np.full(graph.n, -1, np.int64)
    local[vertices] = np.arange(len(vertices))
    sources = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    keep = (local[sources] >= 0) & (local[graph.targets] >= 0)
    rows = local[sources[keep]]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(vertices)))]).astype(np.int64)
    volumes = None if graph.volumes is None else graph.volumes[keep]
    return Arrays(indptr, local[graph.targets[keep]], volumes)


def blocks(graph: Arrays, size: int, seed: int) -> list[Int64]:
    """Return the blocks of a partition into blocks of exactly `size` vertices (the rest is one more)."""
    full, rest = divmod(graph.n, size)
    caps = np.array([size] * full + ([rest] if rest else []), np.int64)
    part, _ = partition_many(
        SearchProblem(Csr(graph.indptr, graph.targets.astype(np.int32), graph.volumes)),
        VertexGroups.whole(graph.n, caps, seed), PartitionSettings(),
    )
    return [np.flatnonzero(part == block) for block in range(full)]


def pieces(folder: Path, count: int, size: int, seed: int) -> list[Piece]:
    """Cut pieces out of all graphs that hold four of them, in turn; balls and blocks alternate."""
    sources = []
    for path in sorted(folder.glob("*.graph.xz")):
        graph = read_metis(path)
        if graph.n >= 4 * size:
            sources.append((path.name.removesuffix(".graph.xz"), graph))
    rng = np.random.default_rng(seed)
    each = -(-count // len(sources))
    found: list[Piece] = []
    for name, graph in sources:
        cut = blocks(graph, size, seed)
        picks = [cut[i] for i in rng.permutation(len(cut))[: each // 2]]
        kinds = ["block"] * len(picks)
        while len(picks) < each:
            vertices = ball(graph, size, rng)
            if vertices is not None:
                picks.append(vertices)
                kinds.append("ball")
        found += [Piece(name, kind, induced(graph, v)) for kind, v in zip(kinds, picks, strict=True)]
    chosen = np.sort(rng.permutation(len(found))[:count])
    return [found[i] for i in chosen]


def cut_of(graph: Arrays, part: NDArray[np.integer]) -> int:
    """Weight between blocks, every edge once."""
    sources = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    apart = part[sources] != part[graph.targets]
    return int(apart.sum() if graph.volumes is None else graph.volumes[apart].sum()) // 2


def fair_sizes(n: int, parts: int) -> Int64:
    """int64[parts]: n vertices in equal blocks, the first ones larger by one where n does not divide."""
    return np.bincount(np.arange(n) % parts, minlength=parts).astype(np.int64)


def is_exact(part: Int32, parts: int) -> bool:
    """Whether no two blocks differ by more than they must."""
    return sorted(np.bincount(part, minlength=parts)) == sorted(fair_sizes(len(part), parts))


def ours(
    all_pieces: list[Piece], parts: int, seed: int, settings: PartitionSettings
) -> tuple[list[Int32], float]:
    """Partition all pieces in one call; CPU seconds of all of it."""
    sizes = np.array([piece.graph.n for piece in all_pieces])
    offset = np.concatenate([[0], np.cumsum(sizes)])
    arcs = np.concatenate([[0], np.cumsum([len(piece.graph.targets) for piece in all_pieces])])
    rows = [p.graph.indptr[1:] + a for p, a in zip(all_pieces, arcs[:-1], strict=True)]
    indptr = np.concatenate([[0], *rows])
    targets = np.concatenate([p.graph.targets + o for p, o in zip(all_pieces, offset[:-1], strict=True)])
    volumes = np.concatenate(
        [np.ones(len(p.graph.targets), np.int64) if p.graph.volumes is None else p.graph.volumes
         for p in all_pieces]
    )
    group = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    caps = np.concatenate([fair_sizes(n, parts) for n in sizes])
    starts = np.arange(len(sizes) + 1, dtype=np.int64) * parts
    seeds = np.arange(len(sizes), dtype=np.uint64) + np.uint64(1000 * seed)
    began = time.process_time()
    child, _ = partition_many(
        SearchProblem(Csr(indptr.astype(np.int64), targets.astype(np.int32), volumes)),
        VertexGroups(group, starts, caps, seeds), settings,
    )
    seconds = time.process_time() - began
    return [child[a:b] for a, b in itertools.pairwise(offset)], seconds


def kaffpa(piece: Piece, parts: int, seed: int) -> tuple[Int32, float]:
    """One call of KaFFPa eco without imbalance."""
    import kahip

    graph = piece.graph
    loads = [1] * graph.n
    weights = [1] * len(graph.targets) if graph.volumes is None else graph.volumes.tolist()
    indptr, targets = graph.indptr.tolist(), graph.targets.tolist()
    began = time.process_time()
    _, part = kahip.kaffpa(loads, indptr, weights, targets, parts, 0.0, True, seed, kahip.ECO)
    return np.array(part, np.int32), time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--piece-seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="PartitionSettings")
    options = parser.parse_args()
    need("kahip")
    folder = shared_folder()
    if folder is None:
        raise SystemExit("no folder of graphs: set HOPBYTES_SHARED")
    settings = PartitionSettings(**{k: int(v) for k, v in (item.split("=") for item in options.set)})
    found = pieces(folder, options.count, options.size, options.piece_seed)
    ratios: dict[str, list[float]] = {}
    own_seconds = rival_seconds = 0.0
    uneven = rival_uneven = 0
    for seed in range(options.seeds):
        parts, seconds = ours(found, options.parts, seed, settings)
        own_seconds += seconds
        for piece, part in zip(found, parts, strict=True):
            rival, seconds = kaffpa(piece, options.parts, seed)
            rival_seconds += seconds
            uneven += not is_exact(part, options.parts)
            rival_uneven += not is_exact(rival, options.parts)
            ratio = math.log((cut_of(piece.graph, part) + 1) / (cut_of(piece.graph, rival) + 1))
            for key in ("all", piece.kind, FAMILIES.get(piece.source, "irregular"), f"  {piece.source}"):
                ratios.setdefault(key, []).append(ratio)
    calls = len(found) * options.seeds
    for key in sorted(ratios, key=lambda key: (key != "all", key.startswith(" "), key)):
        values = ratios[key]
        print(f"{key:18} {len(values):5} pieces x seeds   cut / KaFFPa eco {math.exp(np.mean(values)):.3f}")
    own_ms, rival_ms = 1e3 * own_seconds / calls, 1e3 * rival_seconds / calls
    print(f"CPU per piece: {own_ms:.3f} ms, KaFFPa eco {rival_ms:.3f} ms")
    print(f"not exact: {uneven} of {calls}, KaFFPa eco {rival_uneven}")


if __name__ == "__main__":
    main()
