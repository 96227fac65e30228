"""Renumbering slots inside nodes: exchanging equal subtrees changes no distance."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.machines.base import NODE_NAMES
from hopbytes.model.mapping import Mapping

Shape = tuple[object, ...] | int
Held = tuple[int, ...]


def renumbered(mapping: Mapping) -> Int32:
    """Return int32[n], a mapping of the same cost in which nodes with equal groups use the same slots.

    Within every unit of a node, children of the same shape are sorted by the lowest task that they hold.
    Tasks that share a unit still share it, so every distance and every metric stays the same; two nodes that
    group their tasks in the same way (by rank within the node) get the same slots. A mapping to a machine
    without named levels is returned unchanged. O(n log n + k * levels).
    """
    machine, where = mapping.where.machine, mapping.where
    if not machine.levels:
        return mapping.pe
    node_level = machine.level_named(NODE_NAMES)
    start = 0 if node_level is None else node_level + 1
    units = [machine.ancestors(level)[where.first_core] for level in range(start, len(machine.levels))]
    holds: list[list[int]] = [[] for _ in range(where.k)]
    for task, pe in enumerate(mapping.pe.tolist()):
        holds[pe].append(task)
    result: Int32 = mapping.pe.copy()
    boundaries = np.flatnonzero(np.diff(where.node_of_pe)) + 1
    for pes in np.split(np.arange(where.k), boundaries):
        _, arranged = _arrange(pes.tolist(), [unit.tolist() for unit in units], holds, mapping)
        for pe, tasks in zip(pes.tolist(), arranged, strict=True):
            result[list(tasks)] = pe
    return result


def _arrange(
    pes: list[int], units: list[list[int]], holds: list[list[int]], mapping: Mapping
) -> tuple[Shape, list[Held]]:
    """Return the shape of a unit, and the tasks of each of its PEs after its children were sorted."""
    if not units:
        gpus = mapping.where.gpus
        carry = [gpus is not None and int(gpus[pe]) >= 0 for pe in pes]
        sizes = tuple((len(mapping.where.cores_of(pe)), own) for pe, own in zip(pes, carry, strict=True))
        return sizes, [tuple(holds[pe]) for pe in pes]
    children: dict[int, list[int]] = {}
    for pe in pes:
        children.setdefault(units[0][pe], []).append(pe)
    parts = [_arrange(part, units[1:], holds, mapping) for part in children.values()]
    waiting: dict[Shape, list[list[Held]]] = {}
    for shape, held in parts:
        waiting.setdefault(shape, []).append(held)
    for alike in waiting.values():
        alike.sort(key=_lowest_task, reverse=True)  # the lowest is at the end, where pop() takes it
    arranged = [held for shape, _ in parts for held in waiting[shape].pop()]
    return tuple(shape for shape, _ in parts), arranged


def _lowest_task(held: list[Held]) -> float:
    return min((tasks[0] for tasks in held if tasks), default=float("inf"))
