"""Logs of NCCL (``NCCL_DEBUG=INFO``): rings and trees of its channels, and the calls that use them."""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from hopbytes._util.integers import MAX_SUM
from hopbytes.errors import FormatError, ScaleError, UnsupportedError
from hopbytes.formats.base import Format, Source, formats
from hopbytes.formats.patterns.nccl_channels import Call, Channels
from hopbytes.formats.patterns.recorded import Traffic, check_complete, lines
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.collective_messages import check_model

#: ``host:pid:tid [device] NCCL INFO text``; RCCL and newer releases put a time before ``NCCL``.
LINE = re.compile(
    rb"([A-Za-z0-9._-]+):([0-9]{1,10}):([0-9]{1,10}) (?:\[([0-9]{1,4})\] )?[^:]{0,40}?NCCL INFO (.*)"
)
MEMBER = re.compile(rb"comm (0x[0-9a-f]+) rank ([0-9]{1,9}) n[rR]anks ([0-9]{1,9})(.*)")
BUS = re.compile(rb" busId ([0-9a-f]+)")
COMM_ID = re.compile(rb" commId (0x[0-9a-f]+)")
RING = re.compile(rb"Channel ([0-9]{1,4})/[0-9]{1,4} :((?:\s+[0-9]{1,9})+)\s*")
TREE = re.compile(
    rb"\[([0-9]{1,4})\] ((?:-1|[0-9]{1,9})(?:/(?:-1|[0-9]{1,9})){0,2})->([0-9]{1,9})->(-1|[0-9]{1,9})"
)
CALL = re.compile(
    rb"([A-Za-z]+): opCount [0-9a-f]+ sendbuff \S+ recvbuff \S+ count ([0-9]{1,19}) datatype ([0-9]{1,4}) "
    rb"op [0-9]+ root ([0-9]{1,9}) comm (0x[0-9a-f]+)"
)
CHOICE = re.compile(rb"(?:([A-Za-z]+): )?([0-9]{1,19}) Bytes -> Algo ([A-Za-z0-9_]+)")
#: Host, process and another number of the process.
Words: TypeAlias = tuple[bytes, bytes, bytes]
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
    """The log of all ranks in one file, as ``mpirun`` prints it, or ``cat nccl.*.log`` of NCCL_DEBUG_FILE.

    ``NCCL_DEBUG_SUBSYS=INIT,GRAPH,COLL`` logs ranks, rings and calls, ``TUNING`` the algorithms too. An
    all-reduce goes around the rings of its communicator, in equal parts, or up and down the trees of the log
    where a line of TUNING says so for its size; ``collectives=`` names another model. A log without calls
    tells the rings alone. Ranks are those of the communicator of all GPUs.

    Sources: NCCL 2.x user guide ("Environment variables"), ``src/collectives.cc``, ``src/init.cc`` and
    ``src/enqueue.cc`` (texts of the lines), logs in issues 671, 1189 and 1609 of NVIDIA/nccl.
    """

    holds = "pattern"
    summary = "logs of NCCL and RCCL (NCCL_DEBUG=INFO): calls along the rings and trees of the log"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the start of the file has lines of NCCL."""
        return b" NCCL INFO " in head and LINE.search(head) is not None

    def read(self, source: Source) -> CommGraph:
        """Return the messages of all calls, or of one byte per channel where the log has none."""
        model = source.options.get("collectives")
        log = _Log(source.name, None if model is None else check_model(model))
        for place, line in lines(source.stream, source.name):
            found = LINE.search(line)
            if found:
                log.take(place, found)
        return log.graph(source)


formats.register("nccl")(NcclLog())


def _add_channel(comm: Channels, text: bytes) -> None:
    """Add the ring or the trees of a line to the communicator that its thread sets up."""
    ring = RING.fullmatch(text)
    if ring:
        comm.add_ring(int(ring[1]), [int(word) for word in ring[2].split()])
    elif text.startswith(b"Trees "):
        for tree in TREE.finditer(text):
            comm.add_tree(int(tree[1]), int(tree[3]), int(tree[4]), [int(i) for i in tree[2].split(b"/")])


class _Member(NamedTuple):
    """A rank of a communicator, and the communicator."""

    rank: int
    comm: Channels


class _Log:
    """What was read so far; `model` None stands for the rings and trees of the log."""

    def __init__(self, name: str, model: str | None) -> None:
        self.name, self.model = name, model
        self.comms: dict[tuple[bytes, int], Channels] = {}
        self.members: dict[Words, _Member] = {}
        self.current: dict[Words, _Member] = {}
        self.early: dict[Words, list[bytes]] = {}
        self.made: dict[tuple[Words, int], int] = {}
        self.trees = set[tuple[bytes, int]]()

    def take(self, place: int, found: re.Match[bytes]) -> None:
        """Process a line."""
        host, pid, thread, device, text = found.groups()
        member, choice, call = MEMBER.search(text), CHOICE.match(text), CALL.match(text)
        try:
            if member:
                self._join((host, pid, thread), device, member)
            elif choice:
                if choice[3].upper() in TREES:
                    self.trees.add(((choice[1] or b"").lower(), int(choice[2])))
            elif call:
                self._call(host, pid, call)
            elif (host, pid, thread) in self.current:
                _add_channel(self.current[host, pid, thread].comm, text)
            elif RING.fullmatch(text) or text.startswith(b"Trees "):
                self.early.setdefault((host, pid, thread), []).append(text)
        except (UnsupportedError, ScaleError) as error:
            raise type(error)(f"{self.name}:{place}: {error}") from None
        except ValueError as error:
            raise FormatError(self.name, place, str(error)) from None

    def _join(self, thread: Words, device: bytes | None, found: re.Match[bytes]) -> None:
        """Add a rank to its communicator; repeated lines about it change nothing."""
        host, pid, _ = thread
        rank, size = int(found[2]), int(found[3])
        comm_id, bus = COMM_ID.search(found[4]), BUS.search(found[4])
        known = self.members.get((host, pid, found[1]))
        # The address of a communicator that is gone may be used again.
        if known and comm_id and self.comms.get((comm_id[1], 0)) is not known.comm:
            known = None
        if known and (known.rank, known.comm.size) != (rank, size):
            known = None
        if known is None:
            gpu = (host, pid, device or (bus[1] if bus else b""))
            key = (comm_id[1], 0) if comm_id else (b"", 0)
            if not comm_id:  # programs make communicators of a size in the same order on all ranks
                key = (found[3], self.made.setdefault((gpu, size), 0))
                self.made[gpu, size] += 1
            comm = self.comms.setdefault(key, Channels(size))
            if not comm_id and comm.gpus.get(rank, gpu) != gpu:
                what = f"two communicators of {size} ranks without commId, which cannot be told apart"
                raise UnsupportedError(f"{what}, expected a log of a newer NCCL")
            comm.join(rank, size, gpu)
            known = self.members[host, pid, found[1]] = _Member(rank, comm)
        if b"Init COMPLETE" in found[4]:  # up to NCCL 2.17 the only line, behind those of channels
            for text in self.early.pop(thread, []):
                _add_channel(known.comm, text)
            self.current.pop(thread, None)
        elif b"Destroy" not in found[4] and b"Abort" not in found[4]:
            self.current[thread] = known

    def _call(self, host: bytes, pid: bytes, found: re.Match[bytes]) -> None:
        kind, member = KINDS.get(found[1].lower()), self.members.get((host, pid, found[5]))
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
        if not called:
            return ["the log has no calls: one byte per channel (expected NCCL_DEBUG_SUBSYS=INIT,GRAPH,COLL)"]
        calls = sum(comm.calls for comm in self.comms.values())
        volume = sum(comm.volume for comm in self.comms.values())
        how = {None: "along the rings and trees of the log", "ignore": "left out"}.get(
            self.model, f"by the model {self.model}"
        )
        return [f"{calls} collective calls of {volume} bytes: {how}"] if calls else []
