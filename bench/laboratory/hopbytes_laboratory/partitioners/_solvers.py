"""The calls of external partitioners in a worker process: from a graph file to the block of every vertex.

Each function imports only its partitioner, and NumPy if the partitioner needs arrays, because the start-up
time of a worker is part of every run.
"""

from __future__ import annotations

import array
import os
from collections.abc import Callable, Sequence
from typing import Any

#: (descriptor of an open file in ParHIP layout, maximum block weights, seed, setting, threads) → int32[n].
Solver = Callable[[int, Sequence[int], int, str, int], bytes]

_FLAG_NO_ARC_WEIGHTS, _FLAG_NO_VERTEX_WEIGHTS = 1, 2


def kaminpar(file: int, max_weights: Sequence[int], seed: int, setting: str, threads: int) -> bytes:
    """Call KaMinPar with one thread, because its results with several threads are not reproducible."""
    import kaminpar

    graph = kaminpar.load_graph(path_of(file), kaminpar.GraphFileFormat.PARHIP)
    kaminpar.reseed(seed & 0x7FFFFFFF)
    partitioner = kaminpar.KaMinPar(1, kaminpar.context_by_name(setting))
    return array.array("i", partitioner.compute_partition(graph, list(max_weights))).tobytes()


def kahip(file: int, max_weights: Sequence[int], seed: int, setting: str, threads: int) -> bytes:
    """Call KaFFPa, which has one thread and one bound for all blocks; it gets that of the smallest block."""
    import kahip
    import numpy as np

    indptr, targets, loads, weights = read_parhip(file)
    even = -(-int(loads.sum()) // len(max_weights))
    slack = max(0.0, (min(max_weights) + 1e-6) / even - 1)
    mode = {"fast": kahip.FAST, "eco": kahip.ECO, "strong": kahip.STRONG}[setting]
    _, blocks = kahip.kaffpa(
        loads, indptr, weights, targets, len(max_weights), slack, True, seed & 0x7FFFFFFF, mode
    )
    return np.asarray(blocks, np.int32).tobytes()


_started: list[Any] = []


def mtkahypar(file: int, max_weights: Sequence[int], seed: int, setting: str, threads: int) -> bytes:
    """Call Mt-KaHyPar; the number of threads of the first call holds for all calls of a process."""
    import mtkahypar

    if not _started:
        _started.append(mtkahypar.initialize(threads, False))
    library = _started[0]
    mtkahypar.set_seed(seed & 0x7FFFFFFF)
    context = library.context_from_preset(getattr(mtkahypar.PresetType, setting.upper()))
    context.set_partitioning_parameters(len(max_weights), 0.03, mtkahypar.Objective.CUT)
    context.set_individual_target_block_weights([int(cap) for cap in max_weights])
    context.logging = False
    text = os.memfd_create("hopbytes-metis")
    try:
        write_metis(text, file)
        graph = library.graph_from_file(path_of(text), context, mtkahypar.FileFormat.METIS)
    finally:
        os.close(text)
    return array.array("i", graph.partition(context).get_partition()).tobytes()


SOLVERS: dict[str, Solver] = {"kaminpar": kaminpar, "kahip": kahip, "mtkahypar": mtkahypar}


def path_of(file: int) -> str:
    """Return a path that opens the file again, even if it has no name."""
    return f"/proc/self/fd/{file}" if os.path.isdir("/proc/self/fd") else f"/dev/fd/{file}"


def read_parhip(file: int) -> tuple[Any, Any, Any, Any]:
    """Return row offsets, targets, vertex weights and arc weights of a ParHIP file, all int32."""
    import numpy as np

    with open(path_of(file), "rb") as stream:
        flags, n, m = np.fromfile(stream, "<u8", 3).tolist()
        offsets = np.fromfile(stream, "<u4", n + 1).astype(np.int64)
        targets = np.fromfile(stream, "<i4", m)
        bare = flags & _FLAG_NO_VERTEX_WEIGHTS
        loads = np.ones(n, np.int32) if bare else np.fromfile(stream, "<i4", n)
        light = flags & _FLAG_NO_ARC_WEIGHTS
        weights = np.ones(m, np.int32) if light else np.fromfile(stream, "<i4", m)
    return ((offsets - offsets[0]) // 4).astype(np.int32), targets, loads, weights


def write_metis(out: int, file: int) -> None:
    """Write a ParHIP file as METIS text with all weights."""
    import numpy as np

    indptr, targets, loads, weights = read_parhip(file)
    pairs = np.empty(2 * len(targets), np.int64)
    pairs[0::2], pairs[1::2] = targets + 1, weights
    words = " ".join(map(str, pairs.tolist())).split(" ") if len(pairs) else []
    ends = (2 * indptr).tolist()
    lines = [f"{len(loads)} {len(targets) // 2} 11"]
    lines += [
        " ".join([str(load), *words[start:end]])
        for load, start, end in zip(loads.tolist(), ends, ends[1:], strict=False)
    ]
    with os.fdopen(os.dup(out), "w") as stream:
        stream.write("\n".join(lines) + "\n")
