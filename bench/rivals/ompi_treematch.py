"""Open MPI's own reordering (component ``treematch`` of its framework ``topo``) as a rival, on this host.

It maps ranks onto the cores they are bound to, so it needs real cores: with fewer than eight there is nothing
to choose, and it is left out with that reason. ``python -m bench.rivals.ompi_treematch`` says whether it
would run. Under ``mpirun`` the same file is the program: rank r, bound to core r, asks for a graph
communicator with reordering; its rank there is the task of the pattern that is to run where rank r does.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import hopbytes as hb
from bench import child

FEWEST_CORES = 8
#: Known to hang where it meets a topology it does not expect.
TIME_LIMIT = 120.0
#: Weights of MPI graphs are C ints, and it adds them up.
LARGEST_SUM = 2**30
AS_ROOT = {f"{tool}_ALLOW_RUN_AS_ROOT{more}": "1" for tool in ("OMPI", "PRTE") for more in ("", "_CONFIRM")}


def why_not(ranks: int, fewest: int = FEWEST_CORES) -> str | None:
    """Return why it cannot be run with so many ranks here; None when it can."""
    cores = hb.allocate("local").k
    if cores < max(ranks, fewest):
        return f"{cores} cores to bind {ranks} ranks to, expected {max(ranks, fewest)}"
    if shutil.which("mpirun") is None:
        return "mpirun is not installed"
    found = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False).stdout
    return None if "Open MPI" in found else "mpirun is not Open MPI's"


def place(graph: hb.CommGraph) -> np.ndarray:
    """Return int64[n]: the core of this host, as ``local`` numbers them, for every task."""
    volumes = graph.arc_volumes()
    divisor = max(1, -(-int(volumes.sum()) // LARGEST_SUM))
    with tempfile.TemporaryDirectory() as folder:
        np.savez(
            Path(folder) / "pattern.npz", sources=graph.sources(), targets=graph.targets,
            volumes=np.maximum(1, volumes // divisor),
        )  # fmt: skip
        command = [
            "mpirun", "-n", str(graph.n), "--map-by", "core", "--bind-to", "core",
            "--mca", "topo", "treematch", *child("bench.rivals.ompi_treematch"), folder,
        ]  # fmt: skip
        ended = subprocess.run(
            command, env={**os.environ, **AS_ROOT}, capture_output=True, text=True, timeout=TIME_LIMIT,
            check=False,
        )  # fmt: skip
        answer = Path(folder) / "answer.json"
        if ended.returncode or not answer.exists():
            raise RuntimeError(f"{' '.join(command)}: {ended.stderr.strip()[:300]}")
        found = json.loads(answer.read_text())
    return tasks_on_cores(found["task"], found["cpus"], hb.allocate("local"))


def tasks_on_cores(task: list[int], cpus: list[list[int]], where: hb.Allocation) -> np.ndarray:
    """Return the core of each task: process r became task[r] and is bound to the CPUs cpus[r] of one core."""
    core_of_cpu = {cpu: pe for pe in range(where.k) for cpu in where.os_pus(pe) or (pe,)}
    pe = np.full(len(task), -1, np.int64)
    for number, bound in zip(task, cpus, strict=True):
        cores = {core_of_cpu[cpu] for cpu in bound}
        if len(cores) != 1:
            raise RuntimeError(f"a rank is bound to {len(cores)} cores, expected 1")
        pe[number] = cores.pop()
    if len(set(pe.tolist())) < len(task) or pe.min() < 0:
        raise RuntimeError("two ranks on one core, or a task twice")
    return pe


def program(folder: Path) -> None:
    """What every rank does."""
    from mpi4py import MPI

    world, stored = MPI.COMM_WORLD, np.load(folder / "pattern.npz")
    out, into = stored["sources"] == world.rank, stored["targets"] == world.rank
    graph = world.Create_dist_graph_adjacent(
        stored["sources"][into].tolist(), stored["targets"][out].tolist(),
        stored["volumes"][into].tolist(), stored["volumes"][out].tolist(), reorder=True,
    )  # fmt: skip
    rows = world.gather((graph.rank, sorted(os.sched_getaffinity(0))))
    if world.rank == 0:
        task, cpus = zip(*rows, strict=True)
        (folder / "answer.json").write_text(json.dumps({"task": task, "cpus": cpus}))


if __name__ == "__main__":
    if len(sys.argv) == 2:
        program(Path(sys.argv[1]))
    else:
        print(why_not(FEWEST_CORES) or "it can be run")
