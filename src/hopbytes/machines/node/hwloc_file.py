"""A node from an hwloc XML file of any generation: 1.x, 2.x or 3.x, without libhwloc."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.machines.node.hwloc_gpus import find_gpus
from hopbytes.machines.node.node_tree import NodeTree, Part, node_tree
from hopbytes.text.cpu_lists import MAX_PUS, parse_cpuset
from hopbytes.text.documents import Element, read_xml

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
        what = f"{len(roots)} outermost objects, expected one of type Machine"
        raise FormatError(path, top.line, what)
    reader = _Objects(path)
    machine = Part("machine", 0, reader.inside(top if reader.kind(roots[0]) else roots[0]))
    allowed = reader.usable(roots[0])
    host = next((info.get("value") for info in _infos(top, roots[0]) if info.get("name") == "HostName"), "")
    gpus, notices = find_gpus(path, top, roots[0], allowed)
    return node_tree(
        machine, allowed, gpus=gpus, host=host, numa=max(1, len(reader.memory)), where=path,
        numa_barred=reader.barred(roots[0]), notices=notices,
    )  # fmt: skip


def _infos(top: Element, machine: Element) -> list[Element]:
    return [*machine.named("info"), *top.named("info")]  # hwloc 3 moved them up


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
                self.memory.append(self.number(child, "os_index", -1))
            inner = self.inside(child)
            if kind == "pu":
                parts.append(Part("pu", self.pu(child)))
            elif kind is None:
                parts += inner
            elif inner:
                parts.append(Part(kind, self.number(child, "os_index", -1), inner))
        self.memory += [self.number(node, "os_index", -1) for node in memory]
        local = [node for node in memory if "cpuset" not in node.attributes or self.cpuset(node, "cpuset")]
        if local and parts:
            return (Part("numa", self.number(local[0], "os_index", -1), tuple(parts)),)
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
        stack = [element]
        while stack:
            found = stack.pop()
            if found.get("type") == "PU":
                return True
            stack.extend(found.named("object"))
        return False

    def memory_nodes(self, element: Element) -> list[Element]:
        """Memory nodes of a memory child: itself, or those behind memory-side caches."""
        if element.get("type") == "NUMANode":
            return [element]
        return [node for child in element.named("object") for node in self.memory_nodes(child)]

    def pu(self, element: Element) -> int:
        number = self.number(element, "os_index", -1)
        if not 0 <= number < MAX_PUS:
            what = f"PU number {element.get('os_index', 'missing')[:20]}, expected 0 to {MAX_PUS - 1}"
            raise FormatError(self.where, element.line, what)
        if number in self.pus:
            raise FormatError(self.where, element.line, f"PU {number} twice, expected every PU once")
        self.pus.add(number)
        return number

    def number(self, element: Element, name: str, default: int) -> int:
        text = element.get(name)
        return int(text) if text.isdecimal() and len(text) < 10 else default

    def cpuset(self, element: Element, name: str) -> set[int] | None:
        """PUs of a set among those seen so far or to come; None when the file does not say."""
        text = element.attributes.get(name)
        return None if text is None else parse_cpuset(text, self.where, element.line)

    def barred(self, machine: Element) -> int:
        """How many memory nodes may not be used."""
        allowed = self.cpuset(machine, "allowed_nodeset")
        return 0 if allowed is None else sum(number not in allowed for number in self.memory if number >= 0)

    def usable(self, machine: Element) -> set[int]:
        """PUs that exist, are online and may be used."""
        usable = set(self.pus)
        for name in ("cpuset", "online_cpuset", "allowed_cpuset"):
            members = self.cpuset(machine, name)
            usable &= usable if members is None else members
        if not usable:
            what = f"none of its {len(self.pus)} PUs is online and allowed, expected at least one"
            raise FormatError(self.where, machine.line, what)
        return usable
