"""Dragonflies: groups of fully linked routers, and links between all groups."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.kernels.routes import RouteForm
from hopbytes.machines.base import Level, machines
from hopbytes.machines.network import (
    MAX_LINKS,
    MAX_TABLE,
    Geometry,
    Network,
    Wiring,
    from_nodes,
    name_link_of_node,
    name_node,
    spread_routes,
)
from hopbytes.machines.network_machine import NetworkMachine
from hopbytes.machines.spec_fields import NetworkSpec, changed_fields, check_choice, shortest
from hopbytes.machines.tree import MAX_CORES, Count, bad
from hopbytes.util.computed_once import computed_once

#: Arrangements of the links between groups, in the order of core/routing/hierarchy_routes.hpp.
ARRANGEMENTS = ("absolute", "palmtree")
#: Rules in the order of core/routing/hierarchy_routes.hpp.
RULES = ("minimal", "spread", "valiant")


@frozen
class GroupedSwitches(NetworkMachine):
    """Groups of switches, nodes at switches, links between all groups: dragonflies and dragonflies+."""

    node_hops: ClassVar[int] = 2
    kind: ClassVar[str]
    rules: ClassVar[tuple[str, ...]]
    keys: ClassVar[dict[str, str]]
    linked: ClassVar[str]  # what the switches with links to other groups are called
    unit: ClassVar[tuple[str, int]]  # name of the switches that have nodes, and hops between two of a group
    expected: ClassVar[tuple[str, str]]  # of specs: the sizes, and the sorts of links
    n_groups: int
    switches: int  # of a group, those that have nodes
    nodes: int  # per switch that has nodes
    #: links to other groups of every switch that has such (``global=``); 0: as few as reach every other group
    ports: int = 0
    #: which port leads where: ``absolute`` (port p of group i leads to group p, or p + 1 from p = i on) or
    #: ``palmtree`` (to group i - p - 1). Further ports begin anew: several links between two groups.
    arrangement: str = "absolute"
    rule: str = "minimal"  # one of `rules`
    bandwidth: tuple[int, ...] = (1, 1, 1)  # capacity of the links of nodes, inside groups, between groups
    spines: int = 0  # switches of a group above those with nodes, by default as many; none in a dragonfly

    @property
    def linked_switches(self) -> int:
        """Switches of a group that have links to other groups."""
        return self.spines or self.switches

    @property
    def fewest_ports(self) -> int:
        """Links to other groups that every such switch needs so that all groups are reached."""
        return max(1, -(-(self.n_groups - 1) // self.linked_switches))

    @property
    def n_nodes(self) -> int:
        return self.n_groups * self.switches * self.nodes

    def units_outside(self) -> tuple[tuple[Level, ...], tuple[Count, ...]]:
        name, hops = self.unit
        tiers = (Level("group", 5 * self.hop_distance), Level(name, hops * self.hop_distance))
        return tiers, (self.n_groups, self.switches, self.nodes)

    def split_nodes(self, nodes: Int64) -> list[Int64]:
        for size in (self.switches * self.nodes, self.nodes, 1):
            cuts = np.flatnonzero(np.diff(nodes // size)) + 1
            if len(cuts):
                break
        return np.split(nodes, cuts)

    def _check_links(self) -> None:
        object.__setattr__(self, "ports", self.ports or self.fewest_ports)
        if self.ports < self.fewest_ports:
            what = f"{self.linked_switches} {self.linked} with {self.ports} global links each do not reach"
            wanted = f"{self.n_groups - 1} other groups, expected global={self.fewest_ports} or more"
            raise bad(f"{self.kind}: {what} {wanted}")
        check_choice(f"{self.kind}: links", self.arrangement, ARRANGEMENTS)
        check_choice(f"{self.kind}: route", self.rule, self.rules)
        NetworkMachine.__post_init__(self)

    @classmethod
    def parse(cls, text: str) -> GroupedSwitches:
        spec = NetworkSpec(cls.kind, text, cls.keys)
        sizes, sorts = cls.expected
        groups, switches, nodes = spec.sizes(sizes)
        return cls(
            groups, switches, nodes, spec.number("global", 0, most=2**20), spec.word("links", "absolute"),
            spec.word("route", "minimal"), spec.bandwidth(3, f"one number or three: {sorts}"),
            per_hop=spec.per_hop, spines=spec.number("spines", 0, most=2**20),
        )

    def network_spec(self) -> str:
        return f"{self.kind}:{self.n_groups}x{self.switches}x{self.nodes}" + changed_fields(
            ("spines", self.linked_switches, self.switches), ("global", self.ports, self.fewest_ports),
            ("links", self.arrangement, ARRANGEMENTS[0]), ("route", self.rule, self.rules[0]),
            ("bw", shortest(self.bandwidth), "1"),
        )  # fmt: skip


@machines.register("dragonfly")
@frozen
class Dragonfly(GroupedSwitches):
    """Dragonfly of groups x routers x nodes; the routers of a group are all linked with each other.

    ``route=minimal``: one link between groups, the nearest; of several nearest ones number (target mod their
    count). ``spread``: evenly over all nearest ones. ``valiant``: a flow between two groups takes one way
    through each of the other groups, in equal shares: by the nearest link into that group, and from where
    it arrives by the shortest way to the target; of equally short ones number (target mod their count).
    Its hops are the mean of these ways, more than distances say. With two groups, and inside a group,
    routes are minimal.

    Source: Kim et al., "Technology-driven, highly-scalable dragonfly topology", ISCA 2008; arrangements as
    named by Hastings et al., "Comparing global link arrangements for dragonfly networks", CLUSTER 2015.

    >>> Dragonfly.parse("3x2x2").network().hops(0, [0, 1, 2, 4]).tolist()
    [0, 2, 3, 3]
    """

    kind: ClassVar[str] = "dragonfly"
    rules: ClassVar[tuple[str, ...]] = RULES
    keys: ClassVar[dict[str, str]] = {
        "global": "1", "links": "absolute", "route": "minimal",
        "bw": "100 or 100x50x25 (nodes x local x global)",
    }  # fmt: skip
    linked: ClassVar[str] = "routers"
    unit: ClassVar[tuple[str, int]] = ("router", 3)
    expected: ClassVar[tuple[str, str]] = ("GROUPSxROUTERSxNODES like 9x4x2", "nodes, local, global")

    def __post_init__(self) -> None:
        self._check_links()
        links = self.n_groups * self.switches * (2 * self.nodes + self.switches - 1 + self.ports)
        if self.n_nodes > MAX_CORES or links > MAX_LINKS:
            raise bad(f"dragonfly: {self.n_nodes} nodes and {links} links, expected fewer")

    @computed_once(16)
    def network(self) -> Network:
        groups, routers, nodes, ports = self.n_groups, self.switches, self.nodes, self.ports
        total = groups * routers
        first_local = 2 * total * nodes
        first_global = first_local + total * (routers - 1)
        capacity = np.zeros(first_global + total * ports, np.int64)
        capacity[:first_local], capacity[first_local:first_global] = self.bandwidth[:2]
        peers, backs = peers_of_ports(groups, routers * ports, self.arrangement)
        capacity[first_global:] = np.where(backs.reshape(-1) >= 0, self.bandwidth[2], 0)

        def name_router(router: int) -> str:
            return f"r{router // routers}.{router % routers}"

        def name_link(link: int) -> str:
            if link < first_local:
                return name_link_of_node(link, nodes, name_router)
            if link < first_global:
                router, port = divmod(link - first_local, routers - 1)
                own = router % routers
                return f"{name_router(router)} -> {name_router(router - own + port + (port >= own))}"
            group, port = divmod(link - first_global, routers * ports)
            far = name_router(int(peers[group, port]) * routers + int(backs[group, port]) // ports)
            copy = port // (groups - 1)
            near = name_router(group * routers + port // ports)
            return f"{near} -> {far} (global" + (f" #{copy})" if copy else ")")

        def wiring() -> Wiring:
            out, back, at = from_nodes(total * nodes, nodes)
            router, port = np.divmod(np.arange(total * (routers - 1)), max(1, routers - 1))
            own = router % routers
            near = router - own + port + (port >= own)
            leaving = np.repeat(np.arange(total), ports)
            far = (peers * routers + np.maximum(backs, 0) // ports).reshape(-1)
            first = total * nodes  # vertex of the first router
            tail = np.concatenate([out, first + router, first + leaving])
            head = np.concatenate([back, first + near, first + far])
            return Wiring(tail, head, at, first + total)

        choices = ARRANGEMENTS.index(self.arrangement), RULES.index(self.rule)
        split = self.rule == "spread" or (self.rule == "valiant" and groups > 2)
        numbers = np.array([groups, routers, nodes, ports, *choices], np.int64)
        return Network(
            RouteForm("dragonfly", numbers, split=split), total * nodes, total, capacity,
            name_link, name_node, wiring, shortest=self.rule != "valiant",
            geometry=lambda: geometry_of_groups(groups, routers, nodes),
        )


def geometry_of_groups(groups: int, switches: int, nodes: int) -> Geometry:
    """Return the group of every node, and its switch counted in the group."""
    switch = np.arange(groups * switches * nodes, dtype=np.int64) // nodes
    return Geometry(("group", "switch"), np.stack(np.divmod(switch, switches)))


def peers_of_ports(groups: int, ports: int, arrangement: str) -> tuple[Int64, Int64]:
    """int64[groups, ports]: group at the far end of each port, and its port there (-1: no link)."""
    group, port = np.meshgrid(np.arange(groups), np.arange(ports), indexing="ij")
    if groups == 1:
        return np.zeros_like(group), np.full_like(group, -1)
    copy, turn = np.divmod(port, groups - 1)
    if arrangement == "absolute":
        peer = turn + (turn >= group)
        back = copy * (groups - 1) + group - (group > peer)
    else:
        peer = (group - turn - 1) % groups
        back = copy * (groups - 1) + (peer - group) % groups - 1
    return peer, np.where(back < ports, back, -1)


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
    rules: ClassVar[tuple[str, ...]] = RULES[:2]
    keys: ClassVar[dict[str, str]] = {
        "spines": "8", "global": "1", "links": "absolute", "route": "minimal",
        "bw": "100 or 100x50x25 (nodes x leaf to spine x global)",
    }  # fmt: skip
    linked: ClassVar[str] = "spines"
    unit: ClassVar[tuple[str, int]] = ("leaf", 4)
    expected: ClassVar[tuple[str, str]] = ("GROUPSxLEAVESxNODES like 4x8x16", "nodes, leaf to spine, global")

    def __post_init__(self) -> None:
        object.__setattr__(self, "spines", self.spines or self.switches)
        self._check_links()
        switches = self.n_groups * (self.switches + self.spines)
        links = self.n_groups * self.spines * (2 * self.switches + self.ports)
        if (switches + self.n_nodes) * self.n_nodes + links > MAX_TABLE:
            what = f"dragonfly+: {switches} switches for {self.n_nodes} nodes"
            raise bad(f"{what}, expected tables of at most {MAX_TABLE} entries")

    @computed_once(16)
    def network(self) -> Network:
        groups, leaves, nodes = self.n_groups, self.switches, self.nodes
        spines, ports = self.spines, self.ports
        total, first_leaf = groups * leaves * nodes, groups * leaves * nodes
        first_spine = first_leaf + groups * leaves
        vertices = first_spine + groups * spines
        leaf, spine = np.divmod(np.arange(groups * leaves * spines), spines)
        spine = spine + leaf // leaves * spines
        node = np.arange(total)
        # Links are numbered: up and down of each cable of a node, then of a leaf; then links between spines.
        below = np.concatenate([node, first_leaf + leaf])
        above = np.concatenate([first_leaf + node // nodes, first_spine + spine])
        peers, backs = peers_of_ports(groups, spines * ports, self.arrangement)
        group, port = np.nonzero(backs >= 0)
        far = peers[group, port] * spines + backs[group, port] // ports
        leaving = first_spine + group * spines + port // ports
        tail = np.concatenate([np.column_stack([below, above]).reshape(-1), leaving])
        head = np.concatenate([np.column_stack([above, below]).reshape(-1), first_spine + far])
        head = head.astype(np.int32)
        widths = np.repeat(np.array(self.bandwidth, np.int64), [2 * total, 2 * len(leaf), len(group)])
        if self.rule == "spread":
            rows = np.maximum(np.arange(vertices) - total, -1).astype(np.int32)
            form = spread_routes(tail.astype(np.int32), head, rows, total)
        else:
            first = np.concatenate([-2 - 2 * node, np.arange(vertices - total)]).astype(np.int32)
            table = self._forward(peers, backs).reshape(-1)
            numbers = np.array([total, vertices, len(tail)], np.int64)
            form = RouteForm("forwarding", numbers, table, first, head)

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
            form, total, vertices - total, widths, name_link, name_node, wiring,
            geometry=lambda: geometry_of_groups(groups, leaves, nodes),
        )

    def _forward(self, peers: Int64, backs: Int64) -> Int32:
        """int32[switches, nodes]: link by which each leaf, then each spine, sends to each node."""
        groups, leaves, nodes = self.n_groups, self.switches, self.nodes
        spines, ports = self.spines, self.ports
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
