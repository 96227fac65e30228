"""SST DUMPI traces as printed by ``dumpi2ascii``: one file per rank, with calls and their arguments."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import TRACE, Format, Source
from hopbytes.formats.patterns.recorded import (
    Collectives,
    Traffic,
    check_complete,
    chosen_model,
    files_of_set,
)
from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.lines import Lines, shown
from hopbytes.text.open_input import open_stream

DUMPI_FILES = re.compile(r"(?P<before>.*-)(?P<rank>\d{4,9})(?P<after>\.txt)")
CALL = re.compile(rb"(MPIX?_\w{1,80}) (entering|returning) at walltime ")
ARGUMENT = re.compile(rb"(\w+) (\w+)=(.*)")
NAMED = re.compile(rb"\d+ \((\w+)\)")
DUMPI_SIZES = {
    1: "CHAR SIGNED_CHAR UNSIGNED_CHAR BYTE PACKED CHARACTER INTEGER1 C_BOOL INT8_T UINT8_T",
    2: "SHORT UNSIGNED_SHORT INTEGER2 INT16_T UINT16_T",
    4: "INT UNSIGNED FLOAT WCHAR INTEGER REAL LOGICAL INTEGER4 REAL4 INT32_T UINT32_T",
    8: "LONG UNSIGNED_LONG DOUBLE LONG_LONG LONG_LONG_INT UNSIGNED_LONG_LONG DOUBLE_PRECISION COMPLEX 2INT "
    "FLOAT_INT 2INTEGER 2REAL INTEGER8 REAL8 COMPLEX8 INT64_T UINT64_T",
    16: "LONG_DOUBLE DOUBLE_COMPLEX DOUBLE_INT LONG_INT 2DOUBLE_PRECISION REAL16 COMPLEX16",
}
DUMPI_BYTES = {f"MPI_{name}".encode(): size for size, names in DUMPI_SIZES.items() for name in names.split()}
SENDING = re.compile(rb"MPI_(I?[sbr]?send|Sendrecv(_replace)?)", re.IGNORECASE)
DUMPI_KINDS = {
    b"Bcast": "bcast", b"Reduce": "reduce", b"Allreduce": "allreduce", b"Scan": "scan", b"Gather": "gather",
    b"Scatter": "scatter", b"Allgather": "allgather", b"Alltoall": "alltoall", b"Barrier": "barrier",
}  # fmt: skip
WORLD, ITSELF = b"MPI_COMM_WORLD", b"MPI_COMM_SELF"


class Dumpi(Format, form="dumpi"):
    """Only sends are counted, because receives repeat them; a persistent request counts when it is started.

    A text trace gives the sizes of predefined datatypes only, and the ranks of MPI_COMM_WORLD only. Messages
    with other datatypes or communicators are an error. Binary traces must be converted by ``dumpi2ascii``.
    """

    signature = CALL
    summary = "SST DUMPI traces as text (dumpi2ascii), PREFIX-0000.txt and the files of the other ranks"

    def read(self, source: Source) -> CommGraph:
        model = chosen_model(source)
        traffic, collectives, ranks = Traffic(), Collectives(), 0
        for own, lines in files_of_set(source, DUMPI_FILES):
            if own is None:
                what = "a single trace, expected PREFIX-<rank>.txt together with those of the other ranks"
                raise lines.error(what)
            ranks = max(ranks, own + 1)
            _Calls(lines, own, traffic, collectives).read()
        n = 1 + max([ranks - 1, *traffic.targets])
        check_complete(source.name, range(ranks), n)
        notices = collectives.expand_into(traffic, model, n)
        return traffic.graph(source, "dumpi", n, notices=notices, collectives=model)


class _Calls:
    def __init__(self, lines: Lines, own: int, traffic: Traffic, collectives: Collectives) -> None:
        self.lines, self.own, self.traffic, self.collectives = lines, own, traffic, collectives
        self.arguments: dict[bytes, bytes] = {}
        self.persistent: dict[bytes, tuple[int, int]] = {}

    def read(self) -> None:
        call = b""
        for line in self.lines:
            match = CALL.match(line)
            if match and match[2] == b"entering":
                call, self.arguments = match[1], {}
            elif match and match[1] == call:
                self._done(call)
                call = b""
            elif call and (argument := ARGUMENT.match(line.strip())):
                self.arguments.setdefault(argument[2], argument[3].strip())
        if call:
            raise self.lines.error(f"the file ends inside {call[:40].decode()}, expected a complete trace")

    def _done(self, call: bytes) -> None:
        short = call.removeprefix(b"MPI_")
        if SENDING.fullmatch(call):
            first = b"sendcount" in self.arguments
            self._add(*self._message(*((b"sendcount", b"sendtype") if first else (b"count", b"datatype"))))
        elif short.endswith(b"end_init"):
            self.persistent[self._text(b"request")] = self._message(b"count", b"datatype")
        elif short in (b"Start", b"Startall"):
            listed = self.arguments.get(b"request") or self.arguments.get(b"requests") or b""
            for request in re.findall(rb"\d+", listed):
                if b"[" + request + b"]" in self.persistent:
                    self._add(*self.persistent[b"[" + request + b"]"])
        elif short in DUMPI_KINDS and self._is_world():
            self._collective(DUMPI_KINDS[short])

    def _collective(self, kind: str) -> None:
        receives = kind == "scatter"
        count = b"recvcount" if receives else b"sendcount" if b"sendcount" in self.arguments else b"count"
        datatype = b"recvtype" if receives else b"sendtype" if b"sendtype" in self.arguments else b"datatype"
        volume = 0 if kind == "barrier" else self._volume(count, datatype)
        root = self._number(b"root") if b"root" in self.arguments else 0
        self.collectives.add(self.own, kind, volume, root)

    def _message(self, count: bytes, datatype: bytes) -> tuple[int, int]:
        """Return the target (-1 for MPI_PROC_NULL) and the number of bytes."""
        target = self._text(b"dest")
        volume = self._volume(count, datatype)
        if target.startswith(b"-"):  # MPI_PROC_NULL
            return -1, volume
        if self.arguments.get(b"comm", b"").endswith(b"(" + ITSELF + b")"):
            return self.own, volume
        if not self._is_world():
            what = f"a message in communicator {self._text(b'comm')[:40].decode(errors='replace')}"
            why = "whose ranks the trace does not contain, expected MPI_COMM_WORLD"
            raise UnsupportedError(f"{self.lines}: {what}, {why}")
        return self._number(b"dest"), volume

    def _add(self, target: int, volume: int) -> None:
        if target >= 0:
            self.traffic.add(self.own, target, volume, 1)

    def _is_world(self) -> bool:
        return self._text(b"comm").endswith(b"(" + WORLD + b")")

    def _volume(self, count: bytes, datatype: bytes) -> int:
        named = NAMED.fullmatch(self._text(datatype))
        if not named or named[1] not in DUMPI_BYTES:
            unknown = self._text(datatype)[:40].decode(errors="replace")
            what = f"datatype {unknown}, of a size that is not in the trace, expected a predefined datatype"
            raise UnsupportedError(f"{self.lines}: {what}")
        return self._number(count) * DUMPI_BYTES[named[1]]

    def _text(self, name: bytes) -> bytes:
        if name not in self.arguments:
            raise self.lines.error(f"a call without the argument {name.decode()}, expected all arguments")
        return self.arguments[name]

    def _number(self, name: bytes) -> int:
        return self.lines.whole(self._text(name).split(b" ")[0], f"a number as {name.decode()}")


#: ``ti_trace0.txt`` and ``actions0.txt`` count from 0, ``…_rank-1.txt`` of ``smpirun`` from 1.
FROM_ZERO = re.compile(r"(?P<before>.*?(?:trace|actions))(?P<rank>\d{1,9})(?P<after>\.txt|)")
FROM_ONE = re.compile(r"(?P<before>.*rank-)(?P<rank>\d{1,9})(?P<after>\.txt)")
FIRST = re.compile(rb"\A(?:#[^\n]{0,200}\n)?\d+ (init|comm_size|compute)\b")
DECIMAL = re.compile(rb"\d{1,40}(\.\d{0,40})?([eE]\+?\d{1,2})?")
#: Bytes of the predefined datatypes by their numbers in traces (SimGrid 3.32).
TYPE_BYTES = {
    0: 8, 1: 4, 2: 1, 3: 2, 4: 8, 5: 4, 6: 1, 7: 8, 11: 4, 12: 8, 14: 16, 16: 1, 17: 1, 20: 8, 24: 8, 26: 16,
    38: 4,
}  # fmt: skip
#: Default sizes if a line names no datatype: a double after ``init 1``, a byte after ``init`` alone.
BARE, DOUBLE = 1, 8
#: Collectives with one count: their kind, and the positions of count, root and datatype.
PLAIN: dict[bytes, tuple[str, int, int | None, int]] = {
    b"bcast": ("bcast", 0, 1, 2), b"reduce": ("reduce", 0, 2, 3), b"allreduce": ("allreduce", 0, None, 2),
    b"scan": ("scan", 0, None, 2), b"exscan": ("scan", 0, None, 2),
    b"gather": ("gather", 0, 2, 3), b"scatter": ("scatter", 1, 2, 3),
    b"allgather": ("allgather", 0, None, 2), b"alltoall": ("alltoall", 0, None, 2),
}  # fmt: skip


class Simgrid(Format, form="simgrid"):
    """One file per rank, or one for all ranks; receives are not counted, because they repeat the sends."""
    # Collectives are left out unless ``collectives=`` names a model. Traces do not name communicators, so all
    # ranks are assumed to take part. An all-to-all with a count per rank gives the same messages in each
    # model.

    signature = FIRST
    suffixes = (".ti",)
    summary = "time-independent traces of SimGrid's SMPI (smpirun -trace-ti)"

    def read(self, source: Source) -> CommGraph:
        model = chosen_model(source)
        trace = _Trace(model)
        from_one = bool(source.path and FROM_ONE.fullmatch(os.path.basename(source.path)))
        names = FROM_ONE if from_one else FROM_ZERO
        for _, lines in files_of_set(source, names, int(from_one)):
            for fields in _actions(lines):
                trace.take(lines, fields)
        n = max([trace.size - 1, *trace.seen, *trace.traffic.targets], default=-1) + 1
        trace.take_waiting(n)
        check_complete(source.name, trace.seen, n)
        notices = trace.collectives.expand_into(trace.traffic, model, n)
        facts: dict[str, Any] = {"notices": notices, "collectives": model}
        if source.path:
            facts[TRACE] = os.path.abspath(source.path)
        return trace.traffic.graph(source, "simgrid", n, **facts)


def trace_actions(path: str) -> Iterator[tuple[Lines, list[bytes]]]:
    """Yield file and fields of all actions of a trace, rank after rank; `path` is any of its files."""
    names = FROM_ONE if FROM_ONE.fullmatch(os.path.basename(path)) else FROM_ZERO
    with open_stream(path) as opened:
        source = Source(opened.name, opened.stream, path)
        for _, lines in files_of_set(source, names, int(names is FROM_ONE)):
            yield from ((lines, fields) for fields in _actions(lines))


def _actions(lines: Lines) -> Iterator[list[bytes]]:
    for line in lines:
        fields = line.split(b"#", 1)[0].split()
        if len(fields) == 1:
            raise lines.error(f"{shown(fields[0])}, expected a rank and an action")
        if fields:
            yield fields


class _Trace:
    """The state of a reader that processes actions one by one."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.traffic, self.collectives = Traffic(), Collectives()
        self.seen, self.size = set[int](), 0
        self.default: dict[int, int] = {}
        self.waiting: list[tuple[Lines, int, list[bytes]]] = []

    def take(self, lines: Lines, fields: list[bytes]) -> None:
        own, action, values = lines.rank(fields[0]), fields[1].lower(), fields[2:]
        self.lines, self.own, self.values = lines, own, values
        self.seen.add(own)
        if action == b"init":
            self.default[own] = DOUBLE if values else BARE
        elif action == b"comm_size":
            self.size = max(self.size, self._number(0))
        elif action in (b"send", b"isend", b"ssend", b"issend"):
            # Since SimGrid 3.20 there is a tag between the receiver and the count.
            at = 1 if len(values) == 2 else 2
            target, count = self._rank(0), self._number(at)
            self._send(target, count * self._size(at + 1))
        elif action == b"sendrecv":
            self._send(self._rank(1), self._number(0) * self._size(4))
        else:
            self._collective(action.removeprefix(b"i"))

    def _send(self, target: int, volume: int) -> None:
        self.traffic.add(self.own, target, volume, 1)

    def _call(self, kind: str, volume: int, root: int = 0) -> None:
        self.collectives.add(self.own, kind, volume, root)

    def _blocks(self, volumes: list[int]) -> None:
        """Process the part of a rank in an all-to-all with a count per rank."""
        self.collectives.add_parts(self.traffic, self.own, range(len(volumes)), volumes, self.model)

    def _collective(self, action: bytes) -> None:
        if action in PLAIN:
            kind, count_at, root_at, type_at = PLAIN[action]
            has_root = root_at is not None and len(self.values) > root_at
            self._add(kind, count_at, type_at, self._number(root_at) if has_root and root_at else 0)
        elif action == b"barrier":
            self._call("barrier", 0)
        elif action in (b"alltoallv", b"allgatherv", b"gatherv", b"scatterv", b"reducescatter"):
            if self.size:
                self._lists(action)
            else:  # old traces do not contain the number of ranks
                fields = [str(self.own).encode(), action, *self.values]
                self.waiting.append((self.lines, self.lines.number, fields))

    def take_waiting(self, n: int) -> None:
        """Process actions with a count per rank that were met before the number of ranks was known."""
        self.size = n
        for lines, number, fields in self.waiting:
            lines.number = number  # for messages
            self.take(lines, fields)

    def _add(self, kind: str, count_at: int, type_at: int, root: int = 0) -> None:
        self._call(kind, self._number(count_at) * self._size(type_at), root)

    def _lists(self, action: bytes) -> None:
        n = self.size
        if action == b"alltoallv":
            size = self._size(2 + 2 * n)
            self._blocks([self._number(1 + i) * size for i in range(n)])
        elif action == b"allgatherv":
            self._add("allgather", 0, 1 + n)
        elif action == b"gatherv":
            self._add("gather", 0, 2 + n, self._number(1 + n))
        elif action == b"scatterv":
            self._add("scatter", n, 2 + n, self._number(1 + n))
        else:
            self._call("reduce_scatter", self._number(self.own) * self._size(n + 1))

    def _field(self, at: int) -> bytes:
        if at >= len(self.values):
            raise self.lines.error("an incomplete action, expected its counts and ranks")
        return self.values[at]

    def _rank(self, at: int) -> int:
        return self.lines.rank(self._field(at))

    def _number(self, at: int) -> int:
        token = self._field(at)
        if DECIMAL.fullmatch(token):  # converted exactly, such as 2.5e8 or 65536.000000
            value = Fraction(token.decode())
            token = str(value.numerator).encode() if value.denominator == 1 else token
        return self.lines.whole(token)

    def _size(self, at: int) -> int:
        if at >= len(self.values):
            return self.default.get(self.own, BARE)
        token = self.values[at]
        if token.isdigit() and len(token) < 4 and int(token) in TYPE_BYTES:
            return TYPE_BYTES[int(token)]
        what = f"datatype {shown(token)}, whose size traces do not contain, expected a predefined datatype"
        raise UnsupportedError(f"{self.lines}: {what}")


class TraceStep(NamedTuple):
    """What a rank of a trace does: a message is sent or awaited, or all ranks call a collective."""

    #: ``send``, ``isend``, ``ssend``, ``issend``, ``recv``, ``irecv``, ``wait``, ``waitall``, or a kind of
    #: collective (:data:`hopbytes.patterns.collective_messages.KINDS`)
    what: str
    #: the other rank; with ``wait`` the sender; the root of a collective
    peer: int = 0
    tag: int = 0
    bytes: int = 0
    target: int = 0  # with ``wait``, the receiver
    blocks: tuple[int, ...] = ()  # an all-to-all with a count per rank: bytes for each


def steps_of_trace(path: str, tasks: int) -> list[list[TraceStep]]:
    """Return the steps of every rank of a trace, without its computation; `path` is any of its files."""
    order = _Order(tasks)
    for lines, fields in trace_actions(path):
        order.take(lines, fields)
    strange = [own for own in order.steps if own >= tasks]
    if strange:
        raise FormatError(path, None, f"rank {strange[0]}, expected 0 to {tasks - 1}")
    check_complete(path, order.seen, tasks)
    return [order.steps.get(own, []) for own in range(tasks)]


class _Order(_Trace):
    """Keeps the actions of every rank in their order."""

    def __init__(self, tasks: int) -> None:
        super().__init__("ignore")
        self.size, self.action = tasks, ""
        self.steps: dict[int, list[TraceStep]] = {}

    def take(self, lines: Lines, fields: list[bytes]) -> None:
        self.action = fields[1].lower().decode(errors="replace")
        super().take(lines, fields)
        if self.action in ("recv", "irecv"):
            at = 1 if len(self.values) > 2 else None
            self._keep(TraceStep(self.action, self._rank(0), 0 if at is None else self._tag(at)))
        elif self.action == "sendrecv":
            self._keep(TraceStep("recv", self._rank(3)))
        elif self.action == "wait":
            tag = self._tag(2) if len(self.values) > 2 else 0
            self._keep(TraceStep("wait", self._rank(0), tag, target=self._rank(1)))
        elif self.action == "waitall":
            self._keep(TraceStep("waitall"))

    def _keep(self, step: TraceStep) -> None:
        self.steps.setdefault(self.own, []).append(step)

    def _tag(self, at: int) -> int:
        token = self._field(at)
        if token.startswith(b"-"):
            what = f"tag {shown(token)}: which message is received is not known before a replay"
            raise UnsupportedError(f"{self.lines}: {what}, expected a tag")
        return self._number(at)

    def _send(self, target: int, volume: int) -> None:
        plain = self.action == "sendrecv" or len(self.values) == 2
        what = "isend" if self.action == "sendrecv" else self.action
        self._keep(TraceStep(what, target, 0 if plain else self._tag(1), volume))

    def _call(self, kind: str, volume: int, root: int = 0) -> None:
        self._keep(TraceStep(kind, root, bytes=volume))

    def _blocks(self, volumes: list[int]) -> None:
        self._keep(TraceStep("alltoall", bytes=sum(volumes), blocks=tuple(volumes)))
