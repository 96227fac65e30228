"""Hops and hop-bytes are those of the routes flows take: each direction its own, detours by their mean."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hopbytes as hb
from helpers.strategies import random_graph
from hopbytes.algorithms.base import Effort, refiners
from hopbytes.cost.metrics.link_metrics import measure_links
from hopbytes.cost.objectives.base import objectives
from hopbytes.model.comm_graph import CommGraph
from hopbytes.show.describe import route_facts, route_text
from hopbytes.solve.formulate import formulate
from hopbytes.solve.problem import Request
from hopbytes.util.options import build

VALIANT = [
    "dragonfly:5x3x2:route=valiant / core:2", "dragonfly:4x2x1:route=valiant",
    "dragonfly:2x3x2:route=valiant",
]


def by_hand(graph, where, pe, weights) -> Fraction:
    """Shares of all paths, flow by flow."""
    network, total = where.machine.network(), Fraction(0)
    ends = where.machine.network_use.endpoint_of_core()[where.first_core][pe].tolist()
    for source, target, weight in zip(graph.sources().tolist(), graph.targets.tolist(), weights, strict=True):
        routes = network.routes([ends[source]], [ends[target]])
        if routes.numerators is None:
            total += weight * len(routes.links)
            continue
        shares = zip(routes.numerators.tolist(), routes.denominators.tolist(), strict=True)
        total += weight * sum(Fraction(*share) for share in shares)
    return total


@pytest.mark.parametrize("spec", VALIANT)
@pytest.mark.parametrize("size", [1, 2**50])
def test_detours_count_by_their_mean_and_exactly(spec, size):
    where = hb.allocate(spec)
    rng = np.random.default_rng(len(spec))
    graph = random_graph(rng, n=where.k)
    graph = CommGraph.from_edges(graph.sources(), graph.targets, graph.arc_volumes() * size, n=where.k)
    pe = rng.permutation(where.k).astype(np.int32)
    found = measure_links(graph, where, pe)
    for goal, value, weights in (
        ("hop_bytes", found.hop_bytes, graph.arc_volumes().tolist()), ("hops", found.hops, [1] * graph.m),
    ):
        expected = by_hand(graph, where, pe, weights)
        assert value == (int(expected) if expected.denominator == 1 else float(expected))
        assert objectives[goal]().value(graph, where, pe) == value


@pytest.mark.parametrize("spec", VALIANT)
def test_a_route_is_as_long_as_its_links_say(spec):
    where = hb.allocate(spec)
    last = where.machine.n_nodes - 1
    facts = route_facts(where, "0", str(last))
    mean = sum(Fraction(*link["share"]) for link in facts["links"])
    assert facts["hops"] == float(mean)
    assert f"{float(mean):g} hops" in route_text(facts)


@pytest.mark.parametrize("name", ["uwh", "uth"])
@pytest.mark.parametrize("spec", VALIANT)
def test_searches_for_hops_raise_neither(spec, name):
    refiner, fell = build(refiners, name), 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        where = hb.allocate(spec)
        problem = formulate(random_graph(rng, n=where.k), where, Request())
        pe = rng.permutation(where.k).astype(np.int32)
        after = refiner.refine(problem.graph, where, pe, problem.bounds, Effort())
        judge = objectives[refiner.objective]()
        assert judge.value(problem.graph, where, after) <= judge.value(problem.graph, where, pe)
        fell += not np.array_equal(after, pe)
    assert fell or "2x3x2" in spec


def test_one_way_links_count_the_way_that_is_taken(tmp_path):
    """Six nodes on a ring of arcs: one link there, five back. The longer one used to count for both."""
    path = tmp_path / "ring.txt"
    path.write_text("".join(f"arc n{i} n{(i + 1) % 6} 1\n" for i in range(6)))
    where = hb.allocate(f"links:{path}")
    graph = CommGraph.from_edges([0, 1], [1, 0], [10, 1])
    pe = np.arange(2, dtype=np.int32)
    assert measure_links(graph, where, pe).hop_bytes == 10 * 1 + 1 * 5
    assert objectives["hop_bytes"]().value(graph, where, pe) == 15
    assert objectives["hops"]().value(graph, where, pe) == 6


def test_terms_that_are_zero_in_order_keep_their_weights():
    """Nothing can be divided by them: here no message leaves its node."""
    silent = CommGraph.from_edges([0], [1], [7], n=4)
    assert build(objectives, "hybrid").resolved(silent, hb.allocate("torus:2 / core:2")) == (1, 1, 1, 1)
