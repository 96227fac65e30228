"""GPUs in an hwloc file: which devices are one GPU, what number it has, which hardware threads are near."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from hopbytes.machines.node.hwloc_adapters import adapters_of, find_adapters
from hopbytes.machines.node.node_tree import MAKERS, Gpu
from hopbytes.text.cpu_lists import parse_cpuset
from hopbytes.text.documents import Element

#: Runtimes whose names hwloc gives to GPUs, and whose GPUs they are. The first that names all GPUs of its
#: maker counts; opencl, whose numbers no variable takes, only where no other names any.
RUNTIMES = {"cuda": "nvidia", "nvml": "nvidia", "rsmi": "amd", "ze": "intel", "opencl": ""}
#: ``opencl0d1`` is device 1 of platform 0, ``ze0.1`` part 1 (a tile) of device 0.
DEVICE = re.compile(r"(cuda|rsmi|nvml|ze|opencl)([0-9]{1,4})(?:d([0-9]{1,4})|\.([0-9]{1,4}))?", re.ASCII)
#: PCI classes of accelerators (3-D controller, display of other kind, processing accelerator) and, for
#: machines whose hwloc knew no runtime, makers whose display adapters compute.
ACCELERATORS = ("0302", "0380", "1200")
DISPLAY_MAKERS = ("nvidia", "amd")
VENDORS = {"10de": "nvidia", "1002": "amd", "8086": "intel"}
PCI_TYPE = re.compile(r"([0-9a-f]{4})(?:\s*\[([0-9a-f]{4}):)?", re.ASCII | re.IGNORECASE)


class _Number(NamedTuple):
    """How a runtime counts a device: its number, that of a part of it or -1, and the platform."""

    device: int
    part: int = -1
    platform: int = 0


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


class GpusOfNode(NamedTuple):
    """GPUs of a node, and what had to be assumed about them."""

    gpus: tuple[Gpu, ...]
    notices: tuple[str, ...]


def find_gpus(path: str, top: Element, machine: Element, usable: set[int]) -> GpusOfNode:
    """Return the GPUs of a node."""
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
    found, notices = _counted(devices)
    ties = _ties(top)
    adapters = adapters_of([gpu.device.path for gpu in found], find_adapters(machine))
    shown = _shown(found)
    plain = len(set(shown)) == len(shown) and all(text.isdecimal() for text in shown)
    gpus = []
    for place, (gpu, adapter) in enumerate(zip(found, adapters, strict=True)):
        near = tuple(sorted(_nearest(gpu, packages, ties, len(usable))))
        index = int(shown[place]) if plain else place
        number = "" if shown[place] == str(index) else shown[place]
        gpus.append(Gpu(index, _name(gpu), near, adapter, gpu.device.maker, number))
    return GpusOfNode(tuple(gpus), notices)


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
            found += [_Found(d, "", _Number(place), frozenset(d.ids)) for place, d in enumerate(bare)]
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
                ids = frozenset((*device.ids, identity, *_other_names(device)))
                counted.setdefault(number, _Found(device, best, number, ids))
        found += counted.values()
    order = {maker: place for place, maker in enumerate((*MAKERS, ""))}
    found.sort(key=lambda gpu: (order[gpu.device.maker], gpu.number.platform, *gpu.number[:2]))
    return found, tuple(notices)


def _parts(names: dict[_Number, str]) -> list[tuple[_Number, str]]:
    """Return devices, and parts of devices in place of those that are divided."""
    divided = {number.device for number in names if number.part >= 0}
    return [(n, identity) for n, identity in names.items() if n.part >= 0 or n.device not in divided]


def _other_names(device: _Device) -> list[str]:
    """Return the identities that other runtimes give to a GPU, where they give as many as one."""
    return [next(iter(names.values())) for names in device.names.values() if len(names) == 1]


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


def _name(gpu: _Found) -> str:
    part = f".{gpu.number.part}" if gpu.number.part >= 0 else ""
    return f"{gpu.runtime}{gpu.number.device}{part}" if gpu.runtime else gpu.device.bus


def _shown(found: list[_Found]) -> list[str]:
    """Return what the variable of its maker takes for each GPU.

    That of Intel's takes parts as well. OpenCL may count other devices too, so its GPUs are counted here.
    """
    shown: list[str] = []
    for place, gpu in enumerate(found):
        before = sum(other.device.maker == gpu.device.maker for other in found[:place])
        part = f".{gpu.number.part}" if gpu.number.part >= 0 else ""
        shown.append(f"{before}" if gpu.runtime == "opencl" else f"{gpu.number.device}{part}")
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
