"""Random machines for random runs, with the distances that their descriptions define, worked out anew."""

import itertools
from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np

import hopbytes as hb
from hopbytes.machines.kinds.table import Table
from hopbytes.model.allocation import Allocation

LEVELS = ("node", "package", "l3", "core")


@dataclass
class Place:
    """A machine as drawn: slots, what lies in between them, and how to say it."""

    where: Allocation  # what hopbytes is given
    distance: list[list[int]]  # k x k, from the definitions
    said: str  # what was drawn, for the report of a finding
    units: dict[str, list[int]] = field(default_factory=dict)  # unit of every PE per level that has a name
    hops: list[list[int]] | None = None  # between the nodes of PEs, on networks
    spec: str | None = None  # the machine for ``--on``; None where no words describe it


def _children(rng, units, widest):
    if rng.integers(3):
        return [int(rng.integers(1, widest + 1))] * units
    return [int(rng.integers(1, widest + 1)) for _ in range(units)]


def _tree(rng, names, most, furthest=2**40):
    """Return the spec, the path of every core (unit per level), and the distance per level."""
    paths, parts = [()], []
    steps = [int(rng.choice([0, 1, 1, 2, 9, 100])) for _ in names]
    if rng.integers(12) == 0:
        steps[0] = int(rng.choice([2**20, furthest]))
    distances = list(itertools.accumulate(reversed(steps)))[::-1]
    for name, distance in zip(names, distances, strict=True):
        children = _children(rng, len(paths), max(1, min(7, most // len(paths))))
        alike = len(set(children)) == 1
        parts.append(f"{name}:{children[0] if alike else str(children).replace(' ', '')}@{distance}")
        pairs = zip(paths, children, strict=True)
        paths = [(*path, child) for path, count in pairs for child in range(count)]
    return " ".join(parts), paths, distances


def _apart(one, other, distances):
    for mine, theirs, distance in zip(one, other, distances, strict=True):
        if mine != theirs:
            return distance
    return 0


def tree(rng, most):
    """A tree of one to four levels."""
    depth = int(rng.integers(1, 5))
    names = LEVELS[-depth:] if depth == 1 or rng.integers(2) else ("node", *LEVELS[len(LEVELS) - depth + 1 :])
    spec, paths, distances = _tree(rng, names, most)
    table = [[_apart(a, b, distances) for b in paths] for a in paths]
    units = {}
    for level, name in enumerate(names):
        number = {path: unit for unit, path in enumerate(dict.fromkeys(p[: level + 1] for p in paths))}
        units[name] = [number[path[: level + 1]] for path in paths]
    return spec, hb.allocate(spec), table, units, None


def table(rng, most):
    """Any distances, now and then of unequal directions or of a place to itself."""
    k = int(rng.integers(1, min(most, 40) + 1))
    numbers = rng.integers(0, int(rng.choice([2, 10, 1000])), (k, k))
    if rng.integers(2):
        numbers = numbers + numbers.T
    if rng.integers(4):
        np.fill_diagonal(numbers, 0)
    where = Allocation.whole(Table(numbers.astype(np.int64)))
    return f"a table of {k} places", where, numbers.tolist(), {}, None


def _walked_hops(network):
    """Links of a shortest way between all endpoints, by breadth-first search over the links."""
    wiring = network.wiring()
    there = np.broadcast_to(network.capacity, network.n_links) if network.capacity is not None else None
    near = [[] for _ in range(wiring.vertices)]
    for link, (tail, head) in enumerate(zip(wiring.tail.tolist(), wiring.head.tolist(), strict=True)):
        if there is None or there[link] > 0:
            near[tail].append(head)
    found = []
    for start in wiring.at.tolist():
        steps, queue = {start: 0}, deque([start])
        while queue:
            here = queue.popleft()
            for vertex in near[here]:
                if vertex not in steps:
                    steps[vertex] = steps[here] + 1
                    queue.append(vertex)
        found.append([steps[end] for end in wiring.at.tolist()])
    return found


def network(rng, most):
    """A torus, a mesh, a fat tree, a HyperX or a dragonfly, with a tree inside its nodes."""
    kind = str(rng.choice(["torus", "mesh", "fattree", "hyperx", "dragonfly"]))
    options, nodes = [], 12
    if kind in ("torus", "mesh", "hyperx"):
        sides = [int(rng.integers(1, 5)) for _ in range(int(rng.integers(1, 4)))]
        if kind == "hyperx":
            sides = [max(2, side) for side in sides[:2]]
        each = int(rng.integers(1, 3))
        options += [f"nodes={each}"] if each > 1 else []
        if kind == "torus" and rng.integers(4) == 0:
            options.append("bw=" + "x".join(str(int(rng.integers(1, 20))) for _ in sides))
        nodes = each * int(np.prod(sides))
    elif kind == "fattree":
        sides = [int(rng.integers(1, 4)) for _ in range(int(rng.integers(1, 4)))]
        nodes = int(np.prod(sides))
    else:
        sides = [int(rng.integers(1, 4)) for _ in range(3)]
    spec = f"{kind}:{'x'.join(map(str, sides))}"
    if rng.integers(5) == 0 and kind in ("torus", "fattree", "dragonfly"):
        options.append("route=spread")
    names = ("core",) if rng.integers(2) else ("package", "core")
    inside, paths, distances = _tree(rng, names, min(8, max(1, most // nodes)), 2**20)
    if "[" in inside:  # a list has a number per unit of the whole machine
        inside, paths, distances = "core:2@1", [(0,), (1,)], [1]
    per_hop = int(rng.choice([1, 3, 10, 1000])) + distances[0]
    said = ":".join([f"{spec}@{per_hop}", *options]) + " / " + inside
    where = hb.allocate(said)
    hops = _walked_hops(where.machine.network())
    inner = len(paths)
    width = max(_apart(one, other, distances) for one in paths for other in paths)
    count = len(hops) * inner

    def far(a, b):
        one, other = divmod(a, inner), divmod(b, inner)
        if one[0] == other[0]:
            return _apart(paths[one[1]], paths[other[1]], distances)
        return max(width, per_hop * hops[one[0]][other[0]])

    units = {"node": [core // inner for core in range(count)]}
    every = [[far(a, b) for b in range(count)] for a in range(count)]
    between = [[hops[a // inner][b // inner] for b in range(count)] for a in range(count)]
    return said, where, every, units, between


def place(rng, most=48):
    """Draw a machine, take some of its PEs away, cut it into larger slots, give PEs capacities."""
    kind = [tree, tree, table, network][int(rng.integers(4))]
    said, where, far, units, hops = kind(rng, most)
    assert where.k == len(far), (said, where.k, len(far))
    whole, spec = where, None if kind is table else said
    if kind is not table and rng.integers(6) == 0:
        try:
            where = hb.allocate(said, cores_per_task=2)
            said += ", slots of two cores"
        except hb.HopbytesError:
            pass
    if where.k > 1 and rng.integers(4) == 0:
        kept = np.flatnonzero(rng.random(where.k) < 0.7)
        kept = kept if len(kept) else np.array([0])
        where = where.select(kept)
        said += f", PEs {kept.tolist()}"
    if rng.integers(6) == 0:
        capacity = rng.integers(1, int(rng.choice([2, 4, 50])) + 1, where.k)
        where = replace(where, capacity=capacity.astype(np.int64))
        said += f", capacities {capacity.tolist()}"
    first = where.first_core.tolist()

    def chosen(numbers):
        return [[numbers[a][b] for b in first] for a in first]

    return Place(
        where, chosen(far), said, {name: [unit[c] for c in first] for name, unit in units.items()},
        None if hops is None else chosen(hops), spec if where is whole else None,
    )
