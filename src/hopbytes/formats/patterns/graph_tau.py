"""TAU's profiles with ``TAU_COMM_MATRIX=1``: ``profile.<rank>.0.0``."""

from __future__ import annotations

import math
import re

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import Format, Source, formats
from hopbytes.formats.parsing import shown
from hopbytes.formats.patterns.recorded import Traffic, files_of_set, rank
from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.lines import bounded_lines

PARTS = re.compile(r"(?P<before>profile\.)(?P<rank>\d{1,9})(?P<after>\.0\.0)")
#: Events with a path after the node ("through …", "=> …") repeat the plain events and are not counted.
EVENT = re.compile(rb'"Message size sent to node (\d+)"\s+(.*)')
ANY_EVENT = re.compile(rb'"Message size sent to node (\d+)')


class Tau(Format):
    """One event per peer: ``"Message size sent to node 3" messages max min mean sum_of_squares``."""

    holds = "pattern"
    suffixes = (".0.0",)
    summary = "TAU's profiles recorded with TAU_COMM_MATRIX=1"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the first line is that of a TAU profile."""
        return b"templated_functions" in head.split(b"\n", 1)[0]

    def read(self, source: Source) -> CommGraph:
        """Return directed traffic; a volume is the number of messages times their mean size."""
        traffic, ranks, events = Traffic(), 0, False
        for own, name, stream in files_of_set(source, PARTS):
            if own is None:
                what = "a single profile, expected profile.<rank>.0.0 together with those of the other ranks"
                raise FormatError(name, None, what)
            ranks = max(ranks, own + 1)
            for place, line in bounded_lines(stream, name):
                match = EVENT.match(line)
                events = events or ANY_EVENT.match(line) is not None
                if match:
                    volume, count = _volume(name, place, match[2])
                    traffic.add(own, rank(name, place, match[1]), volume, count)
        if not events:
            what = "the profiles have no messages by peer, expected profiles recorded with TAU_COMM_MATRIX=1"
            raise UnsupportedError(f"{source.name}: {what}")
        return traffic.graph(source, "tau", ranks)


formats.register("tau")(Tau())


def _volume(name: str, place: int, text: bytes) -> tuple[int, int]:
    """Return bytes and messages of an event: count, max, min, mean."""
    fields = text.split()
    if len(fields) < 4:
        raise FormatError(name, place, "an incomplete event, expected: messages max min mean")
    try:
        count, mean = float(fields[0]), float(fields[3])
    except ValueError:
        raise FormatError(name, place, f"{shown(text)}, expected numbers: messages max min mean") from None
    volume = count * mean
    if not (math.isfinite(volume) and volume >= 0 and 0 <= count < 2**53 and volume < 2**63):
        raise FormatError(name, place, f"{shown(text)}, expected messages and their mean size")
    return round(volume), round(count)
