"""Grade flows: hopbytes' own solution beside SimGrid, whose model it is."""

from __future__ import annotations

import shutil

import pytest

import hopbytes as hb
from bench.studies.simulation_time import by_simgrid
from hopbytes.errors import HopbytesError
from hopbytes.simulation import bound

needs_simgrid = pytest.mark.skipif(shutil.which("smpirun") is None, reason="needs SimGrid's smpirun")


@needs_simgrid
@pytest.mark.parametrize(
    "spec",
    ["torus:4x2x2:lat=1e-7:bw=12500000000 / core:4", "fattree:4x4:up=1x1 / core:4",
     "dragonfly:4x2x2 / core:4", "node:16 core:4", "island:2@100 node:8@10 core:4"],
)  # fmt: skip
def test_both_solve_the_same_model(monkeypatch, spec):
    """In random order of ranks: within 1e-4 with exact steps, which SimGrid's own precision explains."""
    graph, where = hb.read("hierarchical:4x4x4"), hb.allocate(spec)
    mapping = hb.map_tasks(graph, where, "random")
    theirs = by_simgrid(graph, mapping)
    stepped = hb.simulate(graph, mapping, grade="flows")
    monkeypatch.setattr(bound, "TOLERANCE", 0.0)
    exact = hb.simulate(graph, mapping, grade="flows")
    assert exact.seconds == pytest.approx(theirs, rel=1e-4)
    assert stepped.seconds == pytest.approx(theirs, rel=5e-3)


def test_many_flows_are_announced():
    """5256 flows of 73 nodes on a switch, all the same: as long as the node that sends 72 of them."""
    where = hb.allocate("node:73@10:bw=1e9:lat=1e-6 core:1")
    graph, told = hb.read("alltoall:tasks=73:bytes=1000000"), []
    found = hb.simulate(graph, hb.Mapping(range(73), where), tell=told.append)
    assert told == [f"hopbytes simulates {found.flows} flows, which takes up to about 5 seconds"]
    assert found.seconds == pytest.approx(found.parts["link"] + 1e-6, rel=1e-3)


def test_the_time_limit_holds(monkeypatch):
    where = hb.allocate("node:73@10:bw=1e9:lat=1e-6 core:1")
    graph = spread_sizes(73)
    monkeypatch.setattr(bound, "TOLERANCE", 0.0)
    with pytest.raises(HopbytesError, match="0 seconds"):
        hb.simulate(graph, hb.Mapping(range(73), where), time_limit=0)


def spread_sizes(n):
    """Return an all-to-all with a size of its own for every pair."""
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    return hb.CommGraph.from_edges(*zip(*pairs, strict=True), range(1, len(pairs) + 1))
