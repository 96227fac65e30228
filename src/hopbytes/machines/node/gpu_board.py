"""GPUs of a host, how they are joined, and which CPUs and adapters are near: what NVIDIA's tools tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.machines.node.node_tree import Gpu, NearAdapter, NodeTree, Part, node_tree
from hopbytes.textio.lines import natural_key

#: How two devices are joined, nearest first, and what a unit of GPUs that are joined so is called.
CLASSES = {"NV": "nvlink", "PIX": "pci", "PXB": "pci", "PHB": "numa", "NODE": "numa"}
NEARNESS = (*CLASSES, "SYS")
#: Places of GPUs, and the unit that they are.
Group: TypeAlias = tuple[frozenset[int], Part]


@frozen
class BoardGpu:
    """A GPU: number, name, near CPUs, and how each network adapter is joined to it."""

    index: int
    name: str
    cpus: frozenset[int]
    adapters: Mapping[str, str]


def board_tree(where: str, gpus: Sequence[BoardGpu], joined: Mapping[tuple[int, int], str]) -> NodeTree:
    """Return the node that has these GPUs.

    Parameters
    ----------
    where : str
        The file, for messages.
    gpus : sequence of BoardGpu
    joined : mapping of (int, int) to str
        For two places in `gpus`, the smaller one first, a name of :data:`NEARNESS`.

    Returns
    -------
    NodeTree
        Units of GPUs that are joined by NVLink, by a PCI switch, or belong to one memory domain, as far as
        they are neither single GPUs nor the whole node; in them the GPUs with their shares of the near CPUs.

    Raises
    ------
    FormatError
        No GPU, a GPU without CPUs, fewer near CPUs than GPUs, CPUs near two GPUs but not to their neighbours.

    Notes
    -----
    GPUs are in one unit of a class if a chain of joints of this class or a nearer one leads from one to the
    other. CPUs that are near to the same GPUs are divided among these evenly. A list of two ranges of the
    same length is taken for the first and second hardware threads of as many cores, as Linux numbers them.
    """
    if not gpus:
        raise FormatError(where, None, "no GPU, expected at least one")
    for gpu in gpus:
        if not gpu.cpus:
            raise FormatError(where, None, f"no CPU near {gpu.name}, expected its CPU affinity")
        if sum(other.index == gpu.index for other in gpus) > 1:
            raise FormatError(where, None, f"GPU {gpu.index} twice, expected the GPUs of one host")
    shares = _shares(where, gpus)
    adapters = _nearest([gpu.adapters for gpu in gpus])
    parts = {place: Part("gpu", gpu.index, shares[place]) for place, gpu in enumerate(gpus)}
    groups: list[Group] = [(frozenset({place}), part) for place, part in parts.items()]
    for cls, kind in CLASSES.items():
        together = _joined(groups, [pair for pair, name in joined.items() if name == cls])
        if len(together) == 1:
            break  # the unit would be the node
        groups = [inside[0] if len(inside) == 1 else _unit(kind, inside) for inside in together]
    node = Part("machine", 0, tuple(part for _, part in groups))
    found = []
    for gpu, share, near in zip(gpus, shares, adapters, strict=True):
        pus = sorted(pu.os_index for core in share for pu in core.inside)
        found.append(Gpu(gpu.index, gpu.name, tuple(pus), near))
    ordered = tuple(sorted(found, key=lambda gpu: gpu.index))
    return node_tree(node, gpus=ordered, numa=len({gpu.cpus for gpu in gpus}), where=where)


def _shares(where: str, gpus: Sequence[BoardGpu]) -> list[tuple[Part, ...]]:
    """Return the cores of every GPU: its share of those that are near to it and others."""
    shares: list[tuple[Part, ...]] = [()] * len(gpus)
    for cpus in {gpu.cpus for gpu in gpus}:
        near = [place for place, gpu in enumerate(gpus) if gpu.cpus == cpus]
        cores = _cores(cpus)
        if len(cores) < len(near):
            what = f"{len(cores)} cores near {len(near)} GPUs, expected at least one for each"
            raise FormatError(where, None, what)
        for number, place in enumerate(near):
            first, end = (len(cores) * i // len(near) for i in (number, number + 1))
            own = enumerate(cores[first:end], first)
            shares[place] = tuple(Part("core", i, tuple(Part("pu", pu) for pu in pus)) for i, pus in own)
    return shares


def _cores(cpus: frozenset[int]) -> list[tuple[int, ...]]:
    """Return the hardware threads of each core."""
    numbers = sorted(cpus)
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    if len(runs) == 2 and len(runs[0]) == len(runs[1]):
        return list(zip(*runs, strict=True))
    return [(number,) for number in numbers]


def _unit(kind: str, inside: list[Group]) -> Group:
    members = frozenset(place for places, _ in inside for place in places)
    return members, Part(kind, min(members), tuple(part for _, part in inside))


def _joined(groups: list[Group], pairs: Sequence[tuple[int, int]]) -> list[list[Group]]:
    """Return the groups that some pair joins, together."""
    leader = {place: number for number, (members, _) in enumerate(groups) for place in members}
    for one, other in pairs:
        low, high = sorted((leader[one], leader[other]))
        leader = {place: low if number == high else number for place, number in leader.items()}
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
