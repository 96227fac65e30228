"""Dragonfly+: groups of leaf and spine switches, and links between the spines of all groups."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.kernels.routes import RouteForm
from hopbytes.machines.base import Level, machines
from hopbytes.machines.kinds.dragonfly import GroupedSwitches, geometry_of_groups, peers_of_ports
from hopbytes.machines.network import MAX_TABLE, Network, Wiring, name_node, spread_routes
from hopbytes.machines.network_machine import Count
from hopbytes.machines.spec_fields import (
    bad,
    bandwidths_of,
    changed_fields,
    network_fields,
    number_of,
    sizes_of,
)
from hopbytes.machines.tree import Tree, shorten

RULES = ("minimal", "spread")
KEYS = {
    "spines": "8", "global": "1", "links": "absolute", "route": "minimal",
    "bw": "100 or 100x50x25 (nodes x leaf to spine x global)",
}  # fmt: skip


@machines.register("dragonfly_plus")
@frozen
class DragonflyPlus(GroupedSwitches):
    """Groups x leaf switches x nodes, ``dragonfly+:4x8x16:spines=8``.

    Every leaf has a link to every spine of its group, and spines have links to those of other groups.
    ``route=minimal``: one path, by the number of the target: spine (target mod spines) inside a group, link
    (target mod their count) between two groups. ``spread``: every switch divides flows evenly over the links
    that lead nearer. Source: Shpiner et al., "Dragonfly+: low cost topology for scaling datacenters", 2017.

    >>> DragonflyPlus.parse("3x2x2").network().hops(0, [0, 1, 2, 4]).tolist()
    [0, 2, 4, 5]
    """

    kind: ClassVar[str] = "dragonfly+"
    rules: ClassVar[tuple[str, ...]] = RULES
    linked: ClassVar[str] = "spines"
    n_groups: int
    leaves: int  # leaf switches per group
    nodes: int
    spines: int = 0  # spine switches per group; by default as many as leaves
    ports: int = 0
    arrangement: str = "absolute"
    rule: str = "minimal"
    bandwidth: tuple[int, int, int] = (1, 1, 1)
    per_hop: int | None = None
    inside: Tree | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "spines", self.spines or self.leaves)
        self._check_links()
        switches = self.n_groups * (self.leaves + self.spines)
        links = self.n_groups * self.spines * (2 * self.leaves + self.ports)
        if (switches + self.n_nodes) * self.n_nodes + links > MAX_TABLE:
            raise bad(
                f"dragonfly+: {switches} switches for {self.n_nodes} nodes, expected tables of at most "
                f"{MAX_TABLE} entries"
            )

    @classmethod
    def parse(cls, text: str) -> DragonflyPlus:
        """Read ``GROUPSxLEAVESxNODES[:spines=N][:global=N][:links=…][:route=…][:bw=…][@perhop]``."""
        head, found, per_hop = network_fields("dragonfly+", text, KEYS)
        sizes = sizes_of("dragonfly+", head)
        if len(sizes) != 3:
            raise bad(f"dragonfly+: {shorten(head)}, expected GROUPSxLEAVESxNODES like 4x8x16")
        spines, ports = (
            number_of("dragonfly+", key, found[key], most=2**20) if key in found else 0
            for key in ("spines", "global")
        )
        expected = "one number or three: nodes, leaf to spine, global"
        one, local, outside = bandwidths_of("dragonfly+", found.get("bw", "1"), 3, expected)
        return cls(
            *sizes, spines, ports, found.get("links", "absolute"), found.get("route", "minimal"),
            (one, local, outside), per_hop,
        )

    @property
    def switches(self) -> int:
        """Leaf switches of a group."""
        return self.leaves

    @property
    def linked_switches(self) -> int:
        """Only spines have links to other groups."""
        return self.spines

    def network_spec(self) -> str:
        """``dragonfly+:…`` with the keys that differ from their defaults."""
        spines = changed_fields(("spines", self.spines, self.leaves))
        return f"dragonfly+:{self.n_groups}x{self.leaves}x{self.nodes}{spines}{self._link_fields()}"

    def units_outside(self) -> tuple[tuple[Level, ...], tuple[Count, ...]]:
        """Groups and leaf switches; their distances are the largest that minimal routes have."""
        tiers = (Level("group", 5 * self.hop_distance), Level("leaf", 4 * self.hop_distance))
        return tiers, (self.n_groups, self.leaves, self.nodes)

    def network(self) -> Network:
        """Links of nodes, inside groups and between groups."""
        sizes = (self.n_groups, self.leaves, self.spines, self.nodes, self.ports)
        return _network(sizes, self.arrangement, self.rule, self.bandwidth)


@lru_cache(maxsize=16)
def _network(
    sizes: tuple[int, int, int, int, int], arrangement: str, rule: str, bandwidth: tuple[int, int, int]
) -> Network:
    groups, leaves, spines, nodes, ports = sizes
    total, first_leaf = groups * leaves * nodes, groups * leaves * nodes
    first_spine = first_leaf + groups * leaves
    vertices = first_spine + groups * spines
    leaf, spine = np.arange(groups * leaves * spines) // spines, np.arange(groups * leaves * spines) % spines
    spine = spine + leaf // leaves * spines
    node = np.arange(total)
    # Links are numbered: up and down of each cable of a node, then of a leaf; then links between spines.
    below = np.concatenate([node, first_leaf + leaf])
    above = np.concatenate([first_leaf + node // nodes, first_spine + spine])
    peers, backs = peers_of_ports(groups, spines * ports, arrangement)
    group, port = np.nonzero(backs >= 0)
    far = peers[group, port] * spines + backs[group, port] // ports
    leaving = first_spine + group * spines + port // ports
    tail = np.concatenate([np.column_stack([below, above]).reshape(-1), leaving])
    head = np.concatenate([np.column_stack([above, below]).reshape(-1), first_spine + far]).astype(np.int32)
    widths = np.repeat(np.array(bandwidth, np.int64), [2 * total, 2 * len(leaf), len(group)])
    if rule == "spread":
        rows = np.maximum(np.arange(vertices) - total, -1).astype(np.int32)
        form = spread_routes(tail.astype(np.int32), head, rows, total)
    else:
        first = np.concatenate([-2 - 2 * node, np.arange(vertices - total)]).astype(np.int32)
        table = _forward(sizes, peers, backs).reshape(-1)
        form = RouteForm("forwarding", np.array([total, vertices, len(tail)], np.int64), table, first, head)

    def name_vertex(vertex: int) -> str:
        if vertex < total:
            return name_node(vertex)
        of_spine = vertex >= first_spine
        first, per = (first_spine, spines) if of_spine else (first_leaf, leaves)
        group, rank = divmod(vertex - first, per)
        return f"{'s' if of_spine else 'l'}{group}.{rank}"

    copies = np.zeros(len(tail), np.int64)
    copies[-len(group) or len(tail) :] = port // (groups - 1) if groups > 1 else 0

    def name_link(link: int) -> str:
        copy = f" #{copies[link]}" if copies[link] else ""
        return f"{name_vertex(int(tail[link]))} -> {name_vertex(int(head[link]))}{copy}"

    def wiring() -> Wiring:
        return Wiring(tail.astype(np.int64), head.astype(np.int64), np.arange(total), vertices)

    return Network(
        form, total, vertices - total, widths, "as given", name_link, name_node, wiring,
        geometry=lambda: geometry_of_groups(groups, leaves, nodes),
    )


def _forward(sizes: tuple[int, int, int, int, int], peers: Int64, backs: Int64) -> Int32:
    """int32[switches, nodes]: link by which each leaf, then each spine, sends to each node."""
    groups, leaves, spines, nodes, ports = sizes
    total = groups * leaves * nodes
    target = np.arange(total)
    its_leaf, its_group = target // nodes, target // (leaves * nodes)
    up = 2 * total + 2 * np.arange(groups * leaves * spines).reshape(groups, leaves, spines)
    number = np.full(backs.shape, -1, np.int64)  # of the links between groups
    number[backs >= 0] = 2 * total + 2 * groups * leaves * spines + np.arange(int((backs >= 0).sum()))
    table = np.full((groups * (leaves + spines), total), -1, np.int32)
    for group in range(groups):
        port = np.zeros(total, np.int64)  # port by which messages to each node leave this group
        for other in range(groups):
            ports_there = np.flatnonzero((peers[group] == other) & (backs[group] >= 0))
            if other != group:
                port[its_group == other] = ports_there[target[its_group == other] % len(ports_there)]
        away = its_group != group
        spine = np.where(away, port // ports, target % spines)
        for leaf in range(leaves):
            row = table[group * leaves + leaf]
            row[:] = up[group, leaf, spine]
            mine = its_leaf == group * leaves + leaf
            row[mine] = 2 * target[mine] + 1
        for number_of_spine in range(spines):
            row = table[groups * leaves + group * spines + number_of_spine]
            here = np.flatnonzero(~away)
            row[here] = up[group, its_leaf[here] % leaves, number_of_spine] + 1
            there = np.flatnonzero(away & (spine == number_of_spine))
            row[there] = number[group, port[there]]
    return table
