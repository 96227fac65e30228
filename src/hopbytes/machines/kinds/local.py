"""``local``: the host this runs on, with the cores this process may use."""

from __future__ import annotations

import dataclasses
import glob
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.machines.base import machines
from hopbytes.machines.node.job import JobInfo, find_job, manager_without_job, missing_list, same_host
from hopbytes.machines.node.node_tree import NodeInventory, NodeTree
from hopbytes.machines.node.sysfs import collect, node_from_files
from hopbytes.machines.node_machine import NodeMachine, cut_overrides
from hopbytes.text.hostlist import read_slots
from hopbytes.text.open_input import check_file

#: Where jobs say which GPUs of a maker are theirs.
VARIABLES = {
    "nvidia": "CUDA_VISIBLE_DEVICES", "amd": "ROCR_VISIBLE_DEVICES", "intel": "ZE_AFFINITY_MASK",
}  # fmt: skip
#: A number in a list of such a variable, perhaps that of a part, or an identifier.
NAMES_GPU = re.compile(r"[0-9]+(?:\.[0-9]+)?|[A-Za-z]+-.+", re.ASCII)


@machines.register("local")
@frozen(eq=False)
class Local(NodeMachine):
    """The host this runs on: cores of this process's affinity (Linux)."""

    stands_alone = True

    def repeated(self, hosts: Sequence[str]) -> None:
        return None

    @classmethod
    def parse(cls, text: str) -> Local:
        body, replaced = cut_overrides(f":{text}" if text else "")
        if body:
            raise UnsupportedError(f"local:{text[:40]}, expected local, or distances as in local:l3=3")
        return cls("local", NodeInventory.of([this_node()]), replaced=replaced, warnings=_warnings())


def this_node() -> NodeTree:
    """Return the node this process runs on, restricted to the CPUs it may use."""
    if not hasattr(os, "sched_getaffinity"):
        system = platform.system()
        raise UnsupportedError(f"local on {system}, expected Linux (an hwloc file works: lstopo node.xml)")
    node = node_from_files(collect(), os.sched_getaffinity(0), host=platform.node())
    return dataclasses.replace(node, notices=(*node.notices, *gpu_notices(node, os.environ)))


def _warnings() -> tuple[str, ...]:
    """Sentence for the user where the program will probably run on other hosts."""
    host = platform.node()
    job = find_job(os.environ)
    if job is not None and not any(same_host(host, name) for name in job.hosts):
        return (f"{host} is not among the hosts of this {job.system} job, where the program will run",)
    manager = manager_without_job() if job is None else None
    if manager is not None:
        outside = f"this is {host} outside any job, but jobs here run through {manager}"
        return (f"{outside}: `machine='job'` inside one",)
    return ()


def gpu_notices(node: NodeTree, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences about GPUs that the environment hides, or that are divided as /sys does not tell."""
    for maker, variable in VARIABLES.items():
        count = sum(gpu.maker == maker for gpu in node.gpus)
        listed = environment.get(variable)
        shown = count if listed is None else _shown(listed)
        if listed is not None and shown < count:
            what = f"{variable}={listed[:60]} shows {shown} of the {count} GPUs of this host"
            yield f"{what}, which are numbered here without it"
    divided = glob.glob("/proc/driver/nvidia/capabilities/gpu[0-9]*/mig/gi[0-9]*")
    if divided:
        yield f"GPUs of this host are divided into MIG instances ({len(divided)}), each GPU counts as one"


def _shown(listed: str) -> int:
    """Return how many GPUs a list shows: its words up to the first that names none, such as -1."""
    words = (word.strip() for word in listed.split(","))
    return len(set(takewhile(NAMES_GPU.fullmatch, words)))


PROBE = "'hopbytes probe -o job.machine.json -- srun …' asks each node"


@machines.register("job")
@frozen(eq=False)
class JobMachine(NodeMachine):
    """The hosts of the running Slurm, PBS, LSF, Flux, OAR or Grid Engine job, or of a host file.

    ``job`` reads the environment, ``job:FILE`` a host file. Only this host can be examined from here: the
    others are assumed to be like it. ``hopbytes probe`` asks each of them instead.
    """

    stands_alone = True

    @classmethod
    def parse(cls, text: str) -> JobMachine:
        path, replaced = cut_overrides(text if not text or os.path.exists(text) else f":{text}")
        path = path.removeprefix(":")
        job = _of_host_file(path) if path else find_job(os.environ)
        if job is None:
            here = "not inside a job of Slurm, PBS, LSF, Flux, OAR or Grid Engine, and no default host file"
            raise UnsupportedError(
                f"{missing_list(os.environ) or here}, expected the hosts of a job (or `machine='local'`, "
                "job:HOSTFILE, hwloc:FILE@hosts)"
            )
        trees, warnings = nodes_of(job, this_node(), platform.node())
        job = job.with_cores([int(tree.cores[-1]) + 1 for tree in trees])
        spec = f"job:{path}" if path else "job"
        return cls(spec, NodeInventory.of(trees), job.hosts, replaced, None, (*job.notices, *warnings), job)


def _of_host_file(path: str) -> JobInfo:
    def around() -> tuple[str, ...]:
        job = find_job(os.environ)
        return () if job is None else job.hosts

    check_file(path)
    hosts, slots = read_slots(path, around)
    return JobInfo("host file", hosts, None, slots)


def nodes_of(job: JobInfo, here: NodeTree, host: str) -> tuple[list[NodeTree], tuple[str, ...]]:
    """Return the nodes of a job: as it describes them, otherwise like the one this runs on."""
    pus, cores = len(here.os_pus), int(here.cores[-1]) + 1
    trees: list[NodeTree] = []
    guessed, cut, assumed = [], [], []
    for node, name in enumerate(job.hosts):
        if same_host(name, host) or name == "localhost":
            trees.append(here)
            continue
        if job.trees is not None:
            told, granted = job.trees[node]
            if _alike(here, told):
                guessed += [name] if told.kinds == ("core", "pu") else []
                trees.append(here.restricted(here.os_pus[np.isin(here.cores, sorted(granted))].tolist()))
            else:
                assumed.append(name)
                trees.append(told.restricted(granted))
            continue
        count = None if job.cpus is None else job.cpus[node]
        guessed.append(name)
        if count in (None, pus, cores):
            trees.append(here)
        elif count is not None and 0 < count < pus:
            cut.append(name)
            rank = here.cores if count < cores else here.logical_pus
            trees.append(here.restricted(here.os_pus[rank < rank[0] + count].tolist()))
        else:
            raise UnsupportedError(
                f"{name} has {count} CPUs for this job and this host {pus}: unlike nodes; {PROBE}"
            )
    warnings = []
    if guessed:
        others = f"{len(guessed)} host{'s' if len(guessed) > 1 else ''}"
        warnings.append(f"only {host} was looked at, {others} of the job taken to be like it; {PROBE}")
    if cut:
        some = f"{len(cut)} hosts have" if len(cut) > 1 else f"{cut[0]} has"
        warnings.append(f"{some} fewer CPUs for this job: the first ones are assumed")
    if assumed:
        some = f"{len(assumed)} hosts are" if len(assumed) > 1 else f"{assumed[0]} is"
        warnings.append(f"{some} unlike {host}: their CPUs are taken to be numbered as their cores; {PROBE}")
    return trees, tuple(warnings)


def _alike(here: NodeTree, told: NodeTree) -> bool:
    """Tell whether a node has as many cores and units as a description of it says."""
    kinds = [kind for kind in told.kinds if kind not in ("core", "pu")]
    same_cores = here.logical_cores.max(initial=-1) == here.cores[-1] == told.cores[-1]
    return bool(same_cores) and all(here.count(kind) == told.count(kind) for kind in kinds)
