"""A node from the files of its Linux kernel, read here or sent from elsewhere."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Collection, Mapping

from hopbytes.errors import FormatError
from hopbytes.machines.node.hardware_kinds import DEFAULT_DISTANCE
from hopbytes.machines.node.node_tree import Gpu, NodeTree, node_tree, parts_from_sets
from hopbytes.textio.cpu_lists import parse_list

#: Files that say what a node is, below :data:`ROOT`. The probe (``probe.sh``) reads the same ones.
PATTERNS = (
    "devices/system/cpu/online",
    "devices/system/cpu/cpu[0-9]*/topology/core_id",
    "devices/system/cpu/cpu[0-9]*/topology/physical_package_id",
    "devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list",
    "devices/system/cpu/cpu[0-9]*/topology/core_siblings_list",
    "devices/system/cpu/cpu[0-9]*/topology/die_cpus_list",
    "devices/system/cpu/cpu[0-9]*/cache/index[0-9]*/level",
    "devices/system/cpu/cpu[0-9]*/cache/index[0-9]*/type",
    "devices/system/cpu/cpu[0-9]*/cache/index[0-9]*/shared_cpu_list",
    "devices/system/node/node[0-9]*/cpulist",
    "bus/pci/devices/*/class",
    "bus/pci/devices/*/vendor",
    "bus/pci/devices/*/local_cpulist",
)
ROOT = "/sys"
#: PCI classes of accelerators, and makers whose display adapters compute.
ACCELERATORS = ("0x0302", "0x0380", "0x1200")
DISPLAY, MAKERS = "0x0300", ("0x10de", "0x1002")

CPU = re.compile(
    r"devices/system/cpu/cpu([0-9]{1,5})/(?:topology/(\w+)|cache/(index[0-9]{1,2})/(\w+))", re.ASCII
)
NUMA = re.compile(r"devices/system/node/node([0-9]{1,5})/cpulist", re.ASCII)
DEVICE = re.compile(r"bus/pci/devices/([0-9a-fA-F:.]{1,32})/(class|vendor|local_cpulist)", re.ASCII)
SHARED_BY = {"thread_siblings_list": "core", "core_siblings_list": "package", "die_cpus_list": "die"}


def collect(root: str = ROOT) -> dict[str, str]:
    """Return the contents of the files of this host that :func:`node_from_files` looks at."""
    found = {}
    for pattern in PATTERNS:
        for path in sorted(glob.glob(os.path.join(root, pattern))):
            try:
                with open(path, encoding="ascii", errors="replace") as stream:
                    found[os.path.relpath(path, root)] = stream.read(1 << 16).strip()
            except OSError:
                continue  # taken offline meanwhile, or not readable for this user
    return found


def node_from_files(
    files: Mapping[str, str], allowed: Collection[int] | None, *, host: str = "", where: str = ROOT
) -> NodeTree:
    """Build a node from what its kernel says.

    Parameters
    ----------
    files : mapping of str to str
        Path below ``/sys`` → content, see :data:`PATTERNS`.
    allowed : collection of int or None
        PUs the job may use; None: all that are online.
    host : str
        Host name.
    where : str
        For messages.

    Returns
    -------
    NodeTree
        Cores, caches that hold data, dies, packages and memory nodes with PUs, all from lists of the PUs
        that share them; accelerators on the PCI bus as GPUs, in the order of their addresses.

    Raises
    ------
    FormatError
        Lists that are none, no PU that is online and allowed.

    Notes
    -----
    O(PUs x caches). What a kernel does not say is left out: without files about packages, there are none.

    Source: Linux documentation, admin-guide/cputopology and ABI/stable/sysfs-devices-system-cpu.
    """
    online = parse_list(files.get("devices/system/cpu/online", ""), where)
    if not online:
        raise FormatError(where, None, "no list of CPUs that are online, expected Linux with /sys mounted")
    sets: dict[tuple[str, int], frozenset[int]] = {}
    caches: dict[tuple[int, str], dict[str, str]] = {}
    for path, content in files.items():
        cpu, numa = CPU.fullmatch(path), NUMA.fullmatch(path)
        if cpu and cpu[3]:
            caches.setdefault((int(cpu[1]), cpu[3]), {})[cpu[4]] = content
        elif cpu and cpu[2] in SHARED_BY and int(cpu[1]) in online:
            _add(sets, SHARED_BY[cpu[2]], parse_list(content, where) & online)
        elif numa:
            members = frozenset(parse_list(content, where) & online)
            if members:
                sets["numa", int(numa[1])] = members
    for (number, _), cache in caches.items():
        kind = f"l{cache.get('level', '')}"
        if number in online and cache.get("type") != "Instruction" and kind in DEFAULT_DISTANCE:
            _add(sets, kind, parse_list(cache.get("shared_cpu_list", ""), where) & online)
    numa_nodes = sum(bool(NUMA.fullmatch(path)) for path in files)
    root = parts_from_sets(sets, online)
    usable = online if allowed is None else set(allowed) & online
    return node_tree(root, usable, gpus=_gpus(files, usable, where), host=host, numa=numa_nodes, where=where)


def _add(sets: dict[tuple[str, int], frozenset[int]], kind: str, members: set[int]) -> None:
    if members:
        sets[kind, min(members)] = frozenset(members)


def _gpus(files: Mapping[str, str], usable: set[int], where: str) -> tuple[Gpu, ...]:
    devices: dict[str, dict[str, str]] = {}
    for path, content in files.items():
        found = DEVICE.fullmatch(path)
        if found:
            devices.setdefault(found[1].lower(), {})[found[2]] = content.lower()
    gpus: list[Gpu] = []
    for address, facts in sorted(devices.items()):
        kind = facts.get("class", "")[:6]
        if kind in ACCELERATORS or (kind == DISPLAY and facts.get("vendor") in MAKERS):
            near = parse_list(facts.get("local_cpulist", ""), where) & usable
            gpus.append(Gpu(len(gpus), address, tuple(sorted(near))))
    return tuple(gpus)



