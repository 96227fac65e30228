"""What is too large to be counted in 63 bits."""

from __future__ import annotations

from hopbytes._util.integers import MAX_SUM
from hopbytes.errors import ScaleError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


def check_scale(graph: CommGraph, where: Allocation) -> None:
    """Refuse volumes so large that a sum of volume x distance could leave 63 bits.

    Raises
    ------
    ScaleError
        Largest distance x total volume exceeds 2**63 - 1; the text gives the factor to divide by.
    """
    widest = int(where.distance.largest)
    # Unweighted sums count every arc once, whatever its volume.
    largest = widest * max(graph.total_volume, graph.m)
    if largest > MAX_SUM:
        factor = -(-largest // MAX_SUM)
        raise ScaleError(
            f"total volume {graph.total_volume} x largest distance {widest} is more than 2^63 - 1: "
            f"divide the volumes or the distances by {factor} or more"
        )
