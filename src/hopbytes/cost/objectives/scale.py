"""Check that sums of volume times distance fit into 63 bits."""

from __future__ import annotations

from hopbytes.errors import ScaleError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.integers import MAX_SUM


def in_scale(graph: CommGraph, where: Allocation) -> bool:
    """Return whether no sum of volume x distance can exceed 63 bits."""
    return _largest_sum(graph, int(where.distance.largest)) <= MAX_SUM


def check_scale(graph: CommGraph, where: Allocation) -> None:
    """Raise ScaleError if a sum of volume x distance could exceed 63 bits."""
    widest = int(where.distance.largest)
    largest = _largest_sum(graph, widest)
    if largest > MAX_SUM:
        factor = -(-largest // MAX_SUM)
        raise ScaleError(
            f"total volume {graph.total_volume} x largest distance {widest} is more than 2^63 - 1: "
            f"divide the volumes or the distances by {factor} or more"
        )


def _largest_sum(graph: CommGraph, widest: int) -> int:
    # Unweighted metrics count every arc once, even if its volume is 0.
    return widest * max(graph.total_volume, graph.m)
