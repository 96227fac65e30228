"""HyperX: lattices of routers in which every two that differ in one coordinate are linked."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.kernels.routes import RouteForm
from hopbytes.machines.base import machines
from hopbytes.machines.network import (
    MAX_LINKS,
    Network,
    Wiring,
    from_nodes,
    geometry_of_grid,
    name_link_of_node,
    name_node,
    name_on_grid,
)
from hopbytes.machines.network_machine import NetworkMachine
from hopbytes.machines.spec_fields import NetworkSpec, changed_fields, joined, shortest
from hopbytes.machines.tree import MAX_CORES, bad
from hopbytes.util.computed_once import computed_once

KEYS = {"nodes": "4", "bw": "100 or 100x50 (nodes x routers)"}


@machines.register("hyperx")
@frozen
class HyperX(NetworkMachine):
    """HyperX (Hamming graph) of routers with nodes on each; one dimension is a fully linked set of routers.

    Routes correct the first differing dimension first, one hop each, between the links of the two nodes.
    Source: Ahn et al., "HyperX: topology, routing, and packaging of efficient large-scale networks", SC 2009.

    >>> HyperX.parse("3x3:nodes=2").network().hops(0, [0, 1, 2, 8]).tolist()
    [0, 2, 3, 4]
    """

    node_hops: ClassVar[int] = 2
    sizes: tuple[int, ...]  # routers per dimension; node numbers ascend fastest in the last one
    nodes: int = 1  # per router
    bandwidth: tuple[int, ...] = (1, 1)  # capacity of the links of nodes, and of those between routers

    def __post_init__(self) -> None:
        links = 2 * self.n_nodes + math.prod(self.sizes) * sum(size - 1 for size in self.sizes)
        if self.n_nodes > MAX_CORES or links > MAX_LINKS:
            raise bad(f"hyperx: {self.n_nodes} nodes, {links} links, expected fewer")
        NetworkMachine.__post_init__(self)

    @classmethod
    def parse(cls, text: str) -> HyperX:
        spec = NetworkSpec("hyperx", text, KEYS)
        bandwidth = spec.bandwidth(2, "one number or two: of nodes and of routers")
        return cls(spec.sizes(), spec.number("nodes", 1, most=2**20), bandwidth, per_hop=spec.per_hop)

    @property
    def n_nodes(self) -> int:
        return math.prod(self.sizes) * self.nodes

    def network_spec(self) -> str:
        fields = changed_fields(("nodes", self.nodes, 1), ("bw", shortest(self.bandwidth), "1"))
        return f"hyperx:{joined(self.sizes)}{fields}"

    def split_nodes(self, nodes: Int64) -> list[Int64]:
        """Cut along the dimension with the fewest coordinates in use, one part each: that cuts least.

        Within one router every node is a part.
        """
        places = np.stack(np.unravel_index(nodes // self.nodes, self.sizes))
        used = [len(np.unique(row)) for row in places]
        wide = [d for d, count in enumerate(used) if count > 1]
        if not wide:
            return list(nodes[:, None])
        row = places[min(wide, key=lambda d: used[d])]
        return [nodes[row == coordinate] for coordinate in np.unique(row)]

    @computed_once(16)
    def network(self) -> Network:
        sizes, nodes = self.sizes, self.nodes
        routers = math.prod(sizes)
        ports = sum(size - 1 for size in sizes)
        first = 2 * routers * nodes
        capacity = np.full(first + routers * ports, self.bandwidth[1], np.int64)
        capacity[:first] = self.bandwidth[0]

        def name_link(link: int) -> str:
            if link < first:
                return name_link_of_node(link, nodes, lambda router: name_on_grid(router, sizes))
            router, port = divmod(link - first, ports)
            there = [int(c) for c in np.unravel_index(router, sizes)]
            for d, size in enumerate(sizes):
                if port < size - 1:
                    there[d] = port + (port >= there[d])
                    break
                port -= size - 1
            far = int(np.ravel_multi_index(there, sizes))
            return f"{name_on_grid(router, sizes)} -> {name_on_grid(far, sizes)}"

        def wiring() -> Wiring:
            out, back, at = from_nodes(routers * nodes, nodes)
            router = np.arange(routers, dtype=np.int64)
            heads = []
            for d, size in enumerate(sizes):
                for port in range(size - 1):
                    places = np.stack(np.unravel_index(router, sizes))
                    places[d] = port + (port >= places[d])
                    heads.append(np.ravel_multi_index(tuple(places), sizes))
            far = np.stack(heads, axis=1) if heads else router[:0]
            tail = np.concatenate([out, routers * nodes + np.repeat(router, ports)])
            head = np.concatenate([back, routers * nodes + far.reshape(-1)])
            return Wiring(tail, head, at, routers * nodes + routers)

        lines = (False,) * len(sizes)
        form = RouteForm("hyperx", np.array([nodes, len(sizes), *sizes], np.int64))
        return Network(
            form, routers * nodes, routers, capacity, name_link, name_node, wiring,
            geometry=lambda: geometry_of_grid(np.repeat(np.arange(routers), nodes), sizes, lines),
        )
