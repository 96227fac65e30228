"""A node from the files of its Linux kernel, read here or sent from elsewhere."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Collection, Mapping

from hopbytes.errors import FormatError
from hopbytes.machines.node import hardware_kinds
from hopbytes.machines.node.node_tree import Gpu, NodeTree, node_tree, parts_from_sets
from hopbytes.text.cpu_lists import parse_list

#: Files that say what a node is, below :data:`ROOT`. The probe (``probe.sh``) reads the same ones.
PATTERNS = (
    "devices/system/cpu/online",
    "devices/system/cpu/cpu[0-9]*/topology/core_id",
    "devices/system/cpu/cpu[0-9]*/topology/physical_package_id",
    "devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list",
    "devices/system/cpu/cpu[0-9]*/topology/core_siblings_list",
    "devices/system/cpu/cpu[0-9]*/topology/die_cpus_list",
    "devices/system/cpu/cpu[0-9]*/topology/book_siblings_list",
    "devices/system/cpu/cpu[0-9]*/topology/drawer_siblings_list",
    "devices/system/cpu/cpu[0-9]*/cache/index[0-9]*/level",
    "devices/system/cpu/cpu[0-9]*/cache/index[0-9]*/type",
    "devices/system/cpu/cpu[0-9]*/cache/index[0-9]*/shared_cpu_list",
    "devices/system/node/node[0-9]*/cpulist",
    "bus/pci/devices/*/class",
    "bus/pci/devices/*/vendor",
    "bus/pci/devices/*/local_cpulist",
    "class/kfd/kfd/topology/nodes/[0-9]*/properties",
)
ROOT = "/sys"
CPU = re.compile(
    r"devices/system/cpu/cpu([0-9]{1,5})/(?:topology/(\w+)|cache/(index[0-9]{1,2})/(\w+))", re.ASCII
)
NUMA = re.compile(r"devices/system/node/node([0-9]{1,5})/cpulist", re.ASCII)
DEVICE = re.compile(r"bus/pci/devices/([0-9a-fA-F:.]{1,32})/(class|vendor|local_cpulist)", re.ASCII)
#: Files of several lines, each a name and a value, which are kept like files of their own.
PROPERTIES = re.compile(r"class/kfd/kfd/topology/nodes/([0-9]{1,4})/properties", re.ASCII)
#: What they say of a GPU of AMD: the function on the PCI bus in the lower 16 bits, and whether it computes.
KEPT = ("location_id", "domain", "simd_count")
SHARED_BY = {
    "thread_siblings_list": "core", "core_siblings_list": "package", "die_cpus_list": "die",
    "book_siblings_list": "book", "drawer_siblings_list": "drawer",
}  # fmt: skip


def collect() -> dict[str, str]:
    """Return the contents of the files of this host that :func:`node_from_files` looks at."""
    found: dict[str, str] = {}
    for pattern in PATTERNS:
        for path in sorted(glob.glob(os.path.join(ROOT, pattern))):
            try:
                with open(path, encoding="ascii", errors="replace") as stream:
                    add_file(found, os.path.relpath(path, ROOT), stream.read(1 << 16).strip())
            except OSError:
                continue  # taken offline meanwhile, or not readable for this user
    return found


def add_file(files: dict[str, str], path: str, content: str) -> None:
    """Add the content of a file, or some of its lines, to files by their paths."""
    if not PROPERTIES.fullmatch(path):
        files[path] = content
        return
    for line in content.splitlines():
        name, _, value = line.partition(" ")
        if name in KEPT:
            files[f"{path}/{name}"] = value


def node_from_files(
    files: Mapping[str, str], allowed: Collection[int] | None, *, host: str = "", where: str = ROOT
) -> NodeTree:
    """Build a node from what its kernel says (admin-guide/cputopology of Linux)."""
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
        known = kind in hardware_kinds.DEFAULT_DISTANCE and cache.get("type") != "Instruction"
        if known and number in online:
            _add(sets, kind, parse_list(cache.get("shared_cpu_list", ""), where) & online)
    numa_nodes = max(1, sum(bool(NUMA.fullmatch(path)) for path in files))
    root = parts_from_sets(sets, online)
    usable = online if allowed is None else set(allowed) & online
    gpus, notices = _gpus(files, usable, where)
    return node_tree(root, usable, gpus=gpus, host=host, numa=numa_nodes, where=where, notices=notices)


def _add(sets: dict[tuple[str, int], frozenset[int]], kind: str, members: set[int]) -> None:
    if members:
        sets[kind, min(members)] = frozenset(members)


def _gpus(files: Mapping[str, str], usable: set[int], where: str) -> tuple[tuple[Gpu, ...], tuple[str, ...]]:
    """Return the GPUs, and what had to be assumed."""
    devices: dict[str, dict[str, str]] = {}
    for path, content in files.items():
        found = DEVICE.fullmatch(path)
        if found:
            devices.setdefault(found[1].lower(), {})[found[2]] = content.lower()
    own: dict[str, list[str]] = {maker: [] for maker in (*hardware_kinds.MAKERS, "")}
    for address, facts in sorted(devices.items()):
        kind, maker = facts.get("class", "")[2:6], hardware_kinds.VENDORS.get(facts.get("vendor", "")[2:], "")
        shows = kind == "0300" and maker in hardware_kinds.DISPLAY_MAKERS
        if shows or kind in hardware_kinds.ACCELERATORS:
            own[maker].append(address)
    parts = _shown_by_driver(files)
    hidden = set(own["amd"]) - set(parts)
    notices: tuple[str, ...] = ()
    if parts:
        own["amd"] = parts
        if hidden:
            what = f"{len(hidden)} of the GPUs of AMD on the bus are not shown to this process"
            notices = (f"{what}: the others have numbers from 0 on, as in its job",)
    gpus: list[Gpu] = []
    for maker, addresses in own.items():
        for number, address in enumerate(addresses):
            near = parse_list(devices.get(address, {}).get("local_cpulist", ""), where) & usable
            again = addresses[:number].count(address)
            name = address if addresses.count(address) == 1 else f"{address}/{again}"
            device = "" if number == len(gpus) else str(number)
            gpus.append(Gpu(len(gpus), name, tuple(sorted(near)), maker=maker, device=device))
    return tuple(gpus), notices


def _shown_by_driver(files: Mapping[str, str]) -> list[str]:
    """Return the address of every GPU that AMD's kernel driver shows, in its order; one for each part."""
    nodes: dict[int, dict[str, int]] = {}
    for path, content in files.items():
        folder, _, name = path.rpartition("/")
        found = PROPERTIES.fullmatch(folder)
        if found and content.isdecimal() and len(content) < 20:
            nodes.setdefault(int(found[1]), {})[name] = int(content)
    addresses = []
    for _, facts in sorted(nodes.items()):
        if facts.get("simd_count", 0) > 0:
            function = facts.get("location_id", 0) & 0xFFFF
            bus, slot = function >> 8, function & 0xFF
            addresses.append(f"{facts.get('domain', 0):04x}:{bus:02x}:{slot >> 3:02x}.{slot & 7}")
    return addresses
