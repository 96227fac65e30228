"""Communication graphs that many tests use."""

import numpy as np

from hopbytes.kernels.records import Csr
from hopbytes.model.comm_graph import CommGraph

#: Volumes between eight processes: Jeannot and Mercier, "Near-optimal placement of MPI processes on
#: hierarchical NUMA architectures" (Euro-Par 2010), Fig. 1 (a).
TREEMATCH_FIGURE_1 = [
    [0, 1000, 10, 1, 100, 1, 1, 1],
    [1000, 0, 1000, 1, 1, 100, 1, 1],
    [10, 1000, 0, 1000, 1, 1, 100, 1],
    [1, 1, 1000, 0, 1, 1, 1, 100],
    [100, 1, 1, 1, 0, 1000, 10, 1],
    [1, 100, 1, 1, 1000, 0, 1000, 1],
    [1, 1, 100, 1, 10, 1000, 0, 1000],
    [1, 1, 1, 100, 1, 1, 1000, 0],
]


def grid(*sides: int, loads: np.ndarray | None = None) -> CommGraph:
    """Return a grid of tasks numbered row by row, one arc of volume 1 per edge; one side alone: a square."""
    shape = sides * 2 if len(sides) == 1 else sides
    cells = np.arange(int(np.prod(shape))).reshape(shape)
    near = [np.take(cells, range(side - 1), axis).ravel() for axis, side in enumerate(shape)]
    far = [np.take(cells, range(1, side), axis).ravel() for axis, side in enumerate(shape)]
    return CommGraph.from_edges(np.concatenate(near), np.concatenate(far), n=cells.size, loads=loads)


def grid_csr(side: int, *, weighted: bool = True) -> Csr:
    """Return a square grid as compiled code takes it: both directions of each edge, weights of 1 or none."""
    csr = grid(side).symmetric()
    ones = np.ones(len(csr.targets), np.int64) if weighted else None
    return Csr(csr.indptr, csr.targets, ones)


def arcs_of(graph: CommGraph) -> dict[tuple[int, int], int]:
    """Return (source, target) → volume of every arc that carries something."""
    arcs = zip(graph.sources().tolist(), graph.targets.tolist(), graph.arc_volumes().tolist(), strict=True)
    return {(source, target): sent for source, target, sent in arcs if sent}
