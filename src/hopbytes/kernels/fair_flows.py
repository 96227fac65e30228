"""Flows that share links fairly, as a fluid."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hopbytes._arrays import Float64
from hopbytes.kernels.base import kernel
from hopbytes.kernels.routes import Routes

#: Steps of a call, between which the caller may stop.
STEPS = 64


def fair_flow_seconds(
    routes: Routes,
    capacity: Float64,
    latency: Float64,
    volumes: Float64,
    *,
    tolerance: float = 0.0,
    go_on: Callable[[], None] | None = None,
) -> float:
    """Return the time at which the last of some flows ends that all start at time 0.

    A step takes O(links of the routes of all flows that have not ended + links log links). There are at most
    2 per flow, and at most about log(last / first end) / tolerance.

    >>> one_link = Routes(np.array([0, 1, 2]), np.array([0, 0]), None, None)
    >>> fair_flow_seconds(one_link, np.array([1e9]), np.zeros(2), np.array([1e6, 2e6]))
    0.003
    """
    start = np.ascontiguousarray(routes.indptr, np.int64)
    links = np.ascontiguousarray(routes.links, np.int64)
    shares = np.ones(len(links))
    if routes.numerators is not None and routes.denominators is not None:
        shares = routes.numerators / routes.denominators
    penalty = np.where(latency > 0, latency, 1.0)
    left, clock = np.array(volumes, np.float64), np.zeros(2)
    empty = left <= 0
    clock[1] = latency[empty].max(initial=0.0)
    arrays = start, links, shares, np.ascontiguousarray(capacity, np.float64), penalty
    wait = np.ascontiguousarray(latency, np.float64)
    while kernel.fair_flows(*arrays, wait, float(tolerance), STEPS, left, clock):
        if go_on is not None:
            go_on()
    return float(clock[1])
