"""The process that reads an OTF2 archive with the ``otf2`` package, which may crash on a damaged one.

It prints one JSON object: ``ranks``, ``messages`` (source, target, bytes, count) and ``collectives`` (rank,
members, kind, root, bytes, calls).
"""

from __future__ import annotations

import json
import sys
from typing import Any

SENDS = ("MpiSend", "MpiIsend")
COLLECTIVES = ("MpiCollectiveEnd", "NonBlockingCollectiveComplete")
#: Collectives by OTF2's names: the kind in hopbytes, and how the sizes sent and received give the block of
#: one rank. Score-P stores the bytes to all p members together, or to p - 1 members if the data is in place.
KINDS = {
    "BARRIER": ("barrier", "none"), "BCAST": ("bcast", "received"),
    "GATHER": ("gather", "sent"), "GATHERV": ("gather", "sent"),
    "SCATTER": ("scatter", "received"), "SCATTERV": ("scatter", "received"),
    "REDUCE": ("reduce", "sent"), "ALLREDUCE": ("allreduce", "sent to each"),
    "ALLGATHER": ("allgather", "sent to each"), "ALLGATHERV": ("allgather", "sent to each"),
    "ALLTOALL": ("alltoall", "sent to each"), "ALLTOALLV": ("alltoall", "sent to each"),
    "ALLTOALLW": ("alltoall", "sent to each"),
    "REDUCE_SCATTER": ("reduce_scatter", "received from each"),
    "REDUCE_SCATTER_BLOCK": ("reduce_scatter", "received from each"),
    "SCAN": ("scan", "both"), "EXSCAN": ("scan", "both but own"),
}  # fmt: skip
UNEVEN = ("ALLTOALLV", "ALLTOALLW")
NO_ROOT = 2**32 - 1


def _name(value: Any) -> str:
    return str(value).rpartition(".")[2]


def _block(share: str, sent: int, received: int, size: int) -> int:
    """Return the bytes of one rank's block for :func:`hopbytes.patterns.collective_messages.expand`."""
    if share == "none":
        return 0
    if share.startswith("both"):
        times = size - 1 if share == "both but own" or (sent + received) % (size + 1) else size + 1
        return (sent + received) // max(times, 1)
    whole = sent if share.startswith("sent") else received
    if not share.endswith("each"):
        return whole
    in_place = whole % size and size > 1 and whole % (size - 1) == 0
    return -(-whole // (size - 1 if in_place else size))


class Sums:
    """Running sums of all events."""

    def __init__(self, definitions: Any) -> None:
        self.messages: dict[tuple[int, int], list[int]] = {}
        self.collectives: dict[tuple[int, tuple[int, ...], str, int], list[int]] = {}
        self.members: dict[int, tuple[tuple[int, ...], ...]] = {}
        self.uneven = self.unknown = self.between = 0
        self.rank: dict[Any, int] = {}
        for group in definitions.groups:
            if _name(group.group_type) == "COMM_LOCATIONS" and _name(group.paradigm) == "MPI":
                # The threads of a rank are different locations in one group of locations.
                self.rank = {member.group: number for number, member in enumerate(group.members)}

    def groups_of(self, comm: Any) -> tuple[tuple[int, ...], ...]:
        """Return the world ranks of the group of a communicator, or of both if there are two."""
        # Both kinds of communicators share one range of references.
        if comm._ref not in self.members:
            sides = (comm.groupA, comm.groupB) if hasattr(comm, "groupA") else (comm.group,)
            self.members[comm._ref] = tuple(tuple(self.rank[m.group] for m in side.members) for side in sides)
        return self.members[comm._ref]

    def peer(self, own: int, comm: Any, place: int) -> int:
        """Return the world rank of a member; in an intercommunicator, of a member of the remote group."""
        sides = self.groups_of(comm)
        side = sides[1] if len(sides) == 2 and own in sides[0] else sides[0]
        return side[place] if side else own  # the group of MPI_COMM_SELF is stored as empty

    def send(self, source: int, target: int, volume: int) -> None:
        sums = self.messages.setdefault((source, target), [0, 0])
        sums[0] += volume
        sums[1] += 1

    def collective(self, own: int, event: Any) -> None:
        sides = self.groups_of(event.communicator)
        if len(sides) == 2:
            self.between += 1
            return
        members, name = sides[0], _name(event.collective_op)
        if name not in KINDS:
            # Operations that create communicators and windows transfer no data.
            self.unknown += bool(event.size_sent or event.size_received)
            return
        if own not in members or len(members) < 2:
            return
        kind, share = KINDS[name]
        self.uneven += name in UNEVEN
        root = 0 if event.root == NO_ROOT else event.root
        sums = self.collectives.setdefault((own, members, kind, root), [0, 0])
        sums[0] += _block(share, event.size_sent, event.size_received, len(members))
        sums[1] += 1

    def one_sided(self, own: int, kind: str, event: Any) -> None:
        """Count a put (data from this rank), a get (data from the other rank) or an atomic (both ways)."""
        other = self.peer(own, event.win.comm, event.remote)
        if kind == "RmaPut":
            self.send(own, other, event.bytes)
        elif kind == "RmaGet":
            self.send(other, own, event.bytes)
        else:
            self.send(own, other, event.bytes_sent)
            self.send(other, own, event.bytes_received)

    def take(self, location: Any, event: Any) -> None:
        kind = type(event).__name__
        own = self.rank.get(location.group)
        if own is None:
            return
        if kind in SENDS:
            self.send(own, self.peer(own, event.communicator, event.receiver), event.msg_length)
        elif kind in COLLECTIVES:
            self.collective(own, event)
        elif kind in ("RmaPut", "RmaGet", "RmaAtomic") and _name(event.win.comm.group.paradigm) == "MPI":
            self.one_sided(own, kind, event)

    def rows(self) -> dict[str, Any]:
        return {
            "ranks": len(self.rank), "uneven": self.uneven, "unknown": self.unknown, "between": self.between,
            "messages": [[*pair, *sums] for pair, sums in self.messages.items()],
            "collectives": [[*call, *sums] for call, sums in self.collectives.items()],
        }


def main(path: str) -> None:
    """Read an archive and print its sums."""
    import otf2

    with otf2.reader.open(path) as archive:
        sums = Sums(archive.definitions)
        for location, event in iter(archive.events) if sums.rank else ():
            sums.take(location, event)
        print(json.dumps(sums.rows()))


if __name__ == "__main__":
    main(sys.argv[1])
