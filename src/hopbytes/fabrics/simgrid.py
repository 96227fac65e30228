"""SimGrid platform files: clusters of every shape, and zones of hosts, links and routes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.hostlist import HOST_NAME
from hopbytes.safe_xml import Element, read_xml

MAX_HOSTS = 2**20
QUANTITY = re.compile(r"([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,3})?)\s*([A-Za-z]*)", re.ASCII)
PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
BINARY = {"Ki": 2**10, "ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", re.ASCII)
#: Elements that are read; those that say something about the network and are not read are refused.
REFUSED = {"peer", "cabinet", "trace_connect", "bypassRoute", "bypassZoneRoute", "bypassASroute", "include"}


@dataclass(frozen=True, slots=True)
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


@dataclass(slots=True)
class Platform:
    """What a platform file holds.

    Parameters
    ----------
    path : str
    clusters : dict of name → Cluster
    hosts : dict of name → line
        Hosts given one by one.
    links : dict of name → bytes per second
    split : set of str
        Links that carry each direction on its own (SPLITDUPLEX).
    routes, zone_routes : dict of (source, target) → links
        Between hosts, and between clusters; both directions where the file says so.
    """

    path: str
    clusters: dict[str, Cluster] = field(default_factory=dict)
    hosts: dict[str, int] = field(default_factory=dict)
    links: dict[str, int] = field(default_factory=dict)
    split: set[str] = field(default_factory=set)
    routes: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    zone_routes: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)

    @property
    def host_names(self) -> tuple[str, ...]:
        """All hosts, cluster by cluster, then single ones."""
        return (*(host for cluster in self.clusters.values() for host in cluster.hosts), *self.hosts)


def bytes_per_second(path: str, line: int, text: str) -> int:
    """Read a bandwidth like ``125MBps`` or ``1Gbps`` (a plain number: bytes per second), rounded down.

    Raises
    ------
    FormatError
        Another unit, or less than one byte per second.

    Examples
    --------
    >>> bytes_per_second("x", 1, "2.25GBps"), bytes_per_second("x", 1, "1Gbps")
    (2250000000, 125000000)
    """
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

    def fail(self, line: int, what: str) -> FormatError:
        return FormatError(self.platform.path, line, what)

    def read(self, element: Element) -> None:
        """Read an element and, for zones, those inside."""
        tag, attributes, line = element.tag, element.attributes, element.line
        if tag == "cluster":
            self._cluster(attributes, line)
        elif tag == "host":
            self._host(self._needed(attributes, "id", tag, line), line)
        elif tag == "link":
            self._link(attributes, line)
        elif tag in ("route", "zoneRoute", "ASroute"):
            self._route(element)
        elif tag in REFUSED:
            where = f"{self.platform.path}:{line}"
            raise UnsupportedError(f"{where}: <{tag}> is not read, only clusters, links and routes are")
        elif tag in ("platform", "zone", "AS"):
            for child in element.children:
                self.read(child)

    def _route(self, element: Element) -> None:
        attributes, line = element.attributes, element.line
        source, target = (self._needed(attributes, key, element.tag, line) for key in ("src", "dst"))
        links = []
        for crossed in element.named("link_ctn"):
            name = self._needed(crossed.attributes, "id", "link_ctn", crossed.line)
            direction = crossed.get("direction").upper()
            links.append(f"{name}_{direction}" if direction in ("UP", "DOWN") else name)
        ways = [(source, target, tuple(links))]
        if element.get("symmetrical", "YES").upper() in ("YES", "TRUE") and source != target:
            ways.append((target, source, tuple(_reversed(name) for name in reversed(links))))
        table = self.platform.routes if element.tag == "route" else self.platform.zone_routes
        for one, other, names in ways:
            if table.setdefault((one, other), names) != names:
                raise self.fail(line, f"a second route from {one!r} to {other!r}, expected one")

    def _needed(self, attributes: dict[str, str], key: str, tag: str, line: int) -> str:
        if not attributes.get(key):
            raise self.fail(line, f"<{tag}> without {key}=, expected one")
        return attributes[key]

    def _host(self, name: str, line: int) -> None:
        if not HOST_NAME.fullmatch(name):
            raise self.fail(line, f"host name {name[:40]!r}, expected letters, digits, '.', '_' and '-' only")
        if name in self.platform.hosts:
            raise self.fail(line, f"host {name!r} a second time, first at line {self.platform.hosts[name]}")
        self.platform.hosts[name] = line

    def _link(self, attributes: dict[str, str], line: int) -> None:
        name = self._needed(attributes, "id", "link", line)
        if name in self.platform.links:
            raise self.fail(line, f"link {name!r} a second time, expected distinct names")
        text = self._needed(attributes, "bandwidth", "link", line)
        self.platform.links[name] = bytes_per_second(self.platform.path, line, text)
        if attributes.get("sharing_policy", "SHARED").upper() in ("SPLITDUPLEX", "FULLDUPLEX"):
            self.platform.split.add(name)

    def _cluster(self, attributes: dict[str, str], line: int) -> None:
        name = self._needed(attributes, "id", "cluster", line)
        if name in self.platform.clusters:
            raise self.fail(line, f"cluster {name!r} a second time, expected distinct names")
        path = self.platform.path
        prefix, suffix = attributes.get("prefix", ""), attributes.get("suffix", "")
        hosts = tuple(
            f"{prefix}{number}{suffix}"
            for number in self._radical(self._needed(attributes, "radical", "cluster", line), line)
        )
        if not HOST_NAME.fullmatch(hosts[0]):
            raise self.fail(line, f"host name {hosts[0][:40]!r}, expected letters, digits, '.', '_' and '-'")
        backbone = attributes.get("bb_bw")
        self.platform.clusters[name] = Cluster(
            name, hosts, attributes.get("topology", "FLAT").upper(), attributes.get("topo_parameters", ""),
            bytes_per_second(path, line, self._needed(attributes, "bw", "cluster", line)),
            bytes_per_second(path, line, backbone) if backbone else None,
            attributes.get("sharing_policy", "SPLITDUPLEX").upper() == "SHARED", line,
        )

    def _radical(self, text: str, line: int) -> list[int]:
        numbers: list[int] = []
        for word in text.split(","):
            found = RANGE.fullmatch(word.strip())
            first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, -1)
            if last < first or len(numbers) + last - first >= MAX_HOSTS:
                raise self.fail(line, f"radical {word[:30]!r}, expected N or N-M, at most {MAX_HOSTS} hosts")
            numbers += range(first, last + 1)
        return numbers


def _reversed(name: str) -> str:
    if name.endswith("_UP"):
        return name[:-3] + "_DOWN"
    return name[:-5] + "_UP" if name.endswith("_DOWN") else name


def read_simgrid(path: str) -> Platform:
    """Read a SimGrid platform (version 4): clusters, and zones of hosts, links and full routes.

    Parameters
    ----------
    path : str
        XML, possibly compressed. The document type is never fetched.

    Raises
    ------
    FormatError
        With path and line: no such XML, attributes that are missing or cannot be read, names twice, no
        host at all.
    UnsupportedError
        Elements that change routes and are not read (peers, cabinets, bypasses).

    Notes
    -----
    O(bytes + hosts). Speeds, latencies and properties are not kept. Source: SimGrid's own examples.
    """
    reader = _Reader(path)
    reader.read(read_xml(path, root="platform"))
    names = reader.platform.host_names
    if not names:
        raise FormatError(path, None, "no host, expected a <cluster> or <host>")
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise FormatError(path, None, f"host {twice!r} in two places, expected distinct names")
    return reader.platform
