"""Flux, batch systems, jsrun, machines with coordinates, torchrun, Kubernetes, and Cray MPICH under srun."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from helpers.stand_ins import (
    Job,
    Place,
    RefusedError,
    by_script,
    lines_of,
    local_ranks,
    numbers,
    placed,
    take,
)
from helpers.stand_ins.by_hosts import hydra, intel
from helpers.stand_ins.openmpi import mpirun
from helpers.stand_ins.srun import srun

FLUX = """
n ntasks N nodes tasks-per-node tasks-per-core cores c cores-per-task g gpus-per-task gpus-per-node t
time-limit o setopt taskmap requires job-name q queue
"""


ERF_RANK = re.compile(
    r"rank: (\d+): \{ (host|hostname): (\S+); cpu: \{([\d,-]+)\}(?:; gpu: \{([\d,-]+)\})? \}"
)
ERF_HEAD = re.compile(r"(overlapping_rs|cpu_index_using|launch_distribution|oversubscribe_\w+): (\w+)")


def flux(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the ranks of ``flux run``; the shell reads the hosts (taskmap.hostfile)."""
    if words[:1] != ["run"]:
        raise RefusedError("flux: expected flux run")
    taken = take(words[1:], dict.fromkeys(FLUX.split(), 1), {"x", "exclusive", "l", "label-io", "unbuffered"})
    if taken.get("tasks-per-node") is not None and taken.get("n", "ntasks", "cores-per-task") is not None:
        raise RefusedError("Per-resource options can't be used with per-task options")
    nodes, share = taken.number("N", "nodes"), taken.number("tasks-per-node")
    wanted = (taken.get("requires") or f"hosts:{','.join(job.cores)}").removeprefix("hosts:").split(",")
    granted = [host for host in job.cores if host in wanted][:nodes]  # in the order of brokers
    if len(granted) < nodes:
        raise RefusedError("no hosts satisfy the constraint")
    scheme, _, value = (taken.get("taskmap") or "").partition(":")
    if scheme == "hostfile" and version >= "0.62":
        listed = (folder / value).read_text().splitlines()  # no comments: a line is a list of hosts
        hosts = [listed[rank % len(listed)] for rank in range(nodes * share)]
    elif scheme == "manual":
        runs = [[int(n) for n in run.split(",")] for run in re.findall(r"\[(\d+,\d+,\d+,\d+)\]", value)]
        hosts = [granted[node] for node, _, ranks, _ in runs for _ in range(ranks)]
    else:
        raise RefusedError(f"failed to find plugin for taskmap.{scheme}")
    if set(hosts) != set(granted) or any(hosts.count(host) != share for host in granted):
        raise RefusedError(f"the task map does not fit {nodes} nodes of {share} tasks: {granted}")
    options = [value for name, value in taken.options if name in ("o", "setopt")]
    affinity = dict(option.split("=", 1) for option in options if "=" in option).get("cpu-affinity", "on")
    sets = [frozenset(numbers(own)) for own in affinity[4:].split(";")] if affinity.startswith("map:") else []
    if sets and len(sets) < share:
        raise RefusedError("cpu-affinity=map: has fewer sets than a node has tasks")
    cpus = [sets[local] if sets else None for local in local_ranks(hosts)]
    return placed(hosts, cpus, by_script(taken.program, folder, "FLUX_TASK_RANK", len(hosts)))


def in_batch(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of ranks in a job of PBS or LSF; a version is an MPI, as ``Open MPI 4.1``."""
    if words[0] == "bsub":
        if "-n" in words[: words.index("mpiexec")] or words[1] != "-hostfile":
            raise RefusedError("bsub: -hostfile may not be used with -n")
        for line in lines_of(folder, words[2]):
            if not re.fullmatch(r"\S+ [1-9]\d*", line):
                raise RefusedError(f"user-specified host file: {line}")
        words = words[words.index("mpiexec") :]
    mpi, _, number = version.rpartition(" ")
    return {"Open MPI": mpirun, "MPICH": hydra, "Intel MPI": intel}[mpi](number, words[1:], folder, job)


def cray(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the ranks of Cray MPICH: the k-th number of the file is the rank of slot k."""
    if job.environment.get("MPICH_RANK_REORDER_METHOD") != "3":
        raise RefusedError("without method 3 the file is not read")
    text = ",".join(lines_of(folder, job.environment["MPICH_RANK_REORDER_FILE"]))
    order = [rank for run in re.split(r"[,\s]+", text) if run for rank in numbers(run)]
    slots = srun(version, words, folder, job)
    if sorted(order) != list(range(len(slots))):
        raise RefusedError("the rank order is no permutation")
    found = dict(zip(order, slots, strict=True))
    return [found[rank] for rank in range(len(slots))]


def jsrun(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of an explicit resource file; hosts are counted from 1, threads logically."""
    taken = take(words, {"erf_input": 1, "np": 1, "nrs": 1}, {"stdio_mode"}, dashes=2)
    found, heads = {}, {}
    for line in lines_of(folder, taken.get("erf_input") or ""):
        rank, head = ERF_RANK.fullmatch(line), ERF_HEAD.fullmatch(line)
        if head is not None:
            heads[head[1]] = head[2]
        elif rank is None:
            raise RefusedError(f"erf: {line}")
        else:
            host = rank[3] if rank[2] == "hostname" else ["no host 0", *job.cores][int(rank[3])]
            threads = job.cpus(host)
            cpus = frozenset(threads[number] for number in numbers(rank[4]))
            found[int(rank[1])] = Place(host, cpus, tuple(numbers(rank[5])) if rank[5] else None)
    if heads.get("cpu_index_using") != "logical":
        raise RefusedError("the stand-in counts logical threads")
    if sorted(found) != list(range(len(found))):
        raise RefusedError("ranks are missing")
    return [found[rank] for rank in range(len(found))]


def by_coordinates(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the coordinates of ranks as hosts: Fujitsu's mpiexec, Blue Gene's runjob and mpirun."""
    values = {"n": 1, "np": 1, "vcoordfile": 1, "mapping": 1, "mapfile": 1, "ranks-per-node": 1}
    if ":" in words:  # runjob: options end there
        words = [word for word in words if word != ":"]
    taken = take(words, values, set())
    rows = lines_of(folder, taken.get("vcoordfile", "mapping", "mapfile") or "")
    if len(rows) < taken.number("n", "np"):
        raise RefusedError("fewer coordinates than ranks")
    return [Place(re.sub(r"[() ,]+", " ", row).strip()) for row in rows]


def torchrun(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the processes that a script starts on every host; local rank i has GPU i.

    The line of srun has to reach all hosts, and the script is run with a torchrun that shows its options.
    """
    script = folder / next(word for word in words if word.startswith("ranks"))
    before = words[: words.index("sh")]
    started = [place.host for place in srun("24.11", [*before, "./app"], folder, job)]
    if len(set(started)) != len(started):
        raise RefusedError("the script runs twice on a host")
    return of_agents(version, script, started)


def of_agents(version: str, script: Path, hosts: list[str]) -> list[Place]:
    """Return the places of the processes of torchrun's agents, one on each host."""
    bin_folder = script.parent / "only torchrun"
    bin_folder.mkdir(exist_ok=True)
    (bin_folder / "torchrun").write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    (bin_folder / "hostname").write_text('#!/bin/sh\necho "$NAME_OF_HOST"\n')
    for name in ("torchrun", "hostname"):
        (bin_folder / name).chmod(0o755)
    found = {}
    for host in hosts:
        environment = {"PATH": f"{bin_folder}:/usr/bin:/bin", "NAME_OF_HOST": host}
        done = subprocess.run(["sh", script, "train.py"], env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RefusedError(done.stderr)
        found |= _agent(version, done.stdout.split(), host, len(hosts))
    if sorted(found) != list(range(len(found))):
        raise RefusedError("ranks occur twice or are missing")
    return [found[rank] for rank in range(len(found))]


def _agent(version: str, words: list[str], host: str, nodes: int) -> dict[int, Place]:
    options = dict(word.removeprefix("--").split("=") for word in words[:-1])
    if version >= "2.":  # dashes are names as well since pull request 94505
        options = {name.replace("-", "_"): value for name, value in options.items()}
    known = {"nnodes", "nproc_per_node", "node_rank", "master_addr", "master_port"}
    if set(options) != known or words[-1] != "train.py" or options["nnodes"] != str(nodes):
        raise RefusedError(f"torchrun: unrecognized arguments: {words}")
    count, node = int(options["nproc_per_node"]), int(options["node_rank"])
    return {node * count + local: Place(host, None, (local,)) for local in range(count)}
