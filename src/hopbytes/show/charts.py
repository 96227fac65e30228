"""The tables and charts of a report: which charts there are depends on the machine and the mappings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.cost.metrics.evaluation import Evaluation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.show.back_ends import fragment
from hopbytes.show.bars import bar_panel, cost_history, history_panel, hop_panel, level_panel, load_panel
from hopbytes.show.evaluation_text import chosen_rows
from hopbytes.show.marks import SERIES, Panel, below
from hopbytes.show.matrix import matrix_panel, scale_panel
from hopbytes.show.traffic import (
    CommMatrix,
    HeavyPair,
    LinkLoads,
    LoadHistogram,
    comm_matrix,
    common_extremes,
    heaviest_pairs,
    hop_histogram,
    level_bytes,
    link_loads,
    load_histogram,
)
from hopbytes.util.quantities import amount, duration, short_amount

#: Pairs and links that are named, and improvements of J.
NAMED, IMPROVEMENTS = 10, 50
#: Mappings whose matrix is drawn beside that of the launcher's own order, and the rows of a matrix, at most.
MATRICES, ROWS = 3, 512
#: Rows and columns of the table beside a matrix.
TABLE_PARTS = 16

Mappings = dict[str, Mapping]


@frozen
class Table:
    """A table for people."""

    caption: str  # one sentence that says what the table holds
    head: tuple[str, ...]  # names of the columns
    #: the first cell names the row. A row of one cell is the heading of the rows below it.
    rows: tuple[tuple[str, ...], ...]
    words: tuple[int, ...] = (0,)  # columns that hold words and are aligned left; the others hold numbers


@frozen
class Chart:
    """A chart of the page."""

    name: str  # identifies it in the page
    title: str
    picture: str  # an element of SVG, with the numbers as tool tips
    table: Table  # the same numbers


def _chart(name: str, title: str, panel: Panel, table: Table, text: str) -> Chart:
    return Chart(name, title, fragment(panel, f"{text} The table below has the numbers."), table)


def matrix_charts(graph: CommGraph, mappings: Mappings, unit: str) -> list[Chart]:
    """Return the communication matrices, the launcher's own order first, with one scale of colours."""
    chosen = list(mappings.items())[: MATRICES + 1]
    matrices = {name: comm_matrix(graph, mapping, most_rows=ROWS) for name, mapping in chosen}
    extremes = common_extremes(matrices.values())
    text = "Communication matrix: rows send to columns, tasks stand in the order of the machine."
    charts = []
    for number, (name, matrix) in enumerate(matrices.items()):
        parts = [matrix_panel(matrix, extremes=extremes, unit=unit), scale_panel(extremes, matrix, unit)]
        table = _matrix_table(name, matrix, unit)
        charts.append(_chart(f"matrix-{number}", name, below(parts, 6), table, f"{name}. {text}"))
    return charts


def _matrix_table(name: str, matrix: CommMatrix, unit: str) -> Table:
    """Return sums of the matrix over at most `TABLE_PARTS` rows and columns."""
    starts = np.arange(0, matrix.rows, -(-matrix.rows // TABLE_PARTS))
    cells = np.add.reduceat(np.add.reduceat(matrix.cells, starts, axis=0), starts, axis=1)
    heads = [f"{start:,}" for start in (starts * matrix.tasks_per_cell).tolist()]
    rows = [
        (head, *(amount(value, unit) if value else "–" for value in row))
        for head, row in zip(heads, cells.tolist(), strict=True)
    ]
    caption = f"Volume between parts of the matrix, {name}: rows send to columns; names are first positions"
    return Table(caption, ("from position", *heads), tuple(rows))


def traffic_charts(graph: CommGraph, mappings: Mappings, evaluation: Evaluation, unit: str) -> list[Chart]:
    """Return the charts of levels, of hops and links if there are any, and of J over time if it is known."""
    links = next(iter(mappings.values())).where.machine.network() is not None
    charts = [_level_chart(graph, mappings, unit)]
    charts += _network_charts(graph, mappings, evaluation, unit) if links else []
    return charts + _history_charts(mappings)


def _level_chart(graph: CommGraph, mappings: Mappings, unit: str) -> Chart:
    levels = level_bytes(graph, mappings)
    total = np.maximum(levels.volumes.sum(axis=1), 1)
    shares = 100 * (levels.volumes / total[:, np.newaxis])
    rows = [
        (label, *(f"{amount(volume, unit)} ({share:.1f} %)" for volume, share in zip(*own, strict=True)))
        for label, *own in zip(levels.labels, levels.volumes.T.tolist(), shares.T.tolist(), strict=True)
    ]
    title = "Bytes by level" if unit == "B" else "Volume by level"
    table = Table("Volume by level of the machine", ("level", *levels.mappings), tuple(rows))
    text = "Bars: volume that crosses each level of the machine, for each mapping."
    return _chart("levels", title, level_panel(levels, unit=unit), table, text)


def _network_charts(graph: CommGraph, mappings: Mappings, evaluation: Evaluation, unit: str) -> list[Chart]:
    names = tuple(mappings)
    hops = hop_histogram(graph, mappings)
    volumes = zip(hops.hops.tolist(), hops.volumes.T.tolist(), strict=True)
    hop_rows = [(str(count), *(amount(volume, unit) for volume in own)) for count, own in volumes]
    hop_table = Table("Volume by number of links on the way", ("links", *names), tuple(hop_rows))
    loads = [link_loads(graph, mapping) for mapping in mappings.values()]
    what, words = _load_of(loads[1], unit)
    histogram = load_histogram(loads)
    charts = [
        _chart(
            "hops", "Links on the way", hop_panel(hops, unit=unit), hop_table,
            "Bars: volume by the number of links on its way, for each mapping.",
        ),
        _chart(
            "loads", "Loads of links", load_panel(histogram, names, words=words, what=what),
            _load_table(histogram, names, what, words),
            "Bars: number of links by their load, for each mapping.",
        ),
    ]
    busiest = loads[1].most_loaded(NAMED).tolist()
    if busiest:
        rows = [(loads[1].names[link], [float(one.congestion[link]) for one in loads]) for link in busiest]
        flows = {link.name: _flows(link.largest, link.flows) for link in evaluation.hottest}
        cells = [(name, *map(words, values), flows.get(name, "")) for name, values in rows]
        head = ("link", *(f"{what}, {name}" for name in names), "tasks with the largest flows")
        table = Table(f"The {len(rows)} most loaded links", head, tuple(cells), (0, len(head) - 1))
        charts.append(_chart(
            "links", f"Most loaded links, {names[1]}", bar_panel(rows, names, words=words), table,
            f"Bars: {what}, of the most loaded links, for each mapping.",
        ))  # fmt: skip
    return charts


def _load_of(loads: LinkLoads, unit: str) -> tuple[str, Callable[[float], str]]:
    """Return what the volume of a link over its capacity is, and what writes it for people."""
    if set(loads.capacities.tolist()) == {1}:
        return "bytes on a link" if unit == "B" else "volume on a link", partial(_short_load, unit)
    if unit == "B" and loads.unit == "bytes/s":
        return "bytes on a link / its bandwidth", duration
    return f"volume on a link / its capacity ({loads.unit})", partial(_short_load, "")


def _short_load(unit: str, value: float) -> str:
    return f"{value:.3g} {unit}".rstrip() if abs(value) < 1 else short_amount(value, unit)


def _load_table(
    histogram: LoadHistogram, names: Sequence[str], what: str, words: Callable[[float], str]
) -> Table:
    edges = histogram.edges.tolist()
    rows = [("no traffic", *_counts(histogram.idle))]
    rows += [
        (f"{words(low)} to {words(high)}", *_counts(counts))
        for low, high, counts in zip(edges[:-1], edges[1:], histogram.counts.T, strict=True)
        if counts.any()
    ]
    return Table(f"Number of links by {what}", (what, *names), tuple(rows))


def _counts(numbers: Int64) -> Iterable[str]:
    return (f"{count:,}" for count in numbers.tolist())


def _flows(largest: Sequence[tuple[int, int, int]], count: int) -> str:
    """Return the largest flows over a link, and how many others there are."""
    named = ", ".join(f"{source} to {target}" for source, target, _ in largest)
    more = count - len(largest)
    return f"{named} and {more:,} more" if more > 0 else named


def _history_charts(mappings: Mappings) -> list[Chart]:
    """Return the chart of J over time; none unless a search found at least two mappings."""
    histories = {
        name: cost_history(mapping)
        for name, mapping in mappings.items() if len(mapping.info.get("history") or ()) > 1
    }  # fmt: skip
    if not histories:
        return []
    colours = {name: SERIES[row % len(SERIES)] for row, name in enumerate(mappings)}
    rows = []
    for name, history in histories.items():
        steps = history.steps  # all of them, or evenly chosen ones with first and last
        kept = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), IMPROVEMENTS)).round().astype(int))
        for seconds, arcs, cost in (steps[step] for step in kept.tolist()):
            rows.append((name, duration(seconds), f"{arcs:,}", f"{cost:,}"))
    table = Table("Improvements of J", ("mapping", "time", "scanned edges", "J"), tuple(rows))
    text = "Lines: the best communication cost J that the search knew, over time."
    return [_chart("history", "J over time", history_panel(histories, colours), table, text)]


def comparison_table(evaluations: dict[str, Evaluation], *, complete: bool, unit: str | None) -> Table:
    """Return the metrics of the launcher's own order and of all mappings, in columns."""
    columns = [chosen_rows(one, complete=complete, unit=unit) for one in evaluations.values()]
    recorded = any(row.recorded for row in columns[0])
    rows: list[tuple[str, ...]] = []
    for row, *others in zip(*columns, strict=False):
        base = [row.in_order, *([row.recorded] if recorded else [])]
        cells = [*base, row.mapping, *(one.mapping for one in others)]
        rows.append((row.label, *cells) if any(row[1:]) else (row.label,))
    which = "All metrics" if complete else "Metrics"  # names of regions differ, for readers that list them
    head = ("metric", "in order", *(["as recorded"] if recorded else []), *evaluations)
    return Table(f"{which} of the launcher's own order and of the mappings", head, tuple(rows))


def pair_table(graph: CommGraph, mappings: Mappings, unit: str) -> Table:
    """Return the pairs of tasks that exchange most, and where every mapping puts them."""
    columns = [heaviest_pairs(graph, mapping, NAMED) for mapping in mappings.values()]
    rows = [
        (f"{one[0].first:,} and {one[0].second:,}", amount(one[0].volume, unit), *map(_where, one))
        for one in zip(*columns, strict=True)
    ]
    head = ("tasks", "both directions", *mappings)
    caption = f"The {len(rows)} pairs of tasks that exchange most"
    return Table(caption, head, tuple(rows), (0, *range(2, len(head))))


def _where(pair: HeavyPair) -> str:
    level = "on the same PE" if pair.level == "same PE" else f"between {pair.level}s"
    hops = "" if not pair.hops else f", {pair.hops} {'link' if pair.hops == 1 else 'links'}"
    return f"{level}{hops}: {pair.first_pe}, {pair.second_pe}"
