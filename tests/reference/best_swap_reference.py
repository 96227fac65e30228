"""Reference implementation of the search of MPIPP: every exchange is computed from scratch."""

from itertools import combinations

from hopbytes._arrays import Int32, Int64
from hopbytes.kernels.records import Csr
from reference.graph_reference import arcs_of


def best_swap(
    graph: Csr, table: Int64, k: int, pe: Int32, most: int, control: tuple[Int32, Int64 | None]
) -> int:
    """Exchange tasks in place until the control flag is set; return the number of exchanges."""
    n = len(pe)
    edges = arcs_of(graph)

    def cost(places: list[int]) -> int:
        return sum(w * int(table[places[u] * k + places[v]]) for u, v, w in edges)

    def exchanged(u: int, v: int) -> list[int]:
        places = [int(p) for p in pe]
        places[u], places[v] = places[v], places[u]
        return places

    for made in range(most):
        if control[0][0]:
            return made
        now = cost([int(p) for p in pe])
        gains = {pair: now - cost(exchanged(*pair)) for pair in combinations(range(n), 2)}
        best = max(gains, key=lambda pair: (gains[pair], (-pair[0], -pair[1])), default=None)
        if best is None or gains[best] <= 0:
            return made
        pe[:] = exchanged(*best)
    return most
