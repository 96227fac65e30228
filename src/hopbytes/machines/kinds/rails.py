"""Clusters of GPUs with rails: GPU number r of every host has its network adapter on leaf switch r."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.kernels.routes import NO_ROUTE, RouteForm
from hopbytes.machines.base import GPU_NAMES, NODE_NAMES, Level, Machine, NetworkUse, machines
from hopbytes.machines.distances import RailDistance, RailUnits
from hopbytes.machines.kinds.tree import MAX_CORES, Tree, shorten
from hopbytes.machines.network.network import Network, Wiring
from hopbytes.machines.network.network_machine import Count, NetworkHierarchy, check_nodes
from hopbytes.machines.spec_fields import (
    bad,
    bandwidths_of,
    joined,
    network_fields,
    number_of,
    sizes_of,
)
from hopbytes.util.computed_once import computed_once


class RailSizes(NamedTuple):
    """Sizes of a rail-optimised network: hosts, rails, hosts of a domain and of a pod, spine switches."""

    hosts: int
    rails: int
    domain: int
    pod: int
    spines: int

    @property
    def gpus(self) -> int:
        """Number of GPUs."""
        return self.hosts * self.rails

    @property
    def domains(self) -> int:
        """Number of NVLink domains."""
        return -(-self.hosts // self.domain)

    @property
    def leaves(self) -> int:
        """Number of leaf switches: one per rail and pod."""
        return -(-self.hosts // self.pod) * self.rails

    @property
    def vertices(self) -> int:
        """Number of GPUs and switches."""
        return self.gpus + self.domains + self.leaves + self.spines

    @property
    def links(self) -> int:
        """Number of directed links."""
        return 4 * self.gpus + 2 * self.leaves * self.spines

    @property
    def table_entries(self) -> int:
        """Entries of the table of routes."""
        return self.vertices * self.gpus


def domain_leaf_rail(sizes: RailSizes) -> tuple[Int32, Int32, Int32]:
    """int32[GPUs] each: the NVLink domain, the leaf switch and the rail of every GPU."""
    gpu = np.arange(sizes.gpus)
    host, rail = gpu // sizes.rails, gpu % sizes.rails
    leaf = host // sizes.pod * sizes.rails + rail
    return (host // sizes.domain).astype(np.int32), leaf.astype(np.int32), rail.astype(np.int32)


@lru_cache(maxsize=16)
def rail_network(sizes: RailSizes, bandwidth: tuple[int, int, int], rule: str) -> Network:
    """Return the network with its routes.

    Links are numbered: GPU to NVLink switch, back, GPU to leaf, back, then leaf to spine and back. The
    table has a row per GPU and switch: O(GPUs x (GPUs + switches)).
    """
    gpus, domains, leaves, spines = sizes.gpus, sizes.domains, sizes.leaves, sizes.spines
    domain, leaf, _ = domain_leaf_rail(sizes)
    gpu = np.arange(gpus)
    nvswitch, leaf_vertex = gpus + domain.astype(np.int64), gpus + domains + leaf.astype(np.int64)
    low = gpus + domains + np.repeat(np.arange(leaves), spines)
    high = gpus + domains + leaves + np.tile(np.arange(spines), leaves)
    tail = np.concatenate([gpu, nvswitch, gpu, leaf_vertex, low, high])
    head = np.concatenate([nvswitch, gpu, leaf_vertex, gpu, high, low]).astype(np.int32)
    capacity = np.repeat(np.array(bandwidth, np.int64), [2 * gpus, 2 * gpus, 2 * leaves * spines])
    form = RouteForm(
        "forwarding", np.array([gpus, sizes.vertices, len(tail)], np.int64),
        _forward(sizes, rule).reshape(-1), np.arange(sizes.vertices, dtype=np.int32), head,
    )

    def name_vertex(vertex: int) -> str:
        if vertex < gpus:
            return f"n{vertex // sizes.rails}.gpu{vertex % sizes.rails}"
        if vertex < gpus + domains:
            return f"nvswitch{vertex - gpus}"
        if vertex < gpus + domains + leaves:
            pod, rail = divmod(vertex - gpus - domains, sizes.rails)
            return f"leaf{pod}.{rail}"
        return f"spine{vertex - gpus - domains - leaves}"

    def name_link(link: int) -> str:
        return f"{name_vertex(int(tail[link]))} -> {name_vertex(int(head[link]))}"

    def wiring() -> Wiring:
        return Wiring(tail.astype(np.int64), head.astype(np.int64), gpu, sizes.vertices)

    return Network(
        form, gpus, sizes.vertices - gpus, capacity, "as given", name_link, name_vertex, wiring,
        shortest=rule == "spines",
    )


def _forward(sizes: RailSizes, rule: str) -> Int32:
    """int32[vertices, GPUs]: the link by which every GPU and switch sends to every GPU."""
    gpus, domains, leaves, spines = sizes.gpus, sizes.domains, sizes.leaves, sizes.spines
    domain, leaf, rail = domain_leaf_rail(sizes)
    target = np.arange(gpus, dtype=np.int64)
    up_nvlink, down_nvlink, up_leaf, down_leaf = (number * gpus + target for number in range(4))
    up_spine = 4 * gpus + np.arange(leaves * spines).reshape(leaves, spines)
    table = np.empty((sizes.vertices, gpus), np.int32)
    # A GPU sends to its domain through the NVLink switch, elsewhere by its own rail.
    for source in range(gpus):
        by_nvlink = domain == domain[source]
        if rule == "pxn":
            by_nvlink = by_nvlink | (rail != rail[source])
        table[source] = np.where(by_nvlink, up_nvlink[source], up_leaf[source])
    for number in range(domains):
        hosts = min(sizes.domain, sizes.hosts - number * sizes.domain)
        # A message that leaves the domain goes to the GPU on the rail of its target (PXN).
        relay = (number * sizes.domain + target // sizes.rails % hosts) * sizes.rails + rail
        table[gpus + number] = down_nvlink[np.where(domain == number, target, relay)]
    chosen = target % max(1, spines)
    for number in range(leaves):
        here = leaf == number
        upwards = up_spine[number, chosen] if spines else np.full(gpus, -1, np.int64)
        table[gpus + domains + number] = np.where(here, down_leaf, upwards)
    for number in range(spines):
        table[gpus + domains + leaves + number] = leaves * spines + up_spine[leaf, number]
    return table


def pods_of(sizes: RailSizes) -> Int64:
    """int64[GPUs]: the pod of every GPU."""
    return np.arange(sizes.gpus, dtype=np.int64) // (sizes.rails * sizes.pod)


#: Names of levels whose hosts share NVLink.
DOMAIN_NAMES = ("domain", "nvlink", "nvl")


def rails_from_levels(
    tiers: Sequence[Level], counts: Sequence[int | tuple[int, ...]], marked: Sequence[bool],
    given: Sequence[bool],
) -> Machine:
    """Return the machine of levels of which that of GPUs has rails.

    A level above the hosts is a pod, whose hosts share leaf switches; hosts of one named ``domain`` or
    ``nvlink`` share NVLink. The distance of the level of hosts is that of GPUs on one rail of a pod; others
    are twice as far. Bandwidths of the levels of GPUs, hosts and pods are those of NVLink, adapters and links
    to spine switches.

    >>> from hopbytes.machines.spec import parse_machine
    >>> parse_machine("node:4@20 gpu:2@1:rails").distance().matrix()[0].tolist()
    [0, 1, 20, 40, 20, 40, 20, 40]
    """
    names = [level.name for level in tiers]
    place = next(number for number, mark in enumerate(marked) if mark)
    if sum(marked) > 1 or names[place] not in GPU_NAMES:
        raise bad(f"rails of level {shorten(names[place])}, expected them at gpu: node:32 gpu:8:rails")
    if not place or names[place - 1] not in NODE_NAMES:
        raise bad("gpu with rails without hosts right above, expected levels like node:32 gpu:8:rails")
    above = list(zip(tiers[: place - 1], counts[: place - 1], strict=True))
    domains = [one for one in above if one[0].name in DOMAIN_NAMES]
    pods = [one for one in above if one[0].name not in DOMAIN_NAMES]
    if len(domains) > 1 or len(pods) > 1 or (domains and above[-1] != domains[0]):
        found = " ".join(names[: place - 1])
        raise bad(f"rails under levels {shorten(found)}, expected at most pods and, inside, NVLink domains")
    if any(isinstance(count, tuple) for count in counts[: place + 1]):
        raise bad("rails with unequal counts, expected the same number of hosts and GPUs everywhere")
    if any(given[: place - 1]):
        raise bad("rails: a distance above the hosts, expected none: it is twice that of the level of hosts")
    return _machine(tiers, counts, place, pods, domains, given[place - 1])


def _machine(
    tiers: Sequence[Level], counts: Sequence[int | tuple[int, ...]], place: int,
    pods: list[tuple[Level, int | tuple[int, ...]]], domains: list[tuple[Level, int | tuple[int, ...]]],
    given: bool,
) -> Machine:
    sizes = [count for count in counts[: place + 1] if isinstance(count, int)]
    rails, per_unit, hosts = sizes[place], sizes[place - 1], 1
    for size in sizes[:place]:
        hosts *= size
    node, gpu = tiers[place - 1], tiers[place]
    if given and (node.distance % 2 or not node.distance):
        raise bad(f"rails: distance {node.distance} of hosts, expected an even number for two hops")
    text = f"{hosts}x{rails}" + (f":domain={per_unit}" if domains else "")
    pod = hosts // sizes[0] if pods else hosts
    text += f":pod={pod}"
    speeds = [level.bandwidth for level in (gpu, node, pods[0][0] if pods else node)]
    if node.bandwidth is not None:
        fast, adapter, up = (speed or node.bandwidth for speed in speeds)
        text += f":bw={int(fast)}x{int(adapter)}x{int(up)}"
    text += f"@{node.distance // 2}" if given else ""
    machine = machines["rails"].parse(text)
    assert isinstance(machine, NetworkHierarchy)
    if len(tiers) == place + 1 and gpu == Level(gpu.name, 1):
        return machine  # what is inside hosts may follow: node:4 gpu:8:rails / hwloc:node.xml
    return machine.nested(Tree(tuple(tiers[place:]), tuple(counts[place:])))


RULES = ("spines", "pxn")
KEYS = {"domain": "18", "pod": "32", "spines": "16", "route": "spines or pxn", "bw": "450x50x50"}
#: Capacity of the links of NVLink, of a GPU's network adapter, and between leaf and spine switches.
BANDWIDTH = (9, 1, 1)
#: Hosts that share leaf switches, unless the spec says otherwise.
POD = 32
#: Entries of the table of routes, 4 bytes each.
MAX_TABLE = 2**28


@machines.register("rails")
@frozen
class Rails(NetworkHierarchy):
    """Hosts x rails, ``rails:32x8``: every host has a GPU and a network adapter on each rail.

    Parameters
    ----------
    hosts, rails : int
        Hosts, and GPUs per host; adapter r of a host is connected to leaf switch r of its pod.
    domain : int
        Hosts of an NVLink domain: 1 where NVLink ends at the host, 18 for racks of NVL72 (18 x 4 GPUs).
    pod : int
        Hosts that share the same leaf switches, a multiple of `domain`; by default the largest multiple
        up to 32, or one domain.
    spines : int
        Spine switches, each with a link to every leaf switch; by default `pod`, which is full bisection
        bandwidth with links of equal capacity. Half as many are an oversubscription of 2:1; 0 are none.
    rule : str
        ``spines``: messages between rails go through a spine switch, number (target mod spines). ``pxn``:
        they change the rail inside the NVLink domain of the source, as NCCL's PXN does.
    bandwidth : tuple of three int
        Capacity of links of NVLink, of adapters, and between leaf and spine switches, per direction.
    per_hop, inside
        See NetworkMachine; `inside` begins with a level ``gpu``.

    Raises
    ------
    FormatError
        Numbers out of range, a pod that cuts domains, no spines where routes need them, levels inside a host
        that do not have a GPU per rail, tables of more than 2**28 entries.

    Notes
    -----
    GPUs of one NVLink domain have the distance of the level ``gpu`` (1), GPUs of one leaf switch are two hops
    apart, others four. With ``pxn`` a message between rails of one pod takes a hop inside the domain and two
    hops outside. Every host is a node, and every GPU an endpoint of the network. Sources: NVIDIA DGX SuperPOD
    reference architecture (rail-optimised compute fabric); NVIDIA blog "Doubling all2all Performance with
    NCCL 2.12" (PXN); Wang et al., "Rail-only", HOTI 2024 (no spines).

    Examples
    --------
    >>> from hopbytes.machines.kinds.rails import Rails
    >>> machine = Rails.parse("4x2:pod=2")
    >>> machine.distance().matrix()[0].tolist()
    [0, 1, 20, 40, 40, 40, 40, 40]
    >>> machine.network().hops(0, range(8)).tolist()
    [0, 2, 2, 4, 4, 4, 4, 4]
    """

    hosts: int
    rails: int
    domain: int = 1
    pod: int = 0
    spines: int | None = None
    rule: str = "spines"
    bandwidth: tuple[int, int, int] = BANDWIDTH
    per_hop: int | None = None
    inside: Tree | None = None

    def __post_init__(self) -> None:
        most = self.hosts + -self.hosts % self.domain
        pod = self.pod or min(most, self.domain * max(1, POD // self.domain))
        object.__setattr__(self, "pod", pod)
        object.__setattr__(self, "spines", min(pod, self.hosts) if self.spines is None else self.spines)
        if self.domain > self.hosts:
            raise bad(f"rails: domain={self.domain}, expected at most the {self.hosts} hosts")
        if pod % self.domain:
            raise bad(f"rails: pod={pod}, expected a multiple of domain={self.domain}")
        if self.rule not in RULES:
            raise bad(f"rails: route={shorten(self.rule)}, expected one of {', '.join(RULES)}")
        if not self.spines and (self.rule != "pxn" or pod < self.hosts):
            raise bad("rails: spines=0, expected route=pxn and a single pod, or spine switches")
        if self.sizes.table_entries > MAX_TABLE:
            raise bad(f"rails: {self.sizes.gpus} GPUs, expected tables of at most {MAX_TABLE} entries")
        _check_inside(self.inside, self.rails)
        check_nodes(self)
        if 6 * self.hop_distance >= NO_ROUTE:
            raise bad(f"rails: distance {self.hop_distance} per hop, expected less than {NO_ROUTE // 6}")

    @classmethod
    def parse(cls, text: str) -> Rails:
        """Read ``HOSTSxRAILS[:domain=N][:pod=N][:spines=N][:route=…][:bw=…][@perhop]``."""
        head, found, per_hop = network_fields("rails", text, KEYS)
        sizes = sizes_of("rails", head)
        if len(sizes) != 2:
            raise bad(f"rails: {shorten(head)}, expected HOSTSxRAILS like 32x8")
        numbers = {
            key: number_of("rails", key, found[key], least=int(key != "spines"), most=MAX_CORES)
            for key in ("domain", "pod", "spines")
            if key in found
        }
        expected = "one number or three: NVLink, adapter, leaf to spine"
        words = found.get("bw", joined(BANDWIDTH))
        one, adapter, uplink = bandwidths_of("rails", words, 3, expected)
        return cls(
            *sizes, numbers.get("domain", 1), numbers.get("pod", 0), numbers.get("spines"),
            found.get("route", "spines"), (one, adapter, uplink), per_hop,
        )

    @property
    def sizes(self) -> RailSizes:
        """The sizes of the network."""
        return RailSizes(self.hosts, self.rails, self.domain, self.pod, self.spines or 0)

    @property
    def n_nodes(self) -> int:
        """Number of hosts."""
        return self.hosts

    @property
    def gpus_inside(self) -> bool:
        """Every GPU has an adapter of its own."""
        return True

    @property
    def hop_distance(self) -> int:
        """Distance per hop between hosts; by default ten times that of GPUs of one host."""
        return 10 * _inside(self)[1].distance if self.per_hop is None else self.per_hop

    def network_spec(self) -> str:
        """``rails:…`` with the keys that differ from their defaults."""
        default = Rails(self.hosts, self.rails, self.domain)
        text = f"rails:{self.hosts}x{self.rails}" + (f":domain={self.domain}" if self.domain > 1 else "")
        text += f":pod={self.pod}" if self.pod != default.pod else ""
        text += f":spines={self.spines}" if self.spines != min(self.pod, self.hosts) else ""
        text += f":route={self.rule}" if self.rule != "spines" else ""
        return text + (f":bw={joined(self.bandwidth)}" if self.bandwidth != BANDWIDTH else "")

    def units_outside(self) -> tuple[tuple[Level, ...], tuple[Count, ...]]:
        """``pod`` and ``domain`` where there are several of them with several hosts, then hosts."""
        tiers: list[Level] = []
        counts: list[Count] = []
        units, size = 1, self.hosts
        for name, hosts in (("pod", self.pod), ("domain", self.domain)):
            if 1 < hosts < size and not (name == "pod" and hosts == self.domain):
                hops = 4 if size > self.pod else 2
                tiers.append(Level(name, hops * self.hop_distance))
                counts.append(_children(units, size, hosts, self.hosts))
                units, size = -(-self.hosts // hosts), hosts
        return tuple(tiers), (*counts, _children(units, size, 1, self.hosts))

    def node_distance(self) -> int:
        """Distance of two hosts of one domain or else of one pod."""
        if self.domain > 1:
            return _inside(self)[1].distance
        return (2 if self.pod > 1 else 4) * self.hop_distance

    def tree(self) -> Tree:
        """Pods, domains, hosts, GPUs and what lies beside them."""
        return _tree(self)

    def nested(self, inside: Tree) -> Rails:
        """Return this machine with levels inside its hosts, the first of which is ``gpu``."""
        if self.inside is not None:
            raise UnsupportedError(f"{self.network_spec()} has levels inside its nodes already")
        return self._replaced(self.per_hop, inside)

    def with_defaults_written(self) -> Rails:
        """Return this machine with its levels inside a host and its distance per hop written down."""
        return self._replaced(self.hop_distance, _inside(self)[0])

    def distance(self) -> RailDistance:
        """Distances inside NVLink domains, on one rail, and between rails."""
        return _distance(self)

    def network(self) -> Network:
        """Links of NVLink, of adapters and between leaf and spine switches."""
        return rail_network(self.sizes, self.bandwidth, self.rule)

    @property
    def network_use(self) -> NetworkUse:
        """Every GPU is an endpoint, also for the cores beside it."""
        return NetworkUse(self._endpoint_of_core)

    def _endpoint_of_core(self) -> Int32:
        level = self.gpu_level()
        assert level is not None
        return self.ancestors(level)


def _check_inside(inside: Tree | None, rails: int) -> None:
    """Raise FormatError unless the levels inside a host begin with a GPU per rail."""
    if inside is None:
        return
    name, count = inside.tiers[0].name, inside.children[0]
    if name not in GPU_NAMES or count != rails:
        found = f"{name}:{count if isinstance(count, int) else list(count)}"
        raise bad(f"rails: {shorten(found)} inside a host, expected gpu:{rails} first, one GPU per rail")


def _inside(machine: Rails) -> tuple[Tree, Level]:
    """Return the levels inside a host, and the first of them, ``gpu``."""
    inside = machine.inside or Tree((Level("gpu", 1),), (machine.rails,))
    return inside, inside.tiers[0]


def _children(units: int, full: int, size: int, hosts: int) -> Count:
    """Children of each of `units` units: those of `size` hosts in `full` hosts, as far as hosts exist."""
    have, most = -(-hosts // size), -(-full // size)
    return most if have == units * most else tuple(min(most, have - unit * most) for unit in range(units))


@computed_once(16)
def _tree(machine: Rails) -> Tree:
    outside, counts = machine.units_outside()
    inside, _ = _inside(machine)
    repeated = [count if isinstance(count, int) else count * machine.hosts for count in inside.children]
    node = Level("node", machine.node_distance())
    return Tree((*outside, node, *inside.tiers), (*counts, *repeated))


@computed_once(16)
def _distance(machine: Rails) -> RailDistance:
    tree, hop = machine.tree(), machine.hop_distance
    lowered, inner = tree.distance(), len(tree.tiers) - 1 - machine.node_level
    inside_bits = int(np.flatnonzero(lowered.level_of_bit <= inner)[-1])
    domain, leaf, rail = domain_leaf_rail(machine.sizes)
    near = _inside(machine)[1].distance
    units = RailUnits(
        domain, leaf, rail, pods_of(machine.sizes).astype(np.int32), near, 2 * hop, 4 * hop,
        2 * hop + near if machine.rule == "pxn" else None,
    )
    endpoints = machine.network_use.endpoint_of_core()
    return RailDistance(
        machine.network(), lowered.labels, lowered.bit_costs, inside_bits, endpoints, 1, units=units
    )
