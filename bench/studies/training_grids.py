"""Grids of tensor, pipeline, data, context and expert parallelism on four machines with GPUs.

``python -m bench.studies.training_grids --gpus 64 --samples DIR --flows --json training_grids.jsonl``
(also 512, 4096; without ``--json`` it only prints) has a row for every grid, machine and allocation: the
natural rank order, the best by predicted time of the six rank orders of Megatron-LM that begin with ``tp``,
and the usual answer of preset ``eco``. An allocation is compact, or has holes: a random four fifths of the
hosts of the machine. ``--samples`` adds the InfiniBand fabric of the developers' samples, which has enough
hosts for 64 and 512 GPUs: with four GPUs each, one per adapter, and with eight. ``--only NVL72,holes`` leaves
out other machines and allocations; rows that the file has are not computed again. The time is that of all
messages of a step, as ``hopbytes simulate`` predicts it with NVLink of 450 GB/s, adapters and cables of
50 GB/s: by lower bounds, with ``--flows`` also by SimGrid.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
import hopbytes_laboratory
from hopbytes.cost.metrics.parallelism import parallelism
from hopbytes.cost.objectives.comm_cost import CommCost, objectives
from hopbytes.machines.gpu_domains import gpu_domains
from hopbytes.patterns.ml import rank_orders, training_of

MODEL = "hidden=8192,layers=96,seq=4096,micro=8"
GRIDS = {
    64: ("tp=8,pp=2,dp=4", "tp=4,pp=2,dp=8,ep=8", "tp=8,pp=2,dp=2,cp=2", "tp=2,pp=4,dp=8"),
    512: ("tp=8,pp=8,dp=8", "tp=4,pp=8,dp=16,ep=8", "tp=8,pp=4,dp=8,cp=2", "tp=2,pp=4,dp=64,ep=16"),
    4096: ("tp=8,pp=8,dp=64", "tp=4,pp=16,dp=64,ep=8", "tp=8,pp=16,dp=16,cp=2"),
}
#: Rank orders of the table: tensor parallel groups have consecutive ranks in all published ones.
FIRST, NATURAL = "tp", "tp-cp-ep-dp-pp"
#: Speeds for predicted times: links of NVLink, adapters, leaf to spine; GPUs of a host.
SPEEDS, INSIDE = ":bw=450000000000x50000000000x50000000000", ":lat=1e-6:bw=450000000000"
FABRIC = "infiniband/ndr_dgx_40sw"
HEAD = (
    "GPUs", "machine", "hosts", "grid", "between domains", "on one rail", "through spines", "congestion",
    "time of a step", "tensor groups inside", "data rings on a rail", "best order",
)
#: What a row has of each of the three, in this order.
KINDS = ("natural", "best", "eco")


def machines_for(gpus: int, samples: Path | None) -> Iterator[tuple[str, str, int]]:
    """Yield name, spec and GPUs per host of machines with a quarter more hosts than a job needs."""
    hosts = gpus // 8
    all_hosts, pod = hosts + hosts // 4, max(2, min(32, hosts // 2))
    eight, four = (f"{SPEEDS} / gpu:{count}{INSIDE}" for count in (8, 4))
    yield "rails 1:1", f"rails:{all_hosts}x8:pod={pod}{eight}", 8
    yield "rails 2:1", f"rails:{all_hosts}x8:pod={pod}:spines={pod // 2}{eight}", 8
    hosts = gpus // 4
    yield "NVL72", f"rails:{hosts + hosts // 4}x4:domain=18:pod={18 if gpus < 512 else 72}{four}", 4
    if samples is not None and gpus <= 512:  # the fabric has 109 hosts with four adapters
        tables, per_host = "tables=dump_fts_minhop.txt.gz", 4 if gpus == 64 else 8
        yield (
            "ib: NDR fabric", f"ib:{samples / FABRIC}:{tables}:rails=gpu / gpu:{per_host}{INSIDE}", per_host
        )


def allocations(name: str, spec: str, hosts: int) -> Iterator[tuple[str, Any]]:
    """Yield the compact allocation of some hosts and one with holes."""
    if name.startswith("ib"):
        whole = hb.allocate(spec)
        good = np.flatnonzero(whole.machine.adapters_per_host >= 4)
        if len(good) < hosts:
            return
        drawn = np.sort(np.random.default_rng(1).choice(good, hosts, replace=False))
        for kind, chosen in (("compact", good[:hosts]), ("holes", drawn)):
            yield kind, hb.allocate(spec, hosts="nodes:" + ",".join(map(str, chosen.tolist())))
        return
    yield "compact", hb.allocate(spec, hosts=f"nodes:0-{hosts - 1}")
    yield "holes", hb.allocate(spec, hosts=f"scattered:nodes={hosts}:seed=1")


def measured(graph: hb.CommGraph, where: Any, pe: Any, *, flows: bool) -> dict[str, Any]:
    """Return J, the shares of bytes between domains, on one rail and through spines, the load, seconds."""
    domains = gpu_domains(where)
    source = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    a, b = pe[source], pe[graph.targets]
    apart = domains.domain[a] != domains.domain[b]
    same = apart & (domains.rail[a] == domains.rail[b])
    total, mapping = int(graph.volumes.sum()), hb.Mapping(pe, where)
    ends = where.endpoints
    if ends is None:
        ends = where.machine.network_use.endpoint_of_core()[where.first_core]
    lengths = np.diff(where.machine.network().routes(ends[a], ends[b]).indptr)
    kinds = parallelism(graph, mapping)
    placed = {each.kind: (each.inside, each.on_rail or 0, each.volume) for each in kinds}
    found = {
        "J": int(CommCost().value(graph, where, pe)),
        "between": int(graph.volumes[apart].sum()) / total,
        "on_rail": int(graph.volumes[same].sum()) / total,
        "spines": int(graph.volumes[apart & (lengths > 2)].sum()) / total,
        "congestion": float(objectives["max_congestion"]().value(graph, where, pe)),
        "tensor": placed["tensor"], "data": placed["data"],
        "seconds": hb.simulate(graph, mapping, grade="bound").seconds,
    }
    if flows:
        found["flows"] = hb.simulate(graph, mapping, grade="flows", time_limit=120).seconds
    return found


def rows_of(
    gpus: int, samples: Path | None, only: list[str], *, flows: bool, done: set[tuple[str, ...]]
) -> Iterator[dict[str, Any]]:
    """Yield a row for each grid, machine and allocation; `only` names machines and allocations."""
    for name, spec, per_host in machines_for(gpus, samples):
        named = [word for word in only if word not in ("compact", "holes")]
        if named and not any(word in name for word in named):
            continue
        for allocation, where in allocations(name, spec, gpus // per_host):
            if {"compact", "holes"} & set(only) and allocation not in only:
                continue
            for grid in GRIDS[gpus]:
                if (str(gpus), grid, name, allocation) in done:
                    continue
                row = {"gpus": gpus, "grid": grid, "machine": name, "allocation": allocation}
                yield row | compared(grid, where, flows=flows)


def compared(grid: str, where: Any, *, flows: bool) -> dict[str, Any]:
    """Return what is measured of the natural order, the best order and the usual answer."""
    graph = hb.read_pattern(f"ml:{grid},{MODEL}")
    training = training_of(graph)
    assert training is not None
    orders = {
        order: rank.astype(np.int32)
        for order, rank in rank_orders(training).items()
        if order.startswith(FIRST)
    }
    times = {
        order: hb.simulate(graph, hb.Mapping(pe, where), grade="bound").seconds
        for order, pe in orders.items()
    }
    best = min(times, key=lambda order: times[order])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hb.HopbytesWarning)
        began = time.process_time()
        ours = hb.map_tasks(graph, where, "eco", seed=1, threads=1)
        spent = time.process_time() - began
    return {
        "best_order": best,
        "objective": ours.info["objective"],
        "cpu_seconds": round(spent, 2),
        "natural": measured(graph, where, orders[NATURAL], flows=flows),
        "best": measured(graph, where, orders[best], flows=flows),
        "eco": measured(graph, where, ours.pe, flows=flows),
    }


def line_of(row: dict[str, Any]) -> str:
    """Return a row of the table in Markdown: natural order, best order, usual answer in every cell."""
    natural = row["natural"]
    cells = [row["gpus"], row["machine"], row["allocation"], f"`{row['grid']}`"]
    for share in ("between", "on_rail", "spines"):
        cells += [" / ".join(f"{100 * row[kind][share]:.1f}" for kind in KINDS) + " %"]
    rest = KINDS[1:]
    cells += [" / ".join(f"{row[kind]['congestion'] / natural['congestion'] - 1:+.0%}" for kind in rest)]
    times = [f"{natural['seconds']:.3g} s, "]
    times += [" / ".join(f"{row[kind]['seconds'] / natural['seconds'] - 1:+.1%}" for kind in rest)]
    if "flows" in natural:
        times += [f"; {natural['flows']:.3g} s, "]
        times += [" / ".join(f"{row[kind]['flows'] / natural['flows'] - 1:+.1%}" for kind in rest)]
    cells += ["".join(times)]
    inside = [row[kind]["tensor"] for kind in KINDS]
    cells += [" / ".join(f"{100 * near / whole:.0f}" for near, _, whole in inside) + " %"]
    rings = [row[kind]["data"] for kind in KINDS]
    cells += [" / ".join(f"{100 * (near + on_rail) / whole:.0f}" for near, on_rail, whole in rings) + " %"]
    cells += ["natural" if row["best_order"] == NATURAL else row["best_order"]]
    return "| " + " | ".join(map(str, cells)) + " |"


def table(rows: list[dict[str, Any]]) -> str:
    """Return the whole table in Markdown."""
    return "\n".join(["| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|", *map(line_of, rows)])


def summary(rows: list[dict[str, Any]]) -> str:
    """Return how often and how far the usual answer is faster or slower than both kinds of orders."""
    lines = []
    for gpus in dict.fromkeys(row["gpus"] for row in rows):
        own = [row for row in rows if row["gpus"] == gpus]
        parts = []
        for kind, name in (("natural", "the natural order"), ("best", "the best of six orders")):
            ratios = [row["eco"]["seconds"] / row[kind]["seconds"] for row in own]
            mean = float(np.exp(np.mean(np.log(ratios))))
            parts.append(f"{mean:.3f} of {name} (from {min(ratios):.3f} to {max(ratios):.3f})")
        spent = max(row["cpu_seconds"] for row in own)
        lines.append(
            f"- {gpus} GPUs, {len(own)} rows: the predicted time is {', '.join(parts)}, geometric means; at "
            f"most {spent:.0f} CPU seconds a mapping."
        )
    return "\n".join(lines)


def kept_rows(path: Path | None) -> list[dict[str, Any]]:
    """Return the rows that a file has already."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path and path.exists() else []


def main(arguments: list[str]) -> int:
    """Print the table of one number of GPUs."""
    hopbytes_laboratory.register()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpus", type=int, default=64, choices=sorted(GRIDS))
    parser.add_argument("--samples", type=Path, help="folder of the developers' samples")
    parser.add_argument("--json", type=Path, help="file to which the rows are appended")
    parser.add_argument("--only", default="", help="machines and allocations, such as NVL72,holes")
    parser.add_argument("--flows", action="store_true", help="simulate the time of a step by SimGrid, too")
    options = parser.parse_args(arguments)
    done = {
        (str(row["gpus"]), row["grid"], row["machine"], row["allocation"]) for row in kept_rows(options.json)
    }
    print(table([]))
    only = [word for word in options.only.split(",") if word]
    for row in rows_of(options.gpus, options.samples, only, flows=options.flows, done=done):
        print(line_of(row), flush=True)
        if options.json is not None:
            with options.json.open("a") as stream:
                stream.write(json.dumps(row) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
