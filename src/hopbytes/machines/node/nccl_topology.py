"""Topology files of NCCL and RCCL: what they write (NCCL_TOPO_DUMP_FILE) and what clouds publish for them."""

from __future__ import annotations

import re
from typing import NamedTuple

from hopbytes.errors import FormatError
from hopbytes.machines.node.gpu_board import BoardGpu, board_tree
from hopbytes.machines.node.node_tree import NodeTree
from hopbytes.text.cpu_lists import parse_cpuset
from hopbytes.text.documents import Element, read_xml

#: PCI class of NVSwitch in ``tclass`` of NCCL; a link to another GPU has that of a GPU.
SWITCH_CLASS = "0x0680"
#: How the PCI classes begin that NCCL and RCCL take for GPUs and for network adapters.
GPU_CLASSES, ADAPTER_CLASSES = ("0x03", "0x12"), ("0x02",)
MAKERS = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}
BUS = re.compile(
    r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})\.([0-9a-f])", re.ASCII | re.IGNORECASE
)


class GpuHosts(NamedTuple):
    """Hosts of one file."""

    #: several for a file of NCCL from GPUs of several hosts that share NVLink, ordered by the lowest rank
    trees: list[NodeTree]
    nvlink: bool  # all GPUs of these hosts are joined by switches of NVLink


class _Device:
    """A GPU or a network adapter in a file of NCCL: its element, its function on the PCI bus, its place.

    `path` are the elements around the function, outermost first.
    """

    def __init__(self, element: Element, path: tuple[Element, ...]) -> None:
        bare = element.tag == "pci" or not path
        self.element, self.function = element, element if bare else path[-1]
        self.path = path if bare else path[:-1]

    @property
    def bus(self) -> str:
        """Its PCI address."""
        return self.function.get("busid")

    def way(self, other: _Device) -> str:
        """Return how two devices are joined, without NVLink."""
        if self.function is other.function:
            return "CARD"
        shared = sum(own is theirs for own, theirs in zip(self.path, other.path, strict=False))
        if shared < 2:
            return "PHB" if shared else "SYS"
        return "PIX" if shared == min(len(self.path), len(other.path)) else "PXB"


def read_nccl(path: str, max_bytes: int) -> GpuHosts:
    """Read the hosts of a topology file.

    Where NVLink spans hosts (NVL72), NCCL joins what its ranks found into one file, in which every CPU has
    the hash of its host. A file for ``NCCL_TOPO_FILE`` may leave the elements of GPUs to NCCL: then functions
    of these PCI classes are the GPUs, in the order of their addresses, as nvidia-smi and rocm-smi count.

    Sources: user guide of NCCL ("NCCL_TOPO_FILE", "NCCL_TOPO_DUMP_FILE"), and its ``src/graph/xml.cc``,
    ``src/graph/topo.cc`` and ``src/graph/topo.h`` (elements and attributes); RCCL's versions of these.
    """
    top = read_xml(path, root="system", max_bytes=max_bytes)
    by_host: dict[str, list[Element]] = {}
    for cpu in top.named("cpu"):
        by_host.setdefault(cpu.get("host_hash"), []).append(cpu)
    devices = [_devices(cpus) for cpus in by_host.values()] or [_devices([])]
    if not any(gpus for gpus, _ in devices):
        what = (
            "no GPU, expected elements <gpu>, as NCCL writes them to NCCL_TOPO_DUMP_FILE, or <pci> of class "
            "0x0302.. inside <cpu>"
        )
        raise FormatError(path, None, what)
    if len(devices) > 1:
        for cpus, (gpus, _) in zip(by_host.values(), devices, strict=True):
            if not gpus:
                what = "a host without GPUs, expected GPUs on every host that shares NVLink"
                raise FormatError(path, cpus[0].line, what)
        devices.sort(key=lambda host: min(_number(path, gpu, "rank") for gpu in host[0]))
    nvlink = all(SWITCH_CLASS in _links(gpu) for gpus, _ in devices for gpu in gpus)
    trees = [_of_host(path, gpus, adapters, bind=True) for gpus, adapters in devices]
    if not all(tree.pus_known for tree in trees):  # one machine has cores on all hosts or on none
        trees = [_of_host(path, gpus, adapters, bind=False) for gpus, adapters in devices]
    return GpuHosts(trees, nvlink)


def _number(path: str, gpu: _Device, name: str) -> int:
    text = gpu.element.get(name)
    if not re.fullmatch("[0-9]{1,4}", text, re.ASCII):
        raise FormatError(path, gpu.element.line, f"{name}={text[:20]!r}, expected the number of a GPU")
    return int(text)


def _of_host(path: str, found: list[_Device], adapters: dict[str, _Device], *, bind: bool) -> NodeTree:
    gpus, joined = [], {}
    notices: tuple[str, ...] = ()
    bare = found[0].element.tag == "pci"
    if bare:
        found = sorted(found, key=lambda gpu: _bus_numbers(path, gpu))
        notices = (
            f"{path} is a file for NCCL_TOPO_FILE, which has neither numbers of GPUs nor NVLink: GPUs are "
            "numbered by their PCI addresses (nvidia-smi topo -m has both)",
        )
    for position, gpu in enumerate(found):
        cpu, index = (*gpu.path, gpu.function)[0], position if bare else _number(path, gpu, "dev")
        cpus = parse_cpuset(cpu.get("affinity"), path, cpu.line)
        near = {name: gpu.way(adapter) for name, adapter in adapters.items()}
        maker = _maker(gpu)
        name = f"{'rsmi' if maker == 'amd' else 'nvml'}{index}"
        gpus.append(BoardGpu(index, gpu.bus if bare else name, frozenset(cpus), near, maker))
    links = [_links(gpu) for gpu in found]
    for high in range(len(found)):
        for low in range(high):
            linked = found[low].bus in links[high] or found[high].bus in links[low]
            both = SWITCH_CLASS in links[low] and SWITCH_CLASS in links[high]
            way = found[low].way(found[high])
            kind = "XGMI" if gpus[low].maker == "amd" else "NV"
            joined[low, high] = kind if way != "CARD" and (linked or both) else way
    numa = len({id((*gpu.path, gpu.function)[0]) for gpu in found})
    return board_tree(path, gpus, joined, bind=bind, numa=numa, notices=notices)


def _maker(gpu: _Device) -> str:
    known = MAKERS.get(gpu.function.get("vendor").lower())
    if known:
        return known
    if "gcn" in gpu.element.attributes or gpu.function.get("class").startswith(("0x0380", "0x12")):
        return "amd"
    return "nvidia"


def _bus_numbers(path: str, gpu: _Device) -> tuple[int, ...]:
    found = BUS.fullmatch(gpu.bus)
    if found is None:
        what = f"busid {gpu.bus[:20]!r}, expected a PCI address like 0000:10:1c.0"
        raise FormatError(path, gpu.element.line, what)
    return tuple(int(part or "0", 16) for part in found.groups())


def _devices(cpus: list[Element]) -> tuple[list[_Device], dict[str, _Device]]:
    """Return GPUs and network adapters; without any element of a GPU, functions of their PCI classes."""
    gpus: list[_Device] = []
    bare: list[_Device] = []
    adapters: dict[str, _Device] = {}
    cards: dict[str, _Device] = {}
    stack: list[tuple[Element, tuple[Element, ...]]] = [(cpu, ()) for cpu in reversed(cpus)]
    while stack:
        element, path = stack.pop()
        kind = element.get("class").lower()
        if element.tag == "gpu":
            gpus.append(_Device(element, path))
        elif element.tag == "net":
            adapters.setdefault(element.get("name"), _Device(element, path))
        elif element.tag == "pci" and kind.startswith(GPU_CLASSES):
            bare.append(_Device(element, path))
        elif element.tag == "pci" and kind.startswith(ADAPTER_CLASSES):
            cards.setdefault(element.get("busid"), _Device(element, path))
        inside = path if element.tag == "nic" else (*path, element)
        stack.extend((child, inside) for child in reversed(element.children))
    return gpus or bare, adapters or cards


def _links(gpu: _Device) -> set[str]:
    """Return bus numbers of the GPUs at the other ends of links, and SWITCH_CLASS if one is a switch."""
    links = set()
    for link in gpu.element.children:
        if link.tag in ("nvlink", "xgmi"):
            is_switch = link.get("tclass").startswith(SWITCH_CLASS)
            links.add(SWITCH_CLASS if is_switch else link.get("target"))
    return links
