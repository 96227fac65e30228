"""Finds where the processes of a communicator run, and builds a machine from that."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.errors import HopbytesError, InfeasibleError
from hopbytes.formats.mappings.numbering import parse_cpus
from hopbytes.launch.observed_placement import placement_seen
from hopbytes.launch.placement_probe import Seen
from hopbytes.machines.base import Level
from hopbytes.machines.node.hardware_kinds import DEFAULT_DISTANCE
from hopbytes.machines.tree import Tree
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
    pe = placement_seen(where, seen, "machine").pe.astype(np.int64)
    order = np.argsort(pe, kind="stable")
    same = np.flatnonzero(np.diff(pe[order]) == 0)
    if len(same):
        first, second = int(order[same[0]]), int(order[same[0] + 1])
        raise InfeasibleError(f"ranks {first} and {second} run on one slot, expected one process per slot")
    return where.select(pe[order]), order.astype(np.int64)
