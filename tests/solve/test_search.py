"""Presets beside each other, and patterns that are searched without their lightest arcs."""

import secrets

import numpy as np
import pytest

import hopbytes as hb
from bench.studies.preset_order import PRESETS, complaints, drawn
from hopbytes.algorithms.base import Mapper
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.solve.search import LIGHT_SHARE, MANY_ARCS, without_light_arcs

#: A fresh seed for every run of the tests; a failure names the case, which can be run again.
FIRST = secrets.randbelow(10**9)


@pytest.mark.parametrize("step", range(8))  # names of tests are the same in all processes
@pytest.mark.parametrize("tasks", [(16, 48), pytest.param((300, 1500), marks=pytest.mark.slow)])
def test_presets_are_ordered_on_random_graphs(step, tasks):
    """As `python -m bench.studies.preset_order --tasks 16,48 --case NUMBER`."""
    number = FIRST + step
    said, graph, where, options = drawn(number, tasks)
    found, costs = complaints(graph, where, options, number, False)
    assert not found, (number, said, costs)


def test_a_current_mapping_does_not_change_the_order():
    graph, where = hb.read("stencil:6x8"), hb.allocate("node:6@10 core:8@1")
    start = np.random.default_rng(3).permutation(48).astype(np.int32)
    given = {"constraints": hb.Constraints(initial=start, migration_price=1), "threads": 1}
    infos = [hb.map_tasks(graph, where, each, **given).info for each in PRESETS]
    values = [info["comm_cost"] + info["migration_cost"] for info in infos]
    assert values == sorted(values, reverse=True)


def test_a_limit_below_the_strong_preset_still_gives_what_the_weaker_ones_found():
    """Fewer tasks than slots: `eco` has run on all choices of slots before `strong` runs on the first."""
    graph, where = hb.read("stencil:10x6"), hb.allocate("node:9@10 core:8@1")
    weaker = hb.map_tasks(graph, where, "eco", threads=1)
    limit = weaker.info["work"]["arcs"]
    for preset in ("strong", "best"):
        mapping = hb.map_tasks(graph, where, preset, threads=1, limits=hb.Limits(work=limit))
        assert mapping.info["comm_cost"] <= weaker.info["comm_cost"]


WHERE = hb.allocate("node:4@20 package:2@5 core:8@2")


def all_to_all(n, heavy=10**8, seed=0):
    """Neighbours on a ring exchange much, all other pairs a few bytes."""
    rng = np.random.default_rng(seed)
    light = rng.integers(1, 64, (n, n))
    ring = np.roll(np.eye(n, dtype=np.int64), 1, axis=1) + np.roll(np.eye(n, dtype=np.int64), -1, axis=1)
    return hb.CommGraph.from_dense((heavy * ring + light) * (1 - np.eye(n, dtype=np.int64)))


def listed(graph):
    return list(zip(graph.sources().tolist(), graph.targets.tolist(), graph.volumes.tolist(), strict=True))


@pytest.mark.parametrize("heavy", [10**8, 10**7, 500])
def test_what_is_left_out_is_light(heavy):
    graph = all_to_all(64, heavy)
    arcs, most = listed(graph), graph.total_volume // LIGHT_SHARE
    bits = max(b for b in range(63) if sum(v for *_, v in arcs if v < 2**b) <= most)
    kept = [arc for arc in arcs if arc[2] >= 2**bits]
    if 2 * len(kept) > len(arcs):
        kept = arcs
    assert listed(without_light_arcs(graph)) == kept
    assert (len(kept) < len(arcs)) == (heavy > 500)


def test_sparse_and_even_patterns_keep_their_arcs():
    for graph in (
        hb.read("stencil:8x8"), hb.CommGraph.from_dense(1 - np.eye(2 * MANY_ARCS, dtype=np.int64)),
        hb.CommGraph.from_dense(np.zeros((4, 4))),
    ):
        assert without_light_arcs(graph) is graph


@pytest.mark.parametrize("preset", ["fast", "eco"])
def test_the_cost_counts_all_arcs_and_light_ones_are_searched_last(preset):
    graph = all_to_all(64)
    found = hb.map_tasks(graph, WHERE, preset)
    assert found.info["comm_cost"] == CommCost().value(graph, WHERE, found.pe)
    for u in range(64):
        for v in range(u):  # no exchange of two tasks lowers J
            other = found.pe.copy()
            other[[u, v]] = other[[v, u]]
            assert CommCost().value(graph, WHERE, other) >= found.info["comm_cost"]


def test_whoever_names_an_algorithm_gets_it_for_all_arcs():
    graph, seen = all_to_all(64), []

    class Watching(Mapper):
        def map(self, graph, where, bounds, effort):
            seen.append(graph.m)
            return np.arange(graph.n, dtype=np.int32)

    hb.map_tasks(graph, WHERE, Watching())
    assert seen == [graph.m]
