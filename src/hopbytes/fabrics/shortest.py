"""Shortest routes for a fabric without forwarding tables."""

from __future__ import annotations

import dataclasses

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.fabrics.arrival import leaf_switches
from hopbytes.fabrics.fabric import Fabric


def with_shortest_routes(fabric: Fabric) -> Fabric:
    """Give a fabric routes: from every switch a shortest path to every adapter.

    Of several links that begin a shortest path, the one to adapter number a is link a modulo their number,
    in the order of ports: neighbouring destinations leave by different links, as subnet managers do it.

    One search backwards from every switch with adapters: O(leaves x links + switches x adapters).
    """
    switches, adapters = len(fabric.switches), len(fabric.adapters)
    forward = np.full((switches, adapters), -1, np.int32)
    inner = np.flatnonzero((fabric.link_source < switches) & (fabric.link_target < switches))
    source, target = fabric.link_source[inner], fabric.link_target[inner]
    leaf = leaf_switches(fabric)
    for switch in np.unique(leaf[leaf >= 0]).tolist():
        distance = _distances(switches, source, target, switch)
        first = np.flatnonzero((distance[source] >= 1) & (distance[source] == distance[target] + 1))
        begin = np.searchsorted(source[first], np.arange(switches + 1))  # links ascend by source
        here = np.flatnonzero(leaf == switch)
        count = np.diff(begin)
        near = np.flatnonzero(count)
        place = begin[near][:, None] + here[None, :] % count[near][:, None]
        forward[np.ix_(near, here)] = inner[first[place]]
    down = np.flatnonzero((fabric.link_source < switches) & (fabric.link_target >= switches))
    forward[fabric.link_source[down], fabric.link_target[down] - switches] = down
    return dataclasses.replace(fabric, forward=forward)


def _distances(switches: int, source: Int32, target: Int32, goal: int) -> Int32:
    """int32[switches]: links of a shortest path from each switch to `goal`; -1 where there is none."""
    distance = np.full(switches, -1, np.int32)
    distance[goal] = 0
    step = 0
    reached = np.array([goal])
    while len(reached):
        step += 1
        at = np.zeros(switches, np.bool_)
        at[reached] = True
        reached = np.unique(source[at[target] & (distance[source] < 0)])
        distance[reached] = step
    # A switch that cannot reach the goal must not be taken for one at distance 1 from it.
    distance[distance < 0] = -2
    return distance
