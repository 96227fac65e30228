"""Reference implementation of ``core/routing/hop_*.hpp``: mapping of groups by hops.

Groups are given as a dictionary of weights, and places as a table of distances. All values are recomputed
whenever they are needed. Every place holds at most one group, which must not exceed its capacity.
"""

from collections.abc import Callable, Iterator, Sequence

Weights = list[dict[int, int]]
Distances = Sequence[Sequence[int]]


def levels_around(sources: Sequence[int], near: Distances) -> Iterator[list[int]]:
    """Yield the places around given places by hops to the nearest of these, ascending within a level."""
    if not sources:
        return
    least = [min(near[s][p] for s in sources) for p in range(len(near))]
    for level in sorted(set(least)):
        yield [p for p in range(len(near)) if least[p] == level]


def volume_to(weights: Weights, group: int, others: Callable[[int], bool]) -> int:
    """Return the weight between a group and the others for which `others` holds."""
    return sum(w for other, w in weights[group].items() if others(other))


def cost_of(weights: Weights, place: Sequence[int], distance: Distances) -> int:
    """Return the sum over pairs of assigned groups of weight x distance."""
    return sum(
        w * distance[place[a]][place[b]]
        for a in range(len(weights))
        for b, w in weights[a].items()
        if a < b and place[a] >= 0 and place[b] >= 0
    )


class Fit:
    """Decides which group may take which place, so that large places remain for large groups."""

    def __init__(self, sizes: Sequence[int], capacities: Sequence[int]) -> None:
        self.distinct = sorted(set(capacities))
        self.group_class = [self._class(size) for size in sizes]
        self.place_class = [self._class(capacity) for capacity in capacities]

    def _class(self, amount: int) -> int:
        return min(sum(each < amount for each in self.distinct), len(self.distinct) - 1)

    def by_rarity(self) -> list[int]:
        """Return the classes of groups, rare ones first, and in case of ties the largest first."""
        return sorted(set(self.group_class), key=lambda c: (self.group_class.count(c), -c))

    def fits(self, group: int, place: int) -> bool:
        """Return whether the place is large enough."""
        return self.place_class[place] >= self.group_class[group]

    def allows(self, group: int, place: int, where: Sequence[int]) -> bool:
        """Return whether the group may take a free place, given the places of all groups (-1: unassigned)."""
        free = [p for p in range(len(self.place_class)) if p not in where]
        for c in range(self.group_class[group] + 1, self.place_class[place] + 1):
            have = sum(self.place_class[p] >= c for p in free)
            need = sum(k >= c for g, k in enumerate(self.group_class) if where[g] < 0)
            if have <= need:
                return False
        return self.fits(group, place)


def hop_greedy(
    weights: Weights, sizes: Sequence[int], capacities: Sequence[int], near: Distances, distance: Distances,
    seeds: int,
) -> list[int]:
    """Return the place of every group; see ``HopGreedy``."""
    fit, places, place = Fit(sizes, capacities), range(len(capacities)), [-1] * len(weights)
    total = [sum(row.values()) for row in weights]
    count = 0
    for rank in fit.by_rarity():
        while waiting := [g for g in range(len(weights)) if place[g] < 0 and fit.group_class[g] == rank]:
            free = [p for p in places if p not in place]
            if count == 0:
                group = max(waiting, key=lambda g: (total[g], -g))
                choices = [p for p in free if fit.allows(group, p, place)]
                where = min(choices or free, key=lambda p: (max(distance[p]), p))
            else:
                group = _next_group(weights, total, place, waiting, count <= seeds)
                where = _best_place(weights, fit, place, near, distance, group, free)
            place[group] = where
            count += 1
    return place


def _next_group(
    weights: Weights, total: Sequence[int], place: Sequence[int], waiting: list[int], far: bool
) -> int:
    if not far:
        return max(waiting, key=lambda g: (volume_to(weights, g, lambda o: place[o] >= 0), total[g], -g))
    depth = {g: 0 for g in range(len(weights)) if place[g] >= 0}
    frontier = list(depth)
    while frontier:
        found = {o: depth[g] + 1 for g in frontier for o in weights[g] if o not in depth}
        depth |= found
        frontier = list(found)
    return max(waiting, key=lambda g: (depth.get(g, 2**31), total[g], -g))


def _best_place(
    weights: Weights, fit: Fit, place: Sequence[int], near: Distances, distance: Distances, group: int,
    free: list[int],
) -> int:
    def cost(p: int) -> tuple[int, int]:
        return sum(w * distance[p][place[o]] for o, w in weights[group].items() if place[o] >= 0), p

    allowed = [p for p in free if fit.allows(group, p, place)]
    if not allowed:
        return min(free, key=cost)
    sources = [place[o] for o in weights[group] if place[o] >= 0]
    if not sources:
        filled = [p for p in place if p >= 0]
        return max(allowed, key=lambda p: (min(distance[p][q] for q in filled), -p))
    for level in levels_around(sources, near):
        if choices := [p for p in level if p in allowed]:
            return min(choices, key=cost)
    raise AssertionError("an allowed place is on some level")


def hop_swap(
    weights: Weights, sizes: Sequence[int], capacities: Sequence[int], near: Distances, distance: Distances,
    place: Sequence[int], delta: int,
) -> list[int]:
    """Return the places after the passes of exchanges; see ``HopSwap``."""
    fit, where = Fit(sizes, capacities), list(place)
    better = True
    while better:
        before, done = cost_of(weights, where, distance), set[int]()
        while len(done) < len(weights):
            group = max(
                (sum(w * distance[where[g]][where[o]] for o, w in weights[g].items()), -g)
                for g in range(len(weights)) if g not in done
            )[1] * -1
            done.add(group)
            for p in near_places(weights, where, near, group, delta):
                changed = exchanged(where, group, p)
                if not may_exchange(fit, where, group, p):
                    continue
                if cost_of(weights, changed, distance) < cost_of(weights, where, distance):
                    where = changed
                    break
        better = cost_of(weights, where, distance) < before
    return where


def near_places(
    weights: Weights, where: Sequence[int], near: Distances, group: int, delta: int
) -> list[int]:
    """Return the first `delta` places around the communication partners of a group, without its own place."""
    sources = [where[o] for o in weights[group]]
    around = [p for level in levels_around(sources, near) for p in level if p != where[group]]
    return around[:delta]


def exchanged(where: Sequence[int], group: int, place: int) -> list[int]:
    """Return the places after `group` moved to `place` and the group there moved the other way."""
    return [
        place if g == group else where[group] if p == place else p for g, p in enumerate(where)
    ]


def may_exchange(fit: Fit, where: Sequence[int], group: int, place: int) -> bool:
    """Return whether both groups fit their new places."""
    others = [g for g, p in enumerate(where) if p == place]
    return fit.fits(group, place) and all(fit.fits(other, where[group]) for other in others)
