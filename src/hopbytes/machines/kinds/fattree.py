"""Fat trees: any number of levels, oversubscribed, with parallel cables, truncated."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.kernels.routes import RouteForm
from hopbytes.machines.base import Level, machines
from hopbytes.machines.distances import TreeDistance
from hopbytes.machines.network import Geometry, Network, Wiring, name_node
from hopbytes.machines.network_machine import NetworkHierarchy, NetworkMachine, children_of
from hopbytes.machines.spec_fields import NetworkSpec, changed_fields, check_choice, joined, shortest
from hopbytes.machines.tree import MAX_CORES, MAX_DISTANCE, Count, bad
from hopbytes.util.computed_once import computed_once

#: Rules that choose the links upwards, in the order of core/routing/hierarchy_routes.hpp.
RULES = ("dmodk", "smodk", "spread")
KEYS = {"up": "1x2x9", "cables": "1x3x2", "nodes": "3090", "route": "dmodk", "bw": "100 or 100x40x40"}
MAX_CABLES = 2**28


@machines.register("fattree")
@frozen
class FatTree(NetworkHierarchy):
    """Fat tree of any height (parallel-port generalised fat tree), every list from the nodes upwards.

    Routes go up to the nearest common level and down again. Of the ports up from level i number
    floor(t / (above[0] · … · above[i-1])) mod (above[i] · cables[i]) is taken, t being the target
    (``dmodk``) or the source (``smodk``), and routes go down by the counterparts of the same cables; ports
    are numbered over the parents first, then over their parallel cables. ``spread`` divides every flow
    evenly over all shortest paths. A cable is two links. Source: Zahavi, "Fat-tree routing and node
    ordering providing contention free traffic for MPI global collectives", JPDC 2012; there ports of one
    parent are numbered alike. Distances form a tree, so kernels use the form for trees.

    >>> FatTree.parse("2x2:up=1x2").network().hops(0, [0, 1, 2, 3]).tolist()
    [0, 2, 4, 4]
    """

    node_hops: ClassVar[int] = 2
    #: children of a switch at each level: nodes per leaf switch, leaf switches per switch of level 2, …
    below: tuple[int, ...]
    above: tuple[int, ...]  # parents per node, per leaf switch, …, one entry per level
    cables: tuple[int, ...]  # parallel cables to each of those parents
    nodes: int  # those that exist, the first ones; up to the product of `below`
    rule: str
    bandwidth: tuple[int, ...]  # capacity of a cable per level, >= 1

    def __post_init__(self) -> None:
        levels = len(self.below)
        if not levels == len(self.above) == len(self.cables) == len(self.bandwidth):
            what = f"up for {len(self.above)}, cables for {len(self.cables)}, bw for {len(self.bandwidth)}"
            raise bad(f"fattree: {levels} levels, {what}, expected one of each per level")
        check_choice("fattree: route", self.rule, RULES)
        if not 1 <= self.nodes <= self.places <= MAX_CORES:
            raise bad(f"fattree: nodes={self.nodes}, expected 1 to {self.places}, and at most {MAX_CORES}")
        if sum(self.cables_per_level()) > MAX_CABLES:
            raise bad(f"fattree: {sum(self.cables_per_level())} cables, expected at most {MAX_CABLES}")
        NetworkMachine.__post_init__(self)
        if self.hop_distance * 2 * levels > MAX_DISTANCE:
            raise bad(f"distance {self.hop_distance} per hop, expected a smaller one")

    @classmethod
    def parse(cls, text: str) -> FatTree:
        """Read ``30x6x18[:up=1x2x9][:cables=1x3x2][:nodes=N][:route=dmodk][:bw=…][@perhop]``.

        Without ``up`` as many ports lead up as down below the top (full bisection).
        """
        spec = NetworkSpec("fattree", text, KEYS)
        below, bandwidth = spec.sizes(), spec.numbers("bw") or (1,)
        if len(bandwidth) == 1:
            bandwidth *= len(below)
        return cls(
            below, spec.numbers("up") or (1, *below[:-1]), spec.numbers("cables") or (1,) * len(below),
            spec.number("nodes", math.prod(below)), spec.word("route", "dmodk"), bandwidth,
            per_hop=spec.per_hop,
        )

    @property
    def places(self) -> int:
        """Nodes of the whole tree, whether they exist or not."""
        return math.prod(self.below)

    @property
    def n_nodes(self) -> int:
        return self.nodes

    def cables_per_level(self) -> list[int]:
        counts, leaves, width = [], 1, 1
        for below, above, cables in zip(self.below, self.above, self.cables, strict=True):
            counts.append(self.places // leaves * width * above * cables)
            leaves, width = leaves * below, width * above
        return counts

    def network_spec(self) -> str:
        return f"fattree:{joined(self.below)}" + changed_fields(
            ("up", joined(self.above), joined((1, *self.below[:-1]))),
            ("cables", joined(self.cables), joined("1" * len(self.cables))),
            ("nodes", self.nodes, self.places), ("route", self.rule, "dmodk"),
            ("bw", shortest(self.bandwidth), "1"),
        )  # fmt: skip

    def units_outside(self) -> tuple[tuple[Level, ...], tuple[Count, ...]]:
        tiers, counts, units = [], [], 1
        for level in range(len(self.below) - 1, 0, -1):
            size = math.prod(self.below[:level])
            name = "leaf" if level == 1 else f"switch{level}"
            tiers.append(Level(name, 2 * (level + 1) * self.hop_distance))
            counts.append(children_of(units, self.below[level], size, self.nodes))
            units = -(-self.nodes // size)
        counts.append(children_of(units, self.below[0], 1, self.nodes))
        return tuple(tiers), tuple(counts)

    def distance(self) -> TreeDistance:
        return self.topology.distance()

    @computed_once(16)
    def network(self) -> Network:
        below, above, cables, nodes = self.below, self.above, self.cables, self.nodes
        levels = range(len(below))
        # Nodes below a switch of each level, and switches of each level that have the same nodes below them.
        leaves = [math.prod(below[:level]) for level in range(len(below) + 1)]
        width = [math.prod(above[:level]) for level in range(len(below) + 1)]
        ports = [above[level] * cables[level] for level in levels]
        # Cables are numbered level by level; each consists of an up and a down link.
        counts = [leaves[-1] // leaves[level] * width[level] * ports[level] for level in levels]
        first = np.cumsum([0, *counts])
        capacity = np.zeros(2 * int(first[-1]), np.int64)  # 0 if no node is below the lower end of the cable
        for level in levels:
            present = -(-nodes // leaves[level]) * width[level] * ports[level]
            capacity[2 * first[level] : 2 * (first[level] + present)] = self.bandwidth[level]
        switches = sum(-(-nodes // leaves[i]) * width[i] for i in range(1, len(leaves)))

        def name_switch(level: int, group: int, column: int) -> str:
            if level == 0:
                return name_node(group)
            return f"leaf{group}" if level == 1 and width[1] == 1 else f"s{level}.{group}.{column}"

        def name_link(link: int) -> str:
            cable, down = divmod(link, 2)
            level = int(np.searchsorted(first, cable, side="right")) - 1
            rest, copy = divmod(cable - int(first[level]), cables[level])
            lower, parent = divmod(rest, above[level])
            group, column = divmod(lower, width[level])
            low = name_switch(level, group, column)
            high = name_switch(level + 1, group // below[level], column + width[level] * parent)
            ends = (high, low) if down else (low, high)
            return f"{ends[0]} -> {ends[1]}" + (f" #{copy}" if cables[level] > 1 else "")

        def wiring() -> Wiring:
            begin = np.cumsum([0] + [leaves[-1] // leaves[i] * width[i] for i in range(len(leaves))])
            ends = []
            for level in levels:
                cable = np.arange(counts[level], dtype=np.int64)
                lower, parent = np.divmod(cable // cables[level], above[level])
                group, column = np.divmod(lower, width[level])
                upper = group // below[level] * width[level + 1] + column + width[level] * parent
                ends.append(np.stack([begin[level] + lower, begin[level + 1] + upper], axis=1))
            up = np.concatenate(ends)
            return Wiring(up.reshape(-1), up[:, ::-1].reshape(-1), np.arange(nodes), int(begin[-1]))

        def geometry() -> Geometry:
            leaf = np.arange(nodes, dtype=np.int64) // below[0]
            if len(below) < 3:
                return Geometry(("switch",), leaf[None, :])
            return Geometry(("group", "switch"), np.stack(np.divmod(leaf, below[1])))

        numbers = [len(below), leaves[-1], RULES.index(self.rule), *below, *above, *cables]
        form = RouteForm("fat_tree", np.array(numbers, np.int64), split=self.rule == "spread")
        return Network(form, nodes, switches, capacity, name_link, name_node, wiring, geometry=geometry)
