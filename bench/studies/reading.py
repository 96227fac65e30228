"""How fast and with how much memory patterns are read, beside KaMinPar's and SciPy's readers.

``python -m bench.studies.reading [--logn 20]`` writes one random geometric graph in several formats to a
temporary folder, reads each file in fresh processes, one after another, and prints a table. CPU time of
one thread is what counts (wall time would show what else the machine does); the best of three runs
is printed. Memory is how far the peak resident set rises above what it was before reading.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import hopbytes as hb
from bench import child
from bench.rivals.needed import missing

TIMES = 3


def files(folder: Path, log_n: int) -> dict[str, Path]:
    """Write the same graph, unweighted and with weights from 1 to 10^6, in all text formats."""
    from bench.instances.graphs import DEFAULT_SEED, random_geometric

    arrays = random_geometric(log_n, DEFAULT_SEED)
    targets = arrays.targets.astype(np.int32)
    plain = hb.CommGraph(arrays.indptr, targets, undirected=True)
    sources = plain.sources().astype(np.int64)
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    weights = ((low * 2_654_435_761 + high * 40_503) % 1_000_000 + 1).astype(np.int64)
    loads = np.arange(plain.n, dtype=np.int64) % 100 + 1
    weighted = hb.CommGraph(arrays.indptr, targets, weights, loads=loads, undirected=True)
    wanted = {
        "METIS": (plain, "plain.graph"), "METIS, weights": (weighted, "weights.graph"),
        "edge list": (weighted, "weights.edges"), "Matrix Market": (weighted, "weights.mtx"),
    }
    for graph, name in wanted.values():
        hb.write(graph, folder / name)
    return {title: folder / name for title, (_, name) in wanted.items()}


def peak() -> int:
    """Largest resident set of this process so far, in bytes (getrusage would count the parent's)."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def read_once(reader: str, path: str) -> dict[str, float]:
    """Read a file in this process and return CPU seconds, memory in bytes and a size as proof."""
    if reader == "kaminpar":
        import kaminpar

        def read() -> int:
            return int(kaminpar.load_graph(path, kaminpar.GraphFileFormat.METIS).n())
    elif reader == "scipy":
        from scipy.io import mmread

        def read() -> int:
            return int(mmread(path).shape[0])
    else:
        from hopbytes.formats.base import formats

        list(formats)  # importing the formats is not part of reading

        def read() -> int:
            return int(hb.read(path).n)

    before = peak()
    start = time.process_time()
    n = read()
    seconds = time.process_time() - start
    return {"cpu_seconds": seconds, "memory": peak() - before, "n": n}


def measure(reader: str, path: Path) -> dict[str, float]:
    """Return the best of several fresh processes."""
    command = [*child("bench.studies.reading"), "--read", reader, str(path)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    runs = [
        json.loads(subprocess.run(command, check=True, capture_output=True, env=environment).stdout)
        for _ in range(TIMES)
    ]
    return min(runs, key=lambda run: run["cpu_seconds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logn", type=int, default=20)
    parser.add_argument("--read", nargs=2, metavar=("READER", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        print(json.dumps(read_once(*arguments.read)))
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = files(Path(folder), arguments.logn)
        print("| file | MB | reader | CPU s | MB/s | memory MB | memory / CSR in 64 bits |")
        print("|---|---|---|---|---|---|---|")
        for title, path in paths.items():
            rivals = {"METIS": ["kaminpar"], "Matrix Market": ["scipy"]}
            graph = hb.read(path)
            csr = 8 * (graph.n + 1 + graph.m * (1 if graph.volumes is None else 2))
            csr += 0 if graph.loads is None else 8 * graph.n
            size = path.stat().st_size
            del graph
            for reader in ["hopbytes", *rivals.get(title.split(",")[0], [])]:
                if reader == "kaminpar" and (said := missing(reader)):
                    print(f"kaminpar is left out: {said}", file=sys.stderr)
                    continue
                run = measure(reader, path)
                rate = size / run["cpu_seconds"] / 1e6
                print(
                    f"| {title} | {size / 1e6:.1f} | {reader} | {run['cpu_seconds']:.3f} | {rate:.0f} "
                    f"| {run['memory'] / 1e6:.0f} | {run['memory'] / csr:.2f} |"
                )


if __name__ == "__main__":
    main()
