"""A communication matrix as a panel: cells, borders and names of nodes, and the scale of its colours."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import UInt8
from hopbytes.model.comm_graph import CommGraph
from hopbytes.pictures.canvas.marks import GREY, PALE, Line, Mark, Panel, Raster, Rectangle, Words, cut
from hopbytes.pictures.canvas.palette import scale_colours
from hopbytes.pictures.figures.comm_matrix import CommMatrix
from hopbytes.pictures.figures.shared_parts import without_shared_end
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
    matrix: CommMatrix, title: str = "", *, extremes: tuple[int, int] | None = None, unit: str = "B"
) -> Panel:
    """Draw a matrix: senders from top to bottom, receivers from left to right."""
    side = side_of(matrix.rows)
    low, high = extremes or matrix.extremes()
    shades = matrix.shades(low, high)
    top, left = 22.0 if title else 4.0, NAMES
    marks: list[Mark] = [Words(left, 12, title, size=12, bold=True)] if title else []
    square = Rectangle(left, top, side, side, "#ffffff", GREY)
    marks.append(square)
    marks += _borders(matrix, square)  # below the cells, so that no line hides traffic
    if matrix.rows <= CELLS_WITH_TIPS:
        marks += _cells(matrix, shades, square, unit)
    else:
        marks.append(Raster(left, top, side, side, shades, scale_colours(), see_through=True))
    marks.append(Rectangle(left, top, side, side, "none", GREY))
    return Panel(left + side + 2, top + side + FOOT, tuple(marks))


def side_of(rows: int) -> float:
    """Return the side of a matrix: about `SIDE`, and for images whole units per row, which keeps them sharp.

    >>> side_of(64), side_of(100), side_of(342), side_of(512)
    (400.0, 400.0, 342.0, 512.0)
    """
    return float(SIDE if rows <= CELLS_WITH_TIPS else rows * max(1, round(SIDE / rows)))


def _cells(matrix: CommMatrix, shades: UInt8, square: Rectangle, unit: str) -> list[Mark]:
    each, colours = square.width / matrix.rows, scale_colours()
    found: list[Mark] = []
    for row, column in np.argwhere(matrix.cells).tolist():
        pair = f"{_who(matrix, row)} to {_who(matrix, column)}"
        found.append(
            Rectangle(
                square.left + column * each, square.top + row * each, each, each,
                colours[shades[row, column]], tip=f"{pair}: {amount(int(matrix.cells[row, column]), unit)}",
            )
        )
    return found


def _who(matrix: CommMatrix, row: int) -> str:
    """Return the tasks of a row and their node."""
    first = row * matrix.tasks_per_cell
    tasks = matrix.order[first : first + matrix.tasks_per_cell].tolist()
    text = f"rank {tasks[0]}" if len(tasks) == 1 else f"{len(tasks)} ranks from {min(tasks)}"
    if not matrix.nodes:
        return text
    return f"{text} ({matrix.nodes[int(np.searchsorted(matrix.borders, first, side='right')) - 1]})"


def _borders(matrix: CommMatrix, square: Rectangle) -> list[Mark]:
    """Return lines between nodes, and names of nodes or numbers of ranks beside the matrix."""
    each = square.width / max(1, matrix.rows * matrix.tasks_per_cell)
    places = (matrix.borders * each).tolist()
    right, foot = square.left + square.width, square.top + square.height
    marks: list[Mark] = []
    apart = places[-1] / max(1, len(matrix.nodes))
    if len(matrix.nodes) > 1 and apart >= CLOSEST_BORDERS:
        colour = BORDER if apart >= CLEAR_BORDERS else PALE_BORDER
        for place in places[1:-1]:
            marks.append(Line(((square.left, square.top + place), (right, square.top + place)), colour, 0.8))
            marks.append(Line(((square.left + place, square.top), (square.left + place, foot)), colour, 0.8))
    last = -CLOSEST_NAMES
    for first, end, name in zip(places, places[1:], without_shared_end(matrix.nodes), strict=False):
        middle = (first + end) / 2
        if middle - last >= CLOSEST_NAMES:
            shown = cut(name, NAMES - 8, 9)
            marks.append(Words(square.left - 5, square.top + middle + 3, shown, 9, "end", GREY))
            last = middle
    if not matrix.nodes:
        marks += _rank_numbers(matrix.tasks, each, square)
    what = "receiving rank, in machine order" if matrix.nodes else "receiving rank"
    marks.append(Words((square.left + right) / 2, foot + 24, what, 10, "middle", GREY))
    if not matrix.nodes:
        middle = square.top + square.height / 2
        marks.append(Words(14, middle, "sending rank", 10, "middle", GREY, turned=True))
    else:
        marks += _node_ticks(matrix, places, square)
    return marks


def _rank_numbers(tasks: int, each: float, square: Rectangle) -> list[Mark]:
    step = round_step(tasks / 6)
    marks: list[Mark] = []
    for rank in range(0, tasks, step):
        place = (rank + 0.5) * each
        marks.append(Words(square.left - 5, square.top + place + 3, f"{rank:,}", 9, "end", GREY))
        anchor = "start" if rank == 0 else "middle"
        foot = square.top + square.height + 12
        marks.append(Words(square.left + place * (rank > 0), foot, f"{rank:,}", 9, anchor, GREY))
    return marks


def _node_ticks(matrix: CommMatrix, places: list[float], square: Rectangle) -> list[Mark]:
    """Return short lines below the matrix where nodes begin, if they are far enough apart."""
    if places[-1] / max(1, len(matrix.nodes)) < CLOSEST_BORDERS:
        return []
    foot = square.top + square.height
    return [Line(((square.left + x, foot), (square.left + x, foot + 5)), BORDER, 0.7) for x in places]


def round_step(least: float) -> int:
    """Return the least power of two that is at least a number: ranks are counted in such steps.

    >>> round_step(10.5), round_step(0.2)
    (16, 1)
    """
    step = 1
    while step < least:
        step *= 2
    return step


def scale_panel(extremes: tuple[int, int], what: str, unit: str = "B", width: float = 240.0) -> Panel:
    """Draw the logarithmic scale of colours between two amounts; `what` says what a cell is."""
    low, high = extremes
    if not high:
        return Panel(width, 14, (Words(0, 11, f"{what}: nothing is sent", 10, colour=GREY),))
    colours = scale_colours()
    cells = np.arange(1, 256, dtype=np.uint8).reshape(1, -1)
    if low == high:
        cells = np.full((1, 255), 255, np.uint8)
    marks: tuple[Mark, ...] = (
        Words(0, 10, f"{what}, logarithmic; white: none", 10, colour=GREY),
        Raster(0, 16, width, 12, cells, colours),
        Rectangle(0, 16, width, 12, "none", PALE),
        *_ticks(low, high, width, unit),
    )
    return Panel(width + 20, 44, marks)


def _ticks(low: int, high: int, width: float, unit: str) -> list[Mark]:
    """Return amounts below the scale: its ends, and powers of ten between that do not touch others."""
    if low == high:
        return [Words(width / 2, 40, amount(high, unit), 10, "middle", GREY)]
    marks: list[Mark] = [Words(0, 40, amount(low, unit), 10, "start", GREY)]
    marks.append(Words(width, 40, amount(high, unit), 10, "end", GREY))
    power, last = 1, 26.0
    while power < high:
        place = width * float(np.log(power / low) / np.log(high / low)) if power > low else 0.0
        if last + 44 <= place <= width - 76:
            marks.append(Words(place, 40, amount(power, unit), 10, "middle", GREY))
            last = place
        power *= 10
    return marks


def volume_unit(graph: CommGraph) -> str:
    """Return ``"B"`` if the pattern counts bytes, else ``""``: its volumes were scaled, or are all 1."""
    return "B" if graph.scale == 1 and graph.volumes is not None else ""


def cell_words(matrix: CommMatrix, unit: str) -> str:
    """Return what a cell of a matrix is, for the scale of its colours."""
    what = "bytes" if unit == "B" else "volume"
    if matrix.tasks_per_cell == 1:
        return f"{what} from one rank to another"
    return f"{what} from {matrix.tasks_per_cell} ranks to {matrix.tasks_per_cell}"
