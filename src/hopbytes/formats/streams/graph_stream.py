"""What a graph on disk offers to algorithms that see it in blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
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
        loads = np.empty(self.n, np.int64)
        for block in self.blocks():
            if block.loads is not None:
                loads[block.first : block.first + block.rows] = block.loads
        return loads

    def changed(self, what: str) -> FormatError:
        """Return the error for a file that another program writes at the same time."""
        return FormatError(self.name, None, f"{what}, expected the file to stay as it is")
