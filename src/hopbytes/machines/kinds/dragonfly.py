"""Dragonflies: groups of fully linked routers, and links between all groups."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.kernels.routes import RouteForm
from hopbytes.machines.base import machines
from hopbytes.machines.common.grouped_switches import (
    ARRANGEMENTS,
    GroupedSwitches,
    geometry_of_groups,
    peers_of_ports,
)
from hopbytes.machines.common.networked import Count
from hopbytes.machines.common.spec_fields import bad, bandwidths_of, network_fields, number_of, sizes_of
from hopbytes.machines.common.tree import MAX_CORES, Tree, shorten
from hopbytes.machines.network.network import MAX_LINKS, Network
from hopbytes.machines.network.wiring import Wiring, from_nodes, name_link_of_node
from hopbytes.machines.topology import Level

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
        Which port leads where, see :class:`hopbytes.machines.common.grouped_switches.GroupedSwitches`.
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
        See :class:`hopbytes.machines.common.networked.NetworkMachine`.

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
