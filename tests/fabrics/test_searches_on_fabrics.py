"""Searches over routes on fabrics where little is left to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.graph import CommGraph

EXAMPLES = Path(__file__).parents[2] / "examples"
SPECS = ["ib:{}/fabric / core:4", "coordinates:{}/coordinates.txt:dims=4x2 / core:4"]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("refine", ["congestion", "routed", "umc", "ummc", "uwh", "uth", "ptram"])
def test_traffic_that_fits_into_nodes_leaves_the_links_empty(spec, refine):
    """Two pairs that talk, started apart: once they are together no link is in use, let alone hot."""
    where = hb.machine(spec.format(EXAMPLES))
    n = where.k - 2
    graph = CommGraph.from_edges([0, 1], [n - 1, n - 2], [10, 20], n=n)
    for seed in range(3):
        mapping = hb.map_tasks(graph, where, mapper="identity", refine=refine, seed=seed, threads=1)
        assert len(np.unique(mapping.pe)) == n
        before = hb.map_tasks(graph, where, mapper="identity", seed=seed, threads=1)
        facts = hb.evaluate(graph, mapping, random_seeds=1).to_dict()
        start = hb.evaluate(graph, before, random_seeds=1).to_dict()
        assert facts["max_congestion"] <= start["max_congestion"]
