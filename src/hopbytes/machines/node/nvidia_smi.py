"""The table that ``nvidia-smi topo -m`` prints: how GPUs and adapters of a host are joined, and near CPUs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from hopbytes.errors import FormatError
from hopbytes.machines.node.gpu_board import BoardGpu, board_tree
from hopbytes.machines.node.node_tree import NodeTree
from hopbytes.text.cpu_lists import parse_list

#: Colours and underlines of a terminal.
ESCAPE = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
GPU_NAME = re.compile(r"GPU([0-9]{1,4})", re.ASCII)
DEVICE_NAME = re.compile(r"(?:GPU|NIC)[0-9]{1,4}", re.ASCII)
LEGEND = re.compile(r"(NIC[0-9]{1,4}):\s{0,8}([A-Za-z0-9._-]{1,64})", re.ASCII)
#: What may follow the devices in the line of columns, in this order; older drivers print fewer.
ABOUT_CPUS = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
OLD = {"SOC": "SYS"}
WAYS = ("NV#", "PIX", "PXB", "PHB", "NODE", "SYS")


class _Head(NamedTuple):
    """The line of columns: devices, what follows them, where the last device and CPU Affinity are (or -1)."""

    devices: list[str]
    about: list[str]
    last: int
    cpus: int


def read_nvidia_smi(path: str, lines: Sequence[str]) -> NodeTree:
    """Read the table.

    The list of CPUs may be missing in a job, in a virtual machine, or where NVIDIA's library does not know
    it: then the word that follows the ways may be a number of a memory node. Tabs separate the columns; in
    text that was copied from a terminal a value stands below its title, unless all of them are there.

    Source: the legend below the table; outputs of the drivers 375 to 590 in public reports.
    """
    lines = [ESCAPE.sub("", line).rstrip() for line in lines]
    start, head = next(((i, head) for i, line in enumerate(lines) if (head := _head(line))), (-1, None))
    if head is None:
        what = "no line with GPU0 and CPU Affinity, expected one as nvidia-smi topo -m prints it"
        raise FormatError(path, None, what)
    legend = {found[1]: found[2] for line in lines[start:] if (found := LEGEND.fullmatch(line.strip()))}
    expected = [device for device in head.devices if GPU_NAME.fullmatch(device)]
    gpus: list[BoardGpu] = []
    joined: dict[tuple[int, int], str] = {}
    for number, line in enumerate(lines[start + 1 :], start + 2):
        words = line.split()
        name = GPU_NAME.fullmatch(words[0]) if words else None
        if name is None or len(gpus) == len(expected):
            continue
        if words[0] != expected[len(gpus)]:
            raise FormatError(path, number, f"{words[0]}, expected the GPUs in the order of the columns")
        if len(words) <= len(head.devices):
            what = (
                f"{len(words) - 1} ways from {words[0]}, expected {len(head.devices)}: the line was cut off"
            )
            raise FormatError(path, number, what)
        ways = [_way(path, number, word) for word in words[1 : len(head.devices) + 1]]
        to = dict(zip(head.devices, ways, strict=True))
        for place, other in enumerate(expected[: len(gpus)]):
            joined[place, len(gpus)] = to[other]
        adapters = {legend.get(other, other): way for other, way in to.items() if other not in expected}
        cpus = parse_list(_affinity(line, head), path, number)
        gpus.append(BoardGpu(int(name[1]), f"nvml{int(name[1])}", frozenset(cpus), adapters, "nvidia"))
    if len(gpus) != len(expected):
        what = f"{len(gpus)} rows of GPUs, expected {len(expected)} as columns: the output was cut off"
        raise FormatError(path, None, what)
    return board_tree(path, gpus, joined)


def _head(line: str) -> _Head | None:
    """Return the line of columns: it begins with a GPU, and none of its words is a way."""
    about = [title for title in ABOUT_CPUS if title in line]
    devices = line[: min((line.index(title) for title in about), default=len(line))].split()
    if not devices or not GPU_NAME.fullmatch(devices[0]) or any(_is_way(word) for word in devices):
        return None
    if not about and (len(devices) == 1 or not all(DEVICE_NAME.fullmatch(word) for word in devices)):
        return None  # words of another output
    return _Head(devices, about, line.rindex(devices[-1]), line.find("CPU Affinity"))


def _affinity(line: str, head: _Head) -> str:
    """Return the list of CPUs in a row, empty where there is none."""
    if head.cpus < 0:
        return ""
    fields = [field.strip() for field in line.strip().split("\t")]
    if len(fields) > len(head.devices):
        value = fields[len(head.devices) + 1] if len(fields) > len(head.devices) + 1 else ""
    else:
        value = _below(line, head)
    return "" if value == "N/A" else value


def _below(line: str, head: _Head) -> str:
    """Return the word below CPU Affinity in a row without tabs.

    Such rows were copied from a terminal, where an empty list takes 8 columns. They may be shifted against
    the titles as a whole.
    """
    words = list(re.finditer(r"\S+", line))
    last, rest = words[len(head.devices)], words[len(head.devices) + 1 :]
    if len(rest) >= len(head.about):
        return rest[0].group()
    if not rest or "  " not in line[words[0].end() :]:  # blanks were lost, and with them the columns
        return ""
    shift = last.start() - (last.group() == "X") - head.last
    return rest[0].group() if abs(rest[0].start() - shift - head.cpus) <= 4 else ""


def _is_way(word: str) -> bool:
    return re.fullmatch("X|NV[0-9]{1,3}", word, re.ASCII) is not None or OLD.get(word, word) in WAYS


def _way(path: str, line: int, word: str) -> str:
    """Return how two devices are joined, a word of NEARNESS; X, the device itself, is never asked for."""
    way = "NV" if re.fullmatch("NV[0-9]{1,3}", word, re.ASCII) else OLD.get(word, word)
    if way not in ("NV", "X", *WAYS[1:]):
        raise FormatError(path, line, f"{word[:20]!r}, expected one of X, {', '.join(WAYS)}")
    return way
