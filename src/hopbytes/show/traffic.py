"""The traffic of a pattern under mappings as arrays: its matrix, by level, by hops, on links, heaviest pairs.

Charts and tables show these numbers. Mappings of other sizes than the pattern raise FormatError. Arcs of a
task to itself are left out everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes._arrays import Float64, Int32, Int64, UInt8
from hopbytes._frozen import frozen
from hopbytes.cost.metrics.baselines import in_order
from hopbytes.cost.metrics.link_metrics import dilation_of
from hopbytes.cost.objectives.comm_cost import parting_level
from hopbytes.cost.objectives.link_sums import endpoints_of, network_of, traffic
from hopbytes.errors import WrongTypeError
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping, check_tasks
from hopbytes.show.names import node_name, pe_name
from hopbytes.util.checks import whole

#: Up to this many tasks every task has a row of its own; above it, rows hold sums, at most `MOST_CELLS` rows.
TASKS_SHOWN, MOST_CELLS = 1024, 512
#: Shades of :meth:`CommMatrix.shades`; 0 means that nothing is sent.
SHADES = 255
#: Names of levels in words, where that is more than an s behind the name.
PLURALS = {
    "switch": "switches", "box": "boxes", "chassis": "chassis", "l3": "L3 caches", "l2": "L2 caches",
    "numa": "NUMA domains", "pu": "hardware threads", "gpu": "GPUs",
}  # fmt: skip
SAME_PE = "same PE"


def launcher_mapping(graph: CommGraph, mapping: Mapping, launcher: str = "fill") -> Mapping:
    """Return the launcher's own mapping, with which :func:`hopbytes.evaluate` compares `mapping`."""
    check_tasks(graph, mapping.n)
    return Mapping(in_order(graph, mapping, launcher), mapping.where, {"mapper": launcher})


def volume_unit(graph: CommGraph) -> str:
    """Return ``"B"`` if the pattern counts bytes, else ``""``: its volumes were scaled, or are all 1."""
    return "B" if graph.scale == 1 and graph.volumes is not None else ""


@frozen(eq=False)
class CommMatrix:
    """A communication matrix in machine order."""

    #: int64[rows, rows]: What the tasks of a row send to the tasks of a column, in bytes (in the units of the
    #: source where it has no bytes)
    cells: Int64
    tasks: int  # number of tasks n
    #: consecutive tasks (in `order`) whose sums a row holds: 1 up to `TASKS_SHOWN` tasks. The last row may
    #: hold fewer.
    tasks_per_cell: int
    #: int32[n]: The task at each position of the matrix: ascending PEs, and ascending tasks on one PE
    order: Int32
    #: int64[nodes + 1]: Positions (counted in tasks) where the tasks of the next node begin; first 0, last n.
    #: Only nodes with tasks occur. ``[0, n]`` where there is no mapping, or one node.
    borders: Int64
    #: name of the node between two borders: its host name, else ``"node 3"``. Empty without a mapping.
    nodes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return len(self.cells)

    def shades(self, low: int, high: int) -> UInt8:
        """Return the cells on a logarithmic scale between two amounts."""
        sent, shades = self.cells > 0, np.zeros(self.cells.shape, np.uint8)
        part = np.ones(int(np.count_nonzero(sent)))
        if 0 < low < high:
            part = np.clip(np.log(self.cells[sent] / low) / np.log(high / low), 0, 1)
        shades[sent] = 1 + np.rint(part * (SHADES - 1)).astype(np.uint8)
        return shades


def common_extremes(matrices: Iterable[CommMatrix]) -> tuple[int, int]:
    """Return the smallest positive and the largest cell of matrices; (0, 0) if nothing is sent."""
    cells = np.concatenate([np.zeros(0, np.int64), *(one.cells[one.cells > 0] for one in matrices)])
    return (int(cells.min()), int(cells.max())) if len(cells) else (0, 0)


def comm_matrix(
    graph: CommGraph, mapping: Mapping | None = None, *, most_rows: int | None = None
) -> CommMatrix:
    """Return the communication matrix of a pattern with the tasks in machine order.

    Rows hold sums, so that no traffic vanishes. Where all nodes hold equally many tasks, rows end at
    borders of nodes if up to twice as many tasks per row achieve that. O(n log n + m + rows^2).
    """
    order, borders = np.arange(graph.n, dtype=np.int32), np.array([0, graph.n], np.int64)
    nodes: tuple[str, ...] = ()
    if mapping is not None:
        check_tasks(graph, mapping.n)
        order, borders, nodes = _machine_order(mapping)
    if most_rows is None:
        most_rows = TASKS_SHOWN if graph.n <= TASKS_SHOWN else MOST_CELLS
    per_row = _tasks_per_row(graph.n, np.diff(borders), whole("most_rows", most_rows, 1))
    rows = -(-graph.n // per_row)
    position = np.empty(graph.n, np.int64)
    position[order] = np.arange(graph.n) // per_row
    sources, targets, volumes = _apart(graph)
    cells = group_sums(position[sources] * rows + position[targets], volumes, rows * rows)
    return CommMatrix(cells.reshape(rows, rows), graph.n, per_row, order, borders, nodes)


def _apart(graph: CommGraph) -> tuple[Int32, Int32, Int64]:
    """Return sources, targets and volumes of the arcs between different tasks."""
    apart = graph.sources() != graph.targets
    return graph.sources()[apart], graph.targets[apart], graph.arc_volumes()[apart]


def _machine_order(mapping: Mapping) -> tuple[Int32, Int64, tuple[str, ...]]:
    """Return the tasks in machine order, the borders of their nodes, and the names of these."""
    order = np.argsort(mapping.pe, kind="stable").astype(np.int32)
    node = mapping.where.node_of_pe[mapping.pe[order]]
    # Nodes of exotic allocations need not ascend with PEs: a node may then have several parts.
    starts = np.flatnonzero(np.diff(node, prepend=-1)).astype(np.int64)
    names = tuple(node_name(mapping.where, number) for number in node[starts].tolist())
    return order, np.append(starts, mapping.n), names


def _tasks_per_row(n: int, per_node: Int64, most_rows: int) -> int:
    least = max(1, -(-n // most_rows))
    if least > 1 and len(per_node) > 1 and int(per_node.min()) == int(per_node.max()):
        same = int(per_node[0])
        for tasks in range(least, 2 * least + 1):
            if same % tasks == 0 or tasks % same == 0:
                return tasks
    return least


def named_mappings(mappings: Any) -> dict[str, Mapping]:
    """Return one mapping under the name ``mapping``, or those of a dictionary."""
    if not isinstance(mappings, Dictionary):
        return {"mapping": Mapping.of(mappings)}
    if not mappings:
        raise WrongTypeError("mappings are an empty dictionary, expected some by name")
    return {str(name): Mapping.of(mapping) for name, mapping in mappings.items()}


@frozen(eq=False)
class LevelBytes:
    """Volume between units of each level, per mapping."""

    mappings: tuple[str, ...]  # names of the mappings, as given
    #: names of the levels, outermost first; the last is ``"same PE"``, for tasks that share one
    levels: tuple[str, ...]
    #: int64[mappings, levels]: Volume of the arcs whose PEs first differ at the level
    volumes: Int64

    @property
    def labels(self) -> tuple[str, ...]:
        """The levels in words: ``"between nodes"``, ``"between cores"``, ``"inside one PE"``."""
        return (*(f"between {PLURALS.get(name, f'{name}s')}" for name in self.levels[:-1]), "inside one PE")


def level_bytes(graph: CommGraph, mappings: Dictionary[str, Mapping]) -> LevelBytes:
    """Return the volume per level of the machine for several mappings of a pattern on one machine."""
    names = _level_names(next(iter(mappings.values())).where)
    sources, targets, volumes = _apart(graph)
    sums = []
    for mapping in mappings.values():
        check_tasks(graph, mapping.n)
        level = _parting_level(mapping.where, mapping.pe[sources], mapping.pe[targets])
        sums.append(group_sums(level, volumes, len(names)))
    return LevelBytes(tuple(mappings), names, np.array(sums, np.int64))


def _level_names(where: Allocation) -> tuple[str, ...]:
    return *([level.name for level in where.machine.levels] or ["core"]), SAME_PE


def _parting_level(where: Allocation, first: Int32, second: Int32) -> Int32:
    """Return the level at which PEs part, by its position in :func:`_level_names`."""
    levels = parting_level(where, first, second) if where.machine.levels else np.equal(first, second)
    return levels.astype(np.int32)


@frozen(eq=False)
class HopHistogram:
    """Volume by the number of hops (links of the shortest route), per mapping."""

    mappings: tuple[str, ...]
    #: int64[bars]: 0 for arcs that use no link; then every number of hops that occurs in some mapping,
    #: ascending
    hops: Int64
    volumes: Int64  # int64[mappings, bars]


def hop_histogram(graph: CommGraph, mappings: Dictionary[str, Mapping]) -> HopHistogram:
    """Return the volume by number of hops for several mappings on a machine with links."""
    rows: list[dict[int, int]] = []
    sources, targets, volumes = _apart(graph)
    for mapping in mappings.values():
        check_tasks(graph, mapping.n)
        network_of(mapping.where, "a histogram of hops")
        row = {one.hops: one.volume for one in dilation_of(graph, mapping.where, mapping.pe)}
        ends = endpoints_of(mapping.where)[mapping.pe]
        row[0] = row.get(0, 0) + int(volumes[ends[sources] == ends[targets]].sum())
        rows.append(row)
    hops = sorted({number for row in rows for number in row})
    sums = np.array([[row.get(number, 0) for number in hops] for row in rows], np.int64)
    return HopHistogram(tuple(mappings), np.array(hops, np.int64), sums)


@frozen(eq=False)
class LinkLoads:
    """The load of every link that exists, in the order of link numbers."""

    names: tuple[str, ...]  # ``"A -> B"``, as ``hopbytes eval`` names them
    capacities: Int64  # int64[links]: In `unit`
    unit: str  # unit of capacities, such as ``"Mbit/s"``, or ``"as given"``
    volumes: Float64  # float64[links]: What crosses the link; integers if every flow takes a single path

    @property
    def congestion(self) -> Float64:
        """float64[links]: volume over capacity, by which links of different capacity are compared."""
        return self.volumes / self.capacities

    def most_loaded(self, count: int = 10) -> Int64:
        """Return the positions of the links with the highest congestion, descending; only links in use."""
        order = np.argsort(-self.congestion, kind="stable")[: max(0, count)]
        return order[self.volumes[order] > 0].astype(np.int64)


def link_loads(graph: CommGraph, mapping: Mapping) -> LinkLoads:
    """Return the load of every link under a mapping."""
    check_tasks(graph, mapping.n)
    where, purpose = mapping.where, "loads of links"
    network = network_of(where, purpose)
    sums = traffic(graph, graph.volumes, where, mapping.pe, purpose, priced=True)
    links = np.flatnonzero(network.capacity > 0)
    names = tuple(network.name_link(link) for link in links.tolist())
    volumes = sums.amounts[links] / float(1 << sums.shift)
    return LinkLoads(names, network.capacity[links], network.unit, volumes)


@frozen(eq=False)
class LoadHistogram:
    """How many links are how congested, per mapping."""

    #: float64[bins + 1]: Borders of the bins, from 0 to the highest congestion of all mappings, equally wide
    edges: Float64
    counts: Int64  # int64[mappings, bins]: Links in each bin; idle links are not counted
    idle: Int64  # int64[mappings]: Links without traffic


def load_histogram(loads: Sequence[LinkLoads], bins: int = 20) -> LoadHistogram:
    """Return how many links are how congested, with common bins for several mappings. O(links)."""
    highest = max((float(one.congestion.max(initial=0)) for one in loads), default=0.0)
    edges = np.linspace(0.0, highest or 1.0, whole("bins", bins, 1) + 1)
    counts = [np.histogram(one.congestion[one.volumes > 0], edges)[0] for one in loads]
    idle = [int(np.count_nonzero(one.volumes == 0)) for one in loads]
    return LoadHistogram(edges, np.array(counts, np.int64).reshape(-1, bins), np.array(idle, np.int64))


@frozen
class HeavyPair:
    """Two tasks, what they exchange, and where they are."""

    first: int  # tasks, first < second
    second: int
    volume: int  # in both directions
    first_pe: str  # ``"n1 core 4"``
    second_pe: str
    #: outermost level of the machine at which their PEs differ (``"node"``, ``"core"``); ``"same PE"`` if
    #: they share one
    level: str
    hops: int | None  # links between them; None on machines without links


def heaviest_pairs(graph: CommGraph, mapping: Mapping, count: int = 10) -> tuple[HeavyPair, ...]:
    """Return the pairs of tasks that exchange most, descending; ties by task numbers."""
    check_tasks(graph, mapping.n)
    sources, targets, volumes = _apart(graph)
    low, high = np.minimum(sources, targets).astype(np.int64), np.maximum(sources, targets)
    keys, pair = np.unique(low * graph.n + high, return_inverse=True)
    sums = group_sums(pair.reshape(-1).astype(np.int32), volumes, len(keys))
    order = np.argsort(-sums, kind="stable")[: max(0, count)]
    order = order[sums[order] > 0]
    first, second = np.divmod(keys[order], graph.n)
    rows = np.column_stack([first, second, sums[order]]).tolist()
    return tuple(HeavyPair(a, b, volume, *_located([a, b], mapping)) for a, b, volume in rows)


def _located(tasks: list[int], mapping: Mapping) -> tuple[str, str, str, int | None]:
    """Return the names of the PEs of two tasks, the level at which they differ, and the links between."""
    where, pes = mapping.where, mapping.pe[tasks]
    level = int(_parting_level(where, pes[:1], pes[1:])[0])
    network, hops = where.machine.network(), None
    if network is not None:
        hops = int(network.hops(*endpoints_of(where)[pes]).reshape(-1)[0])
    first, second = (pe_name(where, pe) for pe in pes.tolist())
    return first, second, _level_names(where)[level], hops
