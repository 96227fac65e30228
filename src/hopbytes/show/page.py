"""write_report(): the report of one or several mappings as one page of HTML.

The page has no scripts and loads nothing; every text is escaped.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Mapping as Dictionary
from functools import partial
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.cost.metrics.evaluation import Evaluation, evaluate
from hopbytes.errors import HopbytesError, UnsupportedError, WrongTypeError, printable
from hopbytes.formats.base import MARK, formats
from hopbytes.formats.files import atomic_write, check_writable
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.graph_sources import NetworkxGraph
from hopbytes.model.mapping import Mapping, check_tasks
from hopbytes.show import traffic
from hopbytes.show.back_ends import fragment
from hopbytes.show.bars import bar_panel, cost_history, history_panel, hop_panel, level_panel, load_panel
from hopbytes.show.describe import ranks_per_node
from hopbytes.show.evaluation_text import chosen_rows
from hopbytes.show.marks import SERIES, Panel, below
from hopbytes.show.matrix import matrix_panel, scale_panel
from hopbytes.show.predictions import GRADES, LIMITS
from hopbytes.show.verdict import ORDERS, Verdict, slots_sentence, verdict_of, volume_unit
from hopbytes.text.open_input import path_text
from hopbytes.util.quantities import amount, duration, number, short_amount
from hopbytes.util.version import __version__

if TYPE_CHECKING:
    import scipy.sparse

#: Name of the launcher's own order in charts and tables.
IN_ORDER = "in order"
#: Characters of the names in the title; below, they stand in full.
LONGEST_NAME = 80
#: Columns of the lists of ranks per node, and lines up to which such a list is shown at once, and printed.
COLUMNS, SHORT = 110, 40
#: The end of a notice about speeds that are assumed.
OPTION_HINT = re.compile(r" \(`\w+` sets it\)")
#: The launchers that most clusters have: format, name, and name of the file.
LAUNCHES = (
    ("openmpi", "Open MPI", "rankfile"), ("slurm", "Slurm", "hostfile"), ("hydra", "Hydra", "hosts"),
    ("intel", "Intel MPI", "machinefile"),
)  # fmt: skip
#: Name of the file in which the commands of a report store a mapping that the report made.
STORED = "mapping.json"
#: Options of the verb `report` that `map` has not, and those of them that are followed by a value.
OWN = ("-o", "--output", "--compare-with", "--force", "--quiet", "-q")
WITH_VALUE = OWN[:3]
#: The page may load nothing, from nowhere, and runs nothing.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
MATRIX_TEXT = (
    "Each row is a task that sends, each column a task that receives; both stand in the order of the "
    "machine, and lines separate the nodes. What lies in the squares on the diagonal stays inside a node. "
    "The colours are logarithmic and the same in all matrices."
)
UNDO_TEXT = (
    "start the program as before, without these files. Nothing is installed, changed or kept. Ranks keep "
    "their numbers and their input; only the cores differ. Results may differ in the last digits if the MPI "
    "library chooses the order of a reduction by node."
)


@frozen
class Origin:
    """How the report came about, as commands to type again."""

    command: str = ""  # the command that wrote it; "" if a program did
    stores: str = ""  # the command that stores the first mapping, if it was made for the report; "" otherwise
    stored: str = "MAPPING.json"  # name of the file of the first mapping, quoted for a shell
    pattern: str = ""  # the pattern as it was typed; "" takes the name that it knows itself


def write_report(
    graph: CommGraph | ArrayLike | os.PathLike[str] | scipy.sparse.sparray | NetworkxGraph,
    mappings: Mapping | str | os.PathLike[str] | Dictionary[str, Mapping | str | os.PathLike[str]],
    path: str | os.PathLike[str],
    *,
    launcher: str = "fill",
    origin: Origin | None = None,
    force: bool = False,
) -> str:
    """Write a report about mappings of a pattern as one HTML file, which needs no network.

    The page begins with the verdict: the bytes between nodes beside those of the launcher's own order, and
    the predicted time of the messages. Charts, each beside a table with the same numbers, follow: the
    communication matrix before and after, bytes by level, links on the way, loads of links, J over time;
    then the metrics, the heaviest pairs, and the commands that start a program on the mapping.

    Parameters
    ----------
    graph : CommGraph, or what :meth:`hopbytes.CommGraph.of` takes: a matrix, another graph, or a text
    mappings : Mapping, or the name of a file that holds one, or a dictionary of them by name
        Mappings of the graph to one machine. The keys are the names in the report; the first one is the
        mapping that the commands use.
    path : path or ``"-"``
        File to write; ``-`` is standard output. It is written completely or not at all.
    launcher : str
        The launcher's own order to compare with, see :func:`hopbytes.evaluate`.
    origin : Origin, optional
        The commands by which the report and its mappings were made, for the page.
    force : bool
        Overwrite a file that hopbytes did not write.

    Returns
    -------
    str
        The path.

    Raises
    ------
    FormatError
        Graph and mapping have different numbers of tasks.
    UnsupportedError
        The mappings are for different machines, or the file cannot be written.
    WrongTypeError
        `mappings` does not hold mappings.

    Notes
    -----
    O(m log m + links) per mapping. Charts are SVG with the numbers as tool tips; see docs/report.md for
    sizes.

    Examples
    --------
    >>> import hopbytes as hb
    >>> graph = hb.read("stencil:4x4")
    >>> mapping = hb.map_tasks(graph, hb.allocate("node:4@10 core:4@1"))
    >>> hb.write_report(graph, mapping, "report.html")   # doctest: +SKIP
    'report.html'
    """
    path = path_text(path)
    if not isinstance(origin, (Origin, type(None))):
        raise WrongTypeError(f"origin {origin!r}, expected an Origin")
    check_report_target(path, force=force)
    graph, named = CommGraph.of(graph), traffic.named_mappings(mappings)
    machine = next(iter(named.values())).where.machine.spec()
    for name, mapping in named.items():
        if name == IN_ORDER:
            raise UnsupportedError(f"a mapping is called {name!r}, the name of the launcher's own order")
        check_tasks(graph, mapping.n, name)
        spec = mapping.where.machine.spec()
        if spec != machine:
            what = f"a mapping to {spec[:80]}, expected one to {machine[:80]}, as the first mapping"
            raise UnsupportedError(f"{name}: {what}")
    atomic_write({path: _html(page_of(graph, named, launcher, origin or Origin()))})
    return path


def check_report_target(path: str, *, force: bool) -> None:
    """Raise UnsupportedError before any work if the report cannot be written to `path`."""
    if path != "-":
        check_writable(path, force)


# What the verb `report` knows of the origin of mappings


def origin_of_files(pattern: str, paths: Sequence[str], words: Sequence[str]) -> Origin:
    """Return the origin of a report about mappings in files; `words` are the command line."""
    return Origin(_command(words), "", shlex.quote(paths[0]), os.path.basename(pattern))


def made_here(pattern: str, mapping: Mapping, words: Sequence[str]) -> tuple[dict[str, Mapping], Origin]:
    """Return a mapping by a name that says how it was made, and the origin of a report about it."""
    name = f"preset {mapping.info['preset']}" if mapping.info.get("preset") else "mapping"
    stores = _command(as_map(words)) if words and words[0] == "report" else ""
    return {name: mapping}, Origin(_command(words), stores, STORED, os.path.basename(pattern))


def _command(words: Sequence[str]) -> str:
    return shlex.join(["hopbytes", *words])


def as_map(words: Sequence[str]) -> list[str]:
    """Return the words of a command line that stores the mapping which ``report`` has made."""
    kept, left = ["map"], iter(words[1:])
    for word in left:
        if word.partition("=")[0] in OWN:
            if word in WITH_VALUE:
                next(left, None)
        elif not word.startswith("-o"):
            kept.append(word)
    return [*kept, "-o", STORED]


def names_of(paths: Sequence[str]) -> list[str]:
    """Return a short name for each file: without folders, where that makes a difference between them."""
    short = [os.path.basename(path) for path in paths]
    return short if len(set(short)) == len(set(paths)) else list(paths)


# Tables and charts: which there are depends on the machine and the mappings

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
    matrices = {name: traffic.comm_matrix(graph, mapping, most_rows=ROWS) for name, mapping in chosen}
    extremes = traffic.common_extremes(matrices.values())
    text = "Communication matrix: rows send to columns, tasks stand in the order of the machine."
    charts = []
    for position, (name, matrix) in enumerate(matrices.items()):
        parts = [matrix_panel(matrix, extremes, unit=unit), scale_panel(extremes, matrix, unit)]
        table = _matrix_table(name, matrix, unit)
        charts.append(_chart(f"matrix-{position}", name, below(parts, 6), table, f"{name}. {text}"))
    return charts


def _matrix_table(name: str, matrix: traffic.CommMatrix, unit: str) -> Table:
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
    levels = traffic.level_bytes(graph, mappings)
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
    hops = traffic.hop_histogram(graph, mappings)
    volumes = zip(hops.hops.tolist(), hops.volumes.T.tolist(), strict=True)
    hop_rows = [(str(count), *(amount(volume, unit) for volume in own)) for count, own in volumes]
    hop_table = Table("Volume by number of links on the way", ("links", *names), tuple(hop_rows))
    loads = [traffic.link_loads(graph, mapping) for mapping in mappings.values()]
    what, words = _load_of(loads[1], unit)
    histogram = traffic.load_histogram(loads)
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


def _load_of(loads: traffic.LinkLoads, unit: str) -> tuple[str, Callable[[float], str]]:
    """Return what the volume of a link over its capacity is, and what writes it for people."""
    if set(loads.capacities.tolist()) == {1}:
        return "bytes on a link" if unit == "B" else "volume on a link", partial(_short_load, unit)
    if unit == "B" and loads.unit == "bytes/s":
        return "bytes on a link / its bandwidth", duration
    return f"volume on a link / its capacity ({loads.unit})", partial(_short_load, "")


def _short_load(unit: str, value: float) -> str:
    return f"{value:.3g} {unit}".rstrip() if abs(value) < 1 else short_amount(value, unit)


def _load_table(
    histogram: traffic.LoadHistogram, names: Sequence[str], what: str, words: Callable[[float], str]
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
    columns = [traffic.heaviest_pairs(graph, mapping, NAMED) for mapping in mappings.values()]
    rows = [
        (f"{one[0].first:,} and {one[0].second:,}", amount(one[0].volume, unit), *map(_where, one))
        for one in zip(*columns, strict=True)
    ]
    head = ("tasks", "both directions", *mappings)
    caption = f"The {len(rows)} pairs of tasks that exchange most"
    return Table(caption, head, tuple(rows), (0, *range(2, len(head))))


def _where(pair: traffic.HeavyPair) -> str:
    level = "on the same PE" if pair.level == "same PE" else f"between {pair.level}s"
    hops = "" if not pair.hops else f", {pair.hops} {'link' if pair.hops == 1 else 'links'}"
    return f"{level}{hops}: {pair.first_pe}, {pair.second_pe}"


# The content: verdict, key figures, charts, tables, commands, and how it was made


@frozen
class Figure:
    """A key figure: its name, its value, the value in order, and the change in words."""

    name: str
    value: str
    before: str
    change: str
    better: bool | None


@frozen
class Judged:
    """A mapping with its verdict: the headline, the sentences below it, key figures, ranks per node."""

    name: str
    headline: str
    sentences: tuple[str, ...]
    figures: tuple[Figure, ...]
    ranks: tuple[str, ...]


@frozen
class Page:
    """Everything that the page shows."""

    title: str
    subtitle: str
    judged: tuple[Judged, ...]
    matrices: tuple[Chart, ...]
    charts: tuple[Chart, ...]
    comparison: Table
    all_metrics: Table
    pairs: Table
    times: Table | None
    time_notes: tuple[str, ...]
    stores: str
    checks: str
    launches: dict[str, list[str]]  # launcher → commands: the first writes the files, the others start
    origin: tuple[tuple[str, str], ...]
    notices: tuple[str, ...]


def page_of(graph: CommGraph, mappings: dict[str, Mapping], launcher: str, origin: Origin) -> Page:
    """Return the content of the report; see :func:`hopbytes.write_report`."""
    first = next(iter(mappings.values()))
    evaluations = {
        name: evaluate(graph, one, random_seeds=0, launcher=launcher) for name, one in mappings.items()
    }
    unit = volume_unit(graph, first)
    verdicts = {name: verdict_of(graph, one, evaluations[name]) for name, one in mappings.items()}
    everyone = {IN_ORDER: traffic.launcher_mapping(graph, first, launcher), **mappings}
    times, time_notes = _times(verdicts)
    total = amount(graph.total_volume, unit or "units of volume")
    return Page(
        title=f"{_cut(origin.pattern or graph.name)} on {_cut(first.where.machine.spec())}",
        subtitle=f"{graph.n:,} tasks, {graph.m:,} pairs, {total}; {first.where.k:,} {first.where.slot_word}s",
        judged=tuple(
            _judged(name, one, verdicts[name], evaluations[name], unit) for name, one in mappings.items()
        ),
        matrices=tuple(matrix_charts(graph, everyone, unit)),
        charts=tuple(traffic_charts(graph, everyone, next(iter(evaluations.values())), unit)),
        comparison=comparison_table(evaluations, complete=False, unit=unit),
        all_metrics=comparison_table(evaluations, complete=True, unit=None),
        pairs=pair_table(graph, everyone, unit),
        times=times,
        time_notes=time_notes,
        stores=origin.stores,
        checks=f"hopbytes verify {origin.stored} -- mpirun -n {graph.n}",
        launches=_launches(first, origin.stored),
        origin=tuple(_facts(graph, mappings, launcher, origin)),
        notices=_notices(graph, mappings),
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def _judged(name: str, mapping: Mapping, verdict: Verdict, evaluation: Evaluation, unit: str) -> Judged:
    sentences = (verdict.remark, *verdict.traffic, slots_sentence(mapping))
    return Judged(
        name, verdict.sentence, tuple(filter(None, sentences)), tuple(_figures(evaluation, verdict, unit)),
        tuple(ranks_per_node(mapping, COLUMNS)),
    )


def _figures(evaluation: Evaluation, verdict: Verdict, unit: str) -> Iterator[Figure]:
    """Yield key figures: of this mapping, and in order."""
    own, base = evaluation.mapping, evaluation.in_order
    assert base is not None
    if verdict.predicted is not None and verdict.usual is not None:
        name = "Lower bound of the time" if verdict.predicted.grade == "bound" else "Predicted time"
        yield _figure(name, verdict.predicted.seconds, verdict.usual.seconds, duration)
    if own.traffic is not None and base.traffic is not None and base.traffic.inter_node_volume:
        name = "Bytes between nodes" if unit == "B" else "Volume between nodes"
        volumes = int(own.traffic.inter_node_volume), int(base.traffic.inter_node_volume)
        yield _figure(name, *volumes, lambda value: amount(value, unit))
    yield _figure("Communication cost J", own.comm_cost, base.comm_cost, short_amount)
    if own.links is not None and base.links is not None:
        yield _figure("Hop-bytes", own.links.hop_bytes, base.links.hop_bytes, short_amount)
        most = own.links.max_congestion, base.links.max_congestion
        yield _figure("Busiest link (congestion)", *most, short_amount)
    elif own.weighted_mean_distance or base.weighted_mean_distance:
        mean = own.weighted_mean_distance, base.weighted_mean_distance
        yield _figure("Mean distance of a byte", *mean, lambda value: f"{value:.3g}")


def _figure(name: str, own: float, base: float, words: Callable[[float], str]) -> Figure:
    change = "unchanged"
    if own != base:
        change = _change(own, base).replace("-", "−")
    return Figure(name, words(own), words(base), change, None if own == base else own < base)


def _change(value: float, base: float) -> str:
    return f"{value / base - 1:+.1%}".replace("%", " %") if base else ""


def _times(verdicts: dict[str, Verdict]) -> tuple[Table | None, tuple[str, ...]]:
    """Return the predicted time of the messages and notes about it; None where nothing can predict it."""
    usual = next(iter(verdicts.values())).usual
    if usual is None:
        return None, ()
    own = {name: one.predicted for name, one in verdicts.items() if one.predicted is not None}
    predictions = {IN_ORDER: usual, **own}
    rows = []
    for name, one in predictions.items():
        change = _change(one.seconds, usual.seconds)
        change = "0.0 %" if change[1:] == "0.0 %" else change  # what rounds to nothing has no sign
        rows.append((name, duration(one.seconds), change, LIMITS[one.limit], f"{one.rounds:,}"))
    head = ("mapping", "all messages", "against in order", "limited by", "rounds")
    table = Table(f"Time of all messages: {GRADES[usual.grade]}", head, tuple(rows), (0, 3))
    # A reader of the page cannot set the options that some notices name.
    notices = (OPTION_HINT.sub("", note) for one in predictions.values() for note in one.notices)
    return table, tuple(dict.fromkeys(notices))


def _launches(mapping: Mapping, stored: str) -> dict[str, list[str]]:
    """Return the commands for the usual launchers, without those that cannot express the mapping."""
    if mapping.info.get("problem") == "partition" or int(mapping.tasks_per_pe().max(initial=0)) > 1:
        return {}
    launches = {}
    for form, launcher, file in LAUNCHES:
        try:
            written = formats[form].write_mapping(mapping, {})
        except HopbytesError:  # the launcher cannot start ranks so
            continue
        starts = [f"{line.command}  # {line.mpi}" for line in written.lines] or [written.launch]
        commands = [line.replace("{stem}", file) for line in starts if line]
        launches[launcher] = [f"hopbytes write {stored} --format {form} -o {file}", *commands]
    return launches


def _facts(
    graph: CommGraph, mappings: dict[str, Mapping], launcher: str, origin: Origin
) -> Iterator[tuple[str, str]]:
    yield "Pattern", graph.name
    yield "Machine", next(iter(mappings.values())).where.machine.spec()
    yield "Compared with", ORDERS.get(launcher, f"the launcher's order {launcher}")
    for name, mapping in mappings.items():
        info: dict[str, Any] = dict(mapping.info)
        method = "preset" if info.get("preset") else "mapper"
        parts = [f"{key} {info[key]}" for key in (method, "objective") if info.get(key)]
        parts += [f"seed {info['seed']}"] if "seed" in info else []
        parts += [f"{number(info['seconds']['map'])} s"] if info.get("seconds") else []
        parts += [f"hopbytes {info['version']}"] if info.get("version") else []
        yield f"Mapping {name}", ", ".join(parts) or "does not say how it was made"
    if origin.command:
        yield "Command", origin.command
    yield "Report written by", f"hopbytes {__version__}"


def _notices(graph: CommGraph, mappings: dict[str, Mapping]) -> tuple[str, ...]:
    """Return what a reader should know about the input and the mappings, each sentence once."""
    notices = list(graph.meta.get("notices", ()))
    for mapping in mappings.values():
        notices += [*mapping.where.notices, *mapping.info.get("notices", ())]
    return tuple(dict.fromkeys(map(str, notices)))


# HTML


def _html(page: Page) -> str:
    """Return the whole page; control characters, which names in files may hold, are written as escapes."""
    return printable("\n".join(_lines(page)), keep="\n\t") + "\n"


def _lines(page: Page) -> Iterator[str]:
    style = files("hopbytes").joinpath("show/report.css").read_text()
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta name="generator" content="{escape(MARK)} {escape(__version__)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    yield f"<title>{escape(page.title)}: report of hopbytes</title>"
    yield f"<style>\n{style}</style>\n</head>\n<body>"
    yield '<a class="skip" href="#verdict">Skip to the verdict</a>'
    yield f'<header>\n<p class="kind">Report of a mapping</p>\n<h1>{escape(page.title)}</h1>'
    yield f"<p>{escape(page.subtitle)}</p>\n</header>\n<main>"
    several = len(page.judged) > 1
    yield from _section("verdict", "Verdict", (_verdict_html(one, several) for one in page.judged))
    matrices = "\n".join(map(_chart_html, page.matrices))
    yield from _section(
        "matrix", "Communication matrix", [f"<p>{MATRIX_TEXT}</p>", f'<div class="pair">\n{matrices}\n</div>']
    )
    yield from _section("traffic", "Where the traffic goes", map(_chart_html, page.charts))
    if page.times is not None:
        notes = [f'<p class="note">{escape(note)}</p>' for note in page.time_notes]
        yield from _section("time", "Predicted time", [_table_html(page.times), *notes])
    metrics = _details("All metrics, exactly", _table_html(page.all_metrics))
    yield from _section(
        "compare", "Against the launcher's own order", [_table_html(page.comparison), metrics]
    )
    yield from _section("pairs", "Heaviest pairs", [_table_html(page.pairs)])
    if page.launches:
        yield from _section("launch", "Start the program, and go back", _launch_html(page))
    yield from _section("ranks", "Where the tasks are", map(_ranks_html, page.judged))
    yield from _section("made", "How it was made", _origin_html(page))
    yield "</main>\n</body>\n</html>"


def _section(name: str, title: str, parts: Iterable[str]) -> Iterator[str]:
    yield f'<section id="{name}" aria-labelledby="{name}-head">\n<h2 id="{name}-head">{escape(title)}</h2>'
    yield from parts
    yield "</section>"


def _details(title: str, content: str) -> str:
    return f"<details><summary>{title}</summary>\n{content}\n</details>"


def _verdict_html(one: Judged, several: bool) -> str:
    name = escape(one.name)
    head = f' aria-label="{name}">\n<h3>{name}</h3>' if several else ">"
    headline = f'\n<p class="headline">{escape(one.headline)}</p>' if one.headline else ""
    sentences = "".join(f"\n<p>{escape(sentence)}</p>" for sentence in one.sentences)
    figures = "\n".join(map(_figure_html, one.figures))
    numbers = f'<ul class="figures">\n{figures}\n</ul>'
    return f'<article class="verdict"{head}{headline}{sentences}\n{numbers}\n</article>'


def _figure_html(one: Figure) -> str:
    kind = {True: " better", False: " worse", None: ""}[one.better]
    change = f'<span class="change{kind}">{escape(one.change)}</span>' if one.change else ""
    return (
        f'<li><span class="name">{escape(one.name)}</span>\n<span class="value">{escape(one.value)}</span>\n'
        f'<span class="before">in order {escape(one.before)}</span>\n{change}</li>'
    )


def _chart_html(one: Chart) -> str:
    return (
        f'<figure id="{one.name}">\n<figcaption><h3>{escape(one.title)}</h3></figcaption>\n'
        f'<div class="view">{one.picture}</div>\n'
        f"{_details('Numbers of this chart', _table_html(one.table))}\n</figure>"
    )


def _table_html(one: Table) -> str:
    words = [' class="words"' if column in one.words else "" for column in range(len(one.head))]
    heads = zip(one.head, words, strict=True)
    head = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in heads)
    rows = []
    for first, *others in one.rows:
        if others:
            cells = zip(others, words[1:], strict=True)
            row = f'<th scope="row" class="words">{escape(first)}</th>'
            row += "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in cells)
        else:
            span = f'scope="rowgroup" colspan="{len(one.head)}" class="words group"'
            row = f"<th {span}>{escape(first)}</th>"
        rows.append(f"<tr>{row}</tr>")
    caption, body = escape(one.caption), "\n".join(rows)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{caption}">\n<table>\n'
        f"<caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n"
        "</table>\n</div>"
    )


def _launch_html(page: Page) -> Iterator[str]:
    yield "<ol>"
    if page.stores:
        yield f"<li>Store the mapping that this report is about:\n{_code([page.stores])}</li>"
    yield "<li>Write the launch files and start the program:"
    for launcher, commands in page.launches.items():
        yield f'<p class="launcher">{escape(launcher)}</p>\n{_code(commands)}'
    yield f"</li>\n<li>Check where the ranks are; the program is not started:\n{_code([page.checks])}</li>"
    yield f"</ol>\n<p><strong>To undo</strong>, {UNDO_TEXT}</p>"


def _code(lines: Iterable[str]) -> str:
    return f'<pre tabindex="0"><code>{escape(chr(10).join(lines))}</code></pre>'


def _ranks_html(one: Judged) -> str:
    title, lines = f"Tasks of every node, {escape(one.name)}", escape("\n".join(one.ranks))
    text = f'<pre tabindex="0">{lines}</pre>'
    return f"<h3>{title}</h3>\n{text}" if len(one.ranks) <= SHORT else _details(title, text)


def _origin_html(page: Page) -> Iterator[str]:
    rows = "\n".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in page.origin)
    yield f"<dl>\n{rows}\n</dl>"
    if page.notices:
        notes = "\n".join(f"<li>{escape(note)}</li>" for note in page.notices)
        yield f"<h3>Notes about the input</h3>\n<ul>\n{notes}\n</ul>"
