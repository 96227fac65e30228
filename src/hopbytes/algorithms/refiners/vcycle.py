"""V-cycles: coarsen inside PEs, move clusters between PEs on the way back, under true distances."""

from __future__ import annotations

from dataclasses import dataclass

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Bounds, Effort, Refiner, refiners
from hopbytes.algorithms.shared.search_distances import cheaper, search_problem
from hopbytes.engine import RefinementSettings, SearchSettings, refine_placement
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph


@refiners.register("vcycle")
@dataclass(frozen=True, slots=True)
class VCycle(Refiner):
    """Local search and minimum cuts on the communication cost, on every level of a coarsening inside PEs.

    Parameters
    ----------
    cycles : int
        Coarsenings; 0 works on the tasks themselves only.
    chains : int
        Independent sequences of cycles, side by side; the cheapest result is kept.
    coarsest : int
        Clusters per PE where a cycle turns round.
    rounds, fruitless_moves, seeds, flow_rounds, flow_width, overload_percent : int
        See :class:`hopbytes.engine.SearchSettings`.

    Notes
    -----
    Placements with exact counts (one task per slot) are returned as they are: there only exchanges
    help, see the refiner ``swap``. V-cycles after Walshaw (2004); gains are those of the
    communication cost instead of the cut.
    """

    cycles: int = 1
    chains: int = 1
    coarsest: int = 40
    rounds: int = 10
    fruitless_moves: int = 40
    seeds: int = 25
    flow_rounds: int = 1
    flow_width: int = 4
    overload_percent: int = 0

    def refine(self, graph: CommGraph, where: Allocation, pe: Int32, bounds: Bounds, effort: Effort) -> Int32:
        """Return a placement that costs no more."""
        if bounds.exact or where.k < 2 or graph.n == 0:
            return pe
        if effort.progress is not None:
            effort.progress("refine", 0, 1)
        search = SearchSettings(
            self.rounds, self.fruitless_moves, self.seeds, self.flow_rounds, self.flow_width,
            self.overload_percent
        )
        better, moves = refine_placement(
            search_problem(graph, where, bounds), pe, bounds.load,
            RefinementSettings(self.cycles, self.chains, self.coarsest, search), control=effort.run_control(),
        )
        effort.count(moves=moves)
        return cheaper(graph, where, pe, better, bounds.linear_cost)
