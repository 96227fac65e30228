"""GPUs in an hwloc file: which devices are one GPU, what number it has, which hardware threads are near."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from hopbytes.machines.node.hwloc_adapters import adapters_of, find_adapters
from hopbytes.machines.node.node_tree import Gpu
from hopbytes.textio.cpu_lists import parse_cpuset
from hopbytes.textio.xml_tree import Element

#: Names that drivers and runtimes give to GPUs, in the order in which their numbers are preferred.
RUNTIME_NAMES = ("cuda", "rsmi", "nvml", "ze", "opencl")
DEVICE = re.compile(r"(cuda|rsmi|nvml|ze|opencl)([0-9]{1,4})(?:d([0-9]{1,4}))?", re.ASCII)
#: PCI classes of accelerators (3-D controller, display of other kind, processing accelerator) and, for
#: machines whose hwloc knew no runtime, makers whose display adapters compute.
ACCELERATORS = ("0302", "0380", "1200")
MAKERS = ("10de", "1002")
PCI_TYPE = re.compile(r"([0-9a-f]{4})(?:\s*\[([0-9a-f]{4}):)?", re.ASCII | re.IGNORECASE)


@dataclass
class _Device:
    """Something that may be a GPU: the device of the bus, or one of the operating system without a bus."""

    where: frozenset[int]
    path: tuple[int, ...] = ()  # objects that contain it
    bus: str = ""
    kind: str = ""
    maker: str = ""
    renders: bool = False  # unlike the display of a management controller
    ids: set[str] = field(default_factory=set)
    names: dict[str, int] = field(default_factory=dict)  # runtime → number


def find_gpus(path: str, top: Element, machine: Element, usable: set[int]) -> tuple[Gpu, ...]:
    """Return the GPUs of a node.

    Parameters
    ----------
    path : str
        For messages.
    top, machine : Element
        The file's outermost element and its Machine object.
    usable : set of int
        PUs that may be used.

    Returns
    -------
    tuple of Gpu
        In the order of their runtime's numbers, else of their bus addresses. The hardware threads near a
        GPU are those of the smallest object that contains it; where that is the whole node and the file has
        bandwidths between GPUs and packages (``distances2hetero``), those of the package it is tied to best.
    """
    devices: list[_Device] = []
    packages: dict[str, frozenset[int]] = {}
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
        elif "cpuset" in element.attributes:
            held = parse_cpuset(element.get("cpuset"), path, element.line) & usable
            here = frozenset(held) or here
            if kind in ("Package", "Socket"):
                packages[f"Package:{element.get('gp_index')}"] = here
        inside = (*path_in, id(element))
        stack.extend((child, here, device, inside) for child in reversed(list(element.named("object"))))
    found = [device for device in devices if device.names] or [d for d in devices if _computes(d)]
    ties = _ties(top)
    near = {id(d): _nearest(d, packages, ties, len(usable)) for d in found}
    found.sort(key=lambda device: (_number(device), device.bus))
    adapters = adapters_of([device.path for device in found], find_adapters(machine))
    return tuple(
        Gpu(number, _name(device), tuple(sorted(near[id(device)])), adapter)
        for number, (device, adapter) in enumerate(zip(found, adapters, strict=True))
    )


def _on_the_bus(element: Element, here: frozenset[int], path: tuple[int, ...]) -> _Device:
    found = PCI_TYPE.match(element.get("pci_type"))
    kind, maker = (found[1], found[2] or "") if found else ("", "")
    own_name = {f"PCIDev:{element.get('gp_index')}"}
    return _Device(here, path, element.get("pci_busid"), kind, maker.lower(), ids=own_name)


def _add_name(
    element: Element, here: frozenset[int], device: _Device | None, devices: list[_Device]
) -> None:
    """Take a device of the operating system as a name of the GPU it belongs to."""
    if device is not None:
        device.renders |= element.get("name").startswith("renderD")
    found = DEVICE.fullmatch(element.get("name"))
    if found is None:
        return
    infos = {info.get("name"): info.get("value") for info in element.named("info")}
    if found[1] == "opencl" and infos.get("OpenCLDeviceType", "GPU") not in ("GPU", "Accelerator"):
        return
    number = int(found[3] or found[2])
    if device is None:  # no bus: the same number in the same place is the same GPU
        same = (d for d in devices if not d.bus and d.where == here and number in d.names.values())
        device = next(same, None)
        if device is None:
            device = _Device(here)
            devices.append(device)
    device.names.setdefault(found[1], number)
    device.ids.add(f"OSDev:{element.get('gp_index')}")


def _computes(device: _Device) -> bool:
    return device.kind in ACCELERATORS or (device.renders and device.maker in MAKERS)


def _number(device: _Device) -> int:
    return next((device.names[name] for name in RUNTIME_NAMES if name in device.names), 0)


def _name(device: _Device) -> str:
    runtime = next((name for name in RUNTIME_NAMES if name in device.names), None)
    return device.bus if runtime is None else f"{runtime}{device.names[runtime]}"


def _nearest(
    device: _Device, packages: dict[str, frozenset[int]], ties: dict[tuple[str, str], int], usable: int
) -> frozenset[int]:
    if len(device.where) < usable:
        return device.where
    best = max(
        ((ties.get((own, package), 0), package) for own in sorted(device.ids) for package in packages),
        default=(0, ""), key=lambda tie: tie[0],
    )  # fmt: skip
    return packages[best[1]] if best[0] > 0 else device.where


def _ties(top: Element) -> dict[tuple[str, str], int]:
    """Bandwidths between objects of different type: (from, to) → value; larger is nearer."""
    ties: dict[tuple[str, str], int] = {}
    for matrix in top.named("distances2hetero"):
        if "Bandwidth" not in matrix.get("name"):
            continue
        names = list(_words(matrix, "indexes"))
        words = _words(matrix, "u64values")
        values = [int(word) if word.isdecimal() and len(word) < 19 else 0 for word in words]
        if len(values) != len(names) ** 2:
            continue  # a matrix that is cut short says nothing
        for row, source in enumerate(names):
            for column, target in enumerate(names):
                ties[source, target] = values[row * len(names) + column]
    return ties


def _words(matrix: Element, tag: str) -> Iterator[str]:
    for piece in matrix.named(tag):
        yield from piece.text.split()
