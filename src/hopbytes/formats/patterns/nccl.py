"""Lines of NCCL and RCCL in the output of a job: who says what, in one file or in a file for each process."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from hopbytes.errors import FormatError, ScaleError, UnsupportedError
from hopbytes.formats.base import Format, Source
from hopbytes.formats.patterns.recorded import Traffic, check_complete, faults
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.collective_messages import check_model
from hopbytes.text.lines import Lines
from hopbytes.text.open_input import open_stream
from hopbytes.util.integers import MAX_SUM

#: What follows ``host:process:thread [device]`` in every line; RCCL and newer releases put a time before it.
MARK = b" NCCL INFO "
#: Bytes before the mark in which the head of a line is looked for. Launchers and frameworks put labels there.
HEAD_BYTES = 400
HEAD = re.compile(
    rb"(?<![A-Za-z0-9._-])([A-Za-z0-9._-]{1,255}):([0-9]{1,10}):([0-9]{1,10})"
    rb"(?: \[([0-9]{1,4})\])?[^:]{0,40}$"
)
#: Files of a job that NCCL writes for its processes, at most.
MOST_FILES = 2**17
#: Host, process and another number of the process.
Thread: TypeAlias = tuple[bytes, bytes, bytes]


class LogLine(NamedTuple):
    """A line of a thread: the number of its GPU in the process, if the line has it, and the text."""

    thread: Thread
    device: bytes | None
    text: bytes


def lines_in(line: bytes) -> list[LogLine]:
    """Return the lines of threads in a line of text; those of several processes may be mixed."""
    lines: list[LogLine] = []
    mark, end = line.rfind(MARK), len(line)
    while mark >= 0:
        begin = max(0, mark - HEAD_BYTES)
        head = HEAD.search(line[begin:mark])
        if head:
            host, process, thread, device = head.groups()
            lines.append(LogLine((host, process, thread), device, line[mark + len(MARK) : end].rstrip()))
            end = begin + head.start()
        mark = line.rfind(MARK, 0, mark)
    return lines[::-1]


def log_lines(source: Source) -> Iterator[tuple[Lines, LogLine]]:
    """Yield (where, what a line says) of a log, with the files of all processes if there is one for each."""
    # The name of such a file has the host and the process of its lines (``NCCL_DEBUG_FILE=nccl.%h.%p.log``);
    # the others are those of the folder whose names differ in nothing else.
    first: LogLine | None = None
    lines = Lines(source.stream, source.name)
    for words in (words for line in lines for words in lines_in(line)):
        first = first or words
        yield lines, words
    for path in () if first is None else _others(source.path or "", *first.thread[:2]):
        with open_stream(path, max_bytes=source.max_bytes) as opened:
            lines = Lines(opened.stream, opened.name)
            yield from ((lines, words) for line in lines for words in lines_in(line))


def _others(path: str, host: bytes, process: bytes) -> list[str]:
    """Return the files of the other processes; none unless the name of the file has its own process."""
    folder, name = os.path.split(path)
    any_other = {process.decode(): "[0-9]{1,10}", host.decode(): "[A-Za-z0-9._-]{1,255}"}
    own = re.compile("|".join(rf"(?<![0-9A-Za-z]){re.escape(part)}(?![0-9A-Za-z])" for part in any_other))
    parts = own.findall(name)
    if process.decode() not in parts or len(set(parts)) != len(parts):
        return []
    between = [re.escape(piece) for piece in own.split(name)]
    pattern = between[0] + "".join(
        any_other[part] + rest for part, rest in zip(parts, between[1:], strict=True)
    )
    alike = [o for o in sorted(os.listdir(folder or ".")) if o != name and re.fullmatch(pattern, o, re.ASCII)]
    return [found for o in alike[:MOST_FILES] if os.path.isfile(found := os.path.join(folder, o))]


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

    def _check(self, what: str, *ranks: int) -> None:
        if max(ranks) >= self.size:
            raise ValueError(f"{what}rank {max(ranks)}, expected less than {self.size}")

    def add_next(self, channel: int, rank: int, after: int) -> None:
        """Add the rank behind another one in the ring of a channel."""
        self._check("", rank, after)
        self.next.setdefault(channel, {})[rank] = after

    def add_link(self, channel: int, own: int, source: int, target: int) -> None:
        """Add a connection of rank `own`: its first ones in a channel are those of the ring."""
        self._check("", source, target)
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
        self._check("a tree with ", own, up, *children)
        parents = self.trees.setdefault(channel, {})
        for child, parent in ((own, up), *((child, own) for child in children)):
            if min(child, parent) >= 0:
                parents[child] = parent

    def add_call(self, call: Call, own: int, volume: int) -> None:
        """Add a call of rank `own` with `volume` bytes, or a send to the rank ``call.root``."""
        self._check("", call.root)
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
        for part, ring in enumerate(self.rings.values()):
            own = [_part(volumes[rank], part, len(self.rings)) for rank in ring]
            along = [members[rank] for rank in ring]
            traffic.add_collective(kind, "ring", along, own, ring.index(root), calls)

    def _along_trees(self, traffic: Traffic, members: Sequence[int], volume: int, calls: int) -> None:
        """Add an all-reduce: every rank sends to its parent and back."""
        for part, parents in enumerate(self.trees.values()):
            own = _part(volume, part, len(self.trees))
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


MEMBER = re.compile(rb"comm (0x[0-9a-f]{1,16}) rank ([0-9]{1,9}) n[rR]anks ([0-9]{1,9})(.*)")
BUS = re.compile(rb" busId ([0-9a-f]{1,16})")
COMM_ID = re.compile(rb" commId (0x[0-9a-f]{1,16})")
SPLIT = re.compile(rb" parent (0x[0-9a-f]{1,16}) splitCount ([0-9]{1,9}) color (-?[0-9]{1,10}) ")
#: RCCL ends lines about channels with the communicator.
ITS_COMM = re.compile(rb" comm (0x[0-9a-f]{1,16}) nRanks ")
RING = re.compile(rb"(?:Channel|Ring) ([0-9]{1,4})(?:/[0-9]{1,4})? : *([0-9][0-9 ]*)(\.\.\.)?$")
NEIGHBOURS = re.compile(rb"Ring ([0-9]{1,4}) : ([0-9]{1,9}) -> ([0-9]{1,9}) -> ([0-9]{1,9})(?: comm |$)")
#: Connection 0 of a channel is that of rings and trees, others those of sends.
LINK = re.compile(
    rb"(?:Channel|Ring) ([0-9]{1,4})(?:/0)? : ([0-9]{1,9})\[[0-9a-f]{1,16}\] -> "
    rb"([0-9]{1,9})\[[0-9a-f]{1,16}\] (?:\[(send|receive)\] )?via "
)
TREE = re.compile(
    rb"\[([0-9]{1,4})\] (-?[0-9]{1,9}(?:/-?[0-9]{1,9}){0,2})->([0-9]{1,9})->"
    rb"(-?[0-9]{1,9}(?:/-?[0-9]{1,9}){0,2})"
)
ABOUT_CHANNELS = (b"Channel ", b"Ring ", b"Trees ", b"Connected all ")
CALL = re.compile(
    rb"([A-Za-z]{1,40}): opCount [0-9a-f]{1,16} sendbuff \S{1,40} recvbuff \S{1,40} count ([0-9]{1,19}) "
    rb"datatype ([0-9]{1,4}) op [0-9]{1,9} root ([0-9]{1,9}) comm (0x[0-9a-f]{1,16})"
)
CHOICE = re.compile(rb"(?:([A-Za-z]{1,40}): )?([0-9]{1,19}) Bytes -> Algo ([A-Za-z0-9_]{1,40})")
#: Bytes of the numbers of ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, float16, float32,
#: float64, bfloat16, float8e4m3, float8e5m2.
TYPE_BYTES = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)
KINDS = {
    b"allreduce": "allreduce", b"allgather": "allgather", b"reducescatter": "reduce_scatter",
    b"broadcast": "bcast", b"bcast": "bcast", b"reduce": "reduce", b"alltoall": "alltoall",
    b"gather": "gather", b"scatter": "scatter", b"send": "send", b"recv": "recv",
}  # fmt: skip
TREES = (b"TREE", b"0")  # tuning lines name the algorithm, older ones by its number


class NcclLog(Format, form="nccl"):
    """The log of all ranks, as mpirun prints it, or a file for each process (NCCL_DEBUG_FILE=nccl.%h.%p)."""
    # ``NCCL_DEBUG_SUBSYS=INIT,GRAPH,COLL`` logs ranks, rings and calls, ``TUNING`` the algorithms too. An
    # all-reduce goes around the rings of its communicator, in equal parts, or up and down the trees of the
    # log where a line of TUNING says so for its size; ``collectives=`` names another model. NCCL cuts rings
    # of many ranks in the log: then the neighbours that each rank logs count, or else the model ``ring``. A
    # log without calls tells the rings alone. Ranks are those of the communicator of all GPUs.
    # Sources: NCCL 2.x user guide ("Environment variables"), ``src/collectives.cc``, ``src/init.cc``,
    # ``src/enqueue.cc``, ``src/graph/rings.cc`` and ``src/transport`` (texts of the lines), the same of RCCL,
    # logs in issues 671, 1189 and 1609 of NVIDIA/nccl and in public reports of versions 2.4 to 2.28.

    summary = "logs of NCCL and RCCL (NCCL_DEBUG=INFO): calls along the rings and trees of the log"

    def sniff(self, name: str, head: bytes) -> bool:
        return b" NCCL INFO " in head and any(lines_in(line) for line in head.splitlines())

    def read(self, source: Source) -> CommGraph:
        model = source.options.get("collectives")
        log = _Log(source.name, None if model is None else check_model(model))
        for lines, words in log_lines(source):
            with faults(lines.name, lines.number):
                log.take(words)
        return log.graph(source)


def _add_channel(member: _Member, text: bytes) -> None:
    """Add what a line tells about rings and trees to the communicator that its thread sets up."""
    comm, own = member
    if text.startswith(b"Connected all "):
        comm.connected(own, text.startswith(b"Connected all rings"))
    elif text.startswith(b"Trees "):
        for tree in TREE.finditer(text):
            left, right = ([int(rank) for rank in tree[group].split(b"/")] for group in (2, 4))
            up, below = (left, right) if len(right) > len(left) else (right, left)  # NCCL 2.4: reversed
            comm.add_tree(int(tree[1]), int(tree[3]), up[0], below)
    elif ring := RING.match(text):
        comm.add_ring(int(ring[1]), [int(word) for word in ring[2].split()], cut=ring[3] is not None)
    elif near := NEIGHBOURS.match(text):
        before, rank, after = (int(word) for word in near.groups()[1:])
        if rank == own:
            comm.add_next(int(near[1]), before, own)
            comm.add_next(int(near[1]), own, after)
    elif link := LINK.match(text):
        channel, source, target = (int(word) for word in link.groups()[:3])
        if own == (target if link[4] == b"receive" else source):
            comm.add_link(channel, own, source, target)


class _Member(NamedTuple):
    """A rank of a communicator, and the communicator."""

    comm: Channels
    rank: int


class _Log:
    """What was read so far; `model` None stands for the rings and trees of the log."""

    def __init__(self, name: str, model: str | None) -> None:
        self.name, self.model = name, model
        self.comms: dict[tuple[object, ...], Channels] = {}
        self.members: dict[Thread, _Member] = {}
        self.current: dict[Thread, _Member] = {}
        self.early: dict[Thread, list[bytes]] = {}
        self.made: dict[tuple[Thread, int], int] = {}
        self.trees = set[tuple[bytes, int]]()
        self.of_process: dict[tuple[bytes, bytes], list[_Member]] = {}
        self.announces = False  # since NCCL 2.18 communicators are named before their channels are

    def take(self, words: LogLine) -> None:
        text = words.text
        if member := MEMBER.search(text):
            self._join(words, member)
        elif choice := CHOICE.match(text):
            if choice[3].upper() in TREES:
                self.trees.add(((choice[1] or b"").lower(), int(choice[2])))
        elif call := CALL.match(text):
            self._call(words, call)
        elif text.startswith(ABOUT_CHANNELS):
            self._channel(words)

    def _channel(self, words: LogLine) -> None:
        """Process a line about channels: of the communicator it names, or that its thread sets up."""
        named = ITS_COMM.search(words.text)
        member = self.members.get((*words.thread[:2], named[1])) if named else self.current.get(words.thread)
        # Connections for the first call belong to the only communicator in which the process has their rank.
        if member is None and self.announces and (link := LINK.match(words.text)):
            own = int(link[3] if link[4] == b"receive" else link[2])
            ranks = self.of_process.get(words.thread[:2], [])
            candidates = [candidate for candidate in ranks if candidate.rank == own]
            member = candidates[0] if len(candidates) == 1 else None
        if member is not None:
            _add_channel(member, words.text)
        elif not self.announces:
            self.early.setdefault(words.thread, []).append(words.text)

    def _join(self, words: LogLine, found: re.Match[bytes]) -> None:
        """Add a rank to its communicator; repeated lines about it change nothing."""
        host, pid, _ = words.thread
        rank, size = int(found[2]), int(found[3])
        comm_id, bus, split = (search.search(found[4]) for search in (COMM_ID, BUS, SPLIT))
        known = self.members.get((host, pid, found[1]))
        # The address of a communicator that is gone may be used again.
        if known and comm_id and self.comms.get((comm_id[1],)) is not known.comm:
            known = None
        if known and (known.rank, known.comm.size) != (rank, size):
            known = None
        if known is None:
            gpu = (host, pid, words.device or (bus[1] if bus else b""))
            parent = self.members.get((host, pid, split[1])) if split else None
            if comm_id:
                key: tuple[object, ...] = (comm_id[1],)
            elif split and parent:
                key = (id(parent.comm), *split.groups()[1:])
            else:  # programs make communicators of a size in the same order on all ranks
                key = (size, self.made.setdefault((gpu, size), 0))
                self.made[gpu, size] += 1
            comm = self.comms.setdefault(key, Channels(size))
            if len(key) == 2 and comm.gpus.get(rank, gpu) != gpu:
                what = f"two communicators of {size} ranks without commId, which cannot be distinguished"
                raise UnsupportedError(f"{what}, expected a log of a newer NCCL")
            comm.join(rank, size, gpu)
            known = self.members[host, pid, found[1]] = _Member(comm, rank)
            self.of_process.setdefault((host, pid), []).append(known)
        if b"Destroy" in found[4] or b"Abort" in found[4]:
            return
        if b"COMPLETE" in found[4]:
            # Up to NCCL 2.17 lines of channels are before this one.
            for text in self.early.pop(words.thread, []):
                _add_channel(known, text)
            self.current.pop(words.thread, None)
        else:
            self.announces = True
            self.current[words.thread] = known

    def _call(self, words: LogLine, found: re.Match[bytes]) -> None:
        kind, member = KINDS.get(found[1].lower()), self.members.get((*words.thread[:2], found[5]))
        if kind is None:
            raise UnsupportedError(f"call {found[1].decode()!r}, which hopbytes does not know")
        if member is None:
            what = f"communicator {found[5].decode()}, expected its ranks before (NCCL_DEBUG_SUBSYS=INIT)"
            raise ValueError(what)
        count, which, root = (int(found[i]) for i in (2, 3, 4))
        if which >= len(TYPE_BYTES):
            raise UnsupportedError(f"datatype {which}, whose size is not known")
        volume = count * TYPE_BYTES[which]
        if volume > MAX_SUM:
            raise ScaleError(f"{volume} bytes, expected at most 2^63 - 1")
        if kind != "recv":
            tree = kind == "allreduce" and not self.trees.isdisjoint({(b"allreduce", volume), (b"", volume)})
            member.comm.add_call(Call(kind, root, tree), member.rank, volume)

    def graph(self, source: Source) -> CommGraph:
        """Return the pattern over the ranks of the largest communicator."""
        comms = list(self.comms.values())
        if not comms:
            what = "no rank of a communicator, expected lines of NCCL_DEBUG_SUBSYS=INIT"
            raise FormatError(self.name, None, what)
        world = max(comms, key=lambda comm: comm.size)
        check_complete(self.name, world.gpus, world.size)
        ranks, traffic = {gpu: rank for rank, gpu in world.gpus.items()}, Traffic()
        called = any(comm.calls or comm.sends for comm in comms)
        for comm in comms:
            comm.close_rings()
            check_complete(self.name, comm.gpus, comm.size)
            outside = next((gpu for gpu in comm.gpus.values() if gpu not in ranks), None)
            if outside is not None:
                what = f"a GPU of {outside[0].decode()} outside the {world.size} of the largest communicator"
                raise FormatError(self.name, None, what)
            members = [ranks[comm.gpus[rank]] for rank in range(comm.size)]
            if called:
                comm.add_to(traffic, members, self.model)
            else:
                comm.add_rings(traffic, members)
        hosts = [world.gpus[rank][0].decode() for rank in range(world.size)]
        return traffic.graph(source, "nccl", world.size, notices=self._notices(called), hosts=hosts)

    def _notices(self, called: bool) -> list[str]:
        cut = [comm for comm in self.comms.values() if comm.cut]
        lost = [comm for comm in cut if not comm.rings]
        notices = []
        if cut and self.model is None:
            what = f"the log does not show {sum(len(comm.cut) for comm in cut)} rings as a whole"
            how = "they are made from the neighbours that each rank logs"
            if lost:
                among = f"{len(lost)} of {len(self.comms)} communicators"
                how = f"in {among} the model ring stands for all of them"
            notices = [f"{what}: {how}"]
        if not called:
            how = "one byte per channel (expected NCCL_DEBUG_SUBSYS=INIT,GRAPH,COLL)"
            return [*notices, f"the log has no calls: {how}"]
        calls = sum(comm.calls for comm in self.comms.values())
        volume = sum(comm.volume for comm in self.comms.values())
        how = {None: "along the rings and trees of the log", "ignore": "left out"}.get(
            self.model, f"by the model {self.model}"
        )
        return [*notices, f"{calls} collective calls of {volume} bytes: {how}"] if calls else notices
