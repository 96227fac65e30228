"""Descriptions of a machine and of an allocation, for people and for programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.machines.allocate.units import units_of
from hopbytes.model.allocation import Allocation
from hopbytes.pictures.boxes import boxes_of, drawing
from hopbytes.report.network_text import network_facts, network_lines

MAX_HOSTS_SHOWN = 8
MAX_NODES_DRAWN = 4
HARDWARE = {"packages": "package", "numa": "memory node", "pus": "hardware thread", "gpus": "GPU"}


def machine_facts(where: Allocation) -> dict[str, Any]:
    """Return the facts of :func:`machine_text` with keys for JSON.

    >>> import hopbytes as hb
    >>> facts = machine_facts(hb.allocate("node:2@10 core:[3,4]@1", exclude="core=0"))
    >>> facts["spec"], facts["pes"], facts["cores"], facts["pes_per_node"]
    ('node:2@10 core:[3,4]@1', 5, 7, [2, 3])
    """
    machine = where.machine
    per_node = np.bincount(where.node_of_pe)
    facts: dict[str, Any] = {
        "spec": machine.spec(),
        "kind": type(machine).__name__.lower(),
        "pes": where.k,
        **_cores(where),
        "nodes": int(machine.node_of_core()[-1]) + 1,
        "pes_per_node": _range(per_node[per_node > 0]),
        "hosts": list(where.hosts),
        "levels": _levels(where),
    }
    if not facts["levels"]:
        apart = machine.distance().matrix()[~np.eye(machine.n_cores, dtype=bool)]
        facts["distances"] = _range(apart) if len(apart) else [0, 0]
    facts |= _hardware(where) | network_facts(where)
    facts["notices"] = list(where.notices)
    return facts


def _cores(where: Allocation) -> dict[str, Any]:
    """Count all cores, those in slots and those per PE; places that are threads of one core count once."""
    core = units_of(where.machine, "core")
    owner = np.repeat(np.arange(where.k), np.diff(where.core_start))
    used = core[where.cores]
    # Cores ascend with the places, in all and in every slot; sorting 2**24 of them is faster than hashing.
    new = (np.diff(owner, prepend=-1) != 0) | (np.diff(used, prepend=-1) != 0)
    return {
        "cores": _distinct(core),
        "cores_in_slots": _distinct(used),
        "cores_per_pe": _range(np.bincount(owner[new])),
    }


def _distinct(numbers: Int64) -> int:
    return int(np.count_nonzero(np.diff(np.sort(numbers)))) + 1


def _hardware(where: Allocation) -> dict[str, Any]:
    """Return sums over nodes whose trees are known; empty if they are unknown."""
    inventory = where.machine.inventory
    if inventory is None:
        return {}
    trees = [inventory.tree(node) for node in range(inventory.n_nodes)]
    facts = [tree.facts() for tree in trees]
    sums = {name: sum(each[name] for each in facts) for name in ("pus", "packages", "numa", "gpus")}
    barred = sum(tree.numa_barred for tree in trees)
    return sums | ({"numa_allowed": sums["numa"] - barred} if barred else {})


def machine_text(where: Allocation) -> str:
    """Return a description for people; the first line's spec parses to the same machine.

    >>> import hopbytes as hb
    >>> print(machine_text(hb.allocate("node:2@10 core:[3,4]@1")))
    machine    node:2@10 core:[3,4]@1
    cores      7, 3-4 per node
    nodes      2
    <BLANKLINE>
    level  units  in use  per outer unit  distance
    node       2       2               2        10
    core       7       7             3-4         1
    """
    facts = machine_facts(where)
    idle = facts["cores"] - facts["cores_in_slots"]
    each, per_node = facts["cores_per_pe"], f"{_span(facts['pes_per_node'])} per node"
    unit, slot = "core" if where.has_cores else "GPU", where.slot_word
    if slot == unit:
        lines = [f"{unit + 's':9}  {facts['pes']}, {per_node}" + (f", {idle} not in use" if idle else "")]
    else:
        lines = [
            f"{slot + 's':9}  {facts['pes']}, {_span(each)} {unit}{'s' * (each != [1, 1])} each, {per_node}",
            f"{unit + 's':9}  {facts['cores']}, " + (f"{idle} not in use" if idle else "all in use"),
        ]
    lines = [
        f"machine    {facts['spec']}",
        *lines,
        f"nodes      {facts['nodes']}" + _host_names(facts["hosts"]),
    ]
    if "pus" in facts:
        counts = [(facts[key], word) for key, word in HARDWARE.items() if facts[key]]
        words = ", ".join(f"{count} {word}{'s' * (count > 1)}" for count, word in counts)
        if "numa_allowed" in facts:
            words = words.replace("memory nodes", f"memory nodes ({facts['numa_allowed']} allowed)")
        lines.append(f"hardware   {words}")
    if "distances" in facts:
        lines.append(f"distances  {_span(facts['distances'])}")
    lines += network_lines(facts)
    lines += [f"notice     {notice}" for notice in facts["notices"]]
    return "\n".join([*lines, *_level_table(facts["levels"]), *_drawings(where, facts)])


def _drawings(where: Allocation, facts: dict[str, Any]) -> list[str]:
    """Return the trees of distinct nodes, if they are known."""
    if "pus" not in facts:
        return []
    drawn = boxes_of(where)
    lines = [line for boxed in drawn[:MAX_NODES_DRAWN] for line in ["", *drawing(boxed)]]
    more = len(drawn) - MAX_NODES_DRAWN
    return [*lines, *([f"… {more} more kinds of nodes"] if more > 0 else [])]


def _levels(where: Allocation) -> list[dict[str, Any]]:
    machine, outer, rows = where.machine, np.zeros(where.machine.n_cores, np.int64), []
    for index, level in enumerate(machine.levels):
        units = machine.ancestors(index).astype(np.int64)
        heads = np.flatnonzero(np.diff(units, prepend=-1))
        rows.append(
            {
                "name": level.name,
                "units": int(units[-1]) + 1,
                "units_in_use": int(np.count_nonzero(np.bincount(units[where.cores]))),
                "children": _range(np.bincount(outer[heads])),
                "distance": level.distance,
                "bandwidth": level.bandwidth,
                "latency": level.latency,
            }
        )
        outer = units
    return rows


def _level_table(levels: list[dict[str, Any]]) -> list[str]:
    if not levels:
        return []
    columns = [
        ["level", *(level["name"] for level in levels)],
        ["units", *(str(level["units"]) for level in levels)],
        ["in use", *(str(level["units_in_use"]) for level in levels)],
        ["per outer unit", *(_span(level["children"]) for level in levels)],
        ["distance", *(str(level["distance"]) for level in levels)],
    ]
    for key in ("bandwidth", "latency"):
        if any(level[key] is not None for level in levels):
            columns.append([key, *("" if level[key] is None else f"{level[key]:g}" for level in levels)])
    widths = [max(map(len, column)) for column in columns]
    rows = zip(*columns, strict=True)
    return [
        "",
        *(
            "  ".join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ),
    ]


def _host_names(hosts: list[str]) -> str:
    if not hosts:
        return ""
    more = f", … {len(hosts) - MAX_HOSTS_SHOWN} more" if len(hosts) > MAX_HOSTS_SHOWN else ""
    return f" ({', '.join(hosts[:MAX_HOSTS_SHOWN])}{more})"


def _range(numbers: np.ndarray[Any, np.dtype[Any]]) -> list[int]:
    return [int(numbers.min()), int(numbers.max())]


def _span(pair: list[int]) -> str:
    return str(pair[0]) if pair[0] == pair[1] else f"{pair[0]}-{pair[1]}"
