"""What every mapper and refiner in the registry does on a large graph when it has to end at once.

The work after the request is counted in scanned edges. A search that does not poll the request is ended by an
alarm, which is far beyond what any takes.
"""

import signal
import time
from contextlib import contextmanager

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.algorithms.base import Effort, mappers, refiners
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.engine.control import WorkMeter, metered_by
from hopbytes.patterns.base import pattern
from hopbytes.solve.formulate import formulate
from hopbytes.solve.problem import Request
from hopbytes.util.options import build

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("large graph")]

#: Scanned edges per arc. Most are those of the engine, which makes the blocks of a stopped partition feasible
#: on every level of the hierarchy.
MOST_PER_ARC = 200
#: Seconds after which a search is said not to end. None takes a tenth of it.
PATIENCE = 120


class NeverEnds(BaseException):
    """No `except Exception` catches it."""


@contextmanager
def that_ends():
    def ring(*_):
        raise NeverEnds

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def graph():
    """2^17 tasks."""
    return pattern("stencil:64x64x32")


@pytest.fixture(scope="module")
def where():
    return hb.allocate("torus:8x4x4 / core:8")


@pytest.mark.parametrize("limits", [hb.Limits(stop=lambda: True), hb.Limits(time=0.05)], ids=("stop", "time"))
@pytest.mark.parametrize("name", list(mappers))
def test_mappers(name, limits, graph, where):
    """The mapping is verified by map_tasks; the bound on the work is one on scans of the graph."""
    meter = WorkMeter()
    with that_ends(), metered_by(meter):
        mapping = hb.map_tasks(graph, where, name, partition=True, limits=limits)
    assert mapping.info["balance"] == "met"
    assert meter.total() <= MOST_PER_ARC * graph.m


@pytest.mark.parametrize("name", list(refiners))
def test_refiners(name, graph, where):
    """They are called after the deadline, which map_tasks would not do."""
    problem = formulate(graph, where, Request(partition=True))
    refiner, meter = build(refiners, name), WorkMeter()
    start = (np.arange(graph.n, dtype=np.int64) * where.k // graph.n).astype(np.int32)
    with that_ends(), metered_by(meter):
        found = refiner.refine(graph, where, start, problem.bounds, Effort(deadline=time.monotonic()))
    goal = objectives[refiner.objective]()
    assert goal.value(graph, where, found) <= goal.value(graph, where, start)
    assert np.all(np.bincount(found, minlength=where.k) <= problem.bounds.load)
    assert meter.total() <= MOST_PER_ARC * graph.m


@pytest.mark.parametrize("name", ["greedy_all_c", "mueller_merbach"])
def test_greedy_placements_without_a_tree(name, graph):
    """Comparing all pairs of 2^17 PEs, or all PEs for each remaining task, would take minutes."""
    with that_ends():
        hb.map_tasks(
            graph, hb.allocate("torus:16x16x16 / core:32"), name, limits=hb.Limits(stop=lambda: True)
        )
