"""Searches on a network of nodes answer as on the table of the same distances; so do both twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.strategies import random_graph
from hopbytes import _core, kernels
from hopbytes.engine.control import RunControl, rescale_to_63_bits
from hopbytes.engine.partition import RefinementSettings, refine_placement
from hopbytes.engine.problem import LARGEST, SearchProblem, prepare
from hopbytes.engine.slots import ALL_PAIRS, BLOCKS, NEAR_PAIRS, pair_search, place_greedily, swap_refine
from hopbytes.kernels.records import Distances
from hopbytes.machines.allocate.allocate import allocate
from hopbytes.machines.distances import kernel_distances
from reference import cost_reference as twin

SPECS = [
    "torus:4x3@5:nodes=2 / package:2@2 core:2@1", "mesh:3x5@7 / core:3@4", "dragonfly:4x2x2@3 / core:2@1",
    "hyperx:3x4@2", "dragonfly:5x2x1:links=palmtree",
]


def forms(spec, seed=0):
    """The distances of some PEs as a packed network and as a dense table."""
    rng = np.random.default_rng(seed)
    where = allocate(spec)
    kept = np.sort(rng.choice(where.k, where.k - where.k // 5, replace=False))
    where = where.select(kept)
    network = kernel_distances(where)
    assert network.bit_costs is None
    return where, network, Distances(table=where.distance.matrix().reshape(-1))


@pytest.mark.parametrize("spec", SPECS)
def test_cost_is_that_of_the_table_and_of_the_twin(spec):
    where, network, dense = forms(spec)
    graph = random_graph(np.random.default_rng(3), n=where.k)
    pe = np.random.default_rng(4).permutation(where.k).astype(np.int32)
    arguments = ((graph.indptr, graph.targets, graph.volumes), pe)
    expected = _core.comm_cost_table(*arguments, dense.table, 1)
    assert _core.comm_cost_network(*arguments, network.labels, network.table, 1) == expected
    assert twin.comm_cost_network(*arguments, network.labels, network.table, 1) == expected
    assert network.table[LARGEST] == dense.table.max()


@pytest.mark.parametrize("spec", SPECS)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**20))
def test_searches_find_what_they_find_on_the_table(spec, seed):
    where, network, dense = forms(spec, seed)
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n=where.k)
    csr = graph.symmetric_positive()
    pe = rng.permutation(where.k).astype(np.int32)
    ones = np.ones(where.k, np.int64)
    answers = []
    for form in (network, dense):
        problem, control = SearchProblem(csr, distances=form), RunControl(seed)
        found = [swap_refine(problem, pe, where.k * ones, control=control)]
        found.append(refine_placement(problem, pe, 3 * ones, RefinementSettings(cycles=1), control=control))
        found += [
            pair_search(kind, problem, pe, ones, reach=reach, order=order)
            for kind, reach, order in (
                (ALL_PAIRS, 0, None), (BLOCKS, 4, None), (NEAR_PAIRS, 2, np.arange(where.k, dtype=np.int32))
            )
        ]
        found += [(place_greedily(problem, ones, linked=linked),) for linked in (False, True)]
        crowded = np.zeros(where.k, np.int32)
        found.append(
            (crowded, kernels.repair(csr, None, crowded, ones, form, np.zeros(1, np.int32)))
        )
        answers.append([tuple(np.asarray(part).tolist() for part in one) for one in found])
    assert answers[0] == answers[1]


def test_weights_are_scaled_where_products_would_overflow():
    where = allocate("torus:9x9@1000000")
    arrays = kernel_distances(where)
    weights = np.array([2**45, 2**45, 7])
    seen, (labels, _, packed), scale = prepare(weights, 3, arrays)
    assert packed is arrays.table
    assert len(labels) == where.k
    assert scale is not None
    assert int(seen.sum()) * int(scale[0]) < 2**60
    assert seen[2] == 1
    assert rescale_to_63_bits(seen, 3, scale)[0] is seen
