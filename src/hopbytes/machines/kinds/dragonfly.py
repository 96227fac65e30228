"""Dragonflies: groups of fully linked routers, and links between all groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.kernels.routes import RouteForm
from hopbytes.machines.base import Level, machines
from hopbytes.machines.common.networked import Count, NetworkMachine, check_nodes
from hopbytes.machines.common.spec_fields import bad, joined, network_fields, number_of, sizes_of
from hopbytes.machines.common.tree import MAX_CORES, Tree, shorten
from hopbytes.machines.network.network import MAX_LINKS, Network, Wiring, from_nodes

#: Rules and arrangements in the order of core/routes_hierarchy.hpp.
RULES = ("minimal", "spread", "valiant")
ARRANGEMENTS = ("absolute", "palmtree")
KEYS = {
    "global": "1",
    "links": "absolute",
    "route": "minimal",
    "bw": "100 or 100x50x25 (nodes x local x global)",
}


@machines.register("dragonfly")
@dataclass(frozen=True, slots=True)
class Dragonfly(NetworkMachine):
    """Dragonfly of groups x routers x nodes; the routers of a group are all linked with each other.

    Parameters
    ----------
    n_groups, routers, nodes : int
        Groups, routers per group, nodes per router.
    ports : int
        Links to other groups per router (``global=``); by default as few as reach every other group.
    arrangement : str
        Which port leads where: ``absolute`` (port p of group i leads to group p, or p + 1 from p = i on) or
        ``palmtree`` (to group i - p - 1). Further ports begin anew: several links between two groups.
    rule : str
        ``minimal``: one link between groups, the nearest; of several nearest ones number (target mod their
        count). ``spread``: evenly over all nearest ones. ``valiant``: through every third group, evenly,
        so that routes are longer than distances say.
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
        fewest = -(-(self.n_groups - 1) // self.routers)
        object.__setattr__(self, "ports", self.ports or max(1, fewest))
        if self.ports < fewest:
            raise bad(
                f"dragonfly: {self.routers} routers with {self.ports} global links each do not reach "
                f"{self.n_groups - 1} other groups, expected global={fewest} or more"
            )
        if self.arrangement not in ARRANGEMENTS:
            raise bad(f"dragonfly: links={shorten(self.arrangement)}, expected {' or '.join(ARRANGEMENTS)}")
        if self.rule not in RULES:
            raise bad(f"dragonfly: route={shorten(self.rule)}, expected one of {', '.join(RULES)}")
        links = self.n_groups * self.routers * (2 * self.nodes + self.routers - 1 + self.ports)
        if self.n_nodes > MAX_CORES or links > MAX_LINKS:
            raise bad(f"dragonfly: {self.n_nodes} nodes and {links} links, expected fewer")
        check_nodes(self)

    @classmethod
    def parse(cls, text: str) -> Dragonfly:
        """Read ``GROUPSxROUTERSxNODES[:global=N][:links=absolute][:route=minimal][:bw=…][@perhop]``."""
        head, found, per_hop = network_fields("dragonfly", text, KEYS)
        sizes = sizes_of("dragonfly", head)
        if len(sizes) != 3:
            raise bad(f"dragonfly: {shorten(head)}, expected GROUPSxROUTERSxNODES like 9x4x2")
        ports = number_of("dragonfly", "global", found["global"], most=2**20) if "global" in found else 0
        words = found.get("bw", "1").split("x")
        if len(words) not in (1, 3):
            raise bad(
                f"dragonfly: bw={shorten(found['bw'])}, expected one number or three: nodes, local, global"
            )
        widths = [number_of("dragonfly", "bw", word) for word in words]
        return cls(
            *sizes,
            ports,
            found.get("links", "absolute"),
            found.get("route", "minimal"),
            (widths[0], widths[len(widths) // 2], widths[-1]),
            per_hop,
        )

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.n_groups * self.routers * self.nodes

    def network_spec(self) -> str:
        """``dragonfly:…`` with the keys that differ from their defaults."""
        text = f"dragonfly:{self.n_groups}x{self.routers}x{self.nodes}"
        if self.ports != max(1, -(-(self.n_groups - 1) // self.routers)):
            text += f":global={self.ports}"
        if self.arrangement != "absolute":
            text += f":links={self.arrangement}"
        if self.rule != "minimal":
            text += f":route={self.rule}"
        if self.bandwidth != (1, 1, 1):
            text += f":bw={self.bandwidth[0] if len(set(self.bandwidth)) == 1 else joined(self.bandwidth)}"
        return text

    def units_outside(self) -> tuple[tuple[Level, ...], tuple[Count, ...]]:
        """Groups and routers; their distances are the largest that minimal routes have."""
        tiers = (Level("group", 5 * self.hop_distance), Level("router", 3 * self.hop_distance))
        return tiers, (self.n_groups, self.routers, self.nodes)

    def node_distance(self) -> int:
        """Two nodes of one router are two hops apart."""
        return 2 * self.hop_distance

    def node_places(self) -> tuple[tuple[str, ...], Int64]:
        """Group of every node, and switch in the group."""
        switch = np.arange(self.n_nodes, dtype=np.int64) // self.nodes
        return ("group", "switch"), np.stack(np.divmod(switch, self.routers))

    def split_nodes(self, nodes: Int64) -> list[Int64]:
        """Groups, then routers, then nodes."""
        for size in (self.routers * self.nodes, self.nodes, 1):
            cuts = np.flatnonzero(np.diff(nodes // size)) + 1
            if len(cuts):
                break
        return np.split(nodes, cuts)

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

    def name_router(group: int, router: int) -> str:
        return f"r{group}.{router}"

    def name_link(link: int) -> str:
        if link < first_local:
            node, out = divmod(link, 2)
            ends = (f"n{node}", name_router(*divmod(node // nodes, routers)))
            return " -> ".join(reversed(ends) if out else ends)
        if link < first_global:
            router, port = divmod(link - first_local, routers - 1)
            group, own = divmod(router, routers)
            return f"{name_router(group, own)} -> {name_router(group, port + (port >= own))}"
        group, port = divmod(link - first_global, routers * ports)
        far = name_router(int(peers[group, port]), int(backs[group, port]) // ports)
        copy = port // (groups - 1)
        return f"{name_router(group, port // ports)} -> {far} (global" + (f" #{copy})" if copy else ")")

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
    )


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
