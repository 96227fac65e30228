"""GPUs of a host, how they are joined, and which CPUs and adapters are near: what makers' tools tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.machines.node.node_tree import Gpu, NearAdapter, NodeTree, Part, node_tree
from hopbytes.text.cpu_lists import format_list
from hopbytes.text.lines import natural_key

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
    where: str,
    gpus: Sequence[BoardGpu],
    joined: Mapping[tuple[int, int], str],
    *,
    bind: bool = True,
    numa: int | None = None,
    notices: tuple[str, ...] = (),
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
    for position, (gpu, near) in enumerate(zip(gpus, _nearest([gpu.adapters for gpu in gpus]), strict=True)):
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


def _nearest(adapters: Sequence[Mapping[str, str]]) -> list[NearAdapter | None]:
    """Return the adapter of each GPU: the nearest one that the fewest GPUs have so far."""
    names = sorted({name for near in adapters for name in near}, key=natural_key)
    taken = dict.fromkeys(names, 0)
    found: list[NearAdapter | None] = []
    for near in adapters:
        known = [name for name in names if near.get(name) in NEARNESS]
        best = min(known, key=lambda name: (NEARNESS.index(near[name]), taken[name]), default=None)
        if best is None:
            found.append(None)
            continue
        taken[best] += 1
        found.append(NearAdapter(best, names.index(best), len(names)))
    return found
