"""Rivals on generated networks.

    python -m bench.studies.network_rivals --out bench/results/network_rivals.jsonl

Halos in two and three dimensions, in order and shuffled, and all-to-all within groups, on sparse
allocations of a torus and a scattered one of the fat tree of GPC. Rows: launchers' own orders, LibTopoMap's
three mappers, ``scotch_gmap`` (Debian package ``scotch``; ``torus3D`` and ``tleaf`` targets, groups of
tasks on nodes as in LibTopoMap), orders and cuts by coordinates, UMPA, PTRAM and presets. One JSON line per
run, started again it goes on where it was; then a table of geometric means over in-order placement on the
same nodes and, with ``--plot FILE``, a picture of it. CPU seconds are those of mapping.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
import hopbytes_laboratory
from bench import pictures
from bench.rivals import scotch_gmap
from hopbytes.errors import HopbytesError
from hopbytes.patterns.base import pattern

CORES = 16
TORUS, GPC = "torus:16x12x8", "fattree:30x6x18:up=1x2x9:cables=1x3x2"
#: Network → ways to draw N nodes of it.
NETWORKS = {TORUS: "sfc:nodes={}:holes=0.3:seed={}", GPC: "scattered:nodes={}:seed={}"}
PATTERNS = {
    64: ("stencil:32x32", "stencil:16x8x8", "alltoall:1024:groups=32"),
    256: ("stencil:64x64", "stencil:16x16x16", "alltoall:4096:groups=64"),
}
CONTENDERS: dict[str, dict[str, Any]] = {
    name: {"method": name}
    for name in (
        "identity", "round_robin", "random", "curve", "curve:order=gray", "multi_jagged",
        "libtopomap_greedy", "libtopomap_bisection", "libtopomap_rcm", "ug", "ptram",
    )
}
CONTENDERS |= {f"ug+{name}": {"method": ["ug", name]} for name in ("uwh", "umc", "ummc")}
CONTENDERS |= {
    "fast": {"method": "fast"}, "eco": {"method": "eco"},
    "fast, max-congestion": {"method": "fast", "objective": "max_congestion"},
}
SCOTCH = "scotch_gmap"
METRICS = ("hop_bytes", "hops", "max_congestion", "max_messages", "avg_congestion")


@dataclass(frozen=True)
class Instance:
    """A pattern on some nodes of a network."""

    network: str
    hosts: str
    pattern: str
    shuffled: bool

    @property
    def key(self) -> tuple[Any, ...]:
        return self.network, self.hosts, self.pattern, self.shuffled

    def graph(self) -> hb.CommGraph:
        """Return the pattern, its tasks renumbered at random if it is to be shuffled."""
        graph = pattern(self.pattern)
        if not self.shuffled:
            return graph
        order = np.random.default_rng(5).permutation(graph.n)
        return hb.CommGraph.from_edges(
            order[graph.sources()], order[graph.targets], graph.volumes, graph.messages, n=graph.n
        )


def run(instance: Instance, name: str, where: hb.Allocation, graph: hb.CommGraph) -> dict[str, Any]:
    """Map and measure once; an error is a result too."""
    row: dict[str, Any] = {
        "network": instance.network, "hosts": instance.hosts, "pattern": instance.pattern,
        "shuffled": instance.shuffled, "contender": name, "version": hb.__version__,
    }
    began = time.process_time()
    try:
        if name == SCOTCH:
            mapping, outside = scotch_gmap.on_nodes(graph, where, hb.allocate(f"{instance.network}@10"))
        else:
            mapping = hb.map_tasks(graph, where, partition=False, threads=1, **CONTENDERS[name])
            outside = 0.0
    except (HopbytesError, scotch_gmap.AbsentError, RuntimeError, ValueError) as error:
        return row | {"error": str(error)[:200]}
    row["cpu_seconds"] = time.process_time() - began + outside
    facts = hb.evaluate(graph, mapping, random_seeds=0).to_dict()
    row["metrics"] = {metric: facts[metric] for metric in METRICS}
    row["in_order"] = {metric: facts["in_order"][metric] for metric in METRICS}
    return row


def instances(nodes: list[int], draws: int) -> list[Instance]:
    """Return every pattern on every draw of every network, halos shuffled as well."""
    return [
        Instance(network, way.format(count, draw), text, shuffled)
        for network, way in NETWORKS.items() for count in nodes for draw in range(draws)
        for text in PATTERNS[count] for shuffled in ((False, True) if "stencil" in text else (False,))
    ]


def means(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Geometric means of each metric over in-order placement, by contender."""
    found: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(row["contender"] for row in rows if "metrics" in row):
        own = [row for row in rows if row["contender"] == name and "metrics" in row]
        found[name] = {"runs": len(own), "cpu": sum(row["cpu_seconds"] for row in own) / len(own)}
        for metric in METRICS:
            pairs = [(row["metrics"][metric], row["in_order"][metric]) for row in own]
            logs = [math.log(value / base) for value, base in pairs if value and base]
            found[name][metric] = math.exp(sum(logs) / len(logs)) if logs else float("nan")
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """Return the means network by network, patterns in order and shuffled apart."""
    lines = []
    for network in NETWORKS:
        for label, wanted in KINDS.items():
            part = [row for row in rows if row["network"] == network and wanted(row)]
            lines += ["", f"{network}, {label}", f"{'contender':24}{'runs':>5}{'CPU s':>8}" + "".join(
                f"{metric:>16}" for metric in METRICS
            )]
            for name, mean in means(part).items():
                values = "".join(f"{mean[metric]:16.3f}" for metric in METRICS)
                lines.append(f"{name:24}{mean['runs']:5}{mean['cpu']:8.2f}{values}")
    return "\n".join(lines[1:])


KINDS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "halos in order": lambda row: "stencil" in row["pattern"] and not row["shuffled"],
    "halos shuffled": lambda row: "stencil" in row["pattern"] and row["shuffled"],
    "all-to-all in groups": lambda row: "alltoall" in row["pattern"],
}


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw hop-bytes and highest congestion of every contender, one panel per table."""
    plt = pictures.pyplot()
    figure, axes = plt.subplots(len(NETWORKS), len(KINDS), figsize=(17, 11))
    for line, network in zip(axes, NETWORKS, strict=True):
        for panel, (label, wanted) in zip(line, KINDS.items(), strict=True):
            found = means([row for row in rows if row["network"] == network and wanted(row)])
            at = np.arange(len(found))
            panel.barh(at - 0.2, [mean["hop_bytes"] for mean in found.values()], 0.4, label="hop-bytes")
            panel.barh(
                at + 0.2, [mean["max_congestion"] for mean in found.values()], 0.4, label="max congestion"
            )
            panel.axvline(1, color="black", linewidth=0.8)
            panel.set_yticks(at, list(found), fontsize=8)
            panel.invert_yaxis()
            panel.set_title(f"{network.partition(':')[0]}, {label}", fontsize=10)
            panel.set_xlabel("over in-order placement (geometric mean)")
    axes[0][0].legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("bench/results/network_rivals.jsonl"))
    parser.add_argument("--nodes", type=int, action="append", choices=sorted(PATTERNS))
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    hopbytes_laboratory.register()
    pictures.check(options.plot)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in options.out.open()] if options.out.exists() else []
    done = {(row["network"], row["hosts"], row["pattern"], row["shuffled"], row["contender"]) for row in rows}
    with options.out.open("a") as file:
        for instance in instances(options.nodes or sorted(PATTERNS), options.draws):
            missing = [name for name in (*CONTENDERS, SCOTCH) if (*instance.key, name) not in done]
            if not missing:
                continue
            where = hb.allocate(f"{instance.network}@10 / core:{CORES}@1", hosts=instance.hosts)
            graph = instance.graph()
            for name in missing:
                row = run(instance, name, where, graph)
                rows.append(row)
                print(json.dumps(row), file=file, flush=True)
    print(table(rows))
    if options.plot is not None:
        plot(rows, options.plot)
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB at most")


if __name__ == "__main__":
    main()
