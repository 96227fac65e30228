"""Reference implementation of ``core/grouping/group.hpp``: the grouping of TreeMatch by its definitions."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb, inf

from hopbytes._arrays import Int32
from hopbytes.kernels.records import Csr
from reference.graph_reference import arcs_of

PACKED, SMALLEST, LARGEST_LAST, WEIGHTED, HEAVIEST, LEAST_DEGREE, IN_ORDER, EXACT = range(8)
STARTS = 10
STEPS = 100_000
MOST_EXACT = 12

Group = tuple[int, ...]


class _OutOfStepsError(Exception):
    """The budget of the search for the shortest prefix is used up."""


def group_objects(
    graph: Csr, arity: int, list_up_to: int, credit: int, group: Int32, threads: int = 1
) -> int:
    """Fill `group` (int32[p]) with numbers by smallest member; return the index of the best heuristic."""
    p = len(graph[0]) - 1
    weight = [[0] * p for _ in range(p)]
    for v, u, w in arcs_of(graph):
        weight[v][u] = w
    packed = [tuple(range(first, first + arity)) for first in range(0, p, arity)]
    tried = [(PACKED, packed)]
    if 1 < arity < p:
        tried += _listed(weight, arity) if comb(p, arity) <= list_up_to else _grown(weight, arity)
    if 1 < arity < p <= MOST_EXACT and comb(p, arity) <= list_up_to:
        tried.append((EXACT, _exact(weight, arity)))

    def score(item: tuple[int, list[Group]]) -> int:
        total = sum(_leaving(weight, each) for each in item[1])
        return total * (1000 - credit if item[0] == PACKED else 1000)

    which, best = min(tried, key=score)  # min prefers the first of equally good groupings
    for number, members in enumerate(sorted(best, key=min)):
        group[list(members)] = number
    return which


def _leaving(weight: list[list[int]], group: Group) -> int:
    return sum(sum(weight[v]) - sum(weight[v][u] for u in group) for v in group)


def _listed(weight: list[list[int]], arity: int) -> list[tuple[int, list[Group]]]:
    p = len(weight)
    value = {group: _leaving(weight, group) for group in combinations(range(p), arity)}
    order = sorted(value, key=lambda group: (value[group], group))
    found = [(SMALLEST, _greedy([start, *order], p)) for start in order[:STARTS]]
    found.append((LARGEST_LAST, _largest_last(order, p)))
    conflicts = {
        group: sum(value[other] for other in order if other != group and set(other) & set(group))
        for group in order
    }
    degree = {group: Fraction(conflicts[group], value[group]) if value[group] else inf for group in order}
    degree_first = sorted(order, key=lambda group: (-degree[group], value[group], group))
    return [*found, (WEIGHTED, _greedy(degree_first, p))]


def _exact(weight: list[list[int]], arity: int) -> list[Group]:
    """Return groups with the largest weight inside; of equal ones the set with the smallest binary number."""

    @cache
    def best(free: Group) -> tuple[int, tuple[Group, ...]]:
        if not free:
            return 0, ()
        found: tuple[int, tuple[Group, ...]] | None = None
        groups = [(free[0], *others) for others in combinations(free[1:], arity - 1)]
        for group in sorted(groups, key=lambda members: sum(1 << v for v in members)):
            kept, rest = best(tuple(v for v in free if v not in group))
            kept += sum(weight[u][v] for u, v in combinations(group, 2))
            if found is None or kept > found[0]:
                found = kept, (group, *rest)
        assert found is not None
        return found

    return list(best(tuple(range(len(weight))))[1])


def _greedy(order: list[Group], p: int) -> list[Group]:
    free, taken = set(range(p)), []
    for group in order:
        if free.issuperset(group):
            free.difference_update(group)
            taken.append(group)
    return taken


def _largest_last(order: list[Group], p: int) -> list[Group]:
    rank = {group: place for place, group in enumerate(order)}
    found, left = _greedy(order, p), [STEPS]
    while left[0] > 0:
        end = max(rank[group] for group in found)
        try:
            cover = _cover(order[:end], set(range(p)), left)
        except _OutOfStepsError:
            break
        if cover is None:
            break
        found = cover
    return found


def _cover(prefix: list[Group], free: set[int], left: list[int]) -> list[Group] | None:
    if not free:
        return []
    first = min(free)
    for group in prefix:
        if first not in group:
            continue
        left[0] -= 1
        if left[0] <= 0:
            raise _OutOfStepsError
        if free.issuperset(group):
            rest = _cover(prefix, free.difference(group), left)
            if rest is not None:
                return [group, *rest]
    return None


def _grown(weight: list[list[int]], arity: int) -> list[tuple[int, list[Group]]]:
    p = len(weight)
    degree = [sum(row) for row in weight]
    by_degree = sorted(range(p), key=lambda v: (degree[v], v))

    def heaviest(free: set[int]) -> int:
        return max(free, key=lambda v: (max((weight[v][u] for u in free), default=0), -v))

    seeds: dict[int, Callable[[set[int]], int]] = {
        HEAVIEST: heaviest,
        LEAST_DEGREE: lambda free: next(v for v in by_degree if v in free),
        IN_ORDER: lambda free: min(free),
    }
    found = []
    for which, seed in seeds.items():
        free, groups = set(range(p)), []
        while free:
            members = [seed(free)]
            free.discard(members[0])
            while len(members) < arity:
                link = {v: sum(weight[v][u] for u in members) for v in free}
                if max(link.values()) > 0:
                    chosen = min(free, key=lambda v: (-link[v], degree[v], v))
                else:
                    chosen = next(v for v in by_degree if v in free)
                members.append(chosen)
                free.discard(chosen)
            groups.append(tuple(members))
        found.append((which, groups))
    return found
