"""Networks given as a file of links, for those that no other kind describes."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, pairwise

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.kernels.routes import RouteForm, route_hops, shortest_table
from hopbytes.machines.base import KnownHosts, machines
from hopbytes.machines.kinds.table import parts_of, split_by_distance
from hopbytes.machines.network import MAX_TABLE, Network, Wiring, listed_routes, spread_routes
from hopbytes.machines.network_machine import NetworkMachine
from hopbytes.machines.spec_fields import changed_fields, check_choice, file_spec
from hopbytes.machines.tree import bad, shorten
from hopbytes.text.hostlist import expand_hosts
from hopbytes.text.lines import integer_in, read_lines

RULES = ("shortest", "spread")
#: Largest number of nodes whose hops are compared for all pairs, to cut the nodes in parts.
MAX_TO_COMPARE = 2**11
MAX_CAPACITY = 2**62
MAX_CABLES = 4096
WORDS = "host, switch, link, arc or route"


@machines.register("links")
@frozen(eq=False)
class Links(NetworkMachine):
    """Hosts, switches and links from a file: ``links:FILE``.

    Routes are shortest; of several links that begin a shortest path to host number t, the one number
    (t mod their count) in the order of the file is taken. ``route=spread``: every vertex divides a flow
    evenly over the links that lead nearer (equal-cost multipath). Hosts forward no messages, unless there is
    no switch. Where the file gives routes, only those exist. O(hosts x links).
    """

    path: str
    found: LinkFile = field(repr=False)
    rule: str
    links: Network = field(repr=False)

    def _identity(self) -> tuple[object, ...]:
        found = self.found
        routes = tuple(sorted(found.routes.items()))
        names = (tuple(found.hosts), tuple(found.switches), tuple(found.links), routes)
        return self.path, self.rule, names, self.hop_distance, self.inside

    @classmethod
    def parse(cls, text: str) -> Links:
        spec = file_spec("links", text, {"route": "spread"})
        found, rule = read_link_file(spec.path), spec.options.get("route", "shortest")
        check_choice("links: route", rule, RULES)
        if rule == "spread" and found.routes:
            raise bad(f"links: route=spread, but {shorten(spec.path)} gives routes: expected one of both")
        return cls(spec.path, found, rule, link_network(found, rule), per_hop=spec.per_hop)

    @property
    def n_nodes(self) -> int:
        return len(self.found.hosts)

    @property
    def known_hosts(self) -> KnownHosts:
        return KnownHosts(tuple(self.found.hosts))

    def network_spec(self) -> str:
        return f"links:{self.path}" + changed_fields(("route", self.rule, "shortest"))

    def network(self) -> Network:
        return self.links

    def split_nodes(self, nodes: Int64) -> list[Int64]:
        """Cut by hops: clusters at the largest distance, else two compact halves.

        Of more than 2048 nodes, only the hops to two nodes that are far apart are compared.
        """
        network = self.network()
        if len(nodes) <= MAX_TO_COMPARE:
            there = network.hops(nodes[:, None], nodes[None, :])
            there[there < 0] = int(there.max()) + 1  # no route: further than anything
            return parts_of(nodes, split_by_distance(there + there.T))
        end = nodes[int(network.hops(nodes[0], nodes).argmax())]
        near = network.hops(end, nodes)
        order = np.argsort(near - network.hops(nodes[int(near.argmax())], nodes), kind="stable")
        half = len(nodes) // 2
        return [np.sort(nodes[order[:half]]), np.sort(nodes[order[half:]])]


def link_network(found: LinkFile, rule: str = "shortest") -> Network:
    """Return the network that a file of links describes."""
    names = [*found.hosts, *found.switches]
    number = {name: index for index, name in enumerate(names)}
    tail = np.array([number[near] for near, _, _ in found.links], np.int32)
    head = np.array([number[far] for _, far, _ in found.links], np.int32)
    capacity = np.array([width for _, _, width in found.links], np.int64)
    seen: dict[tuple[str, str], int] = {}
    labels = []
    for near, far, _ in found.links:
        copy = seen[near, far] = seen.get((near, far), -1) + 1
        labels.append(f"{near} -> {far}" + (f" #{copy}" if copy else ""))
    hosts, switches = len(found.hosts), len(found.switches)
    if rule == "spread":
        _check_size(len(names), hosts)
        form = spread_routes(tail, head, _passing_rows(found), hosts)
    else:
        form = _given(found, number) if found.routes else _shortest(found, tail, head)
    return Network(
        form, hosts, switches, capacity, labels.__getitem__, names.__getitem__,
        lambda: Wiring(tail.astype(np.int64), head.astype(np.int64), np.arange(hosts), len(names)),
    )


def _shortest(found: LinkFile, tail: Int32, head: Int32) -> RouteForm:
    hosts, vertices = len(found.hosts), len(found.hosts) + len(found.switches)
    rows = _passing_rows(found)
    links_of = np.bincount(tail, minlength=vertices)
    passing = np.flatnonzero(rows >= 0)
    # A host with several links chooses among them and needs a row too; it must not forward flows of others.
    choosing = np.flatnonzero(links_of[:hosts] > 1) if found.switches else passing[:0]
    _check_size(len(passing) + len(choosing), hosts)
    table = [shortest_table(tail, head, rows, hosts)]
    first = rows.copy()
    for index, host in enumerate(choosing.tolist()):
        first[host] = len(passing) + index
        table.append(_choices(host, np.flatnonzero(tail == host), head, rows, table[0], hosts))
    only = np.flatnonzero((first < 0) & (links_of > 0))
    last_link = np.zeros(vertices, np.int64)
    last_link[tail] = np.arange(len(tail))
    first[only] = -2 - last_link[only]
    numbers = np.array([hosts, vertices, len(tail)], np.int64)
    return RouteForm("forwarding", numbers, np.concatenate(table), first, head)


def _passing_rows(found: LinkFile) -> Int32:
    """int32[vertices]: row of each vertex that forwards flows (switches, or all without any); else -1."""
    hosts, switches = len(found.hosts), len(found.switches)
    rows = np.arange(-hosts if switches else 0, switches if switches else hosts, dtype=np.int32)
    return np.maximum(rows, -1).astype(np.int32)


def _check_size(rows: int, hosts: int) -> None:
    if rows * hosts > MAX_TABLE:
        what = f"tables of {rows} vertices for {hosts} hosts, expected at most {MAX_TABLE} entries"
        raise UnsupportedError(f"{what}: leave hosts out, or use torus:, fattree:, dragonfly: or hyperx:")


def _choices(host: int, out: Int64, head: Int32, rows: Int32, table: Int32, hosts: int) -> Int32:
    """int32[hosts]: link by which a host with several links reaches every target soonest."""
    numbers = np.array([hosts, len(rows), len(head)], np.int64)
    base = RouteForm("forwarding", numbers, table, rows, head)
    targets = np.arange(hosts, dtype=np.int32)
    lengths = np.full((len(out), hosts), np.iinfo(np.int64).max)
    for row, link in enumerate(out.tolist()):
        after = int(head[link])
        hops = route_hops(base, np.full(hosts, after, np.int32), targets)
        hops[targets == after] = 0
        if after < hosts:  # a cable from host to host leads to that host only
            hops[targets != after] = -1
        lengths[row] = np.where(hops < 0, lengths[row], hops)
    least = lengths.min(axis=0)
    shortest = lengths == least[None, :]
    turn = targets % shortest.sum(axis=0)
    chosen = (np.cumsum(shortest, axis=0) > turn[None, :]).argmax(axis=0)
    return np.where(least == np.iinfo(np.int64).max, -1, out[chosen]).astype(np.int32)


def _given(found: LinkFile, number: dict[str, int]) -> RouteForm:
    first_link: dict[tuple[str, str], int] = {}
    for link, (near, far, _) in enumerate(found.links):
        first_link.setdefault((near, far), link)
    ends = np.array([(number[start], number[end]) for start, end in found.routes], np.int64)
    steps = [[first_link[step] for step in pairwise(route)] for route in found.routes.values()]
    lengths = np.array([len(route) for route in steps], np.int64)
    links = np.array(list(chain.from_iterable(steps)), np.int64)
    return listed_routes(len(found.hosts), ends[:, 0], ends[:, 1], lengths, links)


@dataclass(slots=True)
class LinkFile:
    """What a file of links says."""

    path: str
    #: in the order of the file; without any declaration all vertices are hosts
    hosts: list[str] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)
    links: list[tuple[str, str, int]] = field(default_factory=list)  # directed links: from, to, capacity
    #: given routes: vertices from source to target, both included
    routes: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)


def read_link_file(path: str) -> LinkFile:
    """Read a graph of links.

    A star of three hosts::

        host a b c
        switch s
        link a s 10
        link b s 10
        link c s 10 x2
    """
    found = LinkFile(path)
    known: dict[str, str] = {}
    pending: list[tuple[int, tuple[str, ...]]] = []
    for number, line in enumerate(read_lines(path), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        kind, rest = words[0], words[1:]
        if kind in ("host", "switch"):
            _declare(found, known, kind, rest, number)
        elif kind in ("link", "arc"):
            _link(found, kind, rest, number)
        elif kind == "route":
            if len(rest) < 2:
                raise FormatError(path, number, f"a route of {len(rest)} vertices, expected two or more")
            pending.append((number, tuple(rest)))
        else:
            raise FormatError(path, number, f"{kind[:40]!r}, expected {WORDS}")
    _settle(found, known, pending)
    return found


def _declare(found: LinkFile, known: dict[str, str], kind: str, rest: list[str], number: int) -> None:
    names = [name for word in rest for name in expand_hosts(word, found.path, number)]
    if not names:
        raise FormatError(found.path, number, f"{kind} without a name, expected {kind} NAME…")
    for name in names:
        if name in known:
            raise FormatError(found.path, number, f"{name[:40]!r} twice, expected every vertex once")
        known[name] = kind
    (found.hosts if kind == "host" else found.switches).extend(names)


def _link(found: LinkFile, kind: str, rest: list[str], number: int) -> None:
    words = list(rest)
    cables = 1
    if len(words) > 2 and words[-1].startswith("x"):
        text = words.pop()[1:]
        count = integer_in(text, 1, MAX_CABLES)
        if count is None:
            raise FormatError(found.path, number, f"x{text[:40]}, expected x1 to x{MAX_CABLES} cables")
        cables = count
    if len(words) not in (2, 3):
        raise FormatError(found.path, number, f"{len(rest)} words, expected {kind} FROM TO [CAPACITY] [xN]")
    near, far, *width = words
    capacity = integer_in(width[0], 1, MAX_CAPACITY) if width else 1
    if capacity is None:
        raise FormatError(found.path, number, f"capacity {width[0][:40]}, expected an integer > 0")
    if near == far:
        raise FormatError(found.path, number, f"a link from {near[:40]!r} to itself, expected two vertices")
    for _ in range(cables):
        found.links.append((near, far, capacity))
        if kind == "link":
            found.links.append((far, near, capacity))


def _settle(found: LinkFile, known: dict[str, str], pending: list[tuple[int, tuple[str, ...]]]) -> None:
    """Check what could only be checked at the end of the file."""
    if not known:
        found.hosts = list(dict.fromkeys(name for near, far, _ in found.links for name in (near, far)))
        known.update(dict.fromkeys(found.hosts, "host"))
    for near, far, _ in found.links:
        for name in (near, far):
            if name not in known:
                what = f"a link at {name[:40]!r}, expected a vertex declared by host or switch"
                raise FormatError(found.path, None, what)
    if not found.hosts:
        raise FormatError(found.path, None, "no host, expected lines like 'host n[1-4]' or 'link a b'")
    pairs = {(near, far) for near, far, _ in found.links}
    hosts = set(found.hosts)
    for number, vertices in pending:
        for near, far in pairwise(vertices):
            if (near, far) not in pairs:
                what = f"a route from {near!r} to {far!r}, expected a link there"
                raise FormatError(found.path, number, what)
        ends = vertices[0], vertices[-1]
        if not hosts.issuperset(ends) or ends[0] == ends[1] or ends in found.routes:
            what = f"a route from {ends[0]!r} to {ends[1]!r}, expected each pair of different hosts once"
            raise FormatError(found.path, number, what)
        again = next((i for i, name in enumerate(vertices) if name in vertices[:i]), None)
        if again is not None:
            loop = " -> ".join(vertices[vertices.index(vertices[again]) : again + 1])
            what = f"a route from {ends[0]!r} to {ends[1]!r} with a loop ({loop[:80]}), expected none"
            raise FormatError(found.path, number, what)
        found.routes[ends] = vertices
