"""Routes of a SimGrid platform, from point to point through its zones."""

from __future__ import annotations

import heapq
from itertools import pairwise

import numpy as np

from hopbytes.errors import FormatError
from hopbytes.fabrics.simgrid_platform import Hop, Platform, Zone

#: Zones whose routes are composed of those between neighbours.
SEARCHED = ("FLOYD", "DIJKSTRA", "DIJKSTRACACHE")
#: Largest depth of routes inside routes: gateways that lead to each other would recurse without end.
MAX_DEPTH = 200

Way = tuple[list[Hop], ...]


class PlatformRoutes:
    """Finds the links between any two points of a platform, as SimGrid does.

    Two points of different zones meet in the smallest zone that holds both: its route between the parts that
    they lie in says through which gateways to leave the one and to enter the other, and the routes to
    and from these are found likewise.
    """

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.before: dict[str, dict[str, dict[str, str]]] = {}

    def route(self, source: str, target: str, depth: int = 0) -> list[str] | None:
        """Names of the links from a point to another; None where the platform has no route."""
        if source == target:
            return []
        if depth > MAX_DEPTH:
            what = f"the way from {source!r} to {target!r} never ends: its gateways lead in a circle"
            raise FormatError(self.platform.path, None, what)
        zone, one, other = self._meeting(source, target)
        found = self._local(zone, one, other, depth)
        if found is None:
            return None
        links, first, last = found
        first, last = self._gateway(first, one), self._gateway(last, other)
        head = self.route(source, first, depth + 1) if one != source else []
        tail = self.route(last, target, depth + 1) if other != target else []
        return None if head is None or tail is None else [*head, *links, *tail]

    def _gateway(self, gateway: str, part: str) -> str:
        """The gateway that a route names, else the router of the zone."""
        zone = self.platform.zones.get(part)
        return zone.router if gateway == part and zone is not None else gateway

    def _meeting(self, source: str, target: str) -> tuple[Zone, str, str]:
        """The smallest zone around two points, and its parts that hold them."""
        zones = [self._zones_around(source), self._zones_around(target)]
        while len(zones[0]) > 1 and len(zones[1]) > 1 and zones[0][-2] == zones[1][-2]:
            zones[0].pop()
            zones[1].pop()
        common = self.platform.zones[zones[0][-1]]
        one = zones[0][-2] if len(zones[0]) > 1 else source
        other = zones[1][-2] if len(zones[1]) > 1 else target
        return common, one, other

    def _zones_around(self, point: str) -> list[str]:
        """Names of the zones that hold a point, innermost first, the whole platform (named "") last."""
        names = [self.platform.zone_of[point]]
        while names[-1]:
            names.append(self.platform.zones[names[-1]].parent)
        return names

    def _local(self, zone: Zone, one: str, other: str, depth: int) -> tuple[list[str], str, str] | None:
        """Links between two points of a zone, and the gateways inside them."""
        if zone.routing == "CLUSTER" and (zone.up or zone.backbone):
            crossed = (zone.up.get(one), zone.backbone, zone.down.get(other))
            return list(dict.fromkeys(link for link in crossed if link)), one, other
        if zone.routing not in SEARCHED:
            hop = zone.hops.get((one, other))
            return None if hop is None else (list(hop.links), hop.from_point, hop.to_point)
        hops = self._searched(zone, one, other)
        if hops is None:
            return None
        links = list(hops[0].links)
        for last, hop in pairwise(hops):
            between = self.route(last.to_point, hop.from_point, depth + 1)
            if between is None:
                return None
            links += [*between, *hop.links]
        return links, hops[0].from_point, hops[-1].to_point

    def _searched(self, zone: Zone, one: str, other: str) -> list[Hop] | None:
        """The hops of a route with the fewest links; of several the one that SimGrid takes."""
        before = self.before.get(zone.name)
        if before is None:
            before = _floyd(zone) if zone.routing == "FLOYD" else {}
            self.before[zone.name] = before
        if one not in before:
            before[one] = _dijkstra(zone, one) if zone.routing != "FLOYD" else {}
        hops: list[Hop] = []
        here = other
        while here != one:
            last = before[one].get(here)
            if last is None:
                return None
            hops.append(zone.hops[last, here])
            here = last
        return hops[::-1]


def _floyd(zone: Zone) -> dict[str, dict[str, str]]:
    """For every pair of points the last point before the second one, after Floyd and Warshall. O(points³)."""
    number = {point: place for place, point in enumerate(zone.points)}
    infinite = np.iinfo(np.int64).max // 4
    cost = np.full((len(number),) * 2, infinite, np.int64)
    before = np.full(cost.shape, -1, np.int64)
    for (one, other), hop in zone.hops.items():
        if one in number and other in number:
            cost[number[one], number[other]] = len(hop.links)
            before[number[one], number[other]] = number[one]
    for middle in range(len(number)):
        through = cost[:, middle, None] + cost[None, middle, :]
        better = through < cost
        cost[better] = through[better]
        before[better] = np.broadcast_to(before[middle], before.shape)[better]
    points = zone.points
    return {
        one: {points[b]: points[last] for b, last in enumerate(before[a].tolist()) if last >= 0}
        for one, a in number.items()
    }


def _dijkstra(zone: Zone, start: str) -> dict[str, str]:
    """For every point that can be reached the last one before it. O(hops log hops)."""
    number: dict[str, int] = {}
    out: dict[str, list[tuple[str, int]]] = {}
    for (one, other), hop in zone.hops.items():
        number.setdefault(one, len(number))
        number.setdefault(other, len(number))
        out.setdefault(one, []).append((other, len(hop.links)))
    cost, before = {start: 0}, dict[str, str]()
    queue = [(0, number.get(start, 0), start)]
    while queue:
        reached, _, point = heapq.heappop(queue)
        if reached > cost[point]:
            continue
        for other, links in out.get(point, ()):
            if other not in cost or reached + links < cost[other]:
                cost[other], before[other] = reached + links, point
                heapq.heappush(queue, (cost[other], number[other], other))
    return before
