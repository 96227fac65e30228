"""Tasks along a space-filling curve through the nodes of a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort, Mapper, mappers
from hopbytes.algorithms.shared.positions import place_geometry, task_coordinates
from hopbytes.algorithms.shared.sequential_assignment import fill_along
from hopbytes.algorithms.two_level import nodes_of
from hopbytes.errors import UnsupportedError
from hopbytes.machines.network.curves import CURVES, curve_order
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@mappers.register("curve")
@dataclass(frozen=True, slots=True)
class Curve(Mapper):
    """Nodes along a space-filling curve; tasks in their own order, or along the same curve, fill them.

    Parameters
    ----------
    order : str
        ``hilbert``, ``gray``, ``morton``, ``snake`` or ``row``, see
        :func:`hopbytes.machines.network.curves.curve_order`.
    tasks : str
        Where tasks are: a grid ``16x16x4``, or a file with a line of coordinates per task. Empty: as the
        pattern says (``stencil:``), else tasks keep their own order. ``own`` keeps it in any case.

    Raises
    ------
    UnsupportedError
        An unknown curve; a machine whose nodes have no coordinates; a grid of another number of tasks.

    Notes
    -----
    Looks at places alone, not at who talks to whom. Nodes that a job does not have are skipped, so that
    the curve jumps over holes. O(n log n + nodes x dimensions x bits).
    """

    needs_coordinates: ClassVar[bool] = True
    knows_tasks: ClassVar[bool] = True
    order: str = "hilbert"
    tasks: str = ""

    def __post_init__(self) -> None:
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
