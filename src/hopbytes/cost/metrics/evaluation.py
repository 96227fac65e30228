"""evaluate(): all metrics of a mapping, compared with ranks in order and random mappings."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from hopbytes._frozen import field_names, frozen
from hopbytes.cost.metrics.baselines import as_recorded, at_random, in_order
from hopbytes.cost.metrics.link_metrics import (
    Dilation,
    HotLink,
    LinkMetrics,
    dilation_of,
    hottest_links,
    relative_to,
)
from hopbytes.cost.metrics.mapping_metrics import (
    LevelMetrics,
    MappingMetrics,
    TrafficMetrics,
    diagonal_volume,
    measure_all,
)
from hopbytes.errors import UnsupportedError, package, unknown_name
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.graph_sources import NetworkxGraph
from hopbytes.model.mapping import Mapping, check_tasks
from hopbytes.text.columns import table_lines
from hopbytes.util.checks import check_truths, name_of, thread_count, whole

if TYPE_CHECKING:
    import pandas
    import scipy.sparse


BASELINES = ("in_order", "random", "recorded")


@frozen
class TasksPerUnit:
    """Distribution of tasks over the units of one level (nodes, packages): minimum and maximum."""

    level: str
    units: int
    used: int
    fewest: int
    most: int


Value = TypeVar("Value")


class _OfMapping(property, Generic[Value]):
    """A property of an evaluation that is one of its mapping."""

    def __init__(self, name: str, meaning: str) -> None:
        super().__init__(attrgetter(f"mapping.{name}"))
        self.__doc__ = meaning

    if TYPE_CHECKING:

        def __get__(self, of: Any, owner: Any = None, /) -> Value: ...  # type: ignore[override]


@frozen
class Evaluation:
    """All metrics of a mapping and of the baseline mappings; the properties are those of the mapping itself.

    Parameters
    ----------
    mapping : MappingMetrics
    in_order : MappingMetrics or None
        The launcher's default mapping, see `launcher` and
        :func:`hopbytes.cost.metrics.baselines.in_order`; None without baselines.
    random : tuple of MappingMetrics
        One random mapping per seed, with the same number of tasks per PE; empty without baselines.
    tasks, pes : int
        Number of tasks and of PEs.
    total_volume : int
        Volume of all arcs, including those of a task to itself.
    diagonal_share : float
        Share of the volume that tasks send to themselves; it does not enter any metric.
    messages_known : bool
        False if the source had no message counts, so that every arc counts as one message.
    scale : int
        Factor by which the volumes of the source were multiplied.
    tasks_per_unit : tuple of TasksPerUnit
        One entry per named level but the innermost, outermost first.
    dilation : tuple of Dilation
        Arcs between nodes by their number of hops, on machines with links.
    hottest : tuple of HotLink
        The ten most congested links and their traffic, on machines with links.
    launcher : str
        The order of the mapping `in_order`: "fill" (``mpirun``), "block" (``srun``), ...
    recorded : MappingMetrics or None
        The mapping of the recorded run, if the recording names the hosts of ranks.

    Examples
    --------
    ``print(evaluation)`` prints a table; ``evaluation.to_dict()`` returns the same numbers for JSON and
    ``evaluation.to_frame()`` for pandas; ``evaluation.comm_cost`` is J and
    ``evaluation.relative_to("in_order")`` the improvement over that baseline.
    """

    mapping: MappingMetrics
    in_order: MappingMetrics | None
    random: tuple[MappingMetrics, ...]
    tasks: int
    pes: int
    total_volume: int
    diagonal_share: float
    messages_known: bool
    scale: int
    tasks_per_unit: tuple[TasksPerUnit, ...]
    dilation: tuple[Dilation, ...] = ()
    hottest: tuple[HotLink, ...] = ()
    launcher: str = "fill"
    recorded: MappingMetrics | None = None

    comm_cost = _OfMapping[int]("comm_cost", "J, the sum over stored arcs of volume x distance.")
    edge_cut = _OfMapping[int]("edge_cut", "Volume between different PEs.")
    imbalance = _OfMapping[float]("imbalance", "Largest load of a PE over its fair share, minus one.")
    max_load = _OfMapping[int]("max_load", "Largest sum of task loads on a PE.")
    used_pes = _OfMapping[int]("used_pes", "PEs with a task.")
    min_tasks_per_pe = _OfMapping[int]("min_tasks_per_pe", "Fewest tasks of a PE, empty ones included.")
    max_tasks_per_pe = _OfMapping[int]("max_tasks_per_pe", "Most tasks of a PE.")
    mean_distance = _OfMapping[float]("mean_distance", "Mean distance over arcs, each counting once.")
    weighted_mean_distance = _OfMapping[float](
        "weighted_mean_distance", "Mean distance over arcs by volume: J / volume."
    )
    comm_seconds = _OfMapping[float | None](
        "comm_seconds", "Sum of the times of all messages; None if levels have no latency and bandwidth."
    )
    levels = _OfMapping[tuple[LevelMetrics, ...]](
        "levels", "Traffic at each named level of the machine, outermost first."
    )
    traffic = _OfMapping[TrafficMetrics | None]("traffic", "Traffic of PEs and nodes.")
    links = _OfMapping[LinkMetrics | None]("links", "Traffic on links, on machines that have links.")

    def to_frame(self) -> pandas.DataFrame:
        """Return a table of pandas: a row for every mapping, a column for every metric.

        Returns
        -------
        pandas.DataFrame
            Rows `mapping`, `in_order`, `recorded` (where known) and `random 0`, `random 1` ...; the columns
            are the keys of :meth:`to_dict`, and ``volume_node`` for the volume of level node.

        Raises
        ------
        MissingPackageError
            pandas is not installed.
        """
        library = package("pandas", "to_frame()")
        rows = {"mapping": self.mapping, "in_order": self.in_order, "recorded": self.recorded}
        rows |= {f"random {seed}": one for seed, one in enumerate(self.random)}
        known = {name: _row(metrics) for name, metrics in rows.items() if metrics is not None}
        frame: pandas.DataFrame = library.DataFrame.from_dict(known, orient="index")
        return frame

    def relative_to(self, baseline: str = "in_order") -> dict[str, float]:
        """Return by how much every metric differs from that of a baseline: -0.05 is 5 % less.

        Parameters
        ----------
        baseline : {"in_order", "random", "recorded"}
            For "random" the mean over seeds.

        Returns
        -------
        dict of str to float
            ``mapping / baseline - 1`` by the names of :meth:`to_dict`; metrics that are 0 in the baseline are
            left out, except those that are 0 in both, which differ by 0.

        Raises
        ------
        UnsupportedError
            An unknown baseline, or one that was not measured.

        Examples
        --------
        >>> import hopbytes as hb
        >>> pairs = hb.CommGraph.from_edges([0, 1], [2, 3], [5, 5])
        >>> where = hb.allocate("node:2@10 core:2@1")
        >>> round(hb.evaluate(pairs, hb.Mapping([0, 2, 1, 3], where)).relative_to("in_order")["comm_cost"], 2)
        -0.9
        """
        if baseline not in BASELINES:
            raise unknown_name("baseline", baseline, BASELINES)
        found = self.random if baseline == "random" else getattr(self, baseline)
        samples = list(found) if isinstance(found, tuple) else [found]
        if not samples or samples[0] is None:
            raise UnsupportedError(f"baseline {baseline!r} was not measured, or is not in the pattern")
        rows = [_row(one) for one in samples]
        ours, result = _row(self.mapping), {}
        for name, value in ours.items():
            base = sum(row[name] for row in rows) / len(rows) if all(name in row for row in rows) else 0
            if base or value == base:
                result[name] = value / base - 1 if base else 0.0
        return result

    def _repr_html_(self) -> str:
        from hopbytes.model.html_table import html_table

        names = ("comm_cost", "mean_distance", "imbalance", "used_pes")
        columns = {"mapping": self.mapping, "in order": self.in_order}
        known = {name: _row(metrics) for name, metrics in columns.items() if metrics is not None}
        if self.random:
            rows = [_row(one) for one in self.random]
            known["random, mean"] = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
        shown = [*names, *(f"volume_{level.name}" for level in self.mapping.levels)]
        cells = [[name, *(column.get(name, "") for column in known.values())] for name in shown]
        return html_table(f"{self.tasks:,} tasks on {self.pes:,} PEs", cells, ["", *known])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values in a stable order; the metrics of the mapping are at the top level."""
        result = self.mapping.to_dict()
        result |= {
            name: getattr(self, name)
            for name in ("tasks", "pes", "total_volume", "diagonal_share", "messages_known", "scale")
        }
        result["tasks_per_unit"] = {
            unit.level: {"units": unit.units, "used": unit.used, "min": unit.fewest, "max": unit.most}
            for unit in self.tasks_per_unit
        }
        if self.mapping.links is not None:
            names = field_names(Dilation)
            result["dilation"] = [{name: getattr(one, name) for name in names} for one in self.dilation]
            result["hottest_links"] = [link.to_dict() for link in self.hottest]
        if self.in_order is not None:
            result["launcher"] = self.launcher
            result["in_order"] = self.in_order.to_dict()
        if self.recorded is not None:
            result["as_recorded"] = self.recorded.to_dict()
        if self.random:
            result["random"] = {"seeds": len(self.random)} | _spread([one.to_dict() for one in self.random])
        return result

    def __str__(self) -> str:
        lines = [HEADINGS, *rows(self)]
        columns = [column for column in zip(*lines, strict=True) if any(column[1:])]
        return "\n".join(table_lines(list(zip(*columns, strict=True))) + notes(self))

    def __repr__(self) -> str:
        base = "" if self.in_order is None else f", in order {self.in_order.comm_cost:,}"
        return f"Evaluation({self.tasks:,} tasks on {self.pes:,} PEs, J={self.comm_cost:,}{base})"


def evaluate(
    graph: CommGraph | ArrayLike | os.PathLike[str] | scipy.sparse.sparray | NetworkxGraph,
    mapping: Mapping | str | os.PathLike[str],
    *,
    baselines: bool = True,
    random_seeds: int = 10,
    launcher: str = "fill",
    threads: int | None = None,
) -> Evaluation:
    """Compute all metrics of a mapping, and of the launcher's default mapping and random mappings.

    Parameters
    ----------
    graph : CommGraph, or what :meth:`hopbytes.CommGraph.of` takes: a matrix, another graph, or a text
    mapping : Mapping, or the name of a file that holds one
        A mapping with as many tasks as the graph.
    baselines : bool
        Also measure the launcher's default mapping, the mapping of the recorded run if it is known, and
        random mappings with the same number of tasks per PE.
    random_seeds : int
        Number of random mappings; their seeds are 0, 1, 2 ...
    launcher : str
        The launcher's default order: ``"fill"``, ``"block"``, ``"cyclic"`` or ``"plane=N"``, see
        :func:`hopbytes.machines.allocate.launcher_order.launcher_placement`.
    threads : int, optional
        Number of threads for large graphs; the default is the number of CPUs that this process may use.

    Returns
    -------
    Evaluation

    Raises
    ------
    FormatError
        Mapping and graph have different numbers of tasks.
    ScaleError
        Volume x distance could exceed 63 bits.
    UnsupportedError
        Communicating tasks are on nodes without a route between them, or an argument has the wrong type.

    Notes
    -----
    Every number is computed from the definition; integers are exact. O(n + m) per mapping.

    Examples
    --------
    >>> import numpy as np
    >>> from hopbytes.model.allocation import Allocation
    >>> from hopbytes.machines.base import Level
    >>> from hopbytes.machines.tree import Tree
    >>> where = Allocation.whole(Tree((Level("node", 10), Level("core", 1)), (2, 2)))
    >>> pairs = CommGraph.from_edges([0, 1], [2, 3], [5, 5])
    >>> result = evaluate(pairs, Mapping(np.array([0, 2, 1, 3], np.int32), where))
    >>> result.comm_cost, result.in_order.comm_cost
    (10, 100)
    """
    check_truths(baselines=baselines)
    name_of("launcher", launcher)
    graph, mapping = CommGraph.of(graph), Mapping.of(mapping)
    check_tasks(graph, mapping.n)
    where, threads = mapping.where, thread_count(threads)
    seeds = range(whole("random_seeds", random_seeds, 0) if baselines else 0)
    diagonal = diagonal_volume(graph, threads)
    base, recorded = None, None
    if baselines:
        base = measure_all(graph, where, in_order(graph, mapping, launcher), threads=threads)
        recorded = as_recorded(graph, where)
    if base is not None and base.links is not None:
        base = dataclasses.replace(base, links=relative_to(base.links, base.links))
    return Evaluation(
        mapping=measure_all(graph, where, mapping.pe, base, threads),
        in_order=base,
        random=tuple(
            measure_all(graph, where, at_random(mapping, seed), base, threads, blocks=False) for seed in seeds
        ),
        tasks=graph.n,
        pes=where.k,
        total_volume=graph.total_volume,
        diagonal_share=diagonal / graph.total_volume if diagonal else 0.0,
        messages_known=graph.messages is not None,
        scale=graph.scale,
        tasks_per_unit=tasks_per_unit(mapping),
        dilation=dilation_of(graph, where, mapping.pe),
        hottest=hottest_links(graph, where, mapping.pe),
        launcher=launcher,
        recorded=None if recorded is None else measure_all(graph, where, recorded, base, threads),
    )


def tasks_per_unit(mapping: Mapping) -> tuple[TasksPerUnit, ...]:
    """Return the numbers of tasks on the units of each level but the innermost, outermost level first."""
    machine, tasks = mapping.where.machine, mapping.tasks_per_pe()
    counts = []
    for number, level in enumerate(machine.levels[:-1]):
        unit_of_pe = machine.ancestors(number)[mapping.where.first_core]
        held = np.zeros(int(unit_of_pe[-1]) + 1, np.int64)  # units ascend with PEs
        np.add.at(held, unit_of_pe, tasks)
        units = int(np.count_nonzero(np.diff(unit_of_pe))) + 1
        used = held[held > 0]
        fewest, most = (int(used.min()), int(used.max())) if len(used) else (0, 0)
        counts.append(TasksPerUnit(level.name, units, len(used), fewest, most))
    return tuple(counts)


def _row(metrics: MappingMetrics) -> dict[str, Any]:
    """Return all metrics that are single numbers, with the volumes of levels."""
    plain = metrics.to_dict()
    levels = plain.pop("levels")
    numbers = {name: value for name, value in plain.items() if isinstance(value, (int, float))}
    return numbers | {f"volume_{level['name']}": level["volume"] for level in levels}


def _spread(samples: list[Any]) -> Any:
    """Merge equal structures: numbers become mean, min and max; names and distances are kept."""
    first = samples[0]
    if isinstance(first, dict):
        return {
            key: first[key] if key in ("name", "distance") else _spread([one[key] for one in samples])
            for key in first
        }
    if isinstance(first, list):
        return [_spread(list(column)) for column in zip(*samples, strict=True)]
    return {"mean": sum(samples) / len(samples), "min": min(samples), "max": max(samples)}


HEADINGS = ("", "mapping", "in order", "as recorded", "random, mean", "random, range")


class Row(NamedTuple):
    """One line of the table: a cell for each heading. A line with empty cells names a level."""

    label: str
    mapping: str = ""
    in_order: str = ""
    recorded: str = ""
    random_mean: str = ""
    random_range: str = ""


def rows(evaluation: Evaluation, volume: Callable[[float], str] | None = None) -> list[Row]:
    """Return the lines of the table, the most important ones first; `volume` writes volumes, else exactly."""
    volume = volume or _count
    table = [_line(evaluation, "communication cost J", "comm_cost", _count)]
    base = evaluation.in_order.comm_cost if evaluation.in_order else 0
    if base:
        table.append(_line(
            evaluation, "  against in order", lambda one: one.comm_cost / base - 1,
            lambda change: f"{change:+.1%}".replace("%", " %"),
        ))  # fmt: skip
    if evaluation.mapping.comm_seconds is not None:
        table.append(_line(evaluation, "seconds of all messages", "comm_seconds", "{:.4g}".format))
    table += [
        _line(evaluation, "edge cut", "edge_cut", _count),
        _line(evaluation, "mean distance by volume", "weighted_mean_distance", _decimal),
        _line(evaluation, "mean distance by arc", "mean_distance", _decimal),
        _line(evaluation, "imbalance", "imbalance", _percent),
        _line(evaluation, "largest load", "max_load", _count),
        _line(evaluation, "PEs used", "used_pes", _count),
        _tasks_per_pe(evaluation),
        *_block_rows(evaluation),
    ]
    table += _traffic_rows(evaluation, volume) + _link_rows(evaluation)
    for number in range(len(evaluation.mapping.levels)):
        table += _level_rows(evaluation, number, volume)
    return table


def _block_rows(evaluation: Evaluation) -> list[Row]:
    """Return the rows of partitions, with several tasks on a PE; they are not measured of random mappings."""
    if evaluation.mapping.blocks is None:
        return []
    ones = [evaluation.mapping, evaluation.in_order, evaluation.recorded]
    found = [one.blocks if one is not None else None for one in ones]
    return [
        Row("communication volume (totalv)", *(_count(one.comm_volume) if one else "" for one in found)),
        Row(
            "neighbours of a PE, mean, most",
            *(f"{one.mean_neighbours:.1f}, {one.max_neighbours:,}" if one else "" for one in found),
        ),
    ]


def _traffic_rows(evaluation: Evaluation, volume: Callable[[float], str]) -> list[Row]:
    """Return the rows of volumes and messages between nodes; none on a single node."""
    if not evaluation.mapping.traffic or int(evaluation.mapping.traffic.inter_node_volume) == 0:
        return []
    messages = "messages" if evaluation.messages_known else "pairs"
    columns = [
        ("volume between nodes (ICV)", "inter_node_volume"), ("volume inside nodes", "intra_node_volume"),
        (f"{messages} between nodes (ICM)", "inter_node_messages"),
        ("most received by a node (MNRV)", "max_node_receive_volume"),
        (f"  {messages} (MNRM)", "max_node_receive_messages"),
        ("most sent by a PE (MSV)", "max_send_volume"), (f"  {messages} (MSM)", "max_send_messages"),
    ]
    return [
        _line(evaluation, label, f"traffic.{name}", volume if name.endswith("volume") else _count)
        for label, name in columns
    ]


def _link_rows(evaluation: Evaluation) -> list[Row]:
    """Return the rows of link metrics; none on machines without links."""
    if evaluation.mapping.links is None:
        return []
    columns: list[tuple[str, str, Callable[[float], str]]] = [
        ("  hops of all messages (TH)", "hops", _count),
        ("  hop-bytes (WH)", "hop_bytes", _count),
        ("  most messages (MMC)", "max_messages", _count),
        ("  highest congestion (MC)", "max_congestion", _measure),
        ("  mean messages (AMC)", "avg_messages", _decimal),
        ("  mean congestion (AC)", "avg_congestion", _measure),
        ("  variance of congestion (NZCV)", "var_congestion", _measure),
        ("  hybrid, in order = 4", "hybrid", _decimal),
        ("  links used", "used_links", _count),
    ]
    if evaluation.mapping.links.hybrid is None:
        columns = [column for column in columns if column[1] != "hybrid"]
    return [Row("links"), *(_line(evaluation, label, f"links.{name}", show) for label, name, show in columns)]


def _level_rows(evaluation: Evaluation, number: int, volume: Callable[[float], str]) -> list[Row]:
    messages = "messages" if evaluation.messages_known else "pairs"
    level = evaluation.mapping.levels[number]
    return [
        Row(f"{level.name} (distance {level.distance})"),
        _line(evaluation, "  share of J", lambda one: one.levels[number].cost_share, _percent),
        _line(evaluation, "  volume", lambda one: one.levels[number].volume, volume),
        _line(evaluation, "  cut", lambda one: one.levels[number].cut, _count),
        _line(evaluation, "  " + messages, lambda one: one.levels[number].messages, _count),
    ]


def notes(evaluation: Evaluation) -> list[str]:
    """Return notes that explain the numbers of the table."""
    sentences = []
    if evaluation.dilation:
        steps = (f"{one.hops} hops: {one.flows:,}" for one in evaluation.dilation)
        sentences.append("arcs between nodes by distance: " + ", ".join(steps))
    for place, link in enumerate(evaluation.hottest, start=1):
        flows = ", ".join(f"{source} to {target}" for source, target, _ in link.largest)
        more = ", …" if link.flows > len(link.largest) else ""
        sentences.append(
            f"busiest link {place}: {link.name}, congestion {_measure(link.congestion)}, "
            f"{link.flows:,} arcs (tasks {flows}{more})"
        )
    for unit in evaluation.tasks_per_unit:
        held = str(unit.fewest) if unit.fewest == unit.most else f"{unit.fewest} to {unit.most}"
        sentences.append(f"tasks per {unit.level}: {held} on {unit.used:,} of {unit.units:,}")
    if evaluation.diagonal_share:
        share = f"{evaluation.diagonal_share:.2%}"
        sentences.append(f"{share} of the volume is left out, which tasks send to themselves")
    if evaluation.scale != 1:
        sentences.append(f"volumes are the numbers of the source times {evaluation.scale:,}")
    return sentences


def _line(
    evaluation: Evaluation, label: str, metric: str | Callable[[MappingMetrics], float],
    show: Callable[[float], str],
) -> Row:
    """Return the row of a metric: the name of an attribute, perhaps of one of a part, or a function."""
    pick = attrgetter(metric) if isinstance(metric, str) else metric
    sample = [pick(one) for one in evaluation.random]
    varies = len(set(sample)) > 1
    return Row(
        label,
        show(pick(evaluation.mapping)),
        show(pick(evaluation.in_order)) if evaluation.in_order else "",
        show(pick(evaluation.recorded)) if evaluation.recorded else "",
        show(_mean(sample) if varies else sample[0]) if sample else "",
        f"{show(min(sample))} … {show(max(sample))}" if varies else "",
    )


def _mean(sample: list[float]) -> float:
    """Return the mean, rounded to an integer if the sample consists of large counts."""
    mean = sum(sample) / len(sample)
    return round(mean) if mean >= 100 and all(isinstance(one, int) for one in sample) else mean


def _tasks_per_pe(evaluation: Evaluation) -> Row:
    def cell(mappings: tuple[MappingMetrics, ...]) -> str:
        if not mappings:
            return ""
        fewest = min(one.min_tasks_per_pe for one in mappings)
        most = max(one.max_tasks_per_pe for one in mappings)
        return _count(fewest) if fewest == most else f"{fewest:,} … {most:,}"

    base = (evaluation.in_order,) if evaluation.in_order else ()
    then = (evaluation.recorded,) if evaluation.recorded else ()
    columns = ((evaluation.mapping,), base, then, evaluation.random)
    return Row("tasks on a PE", *(cell(column) for column in columns))


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


def _decimal(value: float) -> str:
    return f"{value:,.3f}"


def _measure(value: float) -> str:
    """Format a congestion: integers and large values without decimals, others with six significant digits."""
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1e6 else f"{value:,.6g}"


def _count(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
