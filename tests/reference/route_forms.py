"""Routes of every form, as the list of links (with shares) that a flow uses.

They follow the definitions rather than the compiled arithmetic: coordinates are tuples, fat tree nodes are
digit strings, dragonfly ports are tables.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64

Path = list[tuple[int, int, int]]  # link, numerator, denominator
Router = Callable[[int, int], "Path | None"]


#: Shares of flows that split at every vertex are multiples of 1 / WHOLE_FLOW.
WHOLE_FLOW = 2**40


def even_part(share: int, turn: int, count: int) -> int:
    """Return part number `turn` of `share` divided into `count` parts that differ by at most one."""
    return share * (turn + 1) // count - share * turn // count


def _digits(number: int, sizes: list[int]) -> list[int]:
    """Return the coordinates of `number`, the last one varying fastest."""
    return [int(c) for c in np.unravel_index(number, sizes)] if sizes else []


def grid(numbers: Int64, table: Int32, *_: Any) -> Router:
    """Dimension-ordered routes of a torus or mesh; at half a ring positive, or both directions if spread."""
    per_router, dimensions, *rest = numbers.tolist()
    sizes, wrapped, spread = rest[:dimensions], rest[dimensions : 2 * dimensions], rest[2 * dimensions]

    def step(d: int, here: int, there: int) -> int:
        forward = (there - here) % sizes[d]
        if here == there:
            return 0
        return 1 if (forward <= sizes[d] - forward if wrapped[d] else there > here) else -1

    def all_ways(at: list[int], goal: list[int]) -> Path:
        ways = [step(d, at[d], goal[d]) for d in range(dimensions)]  # directions are decided at the source
        halfway = [d for d in range(dimensions) if wrapped[d] and 2 * abs(at[d] - goal[d]) == sizes[d]]
        taken: Path = []
        for turn in range(2 ** len(halfway)):
            for place, d in enumerate(halfway):
                ways[d] = -1 if turn >> place & 1 else 1
            taken += by_these(at, goal, ways, even_part(WHOLE_FLOW, turn, 2 ** len(halfway)))
        return taken

    def by_these(at: list[int], goal: list[int], ways: list[int], flow: int) -> Path:
        shares = {tuple(at): flow}
        taken: Path = []
        while shares:
            after: dict[tuple[int, ...], int] = {}
            for here, share in shares.items():
                open_ways = [d for d in range(dimensions) if here[d] != goal[d]]
                for turn, d in enumerate(open_ways):
                    part = even_part(share, turn, len(open_ways))
                    if part:
                        router = int(np.ravel_multi_index(here, sizes))
                        taken.append((router * 2 * dimensions + 2 * d + (ways[d] < 0), part, WHOLE_FLOW))
                    there = (*here[:d], (here[d] + ways[d]) % sizes[d], *here[d + 1 :])
                    after[there] = after.get(there, 0) + part
            shares = after
        return taken

    def path(source: int, target: int) -> Path:
        routers = [node // per_router for node in (source, target)]
        if len(table):
            routers = [int(table[router]) for router in routers]
        at, goal = (_digits(router, sizes) for router in routers)
        if spread:
            return all_ways(at, goal)
        taken: Path = []
        for d in range(dimensions):
            way = step(d, at[d], goal[d])
            while at[d] != goal[d]:
                router = int(np.ravel_multi_index(at, sizes))
                taken.append((router * 2 * dimensions + 2 * d + (way < 0), 1, 1))
                at[d] = (at[d] + way) % sizes[d]
        return taken

    return path


def forwarding(numbers: Int64, table: Int32, first: Int32, head: Int32) -> Router:
    """Routes by destination-based forwarding tables."""
    endpoints, hosts = int(numbers[0]), numbers[3:]

    def path(source: int, target: int) -> Path | None:
        taken: Path = []
        if len(hosts) and hosts[source] == hosts[target]:
            return taken
        vertex, seen = source, set()
        while vertex != target:
            row = int(first[vertex])
            link = int(table[row * endpoints + target]) if row >= 0 else -2 - row
            if link < 0 or vertex in seen:
                return None
            seen.add(vertex)
            taken.append((link, 1, 1))
            vertex = int(head[link])
        return taken

    return path


def listed(numbers: Int64, table: Int32, first: Int32, head: Int32) -> Router:
    """Routes that are listed one by one."""
    endpoints = int(numbers[0])
    pair_start, link_start = numbers[1 : endpoints + 2], numbers[endpoints + 2 :]
    routes: dict[tuple[int, int], Path] = {}
    for source in range(endpoints):
        for pair in range(int(pair_start[source]), int(pair_start[source + 1])):
            links = table[int(link_start[pair]) : int(link_start[pair + 1])].tolist()
            routes[source, int(first[pair])] = [(link, 1, 1) for link in links]
    return lambda source, target: [] if source == target else routes.get((source, target))


def fat_tree(numbers: Int64, *_: Any) -> Router:
    """Routes of fat trees by digit strings: a switch of level i has the upper digits of its nodes and i own.
    """
    h, _nodes, rule, *rest = numbers.tolist()
    below, above, cables = rest[:h], rest[h : 2 * h], rest[2 * h :]

    number: dict[tuple[Any, ...], int] = {}  # (level, upper digits, own digits, parent, copy) -> cable
    for level in range(h):
        # The upper digits are the position among the units of `below`, outermost first. The own digits are
        # listed with the last chosen one first.
        uppers = itertools.product(*(range(b) for b in reversed(below[level:])))
        for upper in uppers:
            for own in itertools.product(*(range(a) for a in reversed(above[:level]))):
                for parent in range(above[level]):
                    for copy in range(cables[level]):
                        number[level, upper, own, parent, copy] = len(number)

    def upper_digits(node: int, level: int) -> tuple[int, ...]:
        digits = []
        for b in below:
            digits.append(node % b)
            node //= b
        return tuple(reversed(digits[level:]))

    def path(source: int, target: int) -> Path:
        top = next(i for i in range(h + 1) if upper_digits(source, i) == upper_digits(target, i))
        taken: Path = []
        if rule == 2:
            for node, down in ((source, 0), (target, 1)):
                for level in range(top):
                    owns = list(itertools.product(*(range(a) for a in reversed(above[:level]))))
                    all_up = list(itertools.product(owns, range(above[level]), range(cables[level])))
                    for own, parent, copy in all_up:
                        cable = number[level, upper_digits(node, level), own, parent, copy]
                        taken.append((2 * cable + down, 1, len(all_up)))
            return taken
        key, own = (target, source)[rule], ()
        for level in range(top):
            port = key // int(np.prod(above[:level], dtype=np.int64)) % (above[level] * cables[level])
            parent, copy = port % above[level], port // above[level]
            ends = [upper_digits(node, level) for node in (source, target)]
            up, down = (number[level, upper, own, parent, copy] for upper in ends)
            taken.insert(level, (2 * up, 1, 1))  # links up, followed by links down from the top
            taken.insert(level + 1, (2 * down + 1, 1, 1))
            own = (parent, *own)
        return taken

    return path


def hyperx(numbers: Int64, *_: Any) -> Router:
    """Routes of a HyperX: one hop per differing coordinate."""
    per_router, dimensions, *sizes = numbers.tolist()
    routers = int(np.prod(sizes))
    number: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    for at in itertools.product(*map(range, sizes)):
        for d in range(dimensions):
            for to in range(sizes[d]):
                if to != at[d]:
                    number[at, (*at[:d], to, *at[d + 1 :])] = 2 * routers * per_router + len(number)

    def path(source: int, target: int) -> Path:
        if source == target:
            return []
        at = tuple(_digits(source // per_router, sizes))
        goal = tuple(_digits(target // per_router, sizes))
        taken: Path = [(2 * source, 1, 1)]
        for d in range(dimensions):
            after = (*at[:d], goal[d], *at[d + 1 :])
            if after != at:
                taken.append((number[at, after], 1, 1))
            at = after
        return [*taken, (2 * target + 1, 1, 1)]

    return path


def _dragonfly_cables(groups: int, ports: int, palm: bool) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Return (a, b) -> (port of a, port of b) of every link between two groups, in the order of copies."""
    peer_of = {}
    for group in range(groups):
        others = [o for o in range(groups) if o != group]
        if palm:
            others = [(group - step) % groups for step in range(1, groups)]
        for port in range(ports):
            peer_of[group, port] = (others[port % (groups - 1)], port // (groups - 1))
    cables: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for (a, port), (b, copy) in peer_of.items():
        for back in range(ports):
            if peer_of[b, back] == (a, copy):
                cables.setdefault((a, b), []).append((port, back))
    return cables


def dragonfly(numbers: Int64, *_: Any) -> Router:
    """Routes of dragonflies: groups of routers, where every group has links to all others."""
    groups, routers, nodes, global_ports, palm, rule = numbers.tolist()
    cables = _dragonfly_cables(groups, routers * global_ports, bool(palm)) if groups > 1 else {}
    first_local = 2 * groups * routers * nodes
    local: dict[tuple[int, int, int], int] = {}
    for group in range(groups):
        for a, b in itertools.permutations(range(routers), 2):
            local[group, a, b] = first_local + len(local)
    first_global = first_local + len(local)

    def leg(a: int, here: int, b: int, there: int | None, target: int, part: int) -> tuple[Path, int]:
        """Return a link between groups with the links to and from it; None as `there` ends at its router."""

        def length(cable: tuple[int, int]) -> int:
            out, back = cable[0] // global_ports, cable[1] // global_ports
            return 1 + int(out != here) + int(there is not None and back != there)

        fewest = min(map(length, cables[a, b]))
        ties = [cable for cable in cables[a, b] if length(cable) == fewest]
        chosen = ties if rule == 1 else [ties[target % len(ties)]]
        taken: Path = []
        for out, back in chosen:
            share = (1, part * len(chosen))
            if out // global_ports != here:
                taken.append((local[a, here, out // global_ports], *share))
            taken.append((first_global + a * routers * global_ports + out, *share))
            if there is not None and back // global_ports != there:
                taken.append((local[b, back // global_ports, there], *share))
        return taken, chosen[-1][1] // global_ports

    def path(source: int, target: int) -> Path:
        if source == target:
            return []
        (a, here), (b, there) = divmod(source // nodes, routers), divmod(target // nodes, routers)
        taken: Path = [(2 * source, 1, 1)]
        vias = [g for g in range(groups) if g not in (a, b)] if rule == 2 else []
        if a == b:
            taken += [(local[a, here, there], 1, 1)] if here != there else []
        elif vias:
            for via in vias:
                links, landing = leg(a, here, via, None, target, len(vias))
                taken += links + leg(via, landing, b, there, target, len(vias))[0]
        else:
            taken += leg(a, here, b, there, target, 1)[0]
        return [*taken, (2 * target + 1, 1, 1)]

    return path


def spread(numbers: Int64, table: Int32, first: Int32, head: Int32) -> Router:
    """Routes over all shortest paths; every vertex divides a flow evenly."""
    endpoints, vertices, *rest = numbers.tolist()
    out, hosts = rest[: int(first[vertices])], rest[int(first[vertices]) :]

    def path(source: int, target: int) -> Path | None:
        shares: dict[int, int] = {source: WHOLE_FLOW}
        taken: Path = []
        if hosts and hosts[source] == hosts[target]:
            return taken
        while target not in shares:
            after: dict[int, int] = {}
            for vertex, share in shares.items():
                links = out[first[vertex] : first[vertex + 1]]
                ways = {link: int(table[int(head[link]) * endpoints + target]) for link in links}
                least = min((way for way in ways.values() if way >= 0), default=None)
                if least is None:
                    return None
                nearer = [link for link in links if ways[link] == least]
                for turn, link in enumerate(nearer):
                    part = even_part(share, turn, len(nearer))
                    if part:
                        taken.append((link, part, WHOLE_FLOW))
                        after[int(head[link])] = after.get(int(head[link]), 0) + part
            shares = after
        return taken

    return path


ROUTERS = (grid, forwarding, listed, fat_tree, hyperx, dragonfly, spread)
