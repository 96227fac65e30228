"""Figures by matplotlib (the extra ``plot``): axes in, axes out, as ``hopbytes.plot``.

Every function draws on the axes that it is given, or on new ones, and returns them, so that figures are put
together and labelled as any other. The numbers are those of :mod:`hopbytes.pictures.figures`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from collections.abc import Mapping as Dictionary
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from hopbytes.errors import UnsupportedError, package
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.given_as_text import converted
from hopbytes.model.mapping import Mapping
from hopbytes.pictures.canvas.palette import SCALE, SERIES
from hopbytes.pictures.figures.comm_matrix import comm_matrix
from hopbytes.pictures.figures.cost_history import cost_history
from hopbytes.pictures.figures.level_bytes import hop_histogram, level_bytes
from hopbytes.pictures.figures.link_loads import link_loads, load_histogram
from hopbytes.pictures.figures.performance_profile import PerformanceProfile, performance_profile
from hopbytes.util.quantities import amount

Axes = Any
#: Several mappings by name, or one; a text is a file that holds one.
Mappings: TypeAlias = Mapping | str | Dictionary[str, Mapping | str]
#: Width of one and of two columns of a paper, in inches.
COLUMN, TEXT = 3.35, 7.0
#: Settings of matplotlib for papers: small sans-serif type, thin lines, text that stays text.
PAPER = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "xtick.labelsize": 7, "ytick.labelsize": 7,
    "legend.fontsize": 7, "legend.frameon": False, "axes.linewidth": 0.6, "lines.linewidth": 1.2,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "axes.spines.top": False, "axes.spines.right": False,
    "savefig.bbox": "tight", "savefig.dpi": 300,
    "pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none",
    "figure.constrained_layout.use": True,
}  # fmt: skip


@contextlib.contextmanager
def paper(columns: int = 1, height: float | None = None) -> Iterator[None]:
    """Make figures inside the with block ready for a paper: type of 8 points, one or two columns wide.

    Parameters
    ----------
    columns : {1, 2}
    height : float, optional
        In inches; by default 0.62 of the width.

    Examples
    --------
    >>> import hopbytes as hb
    >>> with hb.plot.paper(columns=2):                                    # doctest: +SKIP
    ...     hb.plot.levels(graph, mapping).figure.savefig("levels.pdf")
    """
    if columns not in (1, 2):
        raise UnsupportedError(f"columns={columns}, expected 1 or 2")
    width = COLUMN if columns == 1 else TEXT
    with _pyplot().rc_context({**PAPER, "figure.figsize": (width, height or 0.62 * width)}):
        yield


def matrix(
    graph: CommGraph | ArrayLike, mapping: Mapping | None = None, ax: Axes = None, *,
    limits: tuple[int, int] | None = None, colorbar: bool = True,
) -> Axes:
    """Draw the communication matrix, with tasks in machine order and lines between nodes.

    Parameters
    ----------
    graph : CommGraph, or a matrix that :meth:`hopbytes.CommGraph.of` takes
    mapping : Mapping, optional
        Without it, tasks stand in the order of their numbers.
    ax : matplotlib.axes.Axes, optional
    limits : (int, int), optional
        Volumes of the lightest and the darkest colour, so that two matrices can be compared.
    colorbar : bool

    Raises
    ------
    FormatError
        The mapping has another number of tasks than the pattern.
    MissingPackageError
        matplotlib is not installed.

    Notes
    -----
    Above 1024 tasks, cells are sums over several tasks.
    """
    graph, ax = CommGraph.of(graph), _axes(ax)
    mapping = None if mapping is None else Mapping.of(mapping)
    found = comm_matrix(graph, mapping)
    colours = package("matplotlib.colors", "hopbytes.plot")
    low, high = limits or found.extremes()
    scale = colours.LogNorm(max(low, 1), max(high, low + 1, 2))
    cells = np.ma.masked_equal(found.cells, 0)
    span = (0, found.rows * found.tasks_per_cell, found.rows * found.tasks_per_cell, 0)
    shown = ax.imshow(cells, norm=scale, cmap=_colour_map(), interpolation="nearest", extent=span)
    for border in found.borders[1:-1].tolist() if len(found.borders) <= 130 else ():
        ax.axhline(border, color="#c0705f", linewidth=0.4, zorder=0.5)
        ax.axvline(border, color="#c0705f", linewidth=0.4, zorder=0.5)
    ax.set(xlabel="receiving rank", ylabel="sending rank")
    if mapping is not None:
        ax.set_xlabel("receiving rank, in machine order")
    if colorbar:
        what = "bytes" if graph.scale == 1 and graph.volumes is not None else "volume"
        ax.figure.colorbar(shown, ax=ax, label=what, fraction=0.046, pad=0.04)
    return ax


def levels(graph: CommGraph | ArrayLike, mappings: Mappings, ax: Axes = None) -> Axes:
    """Draw bars of the volume between units of every level, one for each mapping."""
    graph = CommGraph.of(graph)
    found = level_bytes(graph, _named(mappings))
    kept = np.flatnonzero(found.volumes.any(axis=0))
    labels = [found.labels[place] for place in kept.tolist()]
    return _bars(_axes(ax), labels, found.mappings, found.volumes[:, kept], _volume_words(graph))


def hops(graph: CommGraph | ArrayLike, mappings: Mappings, ax: Axes = None) -> Axes:
    """Draw bars of the volume by number of hops, one for each mapping; the machine has links."""
    graph = CommGraph.of(graph)
    found = hop_histogram(graph, _named(mappings))
    labels = [f"{each} hops" if each != 1 else "1 hop" for each in found.hops.tolist()]
    return _bars(_axes(ax), labels, found.mappings, found.volumes, _volume_words(graph))


def loads(graph: CommGraph | ArrayLike, mappings: Mappings, ax: Axes = None, *, bins: int = 20) -> Axes:
    """Draw a histogram of the congestion of links, idle ones left out; the machine has links."""
    graph, ax, named = CommGraph.of(graph), _axes(ax), _named(mappings)
    found = load_histogram([link_loads(graph, one) for one in named.values()], bins)
    for row, (name, counts) in enumerate(zip(named, found.counts, strict=True)):
        label = f"{name} ({int(found.idle[row]):,} idle)"
        ax.stairs(counts, found.edges, label=label, color=_colour(row), fill=len(named) == 1)
    ax.set(xlabel="congestion of a link (volume / capacity)", ylabel="links")
    ax.legend()
    return ax


def history(mappings: Mappings, ax: Axes = None, *, by: str = "seconds", baseline: int | None = None) -> Axes:
    """Draw J over time: the best mapping found until then.

    Parameters
    ----------
    mappings : Mapping, or dictionary of str to Mapping
        As :func:`hopbytes.map_tasks` returned them.
    ax : matplotlib.axes.Axes, optional
    by : {"seconds", "arcs"}
        Wall time, or scanned edges, which are the same on every computer.
    baseline : int, optional
        J of the launcher's order, drawn as a dashed line.

    Raises
    ------
    UnsupportedError
        A mapping does not know how it was found; or `by` is something else.
    """
    if by not in ("seconds", "arcs"):
        raise UnsupportedError(f"by={by!r}, expected 'seconds' or 'arcs'")
    ax = _axes(ax)
    for row, (name, mapping) in enumerate(_named(mappings).items()):
        found = cost_history(mapping)
        places = found.seconds if by == "seconds" else found.arcs
        end = found.end if by == "seconds" else int(mapping.info["work"].get("arcs", 0))
        across = np.append(places, max(end, float(places[-1])))
        colour = _colour(row + 1)
        ax.step(across, np.append(found.costs, found.costs[-1]), where="post", label=name, color=colour)
        ax.plot(places, found.costs, ".", color=colour)
    if baseline is not None:
        ax.axhline(baseline, color=SERIES[0], linestyle="--", label="ranks in order")
    ax.set(xlabel="seconds" if by == "seconds" else "scanned edges", ylabel="communication cost J")
    ax.legend()
    return ax


def profile(
    values: PerformanceProfile | Dictionary[str, Dictionary[str, float | None]], ax: Axes = None, *,
    most: float | None = None,
) -> Axes:
    """Draw performance profiles: the share of inputs on which a contender is within a factor of the best.

    Parameters
    ----------
    values : PerformanceProfile, or a dictionary
        As :func:`hopbytes.pictures.figures.performance_profile.performance_profile` takes it.
    ax : matplotlib.axes.Axes, optional
    most : float, optional
        Largest factor shown.
    """
    found = values if isinstance(values, PerformanceProfile) else performance_profile(values)
    ax, end = _axes(ax), most or max(float(found.factors[-1]) * 1.02, 1.01)
    for row, (name, shares) in enumerate(zip(found.contenders, found.shares, strict=True)):
        across = np.append(found.factors, max(end, float(found.factors[-1])))
        ax.step(across, np.append(shares, shares[-1]), where="post", label=name, color=_colour(row + 1))
    ax.set(xlabel="factor to the best", ylabel="share of the inputs", xlim=(1, end), ylim=(0, 1.02))
    ax.legend()
    return ax


def machine(thing: Allocation | Mapping, ax: Axes = None) -> Axes:
    """Draw a machine, or a mapping with its ranks on its machine, as ``hopbytes show -o`` draws it."""
    from hopbytes.pictures.thing_picture import allocation_picture, mapping_picture

    drawn = mapping_picture(thing) if isinstance(thing, Mapping) else allocation_picture(_place(thing))
    panel, _ = drawn
    return _drawn(panel, ax)


def network(
    where: Allocation, graph: CommGraph | None = None, mapping: Mapping | None = None, ax: Axes = None
) -> Axes:
    """Draw the network of a machine; with a pattern and a mapping, links are coloured by load."""
    from hopbytes.pictures.network_picture import network_panel

    mapping = None if mapping is None else Mapping.of(mapping)
    carried = None if graph is None or mapping is None else link_loads(CommGraph.of(graph), mapping)
    return _drawn(network_panel(_place(where), loads=carried, mapping=mapping), ax)


def _place(where: Any) -> Allocation:
    found: Allocation = where if isinstance(where, Allocation) else converted("machine", where)
    return found


def _drawn(panel: Any, ax: Axes) -> Axes:
    from hopbytes.pictures.canvas.by_matplotlib import draw_on

    if ax is None:
        ax = _pyplot().subplots(figsize=(panel.width / 96, panel.height / 96))[1]
    box, figure = ax.get_position(), ax.figure.get_size_inches()
    scale = min(box.width * figure[0] * 96 / panel.width, box.height * figure[1] * 96 / panel.height)
    draw_on(ax, panel, scale)
    ax.set_aspect("equal")
    return ax


def _bars(ax: Axes, labels: list[str], names: tuple[str, ...], volumes: Any, what: str) -> Axes:
    thick = 0.8 / len(names)
    for row, (name, values) in enumerate(zip(names, volumes, strict=True)):
        places = np.arange(len(labels)) + (row - (len(names) - 1) / 2) * thick
        bars = ax.barh(places, values, thick * 0.92, label=name, color=_colour(row))
        unit = "B" if what == "bytes" else ""
        ax.bar_label(bars, [f" {amount(int(value), unit)}" for value in values], fontsize="small")
    ax.set_yticks(range(len(labels)), labels)
    ax.invert_yaxis()
    ax.margins(x=0.15)
    ax.set_xlabel(what)
    ax.xaxis.set_major_formatter(lambda value, _: amount(value, "B" if what == "bytes" else ""))
    ax.xaxis.set_major_locator(package("matplotlib.ticker", "hopbytes.plot").MaxNLocator(4))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(names), borderaxespad=0.2)
    return ax


def _volume_words(graph: CommGraph) -> str:
    return "bytes" if graph.scale == 1 and graph.volumes is not None else "volume"


def _named(mappings: Mappings) -> Dictionary[str, Mapping]:
    named = mappings if isinstance(mappings, Dictionary) else {"mapping": mappings}
    return {name: Mapping.of(one) for name, one in named.items()}


def _colour(row: int) -> str:
    return SERIES[row % len(SERIES)]


def _colour_map() -> Any:
    colours = package("matplotlib.colors", "hopbytes.plot")
    return colours.LinearSegmentedColormap.from_list("hopbytes", SCALE)


def _axes(ax: Axes) -> Axes:
    return ax if ax is not None else _pyplot().subplots()[1]


def _pyplot() -> Any:
    return package("matplotlib.pyplot", "hopbytes.plot")
