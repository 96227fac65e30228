"""The tasks of every node of a mapping, in a few lines."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.model.mapping import Mapping
from hopbytes.report.layout import width

#: Number of nodes that are listed by default.
MOST_NODES = 64


def ranks_per_node(mapping: Mapping, columns: int | None = None, nodes: int = MOST_NODES) -> list[str]:
    """Return a line per node in use: its name and its ranks (tasks of a partition).

    >>> import hopbytes as hb
    >>> pattern, where = hb.read("stencil:8"), hb.allocate("node:2@10 core:4@1", hosts="n[1-2]")
    >>> print("\\n".join(ranks_per_node(hb.map_tasks(pattern, where, "identity"), 60)))
    n1: ranks 0-3
    n2: ranks 4-7
    """
    columns = columns or width()
    where, word = mapping.where, "ranks" if mapping.info.get("problem") == "processes" else "tasks"
    node = np.asarray(where.node_of_pe)[mapping.pe]
    order = np.argsort(node, kind="stable")
    used, first = np.unique(node[order], return_index=True)
    ends = [*first[1:].tolist(), len(order)]
    lines = []
    for place, (number, begin, end) in enumerate(zip(used.tolist(), first.tolist(), ends, strict=True)):
        if place == nodes:
            lines.append(f"… and {len(used) - nodes:,} more nodes")
            break
        name = where.hosts[number] if where.hosts else f"node {number}"
        lines.append(_fitting(f"{name}: {word} ", order[begin:end], columns))
    return lines


def ranges(numbers: Int64) -> list[str]:
    """Return ascending numbers as ranges.

    >>> ranges(np.array([0, 1, 2, 5, 7, 8]))
    ['0-2', '5', '7-8']
    """
    starts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 2) != 1)
    ends = np.append(starts[1:], len(numbers)) - 1
    pairs = zip(numbers[starts].tolist(), numbers[ends].tolist(), strict=True)
    return [str(low) if low == high else f"{low}-{high}" for low, high in pairs]


def _fitting(head: str, tasks: Int64, columns: int) -> str:
    """Return as many ranges as fit, and the number of tasks if some do not fit."""
    words = ranges(tasks)
    text = head + ",".join(words)
    if len(text) <= columns:
        return text
    tail = f",… ({len(tasks):,} in all)"
    room, kept = columns - len(head) - len(tail), 0
    while kept < len(words) and (room := room - len(words[kept]) - 1) >= -1:
        kept += 1
    return head + ",".join(words[: max(1, kept)]) + tail
