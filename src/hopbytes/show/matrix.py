"""A communication matrix as a panel: cells, borders and names of nodes, and the scale of its colours."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from hopbytes._arrays import UInt8
from hopbytes.show.marks import (
    GREY,
    Line,
    Mark,
    Panel,
    Raster,
    Rectangle,
    Words,
    colour_bar,
    cut,
    scale_colours,
    width_of,
)
from hopbytes.show.names import without_shared_end
from hopbytes.show.traffic import CommMatrix
from hopbytes.util.quantities import amount

#: Side of a matrix, about; space left of it and below it for names.
SIDE, NAMES, FOOT = 400, 74.0, 30.0
#: Rows that a picture has room for.
MOST_ROWS = 512
#: Up to this many rows cells are rectangles with tool tips; larger matrices are images.
CELLS_WITH_TIPS = 64
BORDER, PALE_BORDER = "#c0705f", "#eadbd6"
#: Units between the borders of nodes (paler below the first number), and between names, at least.
CLEAR_BORDERS, CLOSEST_BORDERS, CLOSEST_NAMES = 24.0, 5.0, 12.0


def matrix_panel(
    matrix: CommMatrix, extremes: tuple[int, int], title: str = "", *, unit: str = "B"
) -> Panel:
    """Draw a matrix with the colours of two amounts: senders downwards, receivers from left to right."""
    # An image has whole units per row.
    side = float(SIDE if matrix.rows <= CELLS_WITH_TIPS else matrix.rows * max(1, round(SIDE / matrix.rows)))
    shades = matrix.shades(*extremes)
    square = Rectangle(NAMES, 22.0 if title else 4.0, side, side, "#ffffff", GREY)
    marks: list[Mark] = [Words(square.left, 12, title, size=12, bold=True)] if title else []
    marks.append(square)
    # Below the cells, so that no line hides traffic.
    marks += _node_marks(matrix, square) if matrix.nodes else _rank_marks(matrix, square)
    if matrix.rows <= CELLS_WITH_TIPS:
        marks += _cells(matrix, shades, square, unit)
    else:
        marks.append(Raster(square.left, square.top, side, side, shades, scale_colours(), see_through=True))
    marks.append(Rectangle(square.left, square.top, side, side, "none", GREY))
    return Panel(square.left + side + 2, square.top + side + FOOT, tuple(marks))


def _cells(matrix: CommMatrix, shades: UInt8, square: Rectangle, unit: str) -> list[Mark]:
    width, colours = square.width / matrix.rows, scale_colours()
    tasks = [_tasks_of(matrix, row) for row in range(matrix.rows)]
    return [
        Rectangle(
            square.left + column * width, square.top + row * width, width, width,
            colours[shades[row, column]],
            tip=f"{tasks[row]} to {tasks[column]}: {amount(int(matrix.cells[row, column]), unit)}",
        )
        for row, column in np.argwhere(matrix.cells).tolist()
    ]


def _tasks_of(matrix: CommMatrix, row: int) -> str:
    first = row * matrix.tasks_per_cell
    tasks = matrix.order[first : first + matrix.tasks_per_cell].tolist()
    text = f"rank {tasks[0]}" if len(tasks) == 1 else f"{len(tasks)} ranks from {min(tasks)}"
    if not matrix.nodes:
        return text
    return f"{text} ({matrix.nodes[int(np.searchsorted(matrix.borders, first, side='right')) - 1]})"


def _node_marks(matrix: CommMatrix, square: Rectangle) -> list[Mark]:
    """Return lines between nodes, their names, and short lines below the matrix where they begin."""
    right, foot = square.left + square.width, square.top + square.height
    borders = (matrix.borders * (square.width / max(1, matrix.rows * matrix.tasks_per_cell))).tolist()
    apart = borders[-1] / max(1, len(matrix.nodes))
    marks: list[Mark] = []
    if len(matrix.nodes) > 1 and apart >= CLOSEST_BORDERS:
        colour = BORDER if apart >= CLEAR_BORDERS else PALE_BORDER
        for border in borders[1:-1]:
            down, across = square.top + border, square.left + border
            marks.append(Line(((square.left, down), (right, down)), colour, 0.8))
            marks.append(Line(((across, square.top), (across, foot)), colour, 0.8))
    last = -CLOSEST_NAMES
    for (first, end), name in zip(pairwise(borders), without_shared_end(matrix.nodes), strict=False):
        middle = (first + end) / 2
        if middle - last >= CLOSEST_NAMES:
            shown = cut(name, NAMES - 8, 9)
            marks.append(Words(square.left - 5, square.top + middle + 3, shown, 9, "end", GREY))
            last = middle
    what = "receiving rank, in machine order"
    marks.append(Words((square.left + right) / 2, foot + 24, what, 10, "middle", GREY))
    if apart >= CLOSEST_BORDERS:
        ticks = [square.left + border for border in borders]
        marks += [Line(((tick, foot), (tick, foot + 5)), BORDER, 0.7) for tick in ticks]
    return marks


def _rank_marks(matrix: CommMatrix, square: Rectangle) -> list[Mark]:
    """Return numbers of ranks beside and below the matrix."""
    foot, width = square.top + square.height, square.width / max(1, matrix.rows * matrix.tasks_per_cell)
    marks: list[Mark] = []
    step = 1 << max(0, math.ceil(matrix.tasks / 6) - 1).bit_length()  # a power of two
    for rank in range(0, matrix.tasks, step):
        at = (rank + 0.5) * width
        marks.append(Words(square.left - 5, square.top + at + 3, f"{rank:,}", 9, "end", GREY))
        anchor = "start" if rank == 0 else "middle"
        marks.append(Words(square.left + at * (rank > 0), foot + 12, f"{rank:,}", 9, anchor, GREY))
    middle = (2 * square.left + square.width) / 2
    marks.append(Words(middle, foot + 24, "receiving rank", 10, "middle", GREY))
    middle = square.top + square.height / 2
    marks.append(Words(14, middle, "sending rank", 10, "middle", GREY, turned=True))
    return marks


def scale_panel(extremes: tuple[int, int], matrix: CommMatrix, unit: str = "B") -> Panel:
    """Draw the logarithmic scale of colours between two amounts, which cells of a matrix have."""
    (low, high), width = extremes, 240.0
    what = "bytes" if unit == "B" else "volume"
    tasks = matrix.tasks_per_cell
    what += " from one rank to another" if tasks == 1 else f" from {tasks} ranks to {tasks}"
    if not high:
        return Panel(width, 14, (Words(0, 11, f"{what}: nothing is sent", 10, colour=GREY),))
    words = Words(0, 10, f"{what}, logarithmic; white: none", 10, colour=GREY)
    bar = colour_bar(width, only_darkest=low == high)
    wide = max(width + 20, width_of(words.text, words.size))
    return Panel(wide, 44, (words, *bar, *_ticks(low, high, width, unit)))


def _ticks(low: int, high: int, width: float, unit: str) -> list[Mark]:
    """Return amounts below the scale: its ends, and powers of ten between that do not touch others."""
    if low == high:
        return [Words(width / 2, 40, amount(high, unit), 10, "middle", GREY)]
    marks: list[Mark] = [Words(0, 40, amount(low, unit), 10, "start", GREY)]
    marks.append(Words(width, 40, amount(high, unit), 10, "end", GREY))
    power, last = 1, 26.0
    while power < high:
        at = width * float(np.log(power / low) / np.log(high / low)) if power > low else 0.0
        if last + 44 <= at <= width - 76:
            marks.append(Words(at, 40, amount(power, unit), 10, "middle", GREY))
            last = at
        power *= 10
    return marks
