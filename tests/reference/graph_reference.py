"""Reference of ``csr``, ``csr_checks``, ``block_weights``, ``bandwidth_order`` of the core.

Also of ``weights_uneven``. Numbers of threads are not used.
"""

import itertools

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt8
from hopbytes.kernels.records import Csr


def check_csr(indptr: Int64, targets: Int32, threads: int) -> int:
    """Return the first invalid row, -1 if there is none."""
    n = len(indptr) - 1
    if indptr[0] != 0 or indptr[n] != len(targets):
        return n
    for i in range(n):
        if not 0 <= indptr[i] <= indptr[i + 1] <= len(targets):
            return i
        row = [int(t) for t in targets[indptr[i] : indptr[i + 1]]]
        if any(not 0 <= t < n for t in row) or any(a >= b for a, b in itertools.pairwise(row)):
            return i
    return -1


def has_diagonal(indptr: Int64, targets: Int32, threads: int) -> bool:
    """Return whether a task has an arc to itself."""
    return any(i in targets[indptr[i] : indptr[i + 1]] for i in range(len(indptr) - 1))


def wide_sum(values: Int64, threads: int) -> tuple[int, int]:
    """Return (high, low) such that high * 2**32 + low is the exact sum."""
    total = sum(int(v) for v in values)
    return total >> 32, total & 0xFFFFFFFF


def csr_from_arcs(
    sources: Int32, targets: Int32, volumes: Int64, messages: Int64,
    indptr: Int64, out_targets: Int32, out_volumes: Int64, out_messages: Int64,
) -> int:
    """Fill rows from arcs, summing repeated ones; return the number of remaining arcs."""
    merged: dict[tuple[int, int], list[int]] = {}
    for e in range(len(sources)):
        entry = merged.setdefault((int(sources[e]), int(targets[e])), [0, 0])
        entry[0] += int(volumes[e])
        entry[1] += int(messages[e]) if len(messages) else 0
    indptr[:] = 0
    for place, ((i, j), (volume, count)) in enumerate(sorted(merged.items())):
        indptr[i + 1] += 1
        out_targets[place], out_volumes[place] = j, volume
        if len(messages):
            out_messages[place] = count
    np.cumsum(indptr, out=indptr)
    return len(merged)


def arcs_of(graph: Csr) -> list[tuple[int, int, int]]:
    """Return (row, target, weight) of every arc."""
    indptr, targets, volumes = graph
    return [
        (i, int(targets[e]), 1 if volumes is None or not len(volumes) else int(volumes[e]))
        for i in range(len(indptr) - 1)
        for e in range(int(indptr[i]), int(indptr[i + 1]))
    ]


def symmetrize(
    graph: Csr, threads: int, out_indptr: Int64, out_targets: Int32, out_weights: Int64
) -> int:
    """Fill the graph with weight C[i,j] + C[j,i] and no diagonal; return its number of arcs."""
    arcs = [(i, j, w) for i, j, w in arcs_of(graph) if i != j]
    both = arcs + [(j, i, w) for i, j, w in arcs]
    columns = [np.array(column, np.int64) for column in zip(*both, strict=True)]
    columns = columns or [np.empty(0, np.int64)] * 3
    return csr_from_arcs(
        columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2], np.empty(0, np.int64),
        out_indptr, out_targets, out_weights, np.empty(0, np.int64),
    )


def find_asymmetry(graph: Csr, threads: int) -> int:
    """Return the index of the first arc without an equal reverse, -1 if there is none."""
    arcs = arcs_of(graph)
    weight = {(i, j): w for i, j, w in arcs}
    for e, (i, j, w) in enumerate(arcs):
        if weight.get((j, i)) != w:
            return e
    return -1


def block_weights(
    graph: Csr, blocks: Int32, count: int, threads: int, sums: Int64, seen: UInt8
) -> None:
    """Add the weight of arcs between blocks a and b to entry a * count + b."""
    for i, j, w in arcs_of(graph):
        if blocks[i] != blocks[j]:
            entry = int(blocks[i]) * count + int(blocks[j])
            sums[entry] += w
            seen[entry] = 1


def reverse_cuthill_mckee(graph: Csr, order: Int32) -> None:
    """Write the vertices in reverse Cuthill-McKee order; of equal degrees the smaller number comes first."""
    indptr, targets, _ = graph
    degree = np.diff(indptr).tolist()
    found: list[int] = []
    numbered: set[int] = set()
    for start in sorted(range(len(degree)), key=lambda v: (degree[v], v)):
        if start in numbered:
            continue
        numbered.add(start)
        found.append(start)
        for v in itertools.islice(found, len(found) - 1, None):
            near = {int(u) for u in targets[indptr[v] : indptr[v + 1]]} - numbered
            numbered |= near
            found += sorted(near, key=lambda u: (degree[u], u))
    order[:] = found[::-1]


def weights_uneven(graph: Csr) -> bool:
    """Return whether the standard deviation of the weights exceeds their mean, from exact sums."""
    weights = [weight for _, _, weight in arcs_of(graph)]
    total, squares = sum(weights), sum(weight * weight for weight in weights)
    return float(squares) * len(weights) > 2 * float(total) * float(total)


def induced_csr(
    graph: Csr, members: Int32, place: Int32, out_indptr: Int64, out_targets: Int32, out_weights: Int64,
) -> int:
    """Fill the subgraph induced by `members`, numbered by `place` (negative elsewhere); return its arcs."""
    inside = [
        (int(place[i]), int(place[j]), w)
        for i, j, w in arcs_of(graph)
        if place[i] >= 0 and place[j] >= 0
    ]
    out_indptr[:] = 0
    for e, (i, j, w) in enumerate(sorted(inside)):
        out_indptr[i + 1] += 1
        out_targets[e] = j
        if len(out_weights):
            out_weights[e] = w
    np.cumsum(out_indptr, out=out_indptr)
    return len(inside)
