"""The table that ``nvidia-smi topo -m`` prints: how GPUs and adapters of a host are joined, and near CPUs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hopbytes.errors import FormatError
from hopbytes.machines.node.gpu_board import BoardGpu, board_tree
from hopbytes.machines.node.node_tree import NodeTree
from hopbytes.text.cpu_lists import parse_list

#: Titles of the tables that are read: how two GPUs are joined, and over how many steps.
TITLES = {
    "LINK TYPE TABLE:": "type", "HOPS TABLE:": "hops", "Link Type between two GPUs": "type",
    "Hops between two GPUs": "hops",
}  # fmt: skip
ANY_TITLE = re.compile(
    r"[A-Z][A-Z -]{2,40} TABLE:|[A-Z][A-Za-z ]{2,40} between two GPUs|Numa Nodes", re.ASCII
)
GPU = re.compile(
    r"GPU([0-9]{1,4})|([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])", re.ASCII | re.IGNORECASE
)
NUMA = re.compile(r"GPU[ \[]([0-9]{1,4})\]?\s{0,40}: \(Topology\) Numa Node: (-?[0-9]{1,4})", re.ASCII)
PAIR = re.compile(
    r"\(Topology\) (Link type|Hops) between DRM devices ([0-9]{1,4}) and ([0-9]{1,4})", re.ASCII
)
TYPES, UNKNOWN = ("SELF", "0", "XGMI", "PCIE"), ("N/A", "UNKNOWN", "PCIX", "XXXX", "NOT_APPLICABLE")
MARKS = ("ROCm System Management Interface", "between two GPUs", "LINK TYPE TABLE:", "ACCESS TABLE:")


@dataclass
class _Found:
    """Facts about GPUs: their addresses or names by number, and what the tables hold for two numbers."""

    names: dict[int, str] = field(default_factory=dict)
    numa: dict[int, int] = field(default_factory=dict)
    types: dict[tuple[int, int], str] = field(default_factory=dict)
    hops: dict[tuple[int, int], str] = field(default_factory=dict)


def is_amd(lines: Sequence[str]) -> bool:
    """Tell whether a text is a table of AMD's tools."""
    return any(mark in line for line in lines for mark in MARKS)


def read_amd(path: str, lines: Sequence[str]) -> NodeTree:
    """Read the GPUs of a host.

    GPUs have the numbers of the tools, and several with one PCI device (compute partitions) are a unit. These
    tools do not tell the CPUs near to a GPU. Where XGMI does not join two GPUs, two steps mean the same CPU.

    Sources: outputs in the documentation and changes of amd-smi and rocm_smi_lib, ROCm 5 to 7; AMD, "MI200
    system optimization" (steps).
    """
    return _node(path, _from_tables(path, lines))


def read_amd_json(path: str, data: bytes) -> NodeTree:
    """Read the GPUs of a host from JSON, see :func:`read_amd`."""
    return _node(path, _from_json(path, data))


def _node(path: str, found: _Found) -> NodeTree:
    if not found.names:
        raise FormatError(path, None, "no GPU in a table of link types, expected amd-smi topology's output")
    numbers = sorted(found.names)
    gpus = [BoardGpu(number, f"rsmi{number}", frozenset(), {}, "amd") for number in numbers]
    joined = {
        (low, high): _way_of_amd(found, numbers[low], numbers[high])
        for high in range(len(numbers)) for low in range(high)
    }  # fmt: skip
    return board_tree(path, gpus, joined, numa=len({node for node in found.numa.values() if node >= 0}))


def _way_of_amd(found: _Found, first: int, second: int) -> str:
    cards = [found.names[number].rpartition(".")[0] for number in (first, second)]
    if cards[0] and cards[0] == cards[1]:
        return "CARD"
    pair = (first, second) if (first, second) in found.types else (second, first)
    if found.types.get(pair) == "XGMI":
        return "XGMI"
    nodes = [found.numa.get(number, -1) for number in (first, second)]
    if min(nodes) >= 0:
        return "NODE" if nodes[0] == nodes[1] else "SYS"
    return "NODE" if found.hops.get(pair) == "2" else "SYS"


def _from_tables(path: str, lines: Sequence[str]) -> _Found:
    found = _Found()
    tables: dict[str, list[tuple[int, list[str]]]] = {}
    kind = ""
    for number, line in enumerate(lines, 1):
        near, title = NUMA.match(line.strip()), line.strip("= \t")
        if near:
            found.numa[int(near[1])] = int(near[2])
        elif ANY_TITLE.fullmatch(title):
            kind = TITLES.get(title, "")
        elif kind and (words := line.split()) and GPU.fullmatch(words[0]):
            tables.setdefault(kind, []).append((number, words))
    for kind, rows in tables.items():
        _add_table(path, found, kind, rows)
    return found


def _add_table(path: str, found: _Found, kind: str, rows: Sequence[tuple[int, list[str]]]) -> None:
    """Add a table: the names of the GPUs, then for each of them its name and a value per GPU."""
    titles = rows[0][1]
    parsed = [GPU.fullmatch(title) for title in titles]
    if not all(parsed):
        raise FormatError(path, rows[0][0], f"{' '.join(titles)[:40]!r}, expected GPUs as titles")
    numbers = [int(found[1] or index) for index, found in enumerate(parsed) if found]
    for number, title in zip(numbers, titles, strict=True):
        found.names[number] = title if ":" in title else ""
    if len(rows) != len(titles) + 1:
        what = f"{len(rows) - 1} rows of GPUs, expected {len(titles)} as columns: the output was cut off"
        raise FormatError(path, rows[-1][0], what)
    for own, (line, words), title in zip(numbers, rows[1:], titles, strict=True):
        if words[0] != title or len(words) != len(titles) + 1:
            what = f"{words[0]} and {len(words) - 1} values, expected {title} and a value for each GPU"
            raise FormatError(path, line, what)
        for other, word in zip(numbers, words[1:], strict=True):
            if kind == "type" and word not in TYPES and word not in UNKNOWN:
                raise FormatError(path, line, f"{word[:20]!r}, expected one of {', '.join(TYPES)}")
            (found.types if kind == "type" else found.hops)[own, other] = word


def _from_json(path: str, data: bytes) -> _Found:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise FormatError(path, line, "not JSON, expected what amd-smi topology --json prints") from None
    found = _Found()
    try:
        for item in content if isinstance(content, list) else ():
            _add_item(found, item)
        if isinstance(content, dict):
            _add_pairs(found, content)
    except (TypeError, KeyError, ValueError, AttributeError):
        raise FormatError(path, None, "JSON of another form, expected that of amd-smi topology") from None
    return found


def _add_item(found: _Found, item: Mapping[str, Any]) -> None:
    """Add a GPU as amd-smi describes it: its links, before ROCm 6.1.1 a value per GPU under each fact."""
    own = int(item["gpu"])
    found.names[own] = str(item.get("bdf", ""))
    for link in item.get("links", ()):
        found.types[own, int(link["gpu"])] = str(link.get("link_type", ""))
        found.hops[own, int(link["gpu"])] = str(link.get("num_hops", ""))
    for facts, key in ((found.types, "link_type"), (found.hops, "hops")):
        for name, value in item.get(key, {}).items():
            facts[own, int(name.removeprefix("gpu_"))] = str(value)


def _add_pairs(found: _Found, content: Mapping[str, Any]) -> None:
    """Add what ``rocm-smi --showtopo --json`` prints: cards with memory nodes, and a value per pair."""
    for name, facts in content.items():
        if name.startswith("card"):
            found.names[int(name[4:])] = ""
            found.numa[int(name[4:])] = int(facts.get("(Topology) Numa Node", -1))
    for name, value in content.get("system", {}).items():
        pair = PAIR.fullmatch(name)
        if pair:
            facts = found.hops if pair[1] == "Hops" else found.types
            facts[int(pair[2]), int(pair[3])] = str(value)


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
        for index, other in enumerate(expected[: len(gpus)]):
            joined[index, len(gpus)] = to[other]
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
