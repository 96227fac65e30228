"""Fat trees: any number of levels, oversubscribed, with parallel cables, truncated."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.kernels.routes import RouteForm
from hopbytes.machines.base import Level, machines
from hopbytes.machines.distances import TreeDistance
from hopbytes.machines.kinds.tree import MAX_CORES, MAX_DISTANCE, Tree, shorten
from hopbytes.machines.network.network import Geometry, Network, Wiring
from hopbytes.machines.network.network_machine import Count, NetworkHierarchy, check_nodes
from hopbytes.machines.spec_fields import (
    bad,
    bandwidth_field,
    joined,
    network_fields,
    number_of,
    sizes_of,
)


@frozen
class FatTreeCables:
    """The cables of a fat tree, numbered level by level; every cable consists of an up and a down link."""

    below: tuple[int, ...]  # parameters of each level, see :class:`hopbytes.machines.kinds.fattree.FatTree`.
    above: tuple[int, ...]
    cables: tuple[int, ...]
    #: number of nodes below a switch of each level, and number of switches of each level that have the same
    #: nodes below them
    leaves: tuple[int, ...]
    width: tuple[int, ...]
    first: tuple[int, ...]  # number of the first cable of each level

    @classmethod
    def of(cls, below: tuple[int, ...], above: tuple[int, ...], cables: tuple[int, ...]) -> FatTreeCables:
        """Return the cables of a fat tree with these parameters."""
        leaves = tuple(int(np.prod(below[:level], dtype=object)) for level in range(len(below) + 1))
        width = tuple(int(np.prod(above[:level], dtype=object)) for level in range(len(below) + 1))
        first = [0]
        for level in range(len(below)):
            ports = above[level] * cables[level]
            first.append(first[-1] + leaves[-1] // leaves[level] * width[level] * ports)
        return cls(below, above, cables, leaves, width, tuple(first))

    def capacity(self, nodes: int, bandwidth: tuple[int, ...]) -> Int64:
        """Return int64[links], the capacities; 0 if no node is below the lower end of the cable."""
        columns = []
        for level in range(len(self.below)):
            ports = self.above[level] * self.cables[level]
            present = -(-nodes // self.leaves[level]) * self.width[level] * ports
            column = np.zeros(2 * (self.first[level + 1] - self.first[level]), np.int64)
            column[: 2 * present] = bandwidth[level]
            columns.append(column)
        return np.concatenate(columns)

    def switches(self, nodes: int) -> int:
        """Return the number of switches that have a node below them."""
        return sum(-(-nodes // self.leaves[i]) * self.width[i] for i in range(1, len(self.leaves)))

    def name_switch(self, level: int, group: int, column: int) -> str:
        """Return the name of a node (level 0) or of a switch."""
        if level == 0:
            return f"n{group}"
        return f"leaf{group}" if level == 1 and self.width[1] == 1 else f"s{level}.{group}.{column}"

    def name_link(self, link: int) -> str:
        """Return the names of both ends of a link, followed by the index of the cable among parallel ones."""
        cable, down = divmod(link, 2)
        level = int(np.searchsorted(self.first, cable, side="right")) - 1
        rest, copy = divmod(cable - self.first[level], self.cables[level])
        lower, parent = divmod(rest, self.above[level])
        group, column = divmod(lower, self.width[level])
        low = self.name_switch(level, group, column)
        high = self.name_switch(level + 1, group // self.below[level], column + self.width[level] * parent)
        ends = (high, low) if down else (low, high)
        return f"{ends[0]} -> {ends[1]}" + (f" #{copy}" if self.cables[level] > 1 else "")

    def wiring(self, nodes: int) -> Wiring:
        """Return the ends of all links."""
        leaves, width = self.leaves, self.width
        begin = np.cumsum([0] + [leaves[-1] // leaves[i] * width[i] for i in range(len(leaves))])
        tails, heads = [], []
        for level in range(len(self.below)):
            cable = np.arange(self.first[level + 1] - self.first[level], dtype=np.int64)
            lower, parent = np.divmod(cable // self.cables[level], self.above[level])
            group, column = np.divmod(lower, width[level])
            upper = group // self.below[level] * width[level + 1] + column + width[level] * parent
            ends = np.stack([begin[level] + lower, begin[level + 1] + upper], axis=1)
            tails.append(ends.reshape(-1))
            heads.append(ends[:, ::-1].reshape(-1))
        return Wiring(np.concatenate(tails), np.concatenate(heads), np.arange(nodes), int(begin[-1]))


#: Rules that choose the links upwards, in the order of core/routing/hierarchy_routes.hpp.
RULES = ("dmodk", "smodk", "spread")
KEYS = {"up": "1x2x9", "cables": "1x3x2", "nodes": "3090", "route": "dmodk", "bw": "100 or 100x40x40"}
MAX_CABLES = 2**28


@machines.register("fattree")
@frozen
class FatTree(NetworkHierarchy):
    """Fat tree of any height (parallel-port generalised fat tree), every list from the nodes upwards.

    Parameters
    ----------
    below : tuple of int
        Children of a switch at each level: ``below[0]`` nodes per leaf switch, ``below[1]`` switches of
        level 1 per switch of level 2, …
    above : tuple of int
        Parents per node, per leaf switch, …, one entry per level.
    cables : tuple of int
        Parallel cables to each of those parents.
    nodes : int
        Nodes that exist, the first ones; up to the product of `below`.
    rule : str
        ``dmodk``, ``smodk`` or ``spread``, see Notes.
    bandwidth : tuple of int
        Capacity of a cable per level, >= 1.
    per_hop, inside
        See :class:`hopbytes.machines.network.network_machine.NetworkMachine`.

    Raises
    ------
    FormatError
        Lists of different lengths, numbers out of range.

    Notes
    -----
    Routes go up to the nearest common level and down again. Of the ports up from level i number
    floor(t / (above[0] · … · above[i-1])) mod (above[i] · cables[i]) is taken, t being the target
    (``dmodk``) or the source (``smodk``), and routes go down by the counterparts of the same cables; ports
    are numbered over the parents first, then over their parallel cables. ``spread`` divides every flow
    evenly over all shortest paths. A cable is two links. Source: Zahavi, "Fat-tree routing and node
    ordering providing contention free traffic for MPI global collectives", JPDC 2012; there ports of one
    parent are numbered alike.

    Distances form a tree, so kernels use the form for trees.

    Examples
    --------
    >>> from hopbytes.machines.kinds.fattree import FatTree
    >>> tree = FatTree.parse("2x2:up=1x2")
    >>> tree.network().hops(0, [0, 1, 2, 3]).tolist()
    [0, 2, 4, 4]
    """

    below: tuple[int, ...]
    above: tuple[int, ...] = ()
    cables: tuple[int, ...] = ()
    nodes: int = 0
    rule: str = "dmodk"
    bandwidth: tuple[int, ...] = ()
    per_hop: int | None = None
    inside: Tree | None = None

    def __post_init__(self) -> None:
        levels = len(self.below)
        object.__setattr__(self, "above", self.above or (1, *self.below[:-1]))
        object.__setattr__(self, "cables", self.cables or (1,) * levels)
        object.__setattr__(self, "bandwidth", self.bandwidth or (1,) * levels)
        object.__setattr__(self, "nodes", self.nodes or self.places)
        if not levels == len(self.above) == len(self.cables) == len(self.bandwidth):
            raise bad(
                f"fattree: {levels} levels, up for {len(self.above)}, cables for {len(self.cables)}, "
                f"bw for {len(self.bandwidth)}, expected one of each per level"
            )
        if self.rule not in RULES:
            raise bad(f"fattree: route={shorten(self.rule)}, expected one of {', '.join(RULES)}")
        if not 1 <= self.nodes <= self.places <= MAX_CORES:
            raise bad(f"fattree: nodes={self.nodes}, expected 1 to {self.places}, and at most {MAX_CORES}")
        if sum(self.cables_per_level()) > MAX_CABLES:
            raise bad(f"fattree: {sum(self.cables_per_level())} cables, expected at most {MAX_CABLES}")
        check_nodes(self)
        if self.hop_distance * 2 * levels > MAX_DISTANCE:
            raise bad(f"distance {self.hop_distance} per hop, expected a smaller one")

    @classmethod
    def parse(cls, text: str) -> FatTree:
        """Read ``30x6x18[:up=1x2x9][:cables=1x3x2][:nodes=N][:route=dmodk][:bw=…][@perhop]``.

        Without ``up`` as many ports lead up as down below the top (full bisection).
        """
        head, found, per_hop = network_fields("fattree", text, KEYS)
        below = sizes_of("fattree", head)
        lists = {
            key: tuple(number_of("fattree", key, word) for word in found[key].split("x"))
            if key in found
            else ()
            for key in ("up", "cables", "bw")
        }
        if len(lists["bw"]) == 1:
            lists["bw"] *= len(below)
        nodes = number_of("fattree", "nodes", found["nodes"]) if "nodes" in found else 0
        return cls(
            below, lists["up"], lists["cables"], nodes, found.get("route", "dmodk"), lists["bw"], per_hop
        )

    @property
    def places(self) -> int:
        """Nodes of the whole tree, whether they exist or not."""
        return int(np.prod(self.below, dtype=object))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.nodes

    def cables_per_level(self) -> list[int]:
        """Cables between each level and the one above, in the whole tree."""
        counts, leaves, width = [], 1, 1
        for below, above, cables in zip(self.below, self.above, self.cables, strict=True):
            counts.append(self.places // leaves * width * above * cables)
            leaves, width = leaves * below, width * above
        return counts

    def network_spec(self) -> str:
        """``fattree:…`` with the keys that differ from their defaults."""
        text = f"fattree:{joined(self.below)}"
        if self.above != (1, *self.below[:-1]):
            text += f":up={joined(self.above)}"
        if set(self.cables) != {1}:
            text += f":cables={joined(self.cables)}"
        if self.nodes != self.places:
            text += f":nodes={self.nodes}"
        if self.rule != "dmodk":
            text += f":route={self.rule}"
        return text + bandwidth_field(self.bandwidth)

    def units_outside(self) -> tuple[tuple[Level, ...], tuple[Count, ...]]:
        """Levels of switches above the leaves: ``switch3``, ``switch2``, ``leaf``; nodes per leaf last."""
        tiers, counts, units = [], [], 1
        for level in range(len(self.below) - 1, 0, -1):
            size = int(np.prod(self.below[:level], dtype=object))
            tiers.append(
                Level("leaf" if level == 1 else f"switch{level}", 2 * (level + 1) * self.hop_distance)
            )
            counts.append(_children(units, self.below[level], size, self.nodes))
            units = -(-self.nodes // size)
        counts.append(_children(units, self.below[0], 1, self.nodes))
        return tuple(tiers), tuple(counts)

    def node_distance(self) -> int:
        """Two nodes of one leaf switch are two hops apart."""
        return 2 * self.hop_distance

    def distance(self) -> TreeDistance:
        """Distances are those of a tree."""
        return self.tree().distance()

    def network(self) -> Network:
        """Cables from nodes to the roots."""
        return _network(self.below, self.above, self.cables, self.nodes, self.rule, self.bandwidth)


def _children(units: int, full: int, size: int, nodes: int) -> Count:
    """Children of each of `units` units: `full` of them, each of `size` nodes, as far as nodes exist."""
    have = -(-nodes // size)
    return full if have == units * full else tuple(min(full, have - unit * full) for unit in range(units))


@lru_cache(maxsize=16)
def _network(
    below: tuple[int, ...],
    above: tuple[int, ...],
    cables: tuple[int, ...],
    nodes: int,
    rule: str,
    bandwidth: tuple[int, ...],
) -> Network:
    numbered = FatTreeCables.of(below, above, cables)

    def geometry() -> Geometry:
        leaf = np.arange(nodes, dtype=np.int64) // below[0]
        if len(below) < 3:
            return Geometry(("switch",), leaf[None, :])
        return Geometry(("group", "switch"), np.stack(np.divmod(leaf, below[1])))

    numbers = np.array(
        [len(below), numbered.leaves[-1], RULES.index(rule), *below, *above, *cables], np.int64
    )
    return Network(
        RouteForm("fat_tree", numbers, split=rule == "spread"),
        nodes,
        numbered.switches(nodes),
        numbered.capacity(nodes, bandwidth),
        "as given",
        numbered.name_link,
        lambda node: f"n{node}",
        lambda: numbered.wiring(nodes),
        geometry=geometry,
    )
