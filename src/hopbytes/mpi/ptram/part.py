"""The data of one leader, and functions that both distributed algorithms use."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Bool, Int64
from hopbytes._frozen import frozen
from hopbytes.engine.places import Groups
from hopbytes.kernels.leaders import LinkChanges
from hopbytes.mpi.ptram.own_routes import Flow, OwnRoutes
from hopbytes.mpi.ptram.wire import Wire


@frozen(eq=False)
class Part:
    """The data of one leader."""

    traffic: Groups
    own: OwnRoutes
    prices: Int64 | None  # int64[links] or None: None means 1 for each link
    wire: Wire
    #: int64[leaders]: First place of every leader; a leader has all places up to the first one of the next
    #: leader
    firsts: Int64


class Talk:
    """The arcs of every group in both directions, without loops and without arcs of volume 0."""

    def __init__(self, traffic: Groups) -> None:
        groups = len(traffic.sizes)
        source = np.repeat(np.arange(groups), np.diff(traffic.csr.indptr))
        targets, volumes = traffic.csr.targets, traffic.csr.weights
        volume = np.ones(len(source), np.int64) if volumes is None else volumes
        counts = (source != targets) & (volume > 0)
        a, b, v = source[counts], targets[counts].astype(np.int64), volume[counts]
        ends, others = np.concatenate([a, b]), np.concatenate([b, a])
        order = np.argsort(ends, kind="stable")
        self._start = np.searchsorted(ends[order], np.arange(groups + 1))
        self._others, self._volumes = others[order], np.concatenate([v, v])[order]
        self._leaves = (np.arange(len(ends)) < len(a))[order]

    def of(self, group: int) -> Flow:
        """Return the arcs of a group; `others` are groups."""
        rows = slice(self._start[group], self._start[group + 1])
        return Flow(self._others[rows], self._volumes[rows], self._leaves[rows])


class Room:
    """The free places a group may take so that all other groups still fit; ``core/routing/place_fit.hpp``."""

    def __init__(self, sizes: Int64, capacities: Int64) -> None:
        caps = np.unique(capacities)
        self.group_class = np.minimum(np.searchsorted(caps, sizes), len(caps) - 1)
        self.place_class = np.searchsorted(caps, capacities)
        self._need = self._from_class_up(self.group_class, len(caps))
        self._have = self._from_class_up(self.place_class, len(caps))

    @staticmethod
    def _from_class_up(classes: Int64, count: int) -> Int64:
        found: Int64 = np.cumsum(np.bincount(classes, minlength=count)[::-1])[::-1].copy()
        return found

    def allows(self, group: int) -> Bool:
        """bool[P]: places, free or not, that the group may take."""
        own = self.group_class[group]
        spare = self._have > self._need
        spare[: own + 1] = True
        open_ = np.logical_and.accumulate(spare)
        open_[:own] = False
        found: Bool = open_[self.place_class]
        return found

    def take(self, group: int, place: int) -> None:
        """Record that the group takes the place."""
        self._need[: self.group_class[group] + 1] -= 1
        self._have[: self.place_class[place] + 1] -= 1


def batch(changes: LinkChanges, number: int) -> Int64:
    """Return int64[2 x entries], the links and then the amounts of one batch."""
    rows = slice(changes.start[number], changes.start[number + 1])
    return np.concatenate([changes.links[rows], changes.amounts[rows]])


def apply(wire: Wire, mine: Int64, entries: int, winner: int, load: Int64) -> None:
    """Broadcast the changes of link loads from the winning leader, and add them to `load`."""
    if entries == 0:
        return
    received = wire.from_winner(mine if wire.rank == winner else None, 2 * entries, winner)
    np.add.at(load, received[:entries], received[entries:])
