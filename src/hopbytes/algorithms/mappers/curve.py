"""The mapper ``curve``: tasks along a space-filling curve through the nodes of a grid."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.shared.positions import place_geometry, task_coordinates
from hopbytes.algorithms.shared.sequential_assignment import fill_along
from hopbytes.algorithms.two_level import nodes_of
from hopbytes.errors import UnsupportedError
from hopbytes.machines.network.geometry import CURVES, curve_order
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.options import check_types


@mappers.register("curve")
@frozen
class Curve(Mapper):
    """Order nodes along a space-filling curve; assign tasks in their order, or along the same curve.

    Parameters
    ----------
    order : str
        The curve: ``hilbert``, ``gray``, ``morton``, ``snake`` or ``row``, see
        :func:`hopbytes.machines.network.geometry.curve_order`.
    tasks : str
        Coordinates of the tasks: a grid such as ``16x16x4``, or a file with the coordinates of one task per
        line. By default they are taken from the pattern (``stencil:``); if it has none, tasks keep their own
        order. With ``own`` they keep it in any case.

    Raises
    ------
    UnsupportedError
        If the curve is unknown, the nodes have no coordinates, or the grid has another number of tasks.

    Notes
    -----
    The mapper uses only coordinates and ignores the communication. Nodes that do not belong to the job are
    skipped, so the curve has gaps there. O(n log n + nodes x dimensions x bits).
    """

    needs_coordinates: ClassVar[bool] = True
    knows_tasks: ClassVar[bool] = True
    order: str = "hilbert"
    tasks: str = ""

    def __post_init__(self) -> None:
        check_types(self)
        if self.order not in CURVES:
            raise UnsupportedError(
                f"mapper 'curve': order={self.order}, expected one of {', '.join(CURVES)}"
            )

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return int32[n], the PE of every task."""
        nodes = nodes_of(where)
        along = curve_order(place_geometry(where, "curve").places, self.order)
        pes = np.concatenate([nodes.pes[nodes.start[place] : nodes.start[place + 1]] for place in along])
        points = None if self.tasks == "own" else task_coordinates(graph, self.tasks, "curve")
        order = np.arange(graph.n) if points is None else curve_order(points, self.order)
        return fill_along(graph, bounds, pes, order)
