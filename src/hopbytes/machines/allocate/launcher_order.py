"""Where launchers put tasks by default, as a mapping that can be evaluated like any other."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import InfeasibleError, UnsupportedError
from hopbytes.machines.allocate.slot_counts import asked_by_job, even_counts
from hopbytes.machines.allocate.slot_counts import spread as chosen_slots
from hopbytes.machines.base import NODE_NAMES
from hopbytes.model.allocation import Allocation, SlotUse
from hopbytes.model.mapping import Mapping

#: Orders that fill a node before they go on to the next.
FILLING = ("fill", "socket")
#: ``plane=N`` with a bounded number of tasks in a turn.
PLANE = re.compile(r"plane=([1-9][0-9]{0,8})", re.ASCII)


def launcher_placement(where: Allocation, n: int, order: str, use: SlotUse | None = None) -> Mapping:
    """Return the mapping that a launcher makes by default, on the slots that `use` selects.

    A level behind a colon takes turns inside nodes: ``cyclic:package`` deals tasks to the nodes, and those of
    a node to its packages.

    >>> import hopbytes as hb
    >>> launcher_placement(hb.allocate("node:2 package:2 core:2"), 8, "cyclic:package").pe.tolist()
    [0, 4, 2, 6, 1, 5, 3, 7]
    """
    use = SlotUse() if use is None else use
    name, _, inside = order.removeprefix("default:").partition(":")
    in_a_turn = _in_a_turn(name)
    if n <= where.k:
        fills = name in FILLING and not (use.spread or asked_by_job(where, n))
        filled = use.pack or (fills and not use.counted)
        slots = chosen_slots(where, n, replace(use, pack=filled))
        if filled and not use.pack:
            slots = _filled_as_asked(where, n, slots)
        if use.tasks_per is None:
            slots = _first_of_nodes(where, slots)
    elif use.oversubscribe:
        slots = np.repeat(np.arange(where.k), even_counts(where, n))
    else:
        raise InfeasibleError(f"{n} tasks for {where.k} slots, expected one each (or oversubscribe)")
    if inside or name == "socket":
        slots = _dealt_inside_nodes(where, slots, inside)
    if in_a_turn is not None and n:
        node = where.node_of_pe[slots].astype(np.int64)
        place = np.arange(n) - np.searchsorted(node, node)  # within the node
        turn = place // in_a_turn
        back = (name == "folded") & (turn % 2 == 1)
        slots = slots[np.lexsort((place, np.where(back, -node, node), turn))]
    info = {"problem": "processes", "mapper": order}
    return Mapping(slots.astype(np.int32), where, info)


def _filled_as_asked(where: Allocation, n: int, slots: Int64) -> Int64:
    """Let no node get more tasks than its job gives it slots, where these are enough for all tasks."""
    tasks = where.tasks_of_nodes
    if tasks is None or n >= int(tasks.sum()):
        return slots
    node = where.node_of_pe.astype(np.int64)
    place = np.arange(where.k) - np.searchsorted(node, node)  # within the node
    allowed = np.flatnonzero(place < tasks[node])
    return allowed[:n] if len(allowed) >= n else slots


def _first_of_nodes(where: Allocation, slots: Int64) -> Int64:
    """Return as many PEs of every node, but its first ones: launchers use cores in order."""
    nodes, counts = np.unique(where.node_of_pe[slots], return_counts=True)
    first = np.searchsorted(where.node_of_pe, nodes)
    ranges = [np.arange(a, a + count) for a, count in zip(first, counts, strict=True)]
    return np.concatenate(ranges).astype(np.int64) if ranges else slots


def _dealt_inside_nodes(where: Allocation, slots: Int64, inside: str = "") -> Int64:
    """Let the units of a level, by default the outermost inside a node, take turns among PEs of the node."""
    machine = where.machine
    node_level = machine.level_named(NODE_NAMES)
    level = 0 if node_level is None else node_level + 1
    if inside:
        named = machine.level_named((inside,))
        if named is None or named < level:
            raise UnsupportedError(f"order {inside[:40]!r} inside nodes, expected a level inside nodes")
        level = named
    if level >= len(machine.levels):
        return slots
    node = where.node_of_pe[slots]
    unit = machine.ancestors(level)[where.first_core[slots]]
    by_unit = np.argsort(unit, kind="stable")
    place = np.empty(len(slots), np.int64)  # within the unit
    place[by_unit] = np.arange(len(slots)) - np.searchsorted(unit[by_unit], unit[by_unit])
    return slots[np.lexsort((unit, place, node))]


def _in_a_turn(name: str) -> int | None:
    """Return how many tasks a node takes before it is the next one's turn; None: all."""
    if name in ("block", *FILLING):
        return None
    if name in ("cyclic", "bynode", "folded"):
        return 1
    plane = PLANE.fullmatch(name)
    if plane is None:
        known = "fill, block, cyclic, bynode, folded, socket or plane=N, with :LEVEL or without"
        raise UnsupportedError(f"order {name[:40]!r}, expected {known}")
    return int(plane[1])
