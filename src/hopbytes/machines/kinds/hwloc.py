"""``hwloc:FILE[@hosts]``: nodes as hwloc describes them, one file for all or several for unlike nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from itertools import product, takewhile
from typing import NamedTuple

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.machines.base import machines
from hopbytes.machines.node.hardware_kinds import ACCELERATORS, DISPLAY_MAKERS, MAKERS, VENDORS
from hopbytes.machines.node.node_tree import Gpu, NodeTree, Part, nearest_adapters, node_tree
from hopbytes.machines.node_machine import NodeMachine, file_and_hosts
from hopbytes.text.cpu_lists import MAX_PUS, parse_cpuset
from hopbytes.text.documents import Element, read_xml

#: ``osdev_type`` of OpenFabrics devices: a number up to hwloc 2, since hwloc 3 a set of bits, perhaps with
#: that of network devices.
OPENFABRICS = ("3", "32", "48")
#: Runtimes whose names hwloc gives to GPUs, and whose GPUs they are. The first that names all GPUs of its
#: maker counts; opencl, whose numbers no variable takes, only where no other names any.
RUNTIMES = {"cuda": "nvidia", "nvml": "nvidia", "rsmi": "amd", "ze": "intel", "opencl": ""}
#: ``opencl0d1`` is device 1 of platform 0, ``ze0.1`` part 1 (a tile) of device 0.
DEVICE = re.compile(r"(cuda|rsmi|nvml|ze|opencl)([0-9]{1,4})(?:d([0-9]{1,4})|\.([0-9]{1,4}))?", re.ASCII)
PCI_TYPE = re.compile(r"([0-9a-f]{4})(?:\s*\[([0-9a-f]{4}):)?", re.ASCII | re.IGNORECASE)
#: Objects with hardware threads inside, and the kinds they are. Caches of hwloc 1.x tell their level apart.
KINDS = {
    "Package": "package", "Socket": "package", "Die": "die", "Group": "group", "NUMANode": "numa",
    "Core": "core", "PU": "pu", "L1Cache": "l1", "L2Cache": "l2", "L3Cache": "l3", "L4Cache": "l4",
    "L5Cache": "l5",
}  # fmt: skip
#: Groups that are units of their own kind: those of IBM Z.
SUBTYPES = {"Book": "book", "Drawer": "drawer"}
#: Objects that are attached beside the tree.
OUTSIDE = ("Bridge", "PCIDev", "OSDev", "Misc")
#: Outermost objects. hwloc 1.x leaves the machine out where something else is the same.
ROOTS = ("Machine", "System", "NUMANode", "Group", "Package", "Socket", "Die")
NEWEST = 3
Path = tuple[int, ...]


@machines.register("hwloc")
@frozen(eq=False)
class Hwloc(NodeMachine):
    """Nodes from hwloc XML files (1.x, 2.x and 3.x; read without libhwloc).

    ``hwloc:node.xml`` is one node, ``hwloc:node.xml@n[1-8]`` eight of them, and
    ``hwloc:a.xml@n[1-8],hwloc:b.xml@n[9-16]`` unlike nodes. Distances may follow: ``hwloc:node.xml:l3=3``.
    """

    @classmethod
    def parse(cls, text: str) -> Hwloc:
        return cls.of_parts("hwloc", text, partial(file_and_hosts, "hwloc"), read_hwloc)


def read_hwloc(path: str) -> NodeTree:
    """Read the node an hwloc XML file describes.

    The logical number of an object is its rank among those of its type, in document order. hwloc 1.x has
    memory nodes in the main tree; later ones attach them beside the parts they belong to, possibly in a
    memory-side cache, and then they become a unit around those parts. Instruction caches and unknown types
    of objects are passed through. O(size of the file).

    Source: the documentation of hwloc 2.14, "XML" and "Object types".
    """
    top = read_xml(path, root="topology")
    version = top.get("version", "1.0")
    generation = re.match(r"[0-9]{1,4}", version)
    if generation is None:
        raise FormatError(path, top.line, f"version {version[:20]!r}, expected one like 2.0")
    if int(generation[0]) > NEWEST:
        raise UnsupportedError(
            f"{path}: hwloc XML version {version[:20]}, this hopbytes reads 1 to {NEWEST} "
            "(lstopo --of xml --export-xml-flags v2 writes an older one)"
        )
    roots = list(top.named("object"))
    if len(roots) != 1 or roots[0].get("type") not in ROOTS:
        raise FormatError(path, top.line, f"{len(roots)} outermost objects, expected one of type Machine")
    reader = _Objects(path)
    machine = Part("machine", 0, reader.inside(top if reader.kind(roots[0]) else roots[0]))
    allowed = reader.usable(roots[0])
    infos = [*roots[0].named("info"), *top.named("info")]  # hwloc 3 moved them up
    host = next((info.get("value") for info in infos if info.get("name") == "HostName"), "")
    gpus, notices = find_gpus(path, top, roots[0], allowed)
    return node_tree(
        machine, allowed, gpus=gpus, host=host, numa=max(1, len(reader.memory)), where=path,
        numa_barred=reader.barred(roots[0]), notices=notices,
    )  # fmt: skip


@dataclass
class _Objects:
    """Walks the objects of a file."""

    where: str
    memory: list[int] = field(default_factory=list)  # numbers of memory nodes
    pus: set[int] = field(default_factory=set)

    def inside(self, element: Element) -> tuple[Part, ...]:
        """Parts of an object, its memory nodes as one unit around the rest."""
        parts: list[Part] = []
        memory: list[Element] = []
        for child in element.named("object"):
            kind = self.kind(child)
            if child.get("type") in OUTSIDE:
                continue
            if child.get("type") == "MemCache" or (kind == "numa" and not self.has_pus(child)):
                memory += self.memory_nodes(child)
                continue
            if kind == "numa":
                self.memory.append(self.number(child))
            inner = self.inside(child)
            if kind == "pu":
                parts.append(Part("pu", self.pu(child)))
            elif kind is None:
                parts += inner
            elif inner:
                parts.append(Part(kind, self.number(child), inner))
        self.memory += map(self.number, memory)
        local = [node for node in memory if "cpuset" not in node.attributes or self.cpuset(node, "cpuset")]
        if local and parts:
            return (Part("numa", self.number(local[0]), tuple(parts)),)
        return tuple(parts)

    def kind(self, element: Element) -> str | None:
        """Kind of an object; None for what is passed through."""
        name = element.get("type")
        if name != "Cache":
            return (name == "Group" and SUBTYPES.get(element.get("subtype"))) or KINDS.get(name)
        instructions = element.get("cache_type") == "2"
        return None if instructions else KINDS.get(f"L{element.get('depth')}Cache")

    def has_pus(self, element: Element) -> bool:
        """Whether hardware threads lie inside, as in memory nodes of hwloc 1.x."""
        return element.get("type") == "PU" or any(map(self.has_pus, element.named("object")))

    def memory_nodes(self, element: Element) -> list[Element]:
        """Memory nodes of a memory child: itself, or those behind memory-side caches."""
        if element.get("type") == "NUMANode":
            return [element]
        return [node for child in element.named("object") for node in self.memory_nodes(child)]

    def pu(self, element: Element) -> int:
        number = self.number(element)
        if not 0 <= number < MAX_PUS:
            what = f"PU number {element.get('os_index', 'missing')[:20]}, expected 0 to {MAX_PUS - 1}"
            raise FormatError(self.where, element.line, what)
        if number in self.pus:
            raise FormatError(self.where, element.line, f"PU {number} twice, expected every PU once")
        self.pus.add(number)
        return number

    def number(self, element: Element) -> int:
        """Number of the operating system; -1 without one."""
        text = element.get("os_index")
        return int(text) if text.isdecimal() and len(text) < 10 else -1

    def cpuset(self, element: Element, name: str) -> set[int] | None:
        text = element.attributes.get(name)
        return None if text is None else parse_cpuset(text, self.where, element.line)

    def barred(self, machine: Element) -> int:
        allowed = self.cpuset(machine, "allowed_nodeset")
        return 0 if allowed is None else sum(number not in allowed for number in self.memory if number >= 0)

    def usable(self, machine: Element) -> set[int]:
        usable = set(self.pus)
        for name in ("cpuset", "online_cpuset", "allowed_cpuset"):
            members = self.cpuset(machine, name)
            usable &= usable if members is None else members
        if not usable:
            what = f"0 of {len(self.pus)} PUs are online and allowed, expected at least one"
            raise FormatError(self.where, machine.line, what)
        return usable


class _Number(NamedTuple):
    """How a runtime counts a device: its number, that of a part of it or -1, and the platform."""

    device: int
    part: int = -1
    platform: int = 0

    def __str__(self) -> str:
        return f"{self.device}.{self.part}" if self.part >= 0 else f"{self.device}"


@dataclass
class _Device:
    """A device of the bus, or a place without one, with the names that runtimes give to GPUs there."""

    where: frozenset[int]
    path: tuple[int, ...] = ()  # objects that contain it
    bus: str = ""
    kind: str = ""
    maker: str = ""
    renders: bool = False  # unlike the display of a management controller
    ids: set[str] = field(default_factory=set)
    names: dict[str, dict[_Number, str]] = field(default_factory=dict)  # runtime → number → identity


class _Found(NamedTuple):
    """A GPU: its device, the runtime that counts it or an empty name, its number there, its identities."""

    device: _Device
    runtime: str
    number: _Number
    ids: frozenset[str]


def find_gpus(
    path: str, top: Element, machine: Element, usable: set[int]
) -> tuple[tuple[Gpu, ...], tuple[str, ...]]:
    """Return the GPUs of a node, and what had to be assumed about them."""
    devices: list[_Device] = []
    packages: dict[str, frozenset[int]] = {}
    adapters: dict[str, Path] = {}  # OpenFabrics devices (``mlx5_0``, ``hfi1_0``)
    stack: list[tuple[Element, frozenset[int], _Device | None, tuple[int, ...]]] = [
        (machine, frozenset(usable), None, ())
    ]
    while stack:
        element, here, device, path_in = stack.pop()
        kind = element.get("type")
        if kind == "PCIDev":
            device = _on_the_bus(element, here, path_in)
            devices.append(device)
        elif kind == "OSDev":
            _add_name(element, here, device, devices)
            if element.get("osdev_type") in OPENFABRICS and element.get("name"):
                adapters.setdefault(element.get("name"), path_in)
        elif "cpuset" in element.attributes:
            held = parse_cpuset(element.get("cpuset"), path, element.line) & usable
            here = frozenset(held) or here
            if kind in ("Package", "Socket"):
                packages[f"Package:{element.get('gp_index')}"] = here
        inside = (*path_in, id(element))
        stack.extend((child, here, device, inside) for child in reversed(list(element.named("object"))))
    found, notices = _counted(devices)
    ties = _ties(top)
    # An adapter is nearer the more objects contain it and the GPU: a PCI switch, a root complex, a package.
    paths = [gpu.device.path for gpu in found]
    shared = [{name: -_shared(path, own) for name, own in adapters.items() if path} for path in paths]
    nearest = nearest_adapters(shared, adapters)
    shown = _shown(found)
    plain = len(set(shown)) == len(shown) and all(text.isdecimal() for text in shown)
    gpus = []
    for position, (gpu, adapter) in enumerate(zip(found, nearest, strict=True)):
        near = tuple(sorted(_nearest(gpu, packages, ties, len(usable))))
        index = int(shown[position]) if plain else position
        number = "" if shown[position] == str(index) else shown[position]
        name = f"{gpu.runtime}{gpu.number}" if gpu.runtime else gpu.device.bus
        gpus.append(Gpu(index, name, near, adapter, gpu.device.maker, number))
    return tuple(gpus), notices


def _shared(path: Path, other: Path) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(path, other, strict=False)))


def _counted(devices: list[_Device]) -> tuple[list[_Found], tuple[str, ...]]:
    """Return the GPUs that the runtime of each maker counts; without one, its accelerators on the bus."""
    found: list[_Found] = []
    notices: list[str] = []
    named = [device for device in devices if device.names]
    for maker in (*MAKERS, ""):
        own = [device for device in named if device.maker == maker]
        counts = {name: sum(len(device.names.get(name, ())) for device in own) for name in RUNTIMES}
        best = max(RUNTIMES, key=lambda name: (name != "opencl" and counts[name] > 0, counts[name]))
        if not counts[best]:
            bare = sorted(
                (d for d in devices if d.maker == maker and _computes(d, named)), key=lambda d: d.bus
            )
            found += [_Found(d, "", _Number(index), frozenset(d.ids)) for index, d in enumerate(bare)]
            continue
        fewer = [name for name in RUNTIMES if name != "opencl" and 0 < counts[name] < counts[best]]
        if fewer:
            notices.append(
                f"the file has {counts[best]} GPUs named {best}0 and so on, but {counts[fewer[0]]} named "
                f"{fewer[0]}0: numbers are those of {best} (a job may have seen fewer)"
            )
        counted: dict[_Number, _Found] = {}
        for device in own:
            for number, identity in _parts(device.names.get(best, {})):
                # Other runtimes tell the identity where they give as many as one.
                others = (names for names in device.names.values() if len(names) == 1)
                ids = device.ids.union([identity], *(names.values() for names in others))
                counted.setdefault(number, _Found(device, best, number, frozenset(ids)))
        found += counted.values()
    order = {maker: index for index, maker in enumerate((*MAKERS, ""))}
    found.sort(key=lambda gpu: (order[gpu.device.maker], gpu.number.platform, *gpu.number[:2]))
    return found, tuple(notices)


def _parts(names: dict[_Number, str]) -> list[tuple[_Number, str]]:
    """Return devices, and parts of devices in place of those that are divided."""
    divided = {number.device for number in names if number.part >= 0}
    return [(n, identity) for n, identity in names.items() if n.part >= 0 or n.device not in divided]


def _on_the_bus(element: Element, here: frozenset[int], path: tuple[int, ...]) -> _Device:
    found = PCI_TYPE.match(element.get("pci_type"))
    kind, maker = (found[1], found[2] or "") if found else ("", "")
    own_name = {f"PCIDev:{element.get('gp_index')}"}
    known = VENDORS.get(maker.lower(), "")
    return _Device(here, path, element.get("pci_busid"), kind, known, ids=own_name)


def _add_name(element: Element, here: frozenset[int], device: _Device | None, devices: list[_Device]) -> None:
    """Take a device of the operating system as a name of the GPU it belongs to."""
    if device is not None:
        device.renders |= element.get("name").startswith("renderD")
    found = DEVICE.fullmatch(element.get("name"))
    if found is None:
        return
    infos = {info.get("name"): info.get("value") for info in element.named("info")}
    if found[1] == "opencl" and infos.get("OpenCLDeviceType", "GPU") not in ("GPU", "Accelerator"):
        return
    number = _Number(int(found[2]), int(found[4] or -1))
    if found[1] == "opencl":
        number = _Number(int(found[3] or found[2]), platform=int(found[2]) if found[3] else 0)
    if device is None:  # no bus: the same number in the same place is the same GPU
        maker = RUNTIMES[found[1]]
        same = (
            d for d in devices if not d.bus and d.where == here and maker in ("", d.maker)
            and all(number in names for names in d.names.values())
        )  # fmt: skip
        device = next(same, None)
        if device is None:
            device = _Device(here, maker=maker)
            devices.append(device)
    device.maker = device.maker or RUNTIMES[found[1]]
    device.names.setdefault(found[1], {}).setdefault(number, f"OSDev:{element.get('gp_index')}")


def _computes(device: _Device, named: list[_Device]) -> bool:
    """Tell whether a device is a GPU for computing; a display is none beside GPUs that a runtime names."""
    shows = device.renders and device.maker in DISPLAY_MAKERS and not named
    return device not in named and (device.kind in ACCELERATORS or shows)


def _shown(found: list[_Found]) -> list[str]:
    """Return what the variable of its maker takes for each GPU.

    That of Intel's takes parts as well. OpenCL may count other devices too, so its GPUs are counted here.
    """
    shown: list[str] = []
    for index, gpu in enumerate(found):
        before = sum(other.device.maker == gpu.device.maker for other in found[:index])
        shown.append(str(before if gpu.runtime == "opencl" else gpu.number))
    return shown


def _nearest(
    gpu: _Found, packages: dict[str, frozenset[int]], ties: dict[tuple[str, str], int], usable: int
) -> frozenset[int]:
    if len(gpu.device.where) < usable:
        return gpu.device.where
    best = max(
        ((ties.get((own, package), 0), package) for own in sorted(gpu.ids) for package in packages),
        default=(0, ""), key=lambda tie: tie[0],
    )  # fmt: skip
    return packages[best[1]] if best[0] > 0 else gpu.device.where


def _ties(top: Element) -> dict[tuple[str, str], int]:
    """Bandwidths between objects of different type: (from, to) → value; larger is nearer."""
    ties: dict[tuple[str, str], int] = {}
    for matrix in top.named("distances2hetero"):
        if "Bandwidth" not in matrix.get("name"):
            continue
        names, words = (
            [word for piece in matrix.named(tag) for word in piece.text.split()]
            for tag in ("indexes", "u64values")
        )
        values = [int(word) if word.isdecimal() and len(word) < 19 else 0 for word in words]
        if len(values) == len(names) ** 2:  # a matrix that is cut short says nothing
            ties.update(zip(product(names, names), values, strict=True))
    return ties
