"""One slot per GPU: the GPU and the hardware threads nearest to it."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.errors import InfeasibleError
from hopbytes.machines.base import Machine
from hopbytes.machines.selection.units import units_of
from hopbytes.machines.topology import NODE_NAMES


class GpuSlots(NamedTuple):
    """Rows of places, the GPU of each row, and how many places are in no slot.

    `starts` int64[k+1], `places` int64[...], `gpus` int32[k], counted on their node.
    """

    starts: Int64
    places: Int64
    gpus: Int32


def gpu_slots(machine: Machine, allowed: Int64, size: int) -> GpuSlots:
    """Cut places into one slot for each GPU.

    From the smallest units outwards, the free cores of a unit are divided in machine order among the GPUs
    that are attached to it, so that their numbers of cores differ by at most one. Nothing is divided beyond
    packages: the cores of a package without a GPU stay free. O(places x levels).
    """
    nodes, cores, everywhere = machine.node_of_core(), units_of(machine, "core"), _units_inside_out(machine)
    inventory = machine.inventory
    trees = [] if inventory is None else [inventory.tree(node) for node in range(inventory.n_nodes)]
    rows: list[tuple[Int64, int]] = []
    ends = np.searchsorted(nodes, np.arange(int(nodes[-1]) + 2)).tolist()
    known: dict[tuple[int, bytes], list[Int64]] = {}  # equal nodes are divided equally
    for node, (tree, (first, end)) in enumerate(zip(trees, pairwise(ends), strict=False)):
        if not tree.gpus:
            continue
        free = allowed[slice(*np.searchsorted(allowed, [first, end]))] - first
        if not len(free):  # a host that is not used
            continue
        units = [(units[first:end], beyond) for units, beyond in everywhere]
        dealt = known.get((id(tree), free.tobytes()))
        if dealt is None:
            near = [np.flatnonzero(np.isin(tree.os_pus, gpu.pus)) for gpu in tree.gpus]
            near = [places if len(places) else np.arange(end - first) for places in near]
            dealt = known[id(tree), free.tobytes()] = _deal(free, units, near)
        for gpu, places in zip(tree.gpus, dealt, strict=True):
            kept = _first_cores(cores, places + first, size) if size > 1 else places + first
            if kept is None or not len(kept):
                has = len(np.unique(units[0][0][places]))
                raise InfeasibleError(
                    f"GPU {gpu.index} of node {node} gets {has} of the free cores near it, "
                    f"expected {size} or more for each of {len(tree.gpus)} GPUs"
                )
            rows.append((kept, gpu.index))
    if not rows:
        raise InfeasibleError("no node with a GPU, expected some for slots per gpu (hwloc files list them)")
    rows.sort(key=lambda row: int(row[0][0]))
    starts = np.cumsum([0, *(len(places) for places, _ in rows)]).astype(np.int64)
    gpus = np.array([gpu for _, gpu in rows], np.int32)
    return GpuSlots(starts, np.concatenate([places for places, _ in rows]), gpus)


def _units_inside_out(machine: Machine) -> list[tuple[Int64, bool]]:
    """Units of every place, from cores to the whole node, and whether they lie beyond packages."""
    package = machine.level_named(("package",))
    node = machine.level_named(NODE_NAMES)
    inside = range(len(machine.levels) - 1, -1 if node is None else node, -1)
    found = [(units_of(machine, "core"), False)]
    for level in inside:
        found.append((machine.ancestors(level).astype(np.int64), package is not None and level < package))
    found.append((machine.node_of_core().astype(np.int64), package is not None))
    return found


def _deal(free: Int64, levels: list[tuple[Int64, bool]], near: list[Int64]) -> list[Int64]:
    """Places of each GPU; all numbers are counted on the node."""
    cores = levels[0][0]
    owner = np.full(len(cores), -1, np.int64)  # GPU of each place
    is_free = np.zeros(len(cores), np.bool_)
    is_free[free] = True
    for units, beyond in levels:
        for unit in np.unique(units):
            members = np.flatnonzero(units == unit)
            # GPUs whose surroundings lie inside this unit; one without known surroundings has the node.
            here = [g for g, places in enumerate(near) if np.all(units[places] == unit)]
            if beyond:
                here = [g for g in here if not np.any(owner == g)]
            left = members[is_free[members] & (owner[members] < 0)]
            if here and len(left):
                _deal_evenly(left, cores, here, owner)
    return [np.flatnonzero(owner == g) for g in range(len(near))]


def _deal_evenly(left: Int64, cores: Int64, gpus: list[int], owner: Int64) -> None:
    """Give whole cores, in order, so that the GPUs end with equal numbers as far as these cores allow."""
    heads = np.flatnonzero(np.diff(cores[left], prepend=-1))
    has = [len(np.unique(cores[owner == g])) for g in gpus]
    wanted = list(has)
    for _ in heads:  # the next core goes to whoever has fewest; then runs are dealt in order
        poorest = min(range(len(gpus)), key=lambda place: (wanted[place], place))
        wanted[poorest] += 1
    shares = np.array(wanted) - np.array(has)
    rank = np.cumsum(np.diff(cores[left], prepend=-1) != 0) - 1
    owner[left] = np.asarray(gpus)[np.searchsorted(np.cumsum(shares), rank, side="right")]


def _first_cores(core_of_place: Int64, places: Int64, size: int) -> Int64 | None:
    """Places of the first `size` cores; None when there are fewer."""
    rank = np.cumsum(np.diff(core_of_place[places], prepend=-1) != 0) - 1
    return places[rank < size] if len(places) and int(rank[-1]) + 1 >= size else None
