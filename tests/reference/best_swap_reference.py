"""Reference implementation of ``assignment/best_swap.hpp``: every exchange is computed from scratch."""

from __future__ import annotations

from itertools import combinations

from hopbytes._arrays import Int32, Int64


def best_swap(
    indptr: Int64, targets: Int32, weights: Int64, table: Int64, k: int, pe: Int32, most: int, flag: Int32
) -> int:
    """Exchange tasks in place until the first number in `flag` is not 0; return the number of exchanges."""
    n = len(pe)
    edges = [
        (v, int(targets[e]), int(weights[e]) if len(weights) else 1)
        for v in range(n) for e in range(indptr[v], indptr[v + 1])
    ]  # fmt: skip

    def cost(places: list[int]) -> int:
        return sum(w * int(table[places[u] * k + places[v]]) for u, v, w in edges)

    def exchanged(u: int, v: int) -> list[int]:
        places = [int(p) for p in pe]
        places[u], places[v] = places[v], places[u]
        return places

    for made in range(most):
        if flag[0]:
            return made
        now = cost([int(p) for p in pe])
        gains = {pair: now - cost(exchanged(*pair)) for pair in combinations(range(n), 2)}
        best = max(gains, key=lambda pair: (gains[pair], (-pair[0], -pair[1])), default=None)
        if best is None or gains[best] <= 0:
            return made
        pe[:] = exchanged(*best)
    return most
