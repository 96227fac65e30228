"""Many flows: hopbytes' own solution of SimGrid's model, beside SimGrid."""

from __future__ import annotations

import shutil

import pytest

import hopbytes as hb
from hopbytes.errors import HopbytesError
from hopbytes.simulation import many_flows, simulate
from hopbytes.simulation.many_flows import MOST_FOR_SIMGRID

needs_simgrid = pytest.mark.skipif(shutil.which("smpirun") is None, reason="needs SimGrid's smpirun")


@needs_simgrid
@pytest.mark.parametrize(
    "spec",
    ["torus:4x2x2:lat=1e-7:bw=12500000000 / core:4", "fattree:4x4:up=1x1 / core:4",
     "dragonfly:4x2x2 / core:4", "node:16 core:4"],
)  # fmt: skip
def test_both_solve_the_same_model(monkeypatch, spec):
    """In random order of ranks: within 1e-4 with exact steps, which SimGrid's own precision explains."""
    graph, where = hb.read("hierarchical:4x4x4"), hb.machine(spec)
    mapping = hb.map_tasks(graph, where, mapper="random")
    theirs = hb.simulate(graph, mapping, grade="flows")
    monkeypatch.setattr(simulate, "MOST_FOR_SIMGRID", 0)
    stepped = hb.simulate(graph, mapping, grade="flows")
    monkeypatch.setattr(many_flows, "TOLERANCE", 0.0)
    exact = hb.simulate(graph, mapping, grade="flows")
    assert exact.seconds == pytest.approx(theirs.seconds, rel=1e-4)
    assert stepped.seconds == pytest.approx(theirs.seconds, rel=5e-3)
    assert any("itself" in notice for notice in stepped.notices)
    assert not any("itself" in notice for notice in theirs.notices)


@needs_simgrid
def test_many_flows_are_solved_without_simgrid_and_announced():
    """5256 flows of 73 nodes on a switch, all the same: as long as the node that sends 72 of them."""
    where = hb.machine("node:73@10:bw=1e9:lat=1e-6 core:1")
    graph, told = hb.read("alltoall:tasks=73:bytes=1000000"), []
    found = hb.simulate(graph, hb.Mapping(range(73), where), grade="flows", tell=told.append)
    assert found.flows > MOST_FOR_SIMGRID
    assert told == [f"hopbytes simulates {found.flows} flows, which takes up to about 5 seconds"]
    assert found.seconds == pytest.approx(found.parts["link"] + 1e-6, rel=1e-3)


@needs_simgrid
def test_the_time_limit_holds(monkeypatch):
    where = hb.machine("node:73@10:bw=1e9:lat=1e-6 core:1")
    graph = spread_sizes(73)
    monkeypatch.setattr(many_flows, "TOLERANCE", 0.0)
    with pytest.raises(HopbytesError, match="0 seconds"):
        hb.simulate(graph, hb.Mapping(range(73), where), grade="flows", time_limit=0)


def spread_sizes(n):
    """Return an all-to-all with a size of its own for every pair."""
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    return hb.CommGraph.from_edges(*zip(*pairs, strict=True), range(1, len(pairs) + 1))
