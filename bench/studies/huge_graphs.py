"""Peak memory over the CSR and time per edge of mapping a huge graph.

    python -m bench.studies.huge_graphs --side 200 --preset turbo

The graph is a box of SIDE^3 cells with 26 neighbours each, which is written as ParHIP binary slab by slab, so
that making it needs little memory. H is 4:8:6, D 1:10:100, imbalance 3 %, seed 1. Prints the high-water marks
of the process while reading and while mapping over the bytes of the CSR (64-bit offsets, 32-bit neighbours),
CPU seconds of both, nanoseconds of CPU time per edge, and J. Linux only: the marks are read from ``/proc``
and reset in between. With side 200 (10^8 edges) `turbo` takes about a minute.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np

import hopbytes as hb
from bench.studies.many_threads import timed


def write_box(side: int, path: Path) -> None:
    """Write a box of side^3 cells, whose neighbours share a corner, as ParHIP binary."""
    near = np.full(side, 3)
    near[[0, -1]] = 2
    degrees = (near[:, None, None] * near[None, :, None] * near[None, None, :]).ravel() - 1
    start = np.concatenate([[0], np.cumsum(degrees)])
    n, arcs = side**3, int(start[-1])
    version = 1 | 2 | 8  # no weights; 32-bit targets
    y, z = (each.ravel() for each in np.meshgrid(np.arange(side), np.arange(side), indexing="ij"))
    with path.open("wb") as file:
        file.write(np.array([version, n, arcs], "<u8").tobytes())
        file.write((24 + 8 * (n + 1) + 4 * start).astype("<u8").tobytes())
        for x in range(side):
            steps = [step for step in product((-1, 0, 1), repeat=3) if any(step)]
            targets, inside = [], []
            for dx, dy, dz in steps:
                a, b, c = x + dx, y + dy, z + dz
                targets.append((a * side + b) * side + c)
                inside.append((0 <= a < side) & (b >= 0) & (b < side) & (c >= 0) & (c < side))
            file.write(np.stack(targets, 1)[np.stack(inside, 1)].astype("<u4").tobytes())


def peak() -> int:
    """Return the high-water mark of resident memory in bytes since the last call, and reset it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    Path("/proc/self/clear_refs").write_text("5")
    return found


def main() -> None:
    """Make a graph, read it, map it, and print the row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=200)
    parser.add_argument("--preset", default="turbo")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "box.parhip"
        write_box(args.side, path)
        peak()
        cpu = time.process_time()
        graph = hb.read(path)
        reading, read_peak = time.process_time() - cpu, peak()
    csr = graph.indptr.nbytes + graph.targets.nbytes
    mapping, seconds, _ = timed(graph, args.preset, 1, args.threads)
    edges = graph.m // 2
    print("edges | CSR, MB | reading over CSR | mapping over CSR | CPU s of both | ns an edge | J")
    print(
        f"{edges:,} | {csr / 1e6:.0f} | {read_peak / csr:.2f} | {peak() / csr:.2f} | {reading:.1f}, "
        f"{seconds:.1f} | {seconds / edges * 1e9:.0f} | {mapping.info['comm_cost']:,}"
    )


if __name__ == "__main__":
    main()
