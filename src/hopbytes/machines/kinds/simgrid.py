"""SimGrid platforms as machines."""

from __future__ import annotations

import re
from typing import cast

import numpy as np

from hopbytes._arrays import Bool, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.simgrid_file import read_simgrid
from hopbytes.fabrics.simgrid_platform import Cluster
from hopbytes.machines.base import KnownHosts, Machine, machines
from hopbytes.machines.common.attached_hosts import AttachedHosts
from hopbytes.machines.common.file_spec import file_spec
from hopbytes.machines.common.networked import NetworkMachine, check_nodes
from hopbytes.machines.common.spec_fields import bad
from hopbytes.machines.common.tree import MAX_DISTANCE, Tree
from hopbytes.machines.kinds.fattree import FatTree
from hopbytes.machines.kinds.torus import Torus
from hopbytes.machines.network.network import Network
from hopbytes.machines.network.simgrid_dragonfly import DragonflyCluster
from hopbytes.machines.network.simgrid_listed import MAX_LISTED, ListedRoutes
from hopbytes.machines.topology import Level

KEYS = {"hosts": "n[1-8]"}
_SIZES = "[0-9]+(?:,[0-9]+)*"
#: What ``topo_parameters`` of a shape look like without blanks.
SHAPES = {
    "TORUS": re.compile(_SIZES, re.ASCII),
    "FAT_TREE": re.compile(f"[0-9]{{1,9}};{_SIZES};{_SIZES};{_SIZES}", re.ASCII),
}


@machines.register("simgrid")
@frozen(eq=False)
class Simgrid(NetworkMachine):
    """Hosts of a SimGrid platform: ``simgrid:platform.xml``.

    One torus, fat-tree or dragonfly cluster becomes that network, with the bandwidth of its links. Flat
    clusters, with or without backbone, and hosts in zones of any depth (full, Floyd, Dijkstra, clusters with
    cabinets) have every route as SimGrid finds it: through the gateways of the zones, across the backbones;
    what SimGrid shares between directions is one link. ``hosts=n[1-8]`` (or ``@n[1-8]``) keeps some hosts.
    ``core=`` of hosts is the level ``core``, unless the spec says what is inside a node.

    Parameters
    ----------
    text : str
        Spec without distance per hop.
    links : Network
        Endpoint i is host i.
    hosts : tuple of str
    zones : tuple of tuple of int
        Numbers of the zones around each host, outermost first, as many for all.
    per_hop, inside
        See :class:`hopbytes.machines.common.networked.NetworkMachine`.
    warnings : tuple of str
        What of the file has no effect.
    """

    text: str
    links: Network
    hosts: tuple[str, ...]
    zones: tuple[tuple[int, ...], ...]
    per_hop: int | None = None
    inside: Tree | None = None
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_nodes(self)

    @classmethod
    def parse(cls, text: str) -> Machine:
        """Read ``FILE[@hosts or @distance per hop]``."""
        spec = file_spec("simgrid", text, KEYS)
        platform = read_simgrid(spec.path)
        shaped = [cluster for cluster in platform.clusters.values() if cluster.topology != "FLAT"]
        if shaped and len(platform.hosts) > len(shaped[0].hosts):
            raise UnsupportedError(
                f"{spec.path}:{shaped[0].line}: a {shaped[0].topology} cluster beside others; keep one"
            )
        text, said, hosts = spec.text("simgrid"), platform.notices, platform.host_names
        machine: Simgrid | _KeptHosts
        if shaped and shaped[0].topology != "DRAGONFLY":
            around = _shaped(spec.path, shaped[0])
            machine = _KeptHosts(text, around, hosts, _places(around), said, spec.per_hop)
        elif shaped:
            cluster = DragonflyCluster(spec.path, shaped[0], MAX_LISTED)
            machine = cls(text, cluster.network(), hosts, cluster.zones(), spec.per_hop, None, said)
        else:
            listed = ListedRoutes(platform)
            machine = cls(text, listed.network(), hosts, listed.zones, spec.per_hop, None, said)
        if "hosts" in spec.options:
            if isinstance(machine, Simgrid):
                machine = _KeptHosts(text, machine, hosts, tuple(range(len(hosts))), said, spec.per_hop)
            machine = cast("_KeptHosts", machine.kept(spec.options["hosts"]))
        cores = dict(zip(hosts, platform.cores.values(), strict=True))
        return _with_cores(machine, [cores[host] for host in machine.hosts])

    def nested(self, inside: Tree) -> Simgrid:
        """Return this machine with other levels inside its nodes than the cores of the file."""
        return self._replaced(self.per_hop, inside)

    def notices(self, used: Bool | None = None) -> tuple[str, ...]:
        """What of the file has no effect."""
        return self.warnings

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

    @property
    def known_hosts(self) -> KnownHosts:
        """The nodes of the file."""
        return KnownHosts(self.hosts, fixed=True)

    def network_spec(self) -> str:
        """The file."""
        return self.text

    def network(self) -> Network:
        """Links with the routes of the file."""
        return self.links

    def split_nodes(self, nodes: Int64) -> list[Int64]:
        """Zones from the outside in, then single hosts."""
        zones = np.asarray(self.zones)[nodes]
        for level in range(zones.shape[1]):
            numbers, first, part = np.unique(zones[:, level], return_index=True, return_inverse=True)
            if len(numbers) > 1:
                order = np.argsort(first)
                return [nodes[part == number] for number in order.tolist()]
        return list(nodes[:, None])


@frozen(eq=False)
class _KeptHosts(AttachedHosts):
    """Some hosts of a platform, or those of a network of one shape."""

    def nested(self, inside: Tree) -> _KeptHosts:
        """Return this machine with other levels inside its nodes than the cores of the file."""
        return self._replaced(self.per_hop, inside)


def _with_cores(machine: Simgrid | _KeptHosts, counts: list[int]) -> NetworkMachine:
    """Return the machine with as many cores in each node as the file says."""
    core = Level("core", 1)
    if max(counts) == 1:
        return machine
    if len(set(counts)) == 1:
        return machine.nested(Tree((core,), (counts[0],)))
    node = Level("node", MAX_DISTANCE)
    return machine.nested(Tree((node, core), (len(counts), tuple(counts))))


def _places(around: NetworkMachine) -> tuple[int, ...]:
    """Endpoint of each host: on a torus the first dimension, which routes correct first, runs fastest."""
    numbers = np.arange(around.n_nodes)
    if isinstance(around, Torus):
        numbers = numbers.reshape(around.sizes).transpose().reshape(-1)
    return tuple(numbers.tolist())


def _shaped(path: str, cluster: Cluster) -> NetworkMachine:
    """Return the network of a torus or fat-tree cluster."""
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
            "(known: FLAT, TORUS, FAT_TREE, DRAGONFLY)"
        )
    if machine.n_nodes != len(cluster.hosts):
        raise FormatError(
            path, cluster.line, f"{len(cluster.hosts)} hosts, expected {machine.n_nodes} for {words[:30]!r}"
        )
    return machine


def _network_of(topology: str, words: str, bandwidth: int) -> NetworkMachine | None:
    """Return the network; None of a topology that is not known. `words` fit :data:`SHAPES`."""
    if topology == "TORUS":
        return Torus.parse(f"{words.replace(',', 'x')}:bw={bandwidth}")
    if topology == "FAT_TREE":
        levels, down, up, cables = (part.replace(",", "x") for part in words.split(";"))
        if int(levels) != down.count("x") + 1:
            raise bad(f"{levels} levels, but sizes of {down.count('x') + 1}")
        return FatTree.parse(f"{down}:up={up}:cables={cables}:bw={bandwidth}")
    return None
