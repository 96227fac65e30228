"""The communication matrix as a chart: a picture of shades, borders of nodes, and texts under the mouse."""

from __future__ import annotations

import base64
import io
import json
from itertools import pairwise
from typing import Any

import numpy as np

from hopbytes._arrays import Int64, UInt8
from hopbytes._util.quantities import amount
from hopbytes.html_report.bar_charts import PREFIXED
from hopbytes.html_report.chart_style import LINE, altair, as_json
from hopbytes.html_report.matrix_blocks import Block, coarser
from hopbytes.pictures.figures.comm_matrix import CommMatrix

#: Pixels of a side of the matrix.
SIDE = 400
#: Rows and columns of the grid that carries texts, and the most cells of it that have one.
GRID, MOST_CELLS = 32, 2048
#: Nodes whose borders are drawn, and nodes whose names stand on the axes.
BORDERS_DRAWN, NODES_NAMED = 512, 16
#: Nodes on a side between which borders are visible.
BORDERS_CLEAR = 33
#: Colours from the smallest volume to the largest.
RAMP = ("#cfe3ef", "#86c1d9", "#3b8fc2", "#1d5aa3", "#0f2a63")


def matrix_chart(
    matrix: CommMatrix, blocks: tuple[Block, ...], extremes: tuple[int, int], unit: str, *,
    still: bool = False,
) -> dict[str, Any]:
    """Return the chart of a communication matrix.

    Parameters
    ----------
    matrix : CommMatrix
    blocks : tuple of Block
        Parts in full resolution, which appear when the reader has zoomed in.
    extremes : (int, int)
        Smallest and largest value of the scale of colours.
    unit : str
        Unit of volumes.
    still : bool
        For a picture that nobody can zoom: without what would be invisible in it.
    """
    alt = altair()
    sides = alt.Scale(domain=[0, matrix.tasks], nice=False)
    down = alt.Scale(domain=[matrix.tasks, 0], nice=False)
    senders = alt.Y("y:Q", scale=down, title="sender", axis=_axis(matrix, "y"))
    receivers = alt.X("x:Q", scale=sides, title="receiver", axis=_axis(matrix, "x"))
    ends = {"x2": "x2:Q", "y2": "y2:Q"}
    images = [_image(0, 0, matrix.cells * 1, matrix.tasks_per_cell, matrix.tasks, extremes)]
    overview = alt.Chart(alt.Data(values=images)).mark_image(
        aspect=False, smooth=False, clip=True, aria=False
    ).encode(x=receivers, y=senders, url="url:N", **ends)  # fmt: skip
    layers = [overview]
    if blocks and not still:
        near = f"abs(domain('x')[1] - domain('x')[0]) < {matrix.tasks / 3} ? 1 : 0"
        details = [_image(one.row, one.column, one.cells, 1, matrix.tasks, extremes) for one in blocks]
        layers.append(
            alt.Chart(alt.Data(values=details)).mark_image(
                aspect=False, smooth=False, clip=True, aria=False, opacity=alt.expr(near)
            ).encode(x="x:Q", y="y:Q", url="url:N", **ends)
        )  # fmt: skip
    borders = matrix.borders[1:-1].tolist()
    if 0 < len(borders) < (BORDERS_CLEAR if still else BORDERS_DRAWN):
        rows = [{"at": each} for each in borders]
        # Borders of many nodes would hide the matrix; they appear when few nodes are shown.
        nodes = f"abs(domain('x')[1] - domain('x')[0]) * {len(matrix.nodes)} / {matrix.tasks}"
        clear = alt.expr(f"{nodes} < {BORDERS_CLEAR} ? 1 : 0")
        line = {"color": LINE, "strokeWidth": 1, "clip": True, "aria": False, "strokeOpacity": clear}
        layers += [
            alt.Chart(alt.Data(values=rows)).mark_rule(**line).encode(x="at:Q"),
            alt.Chart(alt.Data(values=rows)).mark_rule(**line).encode(y="at:Q"),
        ]
    tips = [alt.Tooltip(f"{name}:N") for name in ("sender", "receiver", "volume")]
    low, high = extremes
    shade = alt.Color(
        "shade:Q", title=_legend(matrix, unit),
        scale=alt.Scale(type="log" if low < high else "linear", domain=[low, max(high, 1)], range=list(RAMP)),
        legend=alt.Legend(
            gradientOpacity=1, gradientLength=320, labelExpr=PREFIXED.replace("{unit}", unit),
            values=_ticks(low, high),
        ),
    )  # fmt: skip
    zoom = alt.selection_interval(name="zoom", bind="scales", zoom="wheel![event.ctrlKey || event.metaKey]")
    texts = _texts(matrix, unit)[: 1 if still else None]  # one of them brings the legend
    layers.append(
        alt.Chart(alt.Data(values=texts))
        .mark_rect(fillOpacity=0, clip=True, aria=False)
        .encode(x="x:Q", y="y:Q", color=shade, tooltip=tips, **ends)
        .add_params(zoom)
    )
    text = "Communication matrix: rows send to columns, tasks stand in the order of the machine."
    return as_json(alt.layer(*layers).properties(width=SIDE, height=SIDE, description=text))


def _ticks(low: int, high: int) -> list[int]:
    """Return values for the legend: every power of ten or of a hundred, or the ends if there are few."""
    powers = [10**each for each in range(19) if low <= 10**each <= high]
    found = powers[:: 1 + len(powers) // 6]
    return found if len(found) > 2 else sorted({low, high})


def png(shades: UInt8) -> str:
    """Return shades 0 to 255 as the address of a picture that contains itself; 0 is transparent."""
    from PIL import Image

    image = Image.fromarray(np.ascontiguousarray(shades))
    image.putpalette(_palette())  # the picture is now one of palette colours
    stream = io.BytesIO()
    image.save(stream, format="PNG", optimize=True, transparency=0)
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()


def _palette() -> list[int]:
    """Return red, green and blue of 256 colours along the ramp."""
    knots = np.array([[int(one[at : at + 2], 16) for at in (1, 3, 5)] for one in RAMP])
    places = np.linspace(0, len(RAMP) - 1, 256)
    parts = [np.interp(places, np.arange(len(RAMP)), knots[:, each]) for each in range(3)]
    return [int(value) for value in np.rint(np.stack(parts, axis=1)).reshape(-1)]


def _image(
    row: int, column: int, cells: Int64, each: int, tasks: int, extremes: tuple[int, int]
) -> dict[str, Any]:
    """Return a picture of cells that hold `each` tasks, and where it is, in tasks."""
    whole = CommMatrix(cells, tasks, each, np.arange(0, dtype=np.int32), np.arange(0))
    bottom, right = row + cells.shape[0] * each, column + cells.shape[1] * each
    return {
        "y": row, "x": column, "y2": bottom, "x2": right, "url": png(whole.shades(*extremes)),
    }  # fmt: skip


def _texts(matrix: CommMatrix, unit: str) -> list[dict[str, Any]]:
    """Return rectangles with the volume they hold, none where nothing is sent."""
    cells, borders = matrix.cells, np.append(np.arange(matrix.rows) * matrix.tasks_per_cell, matrix.tasks)
    if np.count_nonzero(cells) > MOST_CELLS:
        cells, borders = coarser(matrix, GRID)
    names = [_who(matrix, start, end) for start, end in pairwise(borders.tolist())]
    return [
        {
            "y": int(borders[row]), "x": int(borders[column]), "y2": int(borders[row + 1]),
            "x2": int(borders[column + 1]), "shade": int(cells[row, column]), "sender": names[row],
            "receiver": names[column], "volume": amount(int(cells[row, column]), unit),
        }
        for row, column in zip(*(part.tolist() for part in np.nonzero(cells)), strict=True)
    ]


def _who(matrix: CommMatrix, start: int, end: int) -> str:
    """Return the tasks between two positions, and their nodes, in words."""
    tasks = matrix.order[start:end]
    said = f"task {tasks[0]}" if len(tasks) == 1 else f"{len(tasks)} tasks"
    if not matrix.nodes:
        return said
    first, last = (int(np.searchsorted(matrix.borders, at, side="right")) - 1 for at in (start, end - 1))
    nodes = matrix.nodes[first] if first == last else f"{matrix.nodes[first]} … {matrix.nodes[last]}"
    return f"{said} on {nodes}"


def _axis(matrix: CommMatrix, side: str) -> Any:
    """Return the axis x or y, with names of nodes if they are few, otherwise with numbers."""
    alt = altair()
    if not 1 < len(matrix.nodes) <= NODES_NAMED:
        return alt.Axis(grid=False, tickCount=6)
    middles = ((matrix.borders[1:] + matrix.borders[:-1]) / 2).tolist()
    # Names of hosts are data: as JSON they cannot end the expression.
    name = f"{json.dumps(list(matrix.nodes))}[indexof({json.dumps(middles)}, datum.value)]"
    chosen = f"inrange(datum.value, domain('{side}')) ? {name} : ''"  # nothing beside what is shown
    angle = {"labelAngle": -45} if side == "x" and len(middles) > 6 else {}
    return alt.Axis(grid=False, values=middles, labelExpr=chosen, ticks=False, labelLimit=90, **angle)


def _legend(matrix: CommMatrix, unit: str) -> str:
    what = "bytes" if unit == "B" else "volume"
    each = matrix.tasks_per_cell
    return what if each == 1 else f"{what} per {each} × {each} tasks"
