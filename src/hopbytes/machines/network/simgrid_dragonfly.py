"""The dragonfly clusters of SimGrid: groups of chassis of blades, with the routes that SimGrid gives them."""

from __future__ import annotations

import re

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import FormatError
from hopbytes.fabrics.simgrid_platform import Cluster
from hopbytes.kernels.routes import RouteForm
from hopbytes.machines.network.network import Network

PARAMETERS = re.compile(
    r"([1-9][0-9]{0,5}),([1-9][0-9]{0,5});([1-9][0-9]{0,5}),([1-9][0-9]{0,5});"
    r"([1-9][0-9]{0,5}),([1-9][0-9]{0,5});([1-9][0-9]{0,5})",
    re.ASCII,
)
#: Links of the longest route: the host's, blade, chassis, group, blade, chassis, the host's.
LONGEST = 7


class DragonflyCluster:
    """A cluster with ``topo_parameters`` like ``3,4;4,3;5,1;2``.

    Three groups, four chassis in each, five blades in each, two hosts at each blade; and how many cables are
    one link between groups, chassis and blades. Blades of a chassis are linked all to all, equal blades of
    the chassis of a group too, and blade j of the first chassis of group i leads to group j.
    """

    def __init__(self, path: str, cluster: Cluster, most: int) -> None:
        found = PARAMETERS.fullmatch(cluster.parameters.replace(" ", ""))
        if found is None:
            what = f"topo_parameters {cluster.parameters[:30]!r}, expected '3,4;4,3;5,1;2' of a DRAGONFLY"
            raise FormatError(path, cluster.line, what)
        groups, self.blue, chassis, self.black, blades, self.green, nodes = map(int, found.groups())
        size = groups * chassis * blades * nodes
        if size != len(cluster.hosts):
            what = f"{len(cluster.hosts)} hosts, expected {size} of this dragonfly"
            raise FormatError(path, cluster.line, what)
        if groups > blades:
            what = f"{groups} groups with {blades} blades in a chassis, expected a blade for every group"
            raise FormatError(path, cluster.line, what)
        if len(cluster.hosts) > most:
            raise FormatError(path, cluster.line, f"{len(cluster.hosts)} hosts, expected at most {most}")
        self.sizes = groups, chassis, blades, nodes
        self.cluster = cluster
        self.names: list[str] = []
        self.capacity: list[int] = []

    def zones(self) -> tuple[tuple[int, ...], ...]:
        """Group, chassis and blade of every host, each numbered over the whole cluster."""
        hosts = np.arange(len(self.cluster.hosts))
        _, chassis, blades, nodes = self.sizes
        per = (chassis * blades * nodes, blades * nodes, nodes)
        return tuple(zip(*((hosts // each).tolist() for each in per), strict=True))

    def network(self) -> Network:
        """Return the network with a listed route for every pair. O(hosts²)."""
        groups, chassis, blades, _ = self.sizes
        hosts = self.cluster.hosts
        own = [self._pair(f"{host} up", f"{host} down", 1) for host in hosts]
        green = self._all_to_all((groups, chassis), blades, "blade", "group {}, chassis {}", self.green)
        black = self._all_to_all((groups, blades), chassis, "chassis", "group {}, blade {}", self.black)
        blue = self._all_to_all((), groups, "group", "", self.blue)
        rows = [self._routes(host, np.array(own, np.int64), green, black, blue) for host in range(len(hosts))]
        links = np.concatenate(rows)
        lengths = (links >= 0).sum(axis=1)
        pairs = np.arange(len(hosts) + 1, dtype=np.int64) * len(hosts)
        form = RouteForm(
            "listed",
            np.concatenate([[len(hosts)], pairs, [0], np.cumsum(lengths)]).astype(np.int64),
            links[links >= 0].astype(np.int32),
            np.tile(np.arange(len(hosts), dtype=np.int32), len(hosts)),
        )
        return Network(
            form, len(hosts), groups * chassis * blades, np.array(self.capacity, np.int64), "bytes/s",
            tuple(self.names).__getitem__, hosts.__getitem__,
        )

    def _link(self, name: str, cables: int) -> int:
        self.names.append(name)
        self.capacity.append(self.cluster.bandwidth * cables)
        return len(self.names) - 1

    def _pair(self, there: str, back: str, cables: int) -> tuple[int, int]:
        """Links of a cable in both directions: one and the same where SimGrid shares it."""
        first = self._link(there, cables)
        return first, first if self.cluster.shared else self._link(back, cables)

    def _all_to_all(
        self, outside: tuple[int, ...], count: int, what: str, where: str, cables: int
    ) -> Int64:
        """int64[*outside, count, count]: link from one unit to another of each outer unit, -1 to itself."""
        links = np.full((*outside, count, count), -1, np.int64)
        for place in np.ndindex(*outside):
            prefix = f"{where.format(*place)}: " if where else ""
            for one in range(count):
                for other in range(one + 1, count):
                    there = f"{prefix}{what} {one} -> {what} {other}"
                    back = f"{prefix}{what} {other} -> {what} {one}"
                    first, second = self._pair(there, back, cables)
                    links[place][one, other] = first
                    links[place][other, one] = second
        return links

    def _routes(self, source: int, own: Int64, green: Int64, black: Int64, blue: Int64) -> Int64:
        """int64[hosts, LONGEST]: links from one host to every other, -1 for none at a place.

        As in SimGrid, a route to another blade continues as if it had reached the first chassis, so that
        inside a group the link to the own chassis may follow.
        """
        _, chassis, blades, nodes = self.sizes
        target = np.arange(len(own))
        at_group, at_chassis, at_blade = _place(np.full_like(target, source), chassis, blades, nodes)
        group, box, blade = _place(target, chassis, blades, nodes)
        links = np.full((len(own), LONGEST), -1, np.int64)
        links[:, 0], links[:, -1] = own[source, 0], own[:, 1]
        away = group != at_group
        step = away & (at_blade != group)
        links[step, 1] = green[at_group[step], at_chassis[step], at_blade[step], group[step]]
        step = away & (at_chassis != 0)
        links[step, 2] = black[at_group[step], group[step], at_chassis[step], 0]
        links[away, 3] = blue[at_group[away], group[away]]
        at_blade, at_chassis = np.where(away, at_group, at_blade), np.where(away, 0, at_chassis)
        step = at_blade != blade
        links[step, 4] = green[group[step], at_chassis[step], at_blade[step], blade[step]]
        at_chassis = np.where(step, 0, at_chassis)
        step = at_chassis != box
        links[step, 5] = black[group[step], blade[step], at_chassis[step], box[step]]
        return links


def _place(host: Int64, chassis: int, blades: int, nodes: int) -> tuple[Int64, Int64, Int64]:
    """Group, chassis in it and blade in that of each host."""
    blade = host // nodes
    return blade // (blades * chassis), blade // blades % chassis, blade % blades
