"""Reference implementations of the text parsers.

The compiled parsers accept text that is cut anywhere. The reference implementations process only whole lines
and leave an unfinished line for the next call, so the buffer of the caller must grow to the longest line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hopbytes._arrays import Float64, Int32, Int64, UInt8
from hopbytes.kernels.records import Slot, Status

MAX_INT64 = 2**63 - 1


class _FaultError(Exception):
    def __init__(self, status: Status, begin: int, end: int) -> None:
        self.status, self.begin, self.end = status, begin, end


LONGEST_TOKEN = 4096

_TOKEN = re.compile(rb"[^ \t\r\n]+")
_FIELD = re.compile(rb"[^ \t\r\n,]+")
_REAL = re.compile(rb"-?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def _lines(text: bytes, final: bool) -> Iterator[tuple[int, int, bool]]:
    """Yield (begin, end, whether a newline ends it) of every complete line."""
    begin = 0
    while (end := text.find(b"\n", begin)) >= 0:
        yield begin, end, True
        begin = end + 1
    if final:
        yield begin, len(text), False


def _tokens(
    pattern: re.Pattern[bytes], text: bytes, begin: int, end: int
) -> Iterator[tuple[int, int, bytes]]:
    for match in pattern.finditer(text, begin, end):
        yield match.start(), match.end(), match.group()


def _whole(token: bytes, begin: int, end: int) -> int:
    if not re.fullmatch(rb"[0-9]+", token) or len(token) >= LONGEST_TOKEN:
        negative = token.startswith(b"-") and len(token) > 1
        raise _FaultError(Status.NEGATIVE if negative else Status.NOT_A_NUMBER, begin, end)
    if int(token) > MAX_INT64:
        raise _FaultError(Status.TOO_LARGE, begin, end)
    return int(token)


def _run(text: UInt8, final: bool, state: Int64, line_parser: object) -> int:
    """Pass complete lines to `line_parser(content, begin, end, finished)` until one is faulty."""
    content, used = text.tobytes(), 0
    state[Slot.STATUS] = Status.DONE
    for begin, end, finished in _lines(content, final):
        try:
            line_parser(content, begin, end, finished)  # type: ignore[operator]
        except _FaultError as fault:
            state[[Slot.STATUS, Slot.BEGIN, Slot.END]] = fault.status, fault.begin, fault.end
            return begin if fault.status in (Status.ROOM, Status.DECIMAL) else fault.begin
        used = end + 1 if finished else end
        state[Slot.LINE] += finished
    return used


def parse_metis(
    text: UInt8, final: bool, state: Int64, indptr: Int64, targets: Int32, weights: Int64, loads: Int64
) -> int:
    """Fill rows from the vertex lines of a METIS file; return the number of bytes used."""
    n, sizes, ncon, weighted = (
        int(state[s]) for s in (Slot.VERTICES, Slot.SIZES, Slot.LOADS, Slot.EDGE_WEIGHTS)
    )

    def take_line(content: bytes, begin: int, end: int, finished: bool) -> None:
        row, first = int(state[Slot.ROW]), int(state[Slot.ARCS])
        line = content[begin:end].strip(b" \t\r")
        if line.startswith(b"%"):
            state[Slot.COMMENTS] += row < n
        if line.startswith(b"%") and finished:
            return
        if line.startswith(b"%"):
            line, begin = b"", end
        if row >= n and line:
            place = _TOKEN.search(content, begin, end)
            raise _FaultError(Status.TOO_MANY_LINES, *(place.span() if place else (begin, end)))
        if row >= n or (not finished and not line and row + 1 < n):
            return
        found: dict[int, int] = {}
        load = waiting = None
        twice = False
        for field, (start, stop, token) in enumerate(_tokens(_TOKEN, content, begin, end)):
            value = _whole(token, start, stop)
            if field < sizes + ncon:
                load = value if field == sizes else load
            elif waiting is not None:
                found[waiting], waiting = value, None
            elif not 1 <= value <= n:
                raise _FaultError(Status.OUT_OF_RANGE, start, stop)
            elif value == row + 1:
                raise _FaultError(Status.LOOP, start, stop)
            else:
                twice |= value - 1 in found
                found[value - 1] = 1
                waiting = value - 1 if weighted else None
        if len(line.split()) < sizes + ncon:
            raise _FaultError(Status.MISSING_LOAD, end, end)
        if waiting is not None:
            raise _FaultError(Status.MISSING_WEIGHT, end, end)
        if twice:
            raise _FaultError(Status.DUPLICATE, end, end)
        last = first + len(found)
        if row + 1 >= len(indptr) or last > len(targets) or (ncon and row >= len(loads)):
            raise _FaultError(Status.ROOM, begin, end)
        targets[first:last] = sorted(found)
        if weighted:
            weights[first:last] = [found[j] for j in sorted(found)]
        if load is not None:
            loads[row] = load
        indptr[row + 1] = state[Slot.ARCS] = last
        state[Slot.ROW] = row + 1

    return _run(text, final, state, take_line)


def _table(text: UInt8, final: bool, state: Int64, values: NDArray[np.generic], real: bool) -> int:
    columns, task_columns, limit, whole = (
        int(state[s]) for s in (Slot.COLUMNS, Slot.TASK_COLUMNS, Slot.TASK_LIMIT, Slot.WHOLE_COLUMNS)
    )

    def number(token: bytes, begin: int, end: int, column: int) -> float:
        if not real:
            try:
                return _whole(token, begin, end)
            except _FaultError:
                if re.fullmatch(rb"(?=.*\d)(?=.*[.eE])[-+0-9.eE]*", token):
                    raise _FaultError(Status.DECIMAL, begin, end) from None
                raise
        if not _REAL.fullmatch(token) or len(token) >= LONGEST_TOKEN:
            raise _FaultError(Status.NOT_A_NUMBER, begin, end)
        value = float(token)
        if value < 0:
            raise _FaultError(Status.NEGATIVE, begin, end)
        if value >= 2.0**63:
            raise _FaultError(Status.TOO_LARGE, begin, end)
        if whole >> column & 1 and value != math.floor(value):
            raise _FaultError(Status.NOT_WHOLE, begin, end)
        return value

    def take_line(content: bytes, begin: int, end: int, finished: bool) -> None:
        comment = re.search(rb"[#%]", content[begin:end])
        stop = begin + comment.start() if comment else end
        fields = content[begin:stop].split(b",")
        if not content[begin:stop].strip():
            return
        row: list[float] = []
        for start, after, token in _tokens(_FIELD, content, begin, stop):
            if len(row) >= columns:
                raise _FaultError(Status.WRONG_COUNT, start, after)
            value = number(token, start, after, len(row))
            if len(row) < task_columns and value > limit:
                raise _FaultError(Status.OUT_OF_RANGE, start, after)
            row.append(value)
        if len(fields) > 1 and any(not field.strip() for field in fields):
            raise _FaultError(Status.EMPTY_FIELD, end, end)
        if len(row) != columns:
            raise _FaultError(Status.WRONG_COUNT, end, end)
        first = int(state[Slot.ARCS])
        if first + columns > len(values):
            raise _FaultError(Status.ROOM, begin, end)
        values[first : first + columns] = row
        state[Slot.ARCS] = first + columns

    return _run(text, final, state, take_line)


def parse_table(text: UInt8, final: bool, state: Int64, values: Int64) -> int:
    """Fill `values` with the integers of a table, row by row; return the number of bytes used."""
    return _table(text, final, state, values, real=False)


def parse_real_table(text: UInt8, final: bool, state: Int64, values: Float64) -> int:
    """Fill `values` with the numbers of a table, row by row; return the number of bytes used."""
    return _table(text, final, state, values, real=True)
