"""The order in which nodes of unequal sizes take consecutive tasks, so that little volume leaves a node."""

from __future__ import annotations

from collections import Counter

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.model.comm_graph import CommGraph

#: Bound on the steps of the dynamic program; it limits how many states are kept after each node.
MOST_STEPS = 300_000


def best_sizes(graph: CommGraph, sizes: list[int]) -> list[int]:
    """Order the sizes of blocks so that most volume stays inside blocks of consecutive tasks.

    A dynamic program over the number of blocks of every size that are used. It is exact for two different
    sizes on up to five hundred nodes, and whenever the table stays within its bound; otherwise only the best
    states are kept.
    O(m x different sizes + 300,000).

    >>> import hopbytes as hb
    >>> pairs = hb.CommGraph.from_edges([0, 2, 3], [1, 3, 4], [9, 9, 9], n=5)
    >>> best_sizes(pairs, [3, 2])
    [2, 3]
    """
    kinds = Counter(sizes)
    known = sorted(kinds, key=sizes.index)  # ties keep the order given
    inside = {size: _volume_inside(graph, size) for size in known}
    most = [kinds[size] for size in known]
    width = max(64, MOST_STEPS // max(len(sizes) * len(known), 1))
    # used blocks of every size → volume inside, and the size of the last block
    layer: dict[tuple[int, ...], int] = {(0,) * len(known): 0}
    steps: list[dict[tuple[int, ...], int]] = []
    for _ in sizes:
        following: dict[tuple[int, ...], int] = {}
        step: dict[tuple[int, ...], int] = {}
        for used, volume in layer.items():
            first = sum(count * size for count, size in zip(used, known, strict=True))
            for kind, size in enumerate(known):
                if used[kind] == most[kind]:
                    continue
                state = (*used[:kind], used[kind] + 1, *used[kind + 1 :])
                reached = volume + int(inside[size][first])
                if reached > following.get(state, -1):
                    following[state], step[state] = reached, kind
        if len(following) > width:
            kept = sorted(following, key=lambda state: (-following[state], state))[:width]
            following = {state: following[state] for state in kept}
        layer = following
        steps.append(step)
    state = tuple(most)
    order: list[int] = []
    for step in reversed(steps):
        kind = step[state]
        order.append(known[kind])
        state = (*state[:kind], state[kind] - 1, *state[kind + 1 :])
    return order[::-1]


def _volume_inside(graph: CommGraph, size: int) -> Int64:
    """int64[n + 1]: volume of arcs between tasks s, …, s + size - 1, for every s.  O(n + m)."""
    source, target = graph.sources().astype(np.int64), graph.targets.astype(np.int64)
    low, high = np.minimum(source, target), np.maximum(source, target)
    near = (high - low < size) & (high > low)
    volumes = np.ones(graph.m, np.int64) if graph.volumes is None else graph.volumes
    change = np.zeros(graph.n + 2, np.int64)
    # An arc lies inside the windows whose first task is greater than high - size and at most low.
    np.add.at(change, np.maximum(high[near] - size + 1, 0), volumes[near])
    np.subtract.at(change, low[near] + 1, volumes[near])
    return np.cumsum(change)[: graph.n + 1]
