"""Random machines and communication graphs for property and contract tests.

Each kind is described once, as a function of `pick(low, high)`, a source of integers: hypothesis
draws them for property tests (and shrinks them), a NumPy generator for contract tests.
"""

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from hopbytes.machines.base import Level
from hopbytes.machines.tree import Tree
from hopbytes.model.comm_graph import CommGraph

Pick = Callable[[int, int], int]
NAMES = ("island", "node", "package", "numa", "l3", "l2", "core")


def _pick_machine(pick: Pick, max_cores: int) -> Tree:
    depth = pick(1, 7)
    names = NAMES[-depth:]
    if 2 <= depth <= 5 and pick(0, 1):
        names = ("node", *names[1:])
    children: list[int | tuple[int, ...]] = []
    units = 1
    for _ in range(depth):
        widest = max(1, min(9, max_cores // units))
        if pick(0, 2) == 0:
            counts = tuple(pick(1, widest) for _ in range(units))
            children.append(counts)
            units = sum(counts)
        else:
            children.append(pick(1, widest))
            units *= children[-1]
    steps = np.cumsum([pick(0, 3) * pick(0, 20) for _ in range(depth)])[::-1]
    return Tree(
        tuple(Level(name, int(distance)) for name, distance in zip(names, steps, strict=True)),
        tuple(children),
    )


def random_machine(rng: np.random.Generator, max_cores: int = 200) -> Tree:
    """Return a tree of 1-7 levels with 1-9 children, often unequal, at most `max_cores` cores."""
    return _pick_machine(lambda low, high: int(rng.integers(low, high + 1)), max_cores)


@st.composite
def machines(draw: st.DrawFn, max_cores: int = 200) -> Tree:
    """Trees of 1-7 levels with 1-9 children, often unequal; distances may repeat and be zero."""
    return _pick_machine(lambda low, high: draw(st.integers(low, high)), max_cores)


def _pairs(pick: Pick, shape: str, n: int) -> list[tuple[int, int]]:
    """List each edge once."""
    if n < 2 or shape == "empty":
        return []
    if shape == "star":
        centre = pick(0, n - 1)
        return [(centre, task) for task in range(n) if task != centre]
    if shape == "clique":
        members = min(n, 12)  # the rest is isolated
        return [(i, j) for i in range(members) for j in range(i)]
    if shape == "two parts":  # no edge between them, odd tasks isolated at the border
        half = n // 2
        return [(i, i + 1) for i in range(n - 1) if i != half]
    if shape == "grid":
        width = max(1, int(n**0.5))
        right = [(i, i + 1) for i in range(n - 1) if (i + 1) % width]
        return right + [(i, i + width) for i in range(n - width)]
    return [(pick(0, n - 1), pick(0, n - 1)) for _ in range(pick(1, 3 * n))]  # "any", loops included


SHAPES = ("empty", "star", "clique", "two parts", "grid", "any")


def _pick_weights(pick: Pick, count: int) -> list[int] | None:
    kind = pick(0, 4)
    if kind == 0:
        return None  # all ones
    if kind == 1:
        return [0] * count
    if kind == 2:  # half nothing, half little
        return [pick(0, 1) * pick(1, 9) for _ in range(count)]
    if kind == 3:  # one dwarfs the rest
        weights = [1] * count
        if count:
            weights[pick(0, count - 1)] = max(4, count)
        return weights
    return [pick(0, 2**40) for _ in range(count)]


def _pick_graph(pick: Pick, n: int | None, max_tasks: int) -> CommGraph:
    if n is None:
        n = pick(0, max_tasks)
    pairs = _pairs(pick, SHAPES[pick(0, len(SHAPES) - 1)], n)
    undirected = bool(pick(0, 1))
    volumes = _pick_weights(pick, len(pairs))
    loads = _pick_weights(pick, n)
    sources, targets = [i for i, _ in pairs], [j for _, j in pairs]
    if undirected:  # a file of undirected edges: both directions, no loops, each pair once
        kept = sorted({(min(i, j), max(i, j)): e for e, (i, j) in enumerate(pairs) if i != j}.items())
        sources = [i for (i, _), _ in kept] + [j for (_, j), _ in kept]
        targets = [j for (_, j), _ in kept] + [i for (i, _), _ in kept]
        volumes = None if volumes is None else 2 * [volumes[e] for _, e in kept]
    messages = None if undirected or pick(0, 1) else [pick(0, 50) for _ in sources]
    graph = CommGraph.from_edges(
        np.array(sources, np.int64), np.array(targets, np.int64),
        None if volumes is None else np.array(volumes, np.int64),
        None if messages is None else np.array(messages, np.int64),
        n=n, loads=None if loads is None else np.array(loads, np.int64),
    )
    if undirected:
        return CommGraph(
            graph.indptr, graph.targets, graph.volumes, graph.messages, graph.loads, undirected=True
        )
    return graph


def random_graph(rng: np.random.Generator, n: int | None = None, max_tasks: int = 60) -> CommGraph:
    """Return a graph of `n` (or 0 to `max_tasks`) tasks, of any kind :func:`graphs` makes."""
    return _pick_graph(lambda low, high: int(rng.integers(low, high + 1)), n, max_tasks)


@st.composite
def graphs(draw: st.DrawFn, n: int | None = None, max_tasks: int = 60) -> CommGraph:
    """Graphs with `n` (or 0 to `max_tasks`) tasks.

    Without edges, stars, cliques among isolated tasks, disconnected, grids, anything; directed with
    messages and loops or undirected; volumes and loads of one, zero, mixed, one heavy, up to 2**40.
    """
    return _pick_graph(lambda low, high: draw(st.integers(low, high)), n, max_tasks)


def check_groupings(groupings: list[np.ndarray], k: int) -> None:
    """Assert what every machine promises about ``Allocation.groups()``."""
    previous, count = np.zeros(k, np.int32), 1
    for grouping in groupings:
        assert grouping.dtype == np.int32
        groups = int(grouping.max()) + 1
        assert np.array_equal(np.unique(grouping), np.arange(groups))
        assert groups > count or k == 1
        parent_of = np.full(groups, -1)
        parent_of[grouping] = previous
        assert np.array_equal(parent_of[grouping], previous), "does not refine"
        assert np.all(np.diff(parent_of) >= 0), "parts of one group are not consecutive"
        previous, count = grouping, groups
    assert count == k
