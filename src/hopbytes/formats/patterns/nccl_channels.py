"""A communicator of NCCL: its ranks, the rings and trees of its channels, the traffic of its calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hopbytes.formats.patterns.recorded import Traffic
from hopbytes.patterns.collective_messages import expand

#: Calls whose data NCCL sends directly.
DIRECT = ("alltoall", "gather", "scatter")


class Call(NamedTuple):
    """A kind of calls; for ``send`` the root is the receiver."""

    kind: str
    root: int
    tree: bool


class Channels:
    """A communicator of `size` ranks."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.gpus: dict[int, tuple[bytes, ...]] = {}
        self.rings: dict[int, list[int]] = {}
        self.cut: set[int] = set()
        self.next: dict[int, dict[int, int]] = {}
        self.links: dict[int, dict[int, int]] = {}
        self.ring_is_set: set[int] = set()
        self.trees: dict[int, dict[int, int]] = {}
        self.sums: dict[Call, dict[int, list[int]]] = {}
        self.sends: dict[tuple[int, int], list[int]] = {}
        self.calls, self.volume = 0, 0

    def join(self, rank: int, size: int, gpu: tuple[bytes, ...]) -> None:
        """Add a rank; ValueError if it does not fit to those known."""
        if size != self.size or rank >= size:
            raise ValueError(f"rank {rank} of {size}, expected a rank below {self.size}")
        if self.gpus.setdefault(rank, gpu) != gpu:
            raise ValueError(f"rank {rank} of a communicator a second time, expected every rank once")

    def add_ring(self, channel: int, ranks: list[int], *, cut: bool) -> None:
        """Add the ring of a channel; one with fewer ranks than there are was cut by NCCL, or on its way."""
        if cut or len(ranks) < self.size:
            # NCCL up to 2.20 writes 20 numbers of four digits over each other.
            if not cut and self.size <= 1000:
                self._check_ring(ranks)
            self.cut.add(channel)
            return
        self._check_ring(ranks)
        self.rings[channel] = ranks

    def _check_ring(self, ranks: list[int]) -> None:
        if max(ranks, default=0) >= self.size or len(set(ranks)) != len(ranks):
            raise ValueError(f"a ring of {len(ranks)} ranks, expected each of {self.size} once")

    def add_next(self, channel: int, rank: int, after: int) -> None:
        """Add the rank behind another one in the ring of a channel."""
        if max(rank, after) >= self.size:
            raise ValueError(f"rank {max(rank, after)}, expected less than {self.size}")
        self.next.setdefault(channel, {})[rank] = after

    def add_link(self, channel: int, own: int, source: int, target: int) -> None:
        """Add a connection of rank `own`: its first ones in a channel are those of the ring."""
        if max(source, target) >= self.size:
            raise ValueError(f"rank {max(source, target)}, expected less than {self.size}")
        if own not in self.ring_is_set and own == source:
            self.links.setdefault(channel, {}).setdefault(source, target)

    def connected(self, own: int, rings: bool) -> None:
        """Note that a rank has made its connections for rings, or else for trees, perhaps before rings."""
        if rings:
            self.ring_is_set.add(own)
        elif own not in self.ring_is_set:
            for after in self.links.values():
                after.pop(own, None)

    def close_rings(self) -> None:
        """Make the rings of channels that the log does not show as a whole from what each rank says."""
        shown = self.cut | self.next.keys() | self.rings.keys()
        for channel in sorted(shown or self.links.keys()):
            for after in (self.next.get(channel, {}), self.links.get(channel, {})):
                ring = self._around(after)
                if channel not in self.rings and ring:
                    self.rings[channel] = ring
        self.rings = dict(sorted(self.rings.items()))

    def _around(self, after: dict[int, int]) -> list[int]:
        """Return the ring with these neighbours; empty unless it has all ranks."""
        if len(after) != self.size:
            return []
        ring = [0]
        while (following := after[ring[-1]]) != 0 and len(ring) < self.size:
            ring.append(following)
        return ring if len(ring) == self.size and after[ring[-1]] == 0 else []

    def add_tree(self, channel: int, own: int, up: int, children: Sequence[int]) -> None:
        """Add the parent and the children of a rank in the tree of a channel."""
        if max(own, up, *children) >= self.size:
            raise ValueError(f"a tree with rank {max(own, up, *children)}, expected less than {self.size}")
        parents = self.trees.setdefault(channel, {})
        for child, parent in ((own, up), *((child, own) for child in children)):
            if min(child, parent) >= 0:
                parents[child] = parent

    def add_call(self, call: Call, own: int, volume: int) -> None:
        """Add a call of rank `own` with `volume` bytes, or a send to the rank ``call.root``."""
        if call.root >= self.size:
            raise ValueError(f"rank {call.root}, expected less than {self.size}")
        if call.kind == "send":
            sums = self.sends.setdefault((own, call.root), [0, 0])
        else:
            sums = self.sums.setdefault(call, {}).setdefault(own, [0, 0])
            self.calls, self.volume = self.calls + 1, self.volume + volume
        sums[0] += volume
        sums[1] += 1

    def add_to(self, traffic: Traffic, members: Sequence[int], model: str | None) -> None:
        """Add all calls; `members` are the tasks of the ranks, `model` None stands for rings and trees."""
        for (own, peer), (volume, count) in self.sends.items():
            traffic.add(members[own], members[peer], volume, count)
        for (kind, root, tree), sums in self.sums.items():
            volumes = [sums.get(rank, (0, 0))[0] for rank in range(self.size)]
            calls = max(count for _, count in sums.values())
            if tree and model is None and self.trees:
                self._along_trees(traffic, members, max(volumes), calls)
            elif model is None and self.rings and kind not in DIRECT:
                self._around_rings(traffic, members, kind, volumes, root, calls)
            else:
                by = "ring" if model is None else model
                traffic.add_collective(kind, by, members, volumes, root, calls)

    def _around_rings(
        self, traffic: Traffic, members: Sequence[int], kind: str, volumes: Sequence[int], root: int,
        calls: int,
    ) -> None:
        for place, ring in enumerate(self.rings.values()):
            own = [_part(volumes[rank], place, len(self.rings)) for rank in ring]
            for source, target, volume, count in expand(kind, "ring", own, ring.index(root), calls):
                traffic.add(members[ring[source]], members[ring[target]], volume, count)

    def _along_trees(self, traffic: Traffic, members: Sequence[int], volume: int, calls: int) -> None:
        """Add an all-reduce: every rank sends to its parent and back."""
        for place, parents in enumerate(self.trees.values()):
            own = _part(volume, place, len(self.trees))
            for child, parent in parents.items():
                traffic.add(members[child], members[parent], own, calls)
                traffic.add(members[parent], members[child], own, calls)

    def add_rings(self, traffic: Traffic, members: Sequence[int]) -> None:
        """Add a byte for each channel from every rank to the next one of the ring."""
        unknown = {channel: list(range(self.size)) for channel in self.cut if not self.rings}
        for ring in (self.rings or unknown).values():
            for source, target in zip(ring, [*ring[1:], ring[0]], strict=True):
                if source != target:
                    traffic.add(members[source], members[target], 1, 1)


def _part(volume: int, place: int, parts: int) -> int:
    """Return part `place` of a volume that is divided as evenly as whole bytes can be."""
    return volume // parts + (place < volume % parts)
