"""UMPA's UMC: exchanges that relieve the most congested link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.refiners.umpa import check_rule, swap_for_congestion
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@refiners.register("umc")
@dataclass(frozen=True, slots=True)
class CongestionSwap(Refiner):
    """Exchange the groups on two nodes while the highest volume over capacity of a link falls (UMC).

    Parameters
    ----------
    delta : int
        Nodes tried per group.
    rule : str
        What counts as better: ``lexicographic`` compares highest congestion, number of links that have it,
        sum of squares, hop-bytes; ``paper`` highest congestion, then mean congestion of links in use.

    Raises
    ------
    UnsupportedError
        An unknown rule; a machine without routes.

    Notes
    -----
    Algorithm 3 of Deveci et al., IPDPS 2015, whose text is lost: reconstructed from its description. The
    groups with traffic over the hottest link, those with most there first, look for places near those they
    talk to; all links at the maximum are tried before it ends. The paper's rule stalls on ties and can be
    met by using more links, so it is not the default. Loads are integers, so that a proposal costs the
    links of the rerouted flows and its rejection nothing.
    """

    needs_routes: ClassVar[bool] = True
    objective: ClassVar[str] = "max_congestion"
    delta: int = 8
    rule: str = "lexicographic"

    def __post_init__(self) -> None:
        check_rule("umc", self.rule)

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a placement with no higher maximum congestion."""
        return swap_for_congestion(
            graph, where, pe, bounds, effort, delta=self.delta, rule=self.rule, messages=False
        )
