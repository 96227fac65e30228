"""Exchanges inside blocks of consecutive tasks."""

from __future__ import annotations

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.papers.pairs import search_pairs
from hopbytes.engine.slots import BLOCKS
from hopbytes.errors import UnsupportedError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.options import check_types


@refiners.register("n_p")
@frozen
class NP(Refiner):
    """Try all pairs inside blocks of consecutive tasks: the pruned neighbourhood N_p.

    Parameters
    ----------
    block : int
        Number of tasks per block, at least 2; the last block may be smaller.

    Raises
    ------
    UnsupportedError
        If `block` is below 2.

    Notes
    -----
    The neighbourhood is that of Brandfass, Alrutz and Gerhold (2013). The blocks are searched one after the
    other as by the refiner ``n_square``, until a round over all blocks has no gain. O(n x block) pairs per
    round.
    """

    block: int = 64

    def __post_init__(self) -> None:
        check_types(self)
        if self.block < 2:
            raise UnsupportedError(f"block={self.block}, expected an integer >= 2")

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a mapping that no exchange inside a block improves."""
        return search_pairs(BLOCKS, graph, where, pe, bounds, effort, reach=self.block)
