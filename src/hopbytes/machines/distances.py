"""Distances between places as kernels take them: labels in a tree, a table, hops of a network, rails."""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt8, UInt16, UInt64
from hopbytes._frozen import frozen, own
from hopbytes.errors import UnsupportedError
from hopbytes.kernels.records import Distances
from hopbytes.kernels.routes import NO_ROUTE
from hopbytes.machines.network import Network
from hopbytes.model.allocation import Allocation
from hopbytes.util.computed_once import kept
from hopbytes.util.random_numbers import RandomNumbers

if TYPE_CHECKING:
    from typing_extensions import Self

#: Nodes whose hops are held as a table (uint16: 128 MiB); grids need none.
MAX_NODES_IN_TABLE = 2**13
#: Nodes of which all pairs are examined for the largest distance, and rows of pairs examined in one call.
NODES_COMPARED, ROWS = 2**11, 64
#: Rows of the table of distances of GPUs that are computed at the same time.
GPU_ROWS = 256
#: Number of triples of nodes whose distances are compared.
TRIPLES = 2**12


class _OfPairs:
    """What follows from `apart`, the distances of pairs of places."""

    __slots__ = ()

    def between(self: Any, a: int, b: int) -> int:
        return int(self.apart(a, b))

    def matrix(self: Any) -> Int64:
        """int64[k, k] of all distances; for small k and tests, O(k^2) memory."""
        places = np.arange(len(self.labels))
        distances: Int64 = self.apart(places[:, None], places[None, :])
        return distances


@frozen(eq=False, owns=("labels", "level_of_bit", "costs"))
class TreeDistance(_OfPairs):
    """Distances of k places in a tree, as kernels take them.

    The label of a place is the path of child numbers from the root, one bit field per level, the
    innermost level in the lowest bits. The highest bit in which two labels differ names the
    outermost level at which the places part, so one xor, one bit count and one table look-up give
    the distance.
    """

    labels: UInt64  # uint64[k]: Ascending, so every subtree is a contiguous range of places
    #: uint8[65]: Level for every width of the xor: 0 for equal labels, 1 for the innermost level, ...
    level_of_bit: UInt8
    costs: Int64  # int64[levels + 1]: Distance per level; ``costs[0] = 0``

    @property
    def largest(self) -> int:
        """Largest distance of two places: labels ascend, first and last part at the outermost level."""
        return int(self.bit_costs[int(self.labels[0] ^ self.labels[-1]).bit_length()])

    @property
    def bit_costs(self) -> Int64:
        """int64[65]: distance for every width of the xor of two labels."""
        return self.costs[self.level_of_bit]

    def select(self, places: Int64) -> TreeDistance:
        if len(places) == len(self.labels):
            return self
        return TreeDistance(own(self.labels[places]), self.level_of_bit, self.costs)

    def apart(self, a: Any, b: Any) -> Int64:
        """Distances of pairs of places, broadcast against each other."""
        differing = self.labels[a] ^ self.labels[b]
        levels = np.zeros(differing.shape, np.uint8)
        for level in range(1, len(self.costs)):  # innermost first: the outermost that differs wins
            bits = np.flatnonzero(self.level_of_bit == level)
            if len(bits):
                levels[differing >= np.uint64(1 << (int(bits[0]) - 1))] = level
        return self.costs[levels]


@frozen(eq=False, owns=("table",))
class TableDistance(_OfPairs):
    """Distances of k places as a dense int64[k, k] table (kept small: see the machine that makes it)."""

    table: Int64

    @property
    def largest(self) -> int:
        return int(self.table.max())

    def select(self, places: Int64) -> TableDistance:
        if len(places) == len(self.table):
            return self
        return TableDistance(own(np.ascontiguousarray(self.table[np.ix_(places, places)])))

    def matrix(self) -> Int64:
        return self.table

    def apart(self, a: Int64, b: Int64) -> Int64:
        return self.table[a, b]


@frozen(eq=False, owns=("labels", "inside_costs", "endpoint"))
class NetworkDistance(_OfPairs):
    """Distances of k places: a tree inside a node, hops between nodes.

    Places of one node are as far apart as their tree says; others are `per_hop` times their hops apart,
    but no nearer than places inside a node can be (two nodes on one router have 0 hops between them). Where
    the routes there and back differ in length, the longer one counts.
    """

    network: Network
    labels: UInt64  # uint64[k]: ascending paths in the tree of all nodes, as in a TreeDistance
    inside_costs: Int64  # int64[65]: Distance for every width of the xor of two labels up to `inside_bits`
    inside_bits: int  # labels that differ in no higher bit lie in one node
    endpoint: Int32  # int32[k]: Endpoint of each place
    per_hop: int
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def least(self) -> int:
        """Smallest distance of places on different nodes."""
        return int(self.inside_costs[self.inside_bits])

    @property
    @kept
    def largest(self) -> int:
        """Largest distance between two places; on grids of more than 2048 nodes in use a bound of it."""
        width = int(self.labels[0] ^ self.labels[-1]).bit_length()
        one_node = width <= self.inside_bits  # nothing inside a node is wider than `least`
        return int(self.inside_costs[width]) if one_node else max(self.least, self._most_apart())

    def _most_apart(self) -> int:
        nodes = self._nodes()[0]
        if len(nodes) <= NODES_COMPARED:
            rows = (nodes[i : i + ROWS, None] for i in range(0, len(nodes), ROWS))
            most = max(int(self.network.hops(some, nodes[None, :]).max()) for some in rows)
        elif self.network.form.kind == "grid":
            _, sizes, folds = self._grid()
            most = int(np.minimum(sizes - 1, folds // 2).sum())
        else:
            most = int(self._hop_table().max())
        return most * self.per_hop

    def select(self, places: Int64) -> Self:
        if len(places) == len(self.labels):
            return self
        return replace(self, labels=self.labels[places], endpoint=self.endpoint[places], _cache={})

    @kept
    def tree_deviation(self) -> float:
        """Return how far the distances between nodes are from those of a tree.

        Of the distances among three nodes of a tree the two largest are equal. This is their mean difference
        over random triples of nodes in units of the smallest distance, divided by the logarithm to base 2 of
        the number of nodes, with which the distances in networks of exponential growth increase.

        It is 0.12 on hypercubes of any size, 0.17 on a torus of 8 x 8 x 8 nodes, 0.25 on one of 16 x 16 x 16
        and 0.7 on a mesh of 32 x 32, but at most 0.02 on dragonflies and HyperX and 0 on fat trees.
        """
        nodes, _ = self._nodes()
        half = np.uint64(32)
        drawn = (RandomNumbers(0).words(3 * TRIPLES) >> half) * np.uint64(len(nodes)) >> half
        some = nodes[drawn.astype(np.int64).reshape(3, TRIPLES)]
        apart = np.sort(self._hops(some, np.roll(some, 1, axis=0)), axis=0)
        near = np.append(apart[0], self._hops(nodes[1:], nodes[:-1]))
        least = int(near[near > 0].min(initial=NO_ROUTE))
        difference = float((apart[2] - apart[1]).mean())
        return difference / least / max(1.0, math.log2(len(nodes)))

    def apart(self, a: Any, b: Any) -> Int64:
        hops = self._hops(self.endpoint[a], self.endpoint[b])
        apart = np.maximum(hops * self.per_hop, self.least)
        widths = np.zeros(hops.shape, np.int64)
        differing = self.labels[a] ^ self.labels[b]
        for bit in range(int(differing.max()).bit_length()):
            widths[differing >> np.uint64(bit) != 0] = bit + 1
        return np.where(widths <= self.inside_bits, self.inside_costs[widths], apart)

    def _hops(self, a: Any, b: Any) -> Int64:
        """Return the hops of the longer route, there or back: distances are symmetric, routes need not be."""
        return np.maximum(self.network.hops(a, b), self.network.hops(b, a))

    @kept
    def _nodes(self) -> tuple[Int32, Int32]:
        """Endpoints in use, ascending, and the position among them of each place's."""
        nodes, position = np.unique(self.endpoint, return_inverse=True)
        return nodes.astype(np.int32), position.astype(np.int32)

    @kept
    def lowered(self) -> tuple[UInt64, Int64]:
        """Return the labels, and what else compiled code makes its distances from, built once.

        The second array holds numbers, costs inside a node, coordinates or rows of all places and the table
        of hops, in the order of ``NetworkDistance`` in core/graph/distance.hpp. Entry 4 is the largest
        distance. UnsupportedError for too many nodes without a grid.
        """
        hops, place = np.empty(0, np.uint16), self.endpoint
        if self.network.form.kind == "grid":
            per_router, sizes, folds = self._grid()
            routers = self.endpoint // per_router
            if len(self.network.form.table):  # nodes along a curve
                routers = self.network.form.table[routers]
            place = np.stack(np.unravel_index(routers, tuple(sizes.tolist())), axis=1).astype(np.int32)
            dimensions, nodes = len(sizes), 0
        else:
            used, place = self._nodes()
            dimensions, nodes, folds, hops = 0, len(used), np.empty(0, np.int64), self._hop_table()
        head = [dimensions, self.per_hop, self.least, self.inside_bits, self.largest, nodes]
        parts = [np.array(head, np.int64), self.inside_costs, folds]
        for narrow in (place, hops):
            flat = np.ascontiguousarray(narrow).reshape(-1)
            filled = np.zeros(-(-flat.nbytes // 8), np.int64)
            filled.view(flat.dtype)[: len(flat)] = flat
            parts.append(filled)
        return np.ascontiguousarray(self.labels), np.concatenate(parts)

    def _grid(self) -> tuple[int, Int64, Int64]:
        """Nodes per router, routers per dimension, and the size at which each closes."""
        per_router, dimensions, *rest = self.network.form.numbers.tolist()
        sizes, wrapped = np.array(rest[:dimensions]), np.array(rest[dimensions : 2 * dimensions], np.bool_)
        return per_router, sizes, np.where(wrapped, sizes, 2 * sizes)  # 2 x size: never shorter

    def _hop_table(self) -> UInt16:
        """uint16[nodes, nodes]: hops between the nodes in use, of the longer route of both directions."""
        nodes, _ = self._nodes()
        if len(nodes) > MAX_NODES_IN_TABLE:
            what = f"distances between {len(nodes)} nodes of an irregular network"
            less = "allocate fewer nodes (`hosts`), or describe the network as torus:, mesh: or fattree:"
            raise UnsupportedError(f"{what}, expected at most {MAX_NODES_IN_TABLE}: {less}")
        return self.network.hop_table(nodes)


@frozen(eq=False)
class RailUnits:
    """The units of a rail-optimised network that every endpoint (GPU) belongs to."""

    #: int32[endpoints]: NVLink domain, leaf switch and rail of every GPU; equal rails in different pods have
    #: different leaf switches
    domain: Int32
    leaf: Int32  # int32[endpoints]
    rail: Int32  # int32[endpoints]
    pod: Int32  # int32[endpoints]: Group of hosts whose GPUs share leaf switches
    inside: int  # distance of two GPUs of one NVLink domain, of one leaf switch, and of all others
    across_leaf: int
    across_spines: int
    #: distance of GPUs on different rails of one pod if messages change the rail inside the NVLink domain
    #: (PXN); None if they go through the spines
    detour: int | None

    def apart(self, a: Any, b: Any) -> Int64:
        """int64[...]: distance of the endpoints `a` and `b`, which broadcast; 0 of an endpoint to itself."""
        a, b = np.asarray(a), np.asarray(b)
        far = np.where(self.leaf[a] == self.leaf[b], self.across_leaf, self.across_spines)
        if self.detour is not None:
            extra = self.detour - self.across_leaf
            same = (self.pod[a] == self.pod[b]) & (self.rail[a] != self.rail[b])
            far = np.where(same, self.detour, far)
            other = (self.pod[a] != self.pod[b]) & (self.rail[a] != self.rail[b])
            far = np.where(other, self.across_spines + extra, far)
        near = np.where(self.domain[a] == self.domain[b], self.inside, far)
        return np.where(a == b, 0, near).astype(np.int64)


@frozen(eq=False)
class RailDistance(NetworkDistance):
    """Distances that depend on the NVLink domain and on the rail, in place of hops.

    A hop inside an NVLink domain costs less than a hop between hosts, so hops times a constant would not do.
    `units` describes all endpoints of the network; `per_hop` is 1.
    """

    units: RailUnits = field(kw_only=True)

    def _most_apart(self) -> int:
        nodes = self._nodes()[0]
        rows = (nodes[i : i + GPU_ROWS, None] for i in range(0, len(nodes), GPU_ROWS))
        return max(int(self._hops(some, nodes[None, :]).max()) for some in rows)

    def _hops(self, a: Any, b: Any) -> Int64:
        return self.units.apart(a, b)

    def _hop_table(self) -> UInt16:
        nodes, _ = self._nodes()
        if len(nodes) > MAX_NODES_IN_TABLE:
            what = f"distances between {len(nodes)} GPUs with rails, expected at most {MAX_NODES_IN_TABLE}"
            less = "use fewer hosts (`hosts`), or describe the machine by levels, like node:2048 gpu:8"
            raise UnsupportedError(f"{what}: {less}")
        table = np.empty((len(nodes), len(nodes)), np.uint16)
        for first in range(0, len(nodes), GPU_ROWS):
            rows = slice(first, first + GPU_ROWS)
            table[rows] = self._hops(nodes[rows, None], nodes[None, :])
        return table


Distance: TypeAlias = "TreeDistance | TableDistance | NetworkDistance"


def kernel_distances(where: Allocation) -> Distances:
    """Lower distances for a search.

    Asymmetric tables become ``D + D transposed``: on a symmetric graph that orders mappings as the
    sum over both directions does. The distance of a place to itself becomes 0: searches look at tasks in
    different places only.
    """
    distance = where.distance
    if isinstance(distance, TableDistance):
        table = distance.table
        if not np.array_equal(table, table.T):
            halves = int(table.max()) > 2**61  # the sum of both directions would not fit
            table = (table >> 1) + (table.T >> 1) if halves else table + table.T
        if np.diagonal(table).any():
            table = table.copy()
            np.fill_diagonal(table, 0)
        return Distances(table=np.ascontiguousarray(table).reshape(-1))
    if isinstance(distance, NetworkDistance):
        labels, packed = distance.lowered()
        return Distances(labels, table=packed)
    return Distances(distance.labels, distance.bit_costs)
