"""Parts of a communication matrix: sums for tooltips, and the busiest blocks in full resolution."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.model.comm_graph import CommGraph
from hopbytes.pictures.figures.comm_matrix import CommMatrix

#: Blocks that are drawn in full resolution, and the most tasks that a side of them has.
BLOCKS, BLOCK_TASKS = 16, 256


@frozen(eq=False)
class Block:
    """A part of a matrix, task by task.

    Parameters
    ----------
    row, column : int
        Positions of its first sender and of its first receiver, in tasks in machine order.
    cells : int64[rows, columns]
        Volume from task to task.
    """

    row: int
    column: int
    cells: Int64


def busiest_blocks(graph: CommGraph, matrix: CommMatrix) -> tuple[Block, ...]:
    """Return the blocks of a matrix that hold most of the volume, task by task.

    Parameters
    ----------
    graph : CommGraph
    matrix : CommMatrix
        Of the graph. A matrix that already has a row for every task has no such blocks.

    Returns
    -------
    tuple of Block
        At most `BLOCKS`, with at most `BLOCK_TASKS` tasks on a side, the one with most volume first.

    Notes
    -----
    O(m + rows^2).
    """
    if matrix.tasks_per_cell == 1:
        return ()
    side = max(1, BLOCK_TASKS // matrix.tasks_per_cell) * matrix.tasks_per_cell
    starts = np.arange(0, matrix.rows, side // matrix.tasks_per_cell)
    sums = np.add.reduceat(np.add.reduceat(matrix.cells, starts, axis=0), starts, axis=1)
    busiest = np.argsort(-sums, axis=None, kind="stable")[:BLOCKS]
    position = np.empty(graph.n, np.int64)
    position[matrix.order] = np.arange(graph.n)
    sources, volumes = graph.sources(), graph.arc_volumes()
    sender, receiver = position[sources], position[graph.targets]
    of_arc = sender // side * len(starts) + receiver // side
    found = []
    for number in busiest[sums.reshape(-1)[busiest] > 0].tolist():
        arcs = np.flatnonzero((of_arc == number) & (sources != graph.targets))
        row, column = number // len(starts) * side, number % len(starts) * side
        cells = np.zeros((min(side, graph.n - row), min(side, graph.n - column)), np.int64)
        np.add.at(cells, (sender[arcs] - row, receiver[arcs] - column), volumes[arcs])
        found.append(Block(row, column, cells))
    return tuple(found)


def coarser(matrix: CommMatrix, most: int) -> tuple[Int64, Int64]:
    """Return sums of a matrix over at most `most` rows and columns, and their borders in tasks.

    Returns
    -------
    cells : int64[parts, parts]
    borders : int64[parts + 1]
        Positions in tasks where the parts begin; the last is n.
    """
    each = -(-matrix.rows // most)
    starts = np.arange(0, matrix.rows, each)
    cells = np.add.reduceat(np.add.reduceat(matrix.cells, starts, axis=0), starts, axis=1)
    borders = np.append(starts * matrix.tasks_per_cell, matrix.tasks)
    return cells.astype(np.int64), borders.astype(np.int64)
