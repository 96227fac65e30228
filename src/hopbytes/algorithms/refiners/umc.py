"""UMC of UMPA: exchanges that reduce the congestion of the most congested link."""

from __future__ import annotations

from typing import ClassVar

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.refiners.umpa import check_rule, swap_for_congestion
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.options import check_types


@refiners.register("umc")
@frozen
class CongestionSwap(Refiner):
    """Exchange the groups of two nodes as long as the maximum congestion of a link falls (UMC).

    Parameters
    ----------
    delta : int
        Number of nodes tried per group.
    rule : str
        Comparison of mappings: ``lexicographic`` compares the maximum congestion, the number of links that
        have it, the sum of squares and hop-bytes; ``paper`` compares the maximum congestion, then the mean
        congestion of links in use.

    Raises
    ------
    UnsupportedError
        If the rule is unknown or the machine has no routes.

    Notes
    -----
    The refiner follows algorithm 3 of Deveci et al., IPDPS 2015. The listing of that algorithm was not
    available, so it was reconstructed from its description. Groups with traffic over the hottest link, those
    with most traffic first, are tried on nodes near the groups they communicate with. All links with maximum
    congestion are tried before the search ends. The rule of the paper stops at ties and can be met by using
    more links, so it is not the default. Loads are integers, so a proposal costs only the links of the
    rerouted flows, and its rejection costs nothing.
    """

    needs_routes: ClassVar[bool] = True
    objective: ClassVar[str] = "max_congestion"
    delta: int = 8
    rule: str = "lexicographic"

    def __post_init__(self) -> None:
        check_types(self)
        check_rule("umc", self.rule)

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a mapping with no higher maximum congestion."""
        return swap_for_congestion(
            graph, where, pe, bounds, effort, delta=self.delta, rule=self.rule, messages=False
        )
