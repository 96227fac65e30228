"""Distances of GPUs that an NVLink domain, a rail or the spines of a network connect."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt16
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.machines.network.node_distances import MAX_NODES_IN_TABLE, NetworkDistance

#: Rows of the table of distances that are computed at the same time.
ROWS = 256


@frozen(eq=False)
class RailUnits:
    """The units of a rail-optimised network that every endpoint (GPU) belongs to."""

    #: int32[endpoints]: NVLink domain, leaf switch and rail of every GPU; equal rails in different pods have
    #: different leaf switches
    domain: Int32
    leaf: Int32  # int32[endpoints]
    rail: Int32  # int32[endpoints]
    pod: Int32  # int32[endpoints]: Group of hosts whose GPUs share leaf switches
    inside: int  # distance of two GPUs of one NVLink domain, of one leaf switch, and of all others
    across_leaf: int
    across_spines: int
    #: distance of GPUs on different rails of one pod if messages change the rail inside the NVLink domain
    #: (PXN); None if they go through the spines
    detour: int | None

    def apart(self, a: Any, b: Any) -> Int64:
        """int64[...]: distance of the endpoints `a` and `b`, which broadcast; 0 of an endpoint to itself."""
        a, b = np.asarray(a), np.asarray(b)
        far = np.where(self.leaf[a] == self.leaf[b], self.across_leaf, self.across_spines)
        if self.detour is not None:
            extra = self.detour - self.across_leaf
            same = (self.pod[a] == self.pod[b]) & (self.rail[a] != self.rail[b])
            far = np.where(same, self.detour, far)
            other = (self.pod[a] != self.pod[b]) & (self.rail[a] != self.rail[b])
            far = np.where(other, self.across_spines + extra, far)
        near = np.where(self.domain[a] == self.domain[b], self.inside, far)
        return np.where(a == b, 0, near).astype(np.int64)


@frozen(eq=False)
class RailDistance(NetworkDistance):
    """Distances that depend on the NVLink domain and on the rail, in place of hops.

    A hop inside an NVLink domain costs less than a hop between hosts, so hops times a constant would not do.
    `units` describes all endpoints of the network; `per_hop` is 1.
    """

    units: RailUnits | None = None

    @property
    def largest(self) -> int:
        """Largest distance between two places."""
        if "largest" not in self._cache:
            nodes = self._nodes()[0]
            width = int(self.labels[0] ^ self.labels[-1]).bit_length()
            most = max(self.least if len(nodes) > 1 else 0, int(self.inside_costs[: width + 1].max()))
            for first in range(0, len(nodes), ROWS):
                most = max(most, int(self._hops(nodes[first : first + ROWS, None], nodes[None, :]).max()))
            self._cache["largest"] = most
        return int(self._cache["largest"])

    def select(self, places: Int64) -> RailDistance:
        """Distances among some of the places (ascending numbers)."""
        if len(places) == len(self.labels):
            return self
        return RailDistance(
            self.network, self.labels[places], self.inside_costs, self.inside_bits, self.endpoint[places],
            self.per_hop, units=self.units,
        )

    def _hops(self, a: Any, b: Any) -> Int64:
        assert self.units is not None
        return self.units.apart(a, b)

    def _hop_table(self) -> UInt16:
        """uint16[nodes, nodes]: distances between the GPUs in use."""
        nodes, _ = self._nodes()
        if len(nodes) > MAX_NODES_IN_TABLE:
            raise UnsupportedError(
                f"distances between {len(nodes)} GPUs with rails, expected at most {MAX_NODES_IN_TABLE}: "
                "use fewer hosts (`hosts`), or describe the machine by levels, like node:2048 gpu:8"
            )
        table = np.empty((len(nodes), len(nodes)), np.uint16)
        for first in range(0, len(nodes), ROWS):
            table[first : first + ROWS] = self._hops(nodes[first : first + ROWS, None], nodes[None, :])
        return table
