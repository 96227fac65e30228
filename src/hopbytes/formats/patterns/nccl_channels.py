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
    """A communicator of `size` ranks.

    Attributes
    ----------
    gpus : dict of int to tuple
        The GPU of every rank that the log names.
    rings : dict of int to list of int
        For each channel the ranks in the order of its ring.
    trees : dict of int to dict of int to int
        For each channel the parent of every rank but the root.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.gpus: dict[int, tuple[bytes, ...]] = {}
        self.rings: dict[int, list[int]] = {}
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

    def add_ring(self, channel: int, ranks: list[int]) -> None:
        """Add the ring of a channel; ValueError unless it has every rank once."""
        if len(ranks) != self.size or sorted(ranks) != list(range(self.size)):
            raise ValueError(f"a ring of {len(ranks)} ranks, expected each of {self.size} once")
        self.rings[channel] = ranks

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
        for ring in self.rings.values():
            for source, target in zip(ring, [*ring[1:], ring[0]], strict=True):
                if source != target:
                    traffic.add(members[source], members[target], 1, 1)


def _part(volume: int, place: int, parts: int) -> int:
    """Return part `place` of a volume that is divided as evenly as whole bytes can be."""
    return volume // parts + (place < volume % parts)
