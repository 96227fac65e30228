"""``local``: the host this runs on, with the cores this process may use."""

from __future__ import annotations

import dataclasses
import glob
import os
import platform
from collections.abc import Iterator, Mapping, Sequence

from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.machines.base import machines
from hopbytes.machines.node.job import find_job, manager_without_job, same_host
from hopbytes.machines.node.node_tree import NodeInventory, NodeTree
from hopbytes.machines.node.sysfs import collect, node_from_files
from hopbytes.machines.node_machine import NodeMachine, cut_overrides

#: Where jobs say which GPUs of a maker are theirs.
VARIABLES = {
    "nvidia": "CUDA_VISIBLE_DEVICES", "amd": "ROCR_VISIBLE_DEVICES", "intel": "ZE_AFFINITY_MASK",
}  # fmt: skip


@machines.register("local")
@frozen(eq=False)
class Local(NodeMachine):
    """The host this runs on: cores of this process's affinity (Linux)."""

    stands_alone = True

    def repeated(self, hosts: Sequence[str]) -> None:
        """Return None: other hosts need not be like this one."""
        return None

    @classmethod
    def parse(cls, text: str) -> Local:
        """Read what the system says about this host; `text` may hold distances."""
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
        listed = environment.get(variable, "")
        shown = len(listed.split(",")) if listed else count
        if shown < count:
            what = f"{variable}={listed[:60]} shows {shown} of the {count} GPUs of this host"
            yield f"{what}, which are numbered here without it"
    divided = glob.glob("/proc/driver/nvidia/capabilities/gpu[0-9]*/mig/gi[0-9]*")
    if divided:
        yield f"GPUs of this host are divided into MIG instances ({len(divided)}), each GPU counts as one"
