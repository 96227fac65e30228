"""Readers of what NVIDIA's tools tell about a host: ``nvidia-smi topo -m`` and topology files of NCCL."""

from __future__ import annotations

import re
from typing import NamedTuple

from hopbytes.errors import FormatError
from hopbytes.machines.node.gpu_board import NEARNESS, BoardGpu, board_tree
from hopbytes.machines.node.node_tree import NodeTree
from hopbytes.textio.cpu_lists import parse_cpuset, parse_list
from hopbytes.textio.lines import read_bytes
from hopbytes.textio.xml_tree import Element, read_xml

MAX_FILE = 2**24
#: Colours and underlines of a terminal.
ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
GPU_NAME = re.compile(r"GPU([0-9]{1,4})", re.ASCII)
LEGEND = re.compile(r"\s*(NIC[0-9]{1,4}):\s*([A-Za-z0-9._-]{1,64})\s*", re.ASCII)
OLD = {"SOC": "SYS"}
#: PCI class of NVSwitch in ``tclass`` of NCCL; a link to another GPU has that of a GPU.
SWITCH_CLASS = "0x0680"


class GpuHosts(NamedTuple):
    """Hosts of one file.

    Parameters
    ----------
    trees : list of NodeTree
        Several for a file of NCCL from GPUs of several hosts that share NVLink, ordered by the lowest rank.
    nvlink : bool
        All GPUs of these hosts are joined by switches of NVLink.
    """

    trees: list[NodeTree]
    nvlink: bool


def read_gpu_topology(path: str) -> NodeTree:
    """Return the first host of a file, see :func:`read_gpu_hosts`."""
    return read_gpu_hosts(path).trees[0]


def read_gpu_hosts(path: str) -> GpuHosts:
    """Read the GPUs of a host, or of the hosts that share NVLink.

    Parameters
    ----------
    path : str
        What ``nvidia-smi topo -m`` printed, or the file that NCCL writes for ``NCCL_TOPO_DUMP_FILE``.

    Raises
    ------
    FormatError
        With the path and the line: neither of the two, or a structure that is not as expected.

    Notes
    -----
    Where NVLink spans hosts (NVL72), NCCL joins what its ranks found into one file, in which every CPU has
    the hash of its host.

    Sources: legend of ``nvidia-smi topo -m``; user guide of NCCL ("NCCL_TOPO_DUMP_FILE"), and its
    ``src/graph/xml.cc``, ``src/graph/topo.cc`` and ``src/graph/topo.h`` (elements and attributes).
    """
    head = read_bytes(path, MAX_FILE)
    if head.lstrip()[:1] == b"<":
        return _of_nccl(path, read_xml(path, root="system", max_bytes=MAX_FILE))
    return GpuHosts([_of_nvidia_smi(path, head.decode("utf-8", "replace"))], nvlink=False)


def _of_nvidia_smi(path: str, text: str) -> NodeTree:
    lines = [ESCAPE.sub("", line) for line in text.splitlines()]
    heads = [line.split()[:1] == ["GPU0"] and "CPU Affinity" in line for line in lines]
    start = heads.index(True) if True in heads else None
    if start is None:
        what = "no line with GPU0 and CPU Affinity, expected one as nvidia-smi topo -m prints it"
        raise FormatError(path, None, what)
    columns = lines[start].split("CPU Affinity")[0].split()
    legend = {found[1]: found[2] for line in lines[start:] if (found := LEGEND.fullmatch(line))}
    gpus: list[BoardGpu] = []
    joined: dict[tuple[int, int], str] = {}
    for number, line in enumerate(lines[start + 1 :], start + 2):
        words = line.split()
        name = GPU_NAME.fullmatch(words[0]) if words else None
        if name is None:
            continue
        if len(gpus) == len(columns) or words[0] != columns[len(gpus)]:
            raise FormatError(path, number, f"{words[0]}, expected the GPUs in the order of the columns")
        if len(words) < len(columns) + 2:
            what = f"{len(words)} words, expected {len(columns)} ways and a CPU affinity after the name"
            raise FormatError(path, number, what)
        ways = [_way(path, number, word) for word in words[1 : len(columns) + 1]]
        for other, way in enumerate(ways[: len(gpus)]):
            joined[other, len(gpus)] = way
        adapters = {
            legend.get(column, column): way
            for column, way in zip(columns, ways, strict=True) if not GPU_NAME.fullmatch(column)
        }
        affinity = words[len(columns) + 1]
        cpus = set() if affinity == "N/A" else parse_list(affinity, path, number)
        gpus.append(BoardGpu(int(name[1]), words[0], frozenset(cpus), adapters))
    expected = [column for column in columns if GPU_NAME.fullmatch(column)]
    if len(gpus) != len(expected):
        raise FormatError(path, None, f"{len(gpus)} rows of GPUs, expected {len(expected)} as columns")
    return board_tree(path, gpus, joined)


def _way(path: str, line: int, word: str) -> str:
    """Return how two devices are joined, a word of NEARNESS; X, the device itself, is never asked for."""
    way = "NV" if re.fullmatch("NV[0-9]{1,3}", word, re.ASCII) else OLD.get(word, word)
    if way not in (*NEARNESS, "X"):
        raise FormatError(path, line, f"{word[:20]!r}, expected one of X, NV#, {', '.join(NEARNESS[1:])}")
    return way


class _Device:
    """A GPU or a network adapter in a file of NCCL: the elements that contain it, outermost first."""

    def __init__(self, element: Element, path: tuple[Element, ...]) -> None:
        self.element, self.path = element, path

    def way(self, other: _Device) -> str:
        """Return how two devices are joined, without NVLink."""
        shared = sum(one is two for one, two in zip(self.path, other.path, strict=False))
        if shared < 2:
            return "PHB" if shared else "SYS"
        return "PIX" if shared == min(len(self.path), len(other.path)) - 1 else "PXB"


def _of_nccl(path: str, top: Element) -> GpuHosts:
    by_host: dict[str, list[Element]] = {}
    for cpu in top.named("cpu"):
        by_host.setdefault(cpu.get("host_hash"), []).append(cpu)
    devices = [_devices(cpus) for cpus in by_host.values()] or [_devices([])]
    if len(devices) > 1:
        for cpus, (gpus, _) in zip(by_host.values(), devices, strict=True):
            if not gpus:
                what = "a host without GPUs, expected GPUs on every host that shares NVLink"
                raise FormatError(path, cpus[0].line, what)
        devices.sort(key=lambda host: min(_number(path, gpu, "rank") for gpu in host[0]))
    nvlink = all(SWITCH_CLASS in _links(gpu) for gpus, _ in devices for gpu in gpus)
    return GpuHosts([_of_host(path, gpus, adapters) for gpus, adapters in devices], nvlink)


def _number(path: str, gpu: _Device, name: str) -> int:
    text = gpu.element.get(name)
    if not re.fullmatch("[0-9]{1,4}", text, re.ASCII):
        raise FormatError(path, gpu.element.line, f"{name}={text[:20]!r}, expected the number of a GPU")
    return int(text)


def _of_host(path: str, found: list[_Device], adapters: dict[str, _Device]) -> NodeTree:
    gpus, joined = [], {}
    for gpu in found:
        cpu, index = gpu.path[0], _number(path, gpu, "dev")
        cpus = parse_cpuset(cpu.get("affinity"), path, cpu.line)
        near = {name: gpu.way(adapter) for name, adapter in adapters.items()}
        gpus.append(BoardGpu(index, f"cuda{index}", frozenset(cpus), near))
    links = [_links(gpu) for gpu in found]
    buses = [gpu.path[-1].get("busid") for gpu in found]
    for high in range(len(found)):
        for low in range(high):
            linked = buses[low] in links[high] or buses[high] in links[low]
            both = SWITCH_CLASS in links[low] and SWITCH_CLASS in links[high]
            joined[low, high] = "NV" if linked or both else found[low].way(found[high])
    return board_tree(path, gpus, joined)


def _devices(cpus: list[Element]) -> tuple[list[_Device], dict[str, _Device]]:
    """Return GPUs and network adapters; the innermost element around a device is its PCI function."""
    gpus: list[_Device] = []
    adapters: dict[str, _Device] = {}
    stack: list[tuple[Element, tuple[Element, ...]]] = [(cpu, ()) for cpu in reversed(cpus)]
    while stack:
        element, path = stack.pop()
        if element.tag == "gpu":
            gpus.append(_Device(element, path))
        elif element.tag == "net":
            adapters.setdefault(element.get("name"), _Device(element, path))
        inside = path if element.tag == "nic" else (*path, element)
        stack.extend((child, inside) for child in reversed(element.children))
    return gpus, adapters


def _links(gpu: _Device) -> set[str]:
    """Return bus numbers of the GPUs at the other ends of NVLinks, and SWITCH_CLASS if one is a switch."""
    links = set()
    for link in gpu.element.named("nvlink"):
        is_switch = link.get("tclass").startswith(SWITCH_CLASS)
        links.add(SWITCH_CLASS if is_switch else link.get("target"))
    return links
