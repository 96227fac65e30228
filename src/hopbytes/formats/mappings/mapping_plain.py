"""plain: the PE of every task, one per line."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, UInt8
from hopbytes.errors import FormatError
from hopbytes.formats.base import Capabilities, Format, Source, Written, formats
from hopbytes.model.mapping import Mapping
from hopbytes.text.hostlist import NODE_NAME

COMMENTS = (b"#", b"%")


class Plain(Format):
    """One line per task with the number of its PE, as graph partitioners write their partitions."""

    holds = "mapping"
    suffixes = (".txt", ".map", ".part")
    marked = False  # partitioners read a number from every line
    summary = "PE of task i in line i"
    capabilities = Capabilities(
        any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, gpus=True,
    )

    def read(self, source: Source) -> Mapping | Int32:
        """Return a Mapping if the option `where` (an Allocation) is given, else int32[n].

        Blank lines and lines that begin with ``#`` or ``%`` are skipped. The option `n` is the expected
        number of tasks.
        """
        where, n = source.options.get("where"), source.options.get("n")
        limit = where.k if where is not None else 2**31 - 1
        data = source.stream.read()
        pe = _fast(data, limit)
        if pe is None:
            pe = _line_by_line(source.name, data, limit)
        if n is not None and len(pe) != n:
            what = f"{len(pe)} lines with a PE, expected {n}, one for each task"
            raise FormatError(source.name, None, what)
        return pe if where is None else Mapping(pe, where)

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return one line per task."""
        return Written({"": lines_of(mapping.pe)})

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether every line holds one number."""
        complete = head.splitlines()[:-1] or head.splitlines()
        lines = [line.strip() for line in complete if line.strip() and not line.startswith(COMMENTS)]
        return bool(lines) and all(line.isdigit() for line in lines)


formats.register("plain")(Plain())


def lines_of(pe: Int32) -> str:
    """Return one line per number, from a table of all lines; what fills up short lines there is left out."""
    if not len(pe):
        return ""
    numbers, places = list(range(int(pe.max()) + 1)), pe
    if len(numbers) > len(pe):
        used, found = np.unique(pe, return_inverse=True)
        numbers, places = used.tolist(), found.astype(np.int32)
    lines = np.array([f"{number}\n" for number in numbers], "S")
    filled: UInt8 = lines.take(places, mode="clip").view(np.uint8)
    text: bytes = filled[filled != 0].tobytes()
    return text.decode("ascii")


def _fast(data: bytes, limit: int) -> Int32 | None:
    """Parse well-formed text with comments at the start only; return None for any other text."""
    while data.startswith(COMMENTS):
        data = data.partition(b"\n")[2]
    words = data.split()
    if not words or words != [line.strip() for line in data.splitlines()]:
        return None
    if max(map(len, words)) > 10 or not b"".join(words).isdigit():
        return None
    pe = np.array(words).astype(np.int64)
    return pe.astype(np.int32) if int(pe.max()) < limit else None


def _line_by_line(name: str, data: bytes, limit: int) -> Int32:
    values: list[int] = []
    for number, line in enumerate(data.splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith(COMMENTS):
            continue
        if not text.isdigit() or len(text) > 18:
            found = text[:40].decode("utf-8", "backslashreplace")
            what = f"{found!r}, expected the number of a PE"
            if not values and found[:1].isalpha() and NODE_NAME.fullmatch(found):
                what += " (`read_mapping(format='pbs')` reads the host of every rank)"
            raise FormatError(name, number, what)
        if int(text) >= limit:
            raise FormatError(name, number, f"PE {int(text)}, expected one of 0..{limit - 1}")
        values.append(int(text))
    return np.array(values, np.int32)
