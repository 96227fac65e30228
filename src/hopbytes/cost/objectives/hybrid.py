"""The hybrid metric of PTRAM: hop-bytes, and maximum, mean and variance of congestion in one number."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.base import Objective, objectives
from hopbytes.cost.objectives.link_sums import LinkTraffic, traffic
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

Terms = tuple[float, float, float, float]


@objectives.register("hybrid")
@frozen
class Hybrid(Objective):
    """Weighted sum of hop-bytes, MC, NZCA and NZCV.

    Parameters
    ----------
    raw : bool
        Add the terms without normalisation, as published. By default each term is first divided by its value
        for the mapping in order, because the units differ and the variance would dominate the other terms.
    weights : tuple of four floats
        Weights of the four terms.

    Notes
    -----
    NZCA and NZCV are mean and population variance of congestion over the links in use. Each term is computed
    as an exact fraction and rounded once.

    Source: Mirsadeghi and Afsahi, "PTRAM: a parallel topology- and routing-aware mapping framework",
    IPDPS workshops 2016.
    """

    raw: bool = False
    weights: Terms = (1.0, 1.0, 1.0, 1.0)

    symbol = "hybrid"
    unit = "times in order"
    meaning = "hop-bytes, and maximum, mean and variance of congestion, relative to the mapping in order"
    family = "link loads"

    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> float:
        """Return the hybrid metric; O(m x length of a route)."""
        found = traffic(graph, graph.volumes, where, pe, "objective hybrid", priced=True)
        weights = self.resolved(graph, where)
        return sum(w * term for w, term in zip(weights, four_terms(found), strict=True))

    def resolved(self, graph: CommGraph, where: Allocation, blocks: Int32 | None = None) -> Terms:
        """Return the weights, each divided by its term for the mapping `blocks`, by default in order."""
        if self.raw:
            return self.weights
        if blocks is None:
            blocks = (np.arange(graph.n) * where.k // max(1, graph.n)).astype(np.int32)
        base = four_terms(traffic(graph, graph.volumes, where, blocks, "objective hybrid", priced=True))
        a, b, c, d = (w / term if term > 0 else w for w, term in zip(self.weights, base, strict=True))
        return a, b, c, d


def four_terms(found: LinkTraffic) -> Terms:
    """Return hop-bytes, MC, NZCA and NZCV."""
    hop_bytes = Fraction(found.total, 1 << found.shift)
    return float(hop_bytes), float(found.most), float(found.mean), float(found.variance)
