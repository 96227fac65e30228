"""SST DUMPI traces as printed by ``dumpi2ascii``: one file per rank, with calls and their arguments."""

from __future__ import annotations

import re
from io import BufferedReader

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import Format, Source, formats
from hopbytes.formats.patterns.recorded import (
    Collectives,
    Traffic,
    check_complete,
    chosen_model,
    files_of_set,
    left_out,
    number,
)
from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.lines import bounded_lines

PARTS = re.compile(r"(?P<before>.*-)(?P<rank>\d{4,9})(?P<after>\.txt)")
CALL = re.compile(rb"(MPIX?_\w{1,80}) (entering|returning) at walltime ")
ARGUMENT = re.compile(rb"(\w+) (\w+)=(.*)")
NAMED = re.compile(rb"\d+ \((\w+)\)")
BYTES = {
    1: "CHAR SIGNED_CHAR UNSIGNED_CHAR BYTE PACKED CHARACTER INTEGER1 C_BOOL INT8_T UINT8_T",
    2: "SHORT UNSIGNED_SHORT INTEGER2 INT16_T UINT16_T",
    4: "INT UNSIGNED FLOAT WCHAR INTEGER REAL LOGICAL INTEGER4 REAL4 INT32_T UINT32_T",
    8: "LONG UNSIGNED_LONG DOUBLE LONG_LONG LONG_LONG_INT UNSIGNED_LONG_LONG DOUBLE_PRECISION COMPLEX 2INT "
    "FLOAT_INT 2INTEGER 2REAL INTEGER8 REAL8 COMPLEX8 INT64_T UINT64_T",
    16: "LONG_DOUBLE DOUBLE_COMPLEX DOUBLE_INT LONG_INT 2DOUBLE_PRECISION REAL16 COMPLEX16",
}
TYPE_BYTES = {f"MPI_{name}".encode(): size for size, names in BYTES.items() for name in names.split()}
SENDING = re.compile(rb"MPI_(I?[sbr]?send|Sendrecv(_replace)?)", re.IGNORECASE)
KINDS = {
    b"Bcast": "bcast", b"Reduce": "reduce", b"Allreduce": "allreduce", b"Scan": "scan", b"Gather": "gather",
    b"Scatter": "scatter", b"Allgather": "allgather", b"Alltoall": "alltoall", b"Barrier": "barrier",
}  # fmt: skip
WORLD, ITSELF = b"MPI_COMM_WORLD", b"MPI_COMM_SELF"


class Dumpi(Format):
    """Only sends are counted, because receives repeat them; a persistent request counts when it is started.

    A text trace gives the sizes of predefined datatypes only, and the ranks of MPI_COMM_WORLD only. Messages
    with other datatypes or communicators are an error. Binary traces must be converted by ``dumpi2ascii``.
    """

    holds = "pattern"
    summary = "SST DUMPI traces as text (dumpi2ascii), PREFIX-0000.txt and the files of the other ranks"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the start of the file contains a call."""
        return CALL.search(head) is not None

    def read(self, source: Source) -> CommGraph:
        """Return directed traffic; collectives are left out unless ``collectives=`` names a model."""
        model = chosen_model(source)
        traffic, collectives, ranks = Traffic(), Collectives(), 0
        for own, name, stream in files_of_set(source, PARTS):
            if own is None:
                what = "a single trace, expected PREFIX-<rank>.txt together with those of the other ranks"
                raise FormatError(name, None, what)
            ranks = max(ranks, own + 1)
            _Calls(name, own, traffic, collectives).read(stream)
        n = 1 + max([ranks - 1, *traffic.targets])
        check_complete(source.name, range(ranks), n)
        collectives.expand_into(traffic, model, n)
        notices = left_out(model, collectives.calls, collectives.volume)
        return traffic.graph(source, "dumpi", n, notices=notices, collectives=model)


formats.register("dumpi")(Dumpi())


class _Calls:
    """Reads the calls of one rank."""

    def __init__(self, name: str, own: int, traffic: Traffic, collectives: Collectives) -> None:
        self.name, self.own, self.traffic, self.collectives = name, own, traffic, collectives
        self.arguments: dict[bytes, bytes] = {}
        self.persistent: dict[bytes, tuple[int, int]] = {}
        self.place = 0

    def read(self, stream: BufferedReader) -> None:
        call = b""
        for place, line in bounded_lines(stream, self.name):
            self.place = place
            match = CALL.match(line)
            if match and match[2] == b"entering":
                call, self.arguments = match[1], {}
            elif match and match[1] == call:
                self._done(call.removeprefix(b"MPI_"), call)
                call = b""
            elif call and (argument := ARGUMENT.match(line.strip())):
                self.arguments.setdefault(argument[2], argument[3].strip())
        if call:
            what = f"the file ends inside {call[:40].decode()}, expected a complete trace"
            raise FormatError(self.name, self.place, what)

    def _done(self, short: bytes, call: bytes) -> None:
        if SENDING.fullmatch(call):
            first = b"sendcount" in self.arguments
            self._send(b"sendcount" if first else b"count", b"sendtype" if first else b"datatype")
        elif short.endswith(b"end_init"):
            self.persistent[self._text(b"request")] = self._message(b"count", b"datatype")
        elif short in (b"Start", b"Startall"):
            listed = self.arguments.get(b"request") or self.arguments.get(b"requests") or b""
            for request in re.findall(rb"\d+", listed):
                if b"[" + request + b"]" in self.persistent:
                    target, volume = self.persistent[b"[" + request + b"]"]
                    self._add(target, volume)
        elif short in KINDS and self._is_world():
            self._collective(KINDS[short])

    def _collective(self, kind: str) -> None:
        receives = kind == "scatter"
        count = b"recvcount" if receives else b"sendcount" if b"sendcount" in self.arguments else b"count"
        datatype = b"recvtype" if receives else b"sendtype" if b"sendtype" in self.arguments else b"datatype"
        volume = 0 if kind == "barrier" else self._volume(count, datatype)
        root = self._number(b"root") if b"root" in self.arguments else 0
        self.collectives.add(self.own, kind, volume, root)

    def _send(self, count: bytes, datatype: bytes) -> None:
        self._add(*self._message(count, datatype))

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
            raise UnsupportedError(f"{self.name}:{self.place}: {what}, {why}")
        return self._number(b"dest"), volume

    def _add(self, target: int, volume: int) -> None:
        if target >= 0:
            self.traffic.add(self.own, target, volume, 1)

    def _is_world(self) -> bool:
        return self._text(b"comm").endswith(b"(" + WORLD + b")")

    def _volume(self, count: bytes, datatype: bytes) -> int:
        named = NAMED.fullmatch(self._text(datatype))
        if not named or named[1] not in TYPE_BYTES:
            found = self._text(datatype)[:40].decode(errors="replace")
            what = f"datatype {found}, whose size the trace does not contain, expected a predefined datatype"
            raise UnsupportedError(f"{self.name}:{self.place}: {what}")
        return self._number(count) * TYPE_BYTES[named[1]]

    def _text(self, name: bytes) -> bytes:
        if name not in self.arguments:
            what = f"a call without the argument {name.decode()}, expected all arguments"
            raise FormatError(self.name, self.place, what)
        return self.arguments[name]

    def _number(self, name: bytes) -> int:
        return number(self.name, self.place, self._text(name).split(b" ")[0], f"a number as {name.decode()}")
