"""Links of a machine of levels: every unit down to the nodes has one link up and one link down."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Float64, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.kernels.routes import Routes
from hopbytes.machines.base import Level
from hopbytes.model.allocation import Allocation
from hopbytes.simulation.assumed_speeds import Speeds, missing


@frozen(eq=False)
class TreeLinks:
    """Links of units from the outermost level down to the nodes.

    Two nodes that first differ at a level are joined by the links up from the first node to its unit of
    that level, then by those down to the second node.
    """

    capacity: Float64
    latency: Float64
    #: unit of every node at each level, outermost first; at the last level the nodes themselves
    units: list[Int64]
    names: list[str]
    #: number of the first link up of each level; the links down follow those up, in the same order
    up: list[int]
    #: like `up`, for the links by which single nodes leave units of a level whose bandwidth between two nodes
    #: is below that of the levels inside; -1 where there are none
    thin: list[int]
    hosts: tuple[str, ...]
    notices: tuple[str, ...]

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.units[-1])

    @property
    def first_node_up(self) -> int:
        """Number of the link up of node 0."""
        return self.up[-1]

    def name_link(self, link: int) -> str:
        """Name of a link: ``node n3 up``, ``island 2 down``, ``node n3 out of island``."""
        for level in range(len(self.up)):
            count = int(self.units[level].max()) + 1
            for first, number, ways in (
                (self.up[level], count, ("up", "down")),
                (self.thin[level], self.nodes, (f"out of {self.names[level]}", f"into {self.names[level]}")),
            ):
                if first >= 0 and first <= link < first + 2 * number:
                    way, unit = divmod(link - first, number)
                    of_node = number == self.nodes and (first != self.up[level] or level == len(self.up) - 1)
                    kind = self.names[-1] if of_node else self.names[level]
                    return f"{kind} {self.hosts[unit] if of_node and self.hosts else unit} {ways[way]}"
        return f"link {link}"

    def routes(self, sources: Int32, targets: Int32) -> Routes:
        """Return the links between nodes; O(pairs x levels)."""
        steps: list[Int64] = []
        apart = np.zeros(len(sources), bool)
        for level, unit in enumerate(self.units):
            apart = apart | (unit[sources] != unit[targets])
            count = int(unit.max()) + 1
            ways = [(self.up[level], unit[sources], unit[targets], count)]
            if self.thin[level] >= 0:
                ways.append((self.thin[level], np.asarray(sources), np.asarray(targets), self.nodes))
            for first, leaving, entering, number in ways:
                steps.insert(0, np.where(apart, first + leaving, -1))
                steps.append(np.where(apart, first + number + entering, -1))
        table = np.stack(steps, axis=1) if steps else np.empty((len(sources), 0), np.int64)
        used = table >= 0
        start = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64)
        return Routes(start, table[used].astype(np.int64), None, None)


def tree_links(
    where: Allocation, node_level: int, speeds: Speeds | None, oversubscription: float
) -> TreeLinks:
    """Return the links of a machine of levels.

    The bandwidth and the latency of a level are those between two processes that first differ there, as
    ``hopbytes measure`` finds them. A node sends all it sends between nodes at the bandwidth of its level.
    A unit above the nodes sends as much as its nodes together, divided by `oversubscription`.
    """
    machine = where.machine
    cores = machine.node_of_core()
    first_core = np.searchsorted(cores, np.arange(int(cores.max()) + 1))
    levels = machine.levels[: node_level + 1]
    units = [machine.ancestors(number)[first_core].astype(np.int64) for number in range(len(levels))]
    bandwidths, latencies, notices = _speeds_of(levels, speeds)
    capacity: list[Float64] = []
    latency: list[Float64] = []
    up, thin, count = [], [], 0
    for number, unit in enumerate(units):
        held = np.bincount(unit).astype(np.float64)
        innermost = number == node_level
        share = np.ones(len(held)) if innermost else held / oversubscription
        inner = bandwidths[number] if innermost else min(bandwidths[number:])
        more = latencies[number] - (0.0 if innermost else latencies[number + 1])
        up.append(count)
        capacity += [share * inner] * 2
        latency += [np.full(len(held), max(0.0, more) / 2)] * 2
        count += 2 * len(held)
        thinner = not innermost and bandwidths[number] < min(bandwidths[number + 1 :])
        thin.append(count if thinner else -1)
        if thinner:
            capacity += [np.full(len(unit), bandwidths[number])] * 2
            latency += [np.zeros(len(unit))] * 2
            count += 2 * len(unit)
    if node_level and oversubscription != 1:
        notices.append(f"units above the nodes send 1/{oversubscription:g} of what their nodes could send")
    elif node_level:
        notices.append("units above the nodes send as much as their nodes together (`oversubscription`)")
    return TreeLinks(
        np.concatenate(capacity), np.concatenate(latency), units, [level.name for level in levels], up, thin,
        where.hosts, tuple(notices),
    )  # fmt: skip


def _speeds_of(
    levels: tuple[Level, ...], speeds: Speeds | None
) -> tuple[list[float], list[float], list[str]]:
    """Return bytes per second and seconds of every level, outermost first, and what was assumed."""
    bandwidths: list[float] = []
    latencies: list[float] = []
    without: dict[str, list[str]] = {"bandwidth": [], "latency": []}
    for level in reversed(levels):
        for name, found in (("bandwidth", level.bandwidth), ("latency", level.latency)):
            if found is None:
                without[name].append(level.name)
                if speeds is None:
                    raise missing(f"{name} of level {level.name}")
        at = speeds
        usual = (0.0, 0.0) if at is None else (at.bandwidth, at.message + 2 * at.hop)
        if bandwidths and at is not None:
            usual = bandwidths[-1], latencies[-1] + 2 * at.hop
        bandwidths.append(usual[0] if level.bandwidth is None else level.bandwidth)
        latencies.append(usual[1] if level.latency is None else level.latency)
    notices = []
    if speeds is not None and (without["bandwidth"] or without["latency"]):
        what = " and ".join(f"no {name} of {', '.join(names)}" for name, names in without.items() if names)
        used = f"{bandwidths[0] / 1e9:g} GB/s, {latencies[0] * 1e6:g} us between nodes"
        notices.append(f"the machine has {what}: {speeds.name} is assumed, {used} (`assume` sets it)")
    return bandwidths[::-1], latencies[::-1], notices
