"""Files of fixed and forbidden PEs of single tasks: every line lists tasks, then PEs."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.text.cpu_lists import number_range
from hopbytes.text.lines import Lines
from hopbytes.text.open_input import open_stream

COMMENTS = (b"#", b"%")
#: Largest number of forbidden pairs of a task and a PE; each takes 16 bytes.
MOST_PAIRS = 2**27


def read_fixed(path: str | os.PathLike[str], n: int, k: int) -> Int32:
    """Read lines ``TASKS PE``: the tasks must be mapped to that PE."""
    # TASKS is a list such as ``3``, ``0-5`` or ``0-5,8``, or ``*`` for all. Lines that begin with ``#`` or
    # ``%`` are comments; the file may be compressed. O(size + tasks named).
    fixed = np.full(n, -1, np.int32)
    for lines, tasks, pes in _lines(path, n, k):
        if len(pes) != 1:
            raise lines.error(f"{len(pes)} PEs, expected the one the tasks must be on")
        taken = tasks[(fixed[tasks] >= 0) & (fixed[tasks] != pes[0])]
        if len(taken):
            above = f"a line above fixes it to PE {fixed[taken[0]]}"
            raise lines.error(f"task {taken[0]} on PE {pes[0]}, but {above}")
        fixed[tasks] = pes[0]
    return fixed


def read_forbidden(path: str | os.PathLike[str], n: int, k: int) -> Int64:
    """Read lines ``TASKS PES``: the tasks must not be mapped to any of those PEs."""
    # Both are lists such as ``3``, ``0-5,8``, or ``*`` for all; see `read_fixed` for the parameters.
    pairs, count = [np.empty((0, 2), np.int64)], 0
    for lines, tasks, pes in _lines(path, n, k):
        count += len(tasks) * len(pes)
        if count > MOST_PAIRS:
            raise lines.error(f"{count} pairs of a task and a PE, expected at most {MOST_PAIRS}")
        pairs.append(np.stack([np.repeat(tasks, len(pes)), np.tile(pes, len(tasks))], axis=1))
    return np.concatenate(pairs)


def _lines(path: str | os.PathLike[str], n: int, k: int) -> Iterator[tuple[Lines, Int64, Int64]]:
    with open_stream(path) as opened:
        lines = Lines(opened.stream, opened.name)
        for line in lines:
            words = line.split()
            if not words or words[0].startswith(COMMENTS):
                continue
            if len(words) != 2:
                count = "1 word" if len(words) == 1 else f"{len(words)} words"
                raise lines.error(f"{count}, expected tasks and PEs like '0-3 7'")
            yield lines, _numbers(lines, words[0], n, "task"), _numbers(lines, words[1], k, "PE")


def _numbers(lines: Lines, text: bytes, limit: int, what: str) -> Int64:
    if text == b"*":
        return np.arange(limit, dtype=np.int64)
    parts = []
    for word in text.decode("utf-8", "backslashreplace").split(","):
        run = number_range(word, 10)
        if run is None:
            raise lines.error(f"{word[:40]!r}, expected a {what}, N-M or *")
        if run.stop > limit:
            raise lines.error(f"{what} {run[-1]}, expected one of 0..{limit - 1}")
        parts.append(np.arange(run.start, run.stop, dtype=np.int64))
    return np.unique(np.concatenate(parts))
