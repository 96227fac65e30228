"""SimGrid platforms as machines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.simgrid import Cluster, Platform, PlatformRoutes, read_simgrid
from hopbytes.kernels.routes import RouteForm
from hopbytes.machines.base import Level, machines
from hopbytes.machines.kinds.fattree import FatTree
from hopbytes.machines.kinds.torus import Torus
from hopbytes.machines.network import Network, listed_routes
from hopbytes.machines.network_machine import AttachedHosts, NetworkMachine
from hopbytes.machines.spec_fields import file_spec
from hopbytes.machines.tree import MAX_DISTANCE, Tree, bad

_SIZES = "[0-9]+(?:,[0-9]+)*"
#: What ``topo_parameters`` of a shape look like without blanks.
SHAPES = {
    "TORUS": re.compile(_SIZES, re.ASCII),
    "FAT_TREE": re.compile(f"[0-9]{{1,9}};{_SIZES};{_SIZES};{_SIZES}", re.ASCII),
}
PARAMETERS = re.compile(
    r"([1-9][0-9]{0,5}),([1-9][0-9]{0,5});([1-9][0-9]{0,5}),([1-9][0-9]{0,5});"
    r"([1-9][0-9]{0,5}),([1-9][0-9]{0,5});([1-9][0-9]{0,5})",
    re.ASCII,
)
#: Links of the longest route: the host's, blade, chassis, group, blade, chassis, the host's.
LONGEST = 7
#: Most hosts: routes are stored for every pair.
MAX_LISTED = 2048


@machines.register("simgrid")
@frozen(eq=False)
class Simgrid(AttachedHosts):
    """Hosts of a SimGrid platform: ``simgrid:platform.xml``.

    One torus, fat-tree or dragonfly cluster becomes that network, with the bandwidth of its links. Flat
    clusters, with or without backbone, and hosts in zones of any depth (full, Floyd, Dijkstra, clusters with
    cabinets) have every route as SimGrid finds it: through the gateways of the zones, across the backbones;
    what SimGrid shares between directions is one link. ``hosts=n[1-8]`` (or ``@n[1-8]``) keeps some hosts.
    ``core=`` of hosts is the level ``core``, unless the spec says what is inside a node.
    """

    @classmethod
    def parse(cls, text: str) -> Simgrid:
        spec = file_spec("simgrid", text, {"hosts": "n[1-8]"})
        platform = read_simgrid(spec.path)
        shaped = [cluster for cluster in platform.clusters.values() if cluster.topology != "FLAT"]
        if shaped and len(platform.hosts) > len(shaped[0].hosts):
            where = f"{spec.path}:{shaped[0].line}"
            raise UnsupportedError(f"{where}: a {shaped[0].topology} cluster beside others; keep one")
        text, hosts = spec.text("simgrid"), platform.host_names
        around: NetworkMachine
        if shaped and shaped[0].topology != "DRAGONFLY":
            around = _shaped(spec.path, shaped[0])
        elif shaped:
            cluster = DragonflyCluster(spec.path, shaped[0])
            around = _ListedHosts(text, cluster.network(), cluster.zones())
        else:
            listed = ListedRoutes(platform)
            around = _ListedHosts(text, listed.network(), listed.zones)
        places = np.arange(around.n_nodes)
        if isinstance(around, Torus):  # the first dimension, which routes correct first, runs fastest
            places = places.reshape(around.sizes).transpose().reshape(-1)
        whole = cls(text, around, hosts, tuple(places.tolist()), platform.notices, per_hop=spec.per_hop)
        machine = whole.kept(spec.options.get("hosts"))
        cores = dict(zip(hosts, platform.cores.values(), strict=True))
        counts = [cores[host] for host in machine.hosts]
        core, node = Level("core", 1), Level("node", MAX_DISTANCE)
        if max(counts) == 1:
            return machine
        if len(set(counts)) == 1:
            return machine.nested(Tree((core,), (counts[0],)))
        return machine.nested(Tree((node, core), (len(counts), tuple(counts))))

    def nested(self, inside: Tree) -> Simgrid:
        return replace(self, inside=inside)


@frozen(eq=False)
class _ListedHosts(NetworkMachine):
    """The network of a platform whose routes are listed; endpoint i is host i."""

    text: str
    links: Network
    zones: tuple[tuple[int, ...], ...]  # numbers of the zones around each host, outermost first

    @property
    def n_nodes(self) -> int:
        return len(self.zones)

    def network_spec(self) -> str:
        return self.text

    def network(self) -> Network:
        return self.links

    def split_nodes(self, nodes: Int64) -> list[Int64]:
        zones = np.asarray(self.zones)[nodes]
        for level in range(zones.shape[1]):
            numbers, first, part = np.unique(zones[:, level], return_index=True, return_inverse=True)
            if len(numbers) > 1:
                order = np.argsort(first)
                return [nodes[part == number] for number in order.tolist()]
        return list(nodes[:, None])


def _shaped(path: str, cluster: Cluster) -> Torus | FatTree:
    """Return the network of a torus or fat-tree cluster."""
    words = cluster.parameters.replace(" ", "")
    if cluster.topology in SHAPES and not SHAPES[cluster.topology].fullmatch(words):
        what = f"topo_parameters {words[:30]!r}, expected '3,2,2' of a TORUS or '2;4,4;1,2;1,2' of a FAT_TREE"
        raise FormatError(path, cluster.line, what)
    bandwidth = cluster.bandwidth
    machine: Torus | FatTree | None = None
    try:
        if cluster.topology == "TORUS":
            machine = Torus.parse(f"{words.replace(',', 'x')}:bw={bandwidth}")
        elif cluster.topology == "FAT_TREE":
            levels, down, up, cables = (part.replace(",", "x") for part in words.split(";"))
            if int(levels) != down.count("x") + 1:
                raise bad(f"{levels} levels, but sizes of {down.count('x') + 1}")
            machine = FatTree.parse(f"{down}:up={up}:cables={cables}:bw={bandwidth}")
    except FormatError as error:
        raise FormatError(path, cluster.line, error.what) from None
    if machine is None:
        what = f"topology {cluster.topology[:20]} {words[:30]!r} is not read"
        raise UnsupportedError(f"{path}:{cluster.line}: {what} (known: FLAT, TORUS, FAT_TREE, DRAGONFLY)")
    if machine.n_nodes != len(cluster.hosts):
        what = f"{len(cluster.hosts)} hosts, expected {machine.n_nodes} for {words[:30]!r}"
        raise FormatError(path, cluster.line, what)
    return machine


class DragonflyCluster:
    """A cluster with ``topo_parameters`` like ``3,4;4,3;5,1;2``.

    Three groups, four chassis in each, five blades in each, two hosts at each blade; and how many cables are
    one link between groups, chassis and blades. Blades of a chassis are linked all to all, equal blades of
    the chassis of a group too, and blade j of the first chassis of group i leads to group j.
    """

    def __init__(self, path: str, cluster: Cluster) -> None:
        def bad(what: str) -> FormatError:
            return FormatError(path, cluster.line, what)

        found = PARAMETERS.fullmatch(cluster.parameters.replace(" ", ""))
        if found is None:
            raise bad(f"topo_parameters {cluster.parameters[:30]!r}, expected '3,4;4,3;5,1;2' of a DRAGONFLY")
        groups, self.blue, chassis, self.black, blades, self.green, nodes = map(int, found.groups())
        size = groups * chassis * blades * nodes
        if size != len(cluster.hosts):
            raise bad(f"{len(cluster.hosts)} hosts, expected {size} of this dragonfly")
        if groups > blades:
            raise bad(f"{groups} groups with {blades} blades in a chassis, expected a blade for every group")
        if size > MAX_LISTED:
            raise bad(f"{size} hosts, expected at most {MAX_LISTED}")
        self.sizes = groups, chassis, blades, nodes
        self.cluster = cluster
        self.names: list[str] = []
        self.capacity: list[int] = []

    def zones(self) -> tuple[tuple[int, ...], ...]:
        """Group, chassis and blade of every host, each numbered over the whole cluster."""
        hosts = np.arange(len(self.cluster.hosts))
        _, chassis, blades, nodes = self.sizes
        per = (chassis * blades * nodes, blades * nodes, nodes)
        return tuple(zip(*((hosts // size).tolist() for size in per), strict=True))

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
        count = np.arange(len(hosts))
        sources, targets = np.repeat(count, len(hosts)), np.tile(count, len(hosts))
        form = listed_routes(len(hosts), sources, targets, (links >= 0).sum(axis=1), links[links >= 0])
        return _network(form, hosts, self.names, self.capacity, groups * chassis * blades)

    def _link(self, name: str, cables: int) -> int:
        self.names.append(name)
        self.capacity.append(self.cluster.bandwidth * cables)
        return len(self.names) - 1

    def _pair(self, there: str, back: str, cables: int) -> tuple[int, int]:
        """Links of a cable in both directions: one and the same where SimGrid shares it."""
        first = self._link(there, cables)
        return first, first if self.cluster.shared else self._link(back, cables)

    def _all_to_all(self, outside: tuple[int, ...], count: int, what: str, where: str, cables: int) -> Int64:
        """int64[*outside, count, count]: link from one unit to another of each outer unit, -1 to itself."""
        links = np.full((*outside, count, count), -1, np.int64)
        for unit in np.ndindex(*outside):
            prefix = f"{where.format(*unit)}: " if where else ""
            for low, high in combinations(range(count), 2):
                there = f"{prefix}{what} {low} -> {what} {high}"
                back = f"{prefix}{what} {high} -> {what} {low}"
                links[unit][low, high], links[unit][high, low] = self._pair(there, back, cables)
        return links

    def _routes(self, source: int, own: Int64, green: Int64, black: Int64, blue: Int64) -> Int64:
        """int64[hosts, LONGEST]: links from one host to every other, -1 for none at a place.

        As in SimGrid, a route to another blade continues as if it had reached the first chassis, so that
        inside a group the link to the own chassis may follow.
        """
        group, box, blade, _ = np.unravel_index(np.arange(len(own)), self.sizes)
        at_group, at_chassis, at_blade = (np.full_like(at, at[source]) for at in (group, box, blade))
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
            what = f"routes between {len(self.hosts)} hosts, expected at most {MAX_LISTED}"
            raise UnsupportedError(f"{platform.path}: {what}, or a TORUS or FAT_TREE cluster")
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
        numbers = {name: number for number, name in enumerate(zones)}
        chains = []
        for number, host in enumerate(self.hosts):
            zone = zones[self.platform.zone_of[host]]
            inside = [] if host in zone.up else [len(zones) + number]
            name = zone.name
            while name:
                inside.append(numbers[name])
                name = zones[name].parent
            chains.append(tuple(reversed(inside)))
        depth = max(map(len, chains))
        return tuple(chain + (chain[-1:] or (0,)) * (depth - len(chain)) for chain in chains)

    def _between(self, unit: _Unit, other: _Unit) -> list[int] | None:
        """Links of all routes from one unit to another but the hosts' own; None without a route."""
        source, target = unit.hosts[0], other.hosts[-1]
        if source == target:
            zone = self.platform.zones[self.platform.zone_of[self.hosts[source]]]
            if not unit.up:
                return None
            return [self._link(zone.backbone)] if zone.backbone else []
        names = self.routes.route(self.hosts[source], self.hosts[target])
        if names is None:
            return None
        links = [self._link(name) for name in names]
        return links[bool(unit.up) : len(links) - bool(other.down)]

    def network(self) -> Network:
        """Return the network with a listed route for every pair that has one."""
        rows: list[tuple[Int64, Int64, Int64, Int64]] = []  # sources, targets, lengths, links
        for unit in self.units:
            for other in self.units:
                between = self._between(unit, other)
                if between is None:
                    continue
                targets = np.array(other.hosts, np.int64)
                down = np.array(other.down, np.int64).reshape(len(targets), -1)  # one link each, or none
                for rank, host in enumerate(unit.hosts):
                    head = np.array([*unit.up[rank : rank + 1], *between], np.int64)
                    links = np.hstack([np.broadcast_to(head, (len(targets), len(head))), down])
                    lengths = np.full(len(targets), links.shape[1])
                    rows.append((np.full(len(targets), host), targets, lengths, links.reshape(-1)))
        none = np.empty(0, np.int64)
        sources, targets, lengths, links = (
            np.concatenate([none, *(row[part] for row in rows)]) for part in range(4)
        )
        form = listed_routes(len(self.hosts), sources, targets, lengths, links)
        switches = sum(bool(zone.up) for zone in self.platform.zones.values())
        return _network(form, self.hosts, self.names, self.capacity, switches)


def _network(
    form: RouteForm, hosts: tuple[str, ...], names: list[str], capacity: list[int], switches: int
) -> Network:
    return Network(
        form, len(hosts), switches, np.array(capacity, np.int64), tuple(names).__getitem__, hosts.__getitem__,
        unit="bytes/s",
    )
