"""GPUs of a host, how they are joined, and which CPUs and adapters are near: what makers' tools print.

The node that has them comes first, then the tables of ``amd-smi`` and ``rocm-smi``, that of
``nvidia-smi topo -m``, and the topology files of NCCL and RCCL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, damaged
from hopbytes.machines.node.hardware_kinds import VENDORS
from hopbytes.machines.node.node_tree import Gpu, NodeTree, Part, nearest_adapters, node_tree
from hopbytes.text.cpu_lists import format_list, parse_cpuset, parse_list
from hopbytes.text.documents import Element, parse_json, read_xml
from hopbytes.text.lines import read_bytes, text_lines

MAX_FILE = 2**24
#: Longest row of a table: 1024 GPUs and adapters.
LONGEST_ROW = 2**14
#: How two devices are joined, nearest first, and what a unit of GPUs that are joined so is called.
#: CARD: parts of one device that the driver shows as several GPUs.
CLASSES = {
    "CARD": "card", "NV": "nvlink", "XGMI": "xgmi", "PIX": "pci", "PXB": "pci", "PHB": "numa", "NODE": "numa",
}  # fmt: skip
NEARNESS = (*CLASSES, "SYS")
#: What is guessed of a list of CPUs whose hardware threads are not named.
PAIRS = "CPUs half of the list {} apart are taken for the two hardware threads of a core (hwloc has them)"
SINGLE = "it is unknown which of the CPUs {} share a core: each counts as a core (hwloc has them)"
#: Places of GPUs, and the unit that they are.
Group: TypeAlias = tuple[frozenset[int], Part]
#: Cores of every GPU, None where they are unknown, and what had to be assumed.
Shares: TypeAlias = tuple[list[tuple[Part, ...]] | None, tuple[str, ...]]


@frozen
class BoardGpu:
    """A GPU: number, name, near CPUs (none: unknown), how each network adapter is joined to it, its maker."""

    index: int
    name: str
    cpus: frozenset[int]
    adapters: Mapping[str, str]
    maker: str = ""


def board_tree(
    where: str, gpus: Sequence[BoardGpu], joined: Mapping[tuple[int, int], str], *, bind: bool = True,
    numa: int | None = None, notices: tuple[str, ...] = (),
) -> NodeTree:
    """Return the node that has these GPUs.

    GPUs are in one unit of a class if a chain of joints of this class or a nearer one leads from one to the
    other. CPUs that are near to the same GPUs are divided among these evenly, see :func:`_cores` and
    :func:`_portions`.
    """
    if not gpus:
        raise FormatError(where, None, "no GPU, expected at least one")
    for gpu in gpus:
        if sum(other.index == gpu.index for other in gpus) > 1:
            raise FormatError(where, None, f"GPU {gpu.index} twice, expected the GPUs of one host")
    shares, guessed = _shares(gpus) if bind else (None, ())
    parts = {
        position: Part("gpu", gpu.index, (Part("pu", gpu.index),) if shares is None else shares[position])
        for position, gpu in enumerate(gpus)
    }
    groups: list[Group] = [(frozenset({position}), part) for position, part in parts.items()]
    for cls, kind in CLASSES.items():
        together = _joined(groups, [pair for pair, name in joined.items() if name == cls])
        if len(together) == 1:
            break  # the unit would be the node
        groups = [inside[0] if len(inside) == 1 else _unit(kind, inside) for inside in together]
    node = Part("machine", 0, tuple(part for _, part in groups))
    found = []
    rank = {way: number for number, way in enumerate(NEARNESS)}
    ways = [{name: rank[way] for name, way in gpu.adapters.items() if way in rank} for gpu in gpus]
    nearest = nearest_adapters(ways, {name for gpu in gpus for name in gpu.adapters})
    for position, (gpu, near) in enumerate(zip(gpus, nearest, strict=True)):
        own = () if shares is None else shares[position]
        pus = sorted(pu.os_index for core in own for pu in core.inside)
        found.append(Gpu(gpu.index, gpu.name, tuple(pus), near, gpu.maker))
    return node_tree(
        node, gpus=tuple(sorted(found, key=lambda gpu: gpu.index)), where=where,
        numa=len({gpu.cpus for gpu in gpus} - {frozenset()}) if numa is None else numa,
        notices=(*notices, *guessed), pus_known=shares is not None,
    )  # fmt: skip


def _shares(gpus: Sequence[BoardGpu]) -> Shares:
    """Return the cores of every GPU: its share of those near to it and others."""
    bare = next((gpu for gpu in gpus if not gpu.cpus), None)
    if bare is not None:
        return _unbound(f"the CPUs near GPU {bare.index} are unknown")
    cores: list[tuple[Part, ...]] = [()] * len(gpus)
    sets = sorted({gpu.cpus for gpu in gpus}, key=min)
    everything = frozenset[int]().union(*sets)
    if sum(map(len, sets)) != len(everything):
        return _unbound("some CPUs are near GPUs that have other near CPUs as well")
    guesses: dict[str, set[int]] = {}
    begun = 0
    for cpus in sets:
        near = [position for position, gpu in enumerate(gpus) if gpu.cpus == cpus]
        own, guess = _cores(sorted(cpus))
        if len(own) < len(near):
            return _unbound(f"{len(own)} cores (CPUs {format_list(cpus)}) are near {len(near)} GPUs")
        guesses.setdefault(guess, set()).update(cpus)
        # Where threads are unknown, those of one core are neighbours or half a list apart; the latter not in
        # a range that is one of several, since Linux numbers the first threads of all of these before. Two
        # GPUs must not share a core.
        in_order = max(cpus) - min(cpus) == len(cpus) - 1 and cpus != everything
        halves = len(own[0]) == 1 and not in_order
        for position, portion in zip(near, _portions(own, len(near), halves), strict=True):
            cores[position] = tuple(
                Part("core", core, tuple(Part("pu", pu) for pu in pus))
                for core, pus in enumerate(portion, begun)
            )
            begun += len(portion)
    known = tuple(guess.format(format_list(cpus)) for guess, cpus in guesses.items() if guess)
    return cores, known


def _unbound(why: str) -> Shares:
    return None, (f"{why}: ranks get a GPU each and are not bound to cores (hwloc files have their cores)",)


def _cores(numbers: Sequence[int]) -> tuple[list[tuple[int, ...]], str]:
    """Return the hardware threads of each core, and a guess about them in words.

    Linux numbers the first threads of all cores before the second ones. Two halves with the same steps and
    a gap between them are taken for these; any other list does not tell threads and cores apart.
    """
    half = len(numbers) // 2
    first, second = numbers[:half], numbers[half:]
    steps = [b - a for a, b in pairwise(first)]
    alike = len(numbers) % 2 == 0 and len({b - a for a, b in zip(first, second, strict=True)}) == 1
    if alike and second[0] - first[-1] > max([1, *steps]):
        sure = steps and max(steps) == 1  # two ranges of equal length
        return list(zip(first, second, strict=True)), "" if sure else PAIRS
    return [(number,) for number in numbers], SINGLE if len(numbers) > 1 else ""


def _portions(cores: Sequence[tuple[int, ...]], count: int, halves: bool) -> list[list[tuple[int, ...]]]:
    """Divide cores into portions in their order, with `halves` each half of them alike."""
    if not halves or len(cores) % 2 or len(cores) // 2 < count:
        return [list(cores[a:b]) for a, b in pairwise(_ends(len(cores), count))]
    half = len(cores) // 2
    return [[*cores[a:b], *cores[half + a : half + b]] for a, b in pairwise(_ends(half, count))]


def _ends(total: int, count: int) -> list[int]:
    """Return where portions begin and end, at even numbers if that keeps them equal."""
    step = 1 if total % (2 * count) else 2
    return [total // step * i // count * step for i in range(count + 1)]


def _unit(kind: str, inside: list[Group]) -> Group:
    members = frozenset(position for positions, _ in inside for position in positions)
    return members, Part(kind, min(members), tuple(part for _, part in inside))


def _joined(groups: list[Group], pairs: Sequence[tuple[int, int]]) -> list[list[Group]]:
    """Return the groups that some pair joins, together."""
    leader = {position: number for number, (members, _) in enumerate(groups) for position in members}
    for one, other in pairs:
        low, high = sorted((leader[one], leader[other]))
        leader = {position: low if number == high else number for position, number in leader.items()}
    together: dict[int, list[Group]] = {}
    for group in groups:
        together.setdefault(leader[min(group[0])], []).append(group)
    return list(together.values())


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


def read_amd(path: str, found: _Found) -> NodeTree:
    """Return the GPUs of a host.

    GPUs have the numbers of the tools, and several with one PCI device (compute partitions) are a unit. These
    tools do not tell the CPUs near to a GPU. Where XGMI does not join two GPUs, two steps mean the same CPU.

    Sources: outputs in the documentation and changes of amd-smi and rocm_smi_lib, ROCm 5 to 7; AMD, "MI200
    system optimization" (steps).
    """
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
    content, found = parse_json(data, path, "what amd-smi topology --json prints"), _Found()
    with damaged(path, "JSON of the form that amd-smi topology prints"):
        for item in content if isinstance(content, list) else ():
            _add_item(found, item)
        if isinstance(content, dict):
            _add_pairs(found, content)
    return found


def _add_item(found: _Found, item: Mapping[str, Any]) -> None:
    """Add a GPU as amd-smi describes it: its links, before ROCm 6.1.1 a value per GPU under each fact."""
    own = int(item["gpu"])
    if own < 0 or own in found.names:
        raise ValueError(f"GPU {own} {'twice' if own >= 0 else ''}".rstrip())
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
WAYS = ("PIX", "PXB", "PHB", "NODE", "SYS")


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
        what = "no table of GPUs, expected what nvidia-smi topo -m, amd-smi topology or rocm-smi prints"
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
        ways = []
        for word in words[1 : len(head.devices) + 1]:
            ways.append(_way(word))
            if not ways[-1]:
                raise FormatError(path, number, f"{word[:20]!r}, expected one of X, NV#, {', '.join(WAYS)}")
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
    if not devices or not GPU_NAME.fullmatch(devices[0]) or any(map(_way, devices)):
        return None
    if not about and (len(devices) == 1 or not all(DEVICE_NAME.fullmatch(word) for word in devices)):
        return None  # words of another output
    return _Head(devices, about, line.rindex(devices[-1]), line.find("CPU Affinity"))


def _affinity(line: str, head: _Head) -> str:
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


def _way(word: str) -> str:
    """Return how two devices are joined, a word of NEARNESS, or X for the device itself; empty for others."""
    way = "NV" if re.fullmatch("NV[0-9]{1,3}", word, re.ASCII) else OLD.get(word, word)
    return way if way in ("NV", "X", *WAYS) else ""


#: PCI class of NVSwitch in ``tclass`` of NCCL; a link to another GPU has that of a GPU.
SWITCH_CLASS = "0x0680"
#: How the PCI classes begin that NCCL and RCCL take for GPUs and for network adapters.
GPU_CLASSES, ADAPTER_CLASSES = ("0x03", "0x12"), ("0x02",)
BUS = re.compile(
    r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})\.([0-9a-f])", re.ASCII | re.IGNORECASE
)


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
        return self.function.get("busid")

    def way(self, other: _Device) -> str:
        """Return how two devices are joined, without NVLink."""
        if self.function is other.function:
            return "CARD"
        shared = sum(own is theirs for own, theirs in zip(self.path, other.path, strict=False))
        if shared < 2:
            return "PHB" if shared else "SYS"
        return "PIX" if shared == min(len(self.path), len(other.path)) else "PXB"


def read_nccl(path: str) -> GpuHosts:
    """Read the hosts of a topology file.

    Where NVLink spans hosts (NVL72), NCCL joins what its ranks found into one file, in which every CPU has
    the hash of its host. A file for ``NCCL_TOPO_FILE`` may leave the elements of GPUs to NCCL: then functions
    of these PCI classes are the GPUs, in the order of their addresses, as nvidia-smi and rocm-smi count.

    Sources: user guide of NCCL ("NCCL_TOPO_FILE", "NCCL_TOPO_DUMP_FILE"), and its ``src/graph/xml.cc``,
    ``src/graph/topo.cc`` and ``src/graph/topo.h`` (elements and attributes); RCCL's versions of these.
    """
    top = read_xml(path, root="system", max_bytes=MAX_FILE)
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
    known = VENDORS.get(gpu.function.get("vendor").lower().removeprefix("0x"))
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


class GpuHosts(NamedTuple):
    """Hosts of one file."""

    #: several for a file of NCCL from GPUs of several hosts that share NVLink, ordered by the lowest rank
    trees: list[NodeTree]
    nvlink: bool  # all GPUs of these hosts are joined by switches of NVLink


def read_gpu_hosts(path: str) -> GpuHosts:
    """Read the GPUs of a host, or of the hosts that share NVLink, from what a tool of their maker tells."""
    data = read_bytes(path, MAX_FILE)
    if data.lstrip()[:1] == b"<":
        return read_nccl(path)
    if data.lstrip()[:1] in (b"[", b"{"):
        return GpuHosts([read_amd(path, _from_json(path, data))], nvlink=False)
    lines = text_lines(data, path, LONGEST_ROW)
    if any(mark in line for line in lines for mark in MARKS):
        return GpuHosts([read_amd(path, _from_tables(path, lines))], nvlink=False)
    return GpuHosts([read_nvidia_smi(path, lines)], nvlink=False)
