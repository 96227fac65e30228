"""Searches over routes on fabrics where little is left to do."""

from __future__ import annotations

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import EXAMPLES, SHARED_SAMPLES
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.machines.spec import parse_machine
from hopbytes.model.comm_graph import CommGraph

SPECS = ["ib:{}/fabric / core:4", "coordinates:{}/coordinates.txt:dims=4x2 / core:4"]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("refine", ["congestion", "routed", "umc", "ummc", "uwh", "uth", "ptram"])
def test_traffic_that_fits_into_nodes_leaves_the_links_empty(spec, refine):
    """Two pairs that talk, started apart: once they are together no link is in use, let alone hot."""
    where = hb.allocate(spec.format(EXAMPLES))
    n = where.k - 2
    graph = CommGraph.from_edges([0, 1], [n - 1, n - 2], [10, 20], n=n)
    for seed in range(3):
        mapping = hb.map_tasks(graph, where, ["identity", refine], seed=seed, threads=1)
        assert len(np.unique(mapping.pe)) == n
        before = hb.map_tasks(graph, where, "identity", seed=seed, threads=1)
        facts = hb.evaluate(graph, mapping, random_seeds=1).to_dict()
        start = hb.evaluate(graph, before, random_seeds=1).to_dict()
        assert facts["max_congestion"] <= start["max_congestion"]


@pytest.mark.shared
@pytest.mark.parametrize("refine", ["ptram", "umc", "congestion", "routed"])
def test_searches_relieve_the_rails_that_a_job_really_uses(refine):
    """They modelled nodes by their first adapter, and made the hottest link twice as hot."""
    spec = f"ib:{SHARED_SAMPLES}/infiniband/ndr_dgx_40sw:tables=dump_fts_dfsssp.txt.gz"
    names = [host.name for host in parse_machine(spec).hosts if len(host.adapters) == 4 and host.named]
    where = hb.allocate(f"{spec} / core:4", rails="spread", hosts=",".join(names[:32]))
    for pattern, most in (("ml:tp=4,pp=4,dp=8", 1.0), ("ml:tp=2,pp=8,dp=8", 0.7)):
        graph = hb.read(pattern)
        found = [
            hb.map_tasks(graph, where, ["multisection", *chain], seed=1, threads=1)
            for chain in ((), (refine,))
        ]
        value = objectives["max_congestion"]().value
        before, after = (value(graph, where, mapping.pe) for mapping in found)
        assert after <= most * before
