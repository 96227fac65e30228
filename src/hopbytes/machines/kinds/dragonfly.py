"""Dragonflies: groups of fully linked routers, and links between all groups."""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.kernels.routes import RouteForm
from hopbytes.machines.base import Level, machines
from hopbytes.machines.kinds.tree import MAX_CORES, Tree, shorten
from hopbytes.machines.network.network import (
    MAX_LINKS,
    Geometry,
    Network,
    Wiring,
    from_nodes,
    name_link_of_node,
)
from hopbytes.machines.network.network_machine import Count, NetworkMachine, check_nodes
from hopbytes.machines.spec_fields import (
    bad,
    bandwidth_field,
    bandwidths_of,
    network_fields,
    number_of,
    sizes_of,
)

#: Arrangements of the links between groups, in the order of core/routing/hierarchy_routes.hpp.
ARRANGEMENTS = ("absolute", "palmtree")


class GroupedSwitches(NetworkMachine):
    """Groups of switches, nodes at switches, links between all groups.

    Subclasses are frozen dataclasses that have these fields beside those of a NetworkMachine.
    """

    __slots__ = ()
    kind: ClassVar[str]
    rules: ClassVar[tuple[str, ...]]
    n_groups: int  # groups, and nodes per switch that has nodes
    nodes: int
    #: links to other groups of every switch that has such links; 0: as few as reach every other group
    ports: int
    #: which port leads where: ``absolute`` (port p of group i leads to group p, or p + 1 from p = i on) or
    #: ``palmtree`` (to group i - p - 1). Further ports begin anew: several links between two groups.
    arrangement: str
    rule: str  # one of `rules`
    bandwidth: tuple[int, int, int]  # capacity of the links of nodes, inside groups, between groups

    @property
    @abstractmethod
    def switches(self) -> int:
        """Switches of a group that have nodes."""

    @property
    @abstractmethod
    def linked_switches(self) -> tuple[int, str]:
        """Switches of a group that have links to other groups: how many, and what they are called."""

    @property
    def fewest_ports(self) -> int:
        """Links to other groups that every such switch needs so that all groups are reached."""
        return max(1, -(-(self.n_groups - 1) // self.linked_switches[0]))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.n_groups * self.switches * self.nodes

    def node_distance(self) -> int:
        """Two nodes of one switch are two hops apart."""
        return 2 * self.hop_distance

    def split_nodes(self, nodes: Int64) -> list[Int64]:
        """Groups, then switches, then nodes."""
        for size in (self.switches * self.nodes, self.nodes, 1):
            cuts = np.flatnonzero(np.diff(nodes // size)) + 1
            if len(cuts):
                break
        return np.split(nodes, cuts)

    def _check_links(self) -> None:
        """Resolve the number of ports, and check the fields, for ``__post_init__``."""
        object.__setattr__(self, "ports", self.ports or self.fewest_ports)
        if self.ports < self.fewest_ports:
            number, name = self.linked_switches
            raise bad(
                f"{self.kind}: {number} {name} with {self.ports} global links each do not reach "
                f"{self.n_groups - 1} other groups, expected global={self.fewest_ports} or more"
            )
        if self.arrangement not in ARRANGEMENTS:
            what = f"links={shorten(self.arrangement)}, expected {' or '.join(ARRANGEMENTS)}"
            raise bad(f"{self.kind}: {what}")
        if self.rule not in self.rules:
            known = " or ".join(self.rules) if len(self.rules) == 2 else "one of " + ", ".join(self.rules)
            raise bad(f"{self.kind}: route={shorten(self.rule)}, expected {known}")
        check_nodes(self)

    def _link_fields(self) -> str:
        """Fields of the spec about links that differ from their defaults."""
        text = "" if self.ports == self.fewest_ports else f":global={self.ports}"
        if self.arrangement != ARRANGEMENTS[0]:
            text += f":links={self.arrangement}"
        if self.rule != self.rules[0]:
            text += f":route={self.rule}"
        return text + bandwidth_field(self.bandwidth)


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


#: Rules in the order of core/routing/hierarchy_routes.hpp.
RULES = ("minimal", "spread", "valiant")
KEYS = {
    "global": "1",
    "links": "absolute",
    "route": "minimal",
    "bw": "100 or 100x50x25 (nodes x local x global)",
}


@machines.register("dragonfly")
@frozen
class Dragonfly(GroupedSwitches):
    """Dragonfly of groups x routers x nodes; the routers of a group are all linked with each other.

    Parameters
    ----------
    n_groups, routers, nodes : int
        Groups, routers per group, nodes per router.
    ports : int
        Links to other groups per router (``global=``); by default as few as reach every other group.
    arrangement : str
        Which port leads where, see :class:`hopbytes.machines.kinds.dragonfly.GroupedSwitches`.
    rule : str
        ``minimal``: one link between groups, the nearest; of several nearest ones number (target mod their
        count). ``spread``: evenly over all nearest ones. ``valiant``: a flow between two groups takes one way
        through each of the other groups, in equal shares: by the nearest link into that group, and from where
        it arrives by the shortest way to the target; of equally short ones number (target mod their count).
        Its hops are the mean of these ways, more than distances say. With two groups, and inside a group,
        routes are minimal.
    bandwidth : tuple of three int
        Capacity of the links of nodes, inside groups, between groups.
    per_hop, inside
        See :class:`hopbytes.machines.network.network_machine.NetworkMachine`.

    Raises
    ------
    FormatError
        Too few ports to reach all groups, numbers out of range.

    Notes
    -----
    Source: Kim et al., "Technology-driven, highly-scalable dragonfly topology", ISCA 2008; arrangements as
    named by Hastings et al., "Comparing global link arrangements for dragonfly networks", CLUSTER 2015.

    Examples
    --------
    >>> from hopbytes.machines.kinds.dragonfly import Dragonfly
    >>> Dragonfly.parse("3x2x2").network().hops(0, [0, 1, 2, 4]).tolist()
    [0, 2, 3, 3]
    """

    kind: ClassVar[str] = "dragonfly"
    rules: ClassVar[tuple[str, ...]] = RULES
    n_groups: int
    routers: int
    nodes: int
    ports: int = 0
    arrangement: str = "absolute"
    rule: str = "minimal"
    bandwidth: tuple[int, int, int] = (1, 1, 1)
    per_hop: int | None = None
    inside: Tree | None = None

    def __post_init__(self) -> None:
        self._check_links()
        links = self.n_groups * self.routers * (2 * self.nodes + self.routers - 1 + self.ports)
        if self.n_nodes > MAX_CORES or links > MAX_LINKS:
            raise bad(f"dragonfly: {self.n_nodes} nodes and {links} links, expected fewer")

    @classmethod
    def parse(cls, text: str) -> Dragonfly:
        """Read ``GROUPSxROUTERSxNODES[:global=N][:links=absolute][:route=minimal][:bw=…][@perhop]``."""
        head, found, per_hop = network_fields("dragonfly", text, KEYS)
        sizes = sizes_of("dragonfly", head)
        if len(sizes) != 3:
            raise bad(f"dragonfly: {shorten(head)}, expected GROUPSxROUTERSxNODES like 9x4x2")
        ports = number_of("dragonfly", "global", found["global"], most=2**20) if "global" in found else 0
        expected = "one number or three: nodes, local, global"
        one, local, outside = bandwidths_of("dragonfly", found.get("bw", "1"), 3, expected)
        return cls(
            *sizes,
            ports,
            found.get("links", "absolute"),
            found.get("route", "minimal"),
            (one, local, outside),
            per_hop,
        )

    @property
    def switches(self) -> int:
        """Routers of a group."""
        return self.routers

    @property
    def linked_switches(self) -> tuple[int, str]:
        """All routers have links to other groups."""
        return self.routers, "routers"

    def network_spec(self) -> str:
        """``dragonfly:…`` with the keys that differ from their defaults."""
        return f"dragonfly:{self.n_groups}x{self.routers}x{self.nodes}{self._link_fields()}"

    def units_outside(self) -> tuple[tuple[Level, ...], tuple[Count, ...]]:
        """Groups and routers; their distances are the largest that minimal routes have."""
        tiers = (Level("group", 5 * self.hop_distance), Level("router", 3 * self.hop_distance))
        return tiers, (self.n_groups, self.routers, self.nodes)

    def network(self) -> Network:
        """Links of nodes, inside groups and between groups."""
        return _network(
            self.n_groups, self.routers, self.nodes, self.ports, self.arrangement, self.rule, self.bandwidth
        )


@lru_cache(maxsize=16)
def _network(
    groups: int,
    routers: int,
    nodes: int,
    ports: int,
    arrangement: str,
    rule: str,
    bandwidth: tuple[int, int, int],
) -> Network:
    total = groups * routers
    first_local = 2 * total * nodes
    first_global = first_local + total * (routers - 1)
    capacity = np.zeros(first_global + total * ports, np.int64)
    capacity[:first_local], capacity[first_local:first_global] = bandwidth[:2]
    peers, backs = peers_of_ports(groups, routers * ports, arrangement)
    capacity[first_global:] = np.where(backs.reshape(-1) >= 0, bandwidth[2], 0)

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
        tail, head = (np.concatenate([a, first + b, first + c]) for a, b, c in (
            (out, router, leaving), (back, near, far)
        ))
        return Wiring(tail, head, at, first + total)

    numbers = np.array(
        [groups, routers, nodes, ports, ARRANGEMENTS.index(arrangement), RULES.index(rule)], np.int64
    )
    split = rule == "spread" or (rule == "valiant" and groups > 2)
    return Network(
        RouteForm("dragonfly", numbers, split=split),
        total * nodes,
        total,
        capacity,
        "as given",
        name_link,
        lambda node: f"n{node}",
        wiring,
        shortest=rule != "valiant",
        geometry=lambda: geometry_of_groups(groups, routers, nodes),
    )
