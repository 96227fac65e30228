"""SimGrid platforms as machines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.simgrid import Cluster, Platform, read_simgrid
from hopbytes.kernels.routes import RouteForm
from hopbytes.machines.base import Int64, Machine, machines
from hopbytes.machines.fattree import FatTree
from hopbytes.machines.file_spec import file_spec
from hopbytes.machines.hosts_on import HostsOn
from hopbytes.machines.network import Network
from hopbytes.machines.networked import NetworkMachine, check_nodes
from hopbytes.machines.spec_fields import bad
from hopbytes.machines.torus import Torus
from hopbytes.machines.tree import Tree

KEYS = {"hosts": "n[1-8]"}
#: Routes between hosts of flat clusters and zones are written down pair by pair.
MAX_LISTED = 2048
_SIZES = "[0-9]+(?:,[0-9]+)*"
#: What ``topo_parameters`` of a shape look like without blanks.
SHAPES = {
    "TORUS": re.compile(_SIZES, re.ASCII),
    "FAT_TREE": re.compile(f"[0-9]{{1,9}};{_SIZES};{_SIZES};{_SIZES}", re.ASCII),
}


@machines.register("simgrid")
@dataclass(frozen=True, slots=True, eq=False)
class Simgrid(NetworkMachine):
    """Hosts of a SimGrid platform: ``simgrid:platform.xml``.

    One torus or fat-tree cluster becomes that network, with the bandwidth of its links. Flat clusters, with
    or without backbone, joined by routes between zones, and single hosts with routes between them have
    every route as the file gives it: up from the host, across the backbones, down to the host; what SimGrid
    shares between directions is one link. ``hosts=n[1-8]`` (or ``@n[1-8]``) keeps some hosts.

    Parameters
    ----------
    text : str
        Spec without distance per hop.
    links : Network
        Endpoint i is host i.
    hosts : tuple of str
    cluster : tuple of int
        Number of the cluster (or single host) each host belongs to.
    per_hop, inside
        See :class:`hopbytes.machines.networked.NetworkMachine`.
    """

    text: str
    links: Network
    hosts: tuple[str, ...]
    cluster: tuple[int, ...]
    per_hop: int | None = None
    inside: Tree | None = None

    def __post_init__(self) -> None:
        check_nodes(self)

    @classmethod
    def parse(cls, text: str) -> Machine:
        """Read ``FILE[@hosts or @distance per hop]``."""
        spec = file_spec("simgrid", text, KEYS)
        platform = read_simgrid(spec.path)
        shaped = [cluster for cluster in platform.clusters.values() if cluster.topology != "FLAT"]
        if shaped and (len(platform.clusters) > 1 or platform.hosts):
            raise UnsupportedError(
                f"{spec.path}:{shaped[0].line}: a {shaped[0].topology} cluster beside others; keep one"
            )
        if shaped:
            around = _shaped(spec.path, shaped[0])
            places = tuple(range(len(shaped[0].hosts)))
            machine = HostsOn(spec.text("simgrid"), around, shaped[0].hosts, places, (), spec.per_hop)
            return machine.kept(spec.options.get("hosts"))
        flat = _Flat(platform)
        whole = cls(spec.text("simgrid"), flat.network(), flat.hosts, flat.cluster, spec.per_hop)
        if "hosts" in spec.options:
            everyone = tuple(range(len(flat.hosts)))
            on = HostsOn(spec.text("simgrid"), whole, flat.hosts, everyone, (), spec.per_hop)
            return on.kept(spec.options["hosts"])
        return whole

    def _identity(self) -> tuple[object, ...]:
        return self.text, self.hosts, self.hop_distance, self.inside

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Simgrid) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    @property
    def n_nodes(self) -> int:
        """Number of hosts."""
        return len(self.hosts)

    def node_names(self) -> tuple[str, ...]:
        """Host names."""
        return self.hosts

    def keeps_names(self) -> bool:
        """Nodes are those of the file."""
        return True

    def network_spec(self) -> str:
        """The file."""
        return self.text

    def network(self) -> Network:
        """Links with the routes of the file."""
        return self.links

    def split_nodes(self, nodes: Int64) -> list[Int64]:
        """Clusters, then single hosts."""
        cluster = np.asarray(self.cluster)[nodes]
        if cluster[0] == cluster[-1]:
            return list(nodes[:, None])
        return [nodes[cluster == number] for number in np.unique(cluster)]


def _shaped(path: str, cluster: Cluster) -> NetworkMachine:
    """Return the network of a torus or fat-tree cluster; its host i is endpoint i."""
    words = cluster.parameters.replace(" ", "")
    if cluster.topology in SHAPES and not SHAPES[cluster.topology].fullmatch(words):
        raise FormatError(
            path, cluster.line,
            f"topo_parameters {words[:30]!r}, expected '3,2,2' of a TORUS or '2;4,4;1,2;1,2' of a FAT_TREE",
        )
    try:
        machine = _network_of(cluster.topology, words, cluster.bandwidth)
    except FormatError as error:
        raise FormatError(path, cluster.line, error.what) from None
    if machine is None:
        raise UnsupportedError(
            f"{path}:{cluster.line}: topology {cluster.topology[:20]} {words[:30]!r} is not read "
            "(known: FLAT, TORUS, FAT_TREE with 'levels;down;up;cables')"
        )
    if machine.n_nodes != len(cluster.hosts):
        raise FormatError(
            path, cluster.line, f"{len(cluster.hosts)} hosts, expected {machine.n_nodes} for {words[:30]!r}"
        )
    return machine


def _network_of(topology: str, words: str, bandwidth: int) -> NetworkMachine | None:
    """Return the network; None of a topology that is not known. `words` fit :data:`SHAPES`."""
    if topology == "TORUS":
        return Torus.parse(f"{'x'.join(reversed(words.split(',')))}:bw={bandwidth}")
    if topology == "FAT_TREE":
        levels, down, up, cables = (part.replace(",", "x") for part in words.split(";"))
        if int(levels) != down.count("x") + 1:
            raise bad(f"{levels} levels, but sizes of {down.count('x') + 1}")
        return FatTree.parse(f"{down}:up={up}:cables={cables}:bw={bandwidth}")
    return None


@dataclass(slots=True)
class _Unit:
    """A cluster or a single host: its first host, and the links of all its hosts."""

    name: str
    first: int
    up: list[int] = field(default_factory=list)
    down: list[int] = field(default_factory=list)
    backbone: list[int] = field(default_factory=list)
    size: int = 1


class _Flat:
    """Numbers the links of flat clusters and lists all routes."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.hosts = platform.host_names
        if len(self.hosts) > MAX_LISTED:
            raise UnsupportedError(
                f"{platform.path}: routes between {len(self.hosts)} hosts, expected at most {MAX_LISTED}, "
                "or a TORUS or FAT_TREE cluster"
            )
        self.names: list[str] = []
        self.capacity: list[int] = []
        self.number: dict[str, int] = {}
        self.units = [self._unit(cluster) for cluster in platform.clusters.values()]
        self.units += [_Unit(host, self.hosts.index(host)) for host in platform.hosts]
        self.cluster = tuple(number for number, unit in enumerate(self.units) for _ in range(unit.size))

    def _link(self, name: str, capacity: int) -> int:
        if name not in self.number:
            self.number[name] = len(self.names)
            self.names.append(name)
            self.capacity.append(capacity)
        return self.number[name]

    def _unit(self, cluster: Cluster) -> _Unit:
        unit = _Unit(cluster.name, self.hosts.index(cluster.hosts[0]), size=len(cluster.hosts))
        for host in cluster.hosts:
            names = (f"{host} link",) * 2 if cluster.shared else (f"{host} up", f"{host} down")
            unit.up.append(self._link(names[0], cluster.bandwidth))
            unit.down.append(self._link(names[1], cluster.bandwidth))
        if cluster.backbone is not None:
            unit.backbone.append(self._link(f"{cluster.name} backbone", cluster.backbone))
        return unit

    def _between(self, one: _Unit, other: _Unit) -> list[int] | None:
        """Links between leaving one unit and entering another; None without a route."""
        if one is other:
            return one.backbone if one.up else None
        key = (one.name, other.name)
        names = self.platform.zone_routes.get(key, self.platform.routes.get(key))
        if names is None:
            return None
        return [*one.backbone, *(self._zone_link(name) for name in names), *other.backbone]

    def _zone_link(self, name: str) -> int:
        plain = name.removesuffix("_UP").removesuffix("_DOWN")
        known = name if name in self.platform.links else plain
        if known not in self.platform.links:
            what = f"a route over link {name[:40]!r}, which is not described"
            raise FormatError(self.platform.path, None, what)
        return self._link(name if known in self.platform.split else known, self.platform.links[known])

    def network(self) -> Network:
        """Return the network with a listed route for every pair that has one."""
        targets: list[Int64] = []
        lengths: list[Int64] = []
        links: list[Int64] = []
        counts = np.zeros(len(self.hosts), np.int64)
        for one in self.units:
            ways = [(other, self._between(one, other)) for other in self.units]
            blocks = [(other, between) for other, between in ways if between is not None]
            everyone = [np.arange(other.first, other.first + other.size) for other, _ in blocks]
            each = [
                np.full(other.size, bool(one.up) + len(between) + bool(other.down))
                for other, between in blocks
            ]
            for host in range(one.size):
                rows = [self._rows(one, host, other, between) for other, between in blocks]
                targets.extend(everyone)
                lengths.extend(each)
                links.extend(rows)
                counts[one.first + host] = sum(map(len, everyone))
        return self._listed(counts, _joined(targets), _joined(lengths), _joined(links))

    def _rows(self, one: _Unit, host: int, other: _Unit, between: Sequence[int]) -> Int64:
        down = np.array(other.down, np.int64)[:, None] if other.down else np.empty((other.size, 0), np.int64)
        head = np.array([*one.up[host : host + 1], *between], np.int64)
        return np.hstack([np.broadcast_to(head, (other.size, len(head))), down]).reshape(-1)

    def _listed(self, counts: Int64, targets: Int64, lengths: Int64, links: Int64) -> Network:
        pairs, starts = np.concatenate([[0], np.cumsum(counts)]), np.concatenate([[0], np.cumsum(lengths)])
        form = RouteForm(
            "listed",
            np.concatenate([[len(self.hosts)], pairs, starts]).astype(np.int64),
            links.astype(np.int32),
            targets.astype(np.int32),
        )
        names, hosts = tuple(self.names), self.hosts
        return Network(
            form, len(hosts), sum(bool(unit.up) for unit in self.units), np.array(self.capacity, np.int64),
            "bytes/s", names.__getitem__, hosts.__getitem__,
        )


def _joined(parts: Sequence[Int64]) -> Int64:
    return np.concatenate(list(chain([np.empty(0, np.int64)], parts))).astype(np.int64)
