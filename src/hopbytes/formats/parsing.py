"""Run the compiled parsers over a stream: feed pieces, turn faults into error messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Array, Int64, UInt8
from hopbytes.errors import FormatError, ScaleError
from hopbytes.formats.base import Source
from hopbytes.kernels.records import Slot, Status
from hopbytes.text.lines import shown
from hopbytes.util.integers import MAX_TASKS

PIECE_BYTES = 1 << 20

#: Initial capacity of arrays of unknown length; the system maps memory only when it is written.
INITIAL_CAPACITY = 1 << 20

#: Longest line that Python code reads: a header, or the first row of a dense matrix.
LONGEST_LINE = 1 << 26

#: Number of tasks that is accepted however few arcs a file has.
TASKS_WITHOUT_ARCS = 1 << 24

MAX_INT64 = 2**63 - 1


def first_line(source: Source, comments: bytes, after: int = 0) -> tuple[int, bytes]:
    """Consume comments and blank lines; return the number and content of the first other line."""
    # `after` is the number of lines that were read before. Raises FormatError if there is no such line or it
    # is longer than `LONGEST_LINE`.
    number = after
    while line := source.stream.readline(LONGEST_LINE):
        number += 1
        text = line.strip()
        is_comment = text[:1] != b"" and text[:1] in comments
        while not line.endswith(b"\n") and len(line) == LONGEST_LINE:
            if not is_comment:
                raise FormatError(source.name, number, f"the line has more than {LONGEST_LINE} bytes")
            line = source.stream.readline(LONGEST_LINE)
        if text and not is_comment:
            return number, line
    raise FormatError(source.name, number or None, "nothing but comments and blank lines, expected numbers")


def check_tasks(source: Source, line: int | None, n: int, arcs: int) -> None:
    """Raise FormatError for a number of tasks far above the number of arcs, before memory is allocated."""
    most = min(MAX_TASKS, max(TASKS_WITHOUT_ARCS, 16 * arcs))
    if n > most:
        what = f"{n} tasks, expected at most {most} with {arcs} arcs: number the tasks without gaps"
        raise FormatError(source.name, line, what)


def parsed(
    source: Source, parse: Callable[[UInt8, bool, Int64], int], state: Int64, start: bytes = b""
) -> Iterator[tuple[Status, bytes]]:
    """Feed a stream to a parser, and yield the status and token wherever it stops."""
    # Whoever takes them makes room or raises an error; the parser then goes on.
    buffer = bytearray(max(PIECE_BYTES, 2 * len(start)))
    buffer[: len(start)] = start
    filled, final = len(start), False
    while not final:
        if filled == len(buffer):  # the parser consumes whole lines, and this one is longer than the buffer
            buffer.extend(bytes(len(buffer)))
        with memoryview(buffer) as view:
            got = source.stream.readinto(view[filled:])
        filled, final = filled + got, got == 0
        text = np.frombuffer(buffer, np.uint8)
        used = parse(text[:filled], final, state)
        at = 0  # start of the last call; the parser reports positions of faults relative to it
        while state[Slot.STATUS] != Status.DONE:
            begin, end = at + int(state[Slot.BEGIN]), at + int(state[Slot.END])
            yield Status(int(state[Slot.STATUS])), bytes(text[begin : max(end, begin + 1)])
            at = used
            used += parse(text[at:filled], final, state)
        del text  # a bytearray cannot be resized while an array refers to its memory
        buffer[: filled - used] = buffer[used:filled]
        filled -= used


def whole_numbers(name: str, line: int, text: bytes) -> Int64:
    """Return the integers >= 0 of a text that begins in a line; blanks and line ends separate them."""
    if text.translate(None, b"0123456789 \t\r\n"):
        wrong = next(re.finditer(rb"[^\s]*[^0-9\s][^\s]*", text))
        line += text.count(b"\n", 0, wrong.start())
        raise FormatError(name, line, f"{shown(wrong[0])}, expected an integer >= 0")
    long = re.search(rb"[0-9]{19}", text)
    if long is not None:
        line += text.count(b"\n", 0, long.start())
        raise ScaleError(f"{name}:{line}: {shown(long[0])} and more digits, expected less than 10^18")
    return np.array(text.split(), "S").astype(np.int64)


#: Error messages by status. {token} is the faulty token in quotes.
SENTENCES = {
    Status.DECIMAL: "{token}, expected an integer >= 0",
    Status.NOT_A_NUMBER: "{token}, expected a number",
    Status.NEGATIVE: "{token}, expected a number >= 0",
    Status.NOT_WHOLE: "{token}, expected a whole number",
    Status.LOOP: "vertex {number} is its own neighbour, expected no loops",
    Status.DUPLICATE: "a neighbour is listed twice",
    Status.MISSING_WEIGHT: "the last neighbour has no edge weight, which the header promises",
    Status.MISSING_LOAD: "fewer vertex weights than the header promises",
    Status.TOO_MANY_LINES: "more lines than vertices",
    Status.EMPTY_FIELD: "an empty field between commas, expected a number",
    Status.MIXED: "numbers separated by commas and by blanks, expected one of both in a line",
}


def raise_fault(source: Source, state: Int64, status: Status, token: bytes, expected: str = "") -> NoReturn:
    """Raise the error for a fault; `expected` completes the messages that depend on the format."""
    line = int(state[Slot.LINE])
    number = token[:40].decode("ascii", "replace")
    if status is Status.TOO_LARGE:
        try:
            divisor = int(float(token)) // MAX_INT64 + 1
            tens = len(str(divisor)) - 1
            shown_divisor = divisor if tens < 12 else f"{divisor // 10**tens + 1}e{tens}"
            factor = f"by {shown_divisor} or more"
        except OverflowError:
            factor = "until they fit"
        raise ScaleError(f"{source.name}:{line}: {number} is more than 2^63 - 1: divide all values {factor}")
    if status is Status.OUT_OF_RANGE:
        raise FormatError(source.name, line, f"task {number}, expected {expected}")
    if status is Status.WRONG_COUNT:
        raise FormatError(source.name, line, f"a different number of fields, expected {expected}")
    raise FormatError(source.name, line, SENTENCES[status].format(token=shown(token), number=number))


def read_table(
    source: Source, columns: int, line: int, start: bytes, *,
    task_columns: int = 0, task_first: int = 0, task_limit: int = 0, whole_columns: int = 0,
) -> tuple[Array, int]:
    """Read lines of `columns` numbers each."""
    state = np.zeros(len(Slot), np.int64)
    state[Slot.LINE], state[Slot.COLUMNS] = line, columns
    state[Slot.TASK_COLUMNS], state[Slot.TASK_LIMIT] = task_columns, task_limit
    state[Slot.WHOLE_COLUMNS] = whole_columns
    # The capacity is a multiple of the row length; each number takes at least two bytes with its separator.
    room = INITIAL_CAPACITY if source.size is None else (source.size + len(start)) // 2 + 1
    room = (room // columns + 1) * columns
    values: Array = np.empty(room, np.int64)

    def parse(text: UInt8, final: bool, state: Int64) -> int:
        return kernels.parse_table(text, final, state, values)

    for status, token in parsed(source, parse, state, start):
        if status is Status.DECIMAL and values.dtype == np.int64:
            room, filled = len(values), values[: state[Slot.ARCS]].astype(np.float64)
            values = filled  # only the entries parsed so far are converted
            values.resize(room, refcheck=False)
        elif status is Status.ROOM:
            # Resizing may move the array, which is safe: the compiled code keeps no pointer between calls.
            values.resize(2 * len(values), refcheck=False)
        else:
            tasks = f"{task_first} to {task_limit}" + " (tasks count from 0)" * (task_first == 0)
            bound = tasks if status is Status.OUT_OF_RANGE else f"{columns} in each line"
            raise_fault(source, state, status, token, bound)

    values.resize(int(state[Slot.ARCS]), refcheck=False)
    return values.reshape(-1, columns), int(state[Slot.LINE]) - (state[Slot.FIELD] == 0)


def filled(numbers: Array, stream: Any) -> bool:
    """Read an array of numbers from a binary stream; return whether there were as many."""
    left = numbers.view(np.uint8)
    while len(left) and (got := stream.readinto(left.data)):
        left = left[got:]
    return not len(left)


# Lists of labels of OpenFOAM: a header ``FoamFile { … }``, then ``N ( … )`` or ``N { value }``.
FOAM_COMMENT = re.compile(rb"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
FOAM_HEADER = re.compile(rb"\s*FoamFile\s*\{([^{}]*)\}")
FOAM_LIST = re.compile(rb"\s*(?:([0-9]{1,10})\s*)?(?:\(([^(){}]*)\)|\{\s*([0-9]{1,18})\s*\})\s*")


def is_label_list(head: bytes) -> bool:
    """Tell whether a file begins as a list of labels of OpenFOAM."""
    header = FOAM_HEADER.match(FOAM_COMMENT.sub(b"", head))
    return header is not None and _foam_entry(header[1], b"class") == b"labelList"


def read_labels(name: str, data: bytes) -> Int64:
    """Return the labels of a file; comments may stand anywhere."""
    text = FOAM_COMMENT.sub(lambda match: b"\n" * match[0].count(b"\n"), data)
    header = FOAM_HEADER.match(text)
    if header is None:
        raise FormatError(name, 1, "no header FoamFile { … }, expected a list of labels of OpenFOAM")
    kind = _foam_entry(header[1], b"class").decode("ascii", "replace")
    if kind != "labelList":
        raise FormatError(name, None, f"class {kind[:40]!r}, expected labelList")
    if _foam_entry(header[1], b"format") != b"ascii":
        what = "binary labels, expected format ascii (foamFormatConvert with writeFormat ascii)"
        raise FormatError(name, None, what)
    match = FOAM_LIST.fullmatch(text, header.end())
    rest = len(text[header.end() :].lstrip())
    line = 1 + text.count(b"\n", 0, len(text) - rest)
    if match is None or (match[3] is not None and not match[1]):
        raise FormatError(name, line, "no list behind the header, expected N ( label … ) or N { label }")
    count = int(match[1]) if match[1] else None
    if count is not None and count > MAX_TASKS:
        raise FormatError(name, line, f"{count} labels, expected at most {MAX_TASKS}")
    if match[3] is not None:
        return np.full(int(match[1]), int(match[3]), np.int64)
    labels = whole_numbers(name, 1 + text.count(b"\n", 0, match.start(2)), match[2])
    if count is not None and len(labels) != count:
        raise FormatError(name, line, f"{len(labels)} labels, expected {count} as the list says")
    return labels


def _foam_entry(header: bytes, key: bytes) -> bytes:
    """Return the value of an entry of a header; empty if there is none."""
    match = re.search(rb"(?:^|[;\s])" + key + rb"\s+([^;\s]+)\s*;", header)
    return match[1] if match else b""
