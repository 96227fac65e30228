"""Networks at scale: ``python -m bench.studies.networks`` prints one JSON line per measurement.

- ``metrics``: all metrics of one placement of 4096 ranks with 100 flows each on a routed fat tree.
- ``routes``: metrics of links and the description of networks of 100 000 nodes and more, with the largest
  memory of the process (each in a process of its own).
- ``map``: a 32 x 32 x 16 grid on 1024 nodes of 16 cores, allocated sparsely on the torus of the UMPA paper,
  with a preset; J, hop-bytes and congestion beside in-order placement.

Times are CPU seconds of one process.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import time
from typing import Any

import numpy as np

import hopbytes as hb
import hopbytes_laboratory
from bench import child
from hopbytes.cost.metrics.link_metrics import measure_links
from hopbytes.cost.metrics.mapping_metrics import measure_all

GPC = "fattree:30x6x18:up=1x2x9:cables=1x3x2"
LARGE = ("torus:50x50x40", "fattree:32x32x100:up=1x16x16", "dragonfly:200x32x16", "hyperx:20x20x20:nodes=13")


def random_flows(n: int, each: int, seed: int) -> hb.CommGraph:
    """Every task sends to `each` random others."""
    rng = np.random.default_rng(seed)
    sources = np.repeat(np.arange(n), each)
    targets, volumes = rng.integers(0, n, len(sources)), rng.integers(1, 1000, len(sources))
    return hb.CommGraph.from_edges(sources, targets, volumes)


def grid(*sizes: int) -> hb.CommGraph:
    """Neighbours in a grid talk in both directions."""
    cells = np.arange(int(np.prod(sizes))).reshape(sizes)
    pairs = []
    for d in range(len(sizes)):
        near, far = (np.delete(cells, place, axis=d).reshape(-1) for place in (-1, 0))
        pairs += [np.stack([near, far]), np.stack([far, near])]
    sources, targets = np.concatenate(pairs, axis=1)
    return hb.CommGraph.from_edges(sources, targets)


def metrics() -> dict[str, Any]:
    """All metrics of one placement, and an evaluation with its twelve placements."""
    where = hb.allocate(f"{GPC}:nodes=512 / core:8")
    graph = random_flows(4096, 100, 0)
    placed = np.arange(4096, dtype=np.int32)
    began = time.process_time()
    measure_all(graph, where, placed)
    once = time.process_time() - began
    hb.evaluate(graph, hb.Mapping(placed, where))
    return {"flows": graph.m, "cpu_seconds": once, "evaluate_cpu_seconds": time.process_time() - began - once}


def routes(spec: str) -> dict[str, Any]:
    """Links, loads and distances of a large network."""
    began = time.process_time()
    where = hb.allocate(spec)
    graph = random_flows(where.k, 10, 1)
    placed = np.random.default_rng(2).permutation(where.k).astype(np.int32)
    found = measure_links(graph, where, placed)
    assert found is not None
    facts = where.machine.network().describe()
    return {
        "machine": spec, "nodes": facts["endpoints"], "links": facts["links"], "diameter": facts["diameter"],
        "hop_bytes": found.hop_bytes, "max_congestion": found.max_congestion,
        "cpu_seconds": time.process_time() - began,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def mapped(preset: str, seed: int) -> dict[str, Any]:
    """Map a grid of 16384 tasks to a sparse allocation of a torus."""
    hosts = f"sfc:nodes=1024:holes=0.3:seed={seed}"
    where = hb.allocate("torus:17x8x24:nodes=2:order=hilbert@10 / core:16@1", hosts=hosts)
    graph = grid(32, 32, 16)
    began = time.process_time()
    best = hb.map_tasks(graph, where, preset, seed=1)
    spent = time.process_time() - began
    facts = hb.evaluate(graph, best, random_seeds=1).to_dict()
    row: dict[str, Any] = {"preset": preset, "hosts": hosts, "cpu_seconds": spent}
    for name in ("comm_cost", "hop_bytes", "max_congestion", "max_messages"):
        row |= {name: facts[name], f"{name}_in_order": facts["in_order"][name]}
    return row | {"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}


def main() -> None:
    """Print rows; ``--only routes --machine SPEC`` runs one large network in this process."""
    hopbytes_laboratory.register()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", choices=("metrics", "routes", "map"))
    parser.add_argument("--machine", help="one network for --only routes")
    parser.add_argument("--preset", action="append", help="for map, several times (default: fast, eco)")
    parser.add_argument("--seeds", type=int, default=3, help="allocations for map")
    options = parser.parse_args()
    if options.machine:
        print(json.dumps({"what": "routes"} | routes(options.machine)))
        return
    if options.only in (None, "metrics"):
        print(json.dumps({"what": "metrics"} | metrics()), flush=True)
    if options.only in (None, "routes"):
        for spec in LARGE:
            alone = [*child("bench.studies.networks"), "--only", "routes", "--machine", spec]
            subprocess.run(alone, check=True)
    if options.only in (None, "map"):
        for preset in options.preset or ["fast", "eco"]:
            for seed in range(options.seeds):
                print(json.dumps({"what": "map"} | mapped(preset, seed)), flush=True)


if __name__ == "__main__":
    main()
