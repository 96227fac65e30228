"""Twins of the kernels on routes: every form as the list of links (with shares) that a flow takes.

They are written from the definitions rather than from the compiled arithmetic: coordinates are tuples,
fat tree nodes are digit strings, dragonfly ports are tables.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Path = list[tuple[int, int, int]]  # link, numerator, denominator
Router = Callable[[int, int], "Path | None"]


def _digits(number: int, sizes: list[int]) -> list[int]:
    """Coordinates of `number`, the last varying fastest."""
    return [int(c) for c in np.unravel_index(number, sizes)] if sizes else []


def grid(numbers: Int64, *_: Any) -> Router:
    """Torus or mesh, dimension by dimension, positive direction first at half ring."""
    per_router, dimensions, *rest = numbers.tolist()
    sizes, wrapped = rest[:dimensions], rest[dimensions:]

    def path(source: int, target: int) -> Path:
        at, goal = _digits(source // per_router, sizes), _digits(target // per_router, sizes)
        taken: Path = []
        for d in range(dimensions):
            forward = (goal[d] - at[d]) % sizes[d]
            positive = forward <= sizes[d] - forward if wrapped[d] else goal[d] > at[d]
            while at[d] != goal[d]:
                router = int(np.ravel_multi_index(at, sizes))
                taken.append((router * 2 * dimensions + 2 * d + (0 if positive else 1), 1, 1))
                at[d] = (at[d] + (1 if positive else -1)) % sizes[d]
        return taken

    return path


def forwarding(numbers: Int64, table: Int32, first: Int32, head: Int32) -> Router:
    """Destination-based tables."""
    endpoints = int(numbers[0])

    def path(source: int, target: int) -> Path | None:
        taken: Path = []
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
    """Routes written down."""
    endpoints = int(numbers[0])
    pair_start, link_start = numbers[1 : endpoints + 2], numbers[endpoints + 2 :]
    routes: dict[tuple[int, int], Path] = {}
    for source in range(endpoints):
        for pair in range(int(pair_start[source]), int(pair_start[source + 1])):
            links = table[int(link_start[pair]) : int(link_start[pair + 1])].tolist()
            routes[source, int(first[pair])] = [(link, 1, 1) for link in links]
    return lambda source, target: [] if source == target else routes.get((source, target))


def fat_tree(numbers: Int64, *_: Any) -> Router:
    """Digit strings: a switch of level i has the upper digits of its nodes and i digits of its own."""
    h, _nodes, rule, *rest = numbers.tolist()
    below, above, cables = rest[:h], rest[h : 2 * h], rest[2 * h :]

    number: dict[tuple[Any, ...], int] = {}  # (level, upper digits, own digits, parent, copy) -> cable
    for level in range(h):
        # Upper digits: position among the units of `below`, outermost first; own digits, last chosen first.
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
            for node, down in ((source, 0), (target, 1)):
                taken.append((2 * number[level, upper_digits(node, level), own, parent, copy] + down, 1, 1))
            own = (parent, *own)
        return taken

    return path


def hyperx(numbers: Int64, *_: Any) -> Router:
    """One hop per differing coordinate."""
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
    """(a, b) -> (port of a, port of b) of every link between two groups, in the order of copies."""
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
    """Groups of all-linked routers."""
    groups, routers, nodes, global_ports, palm, rule = numbers.tolist()
    cables = _dragonfly_cables(groups, routers * global_ports, bool(palm)) if groups > 1 else {}
    first_local = 2 * groups * routers * nodes
    local: dict[tuple[int, int, int], int] = {}
    for group in range(groups):
        for a, b in itertools.permutations(range(routers), 2):
            local[group, a, b] = first_local + len(local)
    first_global = first_local + len(local)

    def leg(a: int, here: int, b: int, there: int | None, target: int, part: int) -> tuple[Path, int]:
        """One link between groups and what leads to and from it; `there` None ends where it arrives."""

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


ROUTERS = (grid, forwarding, listed, fat_tree, hyperx, dragonfly)


def _router(form: int, numbers: Int64, table: Int32, first: Int32, head: Int32) -> Router:
    return ROUTERS[form](numbers, table, first, head)


def _shortest(form: int, numbers: Int64, path: Path | None, source: int, target: int, minimal: Router) -> int:
    if path is None:
        return -1
    if ROUTERS[form] is dragonfly:  # flows on detours: count the links of the minimal route
        path = minimal(source, target) or []
        return len(path)
    links: Fraction = sum((Fraction(above, below) for _, above, below in path), Fraction(0))
    return int(links)


def route_hops(
    form: int,
    numbers: Int64,
    table: Int32,
    first: Int32,
    head: Int32,
    sources: Int32,
    targets: Int32,
    hops: Int64,
) -> None:
    """Fill the number of links of a shortest route; -1 without a route."""
    router = _router(form, numbers, table, first, head)
    minimal = router
    if ROUTERS[form] is dragonfly:
        minimal = dragonfly(np.array([*numbers[:5], 0]))
    for i, (source, target) in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
        hops[i] = _shortest(form, numbers, router(source, target), source, target, minimal)


def hop_table(
    form: int,
    numbers: Int64,
    table: Int32,
    first: Int32,
    head: Int32,
    endpoints: Int32,
    hops: NDArray[np.uint16],
) -> int:
    """Fill hops between all pairs; return the number of pairs without a route."""
    count = len(endpoints)
    found = np.empty(count * count, np.int64)
    route_hops(
        form, numbers, table, first, head, np.repeat(endpoints, count), np.tile(endpoints, count), found
    )
    hops[:] = np.where((found < 0) | (found > 65535), 65535, found)
    return int(np.count_nonzero(found < 0))


def route_visits(
    form: int,
    numbers: Int64,
    table: Int32,
    first: Int32,
    head: Int32,
    sources: Int32,
    targets: Int32,
    start: Int64,
) -> None:
    """Fill where the links of each route begin."""
    router = _router(form, numbers, table, first, head)
    start[0] = 0
    for i, (source, target) in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
        start[i + 1] = start[i] + len(router(source, target) or [])


def route_links(
    form: int,
    numbers: Int64,
    table: Int32,
    first: Int32,
    head: Int32,
    sources: Int32,
    targets: Int32,
    start: Int64,
    links: Int64,
    numerators: Int64,
    denominators: Int64,
) -> None:
    """Fill links and shares of each route, in the order of the kernel where that matters not: sorted."""
    router = _router(form, numbers, table, first, head)
    for i, (source, target) in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
        for place, entry in enumerate(router(source, target) or [], start=int(start[i])):
            links[place], numerators[place], denominators[place] = entry


def share_of(amount: int, numerator: int, denominator: int, shift: int) -> int:
    """Return amount x numerator / denominator in units of 2**-shift, rounded, halves up."""
    return int((Fraction(amount * numerator, denominator) * 2**shift + Fraction(1, 2)) // 1)


def link_amounts(
    form: int,
    numbers: Int64,
    table: Int32,
    first: Int32,
    head: Int32,
    indptr: Int64,
    arc_targets: Int32,
    weights: Int64,
    endpoints: Int32,
    shift: int,
    amounts: Int64,
) -> int:
    """Add every arc's share to the links it takes; return the first arc without a route or -1."""
    router = _router(form, numbers, table, first, head)
    unrouted = -1
    for i in range(len(indptr) - 1):
        for e in range(int(indptr[i]), int(indptr[i + 1])):
            here, there = int(endpoints[i]), int(endpoints[arc_targets[e]])
            path = router(here, there) if here != there else []
            if path is None and unrouted < 0:
                unrouted = e
            for link, above, below in path or []:
                amounts[link] += share_of(int(weights[e]) if len(weights) else 1, above, below, shift)
    return unrouted


def arcs_over_link(
    form: int,
    numbers: Int64,
    table: Int32,
    first: Int32,
    head: Int32,
    indptr: Int64,
    arc_targets: Int32,
    endpoints: Int32,
    link: int,
    marked: NDArray[np.uint8],
) -> None:
    """Mark the arcs whose flow uses `link`."""
    router = _router(form, numbers, table, first, head)
    for i in range(len(indptr) - 1):
        for e in range(int(indptr[i]), int(indptr[i + 1])):
            here, there = int(endpoints[i]), int(endpoints[arc_targets[e]])
            path = router(here, there) if here != there else []
            marked[e] = any(taken == link for taken, _, _ in path or [])


def hop_histogram(
    form: int, numbers: Int64, table: Int32, first: Int32, head: Int32, indptr: Int64, arc_targets: Int32,
    weights: Int64, endpoints: Int32, flows: Int64, amounts: Int64,
) -> int:
    """Count arcs by hops; return how many have no route or too long a one."""
    sources = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    here, there = endpoints[sources], endpoints[arc_targets]
    hops = np.empty(len(arc_targets), np.int64)
    route_hops(form, numbers, table, first, head, here, there, hops)
    left_out = 0
    for e in np.flatnonzero(here != there).tolist():
        if not 0 <= hops[e] < len(flows):
            left_out += 1
            continue
        flows[hops[e]] += 1
        amounts[hops[e]] += weights[e] if len(weights) else 1
    return left_out


def shortest_table(tails: Int32, heads: Int32, rows: Int32, n_endpoints: int, table: Int32) -> None:
    """Fill forwarding tables along shortest ways, found by relaxing all links until nothing changes."""
    links = list(zip(tails.tolist(), heads.tolist(), strict=True))
    for target in range(n_endpoints):
        distance = {target: 0}
        passing = {vertex for vertex, row in enumerate(rows.tolist()) if row >= 0} | {target}
        for _ in range(len(rows)):
            for tail, head in links:
                if head in distance and head in passing:
                    distance[tail] = min(distance.get(tail, len(rows)), distance[head] + 1)
        for vertex, row in enumerate(rows.tolist()):
            if row < 0:
                continue
            ways = [
                link
                for link, (tail, head) in enumerate(links)
                if tail == vertex != target
                and head in passing
                and distance.get(head, -2) + 1 == distance.get(tail)
            ]
            table[row * n_endpoints + target] = ways[target % len(ways)] if ways else -1


def unit_traffic(
    indptr: Int64, targets: Int32, weights: Int64, units: Int32, sent: Int64, received: Int64
) -> tuple[int, int]:
    """Add what units send and receive; return the weight between and inside units."""
    between = inside = 0
    for i in range(len(indptr) - 1):
        for e in range(int(indptr[i]), int(indptr[i + 1])):
            weight, far = int(weights[e]) if len(weights) else 1, int(targets[e])
            if units[i] != units[far]:
                between += weight
                sent[units[i]] += weight
                received[units[far]] += weight
            elif i != far:
                inside += weight
    return between, inside


def summarize_links(amounts: Int64, prices: Int64) -> tuple[int, ...]:
    """Return the parts that :class:`hopbytes.kernels.routes.LoadSummary` is made of."""
    values = [int(a) * (int(prices[i]) if len(prices) else 1) for i, a in enumerate(amounts.tolist())]
    used = sum(1 for a in amounts.tolist() if a)
    most = max([value for value, a in zip(values, amounts.tolist(), strict=True) if a], default=0)
    total, squares = sum(values), sum(value * value for value in values)
    word = 0xFFFFFFFF
    return (
        used,
        most,
        values.index(most) if used else -1,
        values.count(most) if used else 0,
        total >> 32,
        total & word,
        squares >> 64,
        squares >> 32 & word,
        squares & word,
    )


def change_links(
    prices: Int64, n_links: int, links: Int64, amounts: Int64, ask: Int64, result: Int64
) -> tuple[int, ...]:
    """Apply changes one by one, summing up from scratch where asked."""
    held = np.zeros(n_links, np.int64)
    place = 0
    for link, amount, asked in zip(links.tolist(), amounts.tolist(), ask.tolist(), strict=True):
        held[link] += amount
        if asked:
            result[place : place + 3] = summarize_links(held, prices)[1:4]
            place += 3
    return summarize_links(held, prices)
