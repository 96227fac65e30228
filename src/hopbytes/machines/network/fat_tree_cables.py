"""Numbers, names and ends of the cables of a fat tree."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.machines.network.wiring import Wiring


@frozen
class FatTreeCables:
    """The cables of a fat tree, numbered level by level; every cable consists of an up and a down link."""

    below: tuple[int, ...]  # parameters of each level, see :class:`hopbytes.machines.kinds.fattree.FatTree`.
    above: tuple[int, ...]
    cables: tuple[int, ...]
    #: number of nodes below a switch of each level, and number of switches of each level that have the same
    #: nodes below them
    leaves: tuple[int, ...]
    width: tuple[int, ...]
    first: tuple[int, ...]  # number of the first cable of each level

    @classmethod
    def of(cls, below: tuple[int, ...], above: tuple[int, ...], cables: tuple[int, ...]) -> FatTreeCables:
        """Return the cables of a fat tree with these parameters."""
        leaves = tuple(int(np.prod(below[:level], dtype=object)) for level in range(len(below) + 1))
        width = tuple(int(np.prod(above[:level], dtype=object)) for level in range(len(below) + 1))
        first = [0]
        for level in range(len(below)):
            ports = above[level] * cables[level]
            first.append(first[-1] + leaves[-1] // leaves[level] * width[level] * ports)
        return cls(below, above, cables, leaves, width, tuple(first))

    def capacity(self, nodes: int, bandwidth: tuple[int, ...]) -> Int64:
        """Return int64[links], the capacities; 0 if no node is below the lower end of the cable."""
        columns = []
        for level in range(len(self.below)):
            ports = self.above[level] * self.cables[level]
            present = -(-nodes // self.leaves[level]) * self.width[level] * ports
            column = np.zeros(2 * (self.first[level + 1] - self.first[level]), np.int64)
            column[: 2 * present] = bandwidth[level]
            columns.append(column)
        return np.concatenate(columns)

    def switches(self, nodes: int) -> int:
        """Return the number of switches that have a node below them."""
        return sum(-(-nodes // self.leaves[i]) * self.width[i] for i in range(1, len(self.leaves)))

    def name_switch(self, level: int, group: int, column: int) -> str:
        """Return the name of a node (level 0) or of a switch."""
        if level == 0:
            return f"n{group}"
        return f"leaf{group}" if level == 1 and self.width[1] == 1 else f"s{level}.{group}.{column}"

    def name_link(self, link: int) -> str:
        """Return the names of both ends of a link, followed by the index of the cable among parallel ones."""
        cable, down = divmod(link, 2)
        level = int(np.searchsorted(self.first, cable, side="right")) - 1
        rest, copy = divmod(cable - self.first[level], self.cables[level])
        lower, parent = divmod(rest, self.above[level])
        group, column = divmod(lower, self.width[level])
        low = self.name_switch(level, group, column)
        high = self.name_switch(level + 1, group // self.below[level], column + self.width[level] * parent)
        ends = (high, low) if down else (low, high)
        return f"{ends[0]} -> {ends[1]}" + (f" #{copy}" if self.cables[level] > 1 else "")

    def wiring(self, nodes: int) -> Wiring:
        """Return the ends of all links."""
        leaves, width = self.leaves, self.width
        begin = np.cumsum([0] + [leaves[-1] // leaves[i] * width[i] for i in range(len(leaves))])
        tails, heads = [], []
        for level in range(len(self.below)):
            cable = np.arange(self.first[level + 1] - self.first[level], dtype=np.int64)
            lower, parent = np.divmod(cable // self.cables[level], self.above[level])
            group, column = np.divmod(lower, width[level])
            upper = group // self.below[level] * width[level + 1] + column + width[level] * parent
            ends = np.stack([begin[level] + lower, begin[level + 1] + upper], axis=1)
            tails.append(ends.reshape(-1))
            heads.append(ends[:, ::-1].reshape(-1))
        return Wiring(np.concatenate(tails), np.concatenate(heads), np.arange(nodes), int(begin[-1]))
