"""The platform file of SimGrid for a machine: one host per place, its links, and the routes of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

import numpy as np

from hopbytes._arrays import Bool, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import MARK
from hopbytes.kernels.routes import Routes
from hopbytes.model.allocation import Allocation
from hopbytes.simulation.between_places import BATCH, Places
from hopbytes.simulation.node_links import NodeLinks

#: Hosts up to which a platform has the routes of all pairs.
ALL_PAIRS = 256
HEAD = (
    f'<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<!-- {MARK} -->\n'
    '<platform version="4.1">\n<zone id="machine" routing="Full">\n'
)


@frozen(eq=False)
class Platform:
    """What a platform file is made of."""

    links: NodeLinks
    places: Places
    where: Allocation  # gives hosts their names
    copy: tuple[float, float]  # (float, float): Bytes per second and seconds of messages inside a host
    speed: float = 1e9  # floating-point operations per second of a process, for programs that compute

    @property
    def hosts(self) -> list[str]:
        """Name of every host: that of its node, and its endpoint where a node has several."""
        names = self.where.hosts
        nodes = self.places.node.tolist()
        base = [names[node] if names else f"n{node}" for node in nodes]
        if len(set(nodes)) == len(nodes):
            return base
        return [f"{name}-{end}" for name, end in zip(base, self.places.endpoint.tolist(), strict=True)]

    def text(self, sources: Int64, targets: Int64) -> Iterator[bytes]:
        """Yield the file, with routes of these pairs of places (all different, no place twice in a pair).

        Links are directed. Where flows are spread over several paths, a pair takes one of them.
        """
        yield HEAD.encode()
        names = self.hosts
        rows = [f'<host id={quoteattr(name)} speed="{self.speed!r}f" core="1024"/>' for name in names]
        rate, wait = self.copy
        rows += [_link(f"copy{number}", rate, wait, "FATPIPE") for number in range(len(names))]
        # One of these links per host: one that all flows share would make them a single large problem.
        rows += [_link(f"message{at}", 1e15, self.links.message, "FATPIPE") for at in range(len(names))]
        rows += [
            f"<route src={quoteattr(name)} dst={quoteattr(name)}><link_ctn id=\"copy{number}\"/></route>"
            for number, name in enumerate(names)
        ]
        ways, used = self._routes(sources, targets)
        rows[len(names) : len(names)] = [
            _link(f"l{link}", self.links.capacity[link], self.links.latency[link], "SHARED")
            for link in np.flatnonzero(used).tolist()
        ]
        yield ("\n".join(rows) + "\n").encode()
        yield from ways
        yield b"</zone>\n</platform>\n"

    def _routes(self, sources: Int64, targets: Int64) -> tuple[list[bytes], Bool]:
        """Return the lines of routes, and which links they take."""
        names, ends, unit = self.hosts, self.places.endpoint, self.places.unit
        used = np.zeros(len(self.links.capacity), bool)
        pieces: list[bytes] = []
        for start in range(0, len(sources), BATCH):
            part = slice(start, start + BATCH)
            first, second = ends[sources[part]], ends[targets[part]]
            routes = self._single_paths(self.links.routes(first, second), first, second)
            used[routes.links] = True
            bounds, taken, lines = routes.indptr.tolist(), routes.links.tolist(), []
            for pair, (a, b) in enumerate(zip(sources[part].tolist(), targets[part].tolist(), strict=True)):
                crossed = [f"l{link}" for link in taken[bounds[pair] : bounds[pair + 1]]]
                if self.links.message or not crossed:
                    crossed.insert(0, f"message{a}")
                if unit[a] == unit[b]:
                    crossed = [f"copy{a}"]
                body = "".join(f'<link_ctn id="{link}"/>' for link in crossed)
                ways = f"src={quoteattr(names[a])} dst={quoteattr(names[b])}"
                lines.append(f'<route {ways} symmetrical="NO">{body}</route>\n')
            pieces.append("".join(lines).encode())
        return pieces, used

    def _single_paths(self, routes: Routes, sources: object, targets: object) -> Routes:
        if routes.numerators is None:
            return routes
        wiring = self.links.wiring
        if wiring is None:
            raise UnsupportedError("simulate: flows are spread over several paths, expected grade bound")
        starts, paths = [0], []
        at = wiring.at
        for pair, (a, b) in enumerate(zip(np.asarray(sources), np.asarray(targets), strict=True)):
            held = np.unique(routes.links[routes.indptr[pair] : routes.indptr[pair + 1]])
            paths += _one_path(held, wiring.tail, wiring.head, int(at[a]), int(at[b]), pair)
            starts.append(len(paths))
        return Routes(np.array(starts, np.int64), np.array(paths, np.int64), None, None)


def every_pair(count: int) -> tuple[Int64, Int64]:
    """Return all pairs of different places."""
    sources, targets = np.divmod(np.arange(count * count, dtype=np.int64), max(1, count))
    apart = sources != targets
    return sources[apart], targets[apart]


def _link(name: str, bandwidth: float, latency: float, policy: str) -> str:
    values = f'bandwidth="{float(bandwidth)!r}Bps" latency="{float(latency)!r}s"'
    return f'<link id="{name}" {values} sharing_policy="{policy}"/>'


def _one_path(links: Int64, tail: Int64, head: Int64, start: int, end: int, turn: int) -> list[int]:
    """Return one of the shortest paths over some links; `turn` chooses among equal ones."""
    if start == end:
        return []
    leaving: dict[int, list[int]] = {}
    for link in np.roll(links, turn).tolist():
        leaving.setdefault(int(tail[link]), []).append(link)
    came: dict[int, int] = {start: -1}
    ahead = [start]
    while ahead and end not in came:
        found: list[int] = []
        for vertex in ahead:
            for link in leaving.get(vertex, ()):
                other = int(head[link])
                if other not in came:
                    came[other] = link
                    found.append(other)
        ahead = found
    path: list[int] = []
    while end in came and end != start:
        path.append(came[end])
        end = int(tail[came[end]])
    return path[::-1]
