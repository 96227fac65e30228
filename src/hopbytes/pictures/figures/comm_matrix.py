"""The communication matrix of a pattern, with tasks in machine order, as cells that can be drawn."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt8
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.util.checks import whole

#: Up to this many tasks every task has a row of its own; above it, rows hold sums, at most `MOST_CELLS` rows.
TASKS_SHOWN, MOST_CELLS = 1024, 512
#: Shades of :meth:`CommMatrix.shades`; 0 means that nothing is sent.
SHADES = 255


@frozen(eq=False)
class CommMatrix:
    """A communication matrix in machine order."""

    #: int64[rows, rows]: What the tasks of a row send to the tasks of a column, in bytes (in the units of the
    #: source where it has no bytes). Arcs of a task to itself are left out.
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
        """Number of rows and of columns."""
        return len(self.cells)

    def extremes(self) -> tuple[int, int]:
        """Return the smallest positive and the largest cell; (0, 0) if nothing is sent."""
        positive = self.cells[self.cells > 0]
        return (int(positive.min()), int(positive.max())) if len(positive) else (0, 0)

    def shades(self, lowest: int | None = None, highest: int | None = None) -> UInt8:
        """Return the cells on a logarithmic scale."""
        own = self.extremes()
        low = own[0] if lowest is None else lowest
        high = own[1] if highest is None else highest
        shades = np.zeros(self.cells.shape, np.uint8)
        sent = self.cells > 0
        if low <= 0 or high <= low:
            shades[sent] = SHADES
            return shades
        place = np.log(self.cells[sent] / low) / np.log(high / low)
        shades[sent] = 1 + np.rint(np.clip(place, 0, 1) * (SHADES - 1)).astype(np.uint8)
        return shades


def common_extremes(matrices: Iterable[CommMatrix]) -> tuple[int, int]:
    """Return the smallest positive and the largest cell of several matrices, for one scale of colours."""
    found = [one.extremes() for one in matrices]
    return min((low for low, _ in found if low), default=0), max((high for _, high in found), default=0)


def comm_matrix(
    graph: CommGraph, mapping: Mapping | None = None, *, weight: str = "bytes", most_rows: int | None = None
) -> CommMatrix:
    """Return the communication matrix of a pattern with the tasks in machine order.

    Rows hold sums, so that no traffic vanishes. Where all nodes hold equally many tasks, rows end at
    borders of nodes if up to twice as many tasks per row achieve that. O(n log n + m + rows^2).

    >>> import hopbytes as hb
    >>> ring = hb.CommGraph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], [5, 6, 7, 8])
    >>> found = comm_matrix(ring, hb.Mapping([0, 2, 1, 3], hb.allocate("node:2@10 core:2@1", hosts="a,b")))
    >>> found.order.tolist(), found.borders.tolist(), found.nodes
    ([0, 2, 1, 3], [0, 2, 4], ('a', 'b'))
    >>> found.cells.tolist()
    [[0, 0, 5, 0], [0, 0, 0, 7], [0, 6, 0, 0], [8, 0, 0, 0]]
    """
    check_tasks(graph, mapping)
    order, borders, nodes = _in_machine_order(graph.n, mapping)
    if most_rows is None:
        most_rows = TASKS_SHOWN if graph.n <= TASKS_SHOWN else MOST_CELLS
    each = _tasks_per_cell(graph.n, np.diff(borders), whole("most_rows", most_rows, 1))
    rows = -(-graph.n // each)
    position = np.empty(graph.n, np.int64)
    position[order] = np.arange(graph.n) // each
    sources, weights = graph.sources(), graph.arc_messages() if weight == "messages" else graph.arc_volumes()
    apart = sources != graph.targets
    keys = position[sources[apart]] * rows + position[graph.targets[apart]]
    cells = np.zeros(rows * rows, np.int64)
    np.add.at(cells, keys, weights[apart])
    return CommMatrix(cells.reshape(rows, rows), graph.n, each, order, borders, nodes)


def check_tasks(graph: CommGraph, mapping: Mapping | None) -> None:
    """Raise FormatError if a mapping has another number of tasks than the pattern."""
    if mapping is not None and mapping.n != graph.n:
        raise FormatError("mapping", None, f"{mapping.n} tasks, expected the {graph.n} of {graph.name}")


def node_name(where: Allocation, node: int) -> str:
    """Return the name of a node for people: its host name, else its number.

    >>> import hopbytes as hb
    >>> node_name(hb.allocate("node:2 core:2"), 1), node_name(hb.allocate("node:2 core:2", hosts="a,b"), 1)
    ('node 1', 'b')
    """
    return where.hosts[node] if node < len(where.hosts) else f"node {node}"


def _in_machine_order(n: int, mapping: Mapping | None) -> tuple[Int32, Int64, tuple[str, ...]]:
    """Return the tasks in machine order, the borders of their nodes, and the names of these."""
    if mapping is None:
        return np.arange(n, dtype=np.int32), np.array([0, n], np.int64), ()
    order = np.argsort(mapping.pe, kind="stable").astype(np.int32)
    node = mapping.where.node_of_pe[mapping.pe[order]]
    # Nodes of exotic allocations need not ascend with PEs: a node may then have several parts.
    starts = np.flatnonzero(np.diff(node, prepend=-1)).astype(np.int64)
    names = tuple(node_name(mapping.where, each) for each in node[starts].tolist())
    return order, np.append(starts, n), names


def _tasks_per_cell(n: int, held: Int64, most_rows: int) -> int:
    """Return how many tasks a row holds; `held` are the tasks of every node."""
    least = max(1, -(-n // most_rows))
    if least > 1 and len(held) > 1 and int(held.min()) == int(held.max()):
        same = int(held[0])
        for each in range(least, 2 * least + 1):
            if same % each == 0 or each % same == 0:
                return each
    return least
