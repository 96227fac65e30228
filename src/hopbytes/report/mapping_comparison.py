"""Two mappings of one pattern side by side: the report of ``hopbytes eval``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.cost.metrics.evaluation import evaluate
from hopbytes.cost.metrics.mapping_metrics import MappingMetrics
from hopbytes.errors import UnsupportedError
from hopbytes.model.mapping import Mapping
from hopbytes.solve.sides import PatternLike, pattern_side
from hopbytes.util.quantities import amount, number

#: Longest name of a mapping in the heading of a column.
LONGEST_NAME = 20


@frozen
class MappingComparison:
    """The metrics of two mappings, and the number of tasks whose PEs differ.

    Parameters
    ----------
    first, second : MappingMetrics
    tasks : int
    other_pe, other_node : int
        Tasks that are on another PE, and on another node.
    volume_is_bytes : bool
        False if the volumes of the source were scaled.
    slot : str
        What a PE is called in the text.
    """

    first: MappingMetrics
    second: MappingMetrics
    tasks: int
    other_pe: int
    other_node: int
    volume_is_bytes: bool
    slot: str = "PE"

    def __str__(self) -> str:
        """Return the table."""
        return self.text("first", "second")

    def to_dict(self) -> dict[str, Any]:
        """Return exact numbers for JSON."""
        return {
            "tasks": self.tasks,
            "tasks_on_another_pe": self.other_pe,
            "tasks_on_another_node": self.other_node,
            "mapping": self.first.to_dict(),
            "other": self.second.to_dict(),
        }

    def text(self, first: str, second: str) -> str:
        """Return the table; `first` and `second` are the names of the mappings."""
        heads = [name if len(name) <= LONGEST_NAME else os.path.basename(name)[-LONGEST_NAME:]
                 for name in (first, second)]  # fmt: skip
        table = [("", *heads, "change"), *self._rows()]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = []
        for label, *cells in table:
            aligned = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
            lines.append("  ".join([label.ljust(widths[0]), *aligned]).rstrip())
        moved = f"{self.other_pe:,} of {self.tasks:,} tasks are on another {self.slot}"
        return "\n".join([*lines, f"{moved}, {self.other_node:,} on another node"])

    def _rows(self) -> list[tuple[str, str, str, str]]:
        volume: Callable[[float], str] = amount if self.volume_is_bytes else number
        found = [self._row("communication cost J", lambda one: one.comm_cost, number)]
        if self.first.traffic is not None and self.second.traffic is not None:
            for label, name, show in (
                ("volume between nodes", "inter_node_volume", volume),
                ("messages between nodes", "inter_node_messages", number),
                ("most received by a node", "max_node_receive_volume", volume),
            ):
                found.append(self._row(label, _picker("traffic", name), show))
        if self.first.links is not None and self.second.links is not None:
            for label, name in (("hop-bytes", "hop_bytes"), ("highest congestion", "max_congestion")):
                found.append(self._row(label, _picker("links", name), number))
        found.append(self._row("mean distance by volume", lambda one: one.weighted_mean_distance, number))
        found.append(self._row(f"most tasks on a {self.slot}", lambda one: one.max_tasks_per_pe, number))
        for place, level in enumerate(self.first.levels):
            label = f"volume at {level.name} (distance {level.distance})"
            found.append(self._row(label, _volume_at(place), volume))
        return found

    def _row(
        self, label: str, pick: Callable[[MappingMetrics], float], show: Callable[[float], str]
    ) -> tuple[str, str, str, str]:
        one, other = pick(self.first), pick(self.second)
        change = f"{other / one - 1:+.1%}".replace("%", " %") if one and other != one else ""
        return label, show(one), show(other), change


def _picker(part: str, name: str) -> Callable[[MappingMetrics], float]:
    return lambda one: float(getattr(getattr(one, part), name))


def _volume_at(place: int) -> Callable[[MappingMetrics], float]:
    return lambda one: one.levels[place].volume


def compare(graph: PatternLike, first: Mapping, second: Mapping) -> MappingComparison:
    """Measure two mappings of a pattern on the same machine.

    Parameters
    ----------
    graph : CommGraph, or what :func:`hopbytes.map_tasks` takes for one
    first, second : Mapping

    Returns
    -------
    MappingComparison
        ``print`` shows it as a table; ``to_dict()`` has the numbers.

    Raises
    ------
    UnsupportedError
        The mappings are on different machines.

    Notes
    -----
    O(n + m) each.

    Examples
    --------
    >>> import hopbytes as hb
    >>> where = hb.allocate("node:2@10 core:2@1")
    >>> one, other = hb.Mapping([0, 1, 2, 3], where), hb.Mapping([0, 2, 1, 3], where)
    >>> hb.compare("stencil:4x1", one, other).other_node
    2
    """
    graph = pattern_side(graph)
    machines = [mapping.where.machine.spec() for mapping in (first, second)]
    if machines[0] != machines[1] or first.where.k != second.where.k:
        raise UnsupportedError(
            f"the mappings are on different machines ({machines[0]} and {machines[1]}), expected one machine"
        )
    measured = [evaluate(graph, mapping, baselines=False) for mapping in (first, second)]
    nodes = [mapping.where.node_of_pe[mapping.pe] for mapping in (first, second)]
    return MappingComparison(
        measured[0].mapping,
        measured[1].mapping,
        graph.n,
        int(np.count_nonzero(first.pe != second.pe)),
        int(np.count_nonzero(nodes[0] != nodes[1])),
        graph.scale == 1,
    )
