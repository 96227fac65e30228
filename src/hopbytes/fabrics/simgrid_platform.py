"""What a SimGrid platform file holds: zones with points, links, and routes between them."""

from __future__ import annotations

from dataclasses import dataclass, field

from hopbytes._frozen import frozen


@frozen
class Cluster:
    """A ``<cluster>``: hosts of one kind.

    Parameters
    ----------
    name : str
    hosts : tuple of str
        In the order of the radical.
    topology : str
        ``FLAT``, ``TORUS``, ``FAT_TREE`` or ``DRAGONFLY``.
    parameters : str
        ``topo_parameters`` as written.
    bandwidth : int
        Bytes per second of a host's (or the topology's) links.
    backbone : int or None
        Bytes per second of the backbone all traffic crosses.
    shared : bool
        One link carries both directions of a host.
    line : int
    """

    name: str
    hosts: tuple[str, ...]
    topology: str
    parameters: str
    bandwidth: int
    backbone: int | None
    shared: bool
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
    """Points (hosts, routers, zones inside) and how messages go from one to another.

    Parameters
    ----------
    name : str
    parent : str
        Zone around it; empty for the outermost.
    routing : str
        In capitals: ``FULL``, ``FLOYD``, ``DIJKSTRA``, ``CLUSTER``, …
    line : int
    points : list of str
        In the order of the file.
    hops : dict of (point, point) → Hop
    up, down : dict of host → link
        Of hosts with a link of their own to the middle of a cluster.
    backbone, router : str
        Link that all traffic of a cluster crosses, and the router through which it leaves; empty without.
    cluster : Cluster or None
        What the ``<cluster>`` said, which the zone is.
    """

    name: str
    parent: str
    routing: str
    line: int = 0
    points: list[str] = field(default_factory=list)
    hops: dict[tuple[str, str], Hop] = field(default_factory=dict)
    up: dict[str, str] = field(default_factory=dict)
    down: dict[str, str] = field(default_factory=dict)
    backbone: str = ""
    router: str = ""
    cluster: Cluster | None = None


@dataclass(slots=True)
class Platform:
    """What a platform file holds.

    Parameters
    ----------
    path : str
    zones : dict of name → Zone
    clusters : dict of name → Cluster
    hosts : dict of name → line
        All hosts in the order of the file.
    zone_of : dict of name → zone
        Of hosts, routers and zones; empty for the outermost.
    links : dict of name → bytes per second
    split : set of str
        Links that carry each direction on its own (SPLITDUPLEX).
    cores : dict of host → int
    speeds : set of str
        Speeds of hosts as written.
    ignored : set of str
        What the file says and mappings do not know.
    """

    path: str
    zones: dict[str, Zone] = field(default_factory=dict)
    clusters: dict[str, Cluster] = field(default_factory=dict)
    hosts: dict[str, int] = field(default_factory=dict)
    zone_of: dict[str, str] = field(default_factory=dict)
    links: dict[str, int] = field(default_factory=dict)
    split: set[str] = field(default_factory=set)
    cores: dict[str, int] = field(default_factory=dict)
    speeds: set[str] = field(default_factory=set)
    ignored: set[str] = field(default_factory=set)

    @property
    def host_names(self) -> tuple[str, ...]:
        """All hosts in the order of the file, with ``_`` for blanks, which no list of hosts can hold."""
        return tuple(host.replace(" ", "_") for host in self.hosts)

    @property
    def notices(self) -> tuple[str, ...]:
        """What of the file has no effect, in sentences."""
        said = [f"{self.path}: not read, without effect: {', '.join(sorted(self.ignored))}"]
        blanks = sum(" " in host for host in self.hosts)
        if blanks:
            said.append(f"{self.path}: '_' stands for the blanks in the names of {blanks} hosts")
        if len(self.speeds) > 1:
            said.append(f"{self.path}: hosts have {len(self.speeds)} speeds, mappings take them for equal")
        return tuple(said[not self.ignored :])
