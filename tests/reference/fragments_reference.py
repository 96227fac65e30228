"""Reference implementation of trees, chains and natural cuts (``core/partition/coarsening``)."""

from collections import deque

from hopbytes._arrays import Int32, Int64
from reference.parallel_reference import PlainRandom, plain_rows

_Graph = tuple[Int64, Int32, Int64 | None]


def _numbered(leader: list[int]) -> tuple[list[int], int]:
    number = {each: i for i, each in enumerate(sorted(set(leader)))}
    return [number[each] for each in leader], len(number)


def cluster_tree_parts(
    graph: _Graph, loads: Int64, max_cluster: int, communities: list[int]
) -> tuple[list[int], int]:
    """Return the cluster of every vertex and their number (coarsening/tree_parts.hpp)."""
    arcs, load = plain_rows(*graph), loads.tolist()
    n = len(arcs)
    leader, degree = list(range(n)), [len(row) for row in arcs]

    def name(v: int) -> int:
        while leader[v] != v:
            v = leader[v]
        return v

    def join(v: int, u: int) -> None:
        leader[v] = u
        load[u] += load[v]

    def fits(v: int, u: int) -> bool:
        return load[v] + load[u] <= max_cluster and communities[v] == communities[u]

    leaves = deque(v for v in range(n) if degree[v] == 1)
    while leaves:
        v = leaves.popleft()
        left = [u for u, _ in arcs[v] if leader[u] == u]
        if degree[v] == 1 and fits(v, left[0]):
            join(v, left[0])
            degree[left[0]] -= 1
            if degree[left[0]] == 1:
                leaves.append(left[0])
    in_tree = [leader[v] != v for v in range(n)]
    for v in range(n):
        if in_tree[v] or degree[v] != 2:
            continue
        beside = [(name(u), weight) for u, weight in arcs[v] if not in_tree[u]]
        choice = [(-weight, load[c], c) for c, weight in beside if c != name(v) and fits(name(v), c)]
        if choice:
            first = min(choice, key=lambda each: each[:2])
            join(name(v), first[2])
    return _numbered([name(v) for v in range(n)])


def _minimum_cut(arcs: list[list[tuple[int, int]]], core: list[int], region: set[int]) -> set[int]:
    """Return the side of the core in the minimum cut that is nearest to it; what lies outside is the sink."""
    capacity = {(v, u): weight for v in region for u, weight in arcs[v]}
    flow: dict[tuple[int, int], int] = {}
    while True:
        before: dict[int, int] = dict.fromkeys(core, -1)
        queue, outside = deque(core), None
        while queue and outside is None:
            v = queue.popleft()
            for u, weight in arcs[v]:
                if u in before or flow.get((v, u), 0) >= weight:
                    continue
                before[u] = v
                if u not in region:
                    outside = u
                    break
                queue.append(u)
        if outside is None:
            return set(before)
        path = [outside]
        while before[path[-1]] >= 0:
            path.append(before[path[-1]])
        steps = list(zip(path[1:], path[:-1], strict=True))
        room = min(capacity[step] - flow.get(step, 0) for step in steps)
        for v, u in steps:
            flow[v, u] = flow.get((v, u), 0) + room
            flow[u, v] = flow.get((u, v), 0) - room


def fragments_between_natural_cuts(
    graph: _Graph, loads: Int64, region: int, cores_per_region: int, seed: int
) -> tuple[list[int], int]:
    """Return the fragment of every vertex and their number (coarsening/natural_cuts.hpp)."""
    arcs, load = plain_rows(*graph), loads.tolist()
    n = len(arcs)
    covered, cut = [False] * n, set()
    for centre in PlainRandom(seed).shuffled(range(n)):
        if covered[centre]:
            continue
        members, held, whole = [centre], load[centre], True
        inside = {centre}
        for v in members:  # grows meanwhile
            for u, _ in arcs[v]:
                if u not in inside and held + load[u] > region:
                    whole = False
                elif u not in inside:
                    inside.add(u)
                    members.append(u)
                    held += load[u]
        core: list[int] = []
        heavy = 0
        for v in members:
            if not core or heavy * cores_per_region < held:
                core.append(v)
                heavy += load[v]
        for v in core:
            covered[v] = True
        if not whole:
            side = _minimum_cut(arcs, core, inside)
            cut |= {frozenset((v, u)) for v in side for u, _ in arcs[v] if u not in side}
    leader = [-1] * n
    for first in range(n):
        stack = [first] if leader[first] < 0 else []
        while stack:
            v = stack.pop()
            leader[v] = first
            stack += [u for u, _ in arcs[v] if leader[u] < 0 and frozenset((v, u)) not in cut]
    return _numbered(leader)
