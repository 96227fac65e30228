"""Tori and meshes of any dimension, routed dimension by dimension."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.kernels.routes import RouteForm
from hopbytes.machines.base import machines
from hopbytes.machines.geometry import hilbert_order, occupied
from hopbytes.machines.network import AXES, Network, Wiring, geometry_of_grid, name_on_grid
from hopbytes.machines.network_machine import NetworkMachine
from hopbytes.machines.spec_fields import NetworkSpec, changed_fields, check_choice, joined, shortest
from hopbytes.machines.tree import MAX_CORES, bad, shorten
from hopbytes.util.computed_once import computed_once

KEYS = {"nodes": "2", "wrap": "1x0x1", "bw": "9375x4680x9375", "order": "hilbert", "route": "spread"}
RULES = ("ordered", "spread")
ORDERS = ("row", "hilbert")


@machines.register("torus")
@frozen
class Torus(NetworkMachine):
    """Torus or mesh of routers with one or more nodes each, as Cray Gemini or BlueGene.

    Routes correct the first dimension first, then the second, and so on, in the shorter direction; of
    two equally long directions round a ring they take the positive one. Links join neighbouring
    routers, one in each direction; a ring of two routers has two cables, and only the positive one is used.
    The connection of a node to its router is not a link: on these machines it is part of the node.

    >>> ring = Torus.parse("4")
    >>> ring.network().hops([0, 0], [1, 3]).tolist()
    [1, 1]
    >>> [ring.network().name_link(int(link)) for link in ring.network().routes([0], [2]).links]
    ['r0 -> r1 (x+)', 'r1 -> r2 (x+)']
    """

    kind: ClassVar[str] = "torus"  # how `parse` reads a text: that of a mesh tells no rings
    sizes: tuple[int, ...]  # routers per dimension
    wrapped: tuple[bool, ...]  # per dimension: a ring, or a line
    nodes: int = 1  # per router; nodes of one router are 0 hops apart
    bandwidth: tuple[int, ...] = ()  # capacity of a link per dimension, >= 1
    #: how nodes are numbered: ``row`` (coordinates ascend fastest in the last dimension) or ``hilbert``
    #: (along a space-filling curve, as schedulers do to keep jobs compact)
    order: str = "row"
    #: ``ordered`` or ``spread``: every router divides a flow evenly over the dimensions that lead nearer, as
    #: adaptive routing does; where both directions round a ring are equally long, half of it takes each
    rule: str = "ordered"

    def __post_init__(self) -> None:
        if not self.bandwidth:
            object.__setattr__(self, "bandwidth", (1,) * len(self.sizes))
        check_choice("torus: order", self.order, ORDERS)
        check_choice("torus: route", self.rule, RULES)
        if self.n_nodes > MAX_CORES:
            raise bad(f"{self.n_nodes} nodes, expected at most {MAX_CORES}")
        NetworkMachine.__post_init__(self)

    @classmethod
    def parse(cls, text: str) -> Torus:
        kind, ring = cls.kind, cls.kind == "torus"
        keys = {key: example for key, example in KEYS.items() if ring or key != "wrap"}
        spec = NetworkSpec(kind, text, keys)
        sizes = spec.sizes()
        count = len(sizes)
        nodes = spec.number("nodes", 1, most=2**20)
        wrap = spec.word("wrap", joined("1" * count)).split("x") if ring else ["0"] * count
        if set(wrap) - {"0", "1"} or len(wrap) != count:
            raise bad(f"{kind}: wrap={shorten(joined(wrap))}, expected 0 or 1 for each of {count} sizes")
        rings = tuple(word == "1" for word in wrap)
        bandwidth = spec.bandwidth(count, f"one number, or one for each of {count}")
        order, rule = spec.word("order", "row"), spec.word("route", "ordered")
        return Torus(sizes, rings, nodes, bandwidth, order, rule, per_hop=spec.per_hop)

    @property
    def n_nodes(self) -> int:
        return math.prod(self.sizes) * self.nodes

    def network_spec(self) -> str:
        rings = joined(map(int, self.wrapped))
        usual = rings if not any(self.wrapped) else joined("1" * len(self.sizes))
        return f"{'torus' if any(self.wrapped) else 'mesh'}:{joined(self.sizes)}" + changed_fields(
            ("nodes", self.nodes, 1), ("wrap", rings, usual), ("bw", shortest(self.bandwidth), "1"),
            ("order", self.order, "row"), ("route", self.rule, "ordered"),
        )  # fmt: skip

    @computed_once(16)
    def network(self) -> Network:
        sizes, wrapped, nodes = self.sizes, self.wrapped, self.nodes
        dimensions = len(sizes)
        routers = math.prod(sizes)
        capacity = np.empty((*sizes, dimensions, 2), np.int64)
        for d, (size, ring, width) in enumerate(zip(sizes, wrapped, self.bandwidth, strict=True)):
            capacity[..., d, :] = width if size > 1 else 0
            if not ring:  # nothing leads beyond the border
                along = np.moveaxis(capacity, d, 0)
                along[size - 1, ..., d, 0] = along[0, ..., d, 1] = 0
        table = (hilbert_order(sizes) if self.order == "hilbert" else np.empty(0)).astype(np.int32)

        def name_link(link: int) -> str:
            router, port = divmod(link, 2 * dimensions)
            d, negative = divmod(port, 2)
            there = [int(c) for c in np.unravel_index(router, sizes)]
            there[d] = (there[d] + (-1 if negative else 1)) % sizes[d]
            far = name_on_grid(int(np.ravel_multi_index(there, sizes)), sizes)
            return f"{name_on_grid(router, sizes)} -> {far} ({AXES[d]}{'-' if negative else '+'})"

        def name_endpoint(node: int) -> str:
            router, rank = divmod(node, nodes)
            router = int(table[router]) if len(table) else router
            return f"n{node} at {name_on_grid(router, sizes)}" + (f", {rank}" if nodes > 1 else "")

        def router_of_node() -> Int64:
            return np.repeat((table if len(table) else np.arange(routers)).astype(np.int64), nodes)

        def wiring() -> Wiring:
            router = np.arange(routers, dtype=np.int64)
            head = np.empty((routers, dimensions, 2), np.int64)
            for d, size in enumerate(sizes):
                for port, step in enumerate((1, -1)):
                    places = np.stack(np.unravel_index(router, sizes))
                    places[d] = (places[d] + step) % size
                    head[:, d, port] = np.ravel_multi_index(tuple(places), sizes)
            return Wiring(np.repeat(router, 2 * dimensions), head.reshape(-1), router_of_node(), routers)

        numbers = np.array([nodes, dimensions, *sizes, *map(int, wrapped), RULES.index(self.rule)], np.int64)
        form = RouteForm("grid", numbers, table, split=self.rule == "spread")
        return Network(
            form, routers * nodes, routers, capacity.reshape(-1), name_link, name_endpoint, wiring,
            geometry=lambda: geometry_of_grid(router_of_node(), sizes, wrapped),
        )

    def split_nodes(self, nodes: Int64) -> list[Int64]:
        """Cut the longest side of the box that the nodes occupy, into halves as even as possible.

        On a ring the box begins after the longest empty stretch. Nodes of one router are a part each.
        """
        routers = nodes // self.nodes
        if self.order == "hilbert":
            routers = hilbert_order(self.sizes)[routers]
        places = np.stack(np.unravel_index(routers, self.sizes)).astype(np.int64)
        lengths = []
        for d, size in enumerate(self.sizes):
            start, length = occupied(places[d], size, self.wrapped[d])
            places[d] = (places[d] - start) % size
            lengths.append(length)
        if max(lengths) == 1:
            return list(nodes[:, None])
        along = places[lengths.index(max(lengths))]
        counts = np.cumsum(np.bincount(along))  # nodes up to each coordinate
        cut = int(np.argmin(np.abs(2 * counts[:-1] - len(nodes))))
        return [nodes[along <= cut], nodes[along > cut]]


@machines.register("mesh")
class Mesh(Torus):
    """Mesh of any dimension: a torus without wrap-around links (see ``torus``)."""

    __slots__ = ()
    kind = "mesh"
