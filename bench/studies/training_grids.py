"""Grids of tensor, pipeline, data, context and expert parallelism on four machines with GPUs.

``python -m bench.studies.training_grids --gpus 64`` (also 512, 4096) prints a table: for every grid, machine
and allocation the natural rank order, the best of the six rank orders of Megatron-LM that begin with ``tp``,
and preset ``eco``. An allocation is compact, or has holes: a random four fifths of the hosts of the machine.
``--samples DIR`` adds the InfiniBand fabric of the developers' samples. ``--json FILE`` keeps the rows,
``--only NVL72,holes`` leaves out other machines and allocations, so that runs of 4096 GPUs can be divided.
``--time flows`` (or ``bound``) predicts the time of all messages of a step by ``hopbytes simulate``, with
NVLink of 450 GB/s, adapters and cables of 50 GB/s; up to 512 GPUs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from hopbytes.cost.objectives.base import objectives
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.machines.common.gpu_domains import gpu_domains
from hopbytes.patterns.ml import training_of
from hopbytes.patterns.rank_orders import rank_orders

MODEL = "hidden=8192,layers=96,seq=4096,micro=8"
GRIDS = {
    64: ("tp=8,pp=2,dp=4", "tp=4,pp=2,dp=8,ep=8", "tp=8,pp=2,dp=2,cp=2", "tp=2,pp=4,dp=8"),
    512: ("tp=8,pp=8,dp=8", "tp=4,pp=8,dp=16,ep=8", "tp=8,pp=4,dp=8,cp=2", "tp=2,pp=4,dp=64,ep=16"),
    4096: ("tp=8,pp=8,dp=64", "tp=4,pp=16,dp=64,ep=8", "tp=8,pp=16,dp=16,cp=2"),
}
#: Rank orders of the table: tensor parallel groups have consecutive ranks in all published ones.
FIRST = "tp"
#: Speeds for predicted times: links of NVLink, adapters, leaf to spine; GPUs of a host.
SPEEDS, INSIDE = ":bw=450000000000x50000000000x50000000000", ":lat=1e-6:bw=450000000000"
FABRIC = "infiniband/ndr_dgx_40sw"
HEAD = (
    "GPUs", "grid", "machine", "allocation", "natural: J, on one rail", "best order", "eco: J, on one rail",
    "congestion",
)


def machines_for(gpus: int, samples: Path | None, timed: bool) -> Iterator[tuple[str, str, int]]:
    """Yield name, spec and GPUs per host of machines with a quarter more hosts than a job needs."""
    hosts = gpus // 8
    all_hosts, pod = hosts + hosts // 4, max(2, min(32, hosts // 2))
    eight, four = (f"{SPEEDS} / gpu:{count}{INSIDE}" if timed else "" for count in (8, 4))
    yield "rails 1:1", f"rails:{all_hosts}x8:pod={pod}{eight}", 8
    yield "rails 2:1", f"rails:{all_hosts}x8:pod={pod}:spines={pod // 2}{eight}", 8
    hosts = gpus // 4
    yield "NVL72", f"rails:{hosts + hosts // 4}x4:domain=18:pod={18 if gpus < 512 else 72}{four}", 4
    if samples is not None and gpus <= 512:
        inside = f"gpu:4{INSIDE if timed else ''}"
        yield "ib: NDR fabric", f"ib:{samples / FABRIC}:tables=dump_fts_minhop.txt.gz:rails=gpu / {inside}", 4


def allocations(name: str, spec: str, hosts: int) -> Iterator[tuple[str, Any]]:
    """Yield the compact allocation of some hosts and one with holes."""
    if name.startswith("ib"):
        whole = hb.machine(spec)
        good = np.flatnonzero(whole.machine.adapters_per_host >= 4)
        if len(good) < hosts:
            return
        drawn = np.sort(np.random.default_rng(1).choice(good, hosts, replace=False))
        for kind, chosen in (("compact", good[:hosts]), ("holes", drawn)):
            yield kind, hb.machine(spec, hosts="nodes:" + ",".join(map(str, chosen.tolist())))
        return
    yield "compact", hb.machine(spec, hosts=f"nodes:0-{hosts - 1}")
    yield "holes", hb.machine(spec, hosts=f"scattered:nodes={hosts}:seed=1")


def measured(graph: hb.CommGraph, where: Any, pe: Any, grade: str = "") -> dict[str, Any]:
    """Return J, the shares of bytes between domains and on one rail, the largest load, seconds."""
    domains = gpu_domains(where)
    source = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    a, b = pe[source], pe[graph.targets]
    apart = domains.domain[a] != domains.domain[b]
    rail = domains.rail
    same = apart & (rail[a] == rail[b]) if rail is not None else apart & False
    total, outside = int(graph.volumes.sum()), int(graph.volumes[apart].sum())
    seconds = hb.simulate(graph, hb.Mapping(pe, where), grade=grade).seconds if grade else None
    return {
        "seconds": seconds,
        "J": int(CommCost().value(graph, where, pe)),
        "between": outside / total,
        "on_rail": int(graph.volumes[same].sum()) / outside if outside else 1.0,
        "congestion": float(objectives["max_congestion"]().value(graph, where, pe)),
    }


def rows_of(gpus: int, samples: Path | None, only: list[str], grade: str = "") -> Iterator[dict[str, Any]]:
    """Yield a row for each grid, machine and allocation; `only` names machines and allocations."""
    for name, spec, per_host in machines_for(gpus, samples, bool(grade)):
        named = [word for word in only if word not in ("compact", "holes")]
        if named and not any(word in name for word in named):
            continue
        for allocation, where in allocations(name, spec, gpus // per_host):
            if {"compact", "holes"} & set(only) and allocation not in only:
                continue
            for grid in GRIDS[gpus]:
                graph = hb.read_pattern(f"ml:{grid},{MODEL}")
                training = training_of(graph)
                assert training is not None
                found = {
                    order: measured(graph, where, rank.astype(np.int32), grade)
                    for order, rank in rank_orders(training).items()
                    if order.startswith(FIRST)
                }
                best = min(found, key=lambda order: found[order]["J"])
                ours = hb.map_tasks(graph, where, preset="eco", seed=1, threads=1)
                row = {"gpus": gpus, "grid": grid, "machine": name, "allocation": allocation}
                yield row | {
                    "natural": found["tp-cp-ep-dp-pp"], "best_order": best, "best": found[best],
                    "eco": measured(graph, where, ours.pe, grade),
                }


def line_of(row: dict[str, Any]) -> str:
    """Return a row of the table in Markdown."""
    natural, best, eco = row["natural"], row["best"], row["eco"]
    base = max(1, natural["J"])
    cells = [row["gpus"], row["grid"], row["machine"], row["allocation"]]
    cells += [f"{natural['J'] / 1e12:.1f} T, {natural['on_rail']:.0%}"]
    cells += [f"{row['best_order']} {best['J'] / base - 1:+.1%}"]
    cells += [f"{eco['J'] / base - 1:+.1%}, {eco['on_rail']:.0%}"]
    cells += [f"{eco['congestion'] / max(natural['congestion'], 1e-300) - 1:+.0%}"]
    if natural["seconds"] is not None:
        of_best, of_eco = (found["seconds"] / natural["seconds"] - 1 for found in (best, eco))
        cells += [f"{natural['seconds']:.3g} s, {of_best:+.1%}, {of_eco:+.1%}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def main(arguments: list[str]) -> int:
    """Print the table of one number of GPUs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpus", type=int, default=64, choices=sorted(GRIDS))
    parser.add_argument("--samples", type=Path, help="folder of the developers' samples")
    parser.add_argument("--json", type=Path, help="file to which the rows are appended")
    parser.add_argument("--only", default="", help="machines and allocations, such as NVL72,holes")
    parser.add_argument("--time", default="", choices=("bound", "flows"), help="predict the time of a step")
    options = parser.parse_args(arguments)
    if options.time and options.gpus > 512:
        parser.error("--time: expected at most 512 GPUs")
    head = (*HEAD, "time: natural, best order, eco") if options.time else HEAD
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    only = [word for word in options.only.split(",") if word]
    for row in rows_of(options.gpus, options.samples, only, options.time):
        print(line_of(row), flush=True)
        if options.json is not None:
            with options.json.open("a") as stream:
                stream.write(json.dumps(row) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
