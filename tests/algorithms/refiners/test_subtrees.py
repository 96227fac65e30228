"""The refiners that move whole units: subtrees, pairwise_repartitioning."""

import itertools

import numpy as np
import pytest

import hopbytes as hb
from helpers.strategies import random_graph
from hopbytes.algorithms.base import Bounds, Effort, refiners
from hopbytes.algorithms.refiners.units import units_of
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.kernels.linear_cost import FORBIDDEN, from_entries
from hopbytes.util.options import build


def bounds_of(where, linear_cost=None):
    one_each = np.ones(where.k, np.int64)
    return Bounds(one_each, one_each, exact=True, linear_cost=linear_cost)


def couples(groups):
    """Groups of four communicating tasks, made of pairs that communicate far more."""
    near = np.array([
        (4 * g + i, 4 * g + j) for g in range(groups) for i, j in itertools.combinations(range(4), 2)
    ])
    volumes = np.where(near[:, 0] // 2 == near[:, 1] // 2, 100, 10)
    return hb.CommGraph.from_edges(near[:, 0], near[:, 1], volumes, n=4 * groups)


def test_packages_change_nodes_where_every_single_exchange_loses():
    where, graph, cost = hb.allocate("node:2@100 package:2@10 core:2@1"), couples(2), CommCost()
    start = np.array([0, 1, 4, 5, 2, 3, 6, 7], np.int32)
    apart = cost.value(graph, where, start)

    def refined(name):
        return build(refiners, name).refine(graph, where, start, bounds_of(where), Effort())

    assert cost.value(graph, where, refined("n_square")) == apart
    found = refined("subtrees")
    assert cost.value(graph, where, found) == 4 * 100 * 1 + 2 * 4 * 10 * 10


@pytest.mark.parametrize(
    "spec",
    [
        "node:4@100 package:3@10 core:2@1", "node:3@9 core:[4,4,6]@1",
        "node:3@50 package:[2,1,2]@9 core:2@2", "torus:3x3@10 / package:2@4 core:2@1",
    ],
)
def test_no_exchange_of_units_built_alike_gains_in_the_end(spec):
    cost, refiner = CommCost(), build(refiners, "subtrees:passes=20")
    where = hb.allocate(spec)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        graph = random_graph(rng, n=where.k)
        bounds = bounds_of(where)
        found = refiner.refine(graph, where, rng.permutation(where.k).astype(np.int32), bounds, Effort())
        assert sorted(found.tolist()) == list(range(where.k))
        least = cost.value(graph, where, found)
        matrix = where.distance.matrix()
        for units in units_of(where, bounds):
            ranges = [np.arange(low, high) for low, high in itertools.pairwise(units.start)]
            for one, other in itertools.combinations(ranges, 2):
                inside = [matrix[np.ix_(each, each)] for each in (one, other)]
                if not np.array_equal(*inside):
                    continue
                place = np.arange(where.k, dtype=np.int32)
                place[one], place[other] = other, one
                assert cost.value(graph, where, place[found]) >= least


@pytest.mark.parametrize("name", ["subtrees", "pairwise_repartitioning", "chains"])
def test_fixed_tasks_stay_and_prices_count(name):
    where, cost = hb.allocate("node:4@100 package:2@10 core:2@1"), CommCost()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        graph = random_graph(rng, n=where.k)
        pe = rng.permutation(where.k).astype(np.int32)
        fixed, paying = np.array([1, 5]), np.array([0, 2, 3])
        rest = np.zeros(where.k, np.int64)
        rest[fixed] = FORBIDDEN
        rest[paying] = 50
        listed = np.concatenate([fixed, paying])
        linear_cost = from_entries(listed, pe[listed].astype(np.int64), np.zeros(5, np.int64), rest)
        found = build(refiners, name).refine(
            graph, where, pe, bounds_of(where, linear_cost), Effort(seed=seed)
        )
        assert np.array_equal(found[fixed], pe[fixed])
        assert sorted(found.tolist()) == list(range(where.k))
        assert cost.value(graph, where, found) + linear_cost.total(found) <= cost.value(graph, where, pe)


def test_passes_end_where_nothing_changes_any_more():
    where, graph = hb.allocate("node:2@100 package:2@10 core:2@1"), couples(2)
    start = np.array([0, 1, 4, 5, 2, 3, 6, 7], np.int32)
    few, endless = (
        build(refiners, f"subtrees:passes={passes}").refine(graph, where, start, bounds_of(where), Effort())
        for passes in (3, 2**31 - 1)
    )
    assert np.array_equal(few, endless)
