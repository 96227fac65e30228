"""Figures by matplotlib (the extra ``plot``): axes in, axes out, as ``hopbytes.plot``.

Every function draws on the axes that it is given, or on new ones, and returns them, so that figures are put
together and labelled as any other. The numbers are those of :mod:`hopbytes.show.traffic`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from collections.abc import Mapping as Dictionary
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from hopbytes._arrays import Float64
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError, WrongTypeError, package
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.show import traffic
from hopbytes.show.back_ends import draw_on
from hopbytes.show.bars import cost_history
from hopbytes.show.marks import SCALE, SERIES, Panel
from hopbytes.show.network_layouts import network_panel
from hopbytes.show.pictures import picture_of
from hopbytes.util.checks import check_truths, listed, whole
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
    check_truths(colorbar=colorbar)
    graph, ax = CommGraph.of(graph), _axes(ax)
    mapping = None if mapping is None else Mapping.of(mapping)
    data = traffic.comm_matrix(graph, mapping)
    colours = package("matplotlib.colors", "hopbytes.plot")
    ends = traffic.common_extremes([data]) if limits is None else listed("limits", limits, "two numbers")
    if len(ends) != 2:
        raise UnsupportedError(f"limits {limits!r}, expected the lowest and the highest volume")
    low, high = (whole("limits", end, 0) for end in ends)
    scale = colours.LogNorm(max(low, 1), max(high, low + 1, 2))
    colour_map = colours.LinearSegmentedColormap.from_list("hopbytes", SCALE)
    cells, end = np.ma.masked_equal(data.cells, 0), data.rows * data.tasks_per_cell
    shown = ax.imshow(cells, norm=scale, cmap=colour_map, interpolation="nearest", extent=(0, end, end, 0))
    for border in data.borders[1:-1].tolist() if len(data.borders) <= 130 else ():
        ax.axhline(border, color="#c0705f", linewidth=0.4, zorder=0.5)
        ax.axvline(border, color="#c0705f", linewidth=0.4, zorder=0.5)
    ax.set(xlabel="receiving rank" + ("" if mapping is None else ", in machine order"), ylabel="sending rank")
    if colorbar:
        ax.figure.colorbar(shown, ax=ax, label=_volume_words(graph), fraction=0.046, pad=0.04)
    return ax


def levels(graph: CommGraph | ArrayLike, mappings: Mappings, ax: Axes = None) -> Axes:
    """Draw bars of the volume between units of every level, one for each mapping."""
    graph = CommGraph.of(graph)
    data = traffic.level_bytes(graph, traffic.named_mappings(mappings))
    kept = np.flatnonzero(data.volumes.any(axis=0))
    labels = [data.labels[level] for level in kept.tolist()]
    return _bars(_axes(ax), labels, data.mappings, data.volumes[:, kept], _volume_words(graph))


def hops(graph: CommGraph | ArrayLike, mappings: Mappings, ax: Axes = None) -> Axes:
    """Draw bars of the volume by number of hops, one for each mapping; the machine has links."""
    graph = CommGraph.of(graph)
    data = traffic.hop_histogram(graph, traffic.named_mappings(mappings))
    labels = [f"{count} hops" if count != 1 else "1 hop" for count in data.hops.tolist()]
    return _bars(_axes(ax), labels, data.mappings, data.volumes, _volume_words(graph))


def loads(graph: CommGraph | ArrayLike, mappings: Mappings, ax: Axes = None, *, bins: int = 20) -> Axes:
    """Draw a histogram of the congestion of links, idle ones left out; the machine has links."""
    graph, ax, named = CommGraph.of(graph), _axes(ax), traffic.named_mappings(mappings)
    data = traffic.load_histogram([traffic.link_loads(graph, one) for one in named.values()], bins)
    for row, (name, counts) in enumerate(zip(named, data.counts, strict=True)):
        label = f"{name} ({int(data.idle[row]):,} idle)"
        ax.stairs(counts, data.edges, label=label, color=_colour(row), fill=len(named) == 1)
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
    baseline = None if baseline is None else whole("baseline", baseline, 0)
    if by not in ("seconds", "arcs"):
        raise UnsupportedError(f"by={by!r}, expected 'seconds' or 'arcs'")
    ax = _axes(ax)
    for row, (name, mapping) in enumerate(traffic.named_mappings(mappings).items()):
        data, colour = cost_history(mapping), _colour(row + 1)
        seconds, arcs, costs = (list(column) for column in zip(*data.steps, strict=True))
        points = seconds if by == "seconds" else arcs
        end = data.end if by == "seconds" else int(mapping.info["work"].get("arcs", 0))
        across = [*points, max(end, float(points[-1]))]
        ax.step(across, [*costs, costs[-1]], where="post", label=name, color=colour)
        ax.plot(points, costs, ".", color=colour)
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
        As :func:`performance_profile` takes it.
    ax : matplotlib.axes.Axes, optional
    most : float, optional
        Largest factor shown.
    """
    data = values if isinstance(values, PerformanceProfile) else performance_profile(values)
    ax, end = _axes(ax), most or max(float(data.factors[-1]) * 1.02, 1.01)
    across = np.append(data.factors, max(end, float(data.factors[-1])))
    for row, (name, shares) in enumerate(zip(data.contenders, data.shares, strict=True)):
        ax.step(across, np.append(shares, shares[-1]), where="post", label=name, color=_colour(row + 1))
    ax.set(xlabel="factor to the best", ylabel="share of the inputs", xlim=(1, end), ylim=(0, 1.02))
    ax.legend()
    return ax


@frozen(eq=False)
class PerformanceProfile:
    """Step functions over the ratio to the best contender."""

    contenders: tuple[str, ...]  # in the order in which they occur first
    factors: Float64  # float64[points]: Every ratio that occurs, ascending, beginning with 1
    #: float64[contenders, points]: Share of the inputs on which a contender's value is at most `factors`
    #: times the least one
    shares: Float64
    #: number of inputs. A contender without a value for an input is never within any factor on it.
    inputs: int


def performance_profile(values: Dictionary[str, Dictionary[str, float | None]]) -> PerformanceProfile:
    """Return the performance profiles of several contenders (Dolan and Moré, 2002).

    A value of 0 beside a larger one counts as a ratio of infinity for the larger one. O(values log values).
    """
    inputs = list(dict.fromkeys(name for own in values.values() for name in own))
    rows = [[own.get(name) for name in inputs] for own in values.values()]
    table = np.array(rows, np.float64).reshape(len(rows), len(inputs))  # None becomes NaN
    table = table[:, ~np.isnan(table).all(axis=0)] if table.size else table
    if not table.size:
        raise UnsupportedError("a performance profile needs at least one contender with a value")
    best = np.nanmin(table, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(table == best, 1.0, table / best)
    ratios[np.isnan(table)] = np.inf
    factors = np.unique(np.append(ratios[np.isfinite(ratios)], 1.0))
    shares = np.array([np.searchsorted(np.sort(own), factors, side="right") for own in ratios])
    shares = shares / table.shape[1]
    return PerformanceProfile(tuple(values), factors, shares, table.shape[1])


def machine(thing: Allocation | Mapping, ax: Axes = None) -> Axes:
    """Draw a machine, or a mapping with its ranks on its machine, as ``hopbytes show -o`` draws it."""
    return _drawn(picture_of(thing if isinstance(thing, Mapping) else Allocation.of(thing))[0], ax)


def network(
    where: Allocation, graph: CommGraph | None = None, mapping: Mapping | None = None, ax: Axes = None
) -> Axes:
    """Draw the network of a machine; with a pattern and a mapping, links are coloured by load."""
    mapping = None if mapping is None else Mapping.of(mapping)
    carried = None if graph is None or mapping is None else traffic.link_loads(CommGraph.of(graph), mapping)
    return _drawn(network_panel(Allocation.of(where), loads=carried, mapping=mapping), ax)


def _drawn(panel: Panel, ax: Axes) -> Axes:
    ax = _axes(ax, figsize=(panel.width / 96, panel.height / 96))
    box, figure = ax.get_position(), ax.figure.get_size_inches()
    scale = min(box.width * figure[0] * 96 / panel.width, box.height * figure[1] * 96 / panel.height)
    draw_on(ax, panel, scale)
    ax.set_aspect("equal")
    return ax


def _bars(ax: Axes, labels: list[str], names: tuple[str, ...], volumes: Any, what: str) -> Axes:
    thick, unit = 0.8 / len(names), "B" if what == "bytes" else ""
    for row, (name, values) in enumerate(zip(names, volumes, strict=True)):
        down = np.arange(len(labels)) + (row - (len(names) - 1) / 2) * thick
        bars = ax.barh(down, values, thick * 0.92, label=name, color=_colour(row))
        ax.bar_label(bars, [f" {amount(int(value), unit)}" for value in values], fontsize="small")
    ax.set_yticks(range(len(labels)), labels)
    ax.invert_yaxis()
    ax.margins(x=0.15)
    ax.set_xlabel(what)
    ax.xaxis.set_major_formatter(lambda value, _: amount(value, unit))
    ax.xaxis.set_major_locator(package("matplotlib.ticker", "hopbytes.plot").MaxNLocator(4))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(names), borderaxespad=0.2)
    return ax


def _volume_words(graph: CommGraph) -> str:
    return "bytes" if traffic.volume_unit(graph) == "B" else "volume"


def _colour(row: int) -> str:
    return SERIES[row % len(SERIES)]


def _axes(ax: Axes, **size: Any) -> Axes:
    if ax is None:
        return _pyplot().subplots(**size)[1]
    if not isinstance(ax, package("matplotlib.axes", "hopbytes.plot").Axes):
        raise WrongTypeError(f"ax {ax!r}, expected an Axes of matplotlib")
    return ax


def _pyplot() -> Any:
    return package("matplotlib.pyplot", "hopbytes.plot")
