"""Which messages arrive, by following forwarding tables from every switch to every adapter."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.fabric import Fabric


@frozen(eq=False)
class Arrival:
    """How far it is from each switch to each adapter."""

    #: int32[switches, adapters]: Links a message follows from a switch to an adapter, -1 when it never
    #: arrives. From the switch of the sender this is also the number of switches it passes.
    links: Int32

    def unrouted(self, fabric: Fabric) -> Int64:
        """int64[pairs, 2]: ordered pairs of adapters whose messages never arrive."""
        leaf = leaf_switches(fabric)
        found = []
        for source, switch in enumerate(leaf.tolist()):
            lost = self.links[switch] < 0 if switch >= 0 else _all_but_neighbour(fabric, source)
            lost[source] = False
            targets = np.flatnonzero(lost)
            found.append(np.stack([np.full(len(targets), source), targets], axis=1))
        return np.concatenate(found).astype(np.int64)


def leaf_switches(fabric: Fabric) -> Int32:
    """int32[adapters]: switch each adapter is connected to, -1 without a cable to a switch."""
    first = fabric.first_link()
    leaf = np.where(first >= 0, fabric.link_target[first], -1)
    leaf[leaf >= len(fabric.switches)] = -1
    return leaf.astype(np.int32)


def _all_but_neighbour(fabric: Fabric, source: int) -> Bool:
    """Return which adapters an adapter without a switch cannot reach: all but the one at its cable."""
    lost = np.ones(len(fabric.adapters), np.bool_)
    first = int(fabric.first_link()[source])
    if first >= 0:
        lost[int(fabric.link_target[first]) - len(fabric.switches)] = False
    return lost


def follow(fabric: Fabric) -> Arrival:
    """Follow the tables of a fabric from every switch to every adapter.

    Paths are doubled until all have ended: O(switches x adapters x log switches).
    """
    if fabric.forward is None:
        raise UnsupportedError("the fabric has no forwarding tables, so its routes are not known")
    switches, adapters = len(fabric.switches), len(fabric.adapters)
    arrived, lost = switches, switches + 1  # two more rows in which every path stays
    column = np.arange(adapters)
    has_link = fabric.forward >= 0
    device = np.where(has_link, fabric.link_target[fabric.forward], -1)
    ahead = np.full((switches + 2, adapters), lost, np.int32)
    ahead[arrived] = arrived
    ahead[:switches] = np.where(
        device == switches + column, arrived, np.where((device >= 0) & (device < switches), device, lost)
    )
    links = np.zeros((switches + 2, adapters), np.int32)
    links[:switches] = has_link
    for _ in range(max(1, (switches + 1).bit_length())):
        links += np.take_along_axis(links, ahead, axis=0)
        ahead = np.take_along_axis(ahead, ahead, axis=0)
    _refuse_circles(fabric, ahead[:switches])
    links[:switches][ahead[:switches] != arrived] = -1
    return Arrival(links[:switches])


def _refuse_circles(fabric: Fabric, end: Int32) -> None:
    """Raise for the first circle that messages of an adapter run into."""
    assert fabric.forward is not None
    leaf = leaf_switches(fabric)
    starts = np.unique(leaf[leaf >= 0])
    turning = np.argwhere(end[starts] < len(fabric.switches))
    if not len(turning):
        return
    switch, adapter = int(starts[turning[0, 0]]), int(turning[0, 1])
    walk: list[int] = []
    while switch not in walk:
        walk.append(switch)
        switch = int(fabric.link_target[fabric.forward[switch, adapter]])
    circle = [*walk[walk.index(switch) :], switch]
    names = " -> ".join(_said_switch(fabric, number) for number in circle[:6])
    raise FormatError(
        "forwarding tables", None,
        f"messages to {fabric.adapters[adapter].name!r} run in a circle: "
        f"{names}{' -> …' if len(circle) > 6 else ''}",
    )


def _said_switch(fabric: Fabric, number: int) -> str:
    """Name a switch so that it can be found: several may have one description."""
    switch = fabric.switches[number]
    details = [f"GUID 0x{switch.guid:016x}"] if switch.guid else []
    details += [fabric.tables[number]] if fabric.tables else []
    return f"{switch.name!r}" + (f" ({', '.join(details)})" if details else "")


def route(fabric: Fabric, source: int, target: int) -> list[int]:
    """Return the links a message follows from one adapter to another."""
    if fabric.forward is None:
        raise UnsupportedError("the fabric has no forwarding tables, so its routes are not known")
    switches = len(fabric.switches)
    if source == target:
        return []
    links = [int(fabric.first_link()[source])]
    while links[-1] >= 0 and len(links) <= switches + 1:
        here = int(fabric.link_target[links[-1]])
        if here == switches + target:
            return links
        links.append(int(fabric.forward[here, target]) if here < switches else -1)
    path = [fabric.device(int(fabric.link_target[link])).name for link in links if link >= 0]
    raise FormatError(
        "forwarding tables", None,
        f"messages from {fabric.adapters[source].name!r} to {fabric.adapters[target].name!r} never arrive: "
        f"they end after {' -> '.join(map(repr, path[:8])) or 'no link at all'}",
    )
