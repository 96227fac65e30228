"""The charts of the report with their tables: which there are depends on the machine and the mappings."""

from __future__ import annotations

from typing import Any

from hopbytes._frozen import frozen
from hopbytes._util.quantities import amount
from hopbytes.cost.metrics.evaluation import Evaluation
from hopbytes.html_report import bar_charts
from hopbytes.html_report.chart_style import picture
from hopbytes.html_report.matrix_blocks import Block, busiest_blocks, coarser
from hopbytes.html_report.matrix_chart import matrix_chart
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
from hopbytes.pictures.figures.comm_matrix import CommMatrix, comm_matrix, common_extremes
from hopbytes.pictures.figures.cost_history import cost_history
from hopbytes.pictures.figures.level_bytes import hop_histogram, level_bytes
from hopbytes.pictures.figures.link_loads import LinkLoads, link_loads, load_histogram

#: Mappings whose matrix is drawn beside that of the launcher's own order.
MATRICES = 3
#: Rows of a matrix that is shown as a whole: each has a pixel, and more would blur.
ROWS = 256
#: Rows and columns of the table beside a matrix.
TABLE_PARTS = 16


@frozen
class Chart:
    """A chart of the page.

    Parameters
    ----------
    name : str
        Identifies it in the page; charts whose names begin alike up to the first dot zoom together.
    title : str
    spec : dict
        What browsers draw.
    still : str
        The same as SVG, for readers without scripts.
    table : Table
        The same numbers.
    zooms : bool
        The chart can be moved and zoomed.
    """

    name: str
    title: str
    spec: dict[str, Any]
    still: str
    table: Table
    zooms: bool = False


def chart(name: str, title: str, spec: dict[str, Any], table: Table, *, zooms: bool = False) -> Chart:
    """Return a chart with its picture for readers without scripts."""
    return Chart(name, title, spec, picture(spec), table, zooms)


def _matrix(
    name: str, title: str, matrix: CommMatrix, blocks: tuple[Block, ...], extremes: tuple[int, int], unit: str
) -> Chart:
    live, still = (matrix_chart(matrix, blocks, extremes, unit, still=each) for each in (False, True))
    return Chart(name, title, live, picture(still), _matrix_table(title, matrix, unit), zooms=True)


def matrix_charts(graph: CommGraph, mappings: dict[str, Mapping], unit: str) -> list[Chart]:
    """Return the communication matrices, the launcher's own order first, with one scale of colours."""
    chosen = dict(list(mappings.items())[: MATRICES + 1])
    found = {name: comm_matrix(graph, mapping, most_rows=ROWS) for name, mapping in chosen.items()}
    extremes = common_extremes(found.values())
    return [
        _matrix(f"matrix.{number}", name, matrix, busiest_blocks(graph, matrix), extremes, unit)
        for number, (name, matrix) in enumerate(found.items())
    ]


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


def level_charts(graph: CommGraph, mappings: dict[str, Mapping], unit: str) -> list[Chart]:
    """Return the chart of bytes per level."""
    found = level_bytes(graph, mappings)
    title = "Bytes by level" if unit == "B" else "Volume by level"
    return [chart("levels", title, bar_charts.level_chart(found, unit), level_table(found, unit))]


def network_charts(
    graph: CommGraph, mappings: dict[str, Mapping], evaluation: Evaluation, unit: str
) -> list[Chart]:
    """Return the charts of hops and links; none on a machine without links.

    Parameters
    ----------
    graph : CommGraph
    mappings : dictionary of str to Mapping
        The launcher's own order first.
    evaluation : Evaluation
        Of the first mapping behind that.
    unit : str
        Unit of volumes.
    """
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
        chart("hops", "Links on the way", bar_charts.hop_chart(hops, unit), hop_table(hops, unit)),
        chart(
            "loads", "Loads of links", bar_charts.load_chart(histogram, names, load),
            load_table(histogram, names, load), zooms=True,
        ),
    ]  # fmt: skip
    places = first.most_loaded(NAMED).tolist()
    if places:
        table = link_table(loads, places, evaluation.hottest, load)
        spec = bar_charts.hot_link_chart(loads, places, load)
        charts.append(chart("links", f"Most loaded links, {names[1]}", spec, table))
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
    spec = bar_charts.history_chart(found, tuple(mappings))
    return [chart("history", "J over time", spec, history_table(steps), zooms=True)]
