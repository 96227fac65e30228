"""The charts of the report with their tables: which there are depends on the machine and the mappings."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.cost.metrics.evaluation import Evaluation
from hopbytes.html_report.page_tables import (
    NAMED,
    Load,
    Table,
    history_table,
    hop_table,
    level_table,
    link_table,
    load_table,
)
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.pictures.bar_picture import bar_panel, hop_panel, level_panel, load_panel
from hopbytes.pictures.canvas.marks import Panel, below
from hopbytes.pictures.canvas.palette import SERIES
from hopbytes.pictures.canvas.svg import fragment
from hopbytes.pictures.figures.comm_matrix import CommMatrix, comm_matrix, common_extremes
from hopbytes.pictures.figures.cost_history import cost_history
from hopbytes.pictures.figures.level_bytes import hop_histogram, level_bytes
from hopbytes.pictures.figures.link_loads import LinkLoads, link_loads, load_histogram
from hopbytes.pictures.history_picture import history_panel
from hopbytes.pictures.matrix_picture import cell_words, matrix_panel, scale_panel
from hopbytes.util.quantities import amount

#: Mappings whose matrix is drawn beside that of the launcher's own order.
MATRICES = 3
#: Rows of a matrix, at most; the rows of larger ones are sums over several tasks.
ROWS = 512
#: Rows and columns of the table beside a matrix.
TABLE_PARTS = 16


@frozen
class Chart:
    """A chart of the page."""

    name: str  # identifies it in the page
    title: str
    picture: str  # an element of SVG, with the numbers as tool tips
    table: Table  # the same numbers


def _chart(name: str, title: str, panel: Panel, table: Table, says: str) -> Chart:
    return Chart(name, title, fragment(panel, f"{says} The table below has the numbers."), table)


def matrix_charts(graph: CommGraph, mappings: dict[str, Mapping], unit: str) -> list[Chart]:
    """Return the communication matrices, the launcher's own order first, with one scale of colours."""
    chosen = dict(list(mappings.items())[: MATRICES + 1])
    found = {name: comm_matrix(graph, mapping, most_rows=ROWS) for name, mapping in chosen.items()}
    extremes = common_extremes(found.values())
    says = "Communication matrix: rows send to columns, tasks stand in the order of the machine."
    return [
        _chart(
            f"matrix-{number}", name,
            below([
                matrix_panel(matrix, extremes=extremes, unit=unit),
                scale_panel(extremes, cell_words(matrix, unit), unit),
            ], 6),
            _matrix_table(name, matrix, unit), f"{name}. {says}",
        )
        for number, (name, matrix) in enumerate(found.items())
    ]  # fmt: skip


def _matrix_table(name: str, matrix: CommMatrix, unit: str) -> Table:
    """Return the matrix in at most `TABLE_PARTS` parts on a side."""
    cells, borders = coarser(matrix, TABLE_PARTS)
    heads = [f"{start:,}" for start in borders[:-1].tolist()]
    rows = [
        (head, *(amount(value, unit) if value else "–" for value in row))
        for head, row in zip(heads, cells.tolist(), strict=True)
    ]
    caption = f"Volume between parts of the matrix, {name}: rows send to columns; names are first positions"
    return Table(caption, ("from position", *heads), tuple(rows))


def coarser(matrix: CommMatrix, most: int) -> tuple[Int64, Int64]:
    """Return sums of a matrix over at most `most` rows and columns, and their borders in tasks."""
    each = -(-matrix.rows // most)
    starts = np.arange(0, matrix.rows, each)
    cells = np.add.reduceat(np.add.reduceat(matrix.cells, starts, axis=0), starts, axis=1)
    borders = np.append(starts * matrix.tasks_per_cell, matrix.tasks)
    return cells.astype(np.int64), borders.astype(np.int64)


def level_charts(graph: CommGraph, mappings: dict[str, Mapping], unit: str) -> list[Chart]:
    """Return the chart of bytes per level."""
    found = level_bytes(graph, mappings)
    title = "Bytes by level" if unit == "B" else "Volume by level"
    says = "Bars: volume that crosses each level of the machine, for each mapping."
    return [_chart("levels", title, level_panel(found, unit=unit), level_table(found, unit), says)]


def network_charts(
    graph: CommGraph, mappings: dict[str, Mapping], evaluation: Evaluation, unit: str
) -> list[Chart]:
    """Return the charts of hops and links; none on a machine without links."""
    names = tuple(mappings)
    where = mappings[names[0]].where
    if where.machine.network() is None:
        return []
    hops = hop_histogram(graph, mappings)
    loads = {name: link_loads(graph, mapping) for name, mapping in mappings.items()}
    first = loads[names[1]]
    load = _load_of(first, unit)
    histogram = load_histogram(list(loads.values()))
    charts = [
        _chart(
            "hops", "Links on the way", hop_panel(hops, unit=unit), hop_table(hops, unit),
            "Bars: volume by the number of links on its way, for each mapping.",
        ),
        _chart(
            "loads", "Loads of links", load_panel(histogram, names, said=load.said, what=load.name),
            load_table(histogram, names, load), "Bars: number of links by their load, for each mapping.",
        ),
    ]
    places = first.most_loaded(NAMED).tolist()
    if places:
        rows = [(first.names[at], [float(one.congestion[at]) for one in loads.values()]) for at in places]
        charts.append(_chart(
            "links", f"Most loaded links, {names[1]}", bar_panel(rows, names, said=load.said),
            link_table(loads, places, evaluation.hottest, load),
            f"Bars: {load.name}, of the most loaded links, for each mapping.",
        ))  # fmt: skip
    return charts


def _load_of(loads: LinkLoads, unit: str) -> Load:
    """Return what the volume of a link over its capacity is."""
    if set(loads.capacities.tolist()) == {1}:
        return Load("bytes on a link" if unit == "B" else "volume on a link", unit)
    if unit == "B" and loads.unit == "bytes/s":
        return Load("bytes on a link / its bandwidth", "s")
    return Load(f"volume on a link / its capacity ({loads.unit})", "")


def history_charts(mappings: dict[str, Mapping]) -> list[Chart]:
    """Return the chart of J over time; none unless a search found at least two mappings.

    The launcher's own order comes first in `mappings`.
    """
    found = {
        name: cost_history(mapping)
        for name, mapping in mappings.items()
        if len(mapping.info.get("history") or ()) > 1
    }
    if not found:
        return []
    steps = {
        name: list(zip(one.seconds.tolist(), one.arcs.tolist(), one.costs.tolist(), strict=True))
        for name, one in found.items()
    }
    colours = {name: SERIES[place % len(SERIES)] for place, name in enumerate(mappings)}
    says = "Lines: the best communication cost J that the search knew, over time."
    return [_chart("history", "J over time", history_panel(found, colours), history_table(steps), says)]
