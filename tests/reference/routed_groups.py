"""Reference of ``routing/congestion_swap.hpp`` and ``routing/ptram.hpp``: mapping by link loads.

Routes are a callable that returns the links from one place to another. Loads are recomputed for every
exchange that is tried.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from reference.groups import Distances, Fit, exchanged, levels_around, may_exchange, near_places

Arcs = list[tuple[int, int, int]]
Routes = Callable[[int, int], Sequence[int]]


class World(NamedTuple):
    """Directed arcs (source, target, volume), routes, price per link, sizes, capacities, hops.

    If places have several `ports`, routes lead from port to port (place x ports + port), and `doors` are the
    ports at which every arc begins and ends.
    """

    arcs: Arcs
    routes: Routes
    prices: Sequence[int]
    sizes: Sequence[int]
    capacities: Sequence[int]
    near: Distances
    ports: int = 1
    doors: Sequence[tuple[int, int]] = ()

    def way(self, arc: int, where: Sequence[int]) -> Sequence[int]:
        """Return the links of an arc for given places of the groups; none if an end is unassigned (-1)."""
        a, b, _ = self.arcs[arc]
        out, in_ = self.doors[arc] if self.doors else (0, 0)
        if a == b or where[a] < 0 or where[b] < 0:
            return ()
        return self.routes(where[a] * self.ports + out, where[b] * self.ports + in_)

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.sizes)


def loads(world: World, where: Sequence[int]) -> list[int]:
    """Return the volume on every link; arcs with an unassigned end (-1) do not count."""
    found = [0] * len(world.prices)
    for arc, (_, _, volume) in enumerate(world.arcs):
        for link in world.way(arc, where):
            found[link] += volume
    return found


def rank(world: World, where: Sequence[int], paper: bool) -> tuple[float, ...]:
    """Return the values that exchanges lower lexicographically, by either rule of UMC."""
    load = loads(world, where)
    values = [amount * price for amount, price in zip(load, world.prices, strict=True)]
    top, used = max(values, default=0), sum(value > 0 for value in values)
    if paper:
        return top, sum(values) / used if used else 0.0
    return top, values.count(top), sum(value**2 for value in values), sum(load)


def congestion_swap(world: World, place: Sequence[int], delta: int, *, paper: bool = False) -> list[int]:
    """Return the places after exchanges that lower the load of the hottest links; see ``CongestionSwap``."""
    fit, where = Fit(world.sizes, world.capacities), list(place)
    partners: list[dict[int, int]] = [{} for _ in range(world.groups)]
    for a, b, volume in world.arcs:
        if a != b and volume > 0:
            partners[a][b] = partners[b][a] = 1
    while True:
        found = _relief(world, fit, partners, where, delta, paper)
        if found is None:
            return where
        where = found


def _relief(
    world: World, fit: Fit, partners: list[dict[int, int]], where: list[int], delta: int, paper: bool
) -> list[int] | None:
    values = [amount * price for amount, price in zip(loads(world, where), world.prices, strict=True)]
    top = max(values, default=0)
    if top == 0:
        return None
    for link in [link for link, value in enumerate(values) if value == top]:
        across = [0] * world.groups
        for arc, (a, b, volume) in enumerate(world.arcs):
            if link in world.way(arc, where):
                across[a] += volume
                across[b] += volume
        for group in sorted((g for g in range(world.groups) if across[g]), key=lambda g: (-across[g], g)):
            for p in near_places(partners, where, world.near, group, delta):
                changed = exchanged(where, group, p)
                if not may_exchange(fit, where, group, p):
                    continue
                if rank(world, changed, paper) < rank(world, where, paper):
                    return changed
    return None


def hybrid_value(world: World, where: Sequence[int], weights: Sequence[float]) -> float:
    """Return the weighted sum of hop-bytes and of maximum, mean and variance of congestion (load x price)."""
    load = loads(world, where)
    values = [amount * price for amount, price in zip(load, world.prices, strict=True)]
    used = sum(value > 0 for value in values)
    if not used:
        return 0.0
    mean = sum(values) / used
    variance = sum(value**2 for value in values) / used - mean * mean
    return weights[0] * sum(load) + weights[1] * max(values) + weights[2] * mean + weights[3] * variance


def hybrid_greedy(world: World, weights: Sequence[float], *, by_share: bool = False) -> list[int]:
    """Return the places that the greedy construction of PTRAM chooses; see ``ptram_greedy``."""
    fit, where = Fit(world.sizes, world.capacities), [-1] * world.groups
    for kind in fit.by_rarity():
        while waiting := [g for g in range(world.groups) if where[g] < 0 and fit.group_class[g] == kind]:
            placed = sum(p >= 0 for p in where)

            def volume_to_placed(g: int, placed: int = placed) -> tuple[int, int]:
                mine = [(a if b == g else b, v) for a, b, v in world.arcs if a != b and g in (a, b)]
                known = sum(v for other, v in mine if where[other] >= 0)
                return known * (placed + 1) + sum(v for other, v in mine if where[other] < 0), -g

            group = max(waiting, key=volume_to_placed)
            free = [p for p in range(len(world.capacities)) if p not in where]
            choices = [p for p in free if fit.allows(group, p, where)] or free[:1]
            share = world.groups / (placed + 1) if by_share else 1.0
            scaled = (weights[0] * share, *weights[1:])
            values = [(hybrid_value(world, _put(where, group, p), scaled), p) for p in choices]
            where[group] = min(values)[1]
    return where


def _put(where: Sequence[int], group: int, place: int) -> list[int]:
    return [place if g == group else p for g, p in enumerate(where)]


def hottest_link_refine(
    world: World, place: Sequence[int], nearest: int, rounds: int, *, paper: bool = True,
    nearby: bool = False, listing: bool = False,
) -> list[int]:
    """Return the places after the rounds of single exchanges of PTRAM; see ``ptram_refine``."""
    fit, where = Fit(world.sizes, world.capacities), list(place)
    for _ in range(rounds):
        values = [amount * price for amount, price in zip(loads(world, where), world.prices, strict=True)]
        top = max(values, default=0)
        if top == 0:
            break
        hot = [link for link, value in enumerate(values) if value == top]
        origins = {
            origin
            for arc, (a, b, volume) in enumerate(world.arcs)
            if volume > 0 and any(link in world.way(arc, where) for link in (hot[:1] if paper else hot))
            for origin in ((where[a],) if listing else (where[a], where[b]))
        }
        best = (top, 0 if paper else len(hot)), where
        for origin in sorted(origins):
            around = [
                p for level in levels_around([origin], world.near)
                for p in (sorted(level, key=lambda q: (abs(q - origin), q)) if nearby else level)
                if p != origin
            ]
            group = where.index(origin)
            for p in around[:nearest]:
                if may_exchange(fit, where, group, p) and (p in where or not listing):
                    changed = exchanged(where, group, p)
                    highest, count, *_ = rank(world, changed, paper=False)
                    peak = int(highest), 0 if paper else int(count)
                    if peak < best[0]:
                        best = peak, changed
        if best[1] is where:
            break
        where = best[1]
    return where
