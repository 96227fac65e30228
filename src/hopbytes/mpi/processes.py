"""Finds where the processes of a communicator run, and builds a machine from that."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Dictionary
from operator import index
from typing import Any, TypeAlias

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.errors import HopbytesError, InfeasibleError
from hopbytes.formats.mappings.numbering import parse_cpus
from hopbytes.launch.observed import Seen, mapping_seen
from hopbytes.machines.base import Level
from hopbytes.machines.kinds.tree import Tree
from hopbytes.machines.node.hardware_kinds import DEFAULT_DISTANCE
from hopbytes.model.allocation import Allocation

#: Levels inside a node, outermost first, and the file in the folder of a CPU that lists the CPUs of its unit.
UNITS = (
    ("package", "topology/package_cpus_list"),
    ("l3", "cache/index3/shared_cpu_list"),
    ("l2", "cache/index2/shared_cpu_list"),
    ("core", "topology/core_cpus_list"),
)
CPU_FOLDER = "/sys/devices/system/cpu/cpu{}"


@frozen
class Spot:
    """The host and the CPUs on which one process runs."""

    host: str
    cpus: tuple[int, ...]  # CPU numbers of the operating system that the process may run on
    #: for each level of :data:`UNITS` the lowest CPU of the unit that contains all of them; -1 if none does
    units: tuple[int, ...]


def this_spot(host: str, folder: str = CPU_FOLDER) -> Spot:
    """Return where this process runs, from its affinity and the kernel's files about one of its CPUs."""
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    own = folder.format(cpus[0])
    return Spot(host, cpus, tuple(_unit(cpus, os.path.join(own, name)) for _, name in UNITS))


def _unit(cpus: tuple[int, ...], path: str) -> int:
    try:
        with open(path, encoding="ascii") as stream:
            unit = parse_cpus(stream.read(4096), path)
    except (OSError, ValueError, HopbytesError):  # no such level on this machine
        return -1
    return min(unit) if set(cpus) <= unit else -1


def machine_of(spots: Sequence[Spot]) -> tuple[Allocation, Int64]:
    """Return a machine with one PE per process, and int64[n], the process on each of its PEs.

    Processes that may move within a unit have the distance of two cores in different parts of that unit: an
    unbound process differs from all others of its node at the outermost level inside the node. Levels that no
    node has are left out. O(n log n).
    """
    hosts = {host: number for number, host in enumerate(dict.fromkeys(spot.host for spot in spots))}
    present = [place for place in range(len(UNITS)) if any(spot.units[place] >= 0 for spot in spots)]
    paths = []
    for rank, spot in enumerate(spots):
        # A process that is not bound to a unit of this level gets a unit of its own, which no other shares.
        inside = [spot.units[place] if spot.units[place] >= 0 else 2**20 + rank for place in present]
        paths.append((hosts[spot.host], *inside, rank))
    order = sorted(range(len(spots)), key=paths.__getitem__)
    levels = ["node", *(UNITS[place][0] for place in present), "process"]
    children: list[int | tuple[int, ...]] = []
    outer: list[tuple[int, ...]] = [()]
    for depth in range(len(levels)):
        units = list(dict.fromkeys(paths[rank][: depth + 1] for rank in order))
        counts = dict.fromkeys(outer, 0)
        for unit in units:
            counts[unit[:-1]] += 1
        children.append(tuple(counts.values()) if len(outer) > 1 else len(units))
        outer = units
    tiers = tuple(Level(name, DEFAULT_DISTANCE[name] if name != "process" else 1) for name in levels)
    return Allocation.whole(Tree(tiers, tuple(children))), np.array(order, np.int64)


def processes_on(where: Allocation, spots: Sequence[Spot]) -> tuple[Allocation, Int64]:
    """Return the PEs of a given machine on which processes run, and the process on each of them."""
    seen = {rank: Seen(spot.host, frozenset(spot.cpus)) for rank, spot in enumerate(spots)}
    pe = mapping_seen(where, seen, "machine").pe.astype(np.int64)
    order = np.argsort(pe, kind="stable")
    same = np.flatnonzero(np.diff(pe[order]) == 0)
    if len(same):
        first, second = int(order[same[0]]), int(order[same[0] + 1])
        raise InfeasibleError(f"ranks {first} and {second} run on one slot, expected one process per slot")
    return where.select(pe[order]), order.astype(np.int64)


Sends: TypeAlias = "Dictionary[int, int] | Sequence[int]"
#: Sources, destinations, and their weights or None.
Neighbours: TypeAlias = "tuple[list[int], list[int], list[int] | None, list[int] | None]"


def checked_sends(sends: Sends, rank: int, size: int) -> tuple[dict[int, int], str]:
    """Return the bytes by rank, and a description of the first fault in them, or "".

    >>> checked_sends([0, 8], 0, 2)
    ({1: 8}, '')
    >>> checked_sends([0, 8], 0, 3)
    ({}, 'rank 0 gives 2 numbers of bytes, expected 3, one for each rank')
    >>> checked_sends({1: 2.5}, 0, 3)
    ({}, 'rank 0 sends 2.5 bytes to rank 1, expected a whole number')
    """
    try:
        items: Iterable[tuple[Any, Any]]
        if isinstance(sends, Dictionary):
            items = sends.items()
        else:
            listed = list(sends)
            if len(listed) != size:
                found = f"{len(listed)} numbers of bytes"
                return {}, f"rank {rank} gives {found}, expected {size}, one for each rank"
            items = enumerate(listed)
    except TypeError:
        return {}, f"rank {rank}: {str(sends)[:40]!r}, expected bytes by rank or a sequence of {size}"
    checked: dict[int, int] = {}
    for target, volume in items:
        if not _is_whole(target) or not 0 <= index(target) < size:
            return {}, f"rank {rank} sends to rank {target}, expected 0..{size - 1}"
        if not _is_whole(volume):
            return {}, f"rank {rank} sends {volume} bytes to rank {target}, expected a whole number"
        if not 0 <= index(volume) < 2**63:
            return {}, f"rank {rank} sends {volume} bytes, expected 0 to 2^63 - 1"
        if index(volume):
            checked[index(target)] = index(volume)
    return checked, ""


def neighbours_sends(mine: Neighbours) -> dict[int, int]:
    """Return the bytes that a rank sends to each neighbour in a graph: 1 each if there are no weights."""
    weights = [1] * len(mine[1]) if mine[3] is None else mine[3]
    sends: dict[int, int] = {}
    for rank, weight in zip(mine[1], weights, strict=True):
        sends[rank] = sends.get(rank, 0) + weight
    return sends


def checked_neighbours(
    sources: Sequence[int], destinations: Sequence[int], source_weights: Any, destination_weights: Any
) -> tuple[Neighbours, str]:
    """Return the neighbours that a rank specified, and a description of the first fault in them, or "".

    The constants ``MPI.UNWEIGHTED`` and ``MPI.WEIGHTS_EMPTY`` are accepted as weights.
    """
    try:
        ends = [[index(rank) for rank in ranks] for ranks in (sources, destinations)]
    except TypeError:
        return ([], [], None, None), "neighbours that are no ranks, expected sequences of whole numbers"
    weights = []
    for name, given, count in (
        ("sourceweights", source_weights, len(ends[0])), ("destweights", destination_weights, len(ends[1]))
    ):  # fmt: skip
        found, fault = _weights(name, given, count)
        if fault:
            return ([], [], None, None), fault
        weights.append(found)
    return (ends[0], ends[1], weights[0], weights[1]), ""


def _weights(name: str, given: Any, count: int) -> tuple[list[int] | None, str]:
    from mpi4py import MPI

    if given is None or (isinstance(given, int) and given == MPI.UNWEIGHTED):
        return None, ""
    if isinstance(given, int) and given == MPI.WEIGHTS_EMPTY:
        fault = f"{name}: WEIGHTS_EMPTY for {count} neighbours, expected {count} numbers" if count else ""
        return [], fault
    try:
        listed = [index(weight) for weight in given]
    except TypeError:
        return [], f"{name}: {str(given)[:40]}, expected whole numbers, one for each neighbour"
    if len(listed) != count:
        return [], f"{name}: {len(listed)} numbers, expected {count}, one for each neighbour"
    return listed, ""


def _is_whole(value: Any) -> bool:
    try:
        index(value)
    except TypeError:
        return False
    return not isinstance(value, bool)
