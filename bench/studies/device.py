"""Mapping on a GPU: seconds, J, bytes and kernels, beside the CPU of the same machine.

    python -m bench.studies.device --out bench/results/device.jsonl
    python -m bench.studies.device --device cpu --power 12 --side 20    # tries the script without a GPU

Graphs are a Delaunay triangulation, a geometric graph and a plane grid of 2^22 vertices (`--power`), and a
box of 200^3 cells with 26 neighbours (`--side`; 10^8 edges). H is 4:8:6, D 1:10:100, imbalance 3 %. A row per
graph has, for every seed: seconds of `turbo` on the CPU with all threads; of `map_arrays` with arrays on the
host (transfer included) and with arrays on the GPU (the better of two, after a first call that compiles); J
and its ratio to that of `turbo`. For the first seed: the memory in bytes an arc, the hash of the mapping on
the GPU and by the same kernels on the CPU, and for every kernel its launches, seconds, and the bytes of its
arrays a second, an upper bound of what it moves where it reads parts of them. Once it runs itself under
compute-sanitizer on small graphs, if that is installed. It begins no graph for which `--minutes` are short.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import hopbytes as hb
from bench.instances.large_graphs import Edges, delaunay, geometric
from hopbytes.engine import device as devices
from hopbytes.solve import map_arrays as module
from hopbytes.solve.presets import turbo

#: Graphs with more arcs are not mapped by the loops of the CPU.
MOST_IN_LOOPS = 10**8
MACHINE = "island:6@100 node:8@10 core:4@1"


def plane(power: int) -> Edges:
    """Return the edges of a plane grid of 2^power vertices."""
    rows = 2 ** (power // 2)
    number = np.arange(2**power).reshape(rows, -1)
    first = np.concatenate([number[1:].ravel(), number[:, 1:].ravel()])
    return 2**power, first, np.concatenate([number[:-1].ravel(), number[:, :-1].ravel()])


def rows_of(edges: Edges) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a graph."""
    n, first, second = edges
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    rows = sparse.coo_matrix((np.ones(len(ends[0]), np.int8), ends), shape=(n, n)).tocsr()
    rows.sort_indices()
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int32)


def box(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a box of side^3 cells whose neighbours share a corner, slab by slab."""
    y, z = (each.ravel() for each in np.meshgrid(np.arange(side), np.arange(side), indexing="ij"))
    steps, slabs, degrees = [step for step in product((-1, 0, 1), repeat=3) if any(step)], [], []
    for x in range(side):
        moved = [(x + a, y + b, z + c) for a, b, c in steps]
        inside = np.stack(
            [(0 <= a < side) & (b >= 0) & (b < side) & (c >= 0) & (c < side) for a, b, c in moved], 1
        )
        targets = np.stack([(a * side + b) * side + c for a, b, c in moved], 1)
        slabs.append(targets[inside].astype(np.int32))
        degrees.append(inside.sum(1))
    return np.concatenate([[0], np.cumsum(np.concatenate(degrees))]), np.concatenate(slabs)


class Profile:
    """A device whose kernels are timed one by one."""

    def __init__(self, device: devices.Device) -> None:
        self.device, self.kernels = device, dict[str, list[float]]()

    def chosen(self, name: str, threads: int = 1) -> tuple[devices.Device, str]:
        """Return the device that measures."""
        return replace(self.device, bound=self._bound, together=devices.one_by_one), ""

    def _bound(self, name: str, items: int, *arguments: Any) -> Callable[[], None]:
        launch = self.device.bound(name, items, *arguments)
        size = sum(array.nbytes for array in arguments if hasattr(array, "nbytes"))

        def run() -> None:
            took = seconds_of(self.device, launch)
            row = self.kernels.setdefault(name, [0, 0, 0])
            row[:] = row[0] + 1, row[1] + took, row[2] + size

        return run

    def rows(self) -> dict[str, dict[str, float]]:
        """Return launches, seconds and gigabytes a second of every kernel, the longest first."""
        ordered = sorted(self.kernels.items(), key=lambda each: -each[1][1])
        return {
            name: {"launches": count, "seconds": round(took, 6), "GB/s": round(size / took / 1e9, 1)}
            for name, (count, took, size) in ordered
        }


def seconds_of(device: devices.Device, launch: Callable[[], None]) -> float:
    """Return the seconds of one kernel, on a GPU by its own clock."""
    if device.xp is np:
        began = time.perf_counter()
        launch()
        return time.perf_counter() - began
    first, last = device.xp.cuda.Event(), device.xp.cuda.Event()
    first.record()
    launch()
    last.record()
    last.synchronize()
    return float(device.xp.cuda.get_elapsed_time(first, last)) / 1000


def synchronize(device: devices.Device) -> None:
    """Wait for the GPU."""
    if device.xp is not np:
        device.xp.cuda.get_current_stream().synchronize()


def best_of(times: int, device: devices.Device, call: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and the least seconds."""
    least = float("inf")
    for _ in range(times):
        synchronize(device)
        began = time.perf_counter()
        found = call()
        synchronize(device)
        least = min(least, time.perf_counter() - began)
    return found, least


def measured(
    name: str, rows: tuple[np.ndarray, np.ndarray], asked: str, threads: int, seeds: range
) -> dict[str, Any]:
    """Return the row of a graph."""
    device = devices.chosen(asked, threads)[0]
    xp, (start, adj) = device.xp, rows
    graph = hb.CommGraph(start, adj, undirected=True)

    def turbo(seed: int) -> hb.Mapping:
        return hb.map_tasks(graph, MACHINE, "turbo", partition=True, threads=threads, seed=seed)

    def mapped(*given: Any, seed: int = 1, on: str = asked) -> hb.ArrayMapping:
        return hb.map_arrays(*given, MACHINE, seed=seed, threads=threads, device=on)

    cpu = [best_of(1, device, lambda seed=seed: turbo(seed)) for seed in seeds]
    mapped(start, adj)
    hosts = [best_of(2, device, lambda seed=seed: mapped(start, adj, seed=seed)) for seed in seeds]
    there = xp.asarray(start), xp.asarray(adj)
    pool = xp.get_default_memory_pool() if xp is not np else None
    if pool is not None:
        pool.free_all_blocks()
    here = [best_of(2, device, lambda seed=seed: mapped(*there, seed=seed)) for seed in seeds]
    memory = None if pool is None else round(pool.total_bytes() / len(adj), 1)
    profile, plain = Profile(device), module.chosen
    module.chosen = profile.chosen
    try:
        _, profiled = best_of(1, device, lambda: mapped(*there))
    finally:
        module.chosen = plain
    ratios = [mine.comm_cost / its.comm_cost for (mine, _), (its, _) in zip(here, cpu, strict=True)]
    hashes, loops = [digest(device.to_host(here[0][0].pe))], None
    if len(adj) <= MOST_IN_LOOPS:
        by_loops, loops = best_of(1, devices.cpu(), lambda: mapped(start, adj, on="cpu"))
        hashes.append(digest(by_loops.pe))
    return {
        "graph": name, "n": graph.n, "arcs": graph.m, "device": device_name(device), "threads": threads,
        "seeds": list(seeds), "turbo": [wall for _, wall in cpu],
        "with transfer": [wall for _, wall in hosts],
        "on device": [wall for _, wall in here], "J": [found.comm_cost for found, _ in here],
        "J over turbo": ratios, "geometric mean": float(np.exp(np.mean(np.log(ratios)))),
        "bytes an arc": memory, "largest load": [here[0][0].largest_load, here[0][0].bound],
        "loops": loops, "hashes": hashes, "same": len({*hashes}) == 1,
        "kernels": profile.rows(), "beside kernels": profiled - sum(k[1] for k in profile.kernels.values()),
    }  # fmt: skip


def digest(pe: np.ndarray) -> str:
    """Return a hash of a mapping."""
    return hashlib.sha256(pe.tobytes()).hexdigest()[:16]


def device_name(device: devices.Device) -> str:
    """Return the name of the GPU."""
    if device.xp is np:
        return "cpu"
    found = device.xp.cuda.runtime.getDeviceProperties(0)["name"]
    return found.decode() if isinstance(found, bytes) else str(found)


def sanitized() -> dict[str, Any]:
    """Run this script on small graphs under compute-sanitizer."""
    program = shutil.which("compute-sanitizer")
    if program is None:
        return {"compute-sanitizer": "not installed"}
    words = [program, "--error-exitcode", "9", sys.executable, "-m", "bench.studies.device"]
    words += ["--power", "12", "--side", "12", "--fewest", "512", "--seeds", "1", "--plain"]
    words += ["--out", os.devnull]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    return {"compute-sanitizer": run.returncode, "said": run.stdout[-400:]}


def main() -> None:
    """Measure every graph, and write a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("bench/results/device.jsonl"))
    parser.add_argument("--device", default="cuda", choices=devices.DEVICES)
    parser.add_argument("--power", type=int, default=22)
    parser.add_argument("--side", type=int, default=200)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--fewest", type=int, help="vertices of the coarsest graph, for small graphs")
    parser.add_argument("--plain", action="store_true", help="without compute-sanitizer")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.fewest is not None:
        small = replace(turbo(device="auto").mapper, fewest=args.fewest, cycle_to=args.fewest, per_pe=1)
        module.turbo = lambda **_: hb.Chain(small)
    began, longest = time.monotonic(), 0.0
    makers: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
        f"grid 2^{args.power}": lambda: rows_of(plane(args.power)),
        f"geometric 2^{args.power}": lambda: rows_of(geometric(args.power)),
        f"box {args.side}^3": lambda: box(args.side),
        f"delaunay 2^{args.power}": lambda: rows_of(delaunay(args.power)),
    }
    with args.out.open("a") as file:
        if not args.plain and args.device != "cpu":
            file.write(json.dumps(sanitized()) + "\n")
        for name, make in makers.items():
            if (time.monotonic() - began + longest) / 60 > args.minutes:
                print(f"{name}: no time left")
                continue
            before = time.monotonic()
            row = measured(name, make(), args.device, args.threads, range(1, args.seeds + 1))
            longest = max(longest, time.monotonic() - before)
            file.write(json.dumps(row) + "\n")
            file.flush()
            shown = ("graph", "turbo", "with transfer", "on device", "J over turbo", "bytes an arc", "same")
            print({key: row[key] for key in shown})


if __name__ == "__main__":
    main()
