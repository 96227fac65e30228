"""Total message time on any machine: trees by level, networks by link."""

from __future__ import annotations

from hopbytes._arrays import Int32
from hopbytes.cost.message_time.along_routes import (
    RouteTimes,
    knows_route_times,
    route_search_form,
    route_times,
    time_on_routes,
)
from hopbytes.cost.message_time.form import SearchForm
from hopbytes.cost.message_time.levels import (
    LevelTimes,
    knows_level_times,
    level_search_form,
    level_times,
    time_by_level,
)
from hopbytes.errors import UnsupportedError
from hopbytes.machines.distances import NetworkDistance, TreeDistance
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

Times = LevelTimes | RouteTimes


def knows_times(where: Allocation) -> bool:
    """Tell whether there are two PEs and all levels or links between PEs have latency and bandwidth."""
    if where.k < 2:
        return False
    if isinstance(where.distance, NetworkDistance):
        return knows_route_times(where)
    return isinstance(where.distance, TreeDistance) and knows_level_times(where)


def times_of(graph: CommGraph, where: Allocation) -> Times:
    """Return the times of a machine's levels, or of its links and the levels inside its nodes, as integers.

    >>> import hopbytes as hb
    >>> where = hb.allocate("node:2@10:bw=1e9:lat=2e-6 core:2@1:bw=1e10:lat=1e-7")
    >>> times_of(hb.CommGraph.from_edges([0], [1], [1000]), where)
    LevelTimes(latency=(0, 100000000000, 2000000000000), per_byte=(0, 100000000, 1000000000), exponent=18)
    """
    if isinstance(where.distance, NetworkDistance):
        return route_times(graph, where)
    if isinstance(where.distance, TreeDistance):
        return level_times(graph, where)
    raise UnsupportedError(
        f"weight time on '{where.machine.spec()[:60]}', expected a machine of levels or a network, with lat "
        "and bw of each"
    )


def comm_time(graph: CommGraph, where: Allocation, pe: Int32, times: Times) -> int:
    """Return the sum of the times of all messages in the unit of `times`, an exact integer.

    Arcs inside a PE take no time. The sum is not the time until the last message has arrived. O(m) on trees,
    O(m x length of a route) on networks.
    """
    if isinstance(times, RouteTimes):
        return time_on_routes(graph, where, pe, times)
    return time_by_level(graph, where, pe, times)


def search_form(graph: CommGraph, where: Allocation, times: Times) -> SearchForm:
    """Return a weight per arc and a distance per level or hop whose product approximates the time best.

    If latency and time per byte grow by the same factors from level to level, the product is exact. Otherwise
    it is the best approximation in the sense of least squares, with both terms weighted by the totals of the
    pattern (the first singular vectors of a matrix of two columns). On networks a hop has the mean time per
    byte of all links. O(m + levels).
    """
    if isinstance(times, RouteTimes):
        return route_search_form(graph, where, times)
    return level_search_form(graph, where, times)
