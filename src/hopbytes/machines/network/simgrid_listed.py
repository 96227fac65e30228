"""All routes of a SimGrid platform as lists of links, host by host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import UnsupportedError
from hopbytes.fabrics.simgrid_platform import Platform
from hopbytes.fabrics.simgrid_routes import PlatformRoutes
from hopbytes.kernels.routes import RouteForm
from hopbytes.machines.network.network import Network

#: Most hosts: routes are stored for every pair.
MAX_LISTED = 2048


@dataclass(slots=True)
class _Unit:
    """Hosts whose routes differ only in their own links, the first and the last of each; or a single host."""

    hosts: list[int]
    up: list[int] = field(default_factory=list)
    down: list[int] = field(default_factory=list)


class ListedRoutes:
    """Numbers the links of a platform and lists all routes."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.hosts = tuple(platform.hosts)
        if len(self.hosts) > MAX_LISTED:
            raise UnsupportedError(
                f"{platform.path}: routes between {len(self.hosts)} hosts, expected at most {MAX_LISTED}, "
                "or a TORUS or FAT_TREE cluster"
            )
        self.routes = PlatformRoutes(platform)
        self.names: list[str] = []
        self.capacity: list[int] = []
        self.number: dict[str, int] = {}
        self.units = self._units()
        self.zones = self._zones()

    def _link(self, name: str) -> int:
        """Number of a link; what SimGrid shares between directions is one."""
        links, plain = self.platform.links, name.removesuffix("_UP").removesuffix("_DOWN")
        known = name if name in links else plain
        name = name if known in self.platform.split else known
        if name not in self.number:
            self.number[name] = len(self.names)
            self.names.append(name)
            self.capacity.append(links[known])
        return self.number[name]

    def _units(self) -> list[_Unit]:
        """Clusters without hosts that are gateways, and all other hosts one by one."""
        zones = self.platform.zones
        gateways = {point for zone in zones.values() for hop in zone.hops.values()
                    for point in (hop.from_point, hop.to_point)}  # fmt: skip
        clusters: dict[str, _Unit] = {}
        units: list[_Unit] = []
        for number, host in enumerate(self.hosts):
            zone = zones[self.platform.zone_of[host]]
            if host in gateways or host not in zone.up or host not in zone.down:
                units.append(_Unit([number]))
                continue
            if zone.name not in clusters:
                clusters[zone.name] = _Unit([])
                units.append(clusters[zone.name])
            unit = clusters[zone.name]
            unit.hosts.append(number)
            unit.up.append(self._link(zone.up[host]))
            unit.down.append(self._link(zone.down[host]))
        return units

    def _zones(self) -> tuple[tuple[int, ...], ...]:
        """Per host the numbers of the zones around it, outermost first, as many for all.

        Those of a host outside clusters end in a number of its own.
        """
        zones = self.platform.zones
        places = {name: place for place, name in enumerate(zones)}
        chains = []
        for number, host in enumerate(self.hosts):
            zone = zones[self.platform.zone_of[host]]
            chain = [] if host in zone.up else [len(zones) + number]
            name = zone.name
            while name:
                chain.append(places[name])
                name = zones[name].parent
            chains.append(tuple(reversed(chain)))
        depth = max(map(len, chains))
        return tuple(chain + (chain[-1:] or (0,)) * (depth - len(chain)) for chain in chains)

    def _between(self, one: _Unit, other: _Unit) -> list[int] | None:
        """Links of all routes from one unit to another but the hosts' own; None without a route."""
        source, target = one.hosts[0], other.hosts[-1]
        if source == target:
            zone = self.platform.zones[self.platform.zone_of[self.hosts[source]]]
            if not one.up:
                return None
            return [self._link(zone.backbone)] if zone.backbone else []
        names = self.routes.route(self.hosts[source], self.hosts[target])
        if names is None:
            return None
        links = [self._link(name) for name in names]
        return links[bool(one.up) : len(links) - bool(other.down)]

    def network(self) -> Network:
        """Return the network with a listed route for every pair that has one."""
        targets: list[Int64] = []
        lengths: list[Int64] = []
        links: list[Int64] = []
        counts = np.zeros(len(self.hosts), np.int64)
        rows_of: list[tuple[Int64, Int64, list[Int64]]] = [_NONE] * len(self.hosts)
        for one in self.units:
            routes = [(other, self._between(one, other)) for other in self.units]
            blocks = [(other, between) for other, between in routes if between is not None]
            everyone = _joined([np.array(other.hosts, np.int64) for other, _ in blocks])
            each = _joined([
                np.full(len(other.hosts), bool(one.up) + len(between) + bool(other.down))
                for other, between in blocks
            ])  # fmt: skip
            for place, host in enumerate(one.hosts):
                rows_of[host] = everyone, each, [self._rows(one, place, *block) for block in blocks]
        for host, (everyone, each, rows) in enumerate(rows_of):
            targets.append(everyone)
            lengths.append(each)
            links.extend(rows)
            counts[host] = len(everyone)
        return self._listed(counts, _joined(targets), _joined(lengths), _joined(links))

    def _rows(self, one: _Unit, place: int, other: _Unit, between: Sequence[int]) -> Int64:
        size = len(other.hosts)
        down = np.array(other.down, np.int64)[:, None] if other.down else np.empty((size, 0), np.int64)
        head = np.array([*one.up[place : place + 1], *between], np.int64)
        return np.hstack([np.broadcast_to(head, (size, len(head))), down]).reshape(-1)

    def _listed(self, counts: Int64, targets: Int64, lengths: Int64, links: Int64) -> Network:
        # Targets ascend in every row: a host that is a gateway stands between those of its cluster.
        source = np.repeat(np.arange(len(self.hosts)), counts)
        order = np.lexsort((targets, source))
        before = (np.cumsum(lengths) - lengths)[order]
        targets, lengths = targets[order], lengths[order]
        pairs, starts = np.concatenate([[0], np.cumsum(counts)]), np.concatenate([[0], np.cumsum(lengths)])
        links = links[np.repeat(before - starts[:-1], lengths) + np.arange(len(links))]
        form = RouteForm(
            "listed",
            np.concatenate([[len(self.hosts)], pairs, starts]).astype(np.int64),
            links.astype(np.int32),
            targets.astype(np.int32),
        )
        names, hosts = tuple(self.names), self.hosts
        switches = sum(bool(zone.up) for zone in self.platform.zones.values())
        return Network(
            form, len(hosts), switches, np.array(self.capacity, np.int64),
            "bytes/s", names.__getitem__, hosts.__getitem__,
        )


_NONE: tuple[Int64, Int64, list[Int64]] = np.empty(0, np.int64), np.empty(0, np.int64), []


def _joined(parts: Sequence[Int64]) -> Int64:
    return np.concatenate(list(chain([np.empty(0, np.int64)], parts))).astype(np.int64)
