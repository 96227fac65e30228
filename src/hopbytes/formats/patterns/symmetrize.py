"""Making a pattern symmetric without changing the order of mappings by cost."""

from __future__ import annotations

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes.errors import ScaleError
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.integers import MAX_SUM


def symmetrized(graph: CommGraph) -> tuple[CommGraph, list[str]]:
    """Return the pattern with equal weights in both directions, and notices about the change.

    The cost J of a mapping counts both directions, so the exact symmetric counterpart of C has the weight
    (C[i,j] + C[j,i]) / 2 in each direction. If all these sums are even, these weights are returned. Otherwise
    halving would round, so the sums themselves are the weights, every J is twice that of the source, and a
    notice says so. The order of mappings is the same in both cases. Messages are treated in the same way. An
    undirected graph is returned unchanged.

    >>> from hopbytes.model.comm_graph import CommGraph
    >>> symmetrized(CommGraph.from_edges([0, 1], [1, 0], [5, 7]))[0].volumes.tolist()
    [6, 6]
    >>> odd, notices = symmetrized(CommGraph.from_edges([0], [1], [5]))
    >>> odd.volumes.tolist(), notices
    ([5, 5], ['volumes of the two directions are added, not averaged: J is twice that of the source'])
    """
    if graph.undirected:
        return graph, []
    notices: list[str] = []
    # Volumes and messages are symmetrized over the same arcs, so that both get the same rows.
    indptr, targets, volumes = _both_ways(graph, graph.arc_volumes(), "volumes", notices)
    messages = None
    if graph.messages is not None:
        _, _, messages = _both_ways(graph, graph.messages, "messages", notices)
    unit = graph.volumes is None and bool(np.all(volumes == 1))
    symmetric = CommGraph.of_own(
        indptr, targets, None if unit else volumes, messages, graph.loads, undirected=True, scale=graph.scale,
        meta=graph.meta,
    )
    return symmetric, notices


def _both_ways(
    graph: CommGraph, values: Int64, what: str, notices: list[str]
) -> tuple[Int64, Int32, Int64]:
    if kernels.checked_sum(np.ascontiguousarray(values)) > MAX_SUM // 2:
        raise ScaleError(f"{what} of both directions sum to more than 2^63 - 1: divide them by 2 or more")
    indptr, targets, sums = kernels.symmetrize(graph.arcs(values))
    assert sums is not None
    if bool(np.any(sums & 1)):
        cost = "J" if what == "volumes" else "every count"
        notices.append(
            f"{what} of the two directions are added, not averaged: {cost} is twice that of the source"
        )
        return indptr, targets, sums
    return indptr, targets, sums >> 1
