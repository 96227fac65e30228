"""Where launchers put ranks by themselves, found out by launching, and what that costs beside hopbytes.

    python -m bench.studies.launcher_orders                                 # 64 ranks of LAMMPS on 72 cores
    python -m bench.studies.launcher_orders app.pattern --nodes 8 --packages 2 --cores 16
    python -m bench.studies.launcher_orders app.pattern --without openmpi-5  # slow for many hosts without DNS

Hosts are name spaces of this computer, or nodes of a Slurm of its own (tests/launchers), so that the real
Open MPI 4.1 and 5, MPICH's Hydra and srun decide; what is not installed is left out. Needs root. The program
that is started says its rank and its host. Bytes between nodes are of arcs with ranks on different hosts.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import numpy as np

import hopbytes as hb
from bench import ROOT

sys.path.insert(0, str(ROOT / "tests" / "launchers"))

SAYS = "echo seen ${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}} ${SLURMD_NODENAME:-$(hostname)}"
SEEN = re.compile(r"seen (\d+) (\S+)")


def by_mpi(
    folder: Path, hosts: list[str], slots: int, n: int, without: str = ""
) -> Iterator[tuple[str, list[str]]]:
    """Name of a launch and host of every rank, for the launchers that take a file of hosts."""
    import pytest
    from several_hosts import farm, launched

    for kind, name in (("openmpi-4", "Open MPI 4"), ("openmpi-5", "Open MPI 5"), ("hydra", "MPICH")):
        if kind == without:
            continue
        try:
            found = farm(kind, folder)
        except pytest.skip.Exception:
            continue
        mark = ":" if kind == "hydra" else " slots="
        files = {f"file of host{mark}{slots}": "".join(f"{host}{mark}{slots}\n" for host in hosts)}
        if kind == "hydra":
            files["file of hosts alone"] = "".join(f"{host}\n" for host in hosts)
        option = "-f" if kind == "hydra" else "--hostfile"
        for what, text in files.items():
            (folder / "list").write_text(text)
            # This computer has fewer cores than ranks, and only hosts are asked for.
            free = [] if kind == "hydra" else ["--bind-to", "none"]
            command = [*found.launch, option, "list", *free, "-n", str(n), "sh", "-c", SAYS]
            done = launched(command, cwd=folder, env=found.environment)
            yield f"{name}, {what}", hosts_of_ranks(done, n)


def by_slurm(folder: Path, nodes: int, packages: int, cores: int, n: int) -> Iterator[tuple[str, list[str]]]:
    """The same for srun, on nodes that jobs share and on whole ones."""
    from slurm_nodes import ready, slurm_cluster

    if not ready():
        return
    step = ["srun", "-Q", f"-n{n}", "sh", "-c", SAYS]
    launches = {
        f"Slurm, srun -N{nodes} -n{n}": [*step[:2], f"-N{nodes}", *step[2:]],
        f"Slurm, whole nodes (salloc -N{nodes} --exclusive)": [
            "salloc", "-Q", f"-N{nodes}", "--exclusive", *step
        ],
    }  # fmt: skip
    for number, (name, command) in enumerate(launches.items()):
        cluster = slurm_cluster(folder / f"slurm{number}", nodes, packages, cores // packages, "task/none")
        with cluster as environment:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
            yield name, hosts_of_ranks(done, n)


def hosts_of_ranks(done: subprocess.CompletedProcess[str], n: int) -> list[str]:
    """Host of every rank, from what the ranks said."""
    found = {int(rank): host for rank, host in SEEN.findall(done.stdout)}
    if sorted(found) != list(range(n)):
        raise RuntimeError(f"{len(found)} of {n} ranks answered: {done.stderr.strip()[-300:]}")
    return [found[rank] for rank in range(n)]


def bytes_between(graph: hb.CommGraph, hosts: list[str] | np.ndarray) -> int:
    """Volume of the arcs whose ends are on different hosts."""
    host = np.asarray(hosts)
    volumes = np.ones(graph.m, np.int64) if graph.volumes is None else graph.volumes
    return int(volumes[host[graph.sources()] != host[graph.targets]].sum())


def counts(hosts: list[str], names: list[str]) -> str:
    """Ranks per node, and whether nodes take turns."""
    each = " ".join(str(hosts.count(name)) for name in names)
    runs = len(list(groupby(hosts)))
    return each if runs <= len(names) else f"{each}, in turn"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pattern", nargs="?", default=str(ROOT / "examples" / "lammps_lj_64.csv"))
    parser.add_argument("--nodes", type=int, default=6)
    parser.add_argument("--packages", type=int, default=2)
    parser.add_argument("--cores", type=int, default=12, help="of a node")
    parser.add_argument("--without", default="", help="openmpi-4, openmpi-5 or hydra: leave it out")
    options = parser.parse_args()
    graph = hb.read(options.pattern)
    names = [f"n{number}" for number in range(1, options.nodes + 1)]
    per_package = options.cores // options.packages
    where = hb.allocate(f"node:{options.nodes}@10 package:{options.packages}@3 core:{per_package}@1")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        launches = [*by_mpi(path, names, options.cores, graph.n, options.without)]
        launches += by_slurm(path, options.nodes, options.packages, options.cores, graph.n)
    rows = [(name, counts(hosts, names), bytes_between(graph, hosts)) for name, hosts in launches]
    for name, keywords in (("hopbytes", {}), ("hopbytes --pack", {"pack": True})):
        mapping = hb.map_tasks(graph, hb.allocate(where, **keywords))
        node = where.node_of_pe[mapping.pe]
        each = " ".join(map(str, np.bincount(node, minlength=options.nodes)))
        rows.append((name, each, bytes_between(graph, node)))
    least = max(min(row[2] for row in rows), 1)
    print("| who places | ranks per node | bytes between nodes | over the least |")
    print("|---|---|---|---|")
    for name, each, volume in rows:
        print(f"| {name} | {each} | {volume:,} | {volume / least:.2f} |")


if __name__ == "__main__":
    main()
