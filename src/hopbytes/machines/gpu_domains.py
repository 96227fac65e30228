"""Which PEs share a fast domain, such as NVLink, and which are on the same rail of the network."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.machines.distances import RailDistance
from hopbytes.model.allocation import Allocation


class GpuDomains(NamedTuple):
    """Units of an allocation that matter for the groups of a training job."""

    domain: Int32  # int32[k]: NVLink domain of every PE where the machine tells it, else its node
    #: int32[k] or None: Rail of every PE: the number of its GPU or of its adapter on the host; None if
    #: neither is known
    rail: Int32 | None
    name: str  # what a domain is: ``"NVLink domain"`` or ``"node"``


def gpu_domains(where: Allocation) -> GpuDomains:
    """Return the domains and rails of an allocation; O(k).

    >>> import hopbytes as hb
    >>> gpu_domains(hb.allocate("rails:4x2:domain=2")).domain.tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    >>> gpu_domains(hb.allocate("node:2 gpu:2")).rail.tolist()
    [0, 1, 0, 1]
    """
    distance = where.distance
    if isinstance(distance, RailDistance):
        units, endpoint = distance.units, distance.endpoint
        return GpuDomains(units.domain[endpoint], units.rail[endpoint], "NVLink domain")
    return GpuDomains(where.node_of_pe, _rails(where), "node")


def has_rails(where: Allocation) -> bool:
    """Return whether PEs are GPUs whose messages leave a host by several adapters; O(k).

    >>> import hopbytes as hb
    >>> has_rails(hb.allocate("rails:4x2")), has_rails(hb.allocate("torus:4x2 / gpu:2"))
    (True, False)
    """
    if isinstance(where.distance, RailDistance):
        return True
    adapters = adapters_per_host(where)
    return where.gpus is not None and adapters is not None and int(adapters.max(initial=0)) > 1


def adapters_per_host(where: Allocation) -> Int32 | None:
    """Return the number of network adapters of every host of the machine; None if it does not say."""
    adapters: Int32 | None = getattr(where.machine.innermost, "adapters_per_host", None)
    return adapters


def _rails(where: Allocation) -> Int32 | None:
    adapters = adapters_per_host(where)
    if adapters is None:
        return where.gpus
    if len(adapters) == 0 or int(adapters.max()) < 2:
        return None
    first = np.cumsum(adapters) - adapters
    endpoints = where.endpoints
    if endpoints is None:
        endpoints = where.machine.network_use.endpoint_of_core()[where.first_core]
    rail: Int32 = (endpoints - first[where.node_of_pe]).astype(np.int32)
    return rail
