"""MPICH's Hydra, Intel MPI, PALS and MVAPICH: launchers of host files with one list of CPUs for all hosts."""

from __future__ import annotations

import re
from pathlib import Path

from helpers.stand_ins import (
    Job,
    Place,
    RefusedError,
    bits,
    by_script,
    lines_of,
    local_ranks,
    numbers,
    placed,
    take,
)

#: Options of src/pm/hydra/ui/mpich/utils.c of 4.0.2 and of ``mpiexec -help`` of 4.2.1 and 5.0.2.
HYDRA = """
f hostfile machinefile machine machines host hosts ppn prepend-pattern outfile-pattern errfile-pattern wdir
configfile envlist genvlist n np launcher launcher-exec bootstrap bootstrap-exec rmk topolib binding bind-to
map-by membind demux iface nameserver order-nodes localhost usize gpus-per-proc
"""
HYDRA_FLAGS = """
genvnone genvall prepend-rank l envnone envall enable-x disable-x verbose v info print-all-exitcodes
disable-auto-cleanup disable-hostname-propagation pmi-port skip-launch-node
"""
#: Intel MPI has the options of Hydra 3.x and a few more ("Global Hydra Options", "Local Options").
INTEL = f"{HYDRA} perhost trace-collectives rr grr" 
PALS = """
n np ppn N hostfile hosts host cpu-bind mem-bind gpu-bind depth d env genv wdir soft arch path configfile
exclude rlimits
"""


def hydra(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the ranks that mpiexec.hydra of MPICH starts."""
    values = dict.fromkeys(HYDRA.split(), 1) | {"genv": 2, "env": 2}
    values |= {"rankmap": 1, "memory-alloc-kinds": 1} if version >= "4.2" else {}
    taken = take(words, values, set(HYDRA_FLAGS.split()))
    count = taken.number("n", "np")
    hosts = _machine_file(taken.get("f", "hostfile", "machinefile"), folder, count)
    text = taken.get("bind-to", "binding", default="none") or ""
    kind, _, listed = text.partition(":")
    if kind not in ("none", "user", "core"):
        raise RefusedError(f"unrecognized binding {text}")
    sets = [frozenset(map(int, own.split("+"))) for own in listed.split(",")] if kind == "user" else []
    cpus = [sets[local % len(sets)] if sets else None for local in local_ranks(hosts)]
    _check_there(hosts, cpus, job)
    return placed(hosts, cpus, by_script(taken.program, folder, "PMI_RANK", count))


def intel(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the ranks that mpirun of Intel MPI starts."""
    taken = take(words, dict.fromkeys(INTEL.split(), 1) | {"genv": 2, "env": 2}, set(HYDRA_FLAGS.split()))
    count = taken.number("n", "np")
    hosts = _machine_file(taken.get("machinefile", "f", "hostfile"), folder, count)
    settings = dict(re.split("[= ]", value, maxsplit=1) for name, value in taken.options if name == "genv")
    local, sets = local_ranks(hosts), []
    if settings.get("I_MPI_PIN") != "off" and "I_MPI_PIN_PROCESSOR_LIST" in settings:
        sets = [frozenset([cpu]) for cpu in _each(settings["I_MPI_PIN_PROCESSOR_LIST"])]
    elif settings.get("I_MPI_PIN") != "off" and "I_MPI_PIN_DOMAIN" in settings:
        masks = settings["I_MPI_PIN_DOMAIN"]
        if not re.fullmatch(r"\[0x[0-9a-f]+(,0x[0-9a-f]+)*\]", masks):
            raise RefusedError(f"I_MPI_PIN_DOMAIN={masks}")
        sets = [bits(int(mask, 16)) for mask in masks[1:-1].split(",")]
    if sets and any(hosts.count(host) != len(sets) for host in set(hosts)):
        raise RefusedError("a host has another number of ranks than the list: they are not pinned (2021.19)")
    cpus = [sets[number] if sets else None for number in local]
    _check_there(hosts, cpus, job)
    return placed(hosts, cpus, by_script(taken.program, folder, "PMI_RANK", count))


def pals(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the ranks that mpiexec of PALS starts: hosts in their order, N ranks on each."""
    taken = take(words, dict.fromkeys(PALS.split(), 1), {"line-buffer", "label", "l", "verbose", "v"})
    count, share = taken.number("n", "np"), taken.number("ppn", "N")
    listed = lines_of(folder, taken.get("hostfile") or "")
    if len(set(listed)) != len(listed) or len(listed) * share < count:
        raise RefusedError("hosts occur twice or are too few")
    hosts = [host for host in listed for _ in range(share)][:count]
    kind, _, text = (taken.get("cpu-bind", default="none") or "").partition(":")
    if kind not in ("none", "list"):
        raise RefusedError(f"--cpu-bind {kind}")
    sets = [frozenset(numbers(own)) for own in text.split(":")] if kind == "list" else []
    cpus = [sets[local % len(sets)] if sets else None for local in local_ranks(hosts)]
    _check_there(hosts, cpus, job)
    return placed(hosts, cpus, by_script(taken.program, folder, "PALS_RANKID", count))


def mpirun_rsh(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the ranks that mpirun_rsh of MVAPICH2 starts: line i has the host of rank i."""
    values = dict.fromkeys(["np", "n", "hostfile", "hosts", "config"], 1)
    while "=" in words[-1]:
        raise RefusedError("no program")
    first = next((place for place, word in enumerate(words) if "=" in word), None)
    program = next(place for place, word in enumerate(words) if word in ("sh", "./app"))
    taken = take([*words[:first], *words[program:]] if first else words, values, {"ssh", "rsh", "export-all"})
    settings = dict(word.split("=", 1) for word in words[first:program]) if first else {}
    count = taken.number("np", "n")
    hosts = lines_of(folder, taken.get("hostfile") or "")
    if len(hosts) < count:
        raise RefusedError("fewer hosts than ranks")
    hosts, sets = hosts[:count], []
    if settings.get("MV2_ENABLE_AFFINITY") != "0" and "MV2_CPU_MAPPING" in settings:
        sets = [frozenset(numbers(own)) for own in settings["MV2_CPU_MAPPING"].split(":")]
    cpus = [sets[local % len(sets)] if sets else None for local in local_ranks(hosts)]
    _check_there(hosts, cpus, job)
    return placed(hosts, cpus, by_script(taken.program, folder, "MV2_COMM_WORLD_RANK", count))


def _machine_file(name: str | None, folder: Path, count: int) -> list[str]:
    """Return the host of every rank from lines ``host:ranks``; the list is used again if it is too short."""
    if name is None:
        raise RefusedError("the stand-in needs a file of hosts")
    hosts = []
    for line in lines_of(folder, name):
        host, colon, ranks = line.split()[0].partition(":")
        if colon and not ranks.isdecimal():
            raise RefusedError(f"{line}: not a number of ranks")
        hosts += [host] * int(ranks or 1)
    if not hosts:
        raise RefusedError("no hosts")
    return [hosts[rank % len(hosts)] for rank in range(count)]


def _each(text: str) -> list[int]:
    return [cpu for run in text.split(",") for cpu in numbers(run)]


def _check_there(hosts: list[str], cpus: list[frozenset[int] | None], job: Job) -> None:
    for host, own in zip(hosts, cpus, strict=True):
        if host not in job.cores or not (own or frozenset()) <= set(job.cpus(host)):
            raise RefusedError(f"{host} has no CPUs {sorted(own or ())}")
