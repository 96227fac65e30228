"""The hybrid metric of PTRAM: hop-bytes, highest, mean and variance of congestion in one number."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.cost.objectives.base import Objective, objectives
from hopbytes.cost.objectives.link_sums import LinkTraffic, traffic
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

Terms = tuple[float, float, float, float]


@objectives.register("hybrid")
@dataclass(frozen=True, slots=True)
class Hybrid(Objective):
    """Weighted sum of hop-bytes, MC, NZCA and NZCV.

    Parameters
    ----------
    raw : bool
        Add the terms as they are, as published. By default each is divided by its value for the in-order
        placement first: they have different units, and the variance would drown the others.
    weights : tuple of four floats
        Of the four terms.

    Notes
    -----
    NZCA and NZCV are mean and population variance of congestion over the links in use. The terms are
    exact fractions, each rounded once.

    Source: Mirsadeghi and Afsahi, "PTRAM: a parallel topology- and routing-aware mapping framework",
    IPDPS workshops 2016.
    """

    raw: bool = False
    weights: Terms = (1.0, 1.0, 1.0, 1.0)

    symbol = "hybrid"
    unit = "times in-order"
    meaning = "hop-bytes, highest, mean and variance of congestion, each relative to in-order placement"
    family = "link loads"

    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> float:
        """Return the hybrid metric; O(m x length of a route)."""
        found = traffic(graph, graph.volumes, where, pe, "objective hybrid", priced=True)
        weights = self.resolved(graph, where)
        return sum(w * term for w, term in zip(weights, four_terms(found), strict=True))

    def resolved(self, graph: CommGraph, where: Allocation, blocks: Int32 | None = None) -> Terms:
        """Return the weights with the normalisation in them: by the placement `blocks`, in order if None."""
        if self.raw:
            return self.weights
        if blocks is None:
            blocks = (np.arange(graph.n) * where.k // max(1, graph.n)).astype(np.int32)
        base = four_terms(traffic(graph, graph.volumes, where, blocks, "objective hybrid", priced=True))
        a, b, c, d = (w / term if term > 0 else w for w, term in zip(self.weights, base, strict=True))
        return a, b, c, d


def four_terms(found: LinkTraffic) -> Terms:
    """Hop-bytes, MC, NZCA, NZCV."""
    hop_bytes = Fraction(found.total, 1 << found.shift)
    return float(hop_bytes), float(found.most), float(found.mean), float(found.variance)
