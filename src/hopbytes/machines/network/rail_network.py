"""The links and routes of a rail-optimised network: NVLink domains, a leaf switch per rail, spines."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.kernels.routes import RouteForm
from hopbytes.machines.network.network import Network
from hopbytes.machines.network.wiring import Wiring


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
