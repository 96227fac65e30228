"""What a graph on disk offers to algorithms that see it in blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import numpy as np

from hopbytes._arrays import Int64, UInt8
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.formats.base import Source
from hopbytes.formats.parsing import PIECE_BYTES
from hopbytes.kernels.records import Slot, Status
from hopbytes.kernels.streaming import Block

#: Arcs of a block, unless a single vertex has more.
BLOCK_ARCS = 1 << 19
#: Vertices of a block, where they have few arcs.
BLOCK_ROWS = 1 << 18


@frozen
class GraphStream(ABC):
    """An undirected graph in a file; every pass reads it again."""

    name: str  # the file, for messages
    n: int  # number of vertices, and of stored arcs: two for every edge
    arcs: int
    weighted: bool = False  # whether there are weights of arcs, and of vertices
    loaded: bool = False
    #: the file holds single arcs, of which each became an edge: J counts half of the arcs
    doubled: bool = False
    notices: tuple[str, ...] = ()  # sentences for the user

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Yield the vertices in order; a block is valid until the next one is asked for.

        Raises FormatError where the file is malformed, or is no longer the one that was opened.
        """

    def loads(self) -> Int64 | None:
        """Return int64[n], the loads of all vertices, by a pass through the file; None if all are 1."""
        if not self.loaded:
            return None
        found = np.empty(self.n, np.int64)
        for block in self.blocks():
            if block.loads is not None:
                found[block.first : block.first + block.rows] = block.loads
        return found

    def changed(self, what: str) -> FormatError:
        """Return the error for a file that another program writes at the same time."""
        return FormatError(self.name, None, f"{what}, expected the file to stay as it is")


def parsed(
    source: Source, parse: Callable[[UInt8, bool, Int64], int], state: Int64, start: bytes = b""
) -> Iterator[tuple[Status, bytes]]:
    """Feed a stream to a parser, and yield the status and token wherever it stops.

    Whoever takes them makes room or raises an error; the parser then goes on.
    """
    buffer = bytearray(max(PIECE_BYTES, 2 * len(start)))
    buffer[: len(start)] = start
    filled, final = len(start), False
    while not final:
        if filled == len(buffer):
            buffer.extend(bytes(len(buffer)))
        with memoryview(buffer) as view:
            got = source.stream.readinto(view[filled:])
        filled, final = filled + got, got == 0
        text = np.frombuffer(buffer, np.uint8)
        used = parse(text[:filled], final, state)
        at = 0
        while state[Slot.STATUS] != Status.DONE:
            begin, end = at + int(state[Slot.BEGIN]), at + int(state[Slot.END])
            yield Status(int(state[Slot.STATUS])), bytes(text[begin : max(end, begin + 1)])
            at = used
            used += parse(text[at:filled], final, state)
        del text  # a bytearray cannot be resized while an array refers to its memory
        buffer[: filled - used] = buffer[used:filled]
        filled -= used
