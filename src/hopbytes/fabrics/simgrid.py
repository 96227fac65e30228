"""What a SimGrid platform file holds: zones with points, links, and routes between them."""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.text.cpu_lists import number_range
from hopbytes.text.documents import Element, read_xml
from hopbytes.text.hostlist import check_host_name
from hopbytes.text.lines import integer_in


@frozen
class Cluster:
    """A ``<cluster>``: hosts of one kind."""

    hosts: tuple[str, ...]  # in the order of the radical
    topology: str  # ``FLAT``, ``TORUS``, ``FAT_TREE`` or ``DRAGONFLY``
    parameters: str  # ``topo_parameters`` as written
    bandwidth: int  # bytes per second of a host's (or the topology's) links
    shared: bool  # one link carries both directions of a host
    line: int


@frozen
class Hop:
    """A route of a zone: links between two of its points, and the points inside them where it ends."""

    links: tuple[str, ...]
    from_point: str
    to_point: str
    line: int = 0


@dataclass(slots=True)
class Zone:
    """Points (hosts, routers, zones inside) and how messages go from one to another."""

    name: str
    parent: str  # zone around it; empty for the outermost
    routing: str  # in capitals: ``FULL``, ``FLOYD``, ``DIJKSTRA``, ``CLUSTER``, …
    line: int = 0
    points: list[str] = field(default_factory=list)  # in the order of the file
    hops: dict[tuple[str, str], Hop] = field(default_factory=dict)
    #: of hosts with a link of their own to the middle of a cluster
    up: dict[str, str] = field(default_factory=dict)
    down: dict[str, str] = field(default_factory=dict)
    #: link that all traffic of a cluster crosses, and the router through which it leaves; empty without
    backbone: str = ""
    router: str = ""


@dataclass(slots=True)
class Platform:
    """What a platform file holds."""

    path: str
    zones: dict[str, Zone] = field(default_factory=dict)
    clusters: dict[str, Cluster] = field(default_factory=dict)
    hosts: dict[str, int] = field(default_factory=dict)  # all hosts in the order of the file
    #: of hosts, routers and zones; empty for the outermost
    zone_of: dict[str, str] = field(default_factory=dict)
    links: dict[str, int] = field(default_factory=dict)
    split: set[str] = field(default_factory=set)  # links that carry each direction on its own (SPLITDUPLEX)
    cores: dict[str, int] = field(default_factory=dict)
    speeds: set[str] = field(default_factory=set)  # speeds of hosts as written
    ignored: set[str] = field(default_factory=set)  # what the file says and mappings do not know

    @property
    def host_names(self) -> tuple[str, ...]:
        """All hosts in the order of the file, with ``_`` for blanks, which no list of hosts can hold."""
        return tuple(host.replace(" ", "_") for host in self.hosts)

    @property
    def notices(self) -> tuple[str, ...]:
        """What of the file has no effect, in sentences."""
        notices = [f"{self.path}: not read, without effect: {', '.join(sorted(self.ignored))}"]
        blanks = sum(" " in host for host in self.hosts)
        if blanks:
            notices.append(f"{self.path}: '_' stands for the blanks in the names of {blanks} hosts")
        if len(self.speeds) > 1:
            notices.append(f"{self.path}: hosts have {len(self.speeds)} speeds, mappings take them for equal")
        return tuple(notices[not self.ignored :])


MAX_HOSTS = 2**20
QUANTITY = re.compile(r"((?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)\s*([A-Za-z]*)", re.ASCII)
PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
BINARY = {"Ki": 2**10, "ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
#: Elements that say something about the network and are not read are refused.
REFUSED = {"peer", "trace_connect", "bypassRoute", "bypassZoneRoute", "bypassASroute", "include"}
#: Elements about something else, which are left out.
BESIDE = {
    "actor", "argument", "config", "disk", "gpu", "model_prop", "mount", "mstorage", "process", "prop",
    "random", "storage", "storage_type", "trace",
}  # fmt: skip
ZONES, ROUTES = ("zone", "AS", "platform"), ("route", "zoneRoute", "ASroute")
CROSSED = ("link_ctn", "link:ctn")
#: Attributes that are read, or that mappings do not need, of every element; others are named in a notice.
_HOSTS = "id prefix suffix radical speed power core bw lat"
_ROUTE = "src dst symmetrical"
ATTRIBUTES = {
    "platform": "version", "zone": "id routing", "AS": "id routing", "router": "id coordinates",
    "host": "id speed power core coordinates pstate", "cabinet": _HOSTS, "host_link": "id up down",
    "cluster": f"{_HOSTS} bb_bw bb_lat bb_sharing_policy sharing_policy topology topo_parameters router_id "
    "loopback_bw loopback_lat",
    "link": "id bandwidth latency sharing_policy", "backbone": "id bandwidth latency sharing_policy",
    "route": _ROUTE, "zoneRoute": f"{_ROUTE} gw_src gw_dst", "ASroute": f"{_ROUTE} gw_src gw_dst",
}  # fmt: skip
#: Zones whose routes are found as SimGrid finds them; zones without routing have no routes.
ROUTINGS = ("FULL", "FLOYD", "DIJKSTRA", "DIJKSTRACACHE", "CLUSTER", "NONE", "EMPTY")
MAX_CORES = 2**16


def bytes_per_second(path: str, line: int, text: str) -> int:
    """Read a bandwidth like ``125MBps`` or ``1Gbps`` (a plain number: bytes per second), rounded down."""
    found = QUANTITY.fullmatch(text.strip())
    unit = found[2] if found else ""
    prefix, scale = unit, Fraction(1)
    if unit.endswith("Bps"):
        prefix = unit[:-3]
    elif unit.endswith("bps"):
        prefix, scale = unit[:-3], Fraction(1, 8)
    factor = {**PREFIXES, **BINARY}.get(prefix)
    value = 0
    if found is not None and factor is not None and (unit == "" or unit.endswith("ps")):
        value = int(Fraction(found[1]) * factor * scale)
    if not 0 < value < 2**53:
        raise FormatError(path, line, f"bandwidth {text[:30]!r}, expected a number > 0 like 125MBps")
    return value


class _Reader:
    """Fills a platform from elements."""

    def __init__(self, path: str) -> None:
        self.platform = Platform(path)
        self.zone = ""  # the one being read

    def fail(self, line: int, what: str) -> FormatError:
        return FormatError(self.platform.path, line, what)

    def read(self, element: Element) -> None:
        tag, line = element.tag, element.line
        if tag in REFUSED:
            where = f"{self.platform.path}:{line}"
            raise UnsupportedError(f"{where}: <{tag}> is not read, only clusters, links and routes are")
        known = ATTRIBUTES.get(tag, " ".join(element.attributes)).split()
        self.platform.ignored |= {f"{name}= of <{tag}>" for name in element.attributes if name not in known}
        if tag in ZONES:
            around = self.zone
            name = "" if tag == "platform" else self._needed(element, "id")
            self._open(name, element.get("routing", "Full").upper(), line)
            for child in element.children:
                self.read(child)
            self.zone = around
        elif tag in ("cluster", "host", "router", "link", "host_link", "backbone", "cabinet"):
            getattr(self, f"_{tag}")(element)
        elif tag in ROUTES:
            self._route(element)
        elif tag not in BESIDE:
            raise self.fail(line, f"element <{tag[:40]}>, expected one of a SimGrid platform")

    def _needed(self, element: Element, key: str) -> str:
        if not element.get(key):
            raise self.fail(element.line, f"<{element.tag}> without {key}=, expected one")
        return element.get(key)

    def _bandwidth(self, element: Element, key: str) -> int:
        return bytes_per_second(self.platform.path, element.line, self._needed(element, key))

    def _open(self, name: str, routing: str, line: int) -> Zone:
        if routing not in ROUTINGS:
            where, known = f"{self.platform.path}:{line}", ", ".join(ROUTINGS)
            raise UnsupportedError(f"{where}: routing {routing[:20]!r} is not read (known: {known})")
        if name in self.platform.zones:
            raise self.fail(line, f"zone {name!r} a second time, expected distinct names")
        zone = Zone(name, self.zone, routing, line)
        if name:
            self._point(name, line)
        self.platform.zones[name] = zone
        self.zone = name
        return zone

    def _point(self, name: str, line: int) -> None:
        """Add a host, router or zone to the zone being read."""
        if name in self.platform.zone_of:
            first = self.platform.hosts.get(name)
            at = f", first at line {first}" if first else ""
            raise self.fail(line, f"{name!r} a second time{at}: expected distinct names")
        self.platform.zone_of[name] = self.zone
        self.platform.zones[self.zone].points.append(name)

    def _route(self, element: Element) -> None:
        source, target = self._needed(element, "src"), self._needed(element, "dst")
        links = []
        for crossed in element.children:
            if crossed.tag not in CROSSED:
                raise self.fail(crossed.line, f"element <{crossed.tag[:40]}> in a route, expected <link_ctn>")
            name, direction = self._needed(crossed, "id"), crossed.get("direction").upper()
            links.append(f"{name}_{direction}" if direction in ("UP", "DOWN") else name)
        inside = element.get("gw_src") or source, element.get("gw_dst") or target
        directed = [(source, target, Hop(tuple(links), *inside, element.line))]
        if element.get("symmetrical", "YES").upper() in ("YES", "TRUE") and source != target:
            back = tuple(_reversed(name) for name in reversed(links))
            directed.append((target, source, Hop(back, inside[1], inside[0], element.line)))
        hops = self.platform.zones[self.zone].hops
        for start, end, hop in directed:
            if hops.setdefault((start, end), hop).links != hop.links:
                raise self.fail(element.line, f"a second route from {start!r} to {end!r}, expected one")

    def _check_host(self, name: str, line: int) -> None:
        # Blanks stay in the names by which routes refer to hosts, see Platform.host_names.
        check_host_name(name.replace(" ", "_"), self.platform.path, line)

    def _host(self, element: Element) -> None:
        name = self._needed(element, "id")
        self._check_host(name, element.line)
        self._point(name, element.line)
        self._describe((name,), element)

    def _describe(self, hosts: tuple[str, ...], element: Element) -> None:
        """Keep line and cores of hosts, and their speed."""
        text = element.get("core", "1").strip()
        cores = integer_in(text, 1, MAX_CORES)
        if cores is None:
            raise self.fail(element.line, f"core {text[:20]!r}, expected 1 to {MAX_CORES}")
        self.platform.hosts |= dict.fromkeys(hosts, element.line)
        self.platform.cores |= dict.fromkeys(hosts, cores)
        self.platform.speeds.add(element.get("speed", element.get("power")).replace(" ", ""))

    def _router(self, element: Element) -> None:
        name = self._needed(element, "id")
        self._point(name, element.line)
        self.platform.zones[self.zone].router = name

    def _link(self, element: Element) -> None:
        name = self._needed(element, "id")
        bandwidth = self._bandwidth(element, "bandwidth")
        policy = element.get("sharing_policy", "SHARED").upper()
        split = policy in ("SPLITDUPLEX", "FULLDUPLEX")
        if not split and policy != "SHARED":
            self.platform.ignored.add(f"sharing_policy {policy[:20]} (links are shared)")
        self._add_link(name, bandwidth, element.line)
        if split:
            self.platform.split.add(name)

    def _add_link(self, name: str, bandwidth: int, line: int) -> None:
        if name in self.platform.links:
            raise self.fail(line, f"link {name!r} a second time, expected distinct names")
        self.platform.links[name] = bandwidth

    def _backbone(self, element: Element) -> None:
        self._link(element)
        self.platform.zones[self.zone].backbone = element.get("id")

    def _host_link(self, element: Element) -> None:
        zone, name = self.platform.zones[self.zone], self._needed(element, "id")
        zone.up[name], zone.down[name] = self._needed(element, "up"), self._needed(element, "down")

    def _cabinet(self, element: Element) -> None:
        bandwidth = self._bandwidth(element, "bw")
        self._star(self._names(element), bandwidth, False, element)

    def _star(self, hosts: tuple[str, ...], bandwidth: int, shared: bool, element: Element) -> None:
        """Add hosts with links of their own to the zone being read."""
        zone = self.platform.zones[self.zone]
        for host in hosts:
            self._point(host, element.line)
        self._describe(hosts, element)
        for host in hosts:
            up, down = (f"{host} link",) * 2 if shared else (f"{host} up", f"{host} down")
            zone.up[host], zone.down[host] = up, down
            for name in dict.fromkeys((up, down)):
                self._add_link(name, bandwidth, element.line)

    def _names(self, element: Element) -> tuple[str, ...]:
        """Return the hosts of a radical like ``0-3,7``, with what stands before and behind the numbers."""
        numbers: list[int] = []
        for word in self._needed(element, "radical").split(","):
            run = number_range(word)
            if run is None or len(numbers) + len(run) > MAX_HOSTS:
                what = f"radical {word[:30]!r}, expected N or N-M, at most {MAX_HOSTS} hosts"
                raise self.fail(element.line, what)
            numbers += run
        hosts = tuple(f"{element.get('prefix')}{number}{element.get('suffix')}" for number in numbers)
        self._check_host(hosts[0], element.line)
        return hosts

    def _cluster(self, element: Element) -> None:
        name, hosts, line = self._needed(element, "id"), self._names(element), element.line
        backbone = self._bandwidth(element, "bb_bw") if element.get("bb_bw") else None
        cluster = Cluster(
            hosts, element.get("topology", "FLAT").upper(), element.get("topo_parameters"),
            self._bandwidth(element, "bw"), element.get("sharing_policy", "SPLITDUPLEX").upper() == "SHARED",
            line,
        )
        around = self.zone
        zone = self._open(name, "CLUSTER", line)
        self.platform.clusters[name] = cluster
        default = f"{element.get('prefix')}{name}_router{element.get('suffix')}"
        zone.router = element.get("router_id") or default
        self._point(zone.router, line)
        self._star(hosts, cluster.bandwidth, cluster.shared, element)
        if backbone is not None:
            zone.backbone = f"{name} backbone"
            self._add_link(zone.backbone, backbone, line)
        self.zone = around

    def check_references(self) -> None:
        """Refuse routes that name a point, a gateway or a link that no element describes."""
        platform = self.platform
        for zone in platform.zones.values():
            for (one, other), hop in zone.hops.items():
                for end, gateway in ((one, hop.from_point), (other, hop.to_point)):
                    if end not in platform.zone_of:
                        raise self.fail(hop.line, f"a route of {end[:60]!r}, which is not described")
                    if gateway not in platform.zone_of:
                        raise self.fail(hop.line, f"gateway {gateway[:60]!r} is not described")
                    if end in platform.zones and gateway == end and not platform.zones[end].router:
                        raise self.fail(hop.line, f"zone {end[:60]!r} without gw_src= or gw_dst=")
                    if end in platform.zones and not self._lies_in(gateway, end):
                        raise self.fail(hop.line, f"gateway {gateway[:60]!r} lies outside zone {end[:60]!r}")
                for name in hop.links:
                    self._check_link(name, hop.line)
            for host, name in [*zone.up.items(), *zone.down.items()]:
                if host not in platform.hosts:
                    raise self.fail(zone.line, f"links of host {host[:60]!r}, which is not described")
                self._check_link(name, platform.hosts.get(host, zone.line))

    def _lies_in(self, point: str, zone: str) -> bool:
        while point and point != zone:
            point = self.platform.zone_of[point]
        return point == zone

    def _check_link(self, name: str, line: int) -> None:
        if not {name, name.removesuffix("_UP").removesuffix("_DOWN")} & self.platform.links.keys():
            raise self.fail(line, f"link {name[:60]!r} is not described")


def _reversed(name: str) -> str:
    if name.endswith("_UP"):
        return name[:-3] + "_DOWN"
    return name[:-5] + "_UP" if name.endswith("_DOWN") else name


def read_simgrid(path: str) -> Platform:
    """Read a SimGrid platform (version 4): clusters, and zones of hosts, links and routes.

    O(bytes + hosts). Latencies and properties are not kept; of speeds only whether they differ. Source:
    SimGrid's own examples and its DTD of platforms.
    """
    reader = _Reader(path)
    reader.read(read_xml(path, root="platform"))
    reader.check_references()
    if not reader.platform.hosts:
        raise FormatError(path, None, "no host, expected a <cluster> or <host>")
    if len(set(reader.platform.host_names)) < len(reader.platform.hosts):
        raise FormatError(path, None, "host names that differ only in blanks and '_', expected others")
    return reader.platform


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
    number = {point: index for index, point in enumerate(zone.points)}
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
