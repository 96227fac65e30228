"""A described machine as hosts, routers, links with bandwidths and latencies, and static routes."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

import hopbytes as hb
from hopbytes.simulation.links import node_links

#: Name → machine of 32 cores: links of 20 Mbit/s; latencies below 0.1 ms are those of the computer itself.
FABRICS = {
    "flat": "node:8@10:bw=2400000:lat=2e-3 core:4@1:bw=1e9:lat=1e-5",
    "fat_tree": "fattree:4x2:up=1x1:bw=2400000:lat=3e-5 / core:4@1:bw=1e9:lat=1e-5",
    "mesh": "mesh:4x2:bw=2400000:lat=3e-5 / core:4@1:bw=1e9:lat=1e-5",
    "torus": "torus:4x2:bw=2400000:lat=5e-4 / core:4@1:bw=1e9:lat=1e-5",
    "dragonfly": "dragonfly:4x2x1:bw=2400000:lat=3e-5 / core:4@1:bw=1e9:lat=1e-5",
    "rails": "rails:8x4:pod=4:spines=2:bw=21600000x2400000x2400000:lat=3e-5",
    "small": "fattree:2x2:up=1x1:bw=2400000:lat=1e-3 / core:2@1:bw=1e9:lat=1e-5",
}


@dataclass(frozen=True)
class Link:
    """A directed link: name and number in the model, vertices at its ends, bytes per second, seconds."""

    name: str
    number: int
    tail: int
    head: int
    bandwidth: float
    latency: float


@dataclass(frozen=True)
class Fabric:
    """What is built of a machine; hosts are the vertices from 0 on, one per endpoint, routers follow.

    Links that no route takes are left out. A route is the list of its links, by position in `links`.
    """

    where: hb.Allocation
    host_of_core: tuple[int, ...]
    hosts: int
    vertices: int
    links: tuple[Link, ...]
    routes: dict[tuple[int, int], tuple[int, ...]]

    def name(self, vertex: int) -> str:
        """Return the host name of a vertex."""
        return f"n{vertex}" if vertex < self.hosts else f"router{vertex - self.hosts}"

    def cables(self) -> list[tuple[int, int | None]]:
        """Pair every link with one in the opposite direction, None where there is none."""
        waiting = defaultdict[tuple[int, int], list[int]](list)
        found: list[tuple[int, int | None]] = []
        for number, link in enumerate(self.links):
            if waiting[link.head, link.tail]:
                found.append((waiting[link.head, link.tail].pop(0), number))
            else:
                waiting[link.tail, link.head].append(number)
        return found + [(number, None) for numbers in waiting.values() for number in numbers]

    def next_links(self, vertex: int) -> tuple[dict[int, int], dict[tuple[int, int], int]]:
        """Return the link that leaves a vertex for each target, and for pairs that take another."""
        leaving = {number for number, link in enumerate(self.links) if link.tail == vertex}
        taken = {pair: link for pair, route in self.routes.items() for link in route if link in leaving}
        votes = defaultdict[int, Counter[int]](Counter)
        for (_, target), link in taken.items():
            votes[target][link] += 1
        usual = {target: counts.most_common(1)[0][0] for target, counts in votes.items()}
        return usual, {pair: link for pair, link in taken.items() if usual[pair[1]] != link}


def fabric(spec: str) -> Fabric:
    """Return the hosts and links of a machine; the ends of links follow from the routes of all pairs."""
    where = hb.allocate(spec)
    links = node_links(where, None)
    endpoints, host_of_core = np.unique(links.endpoint_of_pe, return_inverse=True)
    pairs = [(a, b) for a in range(len(endpoints)) for b in range(len(endpoints)) if a != b]
    ends = np.array(pairs, np.int32).T
    routes = links.routes(*(np.ascontiguousarray(endpoints[end], np.int32) for end in ends))
    if routes.numerators is not None:
        raise SystemExit(f"{spec}: flows take several paths, expected one route per pair of hosts")
    lists = [part.tolist() for part in np.split(routes.links, routes.indptr[1:-1])]
    used = sorted({link for route in lists for link in route})
    position = {link: index for index, link in enumerate(used)}
    # Ends that are one vertex: the head of a link and the tail of the next; a host and where its routes end.
    same = dict[object, object]()

    def vertex(end: object) -> object:
        while same.setdefault(end, end) != end:
            end = same[end]
        return end

    stops = [
        [a, *((link, way) for link in route for way in ("tail", "head")), b]
        for (a, b), route in zip(pairs, lists, strict=True)
    ]
    if links.wiring is not None:
        wired = {"tail": links.wiring.tail, "head": links.wiring.head}
        stops += [[(link, way), str(wired[way][link])] for link in used for way in wired]
    for each in stops:
        for near, far in zip(each[::2], each[1::2], strict=True):
            low, high = sorted((vertex(near), vertex(far)), key=lambda end: not isinstance(end, int))
            same[high] = low
    heads = [vertex(host) for host in range(len(endpoints))]
    if len(set(heads)) < len(heads):
        raise SystemExit(f"{spec}: two hosts at one place of the network, expected a link between any two")
    numbers = {root: host for host, root in enumerate(heads)}
    built = []
    for link in used:
        tail, head = (numbers.setdefault(vertex((link, way)), len(numbers)) for way in ("tail", "head"))
        speed, wait = float(links.capacity[link]), float(links.latency[link])
        built.append(Link(links.name_link(link), link, tail, head, speed, wait))
    return Fabric(
        where, tuple(host_of_core.tolist()), len(endpoints), len(numbers), tuple(built),
        {pair: tuple(position[link] for link in route) for pair, route in zip(pairs, lists, strict=True)},
    )  # fmt: skip
