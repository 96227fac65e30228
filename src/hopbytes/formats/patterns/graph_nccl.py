"""Logs of NCCL (``NCCL_DEBUG=INFO``): rings and trees of its channels, and the calls that use them."""

from __future__ import annotations

import re
from typing import NamedTuple

from hopbytes.errors import FormatError, ScaleError, UnsupportedError
from hopbytes.formats.base import Format, Source, formats
from hopbytes.formats.patterns.nccl_channels import Call, Channels
from hopbytes.formats.patterns.nccl_lines import Said, Thread, said, said_in_files
from hopbytes.formats.patterns.recorded import Traffic, check_complete
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.collective_messages import check_model
from hopbytes.util.integers import MAX_SUM

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


class NcclLog(Format):
    """The log of all ranks, as ``mpirun`` prints it, or a file for each process (NCCL_DEBUG_FILE=nccl.%h.%p).

    ``NCCL_DEBUG_SUBSYS=INIT,GRAPH,COLL`` logs ranks, rings and calls, ``TUNING`` the algorithms too. An
    all-reduce goes around the rings of its communicator, in equal parts, or up and down the trees of the log
    where a line of TUNING says so for its size; ``collectives=`` names another model. NCCL cuts rings of
    many ranks in the log: then the neighbours that each rank logs count, or else the model ``ring``. A log
    without calls tells the rings alone. Ranks are those of the communicator of all GPUs.

    Sources: NCCL 2.x user guide ("Environment variables"), ``src/collectives.cc``, ``src/init.cc``,
    ``src/enqueue.cc``, ``src/graph/rings.cc`` and ``src/transport`` (texts of the lines), the same of RCCL,
    logs in issues 671, 1189 and 1609 of NVIDIA/nccl and in public reports of versions 2.4 to 2.28.
    """

    holds = "pattern"
    summary = "logs of NCCL and RCCL (NCCL_DEBUG=INFO): calls along the rings and trees of the log"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the start of the file has lines of NCCL."""
        return b" NCCL INFO " in head and any(said(line) for line in head.splitlines())

    def read(self, source: Source) -> CommGraph:
        """Return the messages of all calls, or of one byte per channel where the log has none."""
        model = source.options.get("collectives")
        log = _Log(source.name, None if model is None else check_model(model))
        for name, place, words in said_in_files(source):
            log.take(name, place, words)
        return log.graph(source)


formats.register("nccl")(NcclLog())


def _add_channel(member: _Member, text: bytes) -> None:
    """Add what a line tells about rings and trees to the communicator that its thread sets up."""
    comm, own = member
    if text.startswith(b"Connected all "):
        comm.connected(own, text.startswith(b"Connected all rings"))
    elif text.startswith(b"Trees "):
        for tree in TREE.finditer(text):
            one, other = ([int(rank) for rank in tree[group].split(b"/")] for group in (2, 4))
            up, below = (one, other) if len(other) > len(one) else (other, one)  # NCCL 2.4 has them reversed
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

    def take(self, name: str, place: int, words: Said) -> None:
        """Process a line."""
        text = words.text
        member, choice, call = MEMBER.search(text), CHOICE.match(text), CALL.match(text)
        try:
            if member:
                self._join(words, member)
            elif choice:
                if choice[3].upper() in TREES:
                    self.trees.add(((choice[1] or b"").lower(), int(choice[2])))
            elif call:
                self._call(words, call)
            elif text.startswith(ABOUT_CHANNELS):
                self._channel(words)
        except (UnsupportedError, ScaleError) as error:
            raise type(error)(f"{name}:{place}: {error}") from None
        except ValueError as error:
            raise FormatError(name, place, str(error)) from None

    def _channel(self, words: Said) -> None:
        """Process a line about channels: of the communicator it names, or that its thread sets up.

        Connections that are made later, for the first call, belong to the only communicator in which the
        process has their rank.
        """
        named = ITS_COMM.search(words.text)
        member = self.members.get((*words.thread[:2], named[1])) if named else self.current.get(words.thread)
        if member is None and self.announces and (link := LINK.match(words.text)):
            own = int(link[3] if link[4] == b"receive" else link[2])
            candidates = [found for found in self.of_process.get(words.thread[:2], []) if found.rank == own]
            member = candidates[0] if len(candidates) == 1 else None
        if member is not None:
            _add_channel(member, words.text)
        elif not self.announces:
            self.early.setdefault(words.thread, []).append(words.text)

    def _join(self, words: Said, found: re.Match[bytes]) -> None:
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
                what = f"two communicators of {size} ranks without commId, which cannot be told apart"
                raise UnsupportedError(f"{what}, expected a log of a newer NCCL")
            comm.join(rank, size, gpu)
            known = self.members[host, pid, found[1]] = _Member(comm, rank)
            self.of_process.setdefault((host, pid), []).append(known)
        if b"Destroy" in found[4] or b"Abort" in found[4]:
            return
        if b"COMPLETE" in found[4]:
            for text in self.early.pop(
                words.thread, []
            ):  # up to NCCL 2.17 lines of channels are before this one
                _add_channel(known, text)
            self.current.pop(words.thread, None)
        else:
            self.announces = True
            self.current[words.thread] = known

    def _call(self, words: Said, found: re.Match[bytes]) -> None:
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
            if lost:
                how = (
                    f"in {len(lost)} of {len(self.comms)} communicators the model ring stands for all of them"
                )
            else:
                how = "they are made from what each rank says about its neighbours"
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
