"""Transposition of a grid of tasks."""

from __future__ import annotations

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.base import Pattern, build_graph, dimensions, patterns, uniform_arcs


@patterns.register("transpose")
@frozen
class Transpose(Pattern):
    """Transposition of a matrix with a block per task: row i, column j sends to row j, column i.

    Parameters
    ----------
    dims : str
        Rows and columns of the grid, ``8x8``; the transposed grid has as many rows as this one has columns.
    bytes : int
        Volume of each arc.

    Examples
    --------
    >>> from hopbytes.patterns.base import pattern
    >>> graph = pattern("transpose:2x3")
    >>> graph.sources().tolist(), graph.targets.tolist()
    ([1, 2, 3, 4], [2, 4, 1, 3])
    """

    dims: str = "8x8"
    bytes: int = 65536

    def graph(self) -> CommGraph:
        """Return the pattern; O(tasks)."""
        rows, columns = dimensions(self, self.dims, most=2, least=2)
        tasks = np.arange(rows * columns)
        targets = tasks % columns * rows + tasks // columns
        return build_graph(self, len(tasks), [uniform_arcs(tasks, targets, self.bytes)])
