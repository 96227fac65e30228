"""Lines of NCCL and RCCL in the output of a job: who says what, in one file or in a file for each process."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from hopbytes.formats.base import Source
from hopbytes.text.lines import bounded_lines
from hopbytes.text.open_input import open_stream

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


class Said(NamedTuple):
    """A line of a thread: the number of its GPU in the process, if the line has it, and the text."""

    thread: Thread
    device: bytes | None
    text: bytes


def said(line: bytes) -> list[Said]:
    """Return what a line says; those of several processes may have come into each other.

    >>> [words.text for words in said(b"0: n1:7:8 [0] NCCL INFO comm 0xab ra n1:9:9 [1] NCCL INFO Ring")]
    [b'comm 0xab ra', b'Ring']
    """
    found: list[Said] = []
    mark, end = line.rfind(MARK), len(line)
    while mark >= 0:
        begin = max(0, mark - HEAD_BYTES)
        head = HEAD.search(line[begin:mark])
        if head:
            host, process, thread, device = head.groups()
            found.append(Said((host, process, thread), device, line[mark + len(MARK) : end].rstrip()))
            end = begin + head.start()
        mark = line.rfind(MARK, 0, mark)
    return found[::-1]


def said_in_files(source: Source) -> Iterator[tuple[str, int, Said]]:
    """Yield (file, line, what it says) of a log, with the files of all processes where there is one for each.

    The name of such a file has the host and the process of its lines (``NCCL_DEBUG_FILE=nccl.%h.%p.log``);
    the others are those of the folder whose names differ in nothing else.
    """
    first: Said | None = None
    for place, line in bounded_lines(source.stream, source.name):
        for words in said(line):
            first = first or words
            yield source.name, place, words
    for path in () if first is None else _others(source.path or "", *first.thread[:2]):
        with open_stream(path, max_bytes=source.max_bytes) as opened:
            for place, line in bounded_lines(opened.stream, opened.name):
                for words in said(line):
                    yield opened.name, place, words


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
