"""Clusters of GPUs with rails: GPU number r of every host has its network adapter on leaf switch r."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.kernels.routes import NO_ROUTE, RouteForm
from hopbytes.machines.base import GPU_NAMES, Level, NetworkUse, machines
from hopbytes.machines.distances import RailDistance, RailUnits
from hopbytes.machines.network import MAX_TABLE, Network, Wiring
from hopbytes.machines.network_machine import NetworkHierarchy, NetworkMachine, children_of, distance_inside
from hopbytes.machines.spec_fields import NetworkSpec, changed_fields, check_choice, joined
from hopbytes.machines.tree import MAX_CORES, Count, Tree, bad, shorten
from hopbytes.util.computed_once import computed_once

RULES = ("spines", "pxn")
KEYS = {"domain": "18", "pod": "32", "spines": "16", "route": "spines or pxn", "bw": "450x50x50"}
#: Capacity of the links of NVLink, of a GPU's network adapter, and between leaf and spine switches.
BANDWIDTH = (9, 1, 1)
#: Hosts that share leaf switches, unless the spec says otherwise.
POD = 32


def _usual_pod(hosts: int, domain: int) -> int:
    most = hosts + -hosts % domain
    return min(most, domain * max(1, POD // domain))


@machines.register("rails")
@frozen
class Rails(NetworkHierarchy):
    """Hosts x rails, ``rails:32x8``: every host has a GPU and a network adapter on each rail.

    GPUs of one NVLink domain have the distance of the level ``gpu`` (1), GPUs of one leaf switch are two hops
    apart, others four. ``route=spines``: messages between rails go through a spine switch, number (target mod
    spines). ``pxn``: they change the rail inside the NVLink domain of the source, as NCCL's PXN does; a
    message between rails of one pod then takes a hop inside the domain and two hops outside. Every host is
    a node, and every GPU an endpoint of the network. Sources: NVIDIA DGX SuperPOD reference architecture
    (rail-optimised compute fabric); NVIDIA blog "Doubling all2all Performance with NCCL 2.12" (PXN); Wang
    et al., "Rail-only", HOTI 2024 (no spines).

    >>> machine = Rails.parse("4x2:pod=2")
    >>> machine.distance().matrix()[0].tolist()
    [0, 1, 20, 40, 40, 40, 40, 40]
    >>> machine.network().hops(0, range(8)).tolist()
    [0, 2, 2, 4, 4, 4, 4, 4]
    """

    gpus_inside: ClassVar[bool] = True
    hosts: int
    rails: int  # GPUs per host; adapter r of a host is connected to leaf switch r of its pod
    domain: int  # hosts of an NVLink domain: 1 where NVLink ends at the host, 18 for racks of NVL72
    #: hosts that share the same leaf switches, a multiple of `domain`; by default the largest multiple up to
    #: 32, or one domain
    pod: int
    #: spine switches, each with a link to every leaf switch; by default `pod`, which is full bisection
    #: bandwidth with links of equal capacity. Half as many are an oversubscription of 2:1; 0 are none.
    spines: int
    rule: str
    bandwidth: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.domain > self.hosts:
            raise bad(f"rails: domain={self.domain}, expected at most the {self.hosts} hosts")
        if self.pod % self.domain:
            raise bad(f"rails: pod={self.pod}, expected a multiple of domain={self.domain}")
        check_choice("rails: route", self.rule, RULES)
        if not self.spines and (self.rule != "pxn" or self.pod < self.hosts):
            raise bad("rails: spines=0, expected route=pxn and a single pod, or spine switches")
        gpus, domains, leaves, spines = self._counts()
        if (gpus + domains + leaves + spines) * gpus > MAX_TABLE:
            raise bad(f"rails: {gpus} GPUs, expected tables of at most {MAX_TABLE} entries")
        if self.inside is not None:
            name, count = self.inside.tiers[0].name, self.inside.children[0]
            if name not in GPU_NAMES or count != self.rails:
                found = shorten(f"{name}:{count if isinstance(count, int) else list(count)}")
                raise bad(f"rails: {found} inside a host, expected gpu:{self.rails} first, one GPU per rail")
        NetworkMachine.__post_init__(self)
        if 6 * self.hop_distance >= NO_ROUTE:
            raise bad(f"rails: distance {self.hop_distance} per hop, expected less than {NO_ROUTE // 6}")

    @classmethod
    def parse(cls, text: str) -> Rails:
        spec = NetworkSpec("rails", text, KEYS)
        hosts, rails = spec.sizes("HOSTSxRAILS like 32x8")
        domain = spec.number("domain", 1, most=MAX_CORES)
        pod = spec.number("pod", _usual_pod(hosts, domain), most=MAX_CORES)
        spines = spec.number("spines", min(pod, hosts), 0, MAX_CORES)
        known = spec.bandwidth(3, "one number or three: NVLink, adapter, leaf to spine")
        bandwidth = known if "bw" in spec.found else BANDWIDTH
        rule = spec.word("route", "spines")
        return cls(hosts, rails, domain, pod, spines, rule, bandwidth, per_hop=spec.per_hop)

    def _counts(self) -> tuple[int, int, int, int]:
        """Return the numbers of GPUs, NVLink domains, leaf switches (one per rail and pod), spines."""
        domains, pods = -(-self.hosts // self.domain), -(-self.hosts // self.pod)
        return self.hosts * self.rails, domains, pods * self.rails, self.spines

    def _domain_leaf_rail(self) -> tuple[Int32, Int32, Int32]:
        """int32[GPUs] each: the NVLink domain, the leaf switch and the rail of every GPU."""
        host, rail = np.divmod(np.arange(self.hosts * self.rails), self.rails)
        leaf = host // self.pod * self.rails + rail
        return (host // self.domain).astype(np.int32), leaf.astype(np.int32), rail.astype(np.int32)

    @property
    def n_nodes(self) -> int:
        return self.hosts

    @property
    def levels_inside(self) -> Tree:
        return self.inside or Tree((Level("gpu", 1),), (self.rails,))

    def network_spec(self) -> str:
        return f"rails:{self.hosts}x{self.rails}" + changed_fields(
            ("domain", self.domain, 1), ("pod", self.pod, _usual_pod(self.hosts, self.domain)),
            ("spines", self.spines, min(self.pod, self.hosts)), ("route", self.rule, "spines"),
            ("bw", joined(self.bandwidth), joined(BANDWIDTH)),
        )  # fmt: skip

    def units_outside(self) -> tuple[tuple[Level, ...], tuple[Count, ...]]:
        tiers: list[Level] = []
        counts: list[Count] = []
        units, size = 1, self.hosts
        for name, hosts in (("pod", self.pod), ("domain", self.domain)):
            if 1 < hosts < size and not (name == "pod" and hosts == self.domain):
                hops = 4 if size > self.pod else 2
                tiers.append(Level(name, hops * self.hop_distance))
                counts.append(children_of(units, -(-size // hosts), hosts, self.hosts))
                units, size = -(-self.hosts // hosts), hosts
        return tuple(tiers), (*counts, children_of(units, size, 1, self.hosts))

    def node_distance(self) -> int:
        if self.domain > 1:
            return self.levels_inside.tiers[0].distance
        return (2 if self.pod > 1 else 4) * self.hop_distance

    @computed_once(16)
    def distance(self) -> RailDistance:
        lowered, bits = distance_inside(self)
        hop, near = self.hop_distance, self.levels_inside.tiers[0].distance
        domain, leaf, rail = self._domain_leaf_rail()
        pod = (np.arange(len(rail)) // (self.rails * self.pod)).astype(np.int32)
        detour = 2 * hop + near if self.rule == "pxn" else None
        units = RailUnits(domain, leaf, rail, pod, near, 2 * hop, 4 * hop, detour)
        ends = self.network_use.endpoint_of_core()
        return RailDistance(self.network(), lowered.labels, lowered.bit_costs, bits, ends, 1, units=units)

    @computed_once(16)
    def network(self) -> Network:
        # Links are numbered: GPU to NVLink switch, back, GPU to leaf, back, then leaf to spine and back. The
        # table has a row per GPU and switch: O(GPUs x (GPUs + switches)).
        rails = self.rails
        gpus, domains, leaves, spines = self._counts()
        vertices = gpus + domains + leaves + spines
        domain, leaf, _ = self._domain_leaf_rail()
        gpu = np.arange(gpus)
        nvswitch, leaf_vertex = gpus + domain.astype(np.int64), gpus + domains + leaf.astype(np.int64)
        low = gpus + domains + np.repeat(np.arange(leaves), spines)
        high = gpus + domains + leaves + np.tile(np.arange(spines), leaves)
        tail = np.concatenate([gpu, nvswitch, gpu, leaf_vertex, low, high])
        head = np.concatenate([nvswitch, gpu, leaf_vertex, gpu, high, low]).astype(np.int32)
        capacity = np.repeat(np.array(self.bandwidth, np.int64), [2 * gpus, 2 * gpus, 2 * leaves * spines])
        numbers = np.array([gpus, vertices, len(tail)], np.int64)
        table, rows = self._forward().reshape(-1), np.arange(vertices, dtype=np.int32)

        def name_vertex(vertex: int) -> str:
            if vertex < gpus:
                return f"n{vertex // rails}.gpu{vertex % rails}"
            if vertex < gpus + domains:
                return f"nvswitch{vertex - gpus}"
            if vertex < gpus + domains + leaves:
                pod, rail = divmod(vertex - gpus - domains, rails)
                return f"leaf{pod}.{rail}"
            return f"spine{vertex - gpus - domains - leaves}"

        return Network(
            RouteForm("forwarding", numbers, table, rows, head), gpus, vertices - gpus, capacity,
            lambda link: f"{name_vertex(int(tail[link]))} -> {name_vertex(int(head[link]))}", name_vertex,
            lambda: Wiring(tail.astype(np.int64), head.astype(np.int64), gpu, vertices),
            shortest=self.rule == "spines",
        )

    @property
    def network_use(self) -> NetworkUse:
        return NetworkUse(lambda: self.ancestors(self.node_level + 1))

    def _forward(self) -> Int32:
        """int32[vertices, GPUs]: the link by which every GPU and switch sends to every GPU."""
        gpus, domains, leaves, spines = self._counts()
        domain, leaf, rail = self._domain_leaf_rail()
        target = np.arange(gpus, dtype=np.int64)
        up_nvlink, down_nvlink, up_leaf, down_leaf = (number * gpus + target for number in range(4))
        up_spine = 4 * gpus + np.arange(leaves * spines).reshape(leaves, spines)
        table = np.empty((gpus + domains + leaves + spines, gpus), np.int32)
        # A GPU sends to its domain through the NVLink switch, elsewhere by its own rail.
        for source in range(gpus):
            by_nvlink = domain == domain[source]
            if self.rule == "pxn":
                by_nvlink = by_nvlink | (rail != rail[source])
            table[source] = np.where(by_nvlink, up_nvlink[source], up_leaf[source])
        for number in range(domains):
            first = number * self.domain
            # A message that leaves the domain goes to the GPU on the rail of its target (PXN).
            hosts = min(self.domain, self.hosts - first)
            relay: Int64 = (first + target // self.rails % hosts) * self.rails + rail
            table[gpus + number] = down_nvlink[np.where(domain == number, target, relay)]
        chosen = target % max(1, spines)
        for number in range(leaves):
            upwards = up_spine[number, chosen] if spines else np.full(gpus, -1, np.int64)
            table[gpus + domains + number] = np.where(leaf == number, down_leaf, upwards)
        for number in range(spines):
            table[gpus + domains + leaves + number] = leaves * spines + up_spine[leaf, number]
        return table
