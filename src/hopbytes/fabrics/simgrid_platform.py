"""What a SimGrid platform file holds: zones with points, links, and routes between them."""

from __future__ import annotations

from dataclasses import dataclass, field

from hopbytes._frozen import frozen


@frozen
class Cluster:
    """A ``<cluster>``: hosts of one kind."""

    name: str
    hosts: tuple[str, ...]  # in the order of the radical
    topology: str  # ``FLAT``, ``TORUS``, ``FAT_TREE`` or ``DRAGONFLY``
    parameters: str  # ``topo_parameters`` as written
    bandwidth: int  # bytes per second of a host's (or the topology's) links
    backbone: int | None  # bytes per second of the backbone all traffic crosses
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
    cluster: Cluster | None = None  # what the ``<cluster>`` said, which the zone is


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
        said = [f"{self.path}: not read, without effect: {', '.join(sorted(self.ignored))}"]
        blanks = sum(" " in host for host in self.hosts)
        if blanks:
            said.append(f"{self.path}: '_' stands for the blanks in the names of {blanks} hosts")
        if len(self.speeds) > 1:
            said.append(f"{self.path}: hosts have {len(self.speeds)} speeds, mappings take them for equal")
        return tuple(said[not self.ignored :])
