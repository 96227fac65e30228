"""Files of fixed and forbidden PEs of single tasks: every line lists tasks, then PEs."""

from __future__ import annotations

import os

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.errors import FormatError
from hopbytes.text.cpu_lists import number_range
from hopbytes.text.lines import bounded_lines
from hopbytes.text.open_input import open_stream

COMMENTS = (b"#", b"%")
#: Largest number of forbidden pairs of a task and a PE; each takes 16 bytes.
MOST_PAIRS = 2**27


def read_fixed(path: str | os.PathLike[str], n: int, k: int) -> Int32:
    """Read lines ``TASKS PE``: the tasks must be mapped to that PE."""
    # TASKS is a list such as ``3``, ``0-5`` or ``0-5,8``, or ``*`` for all. Lines that begin with ``#`` or
    # ``%`` are comments; the file may be compressed. O(size + tasks named).
    fixed = np.full(n, -1, np.int32)
    for name, number, tasks, pes in _lines(path, n, k):
        if len(pes) != 1:
            raise FormatError(name, number, f"{len(pes)} PEs, expected the one the tasks must be on")
        taken = tasks[(fixed[tasks] >= 0) & (fixed[tasks] != pes[0])]
        if len(taken):
            what = f"task {taken[0]} on PE {pes[0]}, but a line above fixes it to PE {fixed[taken[0]]}"
            raise FormatError(name, number, what)
        fixed[tasks] = pes[0]
    return fixed


def read_forbidden(path: str | os.PathLike[str], n: int, k: int) -> Int64:
    """Read lines ``TASKS PES``: the tasks must not be mapped to any of those PEs."""
    # Both are lists such as ``3``, ``0-5,8``, or ``*`` for all; see `read_fixed` for the parameters.
    pairs, count = [np.empty((0, 2), np.int64)], 0
    for name, number, tasks, pes in _lines(path, n, k):
        count += len(tasks) * len(pes)
        if count > MOST_PAIRS:
            what = f"{count} pairs of a task and a PE, expected at most {MOST_PAIRS}"
            raise FormatError(name, number, what)
        pairs.append(np.stack([np.repeat(tasks, len(pes)), np.tile(pes, len(tasks))], axis=1))
    return np.concatenate(pairs)


def _lines(path: str | os.PathLike[str], n: int, k: int) -> list[tuple[str, int, Int64, Int64]]:
    rows = []
    with open_stream(path) as opened:
        for number, line in bounded_lines(opened.stream, opened.name):
            words = line.split()
            if not words or words[0].startswith(COMMENTS):
                continue
            if len(words) != 2:
                count = "1 word" if len(words) == 1 else f"{len(words)} words"
                raise FormatError(opened.name, number, f"{count}, expected tasks and PEs like '0-3 7'")
            tasks = _numbers(opened.name, number, words[0], n, "task")
            rows.append((opened.name, number, tasks, _numbers(opened.name, number, words[1], k, "PE")))
    return rows


def _numbers(name: str, line: int, text: bytes, limit: int, what: str) -> Int64:
    if text == b"*":
        return np.arange(limit, dtype=np.int64)
    parts = []
    for word in text.decode("utf-8", "backslashreplace").split(","):
        run = number_range(word, 10)
        if run is None:
            raise FormatError(name, line, f"{word[:40]!r}, expected a {what}, N-M or *")
        if run.stop > limit:
            raise FormatError(name, line, f"{what} {run[-1]}, expected one of 0..{limit - 1}")
        parts.append(np.arange(run.start, run.stop, dtype=np.int64))
    return np.unique(np.concatenate(parts))
