"""Time-independent traces of SimGrid's SMPI: the actions of every rank, one per line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fractions import Fraction
from io import BufferedReader
from typing import Any

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import TRACE, Format, Source, formats
from hopbytes.formats.parsing import shown
from hopbytes.formats.patterns.recorded import (
    Collectives,
    Traffic,
    check_complete,
    chosen_model,
    files_of_set,
    left_out,
    number,
    rank,
)
from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.lines import bounded_lines
from hopbytes.text.open_input import open_stream

#: ``ti_trace0.txt`` and ``actions0.txt`` count from 0, ``…_rank-1.txt`` of ``smpirun`` from 1.
FROM_ZERO = re.compile(r"(?P<before>.*?(?:trace|actions))(?P<rank>\d{1,9})(?P<after>\.txt|)")
FROM_ONE = re.compile(r"(?P<before>.*rank-)(?P<rank>\d{1,9})(?P<after>\.txt)")
FIRST = re.compile(rb"\d+ (init|comm_size|compute)\b")
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


class Simgrid(Format):
    """One file per rank, or one for all ranks; receives are not counted, because they repeat the sends.

    Collectives are left out unless ``collectives=`` names a model. Traces do not name communicators, so all
    ranks are assumed to take part. An all-to-all with a count per rank gives the same messages in each model.
    """

    holds = "pattern"
    suffixes = (".ti",)
    summary = "time-independent traces of SimGrid's SMPI (smpirun -trace-ti)"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the file begins with a typical first action of a rank."""
        return FIRST.match(head) is not None

    def read(self, source: Source) -> CommGraph:
        """Return directed traffic; volumes are counts times the sizes of their datatypes."""
        model = chosen_model(source)
        trace = _Trace(model)
        from_one = bool(source.path and FROM_ONE.fullmatch(os.path.basename(source.path)))
        names = FROM_ONE if from_one else FROM_ZERO
        for _, name, stream in files_of_set(source, names, int(from_one)):
            for place, fields in _actions(name, stream):
                trace.take(name, place, fields)
        n = max([trace.size - 1, *trace.seen, *trace.traffic.targets], default=-1) + 1
        trace.take_waiting(n)
        check_complete(source.name, trace.seen, n)
        trace.collectives.expand_into(trace.traffic, model, n)
        notices = left_out(model, trace.collectives.calls, trace.collectives.volume)
        facts: dict[str, Any] = {"notices": notices, "collectives": model}
        if source.path:
            facts[TRACE] = os.path.abspath(source.path)
        return trace.traffic.graph(source, "simgrid", n, **facts)


formats.register("simgrid")(Simgrid())


def trace_actions(path: str) -> Iterator[tuple[str, int, list[bytes]]]:
    """Yield name, line and fields of all actions of a trace, rank after rank; `path` is any of its files."""
    names = FROM_ONE if FROM_ONE.fullmatch(os.path.basename(path)) else FROM_ZERO
    with open_stream(path) as opened:
        source = Source(opened.name, opened.stream, path)
        for _, name, stream in files_of_set(source, names, int(names is FROM_ONE)):
            for place, fields in _actions(name, stream):
                yield name, place, fields


def _actions(name: str, stream: BufferedReader) -> Iterator[tuple[int, list[bytes]]]:
    for place, line in bounded_lines(stream, name):
        fields = line.split(b"#", 1)[0].split()
        if len(fields) == 1:
            raise FormatError(name, place, f"{shown(fields[0])}, expected a rank and an action")
        if fields:
            yield place, fields


class _Trace:
    """The state of a reader that processes actions one by one."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.traffic, self.collectives = Traffic(), Collectives()
        self.seen, self.size = set[int](), 0
        self.default: dict[int, int] = {}
        self.waiting: list[tuple[str, int, list[bytes]]] = []

    def take(self, name: str, place: int, fields: list[bytes]) -> None:
        """Process one action."""
        self.name, self.place = name, place
        own, action, values = rank(name, place, fields[0]), fields[1].lower(), fields[2:]
        self.own, self.values = own, values
        self.seen.add(own)
        if action == b"init":
            self.default[own] = DOUBLE if values else BARE
        elif action == b"comm_size":
            self.size = max(self.size, self._number(0))
        elif action in (b"send", b"isend", b"ssend", b"issend"):
            # Since SimGrid 3.20 there is a tag between the receiver and the count.
            at = 1 if len(values) == 2 else 2
            self._send(rank(name, place, self._field(0)), self._number(at), at + 1)
        elif action == b"sendrecv":
            self._send(rank(name, place, self._field(1)), self._number(0), 4)
        else:
            self._collective(action.removeprefix(b"i"))

    def _send(self, target: int, count: int, type_at: int) -> None:
        self.traffic.add(self.own, target, count * self._size(type_at), 1)

    def _collective(self, action: bytes) -> None:
        if action in PLAIN:
            kind, count_at, root_at, type_at = PLAIN[action]
            has_root = root_at is not None and len(self.values) > root_at
            self._add(kind, count_at, type_at, self._number(root_at) if has_root and root_at else 0)
        elif action == b"barrier":
            self.collectives.add(self.own, "barrier", 0)
        elif action in (b"alltoallv", b"allgatherv", b"gatherv", b"scatterv", b"reducescatter"):
            if self.size:
                self._lists(action)
            else:  # old traces do not contain the number of ranks
                self.waiting.append((self.name, self.place, [str(self.own).encode(), action, *self.values]))

    def take_waiting(self, n: int) -> None:
        """Process actions with a count per rank that were met before the number of ranks was known."""
        self.size = n
        for name, place, fields in self.waiting:
            self.take(name, place, fields)

    def _add(self, kind: str, count_at: int, type_at: int, root: int = 0) -> None:
        self.collectives.add(self.own, kind, self._number(count_at) * self._size(type_at), root)

    def _lists(self, action: bytes) -> None:
        """Process a collective with a count per rank."""
        n = self.size
        if action == b"alltoallv":
            size = self._size(2 + 2 * n)
            counts = [self._number(1 + i) * size for i in range(n)]
            self.collectives.calls += 1
            self.collectives.volume += sum(counts)
            if self.model != "ignore":
                for target, volume in enumerate(counts):
                    if target != self.own:
                        self.traffic.add(self.own, target, volume, 1)
        elif action == b"allgatherv":
            self._add("allgather", 0, 1 + n)
        elif action == b"gatherv":
            self._add("gather", 0, 2 + n, self._number(1 + n))
        elif action == b"scatterv":
            self._add("scatter", n, 2 + n, self._number(1 + n))
        else:
            self.collectives.add(self.own, "reduce_scatter", self._number(self.own) * self._size(n + 1))

    def _field(self, at: int) -> bytes:
        if at >= len(self.values):
            raise FormatError(self.name, self.place, "an incomplete action, expected its counts and ranks")
        return self.values[at]

    def _number(self, at: int) -> int:
        token = self._field(at)
        if DECIMAL.fullmatch(token):  # converted exactly, such as 2.5e8 or 65536.000000
            value = Fraction(token.decode())
            token = str(value.numerator).encode() if value.denominator == 1 else token
        return number(self.name, self.place, token, "a whole number")

    def _size(self, at: int) -> int:
        if at >= len(self.values):
            return self.default.get(self.own, BARE)
        token = self.values[at]
        if token.isdigit() and len(token) < 4 and int(token) in TYPE_BYTES:
            return TYPE_BYTES[int(token)]
        what = f"datatype {shown(token)}, whose size traces do not contain, expected a predefined datatype"
        raise UnsupportedError(f"{self.name}:{self.place}: {what}")
