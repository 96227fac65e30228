"""Which PEs fewer tasks than slots use, and how many tasks each gets when there are more."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import FormatError, InfeasibleError
from hopbytes.machines.allocate.units import rank_in_runs, units_of
from hopbytes.machines.base import NODE_NAMES
from hopbytes.model.allocation import Allocation, SlotUse


def spread(where: Allocation, n: int, use: SlotUse | None = None) -> Int64:
    """Choose the PEs that n tasks use, one task each.

    O(k log k x levels). The PEs chosen for n are among those chosen for n + 1, and what is chosen by
    default is even over nested levels: at every level units take turns.

    >>> import hopbytes as hb
    >>> spread(hb.allocate("node:2 package:2 core:4"), 6).tolist()
    [0, 1, 4, 8, 9, 12]
    """
    if n < 0:
        raise FormatError("tasks", None, f"{n} tasks, expected an integer >= 0")
    if n > where.k:
        raise InfeasibleError(
            f"{n} tasks on {where.k} slots, expected at most {where.k}; `oversubscribe=True` puts several "
            "on one"
        )
    use = SlotUse() if use is None else use
    limits = _limits(use.tasks_per)
    if use.tasks_per_node is not None:
        limits["node"] = use.tasks_per_node
    if limits:
        return _hard_counts(where, n, limits)
    if use.pack or n == where.k:
        return np.arange(n, dtype=np.int64)
    chosen = None if use.spread else _as_the_job_asked(where, n)
    if chosen is not None:
        return chosen
    rank = _turns(_units_inside(where, np.arange(where.k)))
    return np.flatnonzero(rank < n)


def asked_by_job(where: Allocation, n: int) -> bool:
    """Whether the job says how many tasks every node gets, and it is `n` in all."""
    return where.tasks_of_nodes is not None and int(where.tasks_of_nodes.sum()) == n


def _as_the_job_asked(where: Allocation, n: int) -> Int64 | None:
    """Return as many PEs of every node as its job asked for; None when that is not n in all."""
    tasks = where.tasks_of_nodes
    if tasks is None or not asked_by_job(where, n):
        return None
    node = where.node_of_pe.astype(np.int64)
    rank = _turns([node, *_units_inside(where, np.arange(where.k))], inside=1)
    chosen = np.flatnonzero(rank < tasks[node])
    return chosen if len(chosen) == n else None


def even_counts(where: Allocation, n: int) -> Int64:
    """Return int64[k]: tasks per PE, floor(n/k) or ceil(n/k), the larger ones spread evenly."""
    counts = np.full(where.k, n // where.k, np.int64)
    counts[spread(where, n % where.k)] += 1
    return counts


def _limits(tasks_per: str | Mapping[str, int] | None) -> dict[str, int]:
    if tasks_per is None:
        return {}
    if isinstance(tasks_per, Mapping):
        return dict(tasks_per)
    if not isinstance(tasks_per, str):
        what = f"{tasks_per!r}, expected LEVEL=COUNT like l3=2, or a dictionary of such"
        raise FormatError("`tasks_per`", None, what)
    name, _, count = (word.strip() for word in tasks_per.partition("="))
    if not (count.isascii() and count.isdigit() and len(count) < 10):
        raise FormatError("`tasks_per`", None, f"{tasks_per[:40]!r}, expected LEVEL=COUNT like l3=2")
    return {name: int(count)}


def _hard_counts(where: Allocation, n: int, limits: dict[str, int]) -> Int64:
    """Choose n PEs so that each unit in use has exactly its limit, except in the last outermost one."""
    owners = {}
    for name, count in limits.items():
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise FormatError("`tasks_per`", None, f"{name}={count}, expected a count >= 1")
        owners[name] = units_of(where.machine, name)[where.first_core]
    names = sorted(limits, key=lambda name: -len(np.unique(owners[name])))  # innermost first
    pes = np.arange(where.k, dtype=np.int64)
    for name in names:
        pes = np.sort(pes)
        owner = owners[name][pes]
        rank = _turns([owner, *_units_inside(where, pes, name)], inside=1)
        order = np.lexsort((rank, owner))  # unit after unit, turns inside each
        pes = pes[order[rank[order] < limits[name]]]
    if n > len(pes):
        bounds = ", ".join(f"{count} per {name}" for name, count in limits.items())
        raise InfeasibleError(f"{n} tasks, but {bounds} leaves {len(pes)} of {where.k} slots")
    chosen = np.sort(pes[:n])
    outermost = owners[names[-1]][chosen]
    complete = chosen[outermost != outermost.max(initial=-1)]
    for name in names:
        units, counts = np.unique(owners[name][complete], return_counts=True)
        wrong = np.flatnonzero(counts != limits[name])
        if len(wrong):
            raise InfeasibleError(
                f"{name} {units[wrong[0]]} can take {counts[wrong[0]]} of the {limits[name]} tasks "
                f"that each {name} shall get"
            )
    return chosen


def _units_inside(where: Allocation, pes: Int64, name: str | None = None) -> list[Int64]:
    """Per level inside the one called `name` (None: from nodes inwards): unit of each of the PEs."""
    machine, cores = where.machine, where.first_core[pes]
    if not machine.levels:  # only distances show which PEs are near each other
        return [grouping[pes].astype(np.int64) for grouping in where.groups()] if name != "core" else []
    if name is None:
        start = machine.level_named(NODE_NAMES) or 0
    else:
        level = machine.level_named(NODE_NAMES if name in NODE_NAMES else (name,))
        start = len(machine.levels) if name == "core" else 0 if level is None else level + 1
    return [machine.ancestors(level)[cores].astype(np.int64) for level in range(start, len(machine.levels))]


def _turns(units: list[Int64], inside: int = 0) -> Int64:
    """Order PEs so that at every level units take turns."""
    k = len(units[0])
    rank = np.zeros(k, np.int64)
    levels = [np.zeros(k, np.int64), *units, np.arange(k, dtype=np.int64)]
    for depth in range(len(levels) - 2, inside - 1, -1):
        parent, child = levels[depth], levels[depth + 1]
        order = np.lexsort((child, rank, parent))
        rank[order] = rank_in_runs(parent[order])
    return rank
