"""Bytes per level of the machine, and per number of hops, for several mappings of a pattern."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.cost.metrics.baselines import in_order
from hopbytes.cost.metrics.link_metrics import dilation_of
from hopbytes.cost.objectives.link_sums import endpoints_of, network_of
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.pictures.figures.comm_matrix import check_tasks

#: Names of levels in words, where that is more than an s behind the name.
PLURALS = {
    "switch": "switches", "box": "boxes", "chassis": "chassis", "l3": "L3 caches", "l2": "L2 caches",
    "numa": "NUMA domains", "pu": "hardware threads", "gpu": "GPUs",
}  # fmt: skip


@frozen(eq=False)
class LevelBytes:
    """Volume between units of each level, per mapping."""

    mappings: tuple[str, ...]  # names of the mappings, as given
    #: names of the levels, outermost first; the last is ``"same PE"``, for tasks that share one
    levels: tuple[str, ...]
    #: int64[mappings, levels]: Volume of the arcs whose PEs first differ at the level. Arcs of a task to
    #: itself are left out.
    volumes: Int64
    messages: Int64  # int64[mappings, levels]: Messages of the same arcs

    @property
    def labels(self) -> tuple[str, ...]:
        """The levels in words: ``"between nodes"``, ``"between cores"``, ``"inside one PE"``."""
        named = tuple(f"between {_plural(level)}" for level in self.levels[:-1])
        return (*named, "inside one PE")


@frozen(eq=False)
class HopHistogram:
    """Traffic by the number of hops (links of the shortest route), per mapping."""

    mappings: tuple[str, ...]
    #: int64[bars]: 0 for arcs that use no link; then every number of hops that occurs in some mapping,
    #: ascending
    hops: Int64
    #: int64[mappings, bars]: Arcs, their messages and their volume. Arcs of a task to itself are left out.
    flows: Int64
    messages: Int64  # int64[mappings, bars]
    volumes: Int64  # int64[mappings, bars]


def launcher_mapping(graph: CommGraph, mapping: Mapping, launcher: str = "fill") -> Mapping:
    """Return the launcher's own mapping, with which :func:`hopbytes.evaluate` compares `mapping`."""
    check_tasks(graph, mapping)
    return Mapping(in_order(graph, mapping, launcher), mapping.where, {"mapper": launcher})


def level_bytes(graph: CommGraph, mappings: Dictionary[str, Mapping]) -> LevelBytes:
    """Return the volume per level of the machine for several mappings of a pattern on one machine.

    >>> import hopbytes as hb
    >>> graph = hb.CommGraph.from_edges([0, 1], [1, 2], [5, 7], n=4)
    >>> where = hb.allocate("node:2 core:2")
    >>> found = level_bytes(graph, {"in order": hb.Mapping([0, 1, 2, 3], where)})
    >>> found.labels, found.volumes.tolist()
    (('between nodes', 'between cores', 'inside one PE'), [[7, 5, 0]])
    """
    found = [_by_level(graph, mapping) for mapping in mappings.values()]
    machine = next(iter(mappings.values())).where.machine
    names = tuple(level.name for level in machine.levels) or ("core",)
    volumes, messages = (np.array(part, np.int64) for part in zip(*found, strict=True))
    return LevelBytes(tuple(mappings), (*names, "same PE"), volumes, messages)


def _by_level(graph: CommGraph, mapping: Mapping) -> tuple[list[int], list[int]]:
    """Return volume and messages by the outermost level at which PEs differ, then those inside a PE."""
    check_tasks(graph, mapping)
    machine, sources = mapping.where.machine, graph.sources()
    volumes, messages = graph.arc_volumes(), graph.arc_messages()
    left = np.flatnonzero(sources != graph.targets)
    start, end = mapping.pe[sources[left]], mapping.pe[graph.targets[left]]
    found: tuple[list[int], list[int]] = [], []
    every = range(len(machine.levels)) if machine.levels else (None,)
    for level in every:
        unit = np.arange(mapping.where.k) if level is None else machine.ancestors(level)
        of_pe = unit if level is None else unit[mapping.where.first_core]
        apart = of_pe[start] != of_pe[end]
        found[0].append(int(volumes[left[apart]].sum()))
        found[1].append(int(messages[left[apart]].sum()))
        left, start, end = left[~apart], start[~apart], end[~apart]
    found[0].append(int(volumes[left].sum()))
    found[1].append(int(messages[left].sum()))
    return found


def hop_histogram(graph: CommGraph, mappings: Dictionary[str, Mapping]) -> HopHistogram:
    """Return the traffic by number of hops for several mappings on a machine with links.

    >>> import hopbytes as hb
    >>> graph = hb.CommGraph.from_edges([0, 0], [1, 2], [5, 7], n=4)
    >>> found = hop_histogram(graph, {"mine": hb.Mapping([0, 1, 2, 3], hb.allocate("torus:4"))})
    >>> found.hops.tolist(), found.volumes.tolist()
    ([0, 1, 2], [[0, 5, 7]])
    """
    rows = []
    for mapping in mappings.values():
        check_tasks(graph, mapping)
        network_of(mapping.where, "a histogram of hops")
        rows.append({one.hops: one for one in dilation_of(graph, mapping.where, mapping.pe)})
    hops = np.array(sorted({0, *(each for row in rows for each in row)}), np.int64)
    shape = (len(rows), len(hops))
    flows, messages, volumes = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for number, (row, mapping) in enumerate(zip(rows, mappings.values(), strict=True)):
        for place, each in enumerate(hops.tolist()):
            if each in row:
                flows[number, place] += row[each].flows
                messages[number, place] += row[each].messages
                volumes[number, place] += row[each].volume
        ends, sources = endpoints_of(mapping.where)[mapping.pe], graph.sources()
        inside = (ends[sources] == ends[graph.targets]) & (sources != graph.targets)
        flows[number, 0] += int(np.count_nonzero(inside))
        messages[number, 0] += int(graph.arc_messages()[inside].sum())
        volumes[number, 0] += int(graph.arc_volumes()[inside].sum())
    return HopHistogram(tuple(mappings), hops, flows, messages, volumes)


def _plural(level: str) -> str:
    return PLURALS.get(level, f"{level}s")
