"""Real fabrics, real recorded patterns, scattered allocations: every metric, every mapper.

``python -m bench.studies.fabrics --out bench/results/fabrics.jsonl`` places every pattern it can read on
every fabric of the developers' samples with every mapper, refiner (after in-order placement) and preset of
the package, and with ``scotch_gmap`` (Debian package ``scotch``), on `--draws` random sets of hosts and on
the first hosts by name, of those with as many adapters as any, so that ``rails=same`` has rails to use. What
goes on until a limit ends it (:data:`ENDLESS`) is left out unless `--contender` names it. One JSON line per
run; started again it goes on where it was; `--jobs` instances run side by side. Then a table: geometric means
of each metric over its value for in-order placement on the same hosts, in brackets the extremes over
instances. CPU seconds are those of mapping. ``--markdown`` prints all metrics as bench/PROTOCOL.md has them.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from bench import ROOT, pictures
from bench.instances.graphs import shared_folder
from bench.rivals import scotch_gmap
from hopbytes.errors import HopbytesError
from hopbytes.machines.base import Machine
from hopbytes.machines.spec import parse_machine

#: Name of a fabric → spec of its network below the folder of samples.
FABRICS = {
    "avakas": "ib:{}/infiniband/avakas",
    "ndr-dfsssp": "ib:{}/infiniband/ndr_dgx_40sw:tables=dump_fts_dfsssp.txt.gz:rails=same",
    "ndr-minhop": "ib:{}/infiniband/ndr_dgx_40sw:tables=dump_fts_minhop.txt.gz:rails=same",
}
#: Recorded patterns below the folder of samples; those of fewer than 16 tasks say nothing about a network.
PATTERNS = (
    "graphs/*.topo", "maplib/*_size.csv", "mpip_commatrix/*.mpiP.gz", "ompi_monitoring/*.prof", "ipm/*",
)
METRICS = (
    "hops", "hop_bytes", "max_messages", "max_congestion", "avg_messages", "avg_congestion", "var_congestion",
    "hybrid", "comm_cost", "inter_node_volume", "max_node_receive_volume",
)
PLOTTED = {"hop_bytes": "hop-bytes", "max_congestion": "highest congestion"}
ENDLESS = ("preset:best", "refiner:evolve", "refiner:tabu")
CORES_PER_NODE = {64: 8, 2**30: 16}  # up to so many tasks: so many on each node


@dataclass(frozen=True)
class Instance:
    """A pattern on some hosts of a fabric."""

    fabric: str
    pattern: str
    hosts: str
    where: Any
    graph: Any

    @property
    def key(self) -> tuple[str, str, str]:
        return self.fabric, self.pattern, self.hosts


def patterns(folder: Path, wanted: str) -> dict[str, Any]:
    """Read what can be read; say what cannot."""
    found = {"lammps_lj_64": ROOT / "examples/lammps_lj_64.csv"}
    for pattern in PATTERNS:
        found |= {path.name.partition(".")[0]: path for path in sorted(folder.glob(pattern))}
    graphs = {}
    for name, path in found.items():
        if not fnmatch.fnmatchcase(name, wanted):
            continue
        try:
            graph = hb.read(path)
        except HopbytesError as error:
            print(f"left out: {name}: {str(error)[:100]}")
            continue
        if graph.n >= 16 and graph.m:
            graphs[name] = graph
    return graphs


def instances(folder: Path, draws: int, wanted_fabric: str, wanted_pattern: str) -> Iterator[Instance]:
    graphs = patterns(folder, wanted_pattern)
    for fabric, spec in FABRICS.items():
        if not fnmatch.fnmatchcase(fabric, wanted_fabric):
            continue
        machines: dict[int, Machine] = {}
        for name, graph in graphs.items():
            cores = next(count for most, count in CORES_PER_NODE.items() if graph.n <= most)
            if cores not in machines:
                text = f"{spec.format(folder)} / package:2 core:{cores // 2}"
                machines[cores] = parse_machine(text)
            machine = machines[cores]
            named = compute_hosts(machine)
            nodes = -(-graph.n // cores)
            if nodes > len(named):
                continue
            for draw in range(-1, draws):
                hosts = named[:nodes]
                if draw >= 0:
                    hosts = np.random.default_rng(draw).choice(named, nodes, replace=False).tolist()
                label = "first" if draw < 0 else f"draw{draw}"
                yield Instance(fabric, name, label, hb.allocate(machine, hosts=hosts), graph)


def compute_hosts(machine: Any) -> list[str]:
    """Hosts that have a name and as many adapters as any: login and storage nodes often have fewer."""
    most = max(len(host.adapters) for host in machine.hosts if host.named)
    return [host.name for host in machine.hosts if host.named and len(host.adapters) == most]


def contenders(wanted: str) -> dict[str, dict[str, Any]]:
    """Every mapper alone, every refiner after in-order placement, every preset, by name."""
    from hopbytes.algorithms.base import mappers, refiners
    from hopbytes.solve.presets import presets

    found: dict[str, dict[str, Any]] = {f"mapper:{name}": {"method": name} for name in mappers}
    found |= {f"refiner:{name}": {"method": ["identity", name]} for name in refiners}
    found |= {f"preset:{name}": {"method": name} for name in presets}
    found["other:scotch_gmap"] = {}
    return {
        name: how for name, how in found.items()
        if fnmatch.fnmatchcase(name, wanted) and (wanted == name or name not in ENDLESS)
    }


def run(instance: Instance, name: str, how: dict[str, Any], seed: int) -> dict[str, Any]:
    """Map and measure once; an error is a result too."""
    row: dict[str, Any] = {
        "fabric": instance.fabric, "pattern": instance.pattern, "hosts": instance.hosts, "contender": name,
        "seed": seed, "tasks": instance.graph.n, "version": hb.__version__,
    }
    began = time.process_time()
    try:
        if name == "other:scotch_gmap":
            mapping, outside = scotch_gmap.on_nodes(instance.graph, instance.where)
        else:
            mapping = hb.map_tasks(instance.graph, instance.where, seed=seed, threads=1, **how)
            outside = 0.0
    except (HopbytesError, scotch_gmap.AbsentError) as error:
        return row | {"error": str(error)}
    row["cpu_seconds"] = round(time.process_time() - began + outside, 4)
    facts = hb.evaluate(instance.graph, mapping, random_seeds=1).to_dict()
    row["metrics"] = {name: facts[name] for name in METRICS if name in facts}
    row["in_order"] = {name: facts["in_order"][name] for name in METRICS if name in facts["in_order"]}
    return row


#: All instances of this run, read before workers start.
ready: list[Instance] = []


def rows_at(index: int, wanted: list[tuple[str, int]]) -> list[dict[str, Any]]:
    """Run contenders, by name and seed, on one instance."""
    known = contenders("*") | {name: contenders(name)[name] for name, _ in wanted}
    return [run(ready[index], name, known[name], seed) for name, seed in wanted]


def ratios_of(rows: list[dict[str, Any]], metric: str) -> list[float]:
    """Return a metric over its value in order, for rows where neither is 0."""
    pairs = [(row["metrics"].get(metric), row["in_order"].get(metric)) for row in rows]
    return [own / ref for own, ref in pairs if own and ref]


def mean_of(ratios: list[float]) -> float:
    """Geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def table(rows: list[dict[str, Any]]) -> str:
    """Geometric means over in-order placement; metrics that are 0 in either are left out of that mean."""
    columns = ("hop_bytes", "hops", "max_congestion", "max_messages", "avg_congestion", "hybrid", "comm_cost")
    lines = [f"{'contender':38} {'runs':>5} {'CPU s':>8}  " + "  ".join(f"{name:>22}" for name in columns)]
    for name in sorted({row["contender"] for row in rows}):
        good = [row for row in rows if row["contender"] == name and "metrics" in row]
        if not good:
            reason = next(row["error"] for row in rows if row["contender"] == name)
            lines.append(f"{name:38}     0  {reason[:120]}")
            continue
        cells = []
        for column in columns:
            ratios = ratios_of(good, column)
            if not ratios:
                cells.append(f"{'-':>22}")
                continue
            cells.append(f"{mean_of(ratios):8.3f} ({min(ratios):5.2f}-{max(ratios):5.2f})")
        seconds = sum(row["cpu_seconds"] for row in good) / len(good)
        lines.append(f"{name:38} {len(good):5} {seconds:8.3f}  " + "  ".join(f"{cell:>22}" for cell in cells))
    return "\n".join(lines)


#: Columns of the table in bench/PROTOCOL.md, those of the first two with extremes.
MARKDOWN = {
    "hop_bytes": "hop-bytes", "max_congestion": "MC", "hops": "hops", "max_messages": "MMC",
    "avg_congestion": "AC", "avg_messages": "AMC", "var_congestion": "NZCV", "inter_node_volume": "ICV",
    "max_node_receive_volume": "MNRV", "comm_cost": "J",
}


def markdown(rows: list[dict[str, Any]]) -> str:
    """The same as Markdown, all metrics, without times."""
    titles = ["contender", "runs", *MARKDOWN.values()]
    lines = ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    for name in sorted({row["contender"] for row in rows}):
        good = [row for row in rows if row["contender"] == name and "metrics" in row]
        cells = []
        for metric in MARKDOWN:
            ratios = ratios_of(good, metric)
            extremes = f" ({min(ratios):.2f}–{max(ratios):.2f})" if ratios and len(cells) < 2 else ""
            cells.append(f"{mean_of(ratios):.3f}{extremes}" if ratios else "–")
        if good:
            lines.append(f"| `{name}` | {len(good)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw means of hop-bytes and highest congestion per contender, with the range over instances."""
    plt = pictures.pyplot()
    good = [row for row in rows if "metrics" in row]
    by_name = {name: [row for row in good if row["contender"] == name] for name in
               sorted({row["contender"] for row in good})}
    names = [name for name, own in by_name.items() if all(ratios_of(own, m) for m in PLOTTED)]
    figure, panels = plt.subplots(1, len(PLOTTED), figsize=(13, 1.5 + 0.24 * len(names)), sharey=True)
    for panel, (metric, label) in zip(panels, PLOTTED.items(), strict=True):
        ratios = [ratios_of(by_name[name], metric) for name in names]
        means = np.array([mean_of(own) for own in ratios])
        ends = np.array([[min(own), max(own)] for own in ratios])
        panel.barh(names, means, color="tab:blue")
        reach = np.abs(ends.T - means)
        panel.errorbar(means, names, xerr=reach, fmt="none", ecolor="black", elinewidth=0.8)
        panel.axvline(1, color="tab:red", linewidth=1)
        panel.set_xlabel(f"{label} over in-order placement: geometric mean, range")
    panels[0].invert_yaxis()
    panels[0].set_ylim(len(names) - 0.4, -0.6)
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench/results/fabrics.jsonl"))
    parser.add_argument("--draws", type=int, default=3, help="random sets of hosts per pattern")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--plot", type=Path, help="draw the means into a picture (matplotlib)")
    parser.add_argument("--markdown", action="store_true", help="print the table of bench/PROTOCOL.md")
    parser.add_argument("--fabric", default="*")
    parser.add_argument("--pattern", default="*")
    parser.add_argument("--contender", default="*", help="pattern such as 'preset:*'")
    options = parser.parse_args()
    pictures.check(options.plot)
    shared = shared_folder()
    if shared is None:
        raise SystemExit("no folder of samples: set HOPBYTES_SHARED")
    folder = shared / "samples" if (shared / "samples").is_dir() else shared.parent / "samples"
    options.out.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in options.out.open()] if options.out.exists() else []
    done = {(row["fabric"], row["pattern"], row["hosts"], row["contender"], row["seed"]) for row in rows}
    ready.extend(instances(folder, options.draws, options.fabric, options.pattern))
    names = list(contenders(options.contender))
    left = [
        [
            (name, seed) for name in names for seed in range(options.seeds)
            if (*one.key, name, seed) not in done
        ]
        for one in ready
    ]
    # Children share what was read before they began.
    with ProcessPoolExecutor(options.jobs, get_context("fork")) as pool, options.out.open("a") as file:
        jobs = [pool.submit(rows_at, i, wanted) for i, wanted in enumerate(left) if wanted]
        for job in as_completed(jobs):
            rows.extend(job.result())
            file.writelines(json.dumps(row) + "\n" for row in job.result())
            file.flush()
    wanted = {key: getattr(options, key) for key in ("fabric", "pattern", "contender")}
    chosen = [row for row in rows if all(fnmatch.fnmatchcase(row[key], text) for key, text in wanted.items())]
    print(markdown(chosen) if options.markdown else table(chosen))
    if options.plot is not None:
        plot(chosen, options.plot)


if __name__ == "__main__":
    main()
